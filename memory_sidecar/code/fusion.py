"""The relevance of a chunk to a question: a sum over what the arms, its path and its file say.

    relevance = cosine + w · (k - k₆₀) + max(0.15 · p, 0.3 · n) + 0.1 · d · (1 - 1 / c)
                - 0.2 for each kind of aside that the file is, + 0.2 or 0.3 for a guide
                + 0.15 · f + 0.2 · static cosine + boost by commits: see `history`
    w   0.2, or 0.4 if the question quotes code
    k   s / (s + i): s is the BM25 of the chunk, i the idf of all words of the question
    k₆₀ the same of the 60th candidate, asides not counted; k - k₆₀ is at least 0
    p   share of the question's words, by idf, that stand in the path
    n   share of the question's words that match a word in the name of the file or of its folder,
        where one begins the other; a word that so many as m > 5 candidate files match counts 5 / m
    d   the plain share, of the names that the candidates of the file define
    c   number of candidates in the file
    f   share of the question's words, by idf, that these hold together, over the fourth root of c;
        0 if the question names a programming language: it is about no project's own words

An aside is a test, documentation, an example or data (see `_ASIDES`) that the question does not ask
for; its path counts half. A question of how to install, run or contribute asks for a guide: prose
gains, READMEs most.

The keyword share saturates instead of being divided by the best of the list, so that a weak best
match stays weak. Each term is here because ranking on named sets got worse without it, as
`benchmarks/retrieval.py` and `benchmarks/repositories.py` measure.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from memory_sidecar.code.framing import QUESTION_WORD, without_framing, without_project
from memory_sidecar.index.words import STOPWORDS, humps_apart, plain_words

KEYWORD_WEIGHT = 0.2
KEYWORD_WEIGHT_QUOTED = 0.4
PATH_WEIGHT = 0.15
NAME_WEIGHT = 0.3
COMMON_NAMES = 5  # files; a word in the names of more tells less
DEFINED_WEIGHT = 0.1
FILE_WORDS_WEIGHT = 0.15
ASIDE_PENALTY = 0.2
ASIDE_PATH_SHARE = 0.5  # the share of its path boost that an aside keeps
GUIDE_BOOST = 0.2
ENTRY_PAGE_BOOST = 0.3  # for a README and the like at the root
MIN_MATCHED_LETTERS = 3  # at the beginning of a word of the question and of a name, to match

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

# The kinds of asides: the paths of such files, and the words by which a question asks for them.
_ASIDES = (
    (
        "tests",
        re.compile(
            r"(^|[/_.\-])(tests?|specs?|testing|__tests__|e2e|conftest|testdata|testutils?|regress)"
            r"([/_.\-]|$)|(?-i:[a-z]Test(s|(Case|Helper|Util)\w*)?)(\.|/)|\.Tests?/|\.feature$|^t/",
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
        re.compile(
            rf"{_PROSE.pattern}|[a-z]\.[1-8](\.in|\.prebuilt)?$|\.(ronn|pod|texi)$"
            r"|^doc/|(^|/)(docs|documentation|man)/",
            re.IGNORECASE,
        ),
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
            r"|\.min\.(?:[cm]?js|css)$|(^|/)PKG-INFO$|\.pb\.\w+$|_pb2(_grpc)?\.pyi?$|[_.]generated\."
            r"|\.xcodeproj/",
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
            r"(^|/)(_?examples?|samples?|demos?|tutorials?|bench(es|marks?)?|perf)/"
            r"|(^|[/.])playgrounds?/",
            re.IGNORECASE,
        ),
        re.compile(
            r"\b(examples?|samples?|demos?|playgrounds?|tutorials?|benchmark\w*)\b", re.IGNORECASE
        ),
    ),
)


# "A store in memory for tests" asks for code that tests use, not for a test.
_FOR_TESTS = re.compile(r"\bfor (?:an? |the )?(?:unit )?test(?:s|ing)?\b", re.IGNORECASE)

# A question of somebody who uses or builds the project, which its README and docs answer.
_GUIDE = re.compile(
    r"\bhow (?:do|can|should|would) (?:i|you|one)\b"
    r"|\bhow (?:to|(?:do|can|should) we) (?:install|run|build|compile|configure|set ?up|contribute"
    r"|upgrade|migrate|deploy|release|start|launch|get|use|test(?! (?:if|for|that|whether)\b))\b"
    r"|\b(?:get(?:ting)? started|quick ?start|hello world|install(?:ation|ing)|contribut(?:e|ing)"
    r"|(?:what|system) (?:are the )?requirements|supported versions?|simple example"
    r"|versions? (?:is|are) (?:supported|required|needed)"
    r"|(?:which|what) [\w .-]{0,60}versions? [\w .-]{0,60}support\w*"
    r"|how is [\w .-]+ licensed|(?:which|what) licen[cs]e"
    r"|report (?:a|an) (?:\w+ )?(?:bug|issue|problem|vulnerability))\b",
    re.IGNORECASE,
)
_ENTRY_PAGE = re.compile(
    r"^(?:readme|contributing|install(?:ing|ation)?|hacking|develop\w*|getting.?started)[^/]*$"
    r"|^(?:\.github/|docs?/)?(?:security|contributing)[^/]*$",
    re.IGNORECASE,
)
_NOTICES = re.compile(r"(^|/)(?:change|history|news|release|licen[cs]e)[^/]*$", re.IGNORECASE)
_ASKS_FOR_LICENCE = re.compile(r"\blicen[cs]e[ds]?\b", re.IGNORECASE)
_LICENCE = re.compile(r"^(?:docs?/)?(?:licen[cs]e|copying|unlicense)[^/]*$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Question:
    """The text of a hybrid query, and what ranking derives from it."""

    text: str  # without the name of the project; and the framing, unless it asks for a guide
    message: str  # the text as it was asked, if that may be an error message; else ""
    subject: str  # the text without the names of programming languages
    names_language: bool
    keyword_weight: float
    asks_for_guide: bool  # how to install, run, configure, contribute …
    asides: frozenset[str]  # kinds of files that it does not ask for
    words: tuple[str, ...]  # distinct; no stop words, names of projects, and those of two letters
    prefixes: frozenset[str]  # the first MIN_MATCHED_LETTERS of each of `words`
    bits_of_word: dict[str, int] = field(default_factory=dict, compare=False)  # a cache

    @classmethod
    def of(cls, asked: str, sources: Collection[str] = ()) -> Question:
        """Take a query apart that is asked of all files of `sources`.

        The name of the only source says nothing: "how does shop round prices" asks how prices are
        rounded. A guide to shop need not be in a file called like it, whatever the other sources.
        """
        asks_for_guide = bool(_GUIDE.search(asked))
        about = named = asked
        if not asks_for_guide:
            named = without_project(asked, *sources) if len(sources) == 1 else asked
            about = without_framing(named)
        subject, languages = _LANGUAGE.subn("", about)
        left_out = STOPWORDS.union(*map(matchable_words, sources if asks_for_guide else ()))
        matchable = matchable_words(about)
        words = tuple(word for word in matchable if word not in left_out) or tuple(
            word for word in matchable if word not in STOPWORDS
        )
        return cls(
            text=about,
            message="" if about != named or QUESTION_WORD.match(asked) else asked,
            subject=subject.strip() or about,
            names_language=languages > 0,
            keyword_weight=KEYWORD_WEIGHT_QUOTED if _QUOTES_CODE.search(about) else KEYWORD_WEIGHT,
            asks_for_guide=asks_for_guide,
            asides=_asides_to(about, asks_for_guide=asks_for_guide),
            words=words,
            prefixes=frozenset(word[:MIN_MATCHED_LETTERS] for word in words),
        )

    @property
    def wordings(self) -> tuple[str, ...]:
        """The texts to embed; the mean of their vectors is the vector of the question.

        Most code of a language does not name it: with the name left out of one of the texts,
        NDCG@10 on CoSQA grew by .008.
        """
        return tuple(dict.fromkeys((self.text, self.subject)))

    def path_boost(self, coverage: float, name_share: float, *, is_aside: bool) -> float:
        """Return what a chunk gains by a path that covers so much of the words, its name so many.

        If a guide is asked for, the names of asides do not count.
        """
        kept = 1.0
        if is_aside:
            kept = 0.0 if self.asks_for_guide else ASIDE_PATH_SHARE
        return kept * max(PATH_WEIGHT * coverage, NAME_WEIGHT * name_share)

    def name_bits(self, path: str) -> int:
        """Return the bits of those of `words` that match the name of the file or of its folder."""
        return self._match_bits(_name_words(path))

    def name_shares(self, names: Sequence[int]) -> list[float]:
        """Return, for the `name_bits` of each candidate file, the share of `words` that they are.

        A word that more than COMMON_NAMES of them match counts as if those shared its weight.
        """
        files = Counter(names)
        each = [1 << number for number in range(len(self.words))]
        matching = [sum(count for bits, count in files.items() if bits & bit) for bit in each]
        weights = [min(1.0, COMMON_NAMES / max(count, 1)) / len(self.words) for count in matching]
        share_of = {
            bits: sum(weight for bit, weight in zip(each, weights, strict=True) if bits & bit)
            for bits in files
        }
        return [share_of[bits] for bits in names]

    def share_of_bits(self, bits: int) -> float:
        """Return the share of `words`, 0…1, whose bits are set: see `match_bits`."""
        return bits.bit_count() / len(self.words) if self.words else 0.0

    def match_bits(self, text: str) -> int:
        """Return a bit mask of those of `words` that match a word of `text`.

        Two words match if one begins with the other: `compile` and `compiler` do, `routes` and
        `router` do not, nor do `naming` and `name`.
        """
        return self._match_bits(matchable_words(text)) if text else 0

    def _match_bits(self, words: Iterable[str]) -> int:
        matched = 0
        for word in words:
            if word[:MIN_MATCHED_LETTERS] not in self.prefixes:
                continue  # most words: those that match have the same first letters
            bits = self.bits_of_word.get(word)
            if bits is None:  # worth a cache: the names of a project consist of few distinct words
                bits = self.bits_of_word[word] = sum(
                    1 << number
                    for number, asked in enumerate(self.words)
                    if asked.startswith(word) or word.startswith(asked)
                )
            matched |= bits
        return matched

    def guide_boost(self, path: str) -> float:
        """Return what a chunk of the file at `path` gains if a guide is asked for, else 0."""
        if not self.asks_for_guide:
            return 0.0
        if _LICENCE.search(path) and _ASKS_FOR_LICENCE.search(self.text):
            return ENTRY_PAGE_BOOST
        if not _PROSE.search(path) or _NOTICES.search(path):
            return 0.0
        return ENTRY_PAGE_BOOST if _ENTRY_PAGE.search(path) else GUIDE_BOOST

    def penalties(self, filename: str) -> dict[str, float]:
        """Return what a chunk of `filename` loses, by each kind of aside that the file is."""
        return dict.fromkeys(self.asides & _asides_of(filename), -ASIDE_PENALTY)


def _asides_to(text: str, *, asks_for_guide: bool) -> frozenset[str]:
    """Return the kinds of files that the question `text` does not ask for.

    For a guide these are all but docs.
    """
    if asks_for_guide:
        return frozenset(kind for kind, _, _ in _ASIDES if kind != "docs")
    text = _FOR_TESTS.sub("", text)
    return frozenset(kind for kind, _, asked in _ASIDES if not asked.search(text))


@lru_cache(maxsize=1 << 14)  # every question asks for the same paths
def _asides_of(path: str) -> frozenset[str]:
    """Return the kinds of asides that the file at `path` is; most are of none."""
    return frozenset(kind for kind, pattern, _ in _ASIDES if pattern.search(path))


def is_aside(path: str) -> bool:
    """Whether the file is a test, an example, documentation, data, generated or vendored."""
    return bool(_asides_of(path))


def is_data(path: str) -> bool:
    """Whether the file is data, generated or vendored."""
    return "data" in _asides_of(path)


@lru_cache(maxsize=1 << 14)
def _name_words(path: str) -> tuple[str, ...]:
    """Return the matchable words in the names of the folder and the file, without its extension."""
    folder, _, name = path.rpartition("/")
    stem = name.rpartition(".")[0] or name
    return matchable_words(f"{folder.rpartition('/')[2]} {stem}")


@lru_cache(maxsize=1 << 15)
def matchable_words(text: str) -> tuple[str, ...]:
    """Return the distinct words in identifiers of `text` that are long enough to match others."""
    words = dict.fromkeys(plain_words(text))
    return tuple(word for word in words if len(word) >= MIN_MATCHED_LETTERS)


def clear_caches() -> None:
    """Empty the caches of the paths and names that questions have met."""
    for cached in (_asides_of, _name_words, matchable_words, humps_apart):
        cached.cache_clear()
