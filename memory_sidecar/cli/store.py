"""`memory-sidecar store` and `memory-sidecar update`"""

from __future__ import annotations

import click

from memory_sidecar.cli.call import Call
from memory_sidecar.cli.memory_form import memories_of
from memory_sidecar.cli.options import (
    TextCommand,
    allow_secrets_option,
    joined,
    text_argument,
    with_agent,
)
from memory_sidecar.core.clock import iso_utc, system_clock
from memory_sidecar.memories.draft import Draft, parse_expiry
from memory_sidecar.memories.files import tags_by_key
from memory_sidecar.memories.handlers import Remembered
from memory_sidecar.memories.store import OWN_DIRECTORY
from memory_sidecar.memories.write import Changes
from memory_sidecar.outputs import memories as out

EXPIRY_HELP = "A date, a time, or from now: 30d, 12h, 6mo."


@click.command(cls=TextCommand)
@text_argument("text")
@click.option("--category", default="", metavar="C", help="A slug, or several with `/` between.")
@click.option("--tag", "tags", multiple=True, metavar="T", help="A word or key:value.")
@click.option("--summary", default="", help="One line that says it in short.")
@click.option("--source", default="", help="Who or what says so.")
@click.option("--status", default="")
@click.option("--expires", "expires", default="", metavar="TIME", help=EXPIRY_HELP)
@click.option("--pinned", is_flag=True, help="Does not fade and is never pruned.")
@click.option("--evidence", multiple=True, metavar="REF", help="What shows it.")
@click.option("--link", "links", multiple=True, metavar="REF")
@click.option("--citation", "citations", multiple=True, metavar="REF")
@click.option("--supersedes", multiple=True, metavar="PATH", help="A memory that this replaces.")
@click.option("--directory", metavar="NAME", help="A registered knowledge directory to put it in.")
@allow_secrets_option
@with_agent
def store(
    call: Call,
    *,
    agent: str,
    text: tuple[str, ...],
    category: str,
    tags: tuple[str, ...],
    summary: str,
    source: str,
    status: str,
    expires: str,
    pinned: bool,
    evidence: tuple[str, ...],
    links: tuple[str, ...],
    citations: tuple[str, ...],
    supersedes: tuple[str, ...],
    directory: str | None,
    allow_secrets: bool,
) -> None:
    """Remember TEXT as a Markdown file, to be found at once.

    The same text in the same category is stored once, however often it is said; saying it again
    adds new tags. Memories that say nearly the same are named.
    """
    draft = Draft(
        content=joined(call, text),
        category=category,
        tags=tags,
        summary=summary,
        source=source,
        status=status,
        expires_at=parse_expiry(expires, now_ms=system_clock()) if expires else None,
        is_pinned=pinned,
        evidence=evidence,
        links=links,
        citations=citations,
        supersedes=supersedes,
    )
    remembered = memories_of(call, agent).store(
        draft, directory=directory or OWN_DIRECTORY, allow_secrets=allow_secrets
    )
    print_remembered(call, remembered, "stored" if remembered.written.is_new else "known as")


@click.command(cls=TextCommand)
@click.argument("path")
@click.argument("text", nargs=-1)
@click.option("--if-hash", default="", metavar="HASH", help="Only if this is still its hash.")
@click.option("--summary", help='"" removes it.')
@click.option("--source")
@click.option("--status", help='"" removes it.')
@click.option("--tag", "add_tags", multiple=True, metavar="T", help="Add a tag.")
@click.option(
    "--untag", "remove_tags", multiple=True, metavar="T", help="Remove one; `key:` all of a key."
)
@click.option("--expires", metavar="TIME", help=f"{EXPIRY_HELP} `never` removes it.")
@click.option("--pin/--no-pin", "is_pinned", default=None)
@click.option("--evidence", "add_evidence", multiple=True, metavar="REF")
@click.option("--link", "add_links", multiple=True, metavar="REF")
@click.option("--supersedes", multiple=True, metavar="PATH")
@allow_secrets_option
@with_agent
def update(
    call: Call,
    *,
    agent: str,
    path: str,
    text: tuple[str, ...],
    if_hash: str,
    summary: str | None,
    source: str | None,
    status: str | None,
    add_tags: tuple[str, ...],
    remove_tags: tuple[str, ...],
    expires: str | None,
    is_pinned: bool | None,
    add_evidence: tuple[str, ...],
    add_links: tuple[str, ...],
    supersedes: tuple[str, ...],
    allow_secrets: bool,
) -> None:
    """Change the memory at PATH: its text, if TEXT is given, and what the options name.

    With --if-hash a memory that somebody else changed is left alone, and the error (exit status 4)
    holds its current text.
    """
    never = expires == "never"
    changes = Changes(
        content=joined(call, text) if text else None,
        expires_at=parse_expiry(expires, now_ms=system_clock()) if expires and not never else None,
        never_expires=never or expires == "",
        summary=summary,
        source=source,
        status=status,
        is_pinned=is_pinned,
        add_tags=add_tags,
        remove_tags=remove_tags,
        add_evidence=add_evidence,
        add_links=add_links,
        supersedes=supersedes,
    )
    remembered = memories_of(call, agent).update(
        path, changes, if_hash=if_hash, allow_secrets=allow_secrets
    )
    print_remembered(call, remembered, "changed" if remembered.written.changed else "unchanged:")


def print_remembered(call: Call, remembered: Remembered, verb: str) -> None:
    """The result of whatever leaves one memory behind."""
    remembered = call.masked(remembered)
    call.reporter.close()
    if call.wants_json:
        call.print_json(remembered_json(remembered))
        return
    call.print(f"{verb} {remembered.path}")
    for near in remembered.near:
        call.print(f"nearly the same: {near.path} ({near.cosine:.2f}) {near.summary}".rstrip())


def remembered_json(remembered: Remembered) -> out.Remembered:
    """A memory after a change, as the contract has it."""
    file = remembered.written.file
    page = file.page
    return {
        "id": remembered.memory_id,
        "agent": remembered.agent,
        "category": file.path.rpartition("/")[0],
        "path": remembered.path,
        "created": remembered.written.is_new,
        "changed": bool(remembered.written.changed),
        "hash": file.hash,
        "tags": tags_by_key(page.tags),
        "tag_list": list(page.tags),
        "summary": page.summary,
        "created_at": iso_utc(page.created_at),
        "updated_at": iso_utc(page.updated_at),
        "expires_at": iso_utc(page.expires_at) if page.expires_at is not None else None,
        "pinned": page.pinned,
        "supersedes": list(page.supersedes),
        "near_duplicates": [
            {"path": near.path, "summary": near.summary, "cosine": round(near.cosine, 4)}
            for near in remembered.near
        ],
    }
