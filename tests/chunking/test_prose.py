"""Markdown is cut at headings, with its fences whole."""

from __future__ import annotations

import pytest

from memory_sidecar.chunking.chunk import chunk_text
from memory_sidecar.chunking.prose import sections_of
from memory_sidecar.core.model import Chunk

PARAGRAPH = "Words that say how it is done and why it is done that way. " * 6 + "\n"


def scopes(chunks: tuple[Chunk, ...]) -> list[str]:
    return [chunk.scope for chunk in chunks]


def test_scope_is_the_path_of_headings():
    text = (
        f"# Setup\n{PARAGRAPH}\n## Linux ##\n{PARAGRAPH}\n## macOS\n{PARAGRAPH}\n# Use\n{PARAGRAPH}"
    )
    assert scopes(chunk_text(text, "markdown")) == [
        "Setup",
        "Setup > Linux",
        "Setup > macOS",
        "Use",
    ]


@pytest.mark.parametrize(
    ("line", "title"),
    [
        ("# a # b #", "a # b"),
        ("# a#", "a#"),
        ("#\ta ##  ", "a"),
        ("# #", ""),
        ("# a\\##", "a\\##"),
        ("# a" + " " * 200_000 + "b", "a" + " " * 200_000 + "b"),
        ("# a" + " #" * 100_000, "a" + " #" * 99_999),
    ],
    ids=range(7),
)
def test_what_closes_a_heading_is_not_of_its_title(line, title):
    (section,) = [each for each in sections_of([line, *PARAGRAPH.split("\n")]) if each.level]
    assert section.title == title
    (scope,) = set(scopes(chunk_text(f"{line}\n{PARAGRAPH}", "markdown")))
    assert scope == title[:200]


def test_underlined_headings_count():
    text = f"Setup\n=====\n{PARAGRAPH}\nLinux\n---\n{PARAGRAPH}\n\n---\n\n{PARAGRAPH}"
    chunks = chunk_text(text, "markdown")
    assert scopes(chunks) == ["Setup", "Setup > Linux"]
    assert chunks[1].code.startswith("Linux\n---")


def test_rule_below_a_list_or_table_is_no_heading():
    text = f"# A\n{PARAGRAPH}\n- item\n---\n{PARAGRAPH}\n| a |\n---\n{PARAGRAPH}"
    assert set(scopes(chunk_text(text, "markdown"))) == {"A"}


def test_hash_in_a_fence_is_no_heading():
    text = f"# A\n{PARAGRAPH}\n````sh\n# install\n```\n# more\n````\n\n## B\n{PARAGRAPH}"
    assert scopes(chunk_text(text, "markdown")) == ["A", "A > B"]


def test_hash_in_a_comment_is_no_heading():
    comment = "<!--\n# draft\n```\n# more\n-->"
    text = f"# A\n{PARAGRAPH}\n{comment}\n\n## B\n{PARAGRAPH}\n<!-- short -->\n# C\n{PARAGRAPH}"
    assert scopes(chunk_text(text, "markdown")) == ["A", "A > B", "C"]


def test_fence_is_never_split_below_its_limit():
    fence = "```python\n" + "print('a line of code')\n\n" * 120 + "```\n"
    chunks = chunk_text(f"# A\n{PARAGRAPH}\n{fence}\n{PARAGRAPH * 5}", "markdown")
    (whole,) = [chunk for chunk in chunks if "```python" in chunk.code]
    assert whole.code.rstrip().endswith("```")
    assert whole.scope == "A"


def test_huge_fence_is_split():
    chunks = chunk_text("# A\n```\n" + "one line of output\n" * 400 + "```\n", "markdown")
    assert len(chunks) > 3
    assert max(len(chunk.code) for chunk in chunks) <= 1_500


def test_front_matter_is_a_part_of_its_own():
    chunks = chunk_text(f"---\ntitle: a\n# no heading\n---\n\n# A\n{PARAGRAPH}", "markdown")
    assert [(c.start_line, c.end_line, c.scope) for c in chunks] == [(1, 4, ""), (6, 7, "A")]


def test_rule_before_a_blank_line_is_no_front_matter():
    text = "---\n\n# One\n\n" + "a b c\n" * 300 + "\n---\n\n# Two\n\nmore\n"
    assert {chunk.scope for chunk in chunk_text(text, "markdown")} == {"", "One", "Two"}


def test_rule_at_the_top_without_an_end_is_no_front_matter():
    assert scopes(chunk_text(f"---\n\n# A\n{PARAGRAPH}", "markdown"))[-1] == "A"


def test_tiny_sections_join_their_parent():
    (chunk,) = chunk_text("# A\n\nShort.\n\n## B\n\nShort.\n\n## C\n\nShort.\n", "markdown")
    assert (chunk.start_line, chunk.end_line, chunk.scope) == (1, 11, "A")
