"""How much a chunk answers a question: one number from both arms and what its path tells.

    relevance = cosine + w · (k - k₆₀) + max(0.15 · p, 0.3 · n) + 0.1 · d · (1 - 1 / c)
                - 0.2 for each kind of aside, whose path counts half, + 0.2 or 0.3 for a guide
                + 0.2 · static cosine + what commits lend to the file: see `history`
    k   s / (s + i): s is the BM25 of the chunk, i the idf of all words of the question; above that
        of the 60th candidate that is no aside     w   0.2, or 0.4 if the question quotes code
    p   share of the question's words, by idf, that stand in the path
    n   share of its words that the name of the file or of its folder begins with, or that begin it
    d   the same share of its words, by the names that the candidates of its file define
    c   candidates in its file

A question of how to install, run or contribute asks for a guide: prose gains, READMEs most.

The keyword share saturates instead of being divided by the best of the list: so a weak best match
stays weak. Each term was kept because leaving it out cost ranking on named sets;
`benchmarks/retrieval.py` and `benchmarks/repositories.py` measure it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from functools import lru_cache

from memory_sidecar.index.words import STOPWORDS, humps_apart, plain_words

KEYWORD_WEIGHT = 0.2
KEYWORD_WEIGHT_QUOTED = 0.4
PATH_WEIGHT = 0.15
NAME_WEIGHT = 0.3
DEFINED_WEIGHT = 0.1
ASIDE_PENALTY = 0.2
NAME_OF_ASIDE = 0.5  # the share of what its path gains that an aside keeps
GUIDE_BOOST = 0.2
FIRST_READ_BOOST = 0.3  # of a README and the like at the root
LEAST_LETTERS = 3  # that a word of the question and one of a name must have in common

_QUOTES_CODE = re.compile(r"[a-z][A-Z]|_|`|\w\(\)|\w\.\w|::|\w/\w|[A-Z]{2,}|\d|[\"']\w")
_PROSE = re.compile(
    r"\.(?:md|mdx|markdown|rst|adoc|rdoc|(?<!cmakelists\.)txt)$"
    r"|(?:^|/)(?=(?-i:[A-Z]))(?:readme|licen[cs]e[\w-]*|copying|change(?:log|s)|history|news"
    r"|authors|contribut\w+|install|todo|notice)$",
    re.IGNORECASE,
)
_LANGUAGE = re.compile(
    r"\b(?:in|using|with|for|from)?\s*\b(?:python|javascript|typescript|golang|rust|java|c#|kotlin"
    r"|swift|ruby|php)\s?\d?(?!\w)",
    re.IGNORECASE,
)

# What counts as an aside, by path, and the words by which a question asks for such files.
_ASIDES = (
    (
        "tests",
        re.compile(
            r"(^|[/_.\-])(tests?|specs?|testing|__tests__|e2e|conftest|testdata|testutils?|regress)"
            r"([/_.\-]|$)|(?-i:[a-z]Test(s|(Case|Util)\w*)?)(\.|/)|\.Tests?/|\.feature$|^t/",
            re.IGNORECASE,
        ),
        re.compile(
            r"\b(tests?|tested|testing|specs?|benchmarks?|coverage|assert\w*|fixtures?|mocks?"
            r"|unittest|flaky)\b",
            re.IGNORECASE,
        ),
    ),
    (
        "docs",
        re.compile(rf"{_PROSE.pattern}|(^|/)(docs?|documentation)/", re.IGNORECASE),
        re.compile(
            r"\b(docs?|documentation|document(ed|ing|s)?|readme|changelog|changes|guide|tutorial"
            r"|examples?|comments?|docstrings?|typos?|markdown|links?|contributing|license|faq"
            r"|wiki|website)\b",
            re.IGNORECASE,
        ),
    ),
    (
        "data",
        re.compile(
            r"\.(json|jsonl|csv|tsv|svg|snap|lock|map)$"
            r"|(^|/)(fixtures?|(__)?snapshots?(__)?|generated|_?vendor(s|ed)?"
            r"|(third|3rd)[_-]?party)/|^(deps|extern(als?)?|subprojects)/"
            r"|\.min\.(js|css)$|\.pb\.\w+$|_pb2(_grpc)?\.pyi?$|[_.]generated\.",
            re.IGNORECASE,
        ),
        re.compile(
            r"\b(json\w*|schemas?|csv|svg|data|datasets?|fixtures?|snapshots?|config\w*|settings?"
            r"|manifest|packages?|dependenc\w*|versions?|lock\w*|generated|vendor\w*)\b",
            re.IGNORECASE,
        ),
    ),
    (
        "examples",
        re.compile(
            r"(^|/)(examples?|samples?|demos?|playgrounds?|tutorials?|bench(es|marks?)?|perf)/",
            re.IGNORECASE,
        ),
        re.compile(
            r"\b(examples?|samples?|demos?|playgrounds?|tutorials?|benchmark\w*)\b", re.IGNORECASE
        ),
    ),
)


# What stands ready for tests, which is no test.
_FOR_TESTS = re.compile(r"\bfor (?:an? |the )?(?:unit )?test(?:s|ing)?\b", re.IGNORECASE)

# A question of somebody who uses or builds the project, which its README and docs answer.
_ASKS = re.compile(r"\W*(?:how|what|where|why|which|who|when)\b", re.IGNORECASE)
_GUIDE = re.compile(
    r"\bhow (?:do|can|should|would) (?:i|we|you|one)\b"
    r"|\bhow to (?:install|run|build|compile|configure|set ?up|contribute|upgrade|migrate|deploy"
    r"|release|start|launch|get|use|test(?! (?:if|for|that|whether)\b))\b"
    r"|\b(?:get(?:ting)? started|quick ?start|hello world|install(?:ation|ing)|contribut(?:e|ing)"
    r"|(?:what|system) (?:are the )?requirements|supported versions?|simple example"
    r"|versions? (?:is|are) (?:supported|required|needed)"
    r"|(?:which|what) [\w ]*versions? [\w ]*support\w*"
    r"|how is [\w .-]+ licensed|(?:which|what) licen[cs]e"
    r"|report (?:a|an) (?:\w+ )?(?:bug|issue|problem|vulnerability))\b",
    re.IGNORECASE,
)
_FIRST_READ = re.compile(
    r"^(?:readme|contributing|install(?:ing|ation)?|hacking|develop\w*|getting.?started)[^/]*$"
    r"|^(?:\.github/|docs?/)?(?:security|contributing)[^/]*$",
    re.IGNORECASE,
)
_LISTS = re.compile(r"(^|/)(?:change|history|news|release|licen[cs]e)[^/]*$", re.IGNORECASE)
_ASKS_FOR_LICENCE = re.compile(r"\blicen[cs]e[ds]?\b", re.IGNORECASE)
_LICENCE = re.compile(r"^(?:docs?/)?(?:licen[cs]e|copying|unlicense)[^/]*$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Question:
    """A query's text, and what it tells of how to rank."""

    text: str
    subject: str  # without the name of a programming language
    keyword_weight: float
    may_stand_so: bool  # as a message does; what begins like a question is about the code
    asks_for_guide: bool  # how to install, run, configure, contribute …
    asides: frozenset[str]  # kinds of files that it does not ask for
    words: tuple[str, ...]  # those that tell something
    beginnings: frozenset[str]  # the first letters of each of `words`
    matches: dict[str, int] = field(default_factory=dict, compare=False)  # see `matched_by`

    @classmethod
    def of(cls, text: str) -> Question:
        asks_for_guide = bool(_GUIDE.search(text))
        words = tuple(word for word in telling_words(text) if word not in STOPWORDS)
        return cls(
            text=text,
            subject=_LANGUAGE.sub("", text).strip() or text,
            keyword_weight=KEYWORD_WEIGHT_QUOTED if _QUOTES_CODE.search(text) else KEYWORD_WEIGHT,
            may_stand_so=not _ASKS.match(text),
            asks_for_guide=asks_for_guide,
            asides=_unasked(text, asks_for_guide=asks_for_guide),
            words=words,
            beginnings=frozenset(word[:LEAST_LETTERS] for word in words),
        )

    @property
    def wordings(self) -> tuple[str, ...]:
        """The texts whose vectors' mean stands for it.

        Most code of a language does not name it: with the name left out of one of them, NDCG@10
        on CoSQA grew by .008.
        """
        return tuple(dict.fromkeys((self.text, self.subject)))

    def path_boost(self, path: str, coverage: float, *, project: str = "") -> float:
        """What a chunk of the file at `path` gains, whose words have `coverage` of the question.

        To install `project` is asked of all of it, not of the files that are called like it, nor is
        how to test of the tests.
        """
        share = 1.0
        if self.penalties(path):
            share = 0.0 if self.asks_for_guide else NAME_OF_ASIDE
        left_out = project if self.asks_for_guide else ""
        return share * max(PATH_WEIGHT * coverage, NAME_WEIGHT * self.name_share(path, left_out))

    def name_share(self, path: str, left_out: str = "") -> float:
        """Share of its words, 0…1, that match a word in the name of that file or of its folder.

        The words of `left_out` match none.
        """
        return self.share_of(self._matched(_words_of_name(path), telling_words(left_out)))

    def share_of(self, matched: int) -> float:
        """Share of its words, 0…1, that the bits of `matched` stand for."""
        return matched.bit_count() / len(self.words) if self.words else 0.0

    def matched_by(self, text: str) -> int:
        """A bit for each of its words that matches a word of `text`.

        A word matches one that it begins or that begins with it: `routes` and `router` do not,
        `naming` and `name` do not, `compile` and `compiler` do.
        """
        return self._matched(telling_words(text)) if text else 0

    def _matched(self, words: Iterable[str], left_out: Collection[str] = ()) -> int:
        matched = 0
        for word in words:
            if word[:LEAST_LETTERS] not in self.beginnings:
                continue  # as most: what matches begins alike
            bits = self.matches.get(word)
            if bits is None:  # what most of a project's names are made of is few words
                bits = self.matches[word] = sum(
                    1 << number
                    for number, asked in enumerate(self.words)
                    if asked.startswith(word) or word.startswith(asked)
                )
            if word not in left_out:
                matched |= bits
        return matched

    def guide_boost(self, path: str) -> float:
        """What a chunk of the file at `path` gains where a guide is asked for."""
        if not self.asks_for_guide:
            return 0.0
        if _LICENCE.search(path) and _ASKS_FOR_LICENCE.search(self.text):
            return FIRST_READ_BOOST
        if not _PROSE.search(path) or _LISTS.search(path):
            return 0.0
        return FIRST_READ_BOOST if _FIRST_READ.search(path) else GUIDE_BOOST

    def penalties(self, filename: str) -> dict[str, float]:
        """What a chunk of `filename` loses, by kind of aside."""
        return dict.fromkeys(self.asides & _asides_of(filename), -ASIDE_PENALTY)


def _unasked(text: str, *, asks_for_guide: bool) -> frozenset[str]:
    """The kinds of files that are asides to a question; to one for a guide all but docs."""
    if asks_for_guide:
        return frozenset(kind for kind, _, _ in _ASIDES if kind != "docs")
    text = _FOR_TESTS.sub("", text)
    return frozenset(kind for kind, _, asked in _ASIDES if not asked.search(text))


@lru_cache(maxsize=1 << 14)  # the paths of a source, which come again with every question
def _asides_of(path: str) -> frozenset[str]:
    return frozenset(kind for kind, pattern, _ in _ASIDES if pattern.search(path))


def is_aside(path: str) -> bool:
    """Whether that file is a test, an example, documentation, data, generated or vendored."""
    return bool(_asides_of(path))


def is_data(path: str) -> bool:
    """Whether that file holds data, or what was generated or vendored."""
    return "data" in _asides_of(path)


@lru_cache(maxsize=1 << 14)
def _words_of_name(path: str) -> tuple[str, ...]:
    """The telling words in the name of the folder and of the file without its ending."""
    folder, _, name = path.rpartition("/")
    stem = name.rpartition(".")[0] or name
    return telling_words(f"{folder.rpartition('/')[2]} {stem}")


@lru_cache(maxsize=1 << 15)
def telling_words(text: str) -> tuple[str, ...]:
    """The words of identifiers, each once, that are long enough to be matched."""
    words = dict.fromkeys(plain_words(text))
    return tuple(word for word in words if len(word) >= LEAST_LETTERS)


def forget() -> None:
    """Give back what is kept of the paths and names that questions have met."""
    for kept in (_asides_of, _words_of_name, telling_words, humps_apart):
        kept.cache_clear()
