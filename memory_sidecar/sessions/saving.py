"""Completes a session's document for its file: an id, and times. Pure.

Saving is idempotent: the same document again, or one without an id but with the same content on
the same day, is the session that is there.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from memory_sidecar.core.clock import iso_utc
from memory_sidecar.core.errors import SessionInvalid
from memory_sidecar.sessions.documents import checked_session_id, parse_time, read_session
from memory_sidecar.sessions.model import Session

_OF_SAVING = ("session_id", "created_at", "updated_at")


@dataclass(frozen=True, slots=True)
class Completed:
    """A document ready to be written, and the session that it says."""

    document: dict[str, Any]
    session: Session
    is_changed: bool  # against the one that is known


def identified(document: Mapping[str, Any], *, now: int) -> str:
    """The id of the session in `document`: its own, or one made of the day and the content."""
    given = document.get("session_id")
    if isinstance(given, str):
        return checked_session_id(given)
    if given is not None:
        raise SessionInvalid("session_id: must be a text")
    content = {key: value for key, value in document.items() if key not in _OF_SAVING}
    return made_id(_began_at(document, now), content)


def made_id(began_at: int, content: object) -> str:
    """`2026-03-01-` and twelve hex digits of the content's hash."""
    canonical = json.dumps(content, sort_keys=True)
    return f"{iso_utc(began_at)[:10]}-{hashlib.sha256(canonical.encode()).hexdigest()[:12]}"


def completed(
    document: Mapping[str, Any], known: Mapping[str, Any] | None, *, session_id: str, now: int
) -> Completed:
    """`document` with what it leaves out, after `known`, which is what the file says so far.

    A session keeps its beginning unless the document says another one. Raises SessionInvalid.
    """
    began_at = (known or {}).get("created_at") or iso_utc(_began_at(document, now))
    full = {
        "session_id": session_id,
        "created_at": document.get("created_at") or began_at,
        **{key: value for key, value in document.items() if key not in _OF_SAVING},
    }
    if known is not None:
        if {**known, "updated_at": None} == {**full, "updated_at": None}:
            return Completed(dict(known), read_session(dict(known)), is_changed=False)
        full["updated_at"] = iso_utc(now)
    elif document.get("updated_at"):
        full["updated_at"] = document["updated_at"]
    return Completed(full, read_session(full), is_changed=True)


def _began_at(document: Mapping[str, Any], now: int) -> int:
    """When the session began, as far as the document can be trusted; `now` where it says nothing.

    What is wrong with it is told by whoever reads it as a session.
    """
    messages = document.get("messages")
    times = [document.get("created_at")]
    if isinstance(messages, list):
        times += [m.get("created_at") for m in messages if isinstance(m, dict)]
    for text in times:
        if isinstance(text, str):
            try:
                return parse_time(text)
            except (ValueError, OverflowError):
                continue
    return now
