"""Which files are asides of a project: tests, documentation, data, examples, declarations.

Those that a question does not ask for rank lower: see `ranking`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

PROSE = re.compile(
    r"\.(?:md|mdx|markdown|cheatmd|livemd|rst|adoc|rdoc|(?<!cmakelists\.)txt)$"
    r"|(?:^|/)(?=(?-i:[A-Z]))(?:readme|licen[cs]e[\w-]*|copying|change(?:log|s)|history|news"
    r"|authors|contribut\w+|install|todo|notice)$"
    r"|(?:^|/)(?:docs?|documentation|manual|src/site)/(?:.*/)?[^/]+\.html?$",
    re.IGNORECASE,
)
# The kinds of asides: the paths of such files, and the words by which a question asks for them.
_ASIDES = (
    (
        "tests",
        re.compile(
            r"^tests?/src/|^(?!(.*/)?(?-i:src/(main|\w+Main))/|lib/(.*/)?\w+_test/).*?("
            r"(^|[/_.\-])(tests?|specs?|testing|__tests__|e2e|conftest|testdata|testutils?|regress)"
            r"([/_.\-]|$)|(?-i:[a-z]Test(s|(Case|Helper|Util)\w*)?)(\.|/)|\.Tests?/"
            r"|\.(feature|caddyfiletest)$|^x?t/)",
            re.IGNORECASE,
        ),
        re.compile(
            r"\b(tests?|tested|testing|specs?|benchmarks?|coverage|fixtures?|mocks?"
            r"|unittest|flaky)\b",
            re.IGNORECASE,
        ),
    ),
    (
        "docs",
        re.compile(
            rf"{PROSE.pattern}|[a-z]\.[1-8](\.in|\.prebuilt)?$|\.(ronn|pod|texi|dox)$"
            r"|^(doc|manual|changelogs?|newsfragments|release[_-]?notes)/"
            r"|(^|/)(docs|documentation|man)/",
            re.IGNORECASE,
        ),
        re.compile(
            r"\b(docs?|documentation|document(ed|ing|s)?|readme|changelog|changes|guide|tutorial"
            r"|examples?|typos?|markdown|links?|contributing|license|faq"
            r"|wiki|website)\b",
            re.IGNORECASE,
        ),
    ),
    (
        "data",
        re.compile(
            r"\.(json|jsonl|csv|tsv|svg|snap|lock|map)$"
            r"|(^|/)(fixtures?|(__)?snapshots?(__)?|generated|_?vendor(s|ed)?"
            r"|bundled|(third|3rd)[_-]?party)/|^(deps|extern(als?)?|subprojects)/"
            r"|-lock\.ya?ml$|^tags$|\.(freezed|g|mapper|mocks)\.dart$"
            r"|\.min\.(?:[cm]?js|css)$|(^|/)PKG-INFO$|\.pb\.\w+$|_pb2(_grpc)?\.pyi?$|[_.]generated\."
            r"|\.xcodeproj/|\.(nuspec|sln|(cs|fs|vb|vcx)proj)$"
            r"|(^|/)(aclocal\.m4|config\.(guess|sub)|configure|depcomp|install-sh|ltmain\.sh"
            r"|Makefile\.in|ylwrap)$",
            re.IGNORECASE,
        ),
        re.compile(
            r"\b(json\w*|schemas?|csv|svg|data|datasets?|fixtures?|snapshots?|config\w*|settings?"
            r"|manifest|packages?|dependenc\w*|versions?|lock\w*|generated|vendor\w*|bundled)\b",
            re.IGNORECASE,
        ),
    ),
    (
        "examples",
        re.compile(
            r"(^|[/._-])(examples?|samples?|demos?|tutorials?|bench(es|marks?)?|perf)/"
            r"|(^|[/.])playgrounds?/",
            re.IGNORECASE,
        ),
        re.compile(
            r"\b(examples?|samples?|demos?|playgrounds?|tutorials?|benchmark\w*)\b", re.IGNORECASE
        ),
    ),
    (
        "declarations",  # of what is written in JavaScript beside them
        re.compile(r"\.d\.[cm]?ts$", re.IGNORECASE),
        re.compile(
            r"\b(typ(e[ds]?|ings?)|typescript|interfaces?|declar\w+|overloads?|generics?)\b",
            re.IGNORECASE,
        ),
    ),
)


# "A store in memory for tests" and "during tests" ask for code that tests use, not for a test.
_FOR_TESTS = re.compile(r"\b(?:for|during) (?:an? |the )?(?:unit )?test(?:s|ing)?\b", re.IGNORECASE)


def asides_to(text: str, *, asks_for_guide: bool) -> frozenset[str]:
    """Return the kinds of files that the question `text` does not ask for.

    For a guide these are all but docs.
    """
    if asks_for_guide:
        return frozenset(kind for kind, _, _ in _ASIDES if kind != "docs")
    text = _FOR_TESTS.sub("", text)
    return frozenset(kind for kind, _, asked in _ASIDES if not asked.search(text))


@lru_cache(maxsize=1 << 14)  # every question asks for the same paths
def asides_of(path: str) -> frozenset[str]:
    """Return the kinds of asides that the file at `path` is; most are of none."""
    return frozenset(kind for kind, pattern, _ in _ASIDES if pattern.search(path))


def in_tests(symbols: Sequence[str], scope: str) -> bool:
    """Whether a chunk is in, or begins, a module that is called like one of tests."""
    outer = scope.partition(".")[0] or (symbols[0] if symbols else "")
    return outer in {"test", "tests"} or outer.endswith(("_test", "_tests"))


def is_aside(path: str) -> bool:
    """Whether the file is a test, an example, documentation, data, generated or vendored."""
    return bool(asides_of(path))


def is_data(path: str) -> bool:
    """Whether the file is data, generated or vendored."""
    return "data" in asides_of(path)
