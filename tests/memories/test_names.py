"""Names that every disk takes, and paths that stay in their root."""

from __future__ import annotations

import pytest

from memory_sidecar.core.errors import PathRefused, UsageError
from memory_sidecar.memories import names
from memory_sidecar.memories.names import (
    MAX_SLUG_BYTES,
    SLUG_OF,
    check_agent,
    check_category,
    check_new_path,
    check_path,
    is_name,
    rest_of_title,
    slug,
    spellings,
)


@pytest.mark.parametrize("agent", ["a", "architect", "gpt-5.1_x", "0", "a" * 64, "shared"])
def test_a_valid_agent_id_is_taken_as_it_is(agent):
    assert check_agent(agent) == agent


@pytest.mark.parametrize(
    "agent",
    [
        *("", ".", "..", ".state", "-a", "_a", "a/b", "a\\b", "../a", "/a", "a b", "a\n", "ä"),
        *("a" * 65, "a.", "con", "NUL", "com1", "a.sqlite", "a.SQLITE-wal", "a\0"),
    ],
    ids=repr,
)
def test_other_agent_ids_are_refused(agent):
    with pytest.raises(UsageError):
        check_agent(agent)


@pytest.mark.parametrize(
    ("category", "path"),
    [
        ("", ""),
        ("pitfall", "pitfall"),
        ("planning-pitfall", "planning-pitfall"),
        ("decisions/storage", "decisions/storage"),
        ("decisions/", "decisions"),
        ("Design", "Design"),
        ("v1.2_x", "v1.2_x"),
        ("a\\b", "a/b"),
        ("決定/保存", "決定/保存"),
        ("u\u0308ber", "über"),
    ],
)
def test_a_category_becomes_a_path_with_slashes(category, path):
    assert check_category(category) == path


@pytest.mark.parametrize(
    "category",
    ["..", "../x", "a/../b", "/", "/etc", "~", "~/x", "a\\..\\b", "\\\\host", "C:", "c:/x", "//x"],
)
def test_a_category_that_leaves_its_root_is_refused(category):
    with pytest.raises(PathRefused):
        check_category(category)


@pytest.mark.parametrize(
    "category",
    [
        *(
            "a//b",
            ".",
            "./a",
            ".hidden",
            "a/.git",
            "-rf",
            "a b",
            "a:b",
            "a*",
            "a?",
            "nul",
            "x/aux.y",
        ),
        *("a.", "a\0b", "a\nb", "x" * 201, "/".join("a" * 9), "é" * 101, "\u200b"),
        *("a.md", "a/_category.md", "Notes.MD/b"),
    ],
    ids=repr,
)
def test_what_is_no_category_is_refused(category):
    with pytest.raises(UsageError):
        check_category(category)


def test_a_refused_category_comes_with_a_good_one():
    with pytest.raises(UsageError) as refused:
        check_category("Design Notes/Old: Ones")
    assert "design-notes/old-ones" in refused.value.hint


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ("a", "a.md"),
        ("a.md", "a.md"),
        ("decisions/use-sqlite.md", "decisions/use-sqlite.md"),
        ("decisions\\use-sqlite", "decisions/use-sqlite.md"),
        ("v1.2/notes.old", "v1.2/notes.old.md"),
        ("メモ/覚書", "メモ/覚書.md"),
    ],
)
def test_the_path_of_a_memory_has_slashes_and_its_suffix(given, path):
    assert check_path(given) == path
    assert check_new_path(given) == path


NO_PATHS = [
    *("", "a/", "..", "../a", "a/../../b", "/a", "/etc/passwd", "a/..", "a/.", ".md", "a/.md"),
    *("_category.md", "x/_category", "C:\\a", ".hidden", ".state/a", "\0", "~root/x", "a\x1b[0m"),
]


@pytest.mark.parametrize("path", NO_PATHS, ids=repr)
def test_what_names_no_memory_is_refused(path):
    with pytest.raises(UsageError):
        check_path(path)


@pytest.mark.parametrize("path", [*NO_PATHS, "a b", "A: B", "x y/a", "con", "-rf"], ids=repr)
def test_what_cannot_be_named_on_every_disk_is_not_made(path):
    with pytest.raises(UsageError):
        check_new_path(path)


def test_names_that_people_gave_are_found():
    assert check_path("Design Notes/Why: SQLite?") == "Design Notes/Why: SQLite?.md"


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("Use SQLite, not Postgres!", "use-sqlite-not-postgres"),
        ("  # Heading: `code`  ", "heading-code"),
        ("Größe über alles", "größe-über-alles"),
        ("İstanbul", "istanbul"),
        ("日本語のメモ", "日本語のメモ"),
        ("हिन्दी में नोट", "हिन्दी-में-नोट"),
        ("ﬁne ①", "fine-1"),
        ("don't", "don-t"),
        ("CON", "con-note"),
        ("🎉 done ❤️", "done"),
        ("🎉❤️", ""),
        ("--- ...", ""),
        ("../../etc/passwd", "etc-passwd"),
        ("", ""),
    ],
)
def test_a_slug_has_the_words_of_a_text_and_is_a_valid_name(text, made):
    assert slug(text) == made
    assert not made or is_name(made)


@pytest.mark.parametrize(
    ("title", "path", "rest"),
    [
        ("Use tabs.", "pattern/use-tabs.md", ""),
        ("Use app/routers, not app/views", "use-app.md", "…/routers, not app/views"),
        ("Use app/routers, not app/views", "a/use-app-routers.md", "…, not app/views"),
        ("Prefer C++ to C", "prefer-c-to-c.md", "Prefer C++ to C"),
        ("Use 3.5 for Q4", "use-3-5-for-q4.md", "Use 3.5 for Q4"),
        ("Return -1 for none", "return-1-for-none.md", "Return -1 for none"),
        ("Never push --force", "never-push-force.md", "Never push --force"),
        ("Call parse_args", "call-parse-args.md", "Call parse_args"),
        ("Well-known: no - yes.", "well-known-no-yes.md", ""),
        ("Use tabs", "pattern/indents.md", "Use tabs"),
        ("`PoolTimedOut` under load", "pooltimedout-under.md", "`PoolTimedOut` under load"),
        ("Ask by (`parseArgs`) alone", "ask-by-parseargs-alone.md", "…(`parseArgs`) alone"),
        ("Use useEffect, not `ref`s", "use-useeffect.md", "…useEffect, not `ref`s"),
        ("Use HTTP, never FTP", "use-http.md", "…, never FTP"),
        ("Größe zählt", "größe.md", "… zählt"),
        ("", "memory.md", ""),
    ],
)
def test_the_rest_of_a_title_is_what_its_name_leaves_off(title, path, rest):
    assert rest_of_title(title, path) == rest


def test_of_a_title_no_more_is_compared_with_its_name_than_names_are_made_of(monkeypatch):
    made: list[str] = []

    def count(text: str) -> str:
        made.append(text)
        return slug(text)

    monkeypatch.setattr(names, "slug", count)
    assert rest_of_title("a " * 30_000, "note.md") == "a " * 30_000
    assert 0 < len(made) <= SLUG_OF


def test_a_slug_is_cut_between_words_and_never_within_a_character():
    for text in ("word " * 100, "語" * 100, "wörtchen" * 100, "a" * 500):
        made = slug(text)
        assert 70 < len(made.encode()) <= MAX_SLUG_BYTES
        assert is_name(made)
    assert slug("word " * 100).endswith("-word")


@pytest.mark.parametrize(
    ("agent", "why"),
    [("a b", "letters"), ("a.", "ends in"), ("con", "device"), ("a.sqlite", "data")],
)
def test_why_an_agent_id_is_refused_is_said(agent, why):
    with pytest.raises(UsageError) as refused:
        check_agent(agent)
    assert why in refused.value.hint


def test_a_path_that_no_disk_has_is_not_spelt_in_gigabytes():
    assert len(spellings("é/" * 35_000 + "x.md")) == 1
    assert len(spellings("é/é/x.md")) > 2


def test_a_suffix_in_capitals_is_one():
    assert check_path("dec/UPPER.MD") == "dec/UPPER.MD"
    assert check_new_path("dec/UPPER.MD") == "dec/UPPER.md"
