"""`memory-sidecar status`"""

from __future__ import annotations

import click

from memory_sidecar.cli.call import Call
from memory_sidecar.cli.options import with_call
from memory_sidecar.clock import iso_utc
from memory_sidecar.errors import ModelError
from memory_sidecar.handlers.follower import LiveState
from memory_sidecar.model import FileStatus
from memory_sidecar.outputs import code as out
from memory_sidecar.outputs.common import ErrorText


@click.command()
@click.option("--skipped", is_flag=True, help="List the files that are left out, and why.")
@click.option("--failed", is_flag=True, help="List the files that could not be indexed, and why.")
@with_call
def status(call: Call, skipped: bool, failed: bool) -> None:
    """Show what is indexed, how fresh it is, and what is missing."""
    found = call.codebase.status()
    problem = call.services.models.problem
    listed = [
        *(call.codebase.files(FileStatus.SKIPPED) if skipped else ()),
        *(call.codebase.files(FileStatus.FAILED) if failed else ()),
    ]
    counted = {source.name: source for source in found.sources}
    live = {state.name: state for state in found.live}
    sources: list[out.SourceStatus] = []
    for source in found.registered:
        counts = counted.get(source.name)
        scanned_at = counts.scanned_at if counts else None
        sources.append(
            {
                "name": source.name,
                "root": source.root.as_posix(),
                "files_indexed": counts.indexed if counts else 0,
                "files_skipped": counts.skipped if counts else 0,
                "files_failed": counts.failed if counts else 0,
                "chunks": counts.chunks if counts else 0,
                "scanned_at": iso_utc(scanned_at) if scanned_at else None,
                "live": _live_json(live[source.name]) if source.name in live else None,
            }
        )
    if call.wants_json:
        shown: out.Status = {
            "data_dir": call.services.data_dir.root.as_posix(),
            "db": found.db.as_posix(),
            "db_bytes": found.db_bytes,
            "sources": sources,
            "chunks": found.chunks,
            "vectors": found.chunks - found.vectors_pending,
            "vectors_pending": found.vectors_pending,
            "model": None if problem else call.services.models.files.name,
            "model_problem": _problem_json(problem) if problem else None,
        }
        if skipped or failed:
            shown["files"] = [
                {"source": file.source, "path": file.path, "reason": file.reason} for file in listed
            ]
        call.print_json(shown)
        return
    for each in sources:
        call.print(
            f"{each['name']}: {each['files_indexed']:,} files, {each['chunks']:,} chunks, "
            f"{each['files_skipped']:,} skipped, {each['files_failed']:,} failed, "
            f"{_freshness(each)}  ({each['root']})"
        )
        if each["live"] and each["live"]["notice"]:
            call.print(f"  {each['live']['notice']}")
    done = found.chunks - found.vectors_pending
    call.print(f"vectors: {done:,} of {found.chunks:,}")
    call.print(f"model: {problem.message if problem else call.services.models.files.name}")
    call.print(f"database: {found.db} ({found.db_bytes / 1e6:.1f} MB)")
    for file in listed:
        call.print(f"{file.source}: {file.path}: {file.reason}")


def _problem_json(problem: ModelError) -> ErrorText:
    return {"code": problem.code, "message": problem.message, "hint": problem.hint}


def _live_json(state: LiveState) -> out.LiveState:
    return {
        "is_current": state.is_current,
        "refreshed_at": iso_utc(state.refreshed_at) if state.refreshed_at else None,
        "error": state.error,
        "polled": list(state.polled),
        "notice": state.notice,
    }


def _freshness(source: out.SourceStatus) -> str:
    live = source["live"]
    if live is None:
        return f"scanned {source['scanned_at'] or 'not yet'}"
    if live["error"]:
        return f"watched, but {live['error']}"
    return "watched, up to date" if live["is_current"] else "watched, indexing changes"
