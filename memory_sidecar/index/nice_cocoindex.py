"""Import before cocoindex: the threads that it starts on import go behind queries.

They do half of the work of a first index, and take their niceness from the thread that imports.
"""

from __future__ import annotations

import importlib
import threading
from contextlib import suppress

import memory_sidecar.core.cocoindex_env  # noqa: F401  before cocoindex: it logs and reports on import
from memory_sidecar.core.process import INDEXING, lower_thread_priority


def _load() -> None:
    lower_thread_priority(INDEXING)
    with suppress(Exception):  # the next import says why
        importlib.import_module("cocoindex")


_loading = threading.Thread(target=_load)
_loading.start()
_loading.join()
