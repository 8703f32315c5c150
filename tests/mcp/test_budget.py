"""No answer is longer than was asked for, however long what was stored is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from mcp.client.session import ClientSession
from mcp_types import CallToolResult

from memory_sidecar.code.excerpt import MAX_LOOKED_THROUGH, shorten
from memory_sidecar.core.results import Silent
from memory_sidecar.mcp.caller import Caller, Toolset
from tests.conftest import hashing_services, write_project
from tests.mcp.talk import call, given, talk, text_of

LONG = "The build failed since no header of the parser was found. " * 300
NEEDLE = "Only the linker knows of zebras."


@pytest.fixture(scope="module")
def rich(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caller]:
    """Somebody who has kept much, in few lines. Not to be changed."""
    folder = tmp_path_factory.mktemp("rich")
    shop = write_project(folder / "project") / "shop"
    with hashing_services(folder / "data") as services:
        yield keep_much(Caller(services, shop, "alice", frozenset(Toolset), is_structured=True))


def keep_much(caller: Caller) -> Caller:
    given(caller, "store_memory", content=f"# Headers\n\n{LONG}{NEEDLE} {LONG}", category="pitfall")
    for number in range(12):
        given(
            caller, "store_memory", content=f"Note {number}: {LONG[: 500 * number]}", category="c"
        )
    given(
        caller,
        "save_session",
        session_id="long",
        messages=[
            {"role": "user", "content": f"{LONG}{NEEDLE} {LONG}"},
            {"role": "assistant", "content": "Yes."},
        ],
        summary={"brief": "Mended the parser", "detailed": LONG, "key_decisions": [LONG] * 9},
        code_snippets=[{"code": "int main() {}\n" * 1000, "file_path": "a.c"}],
    )
    functions = "".join(f"def work_{n}(a, b, c):\n    pass\n\n\n" for n in range(400))
    (caller.cwd / "many.py").write_text(functions)
    (caller.cwd / "prose.md").write_text(LONG)
    (caller.cwd / "colours.md").write_text("\x1b[m" * 4000)  # shown as \x1b[m, twice as long
    caller.codebase.index([caller.cwd.parent], reporter=Silent())
    return caller


ASKED: tuple[tuple[str, dict[str, Any]], ...] = (
    ("search_code", {"query": "work"}),
    ("read_file", {"path": "shop/many.py"}),
    ("read_file", {"path": "shop/prose.md"}),
    ("read_file", {"path": "shop/colours.md"}),
    ("outline", {"path": "shop/many.py"}),
    ("def", {"name": "work_1"}),
    ("map", {}),
    ("search_memories", {"query": "header of the parser"}),
    ("get_recent_memories", {}),
    ("query_memories", {}),
    ("list_memories", {"category": "c"}),
    ("get_memory", {"path": "pitfall/headers.md"}),
    ("prune_memories", {"weaker_than": 1.0}),
    ("search_sessions", {"query": "header of the parser"}),
    ("search_sessions", {"query": "header of the parser", "by_session": True}),
    ("get_session", {"session_id": "long"}),
    ("promote_session", {"session_id": "long", "dry_run": True}),
    ("status", {}),
)


def test_it_is_kept_by_every_tool(rich):
    async def say(client: ClientSession) -> None:
        for tool, arguments in ASKED:
            for max_tokens in (1, 50, 400, 2000):
                result = await client.call_tool(tool, {**arguments, "max_tokens": max_tokens})
                assert isinstance(result, CallToolResult)
                assert not result.is_error, text_of(result)
                lines = text_of(result).splitlines()
                told = "\n".join(line for line in lines if not line.startswith("note: "))
                assert len(told) <= 4 * max_tokens + 700, (tool, told)

    talk(rich, say)


def test_what_takes_a_token_for_each_character_is_cut_to_fewer_characters(caller: Caller):
    prose = "构建失败是因为找不到解析器的头文件。\n" * 300
    given(caller, "store_memory", content=prose, category="c")
    given(caller, "save_session", session_id="long", messages=[{"role": "user", "content": prose}])
    (caller.cwd / "prose.md").write_text(prose, encoding="utf-8")
    caller.codebase.index([caller.cwd.parent], reporter=Silent())
    caller = replace(caller, toolsets=frozenset(Toolset))
    for tool, arguments in (
        ("search_code", {"query": "解析器的头文件"}),
        ("read_file", {"path": "shop/prose.md"}),
        ("search_memories", {"query": "解析器的头文件"}),
        ("search_sessions", {"query": "解析器的头文件"}),
        ("get_session", {"session_id": "long"}),
    ):
        told = text_of(call(caller, tool, **arguments, max_tokens=500))
        assert len(told.encode()) < 4 * 500 + 700, tool


def test_what_is_cut_shows_what_was_asked_for_and_says_where_the_rest_is(rich):
    for tool, rest in (("search_memories", "get_memory"), ("search_sessions", "get_session")):
        told = text_of(call(rich, tool, query="what of zebras", max_tokens=100))
        assert "knows of zebras" in told, tool
        assert f"some are cut: {rest} reads" in told
    told = text_of(call(rich, "outline", path="shop/many.py", max_tokens=100))
    assert "def work_1" in told
    needed = int(told.rpartition("max_tokens ")[2].split()[0])
    assert "def work_399" in text_of(call(rich, "outline", path="shop/many.py", max_tokens=needed))
    told = text_of(call(rich, "read_file", path="shop/prose.md", max_tokens=100))
    needed = int(told.partition("line 1 is cut: max_tokens ")[2].split()[0])
    whole = call(rich, "read_file", path="shop/prose.md", max_tokens=needed)
    assert "is cut" not in text_of(whole)


def test_long_memories_leave_room_for_others_among_the_recent(rich):
    shown = given(rich, "get_recent_memories", max_tokens=2000)["memories"]
    assert len(shown) >= 4


def test_a_session_is_read_to_its_end_in_parts(rich):
    first = given(rich, "get_session", session_id="long", max_tokens=100)
    assert first["summary"]["brief"] == "Mended the parser"
    assert [turn["sequence"] for turn in first["messages"]] == [0]
    assert "some of it is cut" in first["notices"][0]
    last = given(rich, "get_session", session_id="long", cursor=first["next_cursor"])
    assert ([turn["content"] for turn in last["messages"]], last["summary"]) == (["Yes."], None)
    assert given(rich, "get_session", session_id="session:long#1") == last
    whole = given(rich, "get_session", session_id="long")
    assert given(rich, "get_session", session_id="long#1", cursor="from-0") == whole
    told = text_of(call(rich, "get_session", session_id="long", cursor="from-2"))
    assert told.startswith("usage: the session has 2 messages")


def test_prose_is_shortened_to_what_fits_with_its_secrets_masked():
    text = f"Here is something.\n{LONG}\n{NEEDLE}\n"
    for characters in (0, 1, 4, 5, 6, 40, 170, 1000, 5000):
        told = shorten(text, characters, {"zebra"})
        assert len(told) <= characters
        assert ("zebras" in told) is (characters >= 40)
    assert shorten("short", 5) == "short"
    told = shorten(f"Heading\n{LONG}\n{NEEDLE}\n", 1000, {"zebra"})
    assert told.strip("…\n").count("\n") == 1  # the writer's line break, and no other
    key = "ghp_" + "x7" * 18
    assert "x7" not in shorten(f"token {key} {LONG}", 40)


@pytest.mark.parametrize("at", [0, 20_000, 39_999])
def test_a_text_of_megabytes_shows_what_was_asked_for_wherever_it_stands(at):
    lines = [f"Only the compiler knows of build {number}." for number in range(40_000)]
    lines[at] = NEEDLE
    told = shorten("\n".join(lines), 300, {"only", "zebra"})
    assert NEEDLE in told
    assert len(told) <= 300
    assert told.startswith("…\n") is (at > 0)
    assert told.endswith("\n…") is (at < 39_999)


@pytest.mark.parametrize("lines", [300, 3000, 30_000])
def test_a_text_of_thousands_of_lines_fills_its_room(caller, lines):
    said = "\n".join(f"step {number} of the log" for number in range(lines))
    messages = [{"role": "user", "content": each} for each in (said, "Thanks.")]
    given(caller, "save_session", session_id="log", messages=messages)
    answer = given(caller, "search_sessions", query="step 7 of the log", tier="messages")
    assert 3000 < len(answer["hits"][0]["text"]) < 4000


def test_a_key_that_begins_above_the_part_shown_is_masked():
    row = "Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4\n"
    kind = "RSA PRIVATE KEY"
    key = f"-----BEGIN {kind}-----\n{row * 40}-----END {kind}-----\n"
    above = "x\n" * ((MAX_LOOKED_THROUGH - 1_000) // 3)  # the key lies across the end of a part
    text = f"{above}{key}the mailbox overflows\n{'y' * 80}\n" + "words\n" * 20_000
    shown = shorten(text, 1_500, {"mailbox"})
    assert "the mailbox overflows" in shown
    assert row.strip() not in shown
