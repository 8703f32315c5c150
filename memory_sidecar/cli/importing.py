"""Imports by one thread at a time.

Python locks each module by itself. Where two threads import a package whose modules import each
other, like numpy or the MCP SDK, it lets one of them see a module half made rather than have both
wait for ever.
"""

from __future__ import annotations

import threading

IMPORTING = threading.RLock()
"""To be held around the import of something large at run time."""
