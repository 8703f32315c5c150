"""`Call`: one call of a command, with its working directory, environment, streams and services.

Commands use it instead of `sys` and `os`, so that they run the same in the caller's process and in
the daemon.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TextIO, TypeVar

import click

from memory_sidecar.cli.form import (
    Hints,
    Places,
    Styled,
    TerminalReporter,
    error_line,
    hyperlink,
    wants_json,
)
from memory_sidecar.core.children import child_environment
from memory_sidecar.core.credentials import count_masks, mask_document
from memory_sidecar.core.errors import EventInvalid, SidecarError, UsageError
from memory_sidecar.core.json_text import BrokenJson, read_json
from memory_sidecar.core.opening import MAX_PATH_BYTES, is_utf8
from memory_sidecar.core.paths import DataDir, find_data_dir
from memory_sidecar.core.projects import asks_for_help, given_path
from memory_sidecar.core.results import MaybeWeak, pluralize, to_builtins, warn_if_weak
from memory_sidecar.core.settings import load_settings
from memory_sidecar.core.visible import visible, visible_json, visible_line

if TYPE_CHECKING:
    from memory_sidecar.agents.services import Services
    from memory_sidecar.cli.host import Host
    from memory_sidecar.code.handlers import Codebase
    from memory_sidecar.mcp.conversation import McpConversation

    OpenServices = Callable[["Call"], AbstractContextManager[Services]]


MAX_INPUT_BYTES = 32 << 20  # of standard input: as large as a session may be
_INPUT_PART_BYTES = 1 << 16
MAX_NAME_BYTES = 255
MAX_PAGED_CHARACTERS = 1 << 19  # what fits into a frame of the daemon, however it is encoded
T = TypeVar("T")
Hits = TypeVar("Hits", bound=Sequence[MaybeWeak])
TextLine = str | Styled | tuple[str | Styled, ...]

IMPORTING = threading.RLock()
"""Hold this lock around the import of a large package at run time.

Python locks each module by itself. If two threads import a package whose modules import each other,
such as numpy or the MCP SDK, it avoids a deadlock by letting one thread see an incomplete module.
"""


def open_here(call: Call) -> AbstractContextManager[Services]:
    """Open the services of the data directory of `call`, for this call alone."""
    # Imported late: the import takes almost half a second, and commands about plain files need no
    # services.
    from memory_sidecar.agents.services import Services

    return closing(Services.find(data_dir=call.data_dir, cwd=call.cwd, environ=call.environ))


def _page_here(text: str) -> None:
    from memory_sidecar.cli.pager import page

    sys.stdout.flush()
    page(text)


@dataclass
class Call:
    """One call of a command: who called it, in what environment, and the services it opens."""

    arguments: tuple[str, ...]
    cwd: Path
    environ: Mapping[str, str]
    stdin: IO[bytes]
    stdout: TextIO
    stderr: TextIO
    is_terminal: bool  # standard output
    shows_progress: bool  # standard error is a terminal
    columns: int  # width of that terminal, or an assumed one
    rows: int = 0  # height of the terminal of standard output; 0 if unknown or none
    cancelled: threading.Event = field(default_factory=threading.Event)  # set by the caller
    open_services: OpenServices = open_here
    hold: Callable[[McpConversation], None] = lambda conversation: conversation.hold_on_stdio()
    page: Callable[[str], None] = _page_here  # show a text through the caller's pager
    host: Host | None = None  # the daemon, if the call runs in it
    data_dir: Path | None = None
    db: Path | None = None
    hints: Hints | None = None  # None until the command is known
    _has_read_input: bool = False
    _opened: ExitStack = field(default_factory=ExitStack)
    _services: Services | None = None

    @classmethod
    def of_this_process(cls, arguments: tuple[str, ...]) -> Call:
        """Make the call of this process. Raises UsageError if its working directory is gone."""
        try:
            cwd = Path.cwd()
        except OSError as error:
            if not asks_for_help(arguments):
                raise UsageError(
                    f"the working directory cannot be used: {error.strerror}",
                    hint="run the command in a folder that exists",
                ) from error
            cwd = Path(os.sep)
        for stream in (sys.stdout, sys.stderr):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")  # type: ignore[union-attr]
        return cls(
            arguments=arguments,
            cwd=cwd,
            environ=os.environ,
            stdin=sys.stdin.buffer,
            stdout=sys.stdout,
            stderr=sys.stderr,
            is_terminal=sys.stdout.isatty(),
            shows_progress=sys.stderr.isatty(),
            columns=shutil.get_terminal_size().columns,
            rows=shutil.get_terminal_size().lines if sys.stdout.isatty() else 0,
        )

    @property
    def wants_json(self) -> bool:
        return wants_json(self.arguments, is_terminal=self.is_terminal)

    @property
    def uses_colour(self) -> bool:
        """Whether to print colours: https://no-color.org and https://bixense.com/clicolors."""
        if self.environ.get("NO_COLOR"):
            return False
        if self.environ.get("CLICOLOR_FORCE", "0") != "0":
            return True
        return self.is_terminal and self.environ.get("TERM") != "dumb"

    @cached_property
    def reporter(self) -> TerminalReporter:
        return TerminalReporter(
            self.stderr,
            shows_progress=self.shows_progress,
            columns=self.columns,
            environ=self.environ,
            cancelled=self.cancelled,
            complete=self.hint,
        )

    @property
    def chosen_data_dir(self) -> DataDir:
        """The data directory that the option, the environment or the working directory chooses."""
        return find_data_dir(self.data_dir, cwd=self.cwd, environ=self.environ)

    @property
    def services(self) -> Services:
        if self._services is None:
            self._services = self._opened.enter_context(self.open_services(self))
        return self._services

    @property
    def default_agent(self) -> str:
        """The agent in the caller's settings; the settings of the daemon may name another."""
        return load_settings(self.cwd, self.environ).agent

    @property
    def child_environ(self) -> dict[str, str]:
        """The part of the caller's environment that child processes get."""
        return child_environment(self.environ, self.services.settings.child_environment)

    @cached_property
    def codebase(self) -> Codebase:
        codebase = self.services.codebase(self.db)
        codebase.registry.warn_if_lost(self.reporter)
        return codebase

    @cached_property
    def places(self) -> Places:
        """Names the files of registered sources relative to the working directory."""
        roots = {source.name: source.root for source in self.codebase.registry.all()}
        return Places(roots, self.cwd)

    def path(self, text: str) -> Path:
        """Return `text` as a path, relative to the working directory. Raises UsageError."""
        if not text:  # an unset variable of a script, which must not mean this folder
            raise UsageError("a path is empty", hint="name one; `.` is the folder you are in")
        path = Path(given_path(text, str(self.cwd), self.environ))
        whole = os.fsencode(path)
        if len(whole) > MAX_PATH_BYTES or max(map(len, whole.split(b"/"))) > MAX_NAME_BYTES:
            raise UsageError(
                f"the path {text[:40]}… is too long",
                hint=f"a name has at most {MAX_NAME_BYTES} bytes, a path {MAX_PATH_BYTES:,}",
            )
        return path

    def own_path(self, text: str) -> Path:
        """Return `text` as `path` does, for a file that SQLite opens: it takes only UTF-8 names."""
        path = self.path(text)
        if not is_utf8(os.fspath(path)):
            raise UsageError(f"{path} is not UTF-8", hint="choose another place")
        return path

    def text(self, argument: str) -> str:
        """Return `argument`, or standard input for `-`. Raises UsageError unless it is UTF-8."""
        where = "standard input" if argument == "-" else "the text"
        data = self.read_input() if argument == "-" else os.fsencode(argument)
        try:
            return data.decode("utf-8-sig")  # PowerShell pipes a byte order mark
        except UnicodeDecodeError as error:
            raise UsageError(
                f"{where} is not UTF-8 (byte {error.start})", hint="convert it to UTF-8"
            ) from error

    def event(self, *, hint: str) -> dict[str, Any]:
        """Read the JSON object that a coding agent passes to a hook on standard input.

        Raises EventInvalid, with `hint`, for anything else.
        """
        try:
            event = read_json(self.read_input())
        except UsageError as error:
            raise EventInvalid(error.message, hint=error.hint) from error
        except BrokenJson as error:
            raise EventInvalid(f"standard input is {error}", hint=hint) from error
        if not isinstance(event, dict):
            raise EventInvalid("standard input is not a JSON object", hint=hint)
        return event

    def read_input(self) -> bytes:
        """Read all of standard input.

        Raises UsageError if it exceeds MAX_INPUT_BYTES, and for a second `-`, which would be empty.
        """
        if self._has_read_input:
            raise UsageError("standard input is only read once", hint="pass `-` for one text")
        self._has_read_input = True
        data = bytearray()
        while len(data) <= MAX_INPUT_BYTES and (part := self.stdin.read(_INPUT_PART_BYTES)):
            data += part
        if len(data) > MAX_INPUT_BYTES:
            raise UsageError(
                f"standard input is larger than {MAX_INPUT_BYTES >> 20} MiB",
                hint="pass less, or split it",
            )
        return bytes(data)

    def confirm(self, lines: Iterable[TextLine], question: str) -> None:
        """Show `lines` and ask the user `question`. Raises UsageError unless the answer is yes.

        Programs, and callers without a terminal, pass the option `--yes` instead of an answer.
        """
        self.reporter.close()
        for line in () if self.wants_json else lines:
            self.stderr.write(self.line(*(line if isinstance(line, tuple) else (line,))) + "\n")
        if self.wants_json or not (self.shows_progress and self.is_terminal):
            raise UsageError(f"no terminal to ask at: {question}", hint="--yes answers yes")
        self.stderr.write(f"{question} [y/N] ")
        self.stderr.flush()
        if self.stdin.readline().strip().lower() not in (b"y", b"yes"):
            raise UsageError("nothing was changed", hint="answer y, or add --yes")

    def hint(self, text: str) -> str:
        """Return `text`, its commands completed with the options of this call."""
        return self.hints.complete(text) if self.hints else text

    def mask(self, found: T) -> T:
        """Return `found` with likely secrets masked; a notice says how many there were."""
        shown = mask_document(found)
        if count := count_masks(shown):
            self.reporter.notice(f"masked {pluralize(count, 'likely secret')}")
        return shown

    def print(self, *parts: str | Styled) -> None:
        """Print `parts` as one line of the result, their control characters made visible."""
        self.stdout.write(self.line(*parts) + "\n")

    def line(self, *parts: str | Styled) -> str:
        """Return what `print` writes for `parts`, without the line break."""
        return "".join(map(self._render_part, parts))

    def _render_part(self, part: str | Styled) -> str:
        if isinstance(part, str):
            return visible(part)
        text = visible_line(part.text)  # one line, even if a file name contains a line break
        if not self.uses_colour:
            return text
        styled = click.style(text, **part.style)
        return hyperlink(styled, part.link) if part.link and self.is_terminal else styled

    def print_paged(self, lines: Sequence[str], *, uses_pager: bool) -> None:
        """Print `lines`, through the caller's pager if they overflow the caller's terminal."""
        self.reporter.close()
        text = "".join(f"{line}\n" for line in lines)
        overflows = 0 < self.rows <= len(lines) and self.environ.get("TERM") != "dumb"
        if uses_pager and overflows and len(text) <= MAX_PAGED_CHARACTERS:
            self.page(text)
        else:
            self.stdout.write(text)

    def show(self, result: T, lines: Iterable[TextLine], *, nothing: str = "") -> T:
        """Print `result` as JSON if the caller wants that, else `lines`; return `result`.

        `nothing`: the notice if there are no lines. Notices that the result scrolls off the screen
        are repeated after it.
        """
        self.reporter.close()
        if self.wants_json:
            self.print_json(result)
            return result
        parts = (line if isinstance(line, tuple) else (line,) for line in lines)
        text = "".join(f"{self.line(*each)}\n" for each in parts)
        self.stdout.write(text)
        if nothing and not text:
            self.reporter.notice(nothing)
        if 0 < self.rows <= text.count("\n"):
            self.reporter.repeat_notices()
        return result

    def show_hits(self, hits: Hits, lines: Iterable[TextLine], *, room: int | None = None) -> Hits:
        """Show `hits`, cut to `room` tokens, with a notice if there are none or only weak ones."""
        nothing = f"no hits that fit into {pluralize(room, 'token')}" if room else "no hits"
        self.show(hits, lines, nothing="" if hits else nothing)
        warn_if_weak(hits, self.reporter)
        return hits

    def print_json(self, value: object) -> None:
        """Print `value` as the one JSON document on standard output."""
        document = json.dumps(to_builtins(value), ensure_ascii=False, allow_nan=False)
        self.stdout.write(visible_json(document) + "\n")

    def print_error(self, error: SidecarError) -> None:
        """Print `error` as one line on standard error: JSON if the result would have been."""
        error.hint = self.hint(error.hint)
        self.stderr.write(error_line(error, as_json=self.wants_json))

    def close(self) -> None:
        self.reporter.close()
        self._opened.close()
