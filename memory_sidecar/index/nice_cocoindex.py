"""Import before cocoindex, so that the threads that it starts on import run behind queries.

They do half of the work of a first index, and inherit the niceness of the thread that imports.
"""

from __future__ import annotations

import importlib
import threading
import warnings
from contextlib import suppress

import memory_sidecar.chunking  # noqa: F401  before cocoindex: it turns off its reports
from memory_sidecar.core.process import INDEXING, lower_thread_priority


def _load() -> None:
    lower_thread_priority(INDEXING)
    with suppress(Exception):  # the next import raises it again
        importlib.import_module("cocoindex")


# CocoIndex drops a coroutine where an engine ends by an error, which is told by other means.
warnings.filterwarnings("ignore", "coroutine 'ComponentContext", RuntimeWarning)
_loading = threading.Thread(target=_load)
_loading.start()
_loading.join()
