"""Whether the code of a process is still the one on disk."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from memory_sidecar.daemon import own_code
from memory_sidecar.daemon.own_code import OwnCode


@pytest.fixture
def package(tmp_path: Path) -> Path:
    folder = tmp_path / "package" / "inner"
    folder.mkdir(parents=True)
    (folder / "module.py").write_text("A = 1\n")
    (folder.parent / "__init__.py").write_text("")
    return folder.parent


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_code, "LOOK_EVERY_S", -1.0)


def test_code_that_nobody_touches_is_the_same(package):
    code = OwnCode(package)
    (package / "inner" / "module.pyc").write_bytes(b"compiled")
    assert not code.is_replaced


def test_a_changed_a_new_and_a_deleted_module_replace_it(package):
    module = package / "inner" / "module.py"
    code = OwnCode(package)
    os.utime(module, ns=(0, 1))
    assert code.is_replaced
    code = OwnCode(package)
    (package / "new.py").write_text("")
    assert code.is_replaced
    code = OwnCode(package)
    module.unlink()
    assert code.is_replaced


def test_a_removed_package_is_replaced(package):
    code = OwnCode(package)
    shutil.rmtree(package)
    assert code.is_replaced


def test_what_was_replaced_once_stays_so(package):
    code = OwnCode(package)
    (package / "new.py").write_text("")
    assert code.is_replaced
    (package / "new.py").unlink()
    assert code.is_replaced


def test_what_is_written_in_place_is_noticed_only_after_a_while(package, monkeypatch):
    monkeypatch.setattr(own_code, "LOOK_EVERY_S", 3600.0)
    code = OwnCode(package)
    (package / "inner" / "module.py").write_text("A = 1000\n")
    assert not code.is_replaced


def test_what_comes_goes_or_is_renamed_is_noticed_at_once(package, monkeypatch):
    monkeypatch.setattr(own_code, "LOOK_EVERY_S", 3600.0)
    for change in (
        lambda: (package / "inner" / "new.py").write_text(""),
        lambda: (package / "inner" / "new.py").rename(package / "inner" / "module.py"),
        (package / "inner" / "module.py").unlink,
    ):
        os.utime(package / "inner", ns=(0, 0))  # the clock of a disk ticks every few milliseconds
        code = OwnCode(package)
        change()
        assert code.is_replaced
    os.utime(package / "inner", ns=(0, 0))
    code = OwnCode(package)
    (package / "inner" / "__pycache__").mkdir()
    assert not code.is_replaced


def test_it_is_replaced_as_a_whole_once_nothing_changes_any_more(package):
    code = OwnCode(package)
    assert not code.is_replaced_whole
    os.utime(package, ns=(0, 0))
    code = OwnCode(package)
    for name in ("a.py", "b.py"):
        (package / name).write_text("")
        assert not code.is_replaced_whole
    assert code.is_replaced_whole
    assert code.is_replaced_whole
