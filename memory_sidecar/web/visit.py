"""What a view is asked, and what it answers with: neither knows HTTP.

def show(visit: Visit) -> View          GET, a row of `views.VIEWS`
def pin(visit: Visit) -> Done           POST, a row of `views.CHANGES`
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar
from urllib.parse import urlencode

from memory_sidecar.agents.agent import Agent
from memory_sidecar.agents.services import Services
from memory_sidecar.agents.status import DaemonStatus
from memory_sidecar.core.errors import NotFound, SidecarError, UsageError
from memory_sidecar.core.paths import SHARED
from memory_sidecar.memories.names import check_agent
from memory_sidecar.web.guard import Told

T = TypeVar("T")

PAGE_ROWS = 50
MAX_PAGE = 1_000_000

Words = Sequence[tuple[str, str]]
"""Names and values of an address or a form, in order; a name may come more than once."""


def address(path: str, words: Words) -> str:
    """`path` with `words` behind it."""
    query = urlencode(words)
    return f"{path}?{query}" if query else path


@dataclass
class Visit:
    """One request. It is a `Reporter`, too: what is said goes above the view."""

    path: str
    words: Words
    services: Services
    environ: Mapping[str, str]  # of who opened the page
    daemon: Callable[[], DaemonStatus | None]
    notices: list[str] = field(default_factory=list)

    def notice(self, text: str) -> None:
        if text not in self.notices:
            self.notices.append(text)

    def progress(self, stage: str, done: int, total: int) -> None:
        """A page shows no progress: the browser waits for all of it."""

    # Its words

    def text(self, name: str, default: str = "") -> str:
        """The last value of `name`."""
        return next((value for key, value in reversed(self.words) if key == name), default)

    def texts(self, name: str) -> tuple[str, ...]:
        """Every value of `name` that is not empty."""
        return tuple(value for key, value in self.words if key == name and value)

    def number(self, name: str, default: int) -> int:
        """Raises UsageError for what is none from 0 to MAX_PAGE."""
        text = self.text(name) or str(default)
        if not text.isdecimal() or not text.isascii() or int(text[:9]) > MAX_PAGE:
            raise UsageError(f"{name} is not a number: {text[:40]!r}", hint=f"0 to {MAX_PAGE:,}")
        return int(text[:9])

    def address(self, path: str = "", /, **changes: object) -> str:
        """This view, or that at `path`, with other words; `None` and "" take one away.

        A change other than of the page begins at the first page again.
        """
        changes = {"page": None, "facets": None, "json": None} | changes
        kept = [(name, value) for name, value in self.words if name not in changes and value]
        new = [
            (name, str(each))
            for name, value in changes.items()
            for each in (value if isinstance(value, (list, tuple)) else [value])
            if each not in (None, "")
        ]
        return address(path or self.path, kept + new)

    def to(self, path: str, /, **words: object) -> str:
        """The address of another view, seen by the same eyes."""
        named = {"as": self.text("as")} | words
        return address(path, [(name, str(each)) for name, each in named.items() if each])

    # Who looks

    @cached_property
    def seen_as(self) -> str:
        """The agent whose eyes are looked through; "" for the owner of the machine, who sees all.

        Raises UsageError for what is no agent's name.
        """
        name = self.text("as")
        return check_agent(name) if name else ""

    @cached_property
    def readable(self) -> list[str]:
        """The agents whose memories and sessions may be shown, by name."""
        names = self.services.agent_names()
        if not self.seen_as:
            return names
        return [name for name in names if name in (self.seen_as, SHARED)]

    def seen(self, agent: str) -> str:
        """`agent`. Raises NotFound for one of which nothing may be shown."""
        if agent not in self.readable:
            raise NotFound(f"there is nothing of {agent[:64]!r} to see", hint="see as everyone")
        return agent

    def of_each(self, look: Callable[[str], T | None]) -> list[T]:
        """What `look` finds of each agent that may be shown, or of the one that the address names.

        One that cannot be read is told of, and left out.
        """
        found = []
        for name in self.readable:
            if self.text("agent") in ("", name):
                try:
                    found.append(look(name))
                except SidecarError as error:
                    self.notice(f"without {name}: {error.with_hint}")
        return [each for each in found if each is not None]

    def has(self, agent: Agent) -> bool:
        """Whether anything of `agent` can be shown at once. Has its files watched from now on.

        Says how far the index is where it is made for the first time. The view waits for none of
        it: the rest follows.
        """
        agent.on_use()
        known = agent.data.open()
        missing = agent.data.unscanned()
        is_begun = any(known.source_state(name) for name in agent.data.states())
        passes = [live.indexing for live in agent.data.states().values() if live.indexing]
        if passes:
            done, total = sum(p.files_done for p in passes), sum(p.files_total for p in passes)
            how_far = f"{done:,} of {total:,} files"
            self.notice(f"{agent.name} is being indexed, {how_far}: the rest will appear here")
        elif missing and not is_begun:
            self.notice(
                f"{agent.name} is about to be indexed: its memories and sessions will appear here"
            )
        return is_begun or not missing

    @property
    def page(self) -> int:
        """The page of the list that the address names, from 1."""
        return max(self.number("page", 1), 1)

    @property
    def offset(self) -> int:
        """Of the first row of that page."""
        return (self.page - 1) * PAGE_ROWS


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What is shown: `data` by `template`, or as JSON, which has nothing that the page has not.

    `more` are values that only the template needs.
    """

    template: str
    title: str
    data: Any
    more: Mapping[str, Any] = field(default_factory=dict)
    status: int = 200


@dataclass(frozen=True, slots=True)
class Done:
    """A change that was made, and the address to go on to."""

    to: str
    told: Told | None = None


@dataclass(frozen=True, slots=True)
class Section:
    """A row of the table of views."""

    show: Callable[[Visit], View]
    label: str = ""  # in the navigation; "" for what other views lead to
    version: Callable[[Visit], object] | None = None
    """What differs when the view would: asked for every second while one is looked at."""
