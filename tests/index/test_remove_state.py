"""What is derived is removed with care: nothing that a link leads to goes with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory_sidecar.core.errors import PathRefused
from memory_sidecar.core.paths import StorePaths
from memory_sidecar.index.engine_state import remove_state


@pytest.fixture
def precious(tmp_path: Path) -> Path:
    (tmp_path / "precious" / "shop").mkdir(parents=True)
    (tmp_path / "precious" / "shop" / "file").touch()
    return tmp_path / "precious"


def test_a_link_on_the_way_is_not_followed(tmp_path, precious):
    state = StorePaths(tmp_path / "data" / "codebase.sqlite").flow_state("shop")
    for link in (state.parent.parent, state.parent):
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(precious)
        with pytest.raises(PathRefused, match="is a symbolic link"):
            remove_state(state)
        link.unlink()
    state.parent.mkdir(parents=True)
    state.symlink_to(precious / "shop")
    remove_state(state)
    assert (precious / "shop" / "file").exists()


def test_links_inside_are_removed_and_what_they_lead_to_stays(tmp_path, precious):
    state = StorePaths(tmp_path / "data" / "codebase.sqlite").flow_state("shop")
    state.mkdir(parents=True)
    (state / "link").symlink_to(precious)
    remove_state(state)
    remove_state(state)
    assert not state.exists()
    assert (precious / "shop" / "file").exists()
