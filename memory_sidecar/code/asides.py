"""Tells which files are asides of a project: tests, docs, translations, data, examples and others.

Asides that a question does not ask for rank lower: see `ranking`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from memory_sidecar.core.language import NO_CODE

PROSE = re.compile(
    r"\.(?:md|mdx|markdown|cheatmd|livemd|rst|adoc|rdoc|(?<!cmakelists\.)txt)$"
    r"|(?:^|/)(?=(?-i:[A-Z]))(?:readme|licen[cs]e[\w-]*|copying|change(?:log|s)|history|news"
    r"|authors|contribut\w+|install|todo|notice)$"
    r"|(?:^|/)(?:docs?|documentation|manual|src/site)/(?:.*/)?[^/]+\.html?$",
    re.IGNORECASE,
)
# A language other than English in a path. Alone, `ca`, `cs` and `ml` mean something else.
_NOT_ENGLISH = (
    r"((ar|bg|bn|da|de|el|es|fa|fi|fr|he|hi|hu|id|it|ja|ko|nl|no|pl|pt|ro|ru|sv|th|tr|uk|vi|zh)"
    r"([-_](br|cn|hans|hant|hk|pt|tw))?|(?!en)[a-z]{2}[-_](?-i:[A-Z]{2}))"
)


class _Aside(NamedTuple):
    """A kind of aside."""

    kind: str
    paths: re.Pattern[str]  # matches those of its files
    words: re.Pattern[str]  # matches a question that asks for it

    @classmethod
    def of(cls, kind: str, paths: str, words: str) -> _Aside:
        return cls(kind, re.compile(paths, re.IGNORECASE), re.compile(words, re.IGNORECASE))


_ASIDES = (
    _Aside.of(
        "tests",
        r"^tests?/src/|^(?!(.*/)?(?-i:src/(main|\w+Main))/|lib/(.*/)?\w+_test/).*?("
        r"(^|[/_.\-])(tests?|specs?|testing|__tests__|e2e|conftest|testdata|testutils?|regress)"
        r"([/_.\-]|$)|(?-i:[a-z]Test(s|(Case|Helper|Util)\w*)?)(\.|/)|\.Tests?/"
        r"|\.(feature|caddyfiletest)$|^x?t/|(^|/)fuzz(ing|ers?)?/)",
        r"\b(tests?|tested|testing|specs?|benchmarks?|coverage|fixtures?|mocks?"
        r"|unittest|flaky|fuzz\w*)\b",
    ),
    _Aside.of(
        "docs",
        rf"{PROSE.pattern}|[a-z]\.[1-8](\.in|\.prebuilt)?$|\.(ronn|pod|texi|dox)$"
        r"|^(doc|manual|src/site|changelogs?|newsfragments|release[_-]?notes)/"
        r"|(^|/)(docs|documentation(-\w+)?|man)/",
        r"\b(docs?|documentation|document(ed|ing|s)?|readme|changelog|changes|guide|tutorial"
        r"|examples?|typos?|markdown|links?|contributing|license|faq"
        r"|wiki|website)\b",
    ),
    _Aside.of(
        "data",
        r"\.(json|jsonl|csv|tsv|svg|snap|lock|map)$"
        r"|(^|/)(fixtures?|__testfixtures__|(__)?snapshots?(__)?)/"
        r"|-lock\.ya?ml$|^tags$|(^|/)PKG-INFO$"
        # Translations, which repeat each message of the sources; `en-US` may be these.
        r"|\.(po|pot|xliff?|arb)$|(^|/)(locales?|i18n|l10n|translations?|resources/lang)/(.*/)?"
        r"(?!(en([-_]us)?|db|go|js|py|rb|ts|ui)[./]|(db|go|js|py|rb|ts|ui)[-_])"
        r"[a-z]{2}([-_][a-z]{2,4})?(/|\.(php|ya?ml|[jt]s)$)"
        r"|(^|/)translations/\w+_\w+\.ts$|(^|/)(?!(base|en)\.)[a-z-]{2,7}\.lproj/"
        r"|(bundle|labels|messages|strings)_(?!en(_us)?\.)[a-z]{2}(_[a-z]{2})?\.properties$"
        r"|(^|/)values-[a-z]{2}(-r[a-z]{2})?/"
        r"|\.xcodeproj/|(^|/)api/[^/]+\.api$|\.(nuspec|sln|(cs|fs|vb|vcx)proj)$"
        r"|(^|/)(aclocal\.m4|config\.(guess|sub)|configure|depcomp|install-sh|ltmain\.sh"
        r"|Makefile\.in|ylwrap)$",
        r"\b(json\w*|schemas?|csv|svg|data|datasets?|fixtures?|snapshots?|config\w*|settings?"
        r"|manifest|packages?|dependenc\w*|versions?|lock\w*|generated|vendor\w*|bundled)\b",
    ),
    _Aside.of(
        "translations",  # of prose into other languages than English
        r"(^|/)readme[._-]"
        rf"{_NOT_ENGLISH}(?=\.[^/]+$)|\.{_NOT_ENGLISH}(?=\.(md|mdx|rst|adoc|html?)$)"
        r"|(^|/)(docs?|documentation|i18n|locales?|manual|readmes?|translations?|website)/"
        rf"(.*/)?{_NOT_ENGLISH}/",
        r"\b(translat\w*|locali[sz]\w*|i18n|l10n|arabic|chinese|dutch|french|german|italian"
        r"|japanese|korean|polish|portuguese|russian|spanish|turkish)\b|[^\W\d_a-z]"
        # Words of other languages, for a question that is not asked in English.
        r"|\b(comment \w+[ei]r|les|des|une|der|das|eine?[mnrs]?|wie|wo|como|los|las|para|gli"
        r"|della|het|een)\b",
    ),
    _Aside.of(
        "vendored",  # or generated; not "data": "which package" asks for no third-party code
        r"(^|/)(generated|_?vendor(s|ed)?|bundled|(third|3rd)[_-]?party|[\w-]+-dist)/"
        r"|(^|/)sqlite3(ext)?\.[ch]$"
        r"|^(deps|extern(als?)?|subprojects)/|\.(freezed|g|mapper|mocks)\.dart$"
        r"|(^|/)priv/static/|\.min\.(?:[cm]?js|css)$|\.pb\.\w+$|_pb2(_grpc)?\.pyi?$|[_.]generated\.",
        r"\b(generated|vendor\w*|bundled|third[ -]party)\b",
    ),
    _Aside.of(
        "examples",
        r"(^|[/._-])(examples?|samples?|demos?|tutorials?|bench(es|marks?)?|perf)/"
        r"|(^|[/.])playgrounds?/|(?-i:(^|[/.])(Examples?|Samples?|Demos?)(\.\w+)+/)",
        r"\b(examples?|samples?|demos?|playgrounds?|tutorials?|benchmark\w*)\b",
    ),
    _Aside.of(
        "declarations",  # of types, beside the JavaScript or Ruby that they describe
        r"\.d\.[cm]?ts$|\.rb[is]$",
        r"\b(typ(e[ds]?|ings?)|typescript|interfaces?|declar\w+|overloads?|generics?)\b",
    ),
)


# Change logs name everything that ever changed: they are asides even where other docs are not.
_CHANGES = re.compile(
    r"(^|/)(change(log|s)|history|news|release[_-]?notes)[^/]*$"
    r"|(^|/)(\.?changelogs?(\.d)?|\.changeset|newsfragments|release[_-]?notes)/",
    re.IGNORECASE,
)
# "How to share a group" may be answered by users' docs as well as by the code that does it.
_HOW_TO = re.compile(r"\bhow to\b", re.IGNORECASE)
_TESTS_OF = re.compile(
    r"^\W*(?:where (?:are|is) |which |find |show )?(?:\w+ ){0,2}?(?:test(?: case)?s?|specs?)"
    r" (?:about|for|of|that)\b|\b(?:tests|specs)\W*$|^where (?:are|is) .* tested\b",
    re.IGNORECASE,
)
# "Which ports are blocked" and "default timeout" ask for a list or a value, which docs state, too.
_ASKS_WHICH = re.compile(
    r"^\W*(?:which|what)\b(?! (?:class(?:es)?|code|does|files?|functions?|happens|methods?|modules?"
    r"|calls|extends|implements|includes|parts?|uses)\b)|\bdefaults?\b"
    r"|^\W*(?:flag|option|setting)s?\b|\b(?:flag|option|setting)s?\W*$",
    re.IGNORECASE,
)
# "A store in memory for tests" and "during tests" ask for code that tests use, not for a test.
_FOR_TESTS = re.compile(r"\b(?:for|during) (?:an? |the )?(?:unit )?test(?:s|ing)?\b", re.IGNORECASE)


def asides_to(text: str, *, asks_for_guide: bool) -> frozenset[str]:
    """Return the kinds of files that the question `text` does not ask for.

    If it asks for a guide, these are all kinds but docs, and translations if it asks for these.
    """
    text = _FOR_TESTS.sub("", text)
    asides = frozenset(each.kind for each in _ASIDES if not each.words.search(text))
    if asks_for_guide:
        every = frozenset(each.kind for each in _ASIDES)
        return every - {"docs"} - ({"translations"} - asides)
    return without_docs(asides) if _HOW_TO.search(text) else asides


def without_docs(asides: frozenset[str]) -> frozenset[str]:
    """Return `asides` without docs, of which only change logs remain asides."""
    return asides - {"docs"} | {"changes"} if "docs" in asides else asides


def asks_for_tests(text: str) -> bool:
    """Whether the question `text` asks for tests of something: "tests of the date parser"."""
    return bool(_TESTS_OF.search(_FOR_TESTS.sub("", text)))


def asks_which(text: str) -> bool:
    """Whether the question `text` asks for a list or a setting, which docs may state as well."""
    return bool(_ASKS_WHICH.search(text))


def is_code(path: str, language: str) -> bool:
    """Whether the file at `path` is code, perhaps of an aside, and not prose, markup or data."""
    return language not in NO_CODE and not PROSE.search(path)


@lru_cache(maxsize=1 << 14)  # every question asks for the same paths
def asides_of(path: str) -> frozenset[str]:
    """Return the kinds of asides that the file at `path` is; most files are of none."""
    kinds = frozenset(each.kind for each in _ASIDES if each.paths.search(path))
    is_log = _CHANGES.search(path) and PROSE.search(path)
    return kinds | {"changes"} if is_log else kinds


def in_tests(symbols: Sequence[str], scope: str) -> bool:
    """Whether a chunk is in, or begins, a module whose name says that it holds tests."""
    outer = scope.partition(".")[0] or (symbols[0] if symbols else "")
    return outer in {"test", "tests"} or outer.endswith(("_test", "_tests"))


def is_aside(path: str) -> bool:
    """Whether the file is an aside of any kind."""
    return bool(asides_of(path))


def is_data(path: str) -> bool:
    """Whether the file is data, generated or vendored."""
    return not asides_of(path).isdisjoint({"data", "vendored"})
