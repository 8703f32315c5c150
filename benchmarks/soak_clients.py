"""Clients that make random calls, and the kills of these clients and their daemon.

Only a call during which the daemon was killed may end with exit status 5. Everything that a call
confirmed as stored must be there at the end, exactly once.
"""

from __future__ import annotations

import json
import random
import subprocess
import threading
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import psutil
from served import PROGRAM, Served

AGENT = "soak"
TIMEOUT_S = 120.0
KILL_PAUSE_S = (1.0, 40.0)
SOON_S = (0.0, 1.5)  # while the next daemon starts
UNREACHABLE = 5
QUESTIONS = (
    "how is a value parsed",
    "where are retries decided",
    "what was left in the queue",
    "render the merged invoice",
    "who closes the connection",
)
WORDS = ("parse", "get_queryset", "render", "signal", "cache", "handler")


class Kills:
    """Kills daemons, and records when."""

    def __init__(self, daemon: Served, *, seed: int) -> None:
        self.daemons = 0
        self._daemon = daemon
        self._chance = random.Random(seed + 1)
        self._last = 0.0

    def kill_until(self, until: float) -> None:
        """Kill the daemon at random moments, some of them right after another one began."""
        while True:
            time.sleep(self._chance.uniform(*self._chance.choice((KILL_PAUSE_S, SOON_S))))
            if time.monotonic() >= until:
                return
            with suppress(RuntimeError, psutil.NoSuchProcess):  # between two daemons
                process = self._daemon.process
                self._last = time.monotonic()
                process.kill()
                self._last = time.monotonic()
                self.daemons += 1

    def happened_since(self, moment: float) -> bool:
        return self._last >= moment


class Clients:
    """Calls `memory-sidecar` as whole processes; `errors` collects every wrong answer."""

    def __init__(self, daemon: Served, tree: Path, kills: Kills, *, seed: int) -> None:
        self.chance = random.Random(seed + 2)
        self.asked: Counter[str] = Counter()
        self.errors: list[str] = []
        self.killed = self.cut_off = self.looked_for = 0
        self._daemon = daemon
        self._tree = tree
        self._kills = kills
        self._stored: list[str] = []  # contents of memories that are stored
        self._lock = threading.Lock()

    def begin(self) -> None:
        """Index the tree and store a first memory and session, so that every call has an answer."""
        self._call("index", str(self._tree), "--wait", "keyword")
        self._store()
        session = {"messages": [{"role": "user", "content": "Why did the retry fail?"}]}
        self._call("session", "save", "-", "--agent", AGENT, stdin=json.dumps(session))

    def ask_until(self, until: float) -> None:
        """Make consecutive random calls until `until`."""
        while time.monotonic() < until:
            match self.chance.randrange(12):
                case 0:
                    self._store()
                case 1:
                    self._kill_one()
                case _:
                    self._call(*self._any_question())

    def require_found(self, word: str, path: str) -> None:
        """Check that a search that waits for freshness finds the file just saved."""
        waits = ("--wait-fresh", str(int(TIMEOUT_S * 500)))
        asked = ("search", word, "--mode", "keyword", *waits, "--db", self._db, "--json")
        failed = len(self.errors)
        while (said := self._call(*asked)) is None:
            if len(self.errors) > failed:
                return
        self.looked_for += 1
        if path not in [hit["filename"] for hit in json.loads(said)]:
            self.errors.append(f"{path} was saved before a search that waited, and is not found")

    def require_stored(self) -> None:
        """Check that every memory confirmed as stored is there exactly once."""
        said = self._call("list", "--agent", AGENT, "--limit", "1000000", "--json") or "[]"
        listed = {memory["path"] for memory in json.loads(said)}
        contents = Counter(
            json.loads(self._call("get", path, "--agent", AGENT, "--json") or "{}").get("content")
            for path in sorted(listed)
        )
        self.errors += [f"lost: {content}" for content in self._stored if not contents[content]]
        self.errors += [f"doubled: {content}" for content, times in contents.items() if times > 1]

    def _store(self) -> None:
        content = f"{self.chance.choice(QUESTIONS)}: {self.chance.randrange(16**8):08x}"
        if self._call("store", content, "--agent", AGENT, "--category", "pitfall") is not None:
            self._stored.append(content)

    def _kill_one(self) -> None:
        """Kill a client while the daemon works on its call."""
        process = self._daemon.begin(*self._any_question())
        time.sleep(self.chance.uniform(0, 0.3))
        process.kill()
        process.wait()
        with self._lock:
            self.killed += 1

    @property
    def _db(self) -> str:
        return str(self._daemon.data_dir / "codebase.sqlite")

    def _any_question(self) -> list[str]:
        question, word = self.chance.choice(QUESTIONS), self.chance.choice(WORDS)
        number = self.chance.randrange(1000)  # so that most questions are new
        return self.chance.choice(
            [
                ["search", "--all", f"{question} {number}"],
                ["search", "--all", f"{question} {number}", "--explain", "--top-k", "50"],
                ["search", "--all", word, "--mode", "keyword", "--path", "**/*.py"],
                ["search", "--all", f"{word} {number}", "--mode", "vector", "--language", "python"],
                ["search", "--all", f'"{word}"', "--max-tokens", "500", "--wait-fresh", "100"],
                ["grep", f"{word}($$$)", str(self._tree), "--limit", "20"],
                ["query", f"{question} {number}", "--agent", AGENT],
                ["list", "--agent", AGENT, "--category", "pitfall"],
                ["recent", "--agent", AGENT],
                ["session", "search", f"{word} {number}", "--agent", AGENT],
                ["embed", f"{question} {number}"],
                ["status", "--skipped"],
                ["source", "list"],
                ["index", "--wait", "keyword"],
            ]
        )

    def _call(self, *arguments: str, stdin: str = "") -> str | None:
        """The output of the call; None if it was interrupted by a kill, or failed."""
        started = time.monotonic()
        try:
            done = subprocess.run(
                [str(PROGRAM), *arguments],
                env=self._daemon.environ,
                cwd=self._daemon.data_dir.parent,
                input=stdin,
                capture_output=True,
                text=True,
                check=False,
                timeout=TIMEOUT_S,
            )
        except subprocess.TimeoutExpired:
            self.errors.append(f"no answer in {TIMEOUT_S:.0f} s: {' '.join(arguments)}")
            return None
        with self._lock:
            self.asked[arguments[0]] += 1
        if done.returncode == 0:
            return done.stdout
        if done.returncode == UNREACHABLE and self._kills.happened_since(started):
            with self._lock:
                self.cut_off += 1
        else:
            said = f"{done.stdout[-500:]}{done.stderr[-1000:]}"
            self.errors.append(f"{' '.join(arguments)}: {done.returncode} {said}")
        return None
