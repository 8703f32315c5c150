"""A dense-context root on the page: the same as `context refs` and `context check`, and drawn."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import pytest

from memory_sidecar.context.atoms import AtomDraft
from memory_sidecar.context.handlers import Context, init
from memory_sidecar.context.layout import Root
from memory_sidecar.context.results import AtomUse
from memory_sidecar.core.credentials import mask_document
from memory_sidecar.core.results import Silent, to_builtins
from memory_sidecar.disk.atoms import AtomKind
from memory_sidecar.web.context import show
from memory_sidecar.web.graph import MOST, draw
from memory_sidecar.web.visit import Visit
from tests.web.conftest import SCRIPT, Served
from tests.web.test_memories import Pieces

TOKEN = "ghp_" + "a1B2" * 9


@pytest.fixture(scope="module", autouse=True)
def root(served: Served, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("roots") / "context"
    init(root, project="shop")
    context = _context(served, root)
    project = context.root.project("shop")
    experiment = context.new(project, AtomKind.EXPERIMENT, AtomDraft(summary=f"Tried {SCRIPT}"))
    fact = AtomDraft(summary="Carts are emptied", evidence=[experiment.id])
    context.new(project, AtomKind.KNOWLEDGE, fact)
    context.new(project, AtomKind.EXPERIMENT, AtomDraft(summary="Linked to nothing"))
    kept = AtomDraft(summary=f"The token is {TOKEN}")
    context.new(project, AtomKind.EXPERIMENT, kept, allow_secrets=True)
    served.set(context_root=str(root))
    return root


def _context(served: Served, root: Path) -> Context:
    return Context(Root(root), embed_with=lambda: served.services.models.embed)


def test_an_index_of_many_atoms_is_shown_in_short(reader, root):
    (index,) = root.glob("projects/shop/experiments/index.md")
    before = index.read_text("utf-8")
    index.write_text(before + "\nOne more atom.\n" * 10_000, "utf-8")
    text = reader.get("/context?project=shop").text
    index.write_text(before, "utf-8")
    assert "One more atom." in text
    assert len(text) < 100_000


def test_atoms_and_findings_are_those_of_the_commands(served, reader, root):
    shown = reader.get("/context?project=shop&merge=1&json=1").json
    context = _context(served, root)
    used = mask_document(context.list_uses(context.root.projects()))
    assert shown["atoms"] == to_builtins(used)
    assert shown["findings"]
    assert {each["file"] for each in shown["findings"]} >= {"projects/shop/experiments/index.md"}
    text = reader.get("/context?project=shop").text
    assert Pieces(text.replace("vscode:", "/")).found == []
    assert "&lt;script&gt;" in text
    assert "The token is" in text
    assert TOKEN not in text
    assert text.count("<rect") == 2  # what is linked to nothing is not drawn
    only = reader.get("/context?kind=knowledge").text
    assert "Carts are emptied" in only
    assert "Linked to nothing" not in only
    for wrong in ("root=/etc", "project=none", f"root={quote(SCRIPT)}"):
        assert reader.get(f"/context?{wrong}").status == 404


def test_an_atom_is_told_and_shown_at_once(served, reader, root):
    before = reader.get("/context?json=1").json["atoms"]
    assert reader.get("/context?json=1").json["atoms"] == before
    context = _context(served, root)
    draft = AtomDraft(summary="Told while it is looked at")
    project = context.root.project("shop")
    reader.await_change("/context", lambda: context.new(project, AtomKind.EXPERIMENT, draft))
    after = {each["summary"] for each in reader.get("/context?json=1").json["atoms"]}
    assert after - {each["summary"] for each in before} == {"Told while it is looked at"}


def test_mending_does_what_is_safe(served, reader, root):
    reader.post("/context/fix", {"root": "", "project": "shop"})
    assert "and rewrote the indexes" in reader.get("/context").text
    shown = reader.get("/context?project=shop").text
    assert "Carts are emptied" in shown
    assert TOKEN not in shown
    assert (root / "projects" / "shop" / "knowledge" / "index.md").exists()


def test_a_root_of_another_agent_is_not_to_be_seen(served, reader, root, tmp_path):
    other = tmp_path / "other"
    init(other, project="secret")
    served.store("One", agent="builder")
    served.services.agent("builder").register(other)
    assert other.as_posix() in reader.get("/context?json=1").json["roots"]
    seen = reader.get("/context?as=architect&json=1").json["roots"]
    assert seen == [root.as_posix()]
    assert reader.get(f"/context?as=architect&root={quote(str(other))}").status == 404
    served.services.agent("builder").remove("other", reporter=Silent())


def test_the_root_is_the_one_that_is_set_now_and_without_one_it_says_how_to_have_it(
    served, reader, root
):
    served.set()
    told = reader.get("/context").text
    assert "is shown where the setting" in told
    assert "<code>memory-sidecar context init ROOT</code> makes one" in told
    served.set(context_root=str(root))
    assert reader.get("/context?json=1").json["roots"] == [root.as_posix()]


def use(name: str, kind: str, basis: list[str]) -> AtomUse:
    return AtomUse(
        "p", name, kind, "A summary of it", "", "active", 0, None, False, False, "", basis
    )


def test_a_graph_is_drawn_of_what_is_linked_and_can_be_taken_in():
    atoms = [
        use("PAT-1", "pattern", ["p/EXP-1"]),
        use("K-1", "knowledge", ["p/EXP-1", "p/gone"]),
        use("K-2", "knowledge", ["p/EXP-2"]),
        use("EXP-1", "experiment", []),
        use("EXP-2", "experiment", ["p/EXP-1"]),
        use("EXP-3", "experiment", []),
    ]
    everything = draw(atoms)
    assert everything is not None
    assert [node.atom.id for node in everything.nodes] == ["PAT-1", "K-1", "K-2", "EXP-1", "EXP-2"]
    assert len(everything.lines) == 4
    around = draw(atoms, "p/K-2")
    assert around is not None
    assert {node.atom.id for node in around.nodes} == {"K-2", "EXP-2", "EXP-1"}
    assert draw(atoms, "p/EXP-3") is None
    many = [use(f"K-{n}", "knowledge", ["p/EXP-1"]) for n in range(MOST)]
    assert draw([*many, atoms[3]]) is None


def test_around_an_atom_no_line_leads_to_what_is_not_drawn():
    atoms = [
        use("K-1", "knowledge", ["p/EXP-1", "p/EXP-2"]),
        use("EXP-1", "experiment", []),
        use("EXP-2", "experiment", []),
    ]
    around = draw(atoms, "p/EXP-1")
    assert around is not None
    assert [node.atom.id for node in around.nodes] == ["K-1", "EXP-1"]
    assert len(around.lines) == 1


@pytest.mark.browser
def test_a_root_in_a_browser(tab, faults_of):
    tab.get_by_role("link", name="Context").click()
    tab.wait_for_url("**/context")
    cut_off_px = "graph => graph.scrollWidth - graph.clientWidth"
    assert tab.locator(".graph .scroll").evaluate(cut_off_px) == 0
    tab.locator(".graph a", has_text="K-001").click()
    tab.wait_for_url("**atom=**")
    assert tab.locator(".graph .chosen").count() == 1
    assert faults_of(tab) == []


def test_a_root_in_the_home_of_nobody_is_none(served):
    visit = Visit(
        "/context", (), served.services, {"MEMORY_SIDECAR_CONTEXT": "~no-such-user/x"}, ""
    )
    assert "no-such-user" not in str(show(visit).data["roots"])
