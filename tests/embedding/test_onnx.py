"""What our own runner of ONNX models gives is what FastEmbed gives, to the last bit."""

from __future__ import annotations

import json

import numpy as np
import pytest

from memory_sidecar.embedding.embedder import OnnxModel
from memory_sidecar.embedding.supply import find_reranker

TEXTS = [
    "def check_csrf_token(request): ...",
    "",
    "Der Hund schläft auf dem Sofa. 日本語 🎉",
    "the tokens [CLS] and [MASK] in a text",
    "token " * 700,  # more than the model sees
]


@pytest.fixture(scope="module")
def fastembed_model(model):
    from fastembed import TextEmbedding
    from fastembed.common.model_description import ModelSource, PoolingType

    TextEmbedding.add_custom_model(
        model="test/bge",
        pooling=PoolingType.CLS,
        normalization=True,
        sources=ModelSource(hf="test/bge"),
        dim=384,
        model_file=model.model_file,
    )
    folder = str(model.folder)
    return TextEmbedding("test/bge", specific_model_path=folder, cache_dir=folder, threads=1)


def test_vectors_are_those_of_fastembed(fastembed_model, embedder):
    for text in TEXTS:
        (expected,) = fastembed_model.embed([text])
        assert np.array_equal(embedder.embed_passages([text])[0], expected)


def test_judgements_are_those_of_fastembed():
    from fastembed.common.model_description import ModelSource
    from fastembed.rerank.cross_encoder import TextCrossEncoder

    files = find_reranker()
    assert files is not None
    TextCrossEncoder.add_custom_model(
        model="test/reranker", sources=ModelSource(hf="test/reranker"), model_file=files.model_file
    )
    folder = str(files.folder)
    theirs = TextCrossEncoder(
        "test/reranker", specific_model_path=folder, cache_dir=folder, threads=1
    )
    ours = OnnxModel(files.folder, files.model_file)
    for text in TEXTS:
        (expected,) = theirs.rerank("where is the token checked?", [text])
        assert float(ours.run("where is the token checked?", text)[0, 0]) == expected


@pytest.mark.parametrize("limit", [None, 0, 10**30])
def test_a_tokenizer_without_a_limit_is_refused(copied_model, limit):
    config = copied_model / "tokenizer_config.json"
    config.write_text(json.dumps({"model_max_length": limit}))
    with pytest.raises(ValueError, match="model_max_length"):
        OnnxModel(copied_model, "model.onnx")


def test_special_tokens_are_read_from_their_own_file_too(copied_model):
    text, name = "a [unused1] b", "special_tokens_map.json"
    before = OnnxModel(copied_model, "model.onnx").run(text)
    tokens = {"cls_token": {"content": "[CLS]"}, "additional_special_tokens": ["[unused1]"]}
    (copied_model / name).write_text(json.dumps(tokens))
    told = OnnxModel(copied_model, "model.onnx").run(text)
    assert told.shape[1] == 5 < before.shape[1]  # begin, a, the token, b, end
