"""Where everything lies. Pure: asks the disk only to find the nearest data folder.

    <data dir>
    ├── codebase.sqlite      code chunks of every registered source
    ├── embeddings.sqlite    content-addressed vector cache
    └── state/<db stem>/     what belongs to one database and is not derived:
        ├── sources.json     the registered sources
        ├── writer.lock      held by whoever indexes
        └── <source>/        CocoIndex state

The state of a database named with `--db` lies in a `state` folder beside it in the same way, so
that two databases never share one.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from memory_sidecar.locate import CONFIG_NAME, locate_data_dir


@dataclass(frozen=True, slots=True)
class StorePaths:
    """One database file and the state folder that belongs to it."""

    db: Path

    @property
    def state(self) -> Path:
        return self.db.parent / "state" / self.db.stem

    @property
    def registry(self) -> Path:
        return self.state / "sources.json"

    @property
    def writer_lock(self) -> Path:
        return self.state / "writer.lock"

    def flow_state(self, source: str) -> Path:
        """CocoIndex's own state for one source."""
        return self.state / source


@dataclass(frozen=True, slots=True)
class DataDir:
    """The data directory."""

    root: Path

    @property
    def codebase(self) -> StorePaths:
        return StorePaths(self.root / "codebase.sqlite")

    @property
    def embeddings_db(self) -> Path:
        return self.root / "embeddings.sqlite"


def find_data_dir(
    option: Path | None, *, cwd: Path, environ: Mapping[str, str] = os.environ
) -> DataDir:
    """As `locate_data_dir` finds it."""
    named = str(option) if option is not None else None
    return DataDir(Path(locate_data_dir(named, cwd=str(cwd), environ=environ)))


def find_config(cwd: Path) -> Path | None:
    """The nearest `memory-sidecar.toml` upwards of `cwd`."""
    candidates = (folder / CONFIG_NAME for folder in (cwd, *cwd.parents))
    return next((path for path in candidates if path.is_file()), None)
