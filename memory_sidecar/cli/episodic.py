"""`memory-sidecar episodic-put`, `episodic-search` and `episodic-commit`: the journals of hosts.

Hosts may add --db to each of their calls; these commands ignore it, because --file names the
journal.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from memory_sidecar.cli.call import Call
from memory_sidecar.cli.options import (
    TextCommand,
    allow_secrets_option,
    text_argument,
    with_call,
    with_top_k,
)
from memory_sidecar.core.errors import UsageError
from memory_sidecar.core.model import Asked
from memory_sidecar.core.paths import EPISODIC, KNOWLEDGE, MEMVID_SUFFIX
from memory_sidecar.core.results import build_from
from memory_sidecar.core.times import system_clock
from memory_sidecar.sessions.documents import EVIDENCE_PREFIX
from memory_sidecar.sessions.journal import Journal
from memory_sidecar.sessions.model import SessionQuery
from memory_sidecar.sessions.mv2 import Entry
from memory_sidecar.sessions.results import Committed, JournalHit, JournalHits, Put, SessionHit

_file_option = partial(
    click.option, "--file", metavar="D/A.mv2", help="The journal of agent A in data directory D."
)


@click.command(name="episodic-put", cls=TextCommand)
@text_argument("text")
@_file_option(required=True)
@click.option("--title", default="", help="By default how TEXT begins.")
@click.option("--tag", "tags", multiple=True, metavar="K:V", help="A tag of TEXT.")
@allow_secrets_option
@with_call
def episodic_put(
    call: Call, *, text: str, file: str, title: str, tags: tuple[str, ...], allow_secrets: bool
) -> Put:
    """Add TEXT to a journal. The same text on the same day is added once.

    The .mv2 file is written as well where memvid is on the PATH.
    """
    path = call.own_path(file)
    entry = Entry(
        text=call.text(text), title=title, tags=_parse_tags(tags), created_at=system_clock()
    )
    done = _find_journal(call, path).put(
        path, entry, call.child_environ, allow_secrets=allow_secrets
    )
    verb = "put" if done.created else "known as"
    return call.show(done, [f"{verb} {done.session_id}"])


@click.command(name="episodic-search", cls=TextCommand)
@text_argument("query")
@_file_option(required=True)
@with_top_k
@with_call
def episodic_search(call: Call, *, query: str, file: str, top_k: int) -> JournalHits:
    """Search a journal, and the other sessions of its agent.

    What an .mv2 file holds already is imported first, once; that needs memvid on the PATH.
    """
    path = call.own_path(file)
    asked = SessionQuery(text=call.text(query), top_k=top_k)
    journal = _find_journal(call, path)
    if asked.text.strip():
        journal.import_mv2(path, call.child_environ)
    hits = call.mask(
        call.services.questions.ask_and_log(
            Asked.SESSIONS, path.stem, asked.text, lambda: journal.search(asked)
        )
    )
    found = JournalHits(tuple(map(_make_journal_hit, hits)))
    lines = (f"{hit.score:.3f}  {hit.uri}  {hit.title}\n  {hit.text}" for hit in found.hits)
    return call.show(found, lines, nothing="no hits")


@click.command(name="episodic-commit")
@_file_option(default="")
@with_call
def episodic_commit(call: Call, *, file: str) -> Committed:
    """Do nothing, successfully: a text is on the disk as soon as it was put."""
    try:
        path = call.path(file)
    except UsageError:  # hosts rely on this command never failing
        path = Path(file)
    committed = Committed(agent=path.stem, file=path.as_posix())
    return call.show(committed, ["everything is on disk already"])


def _find_journal(call: Call, journal: Path) -> Journal:
    """Return the journal of agent A in the data directory D, for a `journal` named `D/A.mv2`.

    `D/episodic/A.mv2`, beside the folder of A's sessions, is the same. Raises UsageError for a
    folder, and for a file with another suffix.
    """
    if journal.suffix != MEMVID_SUFFIX or journal.is_dir():
        what = "is a folder" if journal.is_dir() else f"does not end in {MEMVID_SUFFIX}"
        raise UsageError(
            f"--file {journal} {what}",
            hint="D/A.mv2 is the journal of agent A in the data directory D",
        )
    data_dir = journal.parent.parent if journal.parent.name == EPISODIC else journal.parent
    db = data_dir / KNOWLEDGE / f"{journal.stem}.sqlite"
    return Journal(call.services.agent(journal.stem, db), call.reporter)


def _make_journal_hit(hit: SessionHit) -> JournalHit:
    uri = EVIDENCE_PREFIX + hit.session_id
    uri = uri if hit.sequence is None else f"{uri}#{hit.sequence}"
    return build_from(JournalHit, hit, uri=uri, timestamp=hit.created_at)


def _parse_tags(tags: tuple[str, ...]) -> dict[str, str]:
    by_key = {}
    for tag in tags:
        key, _, value = tag.partition(":")
        if not key:
            raise UsageError(f"{tag!r} is not a tag", hint="as in --tag project:shop")
        by_key[key] = value
    return by_key
