"""`memory-sidecar store`, `update`, `move` and `share`: writes memories."""

from __future__ import annotations

import shlex
from typing import Any

import click

from memory_sidecar.cli.call import Call
from memory_sidecar.cli.memory_form import memories_of
from memory_sidecar.cli.options import (
    TextCommand,
    allow_secrets_option,
    text_argument,
    with_agent,
    with_hash,
)
from memory_sidecar.core.results import pluralize
from memory_sidecar.core.times import NEVER, parse_coming_time
from memory_sidecar.memories.draft import Changes, Draft
from memory_sidecar.memories.model import OWN_DIRECTORY
from memory_sidecar.memories.results import Moved, Remembered

EXPIRY_HELP = "A date, a time, or from now: 30d, 12h, 6mo."


@click.command(cls=TextCommand)
@text_argument("text", option="--content")
@click.option("--category", default="", metavar="C", help="A slug, or several with `/` between.")
@click.option("--tag", "tags", multiple=True, metavar="T", help="A word or key:value.")
@click.option("--summary", default="", help="A summary in one line.")
@click.option("--source", default="", help="Who or what says so.")
@click.option("--status", default="", help="A word such as active or challenged.")
@click.option("--expires", "expires", default="", metavar="TIME", help=EXPIRY_HELP)
@click.option("--pinned", "--pin", is_flag=True, help="Does not fade and is never pruned.")
@click.option("--evidence", multiple=True, metavar="REF", help="Evidence for it.")
@click.option("--link", "links", multiple=True, metavar="REF", help="A related memory or file.")
@click.option("--citation", "citations", multiple=True, metavar="REF", help="What it quotes.")
@click.option("--supersedes", multiple=True, metavar="PATH", help="A memory that this replaces.")
@click.option("--project", metavar="P", help="What it is about; by default the source you are in.")
@click.option("--directory", metavar="NAME", help="A registered knowledge directory to put it in.")
@allow_secrets_option
@with_agent
def store(
    call: Call,
    *,
    agent: str,
    text: str,
    expires: str,
    project: str | None,
    directory: str | None,
    allow_secrets: bool,
    **options: Any,  # noqa: ANN401  as `Draft` and `Changes` check it
) -> Remembered:
    """Remember TEXT as a Markdown file, to be found at once.

    The same text in the same category is stored once, however often it is said; saying it again
    adds new tags. Memories that say nearly the same are named.
    """
    expires_at = parse_coming_time(expires)
    if project is None:
        project = call.services.project_of(call.cwd)
    else:
        project = call.services.project_named(project, call.path)
    draft = Draft(content=call.text(text), expires_at=expires_at, project=project, **options)
    remembered = memories_of(call, agent).store(
        draft, directory=directory or OWN_DIRECTORY, allow_secrets=allow_secrets
    )
    return show_remembered(call, remembered, "stored" if remembered.created else "known as")


@click.command(cls=TextCommand)
@click.argument("path")
@text_argument("text", option="--content", required=False)
@with_hash
@click.option("--summary", help='"" removes it.')
@click.option("--source", help='Who or what says so; "" removes it.')
@click.option("--status", help='"" removes it.')
@click.option("--tag", "tags", multiple=True, metavar="T", help="Add a tag.")
@click.option(
    "--untag",
    "remove_tags",
    multiple=True,
    metavar="T",
    help="Remove a tag; `key:` for all of a key.",
)
@click.option("--project", metavar="P", help='"" has it hold everywhere.')
@click.option("--expires", metavar="TIME", help=f"{EXPIRY_HELP} `never` removes it.")
@click.option(
    "--pin/--no-pin", "--pinned", "pinned", default=None, help="Whether it is exempt from fading."
)
@click.option("--evidence", multiple=True, metavar="REF", help="Add evidence.")
@click.option("--link", "links", multiple=True, metavar="REF", help="Add a related memory or file.")
@click.option("--supersedes", multiple=True, metavar="PATH", help="A memory that this replaces.")
@allow_secrets_option
@with_agent
def update(
    call: Call,
    *,
    agent: str,
    path: str,
    text: str | None,
    if_hash: str,
    expires: str | None,
    project: str | None,
    allow_secrets: bool,
    **options: Any,  # noqa: ANN401  as `Draft` and `Changes` check it
) -> Remembered:
    """Change the memory at PATH: its text, if TEXT is given, and what the options name.

    With --if-hash a memory that another call changed is left alone, and the error (exit status 4)
    holds its current text.
    """
    never = expires in ("", NEVER)
    changes = Changes(
        content=None if text is None else call.text(text),
        expires_at=None if never else parse_coming_time(expires),
        never_expires=never,
        project=project and call.services.project_named(project, call.path),
        **options,
    )
    remembered = memories_of(call, agent).update(
        path, changes, if_hash=if_hash, allow_secrets=allow_secrets
    )
    return show_remembered(call, remembered, "changed" if remembered.changed else "unchanged:")


def show_remembered(call: Call, remembered: Remembered, verb: str) -> Remembered:
    """Print `verb`, the memory's path, and what it repeats or may contradict; returns it."""
    shown = call.mask(remembered)
    near = (
        f"nearly the same{' in shared' * each.shared}: {each.path} ({each.cosine:.2f})"
        f" {each.summary}".rstrip()
        for each in shown.near_duplicates
    )
    against = [
        f"may contradict{' in shared' * each.shared}: {each.path} ({each.why})"
        f" {each.summary}".rstrip()
        for each in shown.may_contradict
    ]
    own = [each.path for each in shown.may_contradict if not each.shared]
    if own:
        replaced = [word for path in own for word in ("--supersedes", path)]
        command = shlex.join(["memory-sidecar", "update", shown.path, *replaced])
        against.append(
            call.hint(f"  to replace {pluralize(len(own), 'memory', 'memories')}: `{command}`")
        )
    return call.show(shown, [f"{verb} {shown.path}", *near, *against])


@click.command()
@click.argument("path", metavar="FROM")
@click.argument("to", metavar="TO")
@allow_secrets_option
@with_agent
def move(call: Call, *, agent: str, path: str, to: str, allow_secrets: bool) -> Moved:
    """Rename the memory FROM, or move it to another category.

    TO is the new path, or a category: an existing one, or a new one with `/` at its end. The file
    stays as it is, its reads keep counting, and memories that name it are changed to the new path.
    """
    moved = memories_of(call, agent).move(path, to, allow_secrets=allow_secrets)
    line = f"{moved.moved_from} is {moved.path} now" if moved.changed else f"{moved.path} stays"
    relinked = (f"relinked {each}" for each in moved.relinked)
    return call.show(moved, [line, *relinked])


@click.command()
@click.argument("path")
@click.option("--category", metavar="C", help="Where to; its own category otherwise.")
@click.option("--move", "moves", is_flag=True, help="Take it from the agent's own memories.")
@allow_secrets_option
@with_agent
def share(
    call: Call, *, agent: str, path: str, category: str | None, moves: bool, allow_secrets: bool
) -> Remembered:
    """Let all agents read the memory at PATH: a copy goes to `shared`, saying whose it was."""
    remembered = memories_of(call, agent).share(
        path, category=category, moves=moves, allow_secrets=allow_secrets
    )
    return show_remembered(call, remembered, "shared" if remembered.created else "shared already:")
