"""`memory-sidecar session`: saves, shows, deletes, prunes, imports and promotes sessions."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import click

from memory_sidecar.agents.promotion import Promoter
from memory_sidecar.cli.call import Call
from memory_sidecar.cli.numbers import COUNT
from memory_sidecar.cli.options import allow_secrets_option, command_group, with_agent
from memory_sidecar.cli.session_search import indent_lines, list_sessions, search, sessions_of
from memory_sidecar.cli.session_start import start
from memory_sidecar.core.errors import NotFound, SessionInvalid, UsageError, system_error
from memory_sidecar.core.opening import read_user_file
from memory_sidecar.core.results import pluralize
from memory_sidecar.core.times import iso_utc, shown_utc
from memory_sidecar.sessions.documents import (
    SUMMARY_KEYS,
    parse_document,
    parse_session_address,
    read_session,
    unread_in_summary,
)
from memory_sidecar.sessions.files import MAX_SESSION_BYTES
from memory_sidecar.sessions.results import (
    Imported,
    Promotion,
    Saved,
    SessionDeleted,
    SessionsPruned,
    ShownSession,
)
from memory_sidecar.sessions.retention import Retention


@command_group
def session() -> None:
    """Sessions: what was said and done, to be found again and learned from."""


session.add_command(search)
session.add_command(list_sessions)
session.add_command(start)


@session.command()
@click.argument("file", default="-")
@allow_secrets_option
@with_agent
def save(call: Call, *, agent: str, file: str, allow_secrets: bool) -> Saved:
    """Save the session in FILE, a JSON document, or on standard input.

    A document without a session_id gets one. One with a known session_id changes that session:
    what it has replaces what is there, `null` removes it, and what it leaves out stays.
    """
    document = _read_document(call, file)
    if "id" in document and "session_id" not in document:
        call.reporter.notice("its `id` is kept, but the session is named by `session_id`")
    if "project" in document and "project_path" not in document:
        call.reporter.notice("its `project` is kept, but a session's project is its `project_path`")
    if unread := unread_in_summary(document):
        call.reporter.notice(
            f"its summary's {', '.join(unread)} is kept, but not searched: a summary has"
            f" {', '.join(SUMMARY_KEYS)}"
        )
    saved = call.mask(_promoter(call, agent).save(document, allow_secrets=allow_secrets))
    return call.show(saved, _saved_lines(call, saved))


@session.command()
@click.argument("session_id", metavar="ID")
@with_agent
def show(call: Call, *, agent: str, session_id: str) -> ShownSession:
    """Show a session as it was saved, or from a message on: ID#N, as `session search` names it."""
    whole_id, first = parse_session_address(session_id)
    stored = sessions_of(call, agent).get(whole_id)
    shown = call.mask(cast("ShownSession", stored.document | {"path": stored.path}))
    return call.show(shown, _session_lines(shown, first))


@session.command()
@click.argument("session_id", metavar="ID")
@with_agent
def delete(call: Call, *, agent: str, session_id: str) -> SessionDeleted:
    """Delete a session for good, with everything derived from it."""
    deleted = sessions_of(call, agent).delete(session_id)
    return call.show(deleted, [f"deleted {deleted.session_id}"])


@session.command()
@click.option("--keep-days", type=COUNT, metavar="N", help="Days since the last update.")
@click.option("--keep-count", type=COUNT, metavar="N", help="The latest N sessions.")
@click.option("--dry-run", is_flag=True, help="Only show what would go.")
@with_agent
def prune(
    call: Call, *, agent: str, keep_days: int | None, keep_count: int | None, dry_run: bool
) -> SessionsPruned:
    """Move old sessions into the archive, by age or by count. Pinned ones stay.

    A session is pinned by `"pinned": true` in its metadata. `session import` brings one back.
    """
    if keep_days is None and keep_count is None:
        raise UsageError("what should be kept?", hint="--keep-days N, --keep-count N, or both")
    keep = Retention(keep_days=keep_days, keep_count=keep_count)
    pruned = call.mask(sessions_of(call, agent).prune(keep, dry_run=dry_run))
    gone = (f"{each.session_id}  {each.title}  ({each.reason})" for each in pruned.sessions)
    outcome = f"{'would be ' if dry_run else ''}moved to the archive"
    command = f"`memory-sidecar session import {shlex.quote(pruned.archive)}/*/*.json`"
    back = call.hint(f"; {command} brings them back") if pruned.archive else ""
    count = pluralize(len(pruned.sessions), "session")
    return call.show(pruned, [*gone, f"{count} {outcome}{back}"])


@session.command(name="import")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@allow_secrets_option
@with_agent
def import_files(
    call: Call, *, agent: str, files: tuple[str, ...], allow_secrets: bool
) -> Imported:
    """Save the sessions in each FILE: JSON, a transcript with JSON lines, or an .mv2 file.

    Transcripts of Claude Code, Codex, Gemini CLI and Cursor are understood, exports of claude-mem,
    ChatGPT and Claude, and plain lines with `role` and `content`. Importing again saves what is
    new. `.mv2` files need memvid on the PATH. What looks like a key or password is masked. `-`
    takes the file that a hook names on standard input, as {"transcript_path": …}, if there is one
    by then.
    """
    paths = [call.path(file) for file in files if file != "-"]
    if "-" in files:
        named = _read_transcript_path(call)
        # The hook also runs for a session without messages, whose file is missing or empty.
        paths += [named] if named and named.exists() and named.stat().st_size else []
    imported = sessions_of(call, agent).import_files(
        paths, call.child_environ, allow_secrets=allow_secrets
    )
    lines = (line for each in imported.sessions for line in _saved_lines(call, each))
    return call.show(imported, lines if imported.sessions else ["nothing was said there"])


@session.command()
@click.argument("session_id", metavar="[ID]", required=False)
@click.option("--journal", is_flag=True, help="All entries of the journal, with one outcome.")
@click.option("--tag", default="", metavar="T", help="All sessions of this tag, with one outcome.")
@click.option("--shared", is_flag=True, help="Into the memories that all agents share.")
@click.option("--dry-run", is_flag=True, help="Only show what would be remembered.")
@with_agent
def promote(
    call: Call,
    *,
    agent: str,
    session_id: str | None,
    journal: bool,
    tag: str,
    shared: bool,
    dry_run: bool,
) -> Promotion:
    """Turn what a session decided, solved and noted into memories.

    A session without a summary gets one. What is known already is left alone. A whole journal, or
    all that carries the tag of a task, becomes one outcome, beside what its summaries decided,
    solved and noted.
    """
    if [session_id is not None, journal, bool(tag)].count(True) != 1:
        raise UsageError("what should be promoted?", hint="name one of ID, --journal and --tag T")
    promoter = _promoter(call, agent)
    if session_id is not None:
        promotion = promoter.promote(session_id, shared=shared, dry_run=dry_run)
    else:
        promotion = promoter.promote_journal(tag, shared=shared, dry_run=dry_run)
    promotion = call.mask(promotion)
    return call.show(promotion, _promotion_lines(call, promotion))


def _promoter(call: Call, agent: str) -> Promoter:
    return call.services.promoter(
        agent, call.db, environ=call.child_environ, reporter=call.reporter
    )


def _read_transcript_path(call: Call) -> Path | None:
    """Read the path of the transcript that a coding agent passes to its hook.

    Returns `None` where it passes null, as Codex does for a session that it does not save. Raises
    UsageError for input without a path.
    """
    hint = 'pass what a hook is given, {"transcript_path": …}, or name files'
    path = call.event(hint=hint).get("transcript_path", "")
    if path is None:
        return None
    if not isinstance(path, str) or not path:
        raise UsageError("standard input has no transcript_path", hint=hint)
    return call.path(path)


def _read_document(call: Call, file: str) -> dict[str, Any]:
    if file == "-":
        return parse_document(call.read_input(), strictly=True)
    try:
        data = read_user_file(call.path(file), MAX_SESSION_BYTES)
    except OSError as error:
        kind = NotFound if isinstance(error, FileNotFoundError) else UsageError
        raise system_error(error, file) or kind(
            f"{file} cannot be read: {error.strerror}",
            hint="name a file, or pass the session on standard input",
        ) from error
    try:
        return parse_document(data, strictly=True)
    except SessionInvalid as error:
        raise SessionInvalid(f"{file}: {error.message}", hint=error.hint) from error


def _session_lines(shown: ShownSession, first: int) -> Iterator[str]:
    session = read_session(shown)
    if first and first >= (count := len(session.messages)):
        problem = f"the session has {pluralize(count, 'message')}"
        raise UsageError(problem, hint=f"{session.session_id}#0 is the first of them")
    summary = session.summary
    called = "" if summary and summary.brief == session.called else session.called
    yield f"{session.session_id}  {called}".rstrip()
    began_at = shown_utc(iso_utc(session.created_at))
    about = (began_at, session.project_path, ", ".join(session.topics))
    yield "  " + " · ".join(filter(None, about))
    if summary:
        yield ""
        brief, *others = summary.lines
        yield brief + (f" ({summary.outcome})" if summary.outcome else "")
        yield from others
    for message in session.messages[first:]:
        yield ""
        yield f"{message.said_by}, {shown_utc(iso_utc(message.created_at))}"
        yield from indent_lines(message.content)
    for snippet in session.code_snippets:
        yield ""
        yield " · ".join(filter(None, (snippet.file_path, snippet.description)))
        yield from indent_lines(snippet.code)


def _promotion_lines(call: Call, promotion: Promotion) -> Iterator[str]:
    for judged in promotion.memories:
        yield f"{judged.category}: {judged.text}"
        yield f"  {judged.outcome}"
    if not promotion.memories:
        call.reporter.notice("the session suggests nothing to remember")


def _saved_lines(call: Call, saved: Saved) -> Iterator[str]:
    verb = "saved" if saved.created else "updated" if saved.changed else "unchanged:"
    size = [pluralize(saved.message_count, "message")]
    if saved.has_summary:
        size.append("a summary")
    if saved.snippet_count:
        size.append(pluralize(saved.snippet_count, "snippet"))
    yield f"{verb} {saved.session_id}: {', '.join(size)}"
    if saved.promotion:
        yield from _promotion_lines(call, saved.promotion)
