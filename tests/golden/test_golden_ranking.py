"""The order of hits for the questions in `questions.txt`, as written down in `expected/`.

A change of ranking shows there, in review. Where one is meant, `pytest tests/golden --write-golden`
writes what is found now; whether it is better is for `benchmarks/retrieval.py` to say.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from memory_sidecar.agents.services import Services
from memory_sidecar.code.model import CodeQuery
from memory_sidecar.core.errors import ModelMissing
from memory_sidecar.core.model import SearchMode
from memory_sidecar.core.paths import DataDir
from memory_sidecar.core.results import Silent
from memory_sidecar.core.settings import Settings
from memory_sidecar.embedding.models import Models
from memory_sidecar.embedding.supply import ModelFiles
from memory_sidecar.memories.handlers import Memories
from memory_sidecar.memories.model import MemoryQuery
from tests.conftest import STATIC

HERE = Path(__file__).parent
AGENT = "architect"
HITS = 3  # what comes further down is as good one way as the other

Ask = Callable[[str], list[str]]


def questions() -> list[tuple[str, str]]:
    """What is asked, and of what: `code` or `memories`."""
    lines = (HERE / "questions.txt").read_text("utf-8").splitlines()
    asked = (line.partition(": ") for line in lines if not line.startswith("#"))
    return [(corpus, question) for corpus, _, question in asked]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    """Both corpora, indexed by the real model."""
    folder = tmp_path_factory.mktemp("golden")
    shutil.copytree(HERE / "code", folder / "code")
    shutil.copytree(HERE / "memories", folder / "data" / "knowledge" / AGENT)
    services = Services(DataDir(folder / "data"), Settings())
    services.codebase().index([folder / "code"], reporter=Silent())
    yield services
    services.close()


def found_in(services: Services, mode: SearchMode) -> str:
    """Every question with its hits, best first, as the files in `expected/` have it."""

    def code(question: str) -> list[str]:
        query = CodeQuery(question, mode=mode, top_k=HITS)
        hits = services.codebase().search(query, reporter=Silent())
        return [f"{hit.filename}:{hit.location}" for hit in hits]

    def memories(question: str) -> list[str]:
        query = MemoryQuery(text=question, mode=mode, top_k=HITS)
        return [hit.path for hit in Memories(services.agent(AGENT), Silent()).query(query)]

    asked: dict[str, Ask] = {"code": code, "memories": memories}
    blocks = []
    for corpus, question in questions():
        hits = asked[corpus](question) or ["nothing"]
        blocks.append("\n  ".join([f"{corpus}: {question}", *hits]) + "\n")
    return "\n".join(blocks)


def require_as_written(found: str, name: str, *, is_to_be_written: bool) -> None:
    file = HERE / "expected" / f"{name}.txt"
    if is_to_be_written:
        file.write_text(found, "utf-8")
    assert found == file.read_text("utf-8")


@pytest.mark.parametrize("mode", [SearchMode.KEYWORD, SearchMode.HYBRID])
def test_hits_come_in_the_order_that_is_written_down(data, mode, pytestconfig):
    is_to_be_written = pytestconfig.getoption("--write-golden")
    require_as_written(found_in(data, mode), mode.value, is_to_be_written=is_to_be_written)


@pytest.mark.skipif(STATIC is None, reason="no table of token vectors for this machine")
def test_hits_without_a_model_come_in_the_order_that_is_written_down(
    data, monkeypatch, pytestconfig
):
    """By words and static vectors, as in the first seconds of a first index."""

    def missing(_: Models) -> ModelFiles:
        raise ModelMissing("no model here", hint="get one")

    monkeypatch.setattr(Models, "files", property(missing))
    is_to_be_written = pytestconfig.getoption("--write-golden")
    found = found_in(data, SearchMode.HYBRID)
    require_as_written(found, "static", is_to_be_written=is_to_be_written)
