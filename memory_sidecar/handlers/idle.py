"""Gives the model's memory back while nobody asks for vectors. The next call loads it again."""

from __future__ import annotations

import logging
import threading

from memory_sidecar.handlers.resident import return_free
from memory_sidecar.handlers.services import Services

CHECK_S = 60.0

_log = logging.getLogger(__name__)


class IdleUnload:
    """Looks at `services` from time to time, between `start` and `close`."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._idle_s = services.settings.idle_unload_minutes * 60
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="idle", daemon=True)

    def start(self) -> None:
        if self._idle_s:
            self._thread.start()

    def close(self) -> None:
        self._stop.set()

    def _run(self) -> None:
        while not self._stop.wait(min(CHECK_S, self._idle_s)):
            if self._services.unload(unused_for_s=self._idle_s):
                _log.info("the model was unused for %d s and is unloaded", self._idle_s)
                return_free()
