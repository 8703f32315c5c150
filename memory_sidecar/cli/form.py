"""Formats results, errors, notices and progress: for a person, or as JSON.

A command that a notice or a hint names gets the options of the call, such as `--data-dir`, so that
it can be pasted: the code that writes a hint does not know them.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shlex
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Any, TextIO
from urllib.parse import quote

import click
from msgspec import UNSET

from memory_sidecar.core.credentials import mask_credentials, mask_document
from memory_sidecar.core.errors import SidecarError, UsageError
from memory_sidecar.core.model import Explanation
from memory_sidecar.core.visible import abridge, visible_json, visible_line

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

JSON_OPTIONS = frozenset({"--json-output", "--json"})
JSON_WHEN_PIPED = frozenset(
    {"index", "store", "embed", "episodic-put", "episodic-search", "episodic-commit"}
)
HOOKS = (("context", "access"), ("session", "import"))  # `-` reads what a hook is given
DIM = {"dim": True}  # a style of `Styled`
SUBJECT_CHARACTERS = 60
_STAGES = {"files": "words", "vectors": "meaning"}
"""How stages of indexing are shown: by what can be searched once they are done."""


@dataclass(frozen=True, slots=True)
class Styled:
    """A part of a line with a colour or weight, which only a terminal shows."""

    text: str
    style: Mapping[str, Any]  # as `click.style` takes it
    link: str = ""  # URL that a terminal opens on a click


def title(text: str, *, link: str = "") -> Styled:
    """Style the part of a line that readers look for first: a path, an id."""
    return Styled(text, {"fg": "cyan", "bold": True}, link)


def hyperlink(text: str, address: str) -> str:
    """Return `text` as a hyperlink (OSC 8); a terminal without them shows just the text."""
    return f"\x1b]8;;{address}\x1b\\{text}\x1b]8;;\x1b\\"


def file_address(path: Path) -> str:
    """Return the URL of the absolute `path`, with this host, as the terminal may be on another."""
    return f"file://{platform.node()}{quote(os.fsencode(path))}"


def path_from(path: Path, folder: Path) -> str:
    """Return `path` relative to `folder`, or absolute if that is shorter."""
    absolute = os.fspath(path)
    relative = os.path.relpath(absolute, folder)
    return visible_line(relative if len(relative) <= len(absolute) else absolute)


@dataclass(frozen=True, slots=True)
class Places:
    """Names files of sources so that they open from `folder`."""

    roots: Mapping[str, Path]  # of every registered source, by name
    folder: Path

    def at(self, source: str, filename: str, lines: object = "") -> Styled:
        """Return a file, or `lines` in it, as a link; of an unregistered source only the path."""
        suffix = f":{lines}" if lines else ""
        if source not in self.roots:
            return title(f"{filename}{suffix}")
        path = self.roots[source] / filename
        return title(f"{path_from(path, self.folder)}{suffix}", link=file_address(path))


def wants_json(arguments: tuple[str, ...], *, is_terminal: bool) -> bool:
    """Whether to print JSON, by the arguments alone, so that usage errors obey it, too."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    if not JSON_OPTIONS.isdisjoint(arguments[:end]):
        return True
    command = next((word for word in arguments if not word.startswith("-")), "")
    return command in JSON_WHEN_PIPED and not is_terminal


def exit_status(arguments: tuple[str, ...], status: int) -> int:
    """Return `status`, the exit status of a command, but 1 instead of 2 for a hook.

    A hook that exits with 2 orders a coding agent to stop, or not to stop.
    """
    is_hook = (arguments[:2] in HOOKS and "-" in arguments) or arguments == HOOKS[0]
    return SidecarError.exit_status if is_hook and status == UsageError.exit_status else status


def error_line(error: SidecarError, *, as_json: bool) -> str:
    """Return `error` as one line for standard error, with its line break."""
    shown = mask_document(error.as_json())  # a conflict includes the current text
    told = shown["error"]
    told |= {part: abridge(told[part]) for part in ("message", "hint")}
    if as_json:
        return visible_json(json.dumps(shown, ensure_ascii=False)) + "\n"
    hint = f" — {told['hint']}" if told["hint"] else ""
    return visible_line(f"memory-sidecar: {told['message']}{hint}") + "\n"


def explanation_line(why: Explanation) -> str:
    """Return the terms of a score as a sum; after an arm's term, its own score in parentheses."""
    arms = {"cosine": why.cosine, "keyword": why.keyword}
    terms = []
    for name, value in why.terms.items():
        arm = arms.get(name)
        own = "" if arm is None else f" ({arm:.3f})"
        if name == "history" and why.commits is not UNSET:
            own = f" ({_quote_first(why.commits)})"
        terms.append(f"{value:+.3f} {name}{own}")
    return " ".join(terms) or "no term matches"


def _quote_first(subjects: Sequence[str]) -> str:
    """Return the first subject in quotes, shortened, and the number of others."""
    more = f", {len(subjects) - 1} more" if len(subjects) > 1 else ""
    return f"'{shorten(subjects[0], SUBJECT_CHARACTERS, placeholder=' …')}'{more}"


class AgentOption(click.Option):
    """`--agent` of a command that is always about one agent, named or not."""


_CARRIED = ("--agent", "--db", "--data-dir", "--root")
"""Options that decide what data a command uses; a hint's command gets the same."""

_COMMAND = re.compile(r"`memory-sidecar ([^`]*)`")


@dataclass(frozen=True, slots=True)
class Hints:
    """Adds the options of a call, those in `_CARRIED`, to the commands in its hints."""

    tree: click.Command
    given: Mapping[str, str]  # by option
    is_about_agent: bool

    @classmethod
    def of(cls, context: click.Context) -> Hints:
        """Take the options from the command line that `context` has parsed."""
        named = {
            option: str(context.params[param.name])
            for param in context.command.params
            for option in param.opts
            if param.name
            and context.get_parameter_source(param.name) is click.core.ParameterSource.COMMANDLINE
        }
        given = {option: named[option] for option in _CARRIED if option in named}
        is_about_agent = context.params.get("agent") is not None
        return cls(context.find_root().command, given, is_about_agent)

    def complete(self, text: str) -> str:
        """Return `text` with every command in it as the caller would have to type it."""
        return _COMMAND.sub(self._complete_command, text) if self.given else text

    def _complete_command(self, found: re.Match[str]) -> str:
        words = found[1].split()
        command = _find_command(self.tree, words)
        params = {option: param for param in command.params for option in param.opts}
        added = {
            option: value
            for option, value in self.given.items()
            if option in params and option not in words
        }
        if "--all" in words:  # all agents
            added.pop("--agent", None)
        has_agent = isinstance(params.get("--agent"), AgentOption)
        names_agent = "--agent" in words or "--agent" in added or has_agent
        if names_agent is not self.is_about_agent:  # an agent's database is not that of the code
            added.pop("--db", None)
        options = (f" {option} {shlex.quote(value)}" for option, value in added.items())
        return f"`memory-sidecar {found[1]}{''.join(options)}`"


def _find_command(tree: click.Command, words: Sequence[str]) -> click.Command:
    """Return the command that `words` begin with, as deep as they name one."""
    for word in words:
        inner = (
            tree.get_command(click.Context(tree), word) if isinstance(tree, click.Group) else None
        )
        if inner is None:
            break
        tree = inner
    return tree


class TerminalReporter:
    """A `Reporter` for a person: a bar with count, rate and time left, and a line for each notice.

    Once `cancelled` is set, the next report from the thread that made this object raises
    KeyboardInterrupt, which ends the command before its next step.
    """

    def __init__(
        self,
        stderr: TextIO,
        *,
        shows_progress: bool,
        columns: int,
        environ: Mapping[str, str],
        cancelled: threading.Event,
        complete: Callable[[str], str],
    ) -> None:
        """`complete` adds the options of the call to the commands in a notice."""
        self.waits = True
        self._stderr = stderr
        self._shows_progress = shows_progress
        self._columns = columns
        self._environ = environ
        self._cancelled = cancelled
        self._complete = complete
        self._thread = threading.get_ident()
        self._lock = threading.Lock()
        self._notices: dict[str, None] = {}  # in order
        self._bar: Bar | None = None
        self._stages: dict[str, TaskID] = {}
        self._uncounted: list[str] = []  # those of `_stages` without a total

    def notice(self, text: str) -> None:
        self._stop_if_cancelled()
        masked = mask_credentials(text)  # a file that it names may be called like a key
        text = visible_line(self._complete(abridge(masked)))
        with self._lock:
            if text in self._notices:  # another step of the command has given it
                return
            self._notices[text] = None
            with suppress(OSError):  # a full disk may cost a notice, but not the result
                if self._bar is not None:
                    self._bar.console.print(f"note: {text}", highlight=False, markup=False)
                else:
                    self._stderr.write(f"note: {text}\n")

    def repeat_notices(self) -> None:
        """Print all notices again, if a person reads them."""
        for text in self._notices if self._shows_progress else ():
            self._stderr.write(f"note: {text}\n")

    def progress(self, stage: str, done: int, total: int) -> None:
        """Show the progress of `stage`; a stage without a total vanishes when another begins."""
        self._stop_if_cancelled()
        if self._shows_progress:
            with self._lock:
                self._show(stage, done, total or None)

    def _show(self, stage: str, done: int, total: int | None) -> None:
        if self._bar is None:
            self._bar = _make_bar(self._stderr, self._columns, self._environ)
            self._bar.start()
        if stage not in self._stages:
            for other in self._uncounted:
                self._bar.remove_task(self._stages.pop(other))
            self._uncounted.clear()
            self._stages[stage] = self._bar.add_task(_STAGES.get(stage, stage), total=total)
            if total is None:
                self._uncounted.append(stage)
        self._bar.update(self._stages[stage], completed=done, total=total)

    def close(self) -> None:
        """Remove the bar, so that only the result stays on the screen."""
        with self._lock:
            if self._bar is not None:
                self._bar.stop()
                self._bar = None
                self._stages.clear()
                self._uncounted.clear()

    def _stop_if_cancelled(self) -> None:
        if self._cancelled.is_set() and threading.get_ident() == self._thread:
            raise KeyboardInterrupt


def _make_bar(stderr: TextIO, columns: int, environ: Mapping[str, str]) -> Bar:
    from rich import progress
    from rich.console import Console
    from rich.text import Text

    class Rate(progress.ProgressColumn):
        def render(self, task: progress.Task) -> Text:
            return Text(f"{task.speed:,.0f}/s" if task.speed else "")

    return progress.Progress(
        progress.TextColumn("{task.description:<8}"),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        Rate(),
        progress.TimeRemainingColumn(),
        # The caller's terminal, which may not be the one of this process.
        console=Console(file=stderr, force_terminal=True, width=columns, _environ=environ),
        transient=True,
    )
