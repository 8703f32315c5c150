"""Parses the path and the frontmatter of an atom, and judges its status and age. Reads no file.

An atom is one finding in one Markdown file of a dense-context root:

    projects/<project>/experiments/EXP-042.md    what was tried, and what came of it
    projects/<project>/knowledge/K-008.md        a fact, with the experiments that show it
    projects/<project>/patterns/PAT-001.md       what several experiments have in common
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from datetime import date as Date  # noqa: N812  a field is called date
from enum import StrEnum

from memory_sidecar.core.times import parse_time

# Of atoms, and of all other memories.
HOT_REFS = 5  # one that was read so often is hot
COLD_AFTER = timedelta(days=14)  # one that is older and was never read is cold
GENERATED_LIST = re.compile(
    r"<!-- context:(\w+) -->(?:(?!<!-- context:).)*?<!-- /context:\1 -->", re.DOTALL
)
PAGE = "page"  # the kind of a memory that is a page about a project, such as its STATUS.md


class AtomKind(StrEnum):
    """A kind of atom, the unit of a dense-context root; its value is its word in commands."""

    EXPERIMENT = "experiment", "EXP", "experiments", "links", "what was tried"
    KNOWLEDGE = "knowledge", "K", "knowledge", "evidence", "what is known"
    PATTERN = "pattern", "PAT", "patterns", "source-experiments", "what recurs"

    prefix: str  # of the ids, as in EXP-001
    folder: str  # of the atoms' files
    basis: str  # frontmatter key of the atoms it rests on or leads to; last column of the index
    tells: str  # what the folder holds, as the index says it

    def __new__(cls, word: str, prefix: str, folder: str, basis: str, tells: str) -> AtomKind:
        kind = str.__new__(cls, word)
        kind._value_ = word
        kind.prefix, kind.folder, kind.basis, kind.tells = prefix, folder, basis, tells
        return kind

    @property
    def needs_basis(self) -> bool:
        """Whether an atom of this kind must name its basis: all but an experiment."""
        return self is not AtomKind.EXPERIMENT


_KINDS = {kind.prefix: kind for kind in AtomKind}
_ID = re.compile(r"(?:(EXP)-([0-9]{1,18})([a-z]?)|(?:(K|PAT)-([0-9]{1,18})))")
_PATH = re.compile(
    rf"(?:(?P<above>.*)/)?(?:{'|'.join(kind.folder for kind in AtomKind)})/(?P<id>[^/]+)\.md"
)
_PAGE = re.compile(
    r"(?:.*/)?(?:(?:CORTEX|OVERVIEW)|user/USER"
    r"|projects/[^/]+/(?:STATUS|ISSUES|mission|roadmap|tasks-archive))\.md"
)
_IN_PROJECT = re.compile(r"((?:.*/)?projects/[^/]+)/.+")
_STATUS = re.compile(r"[A-Za-z]+")


class Standing(StrEnum):
    """Whether an atom may still be relied on; indexes and rankings of atoms use it."""

    ACTIVE = "active"
    SUPERSEDED = "superseded"
    INVALIDATED = "invalidated"


# By the status in the frontmatter. An atom with no status or an unknown one counts as active:
# nothing may disappear because of a typing error.
STANDINGS = {
    "active": Standing.ACTIVE,
    "valid": Standing.ACTIVE,
    "partial": Standing.ACTIVE,
    "challenged": Standing.ACTIVE,
    "corrected": Standing.ACTIVE,
    "superseded": Standing.SUPERSEDED,
    "refined": Standing.SUPERSEDED,
    "stale": Standing.SUPERSEDED,
    "deprecated": Standing.SUPERSEDED,  # not a documented status, but people write it
    "invalidated": Standing.INVALIDATED,
}


@dataclass(frozen=True, slots=True, order=True)
class AtomId:
    """The id of an atom, as `EXP-012b`: kind, number and, for experiments only, maybe a letter."""

    kind: AtomKind
    number: int
    suffix: str = ""
    digits: int = 3  # written, including leading zeros

    def __str__(self) -> str:
        return f"{self.kind.prefix}-{self.number:0{self.digits}d}{self.suffix}"

    @classmethod
    def parse(cls, text: str) -> AtomId | None:
        """Return the id that `text` is; `None` if it is anything else, or more."""
        found = _ID.fullmatch(text)
        if found is None:
            return None
        digits = found[2] or found[5]
        return cls(_KINDS[found[1] or found[4]], int(digits), found[3] or "", len(digits))


def is_id(text: str) -> bool:
    return _ID.fullmatch(text) is not None


def ids_in(text: str) -> tuple[str, ...]:
    """Return the atom ids that occur in `text` as whole words, in order."""
    return tuple(found.group() for found in _ID_AS_WORD.finditer(text))


# Begins with the letters, since a search for these is ten times as fast as one for a lookbehind.
_ID_AS_WORD = re.compile(
    r"[EKP](?<![\w-].)(?:(?<=E)XP-[0-9]+[a-z]?|(?<=K)-[0-9]+|(?<=P)AT-[0-9]+)(?![\w-])"
)


@dataclass(frozen=True, slots=True)
class AtomFacts:
    """The facts about one atom that lists and rankings of atoms use."""

    id: AtomId
    project: str
    summary: str
    status: str  # in lower case: a key of STANDINGS or any other word; "" for none
    date: Date | None
    refs: int
    last_ref: str  # when it was last read, ISO 8601; "" for never

    @property
    def kind(self) -> AtomKind:
        return self.id.kind

    @property
    def standing(self) -> Standing:
        return standing_of(self.status)

    def is_cold(self, today: Date) -> bool:
        """Whether the atom is active and older than COLD_AFTER, but was never read."""
        is_old = self.date is not None and today - self.date > COLD_AFTER
        return self.refs == 0 and is_old and self.standing is Standing.ACTIVE


def is_atom_path(path: str) -> bool:
    """Whether `path`, with `/`, is the path of an atom, whatever folders lie above its own."""
    found = _PATH.fullmatch(path)
    return found is not None and _ID.fullmatch(found["id"]) is not None


def project_folder(path: str) -> str | None:
    """Return the folder of the project that the page at `path` belongs to; None for no project.

    An atom always belongs to one, whose folder is "" if it is itself the root.
    """
    if is_atom_path(path):
        return path.rpartition("/")[0].rpartition("/")[0]
    found = _IN_PROJECT.fullmatch(path)
    return found[1] if found else None


def is_page_path(path: str) -> bool:
    """Whether `path`, with `/`, is a page about a project or its user, such as STATUS.md."""
    return _PAGE.fullmatch(path) is not None


def atom_facts(path: str, meta: Mapping[str, object]) -> AtomFacts | None:
    """Return the facts about the atom at `path` with the frontmatter `meta`; `None` for no atom.

    `path` has `/` and begins at the root or above. The id comes from the file name and the project
    from the folder, where there is one, not from `meta`: links between atoms use these.
    """
    found = _PATH.fullmatch(path)
    atom_id = AtomId.parse(found["id"]) if found else None
    if found is None or atom_id is None:
        return None
    folders = (found["above"] or "").split("/")
    return AtomFacts(
        id=atom_id,
        project=folders[-1] or text_of(meta.get("project")),
        summary=text_of(meta.get("summary")),
        status=status_word(meta),
        date=date_of(meta.get("date")),
        refs=count_of(meta.get("refs")),
        last_ref=time_of(meta.get("last-ref")),
    )


def status_word(meta: Mapping[str, object]) -> str:
    """Return the first word of the status: `superseded` for `Superseded by EXP-050`."""
    found = _STATUS.match(text_of(meta.get("status")))
    return found.group().lower() if found else ""


def standing_of(status: str) -> Standing:
    """Return what a status word tells: active, unless STANDINGS says otherwise."""
    return STANDINGS.get(status, Standing.ACTIVE)


def text_of(value: object) -> str:
    """Return a `value` of the frontmatter as one line; "" for None, a list or a mapping."""
    if isinstance(value, str):
        return " ".join(value.split())
    return "" if value is None or isinstance(value, (list, dict)) else str(value)


def texts_of(value: object) -> tuple[str, ...]:
    """Return the items of a list in the frontmatter; a text is split at its commas."""
    if isinstance(value, list):
        return tuple(filter(None, map(text_of, value)))
    return tuple(filter(None, map(str.strip, text_of(value).split(","))))


def count_of(value: object) -> int:
    """Return a natural number of the frontmatter, quoted or not; 0 for anything else."""
    text = text_of(value)
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0


def time_of(value: object) -> str:
    """Return a date or time of the frontmatter as it is written; "" for anything else."""
    return text_of(value) if date_of(value) is not None else ""


def date_of(value: object) -> Date | None:
    """Return the day of a date or time, in UTC; `None` for anything else."""
    at = parse_time(text_of(value))
    return None if at is None else datetime.fromtimestamp(at // 1000, UTC).date()
