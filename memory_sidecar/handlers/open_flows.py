"""The flows of one database, one for each of its sources, opened when first used.

A flow holds its source's CocoIndex state open. For a single command it is closed at once, so that
other processes may have it; whoever watches keeps it, and then several sources go on side by side.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from memory_sidecar.flows.source import SourceFlow, remove_state
from memory_sidecar.handlers.shared_lock import SharedLock
from memory_sidecar.sources.registry import Source


class OpenFlows:
    """Thread-safe. `make` makes the flow of a source, whose state lies in the folder `state_of`."""

    def __init__(
        self, make: Callable[[Source], SourceFlow], *, state_of: Callable[[str], Path]
    ) -> None:
        self._make = make
        self._state_of = state_of
        self._flows: dict[str, SourceFlow] = {}
        self._changing = SharedLock()  # shared by flows; a rebuild replaces the store
        self._making = threading.Lock()
        self._is_kept = False
        self._is_stopped = False

    @contextmanager
    def of(self, source: Source) -> Iterator[SourceFlow]:
        """The flow of `source`, for several threads where flows are kept, and else for one."""
        with self._changing.shared() if self._is_kept else self._changing.alone():
            try:
                yield self._opened(source)
            finally:
                if not self._is_kept:
                    self.close()

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Keep the flows open for the length of the block."""
        self._is_kept = True
        try:
            yield
        finally:
            self._is_kept = self._is_stopped = False
            self.close()

    def alone(self) -> AbstractContextManager[None]:
        """Nobody uses a flow during the block."""
        return self._changing.alone()

    def stop(self) -> None:
        """End every refresh soon, and those to come until flows are no longer kept."""
        with self._making:
            self._is_stopped = True
            flows = list(self._flows.values())
        for flow in flows:
            flow.stop()

    def close(self, name: str | None = None) -> None:
        """Let go of the CocoIndex state of all sources, or of one."""
        for each in [name] if name else list(self._flows):
            if flow := self._flows.pop(each, None):
                flow.close()

    def forget(self, source: Source) -> None:
        """Its next refresh derives every row again."""
        self.close(source.name)
        remove_state(self._state_of(source.name))

    def _opened(self, source: Source) -> SourceFlow:
        with self._making:
            flow = self._flows.get(source.name)
            if flow is None or flow.source != source:
                self.close(source.name)
                flow = self._flows[source.name] = self._make(source)
                if self._is_stopped:
                    flow.stop()
            return flow
