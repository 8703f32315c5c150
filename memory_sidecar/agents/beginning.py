"""What an agent should know as a session begins: what is remembered, by title, and what was done.

Only titles, since all of it goes into the context of every session: the agent reads what matters.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Annotated

from memory_sidecar.core.results import about, build_from
from memory_sidecar.memories.handlers import Memories
from memory_sidecar.memories.model import MemoryFilter, MemoryList, Sort
from memory_sidecar.memories.results import Memory, MemoryHead, without_copies
from memory_sidecar.sessions.handlers import Sessions
from memory_sidecar.sessions.model import SessionFilter
from memory_sidecar.sessions.results import Head

OF_PROJECT = 8  # memories
OF_NONE = 4  # memories that apply to all projects
AMONG = 100  # strongest memories, of which shared copies and those of other projects are left out
SESSIONS = 3


@dataclass(frozen=True, slots=True)
class Beginning:
    """What is known as a session begins in a project."""

    project: Annotated[str, about("the source that contains the folder, or empty")]
    memories: Annotated[tuple[MemoryHead, ...], about("the strongest, those of the project first")]
    sessions: Annotated[tuple[Head, ...], about("of the folder in all worktrees, the latest first")]


def find_beginning(
    memories: Memories, sessions: Sessions, *, project: str, folders: Iterable[str]
) -> Beginning:
    """Find what an agent should know when it begins work on `project` ("": none) in `folders`.

    A memory that says what the brief of one of the sessions does, as one promoted from it, is left
    out.
    """
    latest = sessions.list_sessions(SessionFilter(projects=tuple(folders)), limit=SESSIONS)
    briefs = {" ".join(each.brief.split()) for each in latest if each.brief}
    of_project = _strongest(memories, MemoryFilter(project=project), briefs) if project else []
    of_none = [each for each in _strongest(memories, MemoryFilter(), briefs) if not each.project]
    strongest = (*of_project[:OF_PROJECT], *of_none[:OF_NONE])
    known = [build_from(MemoryHead, each) for each in strongest]
    return Beginning(project, tuple(known), tuple(latest))


def _strongest(memories: Memories, wanted: MemoryFilter, briefs: Collection[str]) -> list[Memory]:
    """Return the strongest AMONG of `wanted`, without `briefs` and shared copies of own memories.

    Pinned ones come first, and of those that faded as many days, the latest change.
    """
    asked = MemoryList(filter=wanted, sort=Sort.STRENGTH, limit=AMONG, without_pages=True)
    found = memories.list(asked, with_shared=True)
    found.sort(key=lambda each: (each.pinned, each.strength, each.updated_at), reverse=True)
    new = [each for each in found if each.content not in briefs]
    return without_copies(new, lambda memory: memory)
