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
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from memory_sidecar.settings import CONFIG_NAME

DATA_DIR_VARIABLE = "MEMORY_SIDECAR_DATA_DIR"
PROJECT_DATA_DIR = Path("data", "memory")


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
    """`--data-dir`, else the environment, else the nearest project's, else the user's own.

    A project is the nearest folder upwards of `cwd` that has `data/memory` or a
    `memory-sidecar.toml`.
    """
    if option is not None:
        return DataDir(_absolute(option, cwd))
    if named := environ.get(DATA_DIR_VARIABLE):
        return DataDir(_absolute(Path(named), cwd))
    for folder in (cwd, *cwd.parents):
        if (folder / PROJECT_DATA_DIR).is_dir() or (folder / CONFIG_NAME).is_file():
            return DataDir(folder / PROJECT_DATA_DIR)
    return DataDir(user_data_folder(environ) / "memory-sidecar")


def find_config(cwd: Path) -> Path | None:
    """The nearest `memory-sidecar.toml` upwards of `cwd`."""
    candidates = (folder / CONFIG_NAME for folder in (cwd, *cwd.parents))
    return next((path for path in candidates if path.is_file()), None)


def user_data_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """The platform's folder for application data of this user."""
    home = Path.home()
    if sys.platform == "win32":
        return Path(environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    if sys.platform == "darwin":
        return home / "Library" / "Application Support"
    return Path(environ.get("XDG_DATA_HOME") or home / ".local" / "share")


def _absolute(path: Path, cwd: Path) -> Path:
    return Path(os.path.normpath(cwd / path.expanduser()))
