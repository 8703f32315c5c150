"""What the path and the frontmatter of an atom say. Reads no file.

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

from memory_sidecar.core.model import AtomKind
from memory_sidecar.core.times import parse_time

HOT_REFS = 5
COLD_AFTER = timedelta(days=14)
GENERATED_LIST = re.compile(r"<!-- context:(\w+) -->.*?<!-- /context:\1 -->", re.DOTALL)
PAGE = "page"  # the kind of memory that a page around the atoms is


_KINDS = {kind.prefix: kind for kind in AtomKind}
_ID = re.compile(r"(?:(EXP)-([0-9]+)([a-z]?)|(?:(K|PAT)-([0-9]+)))")
_PATH = re.compile(
    rf"(?:(?P<above>.*)/)?(?:{'|'.join(kind.folder for kind in AtomKind)})/(?P<id>[^/]+)\.md"
)
_PAGE = re.compile(
    r"(?:.*/)?(?:(?:CORTEX|OVERVIEW)|user/USER"
    r"|projects/[^/]+/(?:STATUS|ISSUES|mission|roadmap|tasks-archive))\.md"
)
_STATUS = re.compile(r"[A-Za-z]+")


class Standing(StrEnum):
    """How far an atom may be relied on; what its index and every ranking go by."""

    ACTIVE = "active"
    SUPERSEDED = "superseded"
    INVALIDATED = "invalidated"


# The life of an atom. One without a status is taken to be active, and so is one with an unknown
# status: nothing may disappear because of a typing error.
STANDINGS = {
    "active": Standing.ACTIVE,
    "valid": Standing.ACTIVE,
    "partial": Standing.ACTIVE,
    "challenged": Standing.ACTIVE,
    "corrected": Standing.ACTIVE,
    "superseded": Standing.SUPERSEDED,
    "refined": Standing.SUPERSEDED,
    "stale": Standing.SUPERSEDED,
    "deprecated": Standing.SUPERSEDED,  # not in the life cycle, but written by hand
    "invalidated": Standing.INVALIDATED,
}


@dataclass(frozen=True, slots=True, order=True)
class AtomId:
    """`EXP-012b`: kind, number and a letter, which only experiments may have."""

    kind: AtomKind
    number: int
    suffix: str = ""
    digits: int = 3  # as many as are written, zeros in front included

    def __str__(self) -> str:
        return f"{self.kind.prefix}-{self.number:0{self.digits}d}{self.suffix}"

    @classmethod
    def parse(cls, text: str) -> AtomId | None:
        """`None` unless all of `text` is an id."""
        found = _ID.fullmatch(text)
        if found is None:
            return None
        digits = found[2] or found[5]
        return cls(_KINDS[found[1] or found[4]], int(digits), found[3] or "", len(digits))


def is_id(text: str) -> bool:
    return _ID.fullmatch(text) is not None


def ids_in(text: str) -> tuple[str, ...]:
    """Every atom id that stands in `text` as a word, in order."""
    return tuple(found.group() for found in _ID_AS_WORD.finditer(text))


# Begins with letters, which are looked for ten times as fast as what must not stand before them.
_ID_AS_WORD = re.compile(
    r"[EKP](?<![\w-].)(?:(?<=E)XP-[0-9]+[a-z]?|(?<=K)-[0-9]+|(?<=P)AT-[0-9]+)(?![\w-])"
)


@dataclass(frozen=True, slots=True)
class AtomFacts:
    """What a list or a ranking of atoms needs to know."""

    id: AtomId
    project: str
    summary: str
    status: str  # a word of STANDINGS, or whatever stands there in lower case; "" where none does
    date: Date | None
    refs: int
    last_ref: str  # ISO 8601, "" where it was never read

    @property
    def kind(self) -> AtomKind:
        return self.id.kind

    @property
    def standing(self) -> Standing:
        return STANDINGS.get(self.status, Standing.ACTIVE)

    def is_cold(self, today: Date) -> bool:
        """The atom holds and was never read; a superseded one need not be."""
        is_old = self.date is not None and today - self.date > COLD_AFTER
        return self.refs == 0 and is_old and self.standing is Standing.ACTIVE


def is_atom_path(path: str) -> bool:
    """Whether `path`, with `/`, is that of an atom, whatever lies above its folder."""
    found = _PATH.fullmatch(path)
    return found is not None and _ID.fullmatch(found["id"]) is not None


def is_page_path(path: str) -> bool:
    """Whether `path`, with `/`, is that of a page around the atoms, which tells of the project."""
    return _PAGE.fullmatch(path) is not None


def atom_facts(path: str, meta: Mapping[str, object]) -> AtomFacts | None:
    """What `path` (with `/`, from the root or above) and the frontmatter say; `None`: no atom.

    The file name decides the id and the folders the project: they are what everything links to.
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
    """`superseded` for `superseded:EXP-050` and `Superseded by EXP-050`."""
    found = _STATUS.match(text_of(meta.get("status")))
    return found.group().lower() if found else ""


def text_of(value: object) -> str:
    """A value of the frontmatter as one line of text; "" for none, a list or a mapping."""
    if isinstance(value, str):
        return " ".join(value.split())
    return "" if value is None or isinstance(value, (list, dict)) else str(value)


def texts_of(value: object) -> tuple[str, ...]:
    """A list of the frontmatter; a single text is taken for its items, with commas between."""
    if isinstance(value, list):
        return tuple(filter(None, map(text_of, value)))
    return tuple(filter(None, map(str.strip, text_of(value).split(","))))


def count_of(value: object) -> int:
    """A number from zero up, quoted or not; anything else is zero."""
    text = text_of(value)
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0


def time_of(value: object) -> str:
    """A date or a time as it stands, "" for anything else."""
    return text_of(value) if date_of(value) is not None else ""


def date_of(value: object) -> Date | None:
    """The day of a date or of a moment, in UTC; `None` where `value` is neither."""
    at = parse_time(text_of(value))
    return None if at is None else datetime.fromtimestamp(at // 1000, UTC).date()
