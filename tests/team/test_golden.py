"""The order of hits in a team's database is the one that is written down for SQLite."""

from __future__ import annotations

import shutil

import pytest

from memory_sidecar.agents.services import Services
from memory_sidecar.code.model import CodeQuery
from memory_sidecar.core.model import SearchMode
from memory_sidecar.core.paths import DataDir
from memory_sidecar.core.results import Silent
from memory_sidecar.core.settings import Settings
from tests.golden.test_golden_ranking import HERE, HITS, questions


@pytest.fixture
def team(tmp_path, database):
    root = tmp_path / "code"
    shutil.copytree(HERE / "code", root)
    (root / ".git").mkdir()
    (root / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (root / ".git" / "config").write_text('[remote "origin"]\n\turl = https://git.example/code\n')
    services = Services(DataDir(tmp_path / "data"), Settings(database=database))
    services.codebase().index([root], reporter=Silent())
    yield services
    services.close()


def test_hits_come_in_the_order_of_sqlite(team):
    with team.codebase().data.open().reading() as connection:
        assert connection.execute("SELECT count(*) FROM code_chunks").get == 0
    for mode in (SearchMode.KEYWORD, SearchMode.HYBRID):
        blocks = []
        for corpus, question in questions():
            if corpus == "code":
                query = CodeQuery(question, mode=mode, top_k=HITS)
                hits = team.codebase().search(query, reporter=Silent())
                found = [f"{hit.filename}:{hit.location}" for hit in hits] or ["nothing"]
                blocks.append("\n  ".join([f"code: {question}", *found]) + "\n")
        written = (HERE / "expected" / f"{mode.value}.txt").read_text("utf-8")
        expected = [block for block in written.split("\n\n") if block.startswith("code: ")]
        assert [block.strip() for block in blocks] == [block.strip() for block in expected]
