"""The `context` commands as callers see them."""

from __future__ import annotations

import json
import re
import subprocess

import pytest

from memory_sidecar.disk.frontmatter import parse_page


@pytest.fixture
def context(run, tmp_path):
    """Runs `context …` in a root that has the project `fly`."""
    root = tmp_path / "root"
    assert run("context", "init", root, "--project", "fly").status == 0

    def context(*arguments, **made):
        return run("context", *arguments, **{"cwd": root, **made})

    return context


@pytest.fixture
def fly(context, tmp_path):
    """The folder of a project with one atom of each kind."""
    for arguments in (
        ("experiment", "Pool sizes from 8 to 64"),
        ("knowledge", "A pool of 32 is best", "--evidence", "EXP-001"),
        ("pattern", "Bigger is slower", "--source-experiment", "EXP-001"),
    ):
        assert context("new", *arguments).status == 0
    assert context("regen").status == 0
    return tmp_path / "root" / "projects" / "fly"


def test_init_tells_what_it_made(run, tmp_path):
    made = run("context", "init", tmp_path / "r", "--project", "p", "--json").json
    assert made["root"] == (tmp_path / "r").as_posix()
    assert {"CORTEX.md", "OVERVIEW.md", "projects/p/TASKS.yaml"} <= set(made["created"])
    again = run("context", "init", tmp_path / "r", "--project", "p", "--json").json
    assert again["created"] == []


def test_a_project_is_added_to_the_root_around(context, tmp_path):
    assert context("init", "--project", "swim").status == 0
    assert (tmp_path / "root" / "projects" / "swim" / "STATUS.md").is_file()
    assert "- [swim]" in (tmp_path / "root" / "OVERVIEW.md").read_text()


def test_no_root_is_made_in_a_folder_of_another(context, run, tmp_path):
    before = sorted(tmp_path.rglob("*"))
    done = run("context", "init", tmp_path / "root" / "projects" / "fly")
    assert (done.status, "lies in the dense-context root" in done.err) == (2, True)
    assert "--project NAME` adds a project" in done.err
    assert sorted(tmp_path.rglob("*")) == before
    assert run("context", "init", tmp_path / "root" / "sources").status == 0


def test_new_makes_an_atom(context, tmp_path):
    made = context(
        "new", "experiment", "Pool", "sizes", "--tag", "pool,io", "--tag", "cpu",
        "--executor", "lab2", "--body", "-", "--json", stdin=b"In my words.\n",
    )  # fmt: skip
    path = tmp_path / "root" / "projects" / "fly" / "experiments" / "EXP-001.md"
    assert made.json == {
        "id": "EXP-001", "kind": "experiment", "project": "fly", "path": path.as_posix(),
    }  # fmt: skip
    page = parse_page(path.read_text())
    assert page.meta["summary"] == "Pool sizes"
    assert page.meta["tags"] == ["pool", "io", "cpu"]
    assert page.body == "\nIn my words.\n"


def test_the_project_is_that_of_the_folder(run, context, tmp_path):
    context("init", "--project", "swim")
    unclear = context("new", "experiment", "x", "--json")
    assert (unclear.status, unclear.error["code"]) == (2, "usage")
    assert "fly, swim" in unclear.error["hint"]
    inside = tmp_path / "root" / "projects" / "swim" / "experiments"
    assert context("new", "experiment", "x", "--json", cwd=inside).json["project"] == "swim"


def test_regen_tells_what_it_found_and_wrote(context, fly):
    (fly / "experiments" / "EXP-002.md").write_text("---\nid: [\n---\n")
    done = context("regen", "--all", "--json")
    assert done.status == 0
    assert done.json["projects"] == [
        {"project": "fly", "experiments": 2, "knowledge": 1, "patterns": 1}
    ]
    assert done.json["written"] == ["projects/fly/experiments/index.md"]
    (problem,) = done.json["problems"]
    assert (problem["file"], problem["line"]) == ("projects/fly/experiments/EXP-002.md", 3)
    assert done.err.startswith("note: projects/fly/experiments/EXP-002.md:3: ")
    assert context("regen", "--all", "--json").json["written"] == []


@pytest.fixture
def agent(run, context, fly, tmp_path):
    """Runs a command of the agent who has the root as a knowledge directory, called `root`."""
    run("source", "add", tmp_path / "root", "--agent", "bob")
    return lambda *arguments: run(*arguments, "--agent", "bob", "--json")


def test_recent_holds_what_was_written_not_what_is_kept_up_around_it(agent, context, fly, tmp_path):
    agent("store", "Carts are emptied at night")
    atoms = {"EXP-001", "K-001", "PAT-001"}
    assert agent("recent").json[0]["content"] == "Carts are emptied at night"
    (fly / "STATUS.md").write_text("## Current Situation\n\nIt runs.\n")
    (tmp_path / "root" / "notes.md").write_text("Something else.\n")
    context("access", fly / "experiments" / "EXP-001.md")
    context("regen", "--all")
    recent = agent("recent").json
    assert {row["path"].rpartition("/")[2] for row in recent} == {
        "root:notes.md", "carts-are-emptied-at-night.md", *(f"{atom}.md" for atom in atoms)
    }  # fmt: skip
    assert [row["content"] for row in recent][:2] == [
        "Something else.", "Carts are emptied at night"
    ]  # fmt: skip


def test_a_page_counts_as_soon_as_somebody_fills_it_in(agent, fly):
    def pages():
        return {row["path"]: row["kind"] for row in agent("list").json if row["kind"] == "page"}

    assert pages() == {}
    (fly / "mission.md").write_text("# Mission of fly\n\nWinter tyres for every bicycle.\n")
    (fly / "CORTEX.md").write_text((fly / "CORTEX.md").read_text() + "\nAsk Ada first.\n")
    shown = ("root:projects/fly/CORTEX.md", "root:projects/fly/mission.md")
    assert pages() == dict.fromkeys(shown, "page")
    assert agent("query", "tyres").json[0]["path"] == shown[1]


def test_a_heading_that_numbers_an_atom_does_not_repeat_its_title(agent, run, fly):
    (fly / "knowledge" / "K-002.md").write_text("# K-002: Pools\n\nA pool has a size.\n")
    assert agent("list").status == 0
    told = run("query", "which pool size is best", "--agent", "bob").out
    assert told.count("A pool of 32 is best") == 1
    assert "A pool has a size." in told
    assert "# K-00" not in told


def test_an_atom_is_got_by_its_id(agent, context, fly):
    assert agent("get", "EXP-001").json["path"] == "root:projects/fly/experiments/EXP-001.md"
    context("init", "--project", "swim")
    context("new", "experiment", "Cold water", "--project", "swim")
    several = agent("get", "EXP-001")
    assert (several.status, several.error["code"]) == (2, "usage")
    assert "root:projects/swim/experiments/EXP-001.md" in several.error["hint"]
    assert agent("get", "swim/EXP-001").json["summary"] == "Cold water"
    assert agent("get", "fly/EXP-001").json["summary"] == "Pool sizes from 8 to 64"
    assert agent("get", "EXP-999").status == agent("get", "nowhere/EXP-001").status == 3


def test_the_index_and_the_list_of_reads_count_alike(context, fly):
    experiments = fly / "experiments"
    for number, status in ((2, "superseded:EXP-001"), (3, "challenged:EXP-001"), (4, "valid")):
        text = (experiments / "EXP-001.md").read_text()
        changed = re.sub(r"date: .*", f"date: 2020-01-01\nstatus: {status}", text)
        (experiments / f"EXP-00{number}.md").write_text(changed.replace("001", f"00{number}", 1))
    for _ in range(5):
        context("access", experiments / "EXP-002.md")
    context("regen", "--all")
    index = (experiments / "index.md").read_text()

    def counted(option):
        return {row["id"] for row in context("refs", option, "--json").json}

    assert "- Hot (5 refs or more): 1: EXP-002\n" in index
    assert counted("--hot") == {"EXP-002"}
    assert "- Cold (0 refs, older than 14 days): 2: EXP-003, EXP-004\n" in index
    assert counted("--cold") == {"EXP-003", "EXP-004"}


def test_check_prints_findings_and_fails(context, fly):
    assert context("check").out == "nothing is wrong\n"
    (fly / "knowledge" / "K-001.md").write_text(
        (fly / "knowledge" / "K-001.md").read_text().replace("EXP-001]", "EXP-404]")
    )
    done = context("check", "--skip", "merge", "--skip", "index", "--json")
    assert done.status == 1
    (finding,) = done.json
    assert finding.keys() == {"rule", "file", "line", "text", "remedy", "fixable"}
    assert (finding["rule"], finding["file"], finding["line"]) == (
        "link", "projects/fly/knowledge/K-001.md", 7,
    )  # fmt: skip
    assert json.loads(done.err)["error"]["code"] == "failed"
    text = context("check", "--only", "link")
    assert (text.status, text.out.count("\n")) == (1, 1)
    assert text.out.startswith("projects/fly/knowledge/K-001.md:7: [link] evidence names EXP-404")


def test_check_fixes_what_is_safe(context, fly):
    (fly / "roadmap.md").unlink()
    (fly / "experiments" / "index.md").unlink()
    assert context("check", "--skip", "merge").status == 1
    assert context("check", "--skip", "merge", "--fix").status == 0
    assert (fly / "roadmap.md").is_file()


def test_check_finds_near_duplicates_with_the_model(context, fly):
    context("new", "experiment", "Pool sizes between 8 and 64")
    done = context("check", "--only", "merge", "--json")
    (finding,) = done.json
    assert finding["file"] == "projects/fly/experiments/EXP-002.md"
    assert "EXP-001" in finding["text"]


def test_a_tool_call_on_standard_input_counts(context, fly):
    path = fly / "experiments" / "EXP-001.md"
    event = {"tool_name": "Read", "tool_input": {"file_path": str(path)}, "tool_response": {}}
    for _ in range(2):
        done = context("access", "--json", stdin=json.dumps(event).encode())
        assert done.json == [
            {"project": "fly", "file": "experiments/EXP-001.md", "tool": "Read", "matches": None}
        ]
    context("access", path, fly / "mission.md")
    (used,) = (each for each in context("refs", "--json").json if each["refs"])
    assert (used["id"], used["refs"], used["hot"]) == ("EXP-001", 3, False)
    assert "no atom is hot" in context("refs", "--hot").err
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]{12}Z", used["last_ref"])
    context("regen")
    assert parse_page(path.read_text()).meta["refs"] == 3
    assert context("refs", "--rotate").status == 0
    assert context("refs", "--json").json[0]["refs"] == 3


@pytest.mark.parametrize("stdin", [b"", b"{", b"[1]", b'{"a": ' + b"[" * 100_000])
def test_what_is_no_tool_call_is_wrong_usage_without_the_status_that_blocks(context, stdin):
    done = context("access", "--json", stdin=stdin)
    assert (done.status, done.error["code"]) == (1, "usage")
    assert context("access", stdin=stdin).status == 1  # as a hook, which must not block an agent


def test_a_tool_call_of_something_else_counts_nothing(context):
    done = context("access", "--json", stdin=b'{"tool_name": "Bash"}')
    assert (done.status, done.json) == (0, [])


def test_a_missing_file_counts_none_of_the_call(context, fly):
    done = context("access", fly / "experiments" / "EXP-001.md", "EXP-002", "--json")
    assert (done.status, done.error["code"]) == (3, "not_found")
    assert "such as experiments/EXP-001.md, not its id" in done.error["hint"]
    assert (fly / "_meta" / "access-log.jsonl").read_text() == ""


def test_an_access_may_be_committed(context, fly, tmp_path):
    root = tmp_path / "root"
    subprocess.run(["git", "init", "--quiet"], cwd=root, check=True)
    for key in ("user.name", "user.email"):  # which the machine need not have
        subprocess.run(["git", "config", key, "t@example.org"], cwd=root, check=True)
    environ = {"MEMORY_SIDECAR_DATA_DIR": str(tmp_path / "data")}
    path = fly / "experiments" / "EXP-001.md"
    assert context("access", path, "--commit", environ=environ).status == 0
    command = ["git", "log", "--format=%s"]
    subjects = subprocess.check_output(command, cwd=root, text=True)
    assert subjects == "chore: update access log\n"
    settings = environ | {"MEMORY_SIDECAR_CONTEXT_COMMIT": "yes"}
    assert context("access", path, environ=settings).status == 0
    assert subprocess.check_output(command, cwd=root, text=True).count("\n") == 2


def test_a_commit_that_was_not_asked_for_cannot_fail_a_read(context, fly, tmp_path):
    environ = {"MEMORY_SIDECAR_DATA_DIR": str(tmp_path), "GIT_CEILING_DIRECTORIES": "/"}
    path = fly / "experiments" / "EXP-001.md"
    asked = context("access", path, "--commit", environ=environ)
    assert (asked.status, asked.out) == (1, "")
    assert "git could not commit" in asked.err
    done = context("access", path, environ=environ | {"MEMORY_SIDECAR_CONTEXT_COMMIT": "1"})
    assert done.status == 0
    assert done.err.startswith("note: git could not commit")


@pytest.mark.parametrize(("setting", "refs"), [("1", 1), ("0", 0)])
def test_what_the_sidecar_gives_out_counts_when_wanted(run, fly, tmp_path, setting, refs):
    environ = {
        "MEMORY_SIDECAR_DATA_DIR": str(tmp_path / "data"),
        "MEMORY_SIDECAR_CONTEXT_COUNT_READS": setting,
        "MEMORY_SIDECAR_MODEL_DIR": "/nowhere",
    }
    agents = {"environ": environ, "cwd": tmp_path}
    assert run("source", "add", tmp_path / "root", "--agent", "a", **agents).status == 0
    got = run("get", "root:projects/fly/knowledge/K-001", "--agent", "a", **agents)
    assert (got.status, "A pool of 32" in got.out) == (0, True)
    log = (fly / "_meta" / "access-log.jsonl").read_text().splitlines()
    assert [json.loads(line)["tool"] for line in log] == ["get"] * refs


def test_tasks_are_listed_and_archived(context, fly):
    (fly / "TASKS.yaml").write_text(
        "tasks:\n- {id: a, text: One, status: done}\n- {id: b, text: Two}  # next\n"
    )
    assert [task["id"] for task in context("tasks", "--json").json] == ["a", "b"]
    assert context("tasks").out == "[x] fly: a: One [done]\n[ ] fly: b: Two [open]\n"
    (moved,) = context("tasks", "--archive", "--json").json
    assert (moved["id"], moved["done"], moved["line"]) == ("a", True, 2)
    assert (fly / "TASKS.yaml").read_text() == "tasks:\n- {id: b, text: Two}  # next\n"
    assert context("tasks", "--archive").err == "note: no task is done\n"


@pytest.mark.parametrize("listing", [(), ("--archive",)])
def test_a_project_whose_tasks_are_no_file_does_not_stop_the_others(context, fly, listing):
    (fly / "TASKS.yaml").write_text("tasks:\n- {id: a, text: One, status: done}\n")
    assert context("init", "--project", "linked").status == 0
    linked = fly.with_name("linked") / "TASKS.yaml"
    linked.unlink(missing_ok=True)
    linked.symlink_to(fly / "TASKS.yaml")
    done = context("tasks", "--all", *listing, "--json")
    assert (done.status, [task["project"] for task in done.json]) == (0, ["fly"])
    assert f"left out: {linked}: symbolic link" in done.err
    alone = context("tasks", "linked", *listing, "--json")
    assert (alone.status, alone.error["code"]) == (1, "page_broken")


def test_a_project_behind_a_link_does_not_stop_the_others(context, fly, tmp_path):
    fly.rename(tmp_path / "elsewhere")
    fly.symlink_to(tmp_path / "elsewhere")
    assert context("init", "--project", "real").status == 0
    for command in ("tasks", "refs", "regen"):
        done = context(command, "--all", "--json")
        assert done.status == 0, done.err
    assert f"left out: {fly}/TASKS.yaml: symbolic link" in context("tasks", "--all").err


def test_a_setting_names_the_root(run, fly, tmp_path):
    (tmp_path / "memory-sidecar.toml").write_text('context_root = "root"\n')
    inside = tmp_path / "deep"
    inside.mkdir()
    assert run("context", "tasks", "--json", cwd=inside).status == 3
    assert run("trust", tmp_path).status == 0
    assert run("context", "tasks", "--json", cwd=inside).json == []
    other = run("context", "tasks", "--json", "--root", inside, cwd=inside)
    assert (other.status, other.error["code"]) == (3, "not_found")


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (("init",), 2),
        (("init", "r", "--project", "../x"), 2),
        (("new", "idea", "x"), 2),
        (("new", "experiment"), 2),
        (("new", "experiment", "x", "--summary", "y"), 2),
        (("new", "knowledge", "x"), 2),
        (("new", "experiment", "x", "--project", "gone"), 3),
        (("regen", "gone"), 3),
        (("regen", "fly", "--all"), 2),
        (("check", "--only", "everything"), 2),
        (("check", "gone"), 3),
        (("refs", "gone"), 3),
        (("refs", "fly", "--all"), 2),
        (("tasks", "fly", "--all"), 2),
        (("tasks", "gone"), 3),
        (("tasks", "--root", "gone"), 3),
    ],
    ids=repr,
)
def test_bad_input_is_one_line_and_a_status(context, tmp_path, arguments, status):
    before = sorted(tmp_path.joinpath("root").rglob("*"))
    done = context(*arguments, "--json")
    assert done.status == status
    assert done.error["message"]
    assert sorted(tmp_path.joinpath("root").rglob("*")) == before
