"""What a call knows of the daemon that it runs in. Imports nothing: the daemon starts with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memory_sidecar.web.site import Site


@dataclass(slots=True)
class Host:
    """The daemon that calls run in."""

    log: str
    page: Site | None = None  # outlives the call that began it, and removes itself
