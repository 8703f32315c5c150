"""What a name may mean at all is found once for an answer, not once for each use."""

from __future__ import annotations

from collections import Counter

from memory_sidecar.code.graph import Graph
from tests.code.trees import write_tree


def test_all_uses_of_a_name_share_its_candidates(run, tmp_path, monkeypatch):
    module = "class C{n}:\n    def run(self, x):\n        x.run(1)\n        y.run(x.run)\n"
    write_tree(tmp_path, {f"m{n}.py": module.format(n=n) for n in range(30)})
    assert run("index", tmp_path, "--wait", "keyword").status == 0
    read: Counter[str] = Counter()
    defined = Graph.defined

    def counted(graph: Graph, name: str):
        read[name] += 1
        return defined(graph, name)

    monkeypatch.setattr(Graph, "defined", counted)
    assert len(run("refs", "run", "--top-k", "200", "--json", cwd=tmp_path).json) == 90
    assert read["run"] <= 2  # the definitions asked about, and what a use may mean
