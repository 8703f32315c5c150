"""What every command of one data directory shares."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path

from memory_sidecar.clock import Clock, system_clock
from memory_sidecar.handlers.codebase import Codebase
from memory_sidecar.handlers.models import Models
from memory_sidecar.paths import DataDir, StorePaths, find_config, find_data_dir
from memory_sidecar.settings import Settings, load_settings


class Services:
    """One data directory, opened. Databases and the model are opened when first used.

    Thread-safe: the daemon answers every client from one of these.
    """

    def __init__(
        self, data_dir: DataDir, settings: Settings, *, clock: Clock = system_clock
    ) -> None:
        self.data_dir = data_dir
        self.settings = settings
        self.models = Models(settings, cache=data_dir.embeddings_db)
        self._clock = clock
        self._codebases: dict[Path, Codebase] = {}
        self._lock = threading.Lock()

    @classmethod
    def find(cls, *, data_dir: Path | None, cwd: Path, environ: Mapping[str, str]) -> Services:
        """For a command that is run in `cwd`; see `paths.find_data_dir`."""
        settings = load_settings(find_config(cwd), environ)
        return cls(find_data_dir(data_dir, cwd=cwd, environ=environ), settings)

    def codebase(self, db: Path | None = None) -> Codebase:
        """The codebase in the database `db`, or in the data directory's own."""
        paths = StorePaths(db) if db else self.data_dir.codebase
        with self._lock:
            if paths.db not in self._codebases:
                self._codebases[paths.db] = Codebase(
                    paths,
                    settings=self.settings,
                    models=self.models,
                    clock=self._clock,
                    own_folders=[self.data_dir.root],
                )
            return self._codebases[paths.db]

    def unload(self, *, unused_for_s: float) -> bool:
        """Give the memory of the model and of vectors back if nobody used them for so long."""
        if not self.models.unload(unused_for_s=unused_for_s):
            return False
        with self._lock:
            codebases = list(self._codebases.values())
        for codebase in codebases:
            codebase.unload()
        return True

    def close(self) -> None:
        for codebase in self._codebases.values():
            codebase.close()
        self._codebases.clear()
        self.models.close()
