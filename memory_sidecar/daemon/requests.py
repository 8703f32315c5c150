"""What tells one request from another in the crash log of a daemon."""

from __future__ import annotations

import json

from memory_sidecar.daemon.exchange import Request


def key_of(request: Request) -> str:
    """The same for the same command line in the same folder."""
    return json.dumps([request.cwd, request.arguments])
