"""What holds for the chunks of any text in any language."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from memory_sidecar.chunking.chunk import chunk_text
from memory_sidecar.core.language import LANGUAGES, detect_language
from memory_sidecar.core.model import Chunk

SAMPLES = Path(__file__).parent / "samples"
OWN = Path(__file__).parents[2] / "memory_sidecar"

ALL_LANGUAGES = sorted(LANGUAGES)
PIECES = (
    "def f(x):", "class A {", "}", "(", ")", "[", "{", "<", "a<b<", '"', "'", "`", "```", "~~~",
    "#", "# Title", "---", "===", "///", "/*", "*/", "--", "[node]", "[[x]]", "func", "end", "=",
    ";", ":", "\t", "    ", " ", "\n", "\n\n", "\r\n", "\r", "\f", "\v", "\u2028", "\x85", "\0",
    "\ufeff", "é", "漢", "🦀", "\ud800", "\udfff", "x" * 300, "word " * 60, "@decorator",
    "#[attr]", "<a>", "</a>", "key: 1",
)  # fmt: skip


def lines_of(text: str) -> list[str]:
    """The lines an editor shows, by other means than the code under test."""
    return re.split(r"\r\n|\n|\r", text)


def check(text: str, chunks: tuple[Chunk, ...]) -> None:
    lines = [re.sub("[\ud800-\udfff]", "\ufffd", line) for line in lines_of(text)]
    covered: set[int] = set()
    before = 0
    for chunk in chunks:
        assert before < chunk.start_line <= chunk.end_line <= len(lines)
        before = chunk.end_line
        own = lines[chunk.start_line - 1 : chunk.end_line]
        assert chunk.code == "\n".join(own)
        assert own[0].strip()
        assert own[-1].strip()
        assert "\n" not in chunk.signature
        assert len(chunk.signature) <= 200
        covered.update(range(chunk.start_line, chunk.end_line + 1))
    assert covered >= {number for number, line in enumerate(lines, 1) if line.strip()}


@pytest.mark.parametrize("language", ALL_LANGUAGES)
def test_random_text_is_covered_line_by_line(language):
    chance = random.Random(language)
    for length in (0, 1, 2, 5, 20, 100, 100, 400, 400, 1500):
        text = "".join(chance.choices(PIECES, k=length))
        check(text, chunk_text(text, language))


@pytest.mark.parametrize("language", ALL_LANGUAGES)
def test_mangled_source_is_covered_line_by_line(language):
    chance = random.Random(language)
    sources = [path for path in SAMPLES.iterdir() if detect_language(path.name) == language]
    for source in sources or [Path(__file__)]:
        text = source.read_text(encoding="utf-8") * 3
        for _ in range(10):
            at, length = chance.randrange(len(text)), chance.randrange(200)
            text = text[:at] + chance.choice(PIECES) + text[at + length :]
            check(text, chunk_text(text, language))


@pytest.mark.parametrize(
    "path",
    sorted(path for kind in ("py", "sql", "scm") for path in OWN.rglob(f"*.{kind}")),
    ids=lambda path: path.name,
)
def test_own_sources_are_covered_line_by_line(path):
    text = path.read_text(encoding="utf-8")
    check(text, chunk_text(text, detect_language(path.name)))
