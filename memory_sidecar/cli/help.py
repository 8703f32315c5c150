"""`memory-sidecar help` and `version`, and the examples that end each command's help."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import click

from memory_sidecar import __version__
from memory_sidecar.cli.call import Call
from memory_sidecar.cli.options import with_data_dir
from memory_sidecar.core.installation import PROGRAM
from memory_sidecar.core.results import about

# By command; the program's name is added to those without it.
EXAMPLES: dict[str, tuple[str, str]] = {
    "index": ("index . --exclude 'fixtures/**'", "index https://github.com/pallets/click"),
    "search": (
        'search "where are retries decided"',
        "search parse_frontmatter --language python --path 'src/**' -n 3 --full",
    ),
    "grep": ("grep 'raise NotFound($$$)'", "grep 'retry($A, $B)' src --language python"),
    "why": ("why src/generated.py", "why build/"),
    "judged add": (
        'judged add "where are retries decided" src/retry.py',
        'judged add "why cents" pattern/prices-are-in-cents.md --kind memories',
    ),
    "judged list": ("judged list", "judged list --json"),
    "judged remove": (
        'judged remove "where are retries decided"',
        'judged remove "where are retries decided" src/retry.py',
    ),
    "growth": ("growth", "growth --agent architect --weeks 4"),
    "def": ("def Cart.total_price", "def main --language go"),
    "refs": ("refs parse_frontmatter", "refs src/cart.py:42 --path 'src/**'"),
    "callers": ("callers Cart.total_price", "callers parse_frontmatter --depth 3"),
    "callees": ("callees Cart.total_price", "callees src/cart.py:42"),
    "related": ("related src/cart.py:42", "related src/cart.py:42 --path 'tests/**' -n 5"),
    "impact": ("git diff | memory-sidecar impact --diff", "impact src/cart.py -n 20"),
    "map": ("map --max-tokens 2000", 'map --around "how are retries decided"'),
    "outline": ("outline src/cart.py", "outline src/cart.py --json"),
    "store": (
        'store "Totals are cents" --category pitfall --tag area:cart',
        "git log -1 | memory-sidecar store - --category outcome",
    ),
    "query": (
        'query "circular dependency in payment"',
        'query "how are totals rounded" --category pitfall --max-tokens 500',
    ),
    "list": ("list --category pitfall --after 30d", "list --tag area: --sort strength --desc"),
    "recent": ("recent", "recent --limit 3 --agent architect"),
    "get": ("get pitfall/totals-are-cents", "get EXP-042"),
    "update": (
        'update pitfall/totals-are-cents "Totals are cents everywhere"',
        "update pitfall/totals-are-cents --tag area:tax --pin",
    ),
    "move": (
        "move pitfall/totals-are-cents decisions/money",
        "move decisions/money pitfall/ --agent architect",
    ),
    "share": ("share pitfall/totals-are-cents", "share pitfall/totals-are-cents --move"),
    "remove": ("remove pitfall/totals-are-cents", "remove pitfall/totals-are-cents --for-good"),
    "prune": ("prune --dry-run", "prune --unused-for 90d --category outcome"),
    "restore": ("restore", "restore pitfall/totals-are-cents"),
    "team init": ("team init", "team init --sql"),
    "team list": ("team list", "team list --json"),
    "team remove": (
        "team remove git@git.example:shop.git",
        "team remove git.example/shop --branch trial --yes",
    ),
    "team export": ("team export code.zip", "team export shop.zip --repository git.example/shop"),
    "team import": ("team import code.zip", "team import code.zip --replace"),
    "memory push": ("memory push --agent shared", "memory push --over pitfall/totals-are-cents"),
    "memory pull": ("memory pull --agent shared", "memory pull --over pitfall/totals-are-cents"),
    "category list": ("category list", "category list --agent architect"),
    "category create": (
        'category create decisions/storage "Where data lies, and why"',
        "category create decisions",
    ),
    "category describe": (
        'category describe pitfall "What went wrong, so that it does not again"',
        'category describe pitfall "What went wrong" --agent architect',
    ),
    "category delete": ("category delete drafts", "category delete drafts --with-memories"),
    "session save": ("session save session.json", "session save - --agent claude"),
    "session show": ("session show 2026-03-01-a1b2#4", "session show 2026-03-01-a1b2 --json"),
    "session delete": (
        "session delete 2026-03-01-a1b2",
        "session delete 2026-03-01-a1b2 --agent claude",
    ),
    "session prune": ("session prune --keep-days 365 --dry-run", "session prune --keep-count 500"),
    "session import": (
        "session import ~/.claude/projects/*/*.jsonl --agent claude",
        "session import talk.jsonl",
    ),
    "session promote": (
        "session promote 2026-03-01-a1b2 --dry-run",
        "session promote --tag task:T-12 --agent claude",
    ),
    "session search": (
        'session search "why did the token refresh fail"',
        "session search '\"token refresh\" redis*' --after 30d",
    ),
    "session list": ("session list", "session list --after 7d --limit 5"),
    "episodic-put": (
        'episodic-put "Build 12 is green" --file ~/memory/ci.mv2',
        'episodic-put "Build 12 is green" --file ~/memory/ci.mv2 --tag build:12',
    ),
    "episodic-search": (
        'episodic-search "green builds" --file ~/memory/ci.mv2',
        'episodic-search "green builds" --file ~/memory/ci.mv2 --top-k 3',
    ),
    "episodic-commit": (
        "episodic-commit --file ~/memory/ci.mv2",
        "episodic-commit --file ~/memory/ci.mv2 --json",
    ),
    "source add": ("source add ~/src/shop --name shop", "source add .cortex/memory --agent shared"),
    "source list": ("source list", "source list --agent shared"),
    "source remove": ("source remove shop", "source remove notes --agent architect"),
    "source publish": ("source publish", "source publish shop --take"),
    "source move": ("source move shop ~/src/shop-2", "source move notes ~/n --agent architect"),
    "source prune": ("source prune", "source prune --yes"),
    "status": ("status", "status --failed"),
    "reindex": ("reindex --source shop", "reindex --all"),
    "trust": ("trust .", "trust --list"),
    "context init": (
        "context init ~/context --project flywheel",
        "context init . --project flywheel",
    ),
    "context new": (
        'context new experiment "Pool sizes from 8 to 64" --tag pool',
        'context new decision "Pools have a fixed size" --tag pool',
    ),
    "context regen": ("context regen", "context regen --all"),
    "context check": ("context check", "context check --fix"),
    "context tasks": ("context tasks", "context tasks --archive"),
    "context access": (
        "context access knowledge/K-001.md",
        "context access --commit knowledge/K-001.md",
    ),
    "context refs": ("context refs --cold", "context refs --hot"),
    "doctor": ("doctor", "doctor --fix"),
    "serve": ("serve", "serve --replace --log-level debug"),
    "stop": ("stop", "stop --data-dir data/memory"),
    "daemon list": ("daemon list", "daemon list --json"),
    "service install": ("service install", "service install --data-dir ~/memory"),
    "service uninstall": ("service uninstall", "service uninstall --data-dir ~/memory"),
    "service status": ("service status", "service status --data-dir ~/memory"),
    "web": ("web", "web --no-open --json"),
    "mcp": ("mcp --agent claude", "mcp --tools code,memories,context"),
    "setup": ("setup --dry-run", "setup claude --undo"),
    "uninstall": ("uninstall --dry-run", "uninstall --data"),
    "skills list": ("skills list", "skills list --json"),
    "skills install": ("skills install .claude/skills", "skills install ~/.claude/skills --force"),
    "embed": ('embed "some text"', 'embed --query "a question"'),
    "model list": ("model list", "model list --json"),
    "model fetch": ("model fetch", "model fetch --json"),
    "model verify": ("model verify", "model verify --json"),
    "completion install": ("completion install", "completion install zsh"),
    "completion show": ("completion show fish", 'eval "$(memory-sidecar completion show bash)"'),
    "help": ("help search", "help source add"),
    "version": ("version", "version --json"),
}

_LAST = {name: at for at, name in enumerate(("data_dir", "db", "json_output", "help"), start=1)}


@dataclass(frozen=True, slots=True)
class Help:
    """What a command is for, and its arguments and options."""

    command: Annotated[str, about("as it is typed")]
    text: str


@click.command(name="help")
@click.argument("command", nargs=-1)
@with_data_dir
def explain(call: Call, command: tuple[str, ...]) -> Help:
    """Explain a COMMAND, or list them all."""
    context = click.get_current_context().find_root()
    explained: click.Command = context.command
    for word in command:
        if not isinstance(explained, click.Group):
            break
        name, inner, _ = explained.resolve_command(context, [word])
        assert inner is not None  # else it has raised
        context = click.Context(inner, info_name=name, parent=context)
        explained = inner
    text = explained.get_help(context)
    return call.show(Help(context.command_path, text), [text])


@dataclass(frozen=True, slots=True)
class Version:
    """The version of the program that answers."""

    version: str


@click.command()
@with_data_dir
def version(call: Call) -> Version:
    """Show the version."""
    return call.show(Version(__version__), [f"{PROGRAM}, version {__version__}"])


def complete_help(command: click.Command, words: str) -> None:
    """Add the examples to the help of `command`, named by `words`, and of its subcommands.

    The options that every command has come last.
    """
    command.params.sort(key=lambda each: _LAST.get(each.name, 0))
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            complete_help(inner, f"{words} {name}")
    elif found := EXAMPLES.get(words):
        lines = (line if PROGRAM in line else f"{PROGRAM} {line}" for line in found)
        # \b keeps click from joining the lines.
        command.epilog = "\n".join(["\b", "Examples:", *(f"  {line}" for line in lines)])
