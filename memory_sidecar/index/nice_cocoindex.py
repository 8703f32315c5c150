"""Import this before cocoindex, so that the threads which cocoindex starts yield to queries.

They do half of the work of a first index, and inherit the niceness of the importing thread.
"""

from __future__ import annotations

import importlib
import threading
import warnings
from contextlib import suppress

import memory_sidecar.chunking  # noqa: F401  before cocoindex, whose usage reports it turns off
from memory_sidecar.core.process import INDEXING, lower_thread_priority


def _load() -> None:
    lower_thread_priority(INDEXING)
    with suppress(Exception):  # the next import raises it again
        importlib.import_module("cocoindex")


# CocoIndex drops a coroutine when an error ends an engine; the error itself is raised elsewhere.
warnings.filterwarnings("ignore", "coroutine 'ComponentContext", RuntimeWarning)
_loading = threading.Thread(target=_load)
_loading.start()
_loading.join()
