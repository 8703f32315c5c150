"""The cross-encoder tells an answer from what only sounds alike, and always the same way."""

from __future__ import annotations

import pytest

from memory_sidecar.core.errors import ModelCorrupt
from memory_sidecar.embedding.embedder import MAX_CHARACTERS, QueryGate, Reranker
from memory_sidecar.embedding.supply import RERANKER, ModelFiles, find_reranker

QUESTION = "Which port does the server listen on?"
TEXTS = ["The server listens on port 8080.", "Ports are ships' homes.", "日本語 \ud800 🎉", ""]


@pytest.fixture(scope="module")
def reranker():
    files = find_reranker()
    assert files is not None
    return Reranker(files, gate=QueryGate())


def anew(reranker: Reranker) -> Reranker:
    """One with the same model, which has judged nothing yet."""
    return Reranker(reranker.files, gate=QueryGate())


def test_an_answer_is_judged_best(reranker):
    judged = reranker.judge(QUESTION, TEXTS)
    assert max(judged) == judged[0]
    assert judged[0] > 0 > judged[1]


def test_a_judgement_does_not_depend_on_what_else_is_judged(reranker):
    together = anew(reranker).judge(QUESTION, TEXTS)
    assert [reranker.judge(QUESTION, [text])[0] for text in TEXTS] == together


def test_a_pair_that_was_judged_needs_no_model(reranker):
    before = reranker.judge(QUESTION, TEXTS)
    reranker.unload()
    assert reranker.judge(QUESTION, TEXTS) == before
    assert not reranker.is_loaded


def test_what_lies_beyond_the_characters_that_a_model_sees_is_not_read(reranker):
    """A pasted log of 2 MB took 2 s: the tokenizer read all of it once for each text."""
    beyond = " " * MAX_CHARACTERS + "ships"
    assert reranker.judge(QUESTION + beyond, [TEXTS[0] + beyond]) == anew(reranker).judge(
        QUESTION, TEXTS[:1]
    )


def test_it_loads_again_after_it_was_unloaded(reranker):
    unjudged = ["It listens, once more."]
    before = anew(reranker).judge(QUESTION, unjudged)
    reranker.load()
    reranker.unload()
    assert not reranker.is_loaded
    assert reranker.judge(QUESTION, unjudged) == before
    assert reranker.is_loaded


def test_passages_wait_while_it_judges():
    files = find_reranker()
    assert files is not None
    waited = []

    class Gate(QueryGate):
        def query(self):
            waited.append(True)
            return super().query()

    Reranker(files, gate=Gate()).judge(QUESTION, TEXTS[:1])
    assert waited == [True]


def test_none_is_found_where_there_is_none(tmp_path):
    environ = {"FASTEMBED_CACHE_PATH": str(tmp_path)}
    assert find_reranker(environ=environ, package_path=[str(tmp_path)]) is None


def test_files_that_make_no_model_are_named(tmp_path):
    (tmp_path / "model.onnx").write_bytes(b"nothing")
    files = ModelFiles(RERANKER, tmp_path, "package", "model.onnx", "")
    with pytest.raises(ModelCorrupt, match=r"model\.onnx"):
        Reranker(files, gate=QueryGate()).load()
