"""A data directory with something of everything in it, which every test finds as it was built.

The place stays the same, since registries hold absolute paths: what a test has done to it is
taken away by copying the built one there again.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import stat
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memory_sidecar.disk.atoms import GENERATED_LIST
from tests.e2e.home import Home
from tests.faults.commands import Command
from tests.faults.forked import Job
from tests.finished import Finished

SOURCE = {
    "src/cart.py": "def total(prices):\n    return sum(prices)\n",
    "src/docs/setup.md": "# Setup\n\nInstall the package.\n",
    **{f"src/m{n:02}.py": f"def function_{n}(value):\n    return value + {n}\n" for n in range(20)},
    "more/till.py": "def open_till():\n    return 1\n",
    "notes/first.md": "The till is opened at nine.\n",
    "one.jsonl": '{"role": "user", "content": "What does a cart hold?"}\n',
    "two.jsonl": '{"role": "user", "content": "When is the till opened?"}\n',
}
SESSION = {
    "session_id": "s1",
    "project_path": "/src/shop",
    "messages": [{"role": "user", "content": "Why does the token refresh fail?"}],
    "summary": {
        "brief": "Payment tokens refresh once",
        "key_decisions": ["Use one lock around the token refresh of payments"],
        "problems_solved": ["Fixed the token refresh race of payments"],
        "outcome": "success",
    },
}
TASKS = (
    "- id: T-1\n  text: Count the carts\n  status: open\n  priority: high\n"
    "- id: T-2\n  text: Count the tills\n  status: done\n  priority: low\n"
)
_DERIVED = re.compile(
    r"\.sqlite|\.lock$|/\.locks/|/\.state/[^/]+/[^/]+/|/state/codebase/[^/]+/"
    r"|/state/(daemon|requests)|/questions/asked|/sources\.json~$|\.sidecar-tmp-|^/ballast$"
)
_VOLATILE = re.compile(
    r"\d{4}-\d\d-\d\dT[\d:.]+Z|\d{8}T\d{6}\.\d{3}Z|\d{4}-\d\d(-\d\d)?|[0-9a-f]{12,}"
    r"|\d\d? [A-Z][a-z]+ \d{4}, \d\d:\d\d"
)
_FRONTMATTER = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
_SHIFTING = {
    *("score", "relevance", "strength", "created_at", "updated_at", "stored_at", "timestamp"),
    *("hash", "indexed_at", "uri", "explanation", "why", "age_days", "uses", "used_at"),
}

Truth = Counter[tuple[str, str]]
Answers = list[object]
Line = tuple[Sequence[str], str]  # arguments, standard input

QUESTIONS: Sequence[tuple[str, ...]] = (
    ("list", "--content", "--agent", "a"),
    ("list", "--content", "--agent", "shared"),
    ("category", "list", "--agent", "a"),
    ("query", "prices carts token till", "--mode", "keyword", "--top-k", "50", "--agent", "a"),
    ("session", "list", "--agent", "a"),
    ("session", "search", "token refresh cart till", "--mode", "keyword", "--agent", "a"),
    ("source", "list"),
    ("search", "total new open_till", "--db", "{scene}/data/codebase.sqlite", "--mode", "keyword"),
)
"""What together shows every row that a command can have written."""


@dataclass(frozen=True, slots=True)
class Usual:
    """What a command does where nothing goes wrong."""

    command: Command
    before: Truth
    after: Truth
    answers: Answers  # afterwards
    seconds: float

    def require_between(self, now: Truth, *, acknowledged: bool) -> None:
        """That each file is as it was or as it should be, and no file or text lost or doubled."""
        if acknowledged:
            assert now == self.after, f"{now - self.after} and not {self.after - now}"
        for view in (Counter[Any], _paths, _texts):
            before, there, after = (view(each) for each in (self.before, now, self.after))
            for each in before | there | after:
                least, most = sorted((before[each], after[each]))
                assert least <= there[each] <= most, f"{there[each]} times: {each}"


@dataclass(frozen=True, slots=True)
class State:
    """Everything on the disk before the n-th `changes` of a command, byte for byte."""

    copy: Path
    changes: list[int] = field(default_factory=list)


class Scene:
    """`folder` holds the data directory `data` and everything that is registered in it."""

    def __init__(self, folder: Path, runtime_dir: Path) -> None:
        self.folder = folder
        self.data = folder / "data"
        self.built = folder.with_name("built")
        self.home = Home(
            folder,
            runtime_dir,
            MEMORY_SIDECAR_MODEL_DIR=str(folder / "no-model"),
            MEMORY_SIDECAR_MODEL_DOWNLOAD="0",
            HOME=str(folder),
            OPENBLAS_NUM_THREADS="1",
        )

    # Making and putting back

    def build(self) -> None:
        for path, text in SOURCE.items():
            (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / path).write_text(text)
        agent = ("--agent", "a")
        context = str(self.folder / "context")
        self._require(
            (("index", "src", "--wait", "keyword"), ""),
            (("store", "Prices are in cents", "--category", "pattern", *agent), ""),
            (("store", "An old thing", "--category", "pitfall", *agent), ""),
            (("store", "A cart is emptied", "--category", "pitfall", *agent), ""),
            (("store", "The till is closed at night", "--agent", "shared"), ""),
            (("category", "create", "ideas", "what might be", *agent), ""),
            (("remove", "pitfall/an-old-thing.md", *agent), ""),
            (("move", "pitfall/a-cart-is-emptied.md", "pitfall/carts/", *agent), ""),
            (("session", "save", "-", *agent), json.dumps(SESSION)),
            (("session", "save", "-", *agent), json.dumps(SESSION | {"session_id": "s2"})),
            (("episodic-put", "The build is green", "--file", f"{self.data}/a.mv2"), ""),
            (("context", "init", context, "--project", "shop"), ""),
            (("context", "new", "experiment", "Carts", "--project", "shop", "--root", context), ""),
        )
        (self.folder / "context/projects/shop/TASKS.yaml").write_text(TASKS)
        self._require((("source", "add", context, "--agent", "shared"), ""))
        self.sound = self.answers()
        shutil.copytree(self.folder, self.built, symlinks=True)

    def _require(self, *lines: Line) -> None:
        for (arguments, _), done in zip(lines, self.run(*lines), strict=True):
            assert done.status == 0, f"{arguments}: {done.err}"

    def restore(self, copy: Path | None = None) -> None:
        """Make everything as it was built, or as it is in `copy`, and end the daemon."""
        self.home.end()
        for path in self.folder.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()
        shutil.copytree(copy or self.built, self.folder, symlinks=True, dirs_exist_ok=True)

    def states_during(self, command: Command) -> list[State]:
        """What is on the disk before each change that `command` makes, in order.

        Copies of it lie beside the scene until the next call.
        """
        copies = self.folder.with_name("copies")
        shutil.rmtree(copies, ignore_errors=True)
        states: dict[bytes, State] = {}

        def keep() -> None:
            state = states.setdefault(_digest(self.folder), State(copies / str(len(states))))
            state.changes.append(1 + sum(len(each.changes) for each in states.values()))
            if len(state.changes) == 1:
                shutil.copytree(self.folder, state.copy, symlinks=True)

        self.run(self.line(command), at_change=keep)
        self.restore()
        return list(states.values())

    # Asking

    def line(self, command: Command) -> Line:
        """Its command line here, with `--json`; its change of the files is made."""
        path, content = command.change
        if path:
            (self.folder / path).write_text(content)
        json_option = () if command.words == "mcp" else ("--json",)
        return self.here(*command.words.split(), *command.arguments, *json_option), command.stdin

    def here(self, *arguments: str) -> list[str]:
        return [each.replace("{scene}", str(self.folder)) for each in arguments]

    def run(
        self,
        *lines: Line,
        dies_after_s: float | None = None,
        at_change: Callable[[], None] | None = None,
    ) -> list[Finished]:
        """Without a daemon, in one process."""
        job = Job(
            lines=lines,
            folder=self.folder,
            environ=self.home.environ,
            dies_after_s=dies_after_s,
            halts=at_change is not None,
        )
        return job.run(at_change)

    def answers(self, *then: Line) -> Answers:
        """What `QUESTIONS` are answered with, without a daemon, once the sources are indexed.

        The command lines that are run `then` may find that there is nothing left to do.
        """
        index = (self.here("index", "--wait", "keyword", "--json"), "")
        asked = [(self.here(*question, "--json"), "") for question in QUESTIONS]
        _, *answers = self.run(index, *asked, *then)
        assert len(answers) == len(asked) + len(then), f"{len(answers)}. line: {answers[-1].err}"
        while len(answers) > len(asked):
            last = answers.pop()
            assert last.status in (0, 1, 2, 3, 4), last.err
            assert "internal error" not in last.err
        for question, done in zip(QUESTIONS, answers, strict=True):
            is_none = done.status == 3 and done.error["code"] == "no_index"  # no source is left
            assert done.status == 0 or is_none, f"{' '.join(question)}: {done.err}"
        return [steady(done.json if done.status == 0 else done.error) for done in answers]

    def require_sound(self, usual: Usual, *, acknowledged: bool) -> None:
        """That a command which was killed did all or nothing of each thing, and can be repeated.

        The database has to answer as one does that is made of the files anew.
        """
        usual.require_between(self.truth(), acknowledged=acknowledged)
        answers = self.answers()
        truth = self.truth()
        usual.require_between(truth, acknowledged=acknowledged)
        if truth == usual.after:
            assert answers == usual.answers, _differing(answers, usual.answers)
        self.forget_derived()
        again = self.answers(self.line(usual.command))
        assert again == answers, _differing(again, answers)

    def usual(self, command: Command) -> Usual:
        """What `command` does where nothing goes wrong; it is taken back."""
        line = self.line(command)
        before, began = self.truth(), time.monotonic()
        (done,) = self.run(line)
        seconds = time.monotonic() - began
        assert done.status in (0, 1) if command.may_find_fault else done.status == 0, done.err
        after, answers = self.truth(), self.answers()
        self.restore()
        return Usual(command, before, after, answers, seconds)

    # What is true

    def truth(self) -> Truth:
        """Every file that no other can be made from: its path and its text.

        Without times, and without the lists that `context regen` makes.
        """
        found: Truth = Counter()
        for path in self.folder.rglob("*"):
            name = path.relative_to(self.folder).as_posix()
            if path.is_file() and not _DERIVED.search(f"/{name}"):
                content = path.read_text("utf-8", errors="backslashreplace")
                content = GENERATED_LIST.sub("", content)
                found[_masked(name), _masked(content)] += 1
        return found

    def forget_derived(self) -> None:
        """Delete every database: the next access makes it again."""
        for path in list(self.data.rglob("*.sqlite*")):
            path.unlink()


def _differing(now: Answers, then: Answers) -> str:
    pairs = zip(QUESTIONS, now, then, strict=True)
    return "\n".join(f"{' '.join(q)}: {a}, and not {b}" for q, a, b in pairs if a != b)


def steady(value: object) -> object:
    """`value` of JSON without scores and times, and what is a set in the order of its text."""
    if isinstance(value, dict):
        return {key: steady(each) for key, each in value.items() if key not in _SHIFTING}
    if isinstance(value, list):
        return sorted((steady(each) for each in value), key=repr)
    return _masked(value) if isinstance(value, str) else value


def _masked(text: str) -> str:
    return _VOLATILE.sub("*", text)


def _paths(truth: Truth) -> Counter[Any]:
    return Counter(path for path, _ in truth.elements())


def _texts(truth: Truth) -> Counter[Any]:
    """How often each memory and session is there, wherever it lies."""
    return Counter(
        _FRONTMATTER.sub("", text)
        for path, text in truth.elements()
        if path.startswith(("data/knowledge/", "data/episodic/", "data/archive/"))
        and not path.endswith("sources.json")
    )


def _digest(folder: Path) -> bytes:
    """Of all names, kinds, rights, times of files and bytes: what a later process can tell."""
    found = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        found.update(f"{path}\0{status.st_mode}\0".encode("utf-8", "surrogateescape"))
        if stat.S_ISREG(status.st_mode):
            found.update(f"{status.st_size} {status.st_mtime_ns}\0".encode())
            found.update(path.read_bytes())
        elif stat.S_ISLNK(status.st_mode):
            found.update(str(path.readlink()).encode("utf-8", "surrogateescape"))
    return found.digest()
