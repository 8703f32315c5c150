"""What sessions call a project: its folder in any working tree, and where its source was before."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from memory_sidecar.agents.services import PATH_STARTS, Services
from memory_sidecar.core.errors import SidecarError
from memory_sidecar.disk.repository import in_checkouts


def session_projects(
    given: str, path_of: Callable[[str], Path], services: Services
) -> tuple[str, ...]:
    """Return what sessions may call the project `given`, a name or a folder, `path_of(given)`.

    A project is called like its source, or like a folder of that.
    """
    if given.startswith(PATH_STARTS):
        return session_folders(path_of(given), services)
    named = []
    with suppress(SidecarError):  # the list of sources is unreadable, which other calls report
        sources = services.registry.all()
        named = [each for each in sources if given in (each.name, each.root.name)]
    return (given, *(folder for each in named for folder in (str(each.root), *each.moved_from)))


def session_folders(folder: Path, services: Services) -> tuple[str, ...]:
    """Return `folder` as it is in each working tree, and was before its source was moved."""
    folders = [str(each) for each in (folder, *in_checkouts(folder))]
    with suppress(SidecarError):  # as above
        registry = services.registry
        for each in [*folders]:
            if source := registry.containing(Path(each), with_worktrees=True):
                inside = os.path.relpath(os.path.realpath(each), source.root)
                folders += [str(Path(root, inside)) for root in source.moved_from]
    return tuple(dict.fromkeys(folders))
