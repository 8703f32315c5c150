"""Converts the texts that a host puts into a journal to sessions, and runs memvid on `.mv2` files.

A host names an agent by such a file: `D/A.mv2` stands for the sessions of agent A in the data
directory D. The same text is one session per day, however often it is put, and so is its copy in
an `.mv2` file, though memvid keeps neither blank lines nor fractions of a second. If memvid is on
the PATH, the file is written too; if it is not, or fails, a notice says so. Only commands that
work offline are used: creating a file, putting, listing and viewing.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from memory_sidecar.core.children import find_program, run_child
from memory_sidecar.core.errors import MemvidFailed
from memory_sidecar.core.json_text import BrokenJson, read_json
from memory_sidecar.core.times import iso_utc
from memory_sidecar.sessions.documents import make_id

KIND = "journal"  # `kind` in the metadata of a session that is an entry of a journal
COMMAND = "memvid"
PUT_TIMEOUT_S = 3  # a host waits five for the whole call; a put takes 0.2
LOCK_TIMEOUT_MS = 2_000
READ_TIMEOUT_S = 60
_ALL = "1000000000"
_NOT_OURS = frozenset({"extractous_metadata"})  # tags that memvid adds itself


@dataclass(frozen=True, slots=True)
class Entry:
    """One text of a journal."""

    text: str
    title: str
    tags: Mapping[str, str]
    created_at: int  # epoch ms


def entry_document(entry: Entry) -> dict[str, Any]:
    """Make the session of `entry`; its tags `topic` and `project` become the session's."""
    began_at = entry.created_at // 1000 * 1000
    document: dict[str, Any] = {
        "session_id": make_id(began_at, [entry.title, entry.text.split()]),
        "created_at": iso_utc(began_at),
        "metadata": {
            "kind": KIND,
            **({"title": entry.title} if entry.title else {}),
            **({"tags": dict(entry.tags)} if entry.tags else {}),
        },
        "messages": [{"role": "assistant", "content": entry.text}],
    }
    if topic := entry.tags.get("topic"):
        document["topics"] = [topic]
    if project := entry.tags.get("project"):
        document["project_path"] = project
    return document


@dataclass(frozen=True, slots=True)
class Memvid:
    """The memvid command at `program`."""

    program: str
    environ: Mapping[str, str]

    @classmethod
    def find(cls, environ: Mapping[str, str]) -> Memvid | None:
        """Find the command on the PATH of `environ`; None if it is not installed."""
        program = find_program(COMMAND, environ)
        return cls(program, environ) if program else None

    def put(self, file: Path, entry: Entry, *, timeout_s: int = PUT_TIMEOUT_S) -> None:
        """Append `entry` to `file`, which is created if missing. Raises MemvidFailed."""
        if not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            self._run("create", file, timeout_s=timeout_s)
        options = ["--raw", "--timestamp", str(entry.created_at // 1000)]
        # Off: whatever would change the text, derive something from it, or download a model.
        options += ["--no-embedding", "--no-enrich", "--no-auto-tag"]
        options += ["--no-extract-dates", "--no-extract-triplets"]
        options += ["--lock-timeout", str(LOCK_TIMEOUT_MS)]
        if entry.title:  # with `=`: memvid refuses a separate value that begins with a dash
            options.append(f"--title={entry.title}")
        options += [f"--tag={key}={value}" for key, value in entry.tags.items()]
        self._run("put", file, *options, timeout_s=timeout_s, text=entry.text)

    def entries(
        self, file: Path, *options: str, timeout_s: int = READ_TIMEOUT_S
    ) -> Iterator[Entry]:
        """Read the entries of `file`, the oldest first; `options` of a timeline leave some out.

        Raises MemvidFailed.
        """
        read = partial(self._read, timeout_s=timeout_s)
        try:
            timeline = read("timeline", file, "--limit", _ALL, *options)
            for frame in sorted(timeline, key=lambda f: (f["timestamp"], f["frame_id"])):
                number = str(frame["frame_id"])
                yield _entry(read("view", file, "--frame-id", number, "--page-size", _ALL))
        except (KeyError, TypeError) as error:
            raise MemvidFailed(
                f"{COMMAND} described {file.name} in an unknown format: {error!r}",
                hint="report it, with the version that `memvid --version` shows",
            ) from error

    def has(self, file: Path, entry: Entry, *, timeout_s: int = PUT_TIMEOUT_S) -> bool:
        """Whether `file` has `entry`, with its time in seconds. Raises MemvidFailed."""
        second = str(entry.created_at // 1000)
        found = self.entries(file, "--since", second, "--until", second, timeout_s=timeout_s)
        wanted = entry_document(entry)["session_id"]
        return any(entry_document(each)["session_id"] == wanted for each in found)

    def _read(self, verb: str, file: Path, *options: str, timeout_s: int) -> Any:  # noqa: ANN401  JSON
        out = self._run(verb, file, *options, "--json", timeout_s=timeout_s)
        try:
            return read_json(out)
        except BrokenJson as error:
            raise MemvidFailed(f"{COMMAND} {verb} {file.name} printed no JSON") from error

    def _run(self, verb: str, file: Path, *options: str, timeout_s: int, text: str = "") -> bytes:
        arguments: Sequence[str] = (self.program, verb, str(file.absolute()), *options)
        try:
            done = run_child(
                arguments,
                environ=self.environ,
                text=text.encode(),
                timeout_s=timeout_s,
                umask=0o077,  # what a journal holds is for its user alone, as sessions are
            )
        except subprocess.TimeoutExpired as error:
            raise MemvidFailed(
                f"{COMMAND} {verb} {file.name} took longer than {timeout_s} s",
                hint="`memvid who` tells whether another process holds the file",
            ) from error
        except OSError as error:
            raise MemvidFailed(f"{self.program} does not start: {error.strerror}") from error
        if done.returncode:
            lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
            reason = next((line for line in lines if "WARN" not in line), "nothing")
            raise MemvidFailed(
                f"{COMMAND} {verb} {file.name} failed: {reason}",
                hint=f"`memvid verify {file}` tells more",
            )
        return done.stdout


def _entry(view: Mapping[str, Any]) -> Entry:
    frame = view["frame"]
    title, address = frame["title"] or "", frame["uri"] or ""
    text = view["content"]
    if not text:
        # memvid keeps only the searched form of a short text, in which title, address and tags
        # follow the text.
        searched = frame["search_text"] or ""
        text = searched.partition(f"\ntitle: {title}\nuri: {address}")[0]
    if address.lower().endswith("/" + title.lower().replace(" ", "-")):
        title = ""  # memvid derived it from the address
    tags = frame["extra_metadata"] or {}
    return Entry(
        text=text,
        title=title,
        tags={str(key): str(value) for key, value in tags.items() if key not in _NOT_OURS},
        created_at=frame["timestamp"] * 1000,
    )
