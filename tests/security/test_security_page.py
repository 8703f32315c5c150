"""Every sentence of the page about security is held by a test, which is named here for it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "security.md").read_text("utf-8")

# The beginning of each sentence, and the tests that fail where it does not hold.
_HELD = """
What a repository brings is data
    security/test_hostile_clone.py::test_every_command_is_called
Opening one, by any command
    security/test_hostile_clone.py::test_no_command_is_turned_against_its_user
    security/test_hostile_clone.py::test_no_tool_is_turned_against_its_user
A folder's own
    core/test_projects.py::test_a_folder_that_nobody_trusts_is_passed_over_and_told_of
    core/test_settings.py::test_a_project_that_is_not_trusted_sets_nothing
You are asked once
    core/test_projects.py::test_at_a_terminal_it_is_asked_once
    core/test_projects.py::test_what_passes_over_a_folder_says_so_in_one_line
`memory-sidecar trust [PATH]`
    core/test_projects.py::test_the_command_trusts_lists_and_takes_back
A folder inside
    core/test_projects.py::test_a_trusted_one_counts_and_one_inside_of_it_does_not
    core/test_projects.py::test_an_answer_is_for_the_folder_itself_however_it_is_reached
Your answers lie
    core/test_projects.py::test_answers_that_others_could_have_written_count_for_nothing
A data directory that you name
    core/test_projects.py::test_what_is_named_needs_no_trust
Settings come from
    core/test_settings.py::test_the_environment_wins_over_a_trusted_project_and_that_over_the_user
A source's own
    core/test_settings.py::test_a_source_may_leave_out_more_and_nothing_else
    core/test_settings.py::test_one_sources_settings_are_no_other_ones
Relative paths
    core/test_settings.py::test_lists_have_commas_in_the_environment_and_paths_begin_at_their_file
Names in a list
    disk/test_registry.py::test_a_broken_file_is_named_and_never_overwritten
    disk/test_registry.py::test_a_file_of_another_user_is_not_believed
No folder or database of ours
    agents/test_agent.py::test_none_of_its_folders_may_be_a_link
    agents/test_services.py::test_a_link_in_the_place_of_a_database_is_refused
    security/test_hostile_clone.py::test_nor_if_one_of_its_folders_leads_out_of_it
Where the data directory itself lies
    e2e/test_owners.py::test_a_database_behind_a_link_has_the_owner_of_the_real_one
    agents/test_agent.py::test_a_registered_directory_is_read_and_left_alone
Your memories, sessions
    e2e/test_private_files.py::test_every_command_closes_the_data_directory_to_others
    agents/test_services.py::test_what_others_could_read_is_closed_to_them
A file that has ended
    core/test_process.py::test_memory_has_a_limit_here_and_in_programs_only_where_asked
    e2e/test_daemon_misfortunes.py::test_a_file_that_takes_all_memory_is_given_up_and_the_others_are_indexed
Skills and systemd units
    agents/test_skills.py::test_a_skill_is_not_written_through_a_link
    cli/test_service.py::test_units_are_not_written_through_a_link
    setup/test_plan.py::test_settings_that_are_a_link_are_written_where_it_leads
`memory-sidecar web` listens
    web/test_command.py::test_the_daemon_serves_it_until_it_is_stopped
    web/test_command.py::test_the_page_ends_when_no_browser_uses_it
Its address opens once
    web/test_guard.py::test_a_token_opens_once
    web/test_guard.py::test_a_cookie_of_ones_own_making_is_none
A request with another Host
    web/test_guard.py::test_what_comes_from_elsewhere_is_refused
    web/test_guard.py::test_a_change_says_where_it_comes_from
Scripts, styles and pictures
    web/test_guard.py::test_scripts_and_styles_are_our_own_alone
    web/test_memories.py::test_what_is_stored_is_text
Seen as an agent
    web/test_frame.py::test_seen_as_an_agent_there_is_what_that_may_see
What is derived
    index/test_remove_state.py::test_a_link_on_the_way_is_not_followed
The data directory, your home
    disk/test_registry.py::test_our_own_data_is_no_source
    disk/test_registry.py::test_all_that_the_user_has_is_a_source_only_if_they_insist
Other programs are
    core/test_children.py::test_only_absolute_folders_are_looked_in
    core/test_children.py::test_it_works_in_the_home_folder_with_nothing_else
    cli/test_service.py::test_systemctl_runs_in_no_repository_and_comes_from_none
Your pager
    cli/test_pager.py::test_no_pager_comes_from_the_folder_that_one_is_in
They get the usual
    core/test_children.py::test_a_program_gets_the_usual_variables_and_those_that_are_named
    e2e/test_children.py::test_a_summarizer_gets_what_the_caller_has_with_and_without_a_daemon
Only our own Python
    code/test_commits.py::test_a_python_that_finds_its_library_by_a_variable_reads_them
Of what an address
    code/test_clones.py::test_nothing_that_it_brings_is_run_or_followed
    code/test_clones.py::test_a_repository_that_is_too_large_is_not_kept
    code/test_clones.py::test_git_has_no_more_memory_than_we_have
An address that holds
    code/test_clones.py::test_a_wrong_address_gets_one_line_and_leaves_nothing
    code/test_clones.py::test_passwords_of_rewritten_addresses_are_not_shown
Only a folder among our own
    code/test_clones.py::test_a_folder_that_a_list_calls_a_clone_is_not_touched
The access log is
    context/test_commit.py::test_no_program_of_the_repository_is_run
It is committed to
    context/test_commit.py::test_a_bare_repository_that_a_clone_brings_is_not_used
A question to
    cli/test_growth.py::test_what_is_asked_is_noted_and_shown
    disk/test_questions.py::test_what_is_kept_of_a_question
Which answers you
    cli/test_judged.py::test_right_answers_are_kept_and_the_benchmark_ranks_by_them
Neither an answer
    disk/test_questions.py::test_what_is_kept_of_a_question
    disk/test_questions.py::test_the_oldest_go_where_there_are_too_many
The daemon's log
    daemon/test_log.py::test_no_secret_is_logged_and_no_value_of_a_command
`keep_questions = false`
    disk/test_questions.py::test_none_is_kept_where_that_is_set_and_all_go_with_the_folder
Without `database`
    team/test_link.py::test_without_a_database_nothing_of_it_is_imported
    security/test_hostile_clone.py::test_no_command_is_turned_against_its_user
An address that holds a password
    team/test_link.py::test_what_is_no_address_is_told_without_a_password
    team/test_link.py::test_a_wrong_password_is_refused_and_one_from_a_command_or_the_environment_is_taken
    team/test_link.py::test_another_machine_is_spoken_to_by_tls
An agent other than `shared`
    team/test_team_files.py::test_an_agents_own_memories_and_sessions_are_its_roles_even_by_sql
Of `database_agents` alone
    team/test_team_files.py::test_an_agent_that_is_not_named_stays_here
    team/test_team_files.py::test_secrets_and_what_is_no_text_stay_here
What comes from there
    team/test_team_files.py::test_what_would_leave_its_folder_is_left_there
A model comes
    embedding/test_supply.py::test_one_flipped_bit_is_seen
    embedding/test_supply.py::test_the_cache_is_the_users_own
A cache that
    embedding/test_supply.py::test_a_cache_that_others_can_write_is_not_looked_into
    embedding/test_supply.py::test_a_download_that_is_not_what_its_name_says_is_not_loaded
"""
HELD_BY = {
    start: tests.split()
    for start, tests in re.findall(r"^(\S.*)\n((?: +.*\n)+)", _HELD, re.MULTILINE)
}


def sentences() -> list[str]:
    """Of the page, up to what it does not protect from; but the one that tells of this file."""
    told = PAGE[: PAGE.index("## What it does not protect from")]
    paragraphs = re.split(r"\n\n|\n- |^#.*$", told, flags=re.MULTILINE)
    texts = [" ".join(text.lstrip("- ").split()) for text in paragraphs]
    said = [each for text in texts for each in re.split(r"(?<=\.) (?=[A-Z])", text) if each]
    return [each for each in said if "test_security_page.py" not in each]


def test_each_sentence_has_its_tests():
    said = sentences()
    assert [each for each in said if not any(map(each.startswith, HELD_BY))] == []
    assert [start for start in HELD_BY if not any(s.startswith(start) for s in said)] == []


@pytest.mark.parametrize("test", sorted({test for tests in HELD_BY.values() for test in tests}))
def test_the_test_is_there(test):
    path, _, name = test.partition("::")
    tree = ast.parse((ROOT / "tests" / path).read_text("utf-8"))
    assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
