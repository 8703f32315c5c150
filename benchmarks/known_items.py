"""Measures known-item search: python benchmarks/known_items.py [--build]

Questions with exactly one right file: a name that one file defines, alone, within a sentence, in
lower case, with a typo, or only its beginning; a message that occurs in one file, literally or
with values filled in, each also after a prefix as of a log, or with paths filled in; the key of a
setting; a path. Besides, how-to questions that a README or the docs answer. The sets are
`sets/known-items.jsonl` and `sets/how-to.jsonl`, over the trees of `sets/repositories.json`.
`--build` draws them again: names from the index, how-to questions from what people ask of any
project, whose answers are found by the headings of the prose.
"""

from __future__ import annotations

import json
import random
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import cycle, starmap
from pathlib import Path
from statistics import fmean
from typing import Any

from figures import write_report
from judged_sets import read_lines
from model_cache import cached_models
from options import set_options
from repositories import checkout, indexed

from memory_sidecar.code.handlers import Codebase
from memory_sidecar.code.model import CodeQuery
from memory_sidecar.core.results import Silent

SETS = Path(__file__).parent / "sets"
CUTS = (1, 5)
OF_EACH = 6  # items of a kind in a repository

_NAME = re.compile(r"[A-Za-z]\w{6,}")
_WRITTEN = re.compile(r"[a-z]_[a-z]|[a-z][A-Z]")
_SETTING = re.compile(r"(?m)^[\s\-\[]*[\"']?([A-Za-z][\w.-]{6,30})[\"']?\s*[:=\]]")
_CONFIGURES = re.compile(r"(?i)\.(json|ya?ml|toml|ini|cfg)$")
_MESSAGE = re.compile(r"[\"']([A-Z][a-z]+ [^\"'\\{}%$#<>\n]{20,80})[\"']")
_STRING = re.compile(r"\"((?:[^\"\\\n]|\\[\"'])+)\"|'((?:[^'\\\n]|\\[\"'])+)'|`([^`\n]+)`")
_HOLE = re.compile(
    r"%[-+0-9.]*[sdqvr]|%\([a-z_]+\)[sdr]|[$#]\{[^}]*\}|\{[A-Za-z_][^{}]*\}|\{\d*\}|\\\([^)]*\)"
)
_VALUES = ("index.html", "--verbose", "42", "shop", "admin", "users/42")
_VALUE = re.compile(r"users/42|index\.html|--verbose|\b(?:42|shop|admin)\b")
_LONG_VALUES = (
    "/srv/shop/www/index.html",
    "https://shop.example/v1/orders/42?page=3",
    "com.acme.shop.orders.Main",
    "2026-11-27T09:00:01.234Z",
)
_ASIDE = re.compile(r"(?i)(^|[/_.])(tests?|specs?|docs?|examples?|bench\w*|change\w*|vendor)")
_PROSE = re.compile(r"(?i)\.(md|mdx|rst|txt|adoc|livemd)$")
_LISTS = re.compile(r"(?i)(^|/)(change|history|news|todo|issue_template)")
_FIRST_READ = re.compile(r"(?i)readme|licen|contribut|security")
_HEADING = r"(?im)^(?:#+\s*|=+\s*)?.*\b(?:{words})\b"

# What is asked of any project, and the words of a heading or a line that answers it.
HOW_TO = {
    "how do I install {name}": "install(?:ation|ing)?|getting started",
    "how do I get started with {name}": "getting started|quick ?start|usage|installation",
    "how can I contribute to {name}": "contribut(?:e|ing|ions?)",
    "how do I run the tests": "(?:run(?:ning)? (?:the )?tests?|test suite|tests)",
    "show me a simple example of how to use {name}": "example|usage|quick ?start",
    "which language versions does {name} support": "requirements?|support(?:ed|s)?|versions?",
    "where do I report a security problem": "security|vulnerabilit(?:y|ies)",
    "how is {name} licensed": "licen[cs]e",
}

PREFIXES = (
    "error: ",
    "{}: error: ",
    "2026-11-27 09:00:01,234 ERROR {}.core: ",
    "[ERROR] {}/main: ",
    "RuntimeError: ",
    "{}: error (at <stdin>:1): ",
)

Item = dict[str, Any]
"""`repository`, `kind`, `text`, `files` that answer it."""


def main() -> None:
    parser = set_options(__doc__)
    parser.add_argument("--build", action="store_true", help="draw the sets anew")
    options = parser.parse_args()
    if options.build:
        build(options.checkouts, options.cache)
        return
    report = measure(options.checkouts, options.cache)
    print(json.dumps(report, indent=1))
    write_report("retrieval-known-items", {"set": "known-items"} | report, options)


def measure(checkouts: Path, cache: Path) -> dict[str, Any]:
    """hit@k over files, and the number of questions, by kind of question."""
    items = [*read_lines(SETS / "known-items.jsonl"), *read_lines(SETS / "how-to.jsonl")]
    items += [*after_prefixes(items), *with_long_values(items)]
    found: dict[str, list[tuple[Item, list[str]]]] = defaultdict(list)
    for name, codebase in each_indexed(checkouts, cache):
        for item in items:
            if item["repository"] == name:
                hits = codebase.search(CodeQuery(item["text"], top_k=20), reporter=Silent())
                files = list(dict.fromkeys(hit.filename for hit in hits))
                found[item["kind"]].append((item, files))
    for item, files in found["how-to"]:
        if not set(item["files"]).intersection(files[:1]):
            print(f"{item['repository']}: {item['text']}: {files[:2]}")
    return {
        kind: {"questions": len(asked)}
        | {
            f"hit@{cut}": round(
                fmean(not set(item["files"]).isdisjoint(files[:cut]) for item, files in asked), 4
            )
            for cut in CUTS
        }
        for kind, asked in found.items()
    }


def after_prefixes(items: Sequence[Item]) -> Iterator[Item]:
    """The messages among `items`, each behind a prefix such as a program or its log adds."""
    prefixes = cycle(PREFIXES)
    for item in items:
        if item["kind"].startswith("message"):
            text = next(prefixes).format(item["repository"]) + item["text"]
            yield item | {"kind": f"{item['kind']} after a prefix", "text": text}


def with_long_values(items: Sequence[Item]) -> Iterator[Item]:
    """The messages with values among `items`, filled in with paths and the like instead."""
    values = cycle(_LONG_VALUES)
    for item in items:
        if item["kind"] == "message with values":
            text = _VALUE.sub(lambda _: next(values), item["text"])
            yield item | {"kind": "message with long values", "text": text}


def each_indexed(
    checkouts: Path, cache: Path, *, embed: bool = True
) -> Iterator[tuple[str, Codebase]]:
    """Yield each tree and its name, once it is indexed."""
    with cached_models(cache) as models:
        for repository in json.loads((SETS / "repositories.json").read_text(encoding="utf-8")):
            with indexed(checkout(repository, checkouts), models, embed=embed) as codebase:
                yield repository["name"], codebase


def build(checkouts: Path, cache: Path) -> None:
    known: list[Item] = []
    how_to: list[Item] = []
    for name, codebase in each_indexed(checkouts, cache, embed=False):
        with codebase.data.open().reading() as connection:
            rows: list[Any] = connection.execute(
                "SELECT filename, symbols, code FROM code_chunks ORDER BY filename, start_line"
            ).fetchall()
        known += drawn(name, rows)
        how_to += asked_of(name, rows)
    _write("known-items", known)
    _write("how-to", how_to)


def drawn(repository: str, rows: Sequence[tuple[str, str, str]]) -> Iterator[Item]:
    """A few questions of each kind, the same in every run."""
    chance = random.Random(repository)
    names, messages = unique(rows)
    paths = {f: f for f, _, _ in rows if "/" in f and not _ASIDE.search(f) and not _PROSE.search(f)}

    def some(of: dict[str, str]) -> list[tuple[str, str]]:
        return sorted(chance.sample(sorted(of.items()), min(OF_EACH, len(of))))

    def item(kind: str, text: str, file: str) -> Item:
        return {"repository": repository, "kind": kind, "text": text, "files": [file]}

    for name, file in some(names):
        yield item("name", name, file)
    for name, file in some(names):
        yield item("name in a sentence", f"what does {name} do and who calls it", file)
    for name, file in some(names):
        at = len(name) // 2
        typo = name[: at - 1] + name[at] + name[at - 1] + name[at + 1 :]
        yield item("name with a typo", typo, file)
    starts = {start_of(name): file for name, file in names.items()}
    of_kind = {"message": messages, "path": paths, "half a name": starts, "setting": settings(rows)}
    for kind, of in of_kind.items():
        for text, file in some(of):
            yield item(kind, text, file)
    for name, file in some({name: file for name, file in names.items() if name != name.lower()}):
        yield item("name in lower case", name.lower(), file)
    for string, file in some(made_in_one(rows)):
        values = iter(chance.sample(_VALUES, len(_VALUES)))
        message = _HOLE.sub(lambda _: next(values), re.sub(r"\\([\"'])", r"\1", string))  # noqa: B023
        yield item("message with values", message, file)
    yield from starmap(partial(item, "file without extension"), some(stems(rows)))


def start_of(name: str) -> str:
    """The first two thirds of `name`."""
    return name[: 2 * len(name) // 3]


def stems(rows: Sequence[tuple[str, str, str]]) -> dict[str, str]:
    """The path of the only source file with a stem that is no defined name, by stem."""
    called: dict[str, set[str]] = defaultdict(set)
    defined: set[str] = set()
    for file, symbols, _ in rows:
        defined.update(symbols.lower().split())
        if not _ASIDE.search(file) and not _PROSE.search(file):
            called[file.rpartition("/")[2].partition(".")[0]].add(file)
    return {
        stem: file
        for stem, (file, *others) in called.items()
        if not others and re.fullmatch("[A-Za-z_]{5,}", stem) and stem.lower() not in defined
    }


def settings(rows: Sequence[tuple[str, str, str]]) -> dict[str, str]:
    """The path of the only file that contains a key and sets it, by key."""
    holding: dict[str, set[str]] = defaultdict(set)
    for file, _, code in rows:
        for word in set(re.findall(r"[A-Za-z][\w.-]*\w", code)):
            holding[word].add(file)
    return {
        key: file
        for file, _, code in rows
        if _CONFIGURES.search(file)
        for key in _SETTING.findall(code)
        if holding[key] == {file}
    }


def unique(rows: Sequence[tuple[str, str, str]]) -> tuple[dict[str, str], dict[str, str]]:
    """The path of the only file that defines a name or contains a message, by name or message."""
    defined: dict[str, set[str]] = defaultdict(set)
    said: dict[str, set[str]] = defaultdict(set)
    text: dict[str, str] = defaultdict(str)
    for file, symbols, code in rows:
        text[file] += f"{code}\n"
        for name in symbols.split():
            if _NAME.fullmatch(name) and _WRITTEN.search(name) and not _PROSE.search(file):
                defined[name].add(file)
        for message in _MESSAGE.findall(code):
            said[message].add(file)
    names = {name: min(files) for name, files in defined.items() if len(files) == 1}
    messages = {
        message: min(files)
        for message, files in said.items()
        if len(files) == 1 and sum(message in each for each in text.values()) == 1
    }
    return (
        {name: file for name, file in names.items() if not _ASIDE.search(file)},
        {message: file for message, file in messages.items() if not _ASIDE.search(file)},
    )


def made_in_one(rows: Sequence[tuple[str, str, str]]) -> dict[str, str]:
    """The path of the only file that contains a string with placeholders, by string."""
    text: dict[str, str] = defaultdict(str)
    for file, _, code in rows:
        text[file] += f"{code}\n"
    return {
        string: file
        for file, code in text.items()
        if not _ASIDE.search(file) and not _PROSE.search(file)
        for string in map(_string, _STRING.finditer(code))
        if _tells(string) and sum(string in other for other in text.values()) == 1
    }


def _string(match: re.Match[str]) -> str:
    return str(match[match.lastindex or 0])


def _tells(string: str) -> bool:
    """Whether `string` is like a message: one to three placeholders, and three words in a row."""
    parts = _HOLE.split(string)
    most_words = max(len(re.findall("[A-Za-z]{2,}", part)) for part in parts)
    is_short = len(string) <= 160 and 2 <= len(parts) <= 4
    return is_short and most_words >= 3 and not re.search(r"[<>{}=;]|\\n", " ".join(parts))


def asked_of(repository: str, rows: Sequence[tuple[str, str, str]]) -> Iterator[Item]:
    """The how-to questions that some prose of the repository answers."""
    text: dict[str, str] = defaultdict(str)
    for file, _, code in rows:
        if (_PROSE.search(file) or _FIRST_READ.match(file)) and not _LISTS.search(file):
            text[file] += f"{code}\n"
    for question, words in HOW_TO.items():
        heading = re.compile(_HEADING.format(words=words))
        files = sorted(file for file, prose in text.items() if heading.search(f"{file}\n{prose}"))
        if files:
            asked = question.format(name=repository)
            yield {"repository": repository, "kind": "how-to", "text": asked, "files": files}


def _write(name: str, items: Sequence[Item]) -> None:
    lines = "".join(json.dumps(item, ensure_ascii=False) + "\n" for item in items)
    (SETS / f"{name}.jsonl").write_text(lines, encoding="utf-8")
    print(f"{name}: {len(items)}")


if __name__ == "__main__":
    main()
