"""What the real model answers, also when several ask at once."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from dataclasses import replace

import numpy as np
import pytest

from memory_sidecar.core.errors import ModelCorrupt
from memory_sidecar.core.settings import Settings
from memory_sidecar.embedding.embedder import Embedder
from memory_sidecar.embedding.supply import ModelFiles, find_model

PASSAGES = [
    "def check_csrf_token(request): ...",
    "A recipe for apple pie with cinnamon.",
    "class ConnectionPool: keeps database connections open",
    "",
    "Der Hund schläft auf dem Sofa.",
    "x" * 3_000,
]


def test_vectors_have_384_dimensions_and_length_one(embedder):
    vectors = embedder.embed_passages(PASSAGES)
    assert vectors.shape == (len(PASSAGES), 384)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    query = embedder.embed_query("where is the token checked?")
    assert query.shape == (384,)
    assert query.dtype == np.float32


def test_question_is_closest_to_the_passage_that_answers_it(embedder):
    passages = embedder.embed_passages(PASSAGES)
    for question, answer in (
        ("how do we protect against cross-site request forgery?", 0),
        ("what can I bake?", 1),
        ("where are sockets to postgres reused?", 2),
    ):
        assert int(np.argmax(passages @ embedder.embed_query(question))) == answer


def test_question_is_not_embedded_as_a_passage(embedder):
    text = "connection pool"
    passage = embedder.embed_passages([text])[0]
    query = embedder.embed_query(text)
    assert 0.5 < float(passage @ query) < 0.999


def test_order_is_kept_and_bits_do_not_depend_on_company(embedder):
    together = embedder.embed_passages(PASSAGES)
    alone = [embedder.embed_passages([text])[0] for text in PASSAGES]
    reversed_order = embedder.embed_passages(PASSAGES[::-1])[::-1]
    assert np.array_equal(together, np.stack(alone))
    assert np.array_equal(together, reversed_order)


def test_bits_survive_a_reload(model, embedder):
    fresh = Embedder(model, threads=1)
    assert not fresh.is_loaded
    before = fresh.embed_passages(PASSAGES[:2])
    fresh.unload()
    assert not fresh.is_loaded
    assert np.array_equal(fresh.embed_passages(PASSAGES[:2]), before)
    assert np.array_equal(embedder.embed_passages(PASSAGES[:2]), before)


def test_no_passages_give_no_vectors(embedder):
    assert embedder.embed_passages([]).shape == (0, 384)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  \n\t ",
        "\0",
        "a\0b",
        "\ud800",
        "caf\udce9",
        "\u202e\ufeff",
        "🧠" * 700,
        "日本語" * 900,
    ],
)
def test_any_text_has_a_vector(embedder, text):
    vectors = [embedder.embed_query(text), embedder.embed_passages([text])[0]]
    assert np.isfinite(vectors).all()
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)


def test_text_behind_the_models_window_changes_nothing(embedder):
    start = "the quick brown fox jumps over the lazy dog " * 200
    huge = start + "and something else entirely " * 40_000
    assert len(huge) > 1_000_000
    assert np.array_equal(*embedder.embed_passages([start, huge]))


def test_callers_in_many_threads_get_their_own_vectors(embedder):
    expected = embedder.embed_passages(PASSAGES)
    right: list[bool] = []

    def ask(index: int) -> None:
        mine = embedder.embed_passages(PASSAGES[index:] + PASSAGES[:index])
        right.append(np.array_equal(mine, np.roll(expected, -index, axis=0)))

    callers = [threading.Thread(target=ask, args=(index,)) for index in range(len(PASSAGES))]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert right == [True] * len(PASSAGES)


def test_two_callers_load_one_model(model):
    fresh = Embedder(model, threads=2)
    callers = [threading.Thread(target=fresh.embed_query, args=("hello",)) for _ in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert fresh.is_loaded


def test_query_overtakes_waiting_passages(embedder):
    finished: list[str] = []
    started = threading.Event()

    class Announcing(str):
        """A passage that tells when the embedder takes it up."""

        def __getitem__(self, key: object) -> str:
            started.set()
            return str.__getitem__(self, key)  # type: ignore[index]

    def index() -> None:
        embedder.embed_passages([Announcing("word " * 100) for _ in range(40)])
        finished.append("passages")

    indexing = threading.Thread(target=index)
    indexing.start()
    assert started.wait(timeout=60)
    embedder.embed_query("hello")
    finished.append("query")
    indexing.join()
    assert finished == ["query", "passages"]


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json", "tokenizer_config.json"])
def test_broken_file_is_one_named_error(copied_model, name):
    broken = copied_model / name
    content = broken.read_bytes()
    broken.unlink()
    broken.write_bytes(content[: len(content) // 2])
    embedder = Embedder(find_model(Settings(model_dir=str(copied_model)), environ={}))
    with pytest.raises(ModelCorrupt) as caught:
        embedder.embed_query("hello")
    assert str(copied_model) in caught.value.message
    assert "\n" not in caught.value.message
    assert "MEMORY_SIDECAR_MODEL_DIR" in caught.value.hint


def test_model_of_another_size_is_refused(model, tmp_path):
    spec = replace(model.spec, dimension=768)
    other = Embedder(ModelFiles(spec, model.folder, "configured", "model.onnx", "0" * 64))
    with pytest.raises(ModelCorrupt, match="384"):
        other.load()


def test_threads_follow_the_machine_but_never_exceed_eight(model):
    assert 1 <= Embedder(model).threads <= 8
    assert Embedder(model, threads=3).threads == 3
    assert Embedder(model, threads=100).threads == 8


def test_question_that_was_asked_before_needs_no_model(embedder):
    other = Embedder(embedder.files)
    first = other.embed_query("where is the token checked?")
    other.unload()
    assert np.array_equal(other.embed_query("where is the token checked?"), first)
    assert not other.is_loaded


def test_the_runtime_reports_nothing(tmp_path):
    """ONNX Runtime keeps what it has to report in the cache folder, until it could be sent."""
    code = (
        "from memory_sidecar.embedding.embedder import Embedder\n"
        "from memory_sidecar.embedding.supply import find_model\n"
        "from memory_sidecar.core.settings import Settings\n"
        "Embedder(find_model(Settings(), environ={})).embed_query('x')\n"
    )
    environ = {name: value for name, value in os.environ.items() if "TELEMETRY" not in name}
    subprocess.run(
        [sys.executable, "-c", code],
        env={**environ, "HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")},
        check=True,
    )
    assert list(tmp_path.rglob("*")) == []
