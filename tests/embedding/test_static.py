"""The table of token vectors, as its package brings it."""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

from memory_sidecar.core.errors import ModelCorrupt, ModelMissing, OutOfFiles
from memory_sidecar.core.settings import Settings
from memory_sidecar.embedding.models import Models
from memory_sidecar.embedding.static import STATIC_DIMENSION, WEIGHTS, StaticEmbedder, find_static

if sys.platform != "win32":
    import resource


@pytest.fixture(name="embedder", scope="module")
def an_embedder() -> StaticEmbedder:
    return StaticEmbedder(find_static())


def test_vectors_have_length_one_and_come_in_order(embedder):
    texts = ["open a file for reading", "def parse(text): return json.loads(text)", "héllo 世界"]
    vectors = embedder.embed(texts)
    assert vectors.shape == (3, STATIC_DIMENSION)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    alone = np.vstack([embedder.embed([text]) for text in texts])
    assert np.array_equal(vectors, alone)


def test_what_means_the_same_is_nearer_than_what_shares_no_meaning(embedder):
    question, near, far = embedder.embed(
        [
            "how is a connection to the database opened",
            "def connect(path): return sqlite.Connection(path)",
            "def rotate(image, degrees): return image.transpose(degrees)",
        ]
    )
    assert question @ near > question @ far + 0.1


def test_a_text_without_tokens_is_like_nothing(embedder):
    assert not embedder.embed([""]).any()
    assert embedder.embed([]).shape == (0, STATIC_DIMENSION)


def test_a_lone_surrogate_and_a_text_without_an_end_are_read(embedder):
    odd, endless = embedder.embed(["bad \udc80 name", "word " * 1_000_000])
    assert np.isfinite(odd).all()
    assert np.isfinite(endless).all()


def test_it_answers_the_same_after_its_memory_was_given_back(embedder):
    before = embedder.embed(["parse the header"])
    embedder.unload()
    assert np.array_equal(embedder.embed(["parse the header"]), before)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_of_the_table_no_more_stays_in_memory_than_was_read_last(embedder):
    embedder.embed([f"word{number} read the file" for number in range(1000)])
    _, _, mapped = Path("/proc/self/smaps").read_text("utf-8").partition(Path(WEIGHTS).name)
    resident = re.search(r"^Rss: +(\d+) kB", mapped, re.MULTILINE)
    assert resident
    assert int(resident[1]) < 1024


def test_without_the_package_it_says_what_to_install(tmp_path):
    with pytest.raises(ModelMissing) as raised:
        find_static([str(tmp_path)])
    assert "pip install" in (raised.value.hint or "")


@pytest.fixture(name="damaged")
def a_damaged_package(tmp_path: Path) -> Path:
    """A folder with a copy of the package, one of whose files was changed."""
    files = find_static()
    site = files[WEIGHTS].parents[2]
    for found in site.glob("wordllama-*.dist-info"):
        shutil.copytree(found, tmp_path / found.name)
    for file in files.values():
        copy = tmp_path / file.relative_to(site)
        copy.parent.mkdir(parents=True)
        shutil.copy(file, copy)
    assert find_static([str(tmp_path)])[WEIGHTS] == tmp_path / WEIGHTS
    with (tmp_path / WEIGHTS).open("r+b") as weights:
        weights.seek(100_000)
        weights.write(b"changed")
    return tmp_path


def test_files_that_were_changed_are_refused(damaged):
    with pytest.raises(ModelCorrupt, match="not the file"):
        find_static([str(damaged)])


def test_a_damaged_table_takes_static_vectors_away_and_nothing_else(damaged, monkeypatch, caplog):
    monkeypatch.syspath_prepend(damaged)
    models = Models(Settings(), cache=damaged / "embeddings.sqlite")
    assert models.static is None
    assert "is not the file" in caplog.text


def test_what_is_installed_while_the_daemon_runs_is_found(monkeypatch, tmp_path):
    models = Models(Settings(), cache=tmp_path / "embeddings.sqlite")
    with monkeypatch.context() as without_packages:
        without_packages.setattr(sys, "path", [str(tmp_path)])
        without_packages.setenv("FASTEMBED_CACHE_PATH", str(tmp_path))
        assert (models.static, models.reranker) == (None, None)
        assert isinstance(models.static_problem, ModelMissing)
    assert models.static_problem is None
    assert models.static is not None
    assert models.reranker is not None


def test_a_table_that_does_not_load_is_named(tmp_path):
    broken = tmp_path / "broken.safetensors"
    broken.write_bytes(b"\x08\x00\x00\x00\x00\x00\x00\x00{}      ")
    with pytest.raises(ModelCorrupt, match=r"broken\.safetensors"):
        StaticEmbedder(find_static() | {WEIGHTS: broken}).embed(["x"])


@pytest.mark.skipif(sys.platform == "win32", reason="limits this process")
@pytest.mark.parametrize("left", [0, 1, 2])
def test_a_table_for_which_no_file_may_be_opened_is_not_called_damaged(embedder, tmp_path, left):
    """Loading opens two files at a time: the table's, and the one that its map keeps."""
    files = {name: tmp_path / Path(name).name for name in embedder.files}  # which nothing has open
    for name, file in files.items():
        file.symlink_to(embedder.files[name])
    embedder.embed(["what is imported for it"])
    free = [os.open(os.devnull, os.O_RDONLY) for _ in range(left + 1)]
    for each in free:
        os.close(each)
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (free[left], limits[1]))
    try:
        StaticEmbedder(files).embed(["x"])
        assert left == 2
    except OutOfFiles:
        assert left < 2
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
