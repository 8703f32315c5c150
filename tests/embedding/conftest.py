from __future__ import annotations

from pathlib import Path

import pytest

from memory_sidecar.core.settings import Settings
from memory_sidecar.embedding.embedder import Embedder
from memory_sidecar.embedding.supply import ModelFiles, find_model


@pytest.fixture(scope="session")
def model() -> ModelFiles:
    """The real model, from the installed package."""
    return find_model(Settings(), environ={})


@pytest.fixture(scope="session")
def embedder(model: ModelFiles) -> Embedder:
    return Embedder(model, threads=2)


@pytest.fixture
def copied_model(model: ModelFiles, tmp_path: Path) -> Path:
    """A folder with the model's files, linked but for the small ones, which may be changed."""
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "model.onnx").symlink_to(model.folder / "model.onnx")
    for name in ("tokenizer.json", "tokenizer_config.json", "config.json"):
        (folder / name).write_bytes((model.folder / name).read_bytes())
    return folder
