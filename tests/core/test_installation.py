"""What is told of installing and uninstalling is what works where the program was installed."""

from __future__ import annotations

import sys

import pytest

from memory_sidecar.core.installation import install_command, uninstall_command


@pytest.mark.parametrize(
    ("left", "install", "uninstall"),
    [
        (
            "pyvenv.cfg",
            "'{}/bin/python' -m pip install apsw",
            "'{}/bin/python' -m pip uninstall memory-sidecar",
        ),
        (
            "pipx_metadata.json",
            "pipx runpip memory-sidecar install apsw",
            "pipx uninstall memory-sidecar",
        ),
        (
            "uv-receipt.toml",
            "uv pip install --python '{}' apsw",
            "uv tool uninstall memory-sidecar",
        ),
    ],
)
def test_commands_are_those_of_the_installer(left, install, uninstall, monkeypatch, tmp_path):
    prefix = tmp_path / "an environment"
    prefix.mkdir()
    (prefix / left).touch()
    monkeypatch.setattr(sys, "prefix", str(prefix))
    monkeypatch.setattr(sys, "executable", f"{prefix}/bin/python")
    assert install_command("apsw") == install.format(prefix)
    assert uninstall_command() == uninstall.format(prefix)
