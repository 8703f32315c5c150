"""What is read without the parser is what the parser reads."""

from __future__ import annotations

import random

import pytest

from memory_sidecar.disk.yaml_entries import BrokenYaml, NoMapping, yaml_entries
from memory_sidecar.disk.yaml_simple import simple_mapping
from memory_sidecar.disk.yaml_text import yaml_lines

PLACES = ("a{}b", "{}b", "a{}", "a {}b", "a{} b", "a {} b", "{}")
FORMS = ("k: {}\n", 'k: "{}"\n', "k: '{}'\n", "k: [{}]\n", "k: [x, {}, y]\n", 'k: ["{}", z]\n')
ODD = ["\ud800", "\ufeff", "\ufffe", "\U0001f600", "\u2027", "\u2028", "\u2029", "日", "---", "..."]
CHARACTERS = [*map(chr, range(0x102)), *ODD]


def parsed(source: str) -> object:
    try:
        entries = yaml_entries(source)
    except (BrokenYaml, NoMapping) as error:
        return error
    meta = {entry.key: entry.value for entry in entries}
    return meta if len(meta) == len(entries) else "a key is there twice"


def agrees(source: str) -> bool:
    """Whether it was read without the parser, and then as the parser does."""
    simple = simple_mapping(source)
    assert simple is None or repr(simple) == repr(parsed(source)), source
    return simple is not None


@pytest.mark.parametrize("form", FORMS)
def test_every_character_in_every_place(form):
    sources = [form.format(place.format(c)) for c in CHARACTERS for place in PLACES]
    assert sum(map(agrees, sources)) > len(sources) / 3


def test_random_frontmatter():
    chance = random.Random(1)
    parts = [*": # , [ ] { } ? - & * ! | > ' \" % @ ` ~ < = \\ 0 12 true null".split(" "), " ", "é"]
    keys = ("id", "tags", "a-b", "_x", "1a", "é", "")
    read = 0
    for _ in range(4000):
        texts = ("".join(chance.choices(parts, k=chance.randrange(5))) for _ in range(9))
        values = [chance.choice(FORMS)[3:].format("w" + text) for text in texts]
        lines = chance.randrange(1, 4)
        read += agrees("".join(f"{chance.choice(keys)}: {value}" for value in values[:lines]))
    assert read > 100


@pytest.mark.parametrize(
    "meta",
    [
        {"created_at": "2026-03-01T09:12:00.000Z", "source": "agent:a", "tags": ["k:v", "c#"]},
        {"summary": "Colons: quoted", "tags": [], "pinned": True, "refs": 12, "none": None},
        {"id": "EXP-042", "date": "2026-03-09", "status": "superseded:EXP-050", "tags": ["a, b"]},
    ],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_what_we_write_needs_no_parser(meta, newline):
    assert simple_mapping("".join(line + newline for line in yaml_lines(meta))) == meta


@pytest.mark.parametrize(
    "source",
    [
        "a: 1\n  more\n", "a: 1\na: 2\n", "a:\n- b\n", "a: |\n  b\n", "a: &x b\n", "a: b # c\n",
        "a: {b: c}\n", "- a\n", "words\n", "a: 'it''s'\n", 'a: "\\n"\n', "a: b", "a: [b\n, c]\n",
    ],
)  # fmt: skip
def test_the_rest_is_left_to_the_parser(source):
    assert simple_mapping(source) is None
