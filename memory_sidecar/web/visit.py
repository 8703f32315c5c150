"""The request and the result of a view or a change, independent of HTTP.

def show(visit: Visit) -> View          GET, a row of `app.VIEWS`
def pin(visit: Visit) -> Done           POST, a row of `app.CHANGES`
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlencode

from memory_sidecar.agents.agent import Agent
from memory_sidecar.agents.services import Services
from memory_sidecar.core.errors import NotFound, UsageError
from memory_sidecar.core.paths import SHARED
from memory_sidecar.core.projects import given_path
from memory_sidecar.core.results import ask_each
from memory_sidecar.memories.names import check_agent
from memory_sidecar.web.guard import Flash

E = TypeVar("E", bound=StrEnum)
T = TypeVar("T")

PAGE_ROWS = 50
MAX_PAGE = 1_000_000

Words = Sequence[tuple[str, str]]
"""The parameters of an address or a form, in order; a name may occur more than once."""


def address(path: str, words: Words) -> str:
    """Return `path` with `words` as its query."""
    query = urlencode(words)
    return f"{path}?{query}" if query else path


@dataclass
class Visit:
    """A request of the page: its parameters, and whose data it may show.

    Also a `Reporter`, whose notices the view shows.
    """

    path: str
    words: Words
    services: Services
    environ: Mapping[str, str]  # of the command that opened the page
    daemon_log: str  # "" outside the daemon
    notices: list[str] = field(default_factory=list)
    waits = False  # a view says how far the indexing is

    def notice(self, text: str) -> None:
        if text not in self.notices:
            self.notices.append(text)

    def progress(self, stage: str, done: int, total: int) -> None:
        """Ignore progress: the browser waits for the whole page."""

    # Parameters and addresses

    def text(self, name: str) -> str:
        """Return the last value of the parameter `name`; "" without one."""
        return dict(self.words).get(name, "")

    def texts(self, name: str) -> tuple[str, ...]:
        """Return all values of the parameter `name` that are not blank, without blanks around."""
        return tuple(value.strip() for key, value in self.words if key == name and value.strip())

    def number(self, name: str, default: int) -> int:
        """Return the parameter `name` as a number. Raises UsageError unless it is 0 to MAX_PAGE."""
        text = self.text(name) or str(default)
        if not re.fullmatch("[0-9]{1,7}", text) or int(text) > MAX_PAGE:
            raise UsageError(f"{name} is no number from 0 to {MAX_PAGE:,}: {text[:40]!r}")
        return int(text)

    def choice(self, name: str, choices: type[E], default: str = "") -> E:
        """Return the parameter `name` as one of `choices`. Raises UsageError for another value."""
        text = self.text(name) or default
        try:
            return choices(text)
        except ValueError:
            known = ", ".join(choices)
            raise UsageError(f"there is no {name} {text[:40]!r}", hint=f"one of {known}") from None

    def folder(self, text: str) -> Path:
        """Return `text` as the path of a folder; as a page is in none, all are absolute."""
        return Path(given_path(text, "/", self.environ))

    @property
    def is_filtered(self) -> bool:
        """Whether a parameter chooses what is listed, not only in which order or for whom."""
        return any(name not in ("as", "sort", "page") for name, _ in self.words)

    def address(self, path: str = "", /, **changes: object) -> str:
        """Return the address of this view, or that at `path`, with changed parameters.

        None and "" remove a parameter. Unless `page` is given, the list starts at its first page.
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
        """Return the address of another view, with the agent of *View as* kept."""
        named = {"as": self.text("as")} | words
        return address(path, [(name, str(each)) for name, each in named.items() if each])

    @property
    def came_from(self) -> str:
        """The address that the form names if it is in the form's own view, else that view."""
        to, view = self.text("to"), "/".join(self.path.split("/")[:2])
        return to if to.startswith(view) else self.to(view)

    def undoable(self, text: str, undo: str, **fields: str) -> Flash:
        """Return the message of a change with the form, sent to `undo`, that takes it back.

        The form leads back to where this change was made from, seen by the same agent.
        """
        return Flash(text, undo, fields | {"as": self.text("as"), "to": self.came_from})

    # What may be seen

    @cached_property
    def seen_as(self) -> str:
        """The agent of *View as*; "" for the owner of the machine, who sees everything.

        Raises UsageError for an invalid name.
        """
        name = self.text("as")
        return check_agent(name) if name else ""

    @cached_property
    def readable(self) -> list[str]:
        """The names of the agents whose memories and sessions may be shown."""
        names = self.services.agent_names()
        if not self.seen_as:
            return names
        return [name for name in names if name in (self.seen_as, SHARED)]

    def require_readable(self, agent: str) -> str:
        """Return `agent`. Raises NotFound if nothing of that agent may be shown."""
        if agent not in self.readable:
            raise NotFound(f"there is nothing of {agent[:64]!r} to see", hint="see as everyone")
        return agent

    def ask_each_agent(self, ask: Callable[[str], T | None]) -> list[T]:
        """Return what `ask` finds for each readable agent, or for the one that the address names.

        Leaves None out, and agents that cannot be read, each with a notice.
        """
        names = [name for name in self.readable if self.text("agent") in ("", name)]
        return [each for each in ask_each(names, ask, self) if each is not None]

    def can_show(self, agent: Agent) -> bool:
        """Whether the database of `agent` has anything to show yet. Starts watching its files.

        During the first indexing a notice says how far it is; the view does not wait for it.
        """
        agent.on_use()
        live = agent.data.follow()
        # Open the database only then: opening very many takes most of a view's time.
        is_missing = any(each.is_unscanned for each in live.values())
        is_begun = not is_missing or any(map(agent.data.open_anew().source_state, live))
        passes = [each.indexing for each in live.values() if each.indexing]
        if passes:
            done, total = sum(p.files_done for p in passes), sum(p.files_total for p in passes)
            how_far = f"{done:,} of {total:,} files"
            self.notice(f"{agent.name} is being indexed, {how_far}: the rest will appear here")
        elif not is_begun:
            self.notice(
                f"{agent.name} is about to be indexed: its memories and sessions will appear here"
            )
        return is_begun

    @property
    def page(self) -> int:
        """The number of the page of the list, from 1."""
        return max(self.number("page", 1), 1)

    @property
    def offset(self) -> int:
        """The offset of the first row of the page in the list."""
        return (self.page - 1) * PAGE_ROWS


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A view to render: `data` by `template`, or as JSON, which has no more than the page.

    `more` has values that only the template needs.
    """

    template: str
    title: str
    data: Any
    more: Mapping[str, Any] = field(default_factory=dict)
    status: int = 200


@dataclass(frozen=True, slots=True)
class Done:
    """The result of a change: the address to redirect to, and a message for its view."""

    to: str
    flash: Flash | None = None


@dataclass(frozen=True, slots=True)
class Section:
    """A view in `app.VIEWS`: how it is made, and how its changes are noticed."""

    show: Callable[[Visit], View]
    label: str = ""  # in the navigation; "" for views that others link to
    version: Callable[[Visit], object] | None = None
    """Returns a value that differs when the view would, such as the stamps of its files.

    Called every second while the view is open.
    """
