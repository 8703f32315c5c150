from __future__ import annotations

import sys

import pytest

from memory_sidecar.code.why import no_source_error, project_around
from memory_sidecar.core.errors import ModelMissing
from memory_sidecar.core.settings import Settings
from memory_sidecar.embedding.supply import find_model


@pytest.mark.skipif(sys.platform == "win32", reason="no users by number")
def test_a_user_whom_the_system_does_not_know_is_answered(tmp_path, monkeypatch):
    import pwd

    def unknown(number):
        raise KeyError(number)

    monkeypatch.delenv("HOME")
    monkeypatch.setattr(pwd, "getpwuid", unknown)  # as in a container run as `--user 12345`
    (tmp_path / ".git").mkdir()
    assert project_around(tmp_path) == tmp_path
    assert no_source_error(tmp_path, []).hint == "`memory-sidecar index .` indexes it"
    with pytest.raises(ModelMissing, match="model"):
        find_model(Settings(model_dir="~/model"))
