"""URIs of memories and files as resources: `memory://AGENT/PATH`, `source://NAME/PATH`."""

from __future__ import annotations

import re
from urllib.parse import quote, unquote, urlsplit
from urllib.request import url2pathname

from memory_sidecar.core.errors import UsageError

MEMORY, SOURCE = "memory", "source"

_OF_A_FILE = re.compile(r"file://(?:localhost)?(?=/)")


def memory_uri(agent: str, path: str) -> str:
    return f"{MEMORY}://{agent}/{quote(path)}"


def source_uri(name: str, path: str) -> str:
    return f"{SOURCE}://{name}/{quote(path)}"


def plain_path(text: str) -> str:
    """Return `text`, a path or a `file:` URI, as a path; `?` and `#` are part of a name."""
    begun = _OF_A_FILE.match(text)
    if not begun:
        return text
    return url2pathname(text[begun.end() :].replace("?", "%3F").replace("#", "%23"))


def parts_of(uri: str) -> tuple[str, str, str]:
    """Split `uri` into scheme, agent or source, and path. Raises UsageError."""
    try:
        split = urlsplit(uri)
    except ValueError:
        split = urlsplit("")
    owner, path = split.netloc, unquote(split.path).removeprefix("/")
    if split.scheme not in (MEMORY, SOURCE) or not owner or not path or split.query:
        raise UsageError(
            f"{uri!r} names no resource", hint="memory://AGENT/PATH or source://NAME/PATH"
        )
    return split.scheme, owner, path
