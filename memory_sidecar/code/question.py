"""What a query asks: its subject, its words, its kinds, and what these say of paths.

    it asks, or has               told by             what that changes
    ────────────────────────────────────────────────────────────────────────────────────────────
    a guide: to install, to run   `guides`            prose gains, entry pages most
    tests of something            `asides`            tests gain
    a list, the value of a flag   `asides`            docs lose half as much
    how to do something           `asides`            of docs, change logs alone lose
    tests, docs, data … by word   `asides`            files of that kind do not lose
    code, or what is like it      `_QUOTES_CODE`      its words count twice
    the name of a language        `_LANGUAGE`         BM25 leaves it out, and counts what stands out
    a request, for no guide       `framing`           its subject alone counts; it is no message
    a record of a log             `log_records`       what it says alone counts, and which code did
    an import alone               `_IS_IMPORT`        it is neither message nor pasted code
    a question word, "default …"  `_IS_NO_MESSAGE`    it is no message
    names, paths, lines           `query_names`       see the table in `named`, which finds what
    a message or pasted code      `messages` …        each of these means

One question may be of several kinds.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from memory_sidecar.code.asides import asides_of, asides_to, asks_for_tests, asks_which
from memory_sidecar.code.framing import without_actor, without_framing
from memory_sidecar.code.guides import asks_for_guide, guide_boost
from memory_sidecar.code.log_records import record_in
from memory_sidecar.index.words import QUESTION_WORD, STOPWORDS, plain_words

KEYWORD_WEIGHT = 0.2
KEYWORD_WEIGHT_QUOTED = 0.4
PATH_WEIGHT = 0.15
NAME_WEIGHT = 0.3
COMMON_NAMES = 5  # a word in the names of more files than these tells less
ASIDE_PENALTY = 0.2
DOCS_PENALTY = 0.1  # where docs state what is asked for as well as code
ASIDE_PATH_SHARE = 0.5  # the share of its path boost that an aside keeps
TESTS_BOOST = 0.1  # for a test, where tests are asked for
MIN_MATCHED_LETTERS = 3  # at the beginning of a word of the question and of a name, to match
MIN_INNER_LETTERS = 4  # of a word of the question that a file's name may hold anywhere

_QUOTES_CODE = re.compile(r"[a-z][A-Z]|_|`|\w\(\)|\w\.\w|::|\w/\w|[A-Z]{2,}|\d|[\"']\w")
_LANGUAGE = re.compile(
    r"\b(?:in|using|with|for|from)?\s*\b(?:python|javascript|typescript|golang|rust|java|c#|kotlin"
    r"|swift|ruby|php)\s?\d?(?!\w)",
    re.IGNORECASE,
)

# Of one line: it asks for what it imports, not for the files that do so, too.
_IS_IMPORT = re.compile(
    r"\A\W*(?:(?:pub )?use [\w:]*(?:::|\\)"
    r"|import (?:\w+ )?['\"]?[\w/]*\.[\w./]++(?! (?!as |hid(?:e|ing) |show )\w)"
    r"|import\b[^'\"]*\bfrom ['\"]|from [\w.]+ import |# *include ['\"<]"
    r"|require(?:_relative)?[ (]['\"]|autoload :)[^\n]*\Z"
)
# "default resolve timeout" asks for a value, though comments on other values hold these words. Nor
# is a table of Markdown a message.
_IS_NO_MESSAGE = re.compile(
    rf"{QUESTION_WORD.pattern}|\A(?-i:default) [\w -]*\Z|[^\n]*\|[^\n]*\n[ :|-]+\n",
    QUESTION_WORD.flags,
)


@dataclass(frozen=True, slots=True)
class Question:
    """The text of a hybrid query, and what ranking derives from it."""

    text: str  # without the project's name and the framing, unless it asks for a guide
    message: str  # the text as it was asked, if that may be an error message; else ""
    is_record: bool  # whether that was a record of a log, of which `message` has what it says
    pasted: str  # the text as it was asked, if that may hold pasted code; "" for an import
    subject: str  # the text without the names of programming languages
    names_language: bool
    keyword_weight: float
    asks_for_guide: bool  # how to install, run, configure, contribute …
    projects: frozenset[str]  # of which a guide is asked for: what is called so does not lead
    asks_for_tests: bool  # "tests of the date parser"
    asks_which: bool  # "which ports are blocked", "default timeout"
    asides: frozenset[str]  # kinds of files that it does not ask for
    words: tuple[str, ...]  # distinct; no stop words, names of projects or words of two letters
    prefixes: frozenset[str]  # the first MIN_MATCHED_LETTERS of each of `words`
    bits_of_word: dict[str, int] = field(default_factory=dict, compare=False)  # a cache

    @classmethod
    def of(cls, asked: str, sources: Collection[str] = ()) -> Question:
        """Take apart a query that is asked of all files of `sources`.

        The name of the only source says nothing: "how does shop round prices" asks how prices are
        rounded. A guide to shop need not be in a file called shop, even beside other sources.
        """
        record = record_in(asked)
        for_guide = asks_for_guide(asked, sources)
        about = named = "\n".join(filter(None, record)) or asked
        if not for_guide and not record.message:
            if len(sources) == 1:
                named = without_actor(asked, *sources)
            about = without_framing(named)
        is_import = bool(_IS_IMPORT.match(asked.rstrip()))
        is_no_message = about != named or is_import or _IS_NO_MESSAGE.match(asked)
        subject, languages = _LANGUAGE.subn("", about)
        left_out = STOPWORDS.union(*map(matchable_words, sources if for_guide else ()))
        matchable = matchable_words(about)
        words = tuple(word for word in matchable if word not in left_out) or tuple(
            word for word in matchable if word not in STOPWORDS
        )
        return cls(
            text=about,
            message=record.message or ("" if is_no_message else asked),
            is_record=record.message != "",
            pasted="" if is_import else asked,
            subject=subject.strip() or about,
            names_language=languages > 0,
            keyword_weight=KEYWORD_WEIGHT_QUOTED if _QUOTES_CODE.search(about) else KEYWORD_WEIGHT,
            asks_for_guide=for_guide,
            projects=frozenset(sources if for_guide else ()),
            asks_for_tests=asks_for_tests(named),
            asks_which=asks_which(named),
            asides=asides_to(named, asks_for_guide=for_guide),
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
        """Return what a chunk gains by its path; 0 for an aside if a guide is asked for.

        `coverage`: the share of the words, by idf, that the path holds. `name_share`: the share
        that matches the names of the file and its folder.
        """
        kept = 1.0
        if is_aside:
            kept = 0.0 if self.asks_for_guide else ASIDE_PATH_SHARE
        return kept * max(PATH_WEIGHT * coverage, NAME_WEIGHT * name_share)

    def name_bits(self, path: str) -> int:
        """Return the bits of those of `words` that match the name of the file or of its folder.

        Some projects run the words of a name together, `tpropertymap` or `lstring`, so a long word
        of the question may stand anywhere in it.
        """
        names = name_words(path)
        bits, together = self._match_bits(names), " ".join(names)
        for number, asked in enumerate(self.words):
            if asked in together and len(asked) >= MIN_INNER_LETTERS:
                bits |= 1 << number
        return bits

    def name_shares(self, names: Sequence[int]) -> list[float]:
        """Return, for the `name_bits` of each candidate file, the share of `words` that is set.

        A word that `count` > COMMON_NAMES of the files match counts COMMON_NAMES / `count`.
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
                continue  # quickly rejects most words, because matching ones share these letters
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
        return guide_boost(path, self.text) if self.asks_for_guide else 0.0

    def tests_boost(self, path: str) -> float:
        """Return what a chunk of the file at `path` gains if tests are asked for and it is one."""
        return TESTS_BOOST if self.asks_for_tests and "tests" in asides_of(path) else 0.0

    def penalties(self, filename: str) -> dict[str, float]:
        """Return what a chunk of `filename` loses, by each kind of aside that the file is."""
        kinds = asides_of(filename)
        found = dict.fromkeys(self.asides & kinds, -ASIDE_PENALTY)
        if self.asks_which and "docs" in found and "changes" not in kinds:
            found["docs"] = -DOCS_PENALTY
        return found


@lru_cache(maxsize=1 << 14)
def name_words(path: str) -> tuple[str, ...]:
    """Return the matchable words in the names of the folder and the file, without its extension."""
    folder, _, name = path.rpartition("/")
    stem = name.rpartition(".")[0] or name
    return matchable_words(f"{folder.rpartition('/')[2]} {stem}")


@lru_cache(maxsize=1 << 15)
def matchable_words(text: str) -> tuple[str, ...]:
    """Return the distinct words in identifiers of `text` that are long enough to match others."""
    words = dict.fromkeys(plain_words(text))
    return tuple(word for word in words if len(word) >= MIN_MATCHED_LETTERS)
