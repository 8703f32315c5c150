"""What keeps the list of sources true: moving one, forgetting those that are gone, and `why`."""

from __future__ import annotations

import re
import shlex
import shutil
import time
from contextlib import closing
from pathlib import Path

import pytest

from memory_sidecar.agents.services import Services
from memory_sidecar.core.paths import DataDir
from memory_sidecar.core.settings import Settings
from memory_sidecar.index.scheduler import Scheduler
from tests.conftest import HashEmbedder, run_with, write_other_project, write_project
from tests.waiting import eventually


@pytest.fixture
def served(serve, project: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOME", str(project.parent / "home"))
    assert serve("index", project, "--wait", "keyword").status == 0
    return serve


def test_a_moved_source_keeps_what_is_indexed(make_codebase, project, tmp_path, notices):
    codebase = make_codebase()
    before = codebase.index([project], reporter=notices)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "a.py").write_text("def elsewhere(): pass\n")
    codebase.index([tmp_path / "other"], reporter=notices)
    embedder = codebase.data.models.embedder
    assert isinstance(embedder, HashEmbedder)
    embedded = len(embedder.embedded)
    there = Path(shutil.move(project, tmp_path / "there"))
    (there / "new.py").write_text("def brand_new(): pass\n")
    moved = codebase.move("project", there, reporter=notices)
    assert (moved.name, moved.root) == ("project", there.as_posix())
    assert moved.chunks == before.chunks_total + 1
    assert len(embedder.embedded) == embedded + 1
    assert codebase.index([], reporter=notices).files_processed == 0


def test_new_excludes_of_a_watched_source_apply_at_once(data_dir, project, tmp_path):
    with closing(Services(DataDir(data_dir), Settings())) as services:
        serve = run_with(services, cwd=tmp_path)

        def is_current():
            live = serve("status", "--json").json["sources"][0]["live"]
            return live is not None and live["is_current"]  # it is not watched at once

        assert serve("index", project, "--wait", "keyword").status == 0
        scheduler = Scheduler()
        scheduler.add(services.codebase().data)
        scheduler.start()
        try:
            eventually(is_current)
            assert "cart.py" in serve("search", "add_item", "--files", cwd=project).out
            assert serve("source", "add", project, "--exclude", "cart.py").status == 0
            eventually(lambda: "cart.py" not in serve("search", "add_item", cwd=project).out)
        finally:
            scheduler.close(until_s=time.monotonic() + 20)


def test_files_have_one_hit_each_in_json_too(serve, project):
    body = "".join(f"    total_price += {n}  # {'x' * 60}\n" for n in range(40))
    many = "\n\n".join(f"def add_item_{n}(total_price):\n{body}" for n in range(3))
    (project / "shop" / "many.py").write_text(many)
    assert serve("index", project, "--wait", "keyword").status == 0
    asked = ("search", "Cart add_item total_price", "--mode", "keyword")
    every = serve(*asked, "--json", cwd=project).json
    files = serve(*asked, "--files", "--json", cwd=project).json
    best = {each["filename"]: each for each in reversed(every)}
    assert [each["filename"] for each in files] == [*dict.fromkeys(e["filename"] for e in every)]
    assert files == [best[each["filename"]] for each in files]
    assert len(files) < len(every)
    assert serve(*asked, "--files", "--json", "-n", "3", cwd=project).json == files[:3]
    assert serve(*asked, "--files", "--max-tokens", "9", cwd=project).status == 2
    assert len(files) >= 3 > len({each["filename"] for each in every[:3]})


def test_a_path_may_be_where_one_is(serve, project):
    assert serve("index", project, "--wait", "keyword").status == 0
    for command in (("search", "add_item", "--files"), ("grep", "def add_item($$$): $$$")):
        for path in (".", "./cart.py", "../shop", project / "shop", "*.{py,ts}"):
            assert "cart.py" in serve(*command, "--path", path, cwd=project / "shop").out
        assert serve(*command, "--path", "../shpo", cwd=project / "shop").out == ""


def test_a_path_in_another_source_is_looked_for_there(serve, project, tmp_path):
    other = write_other_project(tmp_path / "other")
    (project / other.name).mkdir()  # a folder of the same name
    (tmp_path / "link").symlink_to(other)
    assert serve("index", project, other, "--wait", "keyword").status == 0
    for path in (other, f"../{other.name}", f"~/{other.name}", tmp_path / "link"):
        for command in (("search", "def", "--files"), ("grep", "def $F($$$): $$$", ".", other)):
            found = serve(*command, "--path", path, cwd=project, environ={"HOME": str(tmp_path)})
            assert "lamp.py" in found.out
            assert "cart.py" not in found.out
    assert serve("search", "def", "--path", other, "--source", "project", cwd=project).out == ""


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("Καλημέρα κόσμε, τι κάνεις;".encode("iso8859-7"), "convert it to UTF-8"),
        (b"x = 1\n" * 200_000, "the setting max_file_bytes allows more"),
    ],
)
def test_a_file_that_is_left_out_comes_with_what_would_include_it(served, project, text, hint):
    (project / "odd.py").write_bytes(text)
    assert served("index", project, "--wait", "keyword").status == 0
    told = served("why", project / "odd.py", "--json").json
    assert told["fate"] == "skipped"
    assert hint in told["hint"]


def test_a_source_may_be_moved_by_its_old_folder_and_not_onto_another(served, project, tmp_path):
    there, other = tmp_path / "there", tmp_path / "other"
    shutil.move(project, there)
    other.mkdir()
    assert served("source", "add", other).status == 0
    refused = served("source", "move", project, other)
    assert (refused.status, "`memory-sidecar source remove other`" in refused.err) == (2, True)
    done = served("source", "move", project, there)
    assert done.status == 0, done.err
    assert served("search", "total_price", "--source", "project", "--json").json


def test_what_is_no_source_cannot_be_moved_and_is_named_as_it_was(served, tmp_path):
    there = tmp_path / "there"
    there.mkdir()
    assert "no source is named 'shop' " in served("source", "move", "shop", there).err


def test_an_agents_folder_may_be_moved_and_an_unknown_name_leads_to_its_agent(serve, tmp_path):
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "till.md").write_text("The till opens at nine.\n")
    assert serve("source", "add", notes, "--agent", "bob").status == 0
    assert serve("list", "--agent", "bob").status == 0
    there = shutil.move(notes, tmp_path / "there")
    for command in (("remove", "notes"), ("remove", notes), ("move", "notes", there)):
        refused = serve("source", *command)
        assert (refused.status, "bob has that: add `--agent bob`" in refused.err) == (3, True)
    moved = serve("source", "move", "notes", there, "--agent", "bob", "--json").json
    assert (moved["old_root"], moved["root"], moved["chunks"]) == (str(notes), str(there), 1)
    assert [each["path"] for each in serve("list", "--agent", "bob", "--json").json] == [
        "notes:till.md"
    ]


def test_an_empty_list_of_sources_says_which_agents_have_knowledge_directories(serve, tmp_path):
    assert serve("store", "A memory of ann alone", "--agent", "ann").status == 0
    assert serve("source", "list").err == "note: no source is registered\n"
    for agent, folder in (("bob", "notes"), ("shared", "lore")):
        (tmp_path / folder).mkdir()
        assert serve("source", "add", tmp_path / folder, "--agent", agent).status == 0
        assert serve("list", "--agent", agent).status == 0
    listed = serve("source", "list")
    assert (listed.status, listed.out) == (0, "")
    assert listed.err == (
        "note: no source is registered;"
        " `--agent A` shows the knowledge directories of bob, shared\n"
    )
    assert serve("source", "list", "--json").json == []


def test_an_agent_that_is_named_for_a_source_of_code_is_to_be_left_out(serve, project, tmp_path):
    assert serve("index", project).status == 0
    for command in (("remove", "project"), ("remove", project), ("move", "project", tmp_path)):
        refused = serve("source", *command, "--agent", "bob")
        assert refused.status == 3
        assert "that is a source of code: leave out `--agent bob`" in refused.err


def test_a_list_tells_what_a_source_leaves_out_and_what_it_asked_for(serve, project):
    assert serve("source", "add", project, "--exclude", "docs/", "--exclude", "!.env").status == 0
    assert serve("source", "list").out == f"project: {project} (without docs/, with .env)\n"


def test_a_source_whose_folder_has_a_line_break_is_told_in_one_line(serve, tmp_path):
    odd = tmp_path / "a\nb: c"
    odd.mkdir()
    assert serve("index", odd).status == 0
    for command in (("source", "list"), ("status",), ("source", "remove", "a-b-c")):
        told = serve(*command).out.splitlines()
        assert "b: c" not in {line[: len("b: c")] for line in told}
        assert any("a\\nb: c" in line for line in told)


def test_prune_forgets_what_is_gone_once_it_is_said_to(served, project):
    kept = served("source", "prune", "--json")
    assert (kept.status, kept.json) == (0, [])
    shutil.rmtree(project)
    asked = served("source", "prune")
    assert (asked.status, "--yes" in asked.err) == (2, True)
    assert [each["name"] for each in served("source", "list", "--json").json] == ["project"]
    assert [each["name"] for each in served("source", "prune", "--yes", "--json").json] == [
        "project"
    ]
    assert served("source", "list", "--json").json == []


def test_a_source_inside_of_a_new_one_that_has_its_files_too_is_named(serve, tmp_path):
    for name in ("mono", "mono/till", "mono/node_modules"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.py").write_text("def add(): pass\n")
    for name in ("mono/till", "mono/node_modules"):
        assert "lies in" not in serve("index", tmp_path / name, "--wait", "keyword").err
    told = serve("index", tmp_path / "mono", "--wait", "keyword").err
    assert "till lies in mono" in told
    assert "node_modules" not in told
    assert "lies in" not in serve("index", tmp_path / "mono", "--wait", "keyword").err


WHY = (
    ("shop/cart.py", "indexed", ""),
    ("logo.png", "skipped", "binary"),
    ("shop", "folder", "3 indexed"),
    ("nowhere.py", "absent", "no such file"),
    ("..", "outside", "no source"),
    ("bin/tool.py", "ignored", "bin/ (built in)"),
    ("game/player.gd", "ignored", "*.gd ("),
    ("web/retry.ts", "ignored", "/.sidecarignore:2)"),
    ("docs/late.md", "waiting", "not scanned"),
    ("private/a.py", "ignored", "private/ (the setting excludes)"),
)


def test_why_names_the_rule_that_leaves_a_file_out(served, project):
    (project / "bin").mkdir()
    (project / "bin" / "tool.py").write_text("x = 1\n")
    (project / "docs" / "late.md").write_text("# Late\n")
    (project / "private").mkdir()
    (project / "private" / "a.py").write_text("x = 1\n")
    (project / "memory-sidecar.toml").write_text("excludes = ['private/']\n")
    (project / "game" / ".gitignore").write_text("# scripts\n*.gd\n")
    (project / ".sidecarignore").write_text("# all of it\nweb/\n")
    for path, fate, reason in WHY:
        told = served("why", project / path, "--json").json
        assert told["fate"] == fate, path
        assert reason in told["reason"], path
        if fate == "ignored" and told["rule"]["line"]:
            assert Path(told["rule"]["file"]).is_relative_to(project), path
            assert told["rule"]["line"] == 2, path


def test_a_file_in_an_encoding_of_its_language_is_found_by_its_words(served, project):
    (project / "sum.py").write_bytes("# 计算所有订单的总额\n".encode("gb2312"))
    assert not served("index", project, "--wait", "keyword").status
    (hit,) = served("search", "订单的总额", "--all", "-n", "1", "--json").json
    assert (hit["filename"], hit["code"]) == ("sum.py", "# 计算所有订单的总额")
    told = served("why", project / "sum.py", "--json").json
    assert (told["fate"], told["reason"]) == ("indexed", "as gb18030, since it is not UTF-8")


def test_indexing_a_moved_source_again_tells_how_to_keep_its_name(served, project, tmp_path):
    assert "is gone" not in served("index", project, "--wait", "keyword").err
    there = Path(shutil.move(project, tmp_path / "its new place"))
    told = served("index", there, "--wait", "keyword").err
    commands = re.findall("`memory-sidecar ([^`]*)`", told)
    assert [served(*shlex.split(command)).status for command in commands] == [0, 0]
    assert served("source", "list", "--json").json[0]["name"] == "project"
    assert "is gone" not in served("index", there, "--wait", "keyword").err


def test_only_a_folder_with_the_files_of_what_is_gone_is_taken_for_moved(served, project, tmp_path):
    lamp = write_other_project(tmp_path / "lamp")
    assert served("index", lamp, "--wait", "keyword").status == 0
    there = Path(shutil.move(project, tmp_path / "there"))
    unlike = tmp_path / "unlike"
    unlike.mkdir()
    (unlike / "other.py").write_text("def other(): pass\n")
    assert "is gone" not in served("index", unlike, "--wait", "keyword").err
    shutil.rmtree(lamp)  # two are gone, and one of them is there
    assert "note: project is gone: if" in served("index", there, "--wait", "keyword").err


@pytest.mark.parametrize("asked", ["doctor", "why project/shop/cart.py", "reindex --all"])
def test_a_source_that_is_not_there_may_have_moved(served, project, asked):
    project.rename(project.parent / "there")
    told = served(*asked.split(), cwd=project.parent)
    assert "`memory-sidecar source move" in told.out + told.err


def test_why_sends_nobody_to_index_what_can_be_no_source(served, project, data_dir):
    assert served("store", "Prices are in cents", "--agent", "a").status == 0
    (memory,) = data_dir.glob("knowledge/a/**/*.md")
    for path in (memory, project.parent):  # below which the home folder lies
        told = served("why", path, "--json").json
        assert told["fate"] == "outside"
        assert "`memory-sidecar index" not in told["hint"]


def test_why_explains_a_link_from_one_source_into_another(served, project):
    (project.parent / "other").mkdir()
    (project.parent / "other" / "a.py").write_text("def elsewhere(): pass\n")
    assert served("index", project.parent / "other").status == 0
    (project / "link.py").symlink_to(project.parent / "other" / "a.py")
    told = served("why", project / "link.py", "--json").json
    assert (told["fate"], told["source"]) == ("skipped", "project")


def test_why_names_the_worktree_that_a_file_lies_in(served, project):
    made = project / ".git" / "worktrees" / "one"
    made.mkdir(parents=True)
    (made / "commondir").write_text("../..\n")
    (project / "trees" / "one" / "src").mkdir(parents=True)
    (project / "trees" / "one" / ".git").write_text(f"gitdir: {made}\n")
    (project / "trees" / "one" / "src" / "a.py").write_text("x = 1\n")
    told = served("why", project / "trees" / "one" / "src" / "a.py", "--json").json
    assert told["fate"] == "ignored"
    assert f"index {project}/trees/one`" in told["hint"]


@pytest.mark.parametrize("kept", [".git/config", ".sl/requires"])
def test_nothing_is_said_to_include_what_version_control_keeps(served, project, kept):
    (project / kept).parent.mkdir(exist_ok=True)
    (project / kept).write_text("x\n")
    (project / ".sidecarignore").write_text(f"!{kept.partition('/')[0]}/\n")
    told = served("why", project / kept, "--json").json
    assert (told["fate"], told["hint"]) == (
        "ignored",
        "version control's own files are never indexed",
    )


def test_what_git_ignores_is_explained_only_if_the_walk_ignores_it(served, project):
    """A later rule takes the earlier one back: the walk decides."""
    (project / ".gitignore").write_text("*.py\n!cart.py\n")
    assert served("why", project / "shop" / "cart.py", "--json").json["fate"] == "indexed"
    assert served("why", project / "shop" / "payment.py", "--json").json["fate"] == "ignored"


@pytest.mark.parametrize("named", ["", "~/rules", "{home}/elsewhere/rules"])
def test_a_rule_of_the_user_is_named_with_its_file(serve, tmp_path, monkeypatch, named):
    home = tmp_path / "home"
    named = named.format(home=home)
    file = home / (named.removeprefix("~/") or ".config/git/ignore")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("# of mine\n*.scratch\n")
    if named:
        (home / ".gitconfig").write_text(f'[core]\n\texcludesFile = "{named}"\n')
    root = write_project(tmp_path / "project")
    (root / ".git").mkdir()
    (root / "notes.scratch").write_text("x\n")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / ".config"))
    assert serve("index", root, "--wait", "keyword").status == 0
    told = serve("why", root / "notes.scratch", "--json").json
    assert (told["fate"], told["rule"]["file"], told["rule"]["line"]) == ("ignored", str(file), 2)


def test_a_name_that_is_not_utf8_keeps_nothing_else_from_being_indexed(serve, tmp_path):
    root = write_project(tmp_path / "project")
    assert serve("index", root, "--wait", "keyword").status == 0
    for name in ("caf\udce9.py", "d\udcff/inner.py", "late.py"):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text("def late(): pass\n")
    told = serve("index", root, "--wait", "keyword").json
    assert told["files_processed"] == 1
    skipped = {each["path"]: each["reason"] for each in told["files_skipped"]}
    assert skipped[r"caf\xe9.py"] == skipped[r"d\xff/inner.py"] == "name is not UTF-8"
    for name in ("caf\udce9.py", "d\udcff", "d\udcff/inner.py"):
        why = serve("why", root / name, "--json").json
        assert (why["fate"], why["reason"]) == ("skipped", "name is not UTF-8")
    assert serve("why", root / "gone\udcff.py", "--json").json["fate"] == "absent"


def test_why_and_source_remove_take_several_and_do_nothing_by_half(served, project, tmp_path):
    paths = [project / "shop" / "cart.py", project / "shop" / "payment.py"]
    told = served("why", *paths, "--json").json
    assert [Path(each["path"]) for each in told] == paths
    assert len(served("why", *paths).out.splitlines()) == 2
    refused = served("why", paths[0], "x" * 300)
    assert (refused.status, refused.out, len(refused.err.splitlines())) == (2, "", 1)

    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        assert served("source", "add", tmp_path / name).status == 0
    refused = served("source", "remove", "one", "three", "two")
    assert (refused.status, refused.out, "three" in refused.err) == (3, "", True)
    assert [each["name"] for each in served("source", "list", "--json").json] == [
        "project", "one", "two",
    ]  # fmt: skip
    removed = served("source", "remove", "one", "two", "one", "--json").json
    assert [each["name"] for each in removed] == ["one", "two"]
    assert served("source", "remove", "project", "--json").json["name"] == "project"


def test_a_source_is_named_by_its_folder_too(served, project, tmp_path):
    (tmp_path / "one").mkdir()
    (tmp_path / "one/lamp.py").write_text("def lamp(): pass\n")
    assert served("index", tmp_path / "one").status == 0
    for folder in (tmp_path / "one", "../one", "../one/"):
        (hit,) = served("search", "lamp", "--source", folder, "--json", cwd=project).json
        assert hit["source"] == "one"
        assert served("def", "lamp", "--source", folder, cwd=project).status == 0
        assert served("reindex", "--source", folder, "--json", cwd=project).json["sources"] == [
            "one"
        ]
    unknown = served("search", "lamp", "--source", "../two", cwd=project)
    assert (unknown.status, "no source '../two'" in unknown.err) == (3, True)
    assert served("source", "remove", "../one", "one", "--json", cwd=project).json["name"] == "one"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('excludes = ["drafts/', "is not readable TOML"),
        ('excludes = "drafts/"', "`excludes` is not a list of texts"),
        ('excludes = ["drafts/", "[z-a]"]', "the exclude '[z-a]' is not a valid glob"),
    ],
)
def test_excludes_that_cannot_be_used_are_told(served, project, text, said):
    assert "without an exclude" not in served("index", project).err
    (project / "memory-sidecar.toml").write_text(text)
    done = served("index", "--json")
    assert done.status == 0
    assert "note: project is indexed without an exclude: " in done.err
    assert said in done.err
    assert "FAIL excludes: project is indexed without an exclude: " in served("doctor").out
    (project / "memory-sidecar.toml").write_text('excludes = ["drafts/"]')
    assert "without an exclude" not in served("index", project).err


def test_publishing_without_a_team_says_that_there_is_none(served, project):
    assert served("index", project).status == 0
    refused = served("source", "publish", cwd=project)
    assert (refused.status, "no database of a team is set" in refused.err) == (2, True)
