"""Every command of the command line, as it is called while something goes wrong.

`{scene}` stands for the folder of the scene, which `scene.py` builds so that each of these has
something to do. A command that is missing here fails a test.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from types import MappingProxyType

SESSION = {
    "session_id": "s9",
    "messages": [{"role": "user", "content": "Why does the refresh fail twice?"}],
    "summary": {"brief": "The refresh was retried", "outcome": "success"},
}
MCP = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "faults", "version": "1"},
    },
}


@dataclass(frozen=True, slots=True)
class Command:
    """`words` are what the command is called by; `change` is done to the files before."""

    words: str
    arguments: tuple[str, ...] = ()
    stdin: str = ""
    change: tuple[str, str] = ("", "")  # a file of the scene, and its content from now on

    @property
    def may_find_fault(self) -> bool:
        """Whether exit status 1 is an answer: without a model, one thing is always wrong."""
        return self.words in ("doctor", "context check")

    def __str__(self) -> str:
        return self.words.replace(" ", "-")


def _of_agent(words: str, *arguments: str, stdin: str = "") -> Command:
    return Command(words, (*arguments, "--agent", "a"), stdin)


def _of_root(words: str, *arguments: str) -> Command:
    return Command(words, (*arguments, "--root", "{scene}/context"))


_JOURNAL = ("--file", "{scene}/data/a.mv2")
_ATOM = "{scene}/context/projects/shop/experiments/EXP-001.md"

WRITING = (
    Command(
        "index", ("{scene}/src", "--wait", "keyword"), change=("src/cart.py", "def new(): 1\n")
    ),
    Command("index", ("{scene}/more", "--wait", "keyword")),
    _of_agent("store", "Carts are emptied at night", "--category", "pitfall"),
    _of_agent("update", "pattern/prices-are-in-cents.md", "Prices are in euros"),
    _of_agent("move", "pattern/prices-are-in-cents.md", "pattern/money/"),
    _of_agent("share", "pattern/prices-are-in-cents.md"),
    _of_agent("share", "pattern/prices-are-in-cents.md", "--move"),
    _of_agent("remove", "pattern/prices-are-in-cents.md"),
    _of_agent("prune", "--keep", "0"),
    _of_agent("restore", "pitfall/an-old-thing.md"),
    _of_agent("category create", "decisions", "what was decided"),
    _of_agent("category describe", "ideas", "what could be"),
    _of_agent("category delete", "ideas"),
    _of_agent("category delete", "pattern", "--with-memories"),
    _of_agent("session save", "-", stdin=json.dumps(SESSION)),
    _of_agent("session delete", "s1"),
    _of_agent("session prune", "--keep-count", "1"),
    _of_agent("session promote", "s1"),
    _of_agent("session import", "{scene}/one.jsonl", "{scene}/two.jsonl"),
    Command("episodic-put", ("The build is red", *_JOURNAL)),
    Command("reindex", ("--source", "src")),
    Command("reindex", ("--agent", "a")),
    Command("source add", ("{scene}/more",)),
    Command("source remove", ("src",)),
    _of_agent("source add", "{scene}/notes"),
    Command("context init", ("{scene}/other", "--project", "till")),
    _of_root("context new", "experiment", "Tills", "--project", "shop"),
    _of_root("context regen", "--all"),
    Command("context access", (_ATOM,)),
    _of_root("context check", "--fix"),
    _of_root("context tasks", "shop", "--archive"),
    _of_root("context refs", "shop", "--rotate"),
    Command("judged add", ("what is the sum", "{scene}/src/cart.py")),
    Command("doctor", ("--fix",)),
    Command("skills install", ("{scene}/skills",)),
    Command("trust", ("{scene}/src",)),
)

READING = (
    Command("search", ("total", "--db", "{scene}/data/codebase.sqlite", "--mode", "keyword")),
    Command("grep", ("def $F($$$ARGS): $$$", "{scene}/src")),
    Command("def", ("total", "--db", "{scene}/data/codebase.sqlite")),
    Command("refs", ("total", "--db", "{scene}/data/codebase.sqlite")),
    Command("callers", ("total", "--db", "{scene}/data/codebase.sqlite")),
    Command("callees", ("total", "--db", "{scene}/data/codebase.sqlite")),
    _of_agent("query", "prices in cents", "--mode", "keyword"),
    _of_agent("list", "--content"),
    _of_agent("recent"),
    _of_agent("get", "pattern/prices-are-in-cents.md"),
    _of_agent("category list"),
    _of_agent("session search", "token refresh", "--mode", "keyword"),
    _of_agent("session list"),
    _of_agent("session start"),
    _of_agent("session show", "s1"),
    Command("episodic-search", ("green", *_JOURNAL)),
    Command("episodic-commit", _JOURNAL),
    Command("status"),
    Command("growth"),
    Command("judged list"),
    Command("source list"),
    _of_root("context refs", "shop", "--all"),
    _of_root("context check"),
    _of_root("context tasks", "--all"),
    _of_agent("prune", "--dry-run"),
    _of_agent("session promote", "s1", "--dry-run"),
    Command("skills list"),
    Command("mcp", stdin=json.dumps(MCP) + "\n"),
)

ELSEWHERE = MappingProxyType(
    {
        "setup": "tests/setup",
        "web": "tests/web",
        "team init": "tests/team",
        "team list": "tests/team",
        "team remove": "tests/team",
        "team export": "tests/team",
        "team import": "tests/team",
        "memory push": "tests/team",
        "memory pull": "tests/team",
        "daemon list": "tests/e2e/test_uninstall.py",
        "uninstall": "tests/e2e/test_uninstall.py",
        "version": "prints a line",
        "help": "prints a page",
        "judged remove": "writes as `judged add` does",
        "why": "tests/cli/test_sources.py",
        "outline": "reads as `def` does",
        "map": "the same",
        "related": "the same",
        "impact": "the same",
        "completion show": "prints a script",
        "completion install": "tests/cli/test_help.py",
        "source update": "writes as `index` does",
        "source move": "tests/cli/test_sources.py",
        "source publish": "tests/team/test_code.py",
        "source prune": "tests/cli/test_sources.py",
        "embed": "needs the model alone, which is no part of the data directory",
        "model list": "the same",
        "model fetch": "the same",
        "model verify": "the same",
        "serve": "is the daemon that the others speak to",
        "stop": "ends it, in every one of these tests",
        "service install": "writes into the user's systemd, not into the data directory",
        "service uninstall": "the same",
        "service status": "the same",
    }
)
