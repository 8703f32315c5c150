"""Changes of many memories: shown before they are made, and taken back."""

from __future__ import annotations

import re
from html import unescape

import pytest

from memory_sidecar.core.results import Silent
from memory_sidecar.memories.draft import Changes
from memory_sidecar.memories.handlers import Memories
from tests.web.conftest import Answer, Reader


def test_many_are_changed_as_they_were_shown(served, reader):
    kept = [
        served.store(f"Bulk {number}", agent=agent, category="bulk")
        for number, agent in enumerate(("architect", "builder", "builder"))
    ]
    chosen = [("chosen", f"{each.agent} {each.hash} {each.path}") for each in kept]
    token = ("form_token", reader.form_token)
    for action, value in (("tag", "swept"), ("archive", "")):
        form = [("action", action), (action, value), token, *chosen]
        planned = reader.send("/memories/bulk", form)
        assert planned.status == 200
        assert planned.text.count("bulk/bulk-") >= 3
        assert len(reader.get("/memories?category=bulk&json=1").json["memories"]) == 3
        done = reader.send("/memories/bulk/change", form)
        assert done.status == 303
        found = reader.get("/memories?category=bulk&json=1").json["memories"]
        if action == "tag":
            assert [each["tag_list"] for each in found] == [["swept"]] * 3
            stale = [*form[:1], ("action", "archive"), *form[2:]]
            reader.send("/memories/bulk/change", stale)  # they have changed since: none is taken
            assert "stay" in reader.get("/memories").text
            chosen = [("chosen", f"{m['agent']} {m['hash']} {m['path']}") for m in found]
        else:
            assert found == []
    batch = re.search(r'name="batch" value="([^"]+)"', reader.get("/memories").text)
    assert batch is not None
    assert reader.post("/memories/restore", {"batch": batch[1]}).status == 303
    assert len(reader.get("/memories?category=bulk&json=1").json["memories"]) == 3


def _undone(reader: Reader) -> Answer:
    """Press the button that the page has after a change."""
    fields = dict(
        re.findall(
            r'name="([^"]+)" value="([^"]*)"',
            reader.get("/memories")
            .text.split('action="/memories/bulk/undo"')[1]
            .split("</form>")[0],
        )
    )
    return reader.post("/memories/bulk/undo", {name: unescape(v) for name, v in fields.items()})


@pytest.mark.parametrize(
    ("action", "value"),
    [("tag", "area:cart"), ("pin", ""), ("unpin", ""), ("move", "there/now"), ("share", "")],
)
def test_a_change_of_many_is_taken_back(served, reader, action, value):
    category = f"back-{action}"
    for number, agent in enumerate(("architect", "builder", "builder")):
        kept = served.store(f"{action} {number}", agent=agent, category=category, tags=("back",))
    if action == "unpin":
        Memories(served.services.agent("builder"), Silent()).update(kept.path, Changes(pinned=True))
    changing = 1 if action == "unpin" else 3

    def state() -> list[tuple[str, str, list[str], bool]]:
        found = reader.get("/memories?tag=back&json=1").json["memories"]
        return sorted((m["agent"], m["path"], m["tag_list"], m["pinned"]) for m in found)

    before = state()
    found = reader.get(f"/memories?category={category}&json=1").json["memories"]
    chosen = [("chosen", f"{m['agent']} {m['hash']} {m['path']}") for m in found]
    form = [("action", action), (action, value), ("form_token", reader.form_token), *chosen]
    planned = reader.send("/memories/bulk", form).text
    assert planned.count("already so") == 3 - changing
    assert reader.send("/memories/bulk/change", form).status == 303
    assert state() != before
    assert _undone(reader).status == 303
    assert state() == before
    assert f"{changing} memor" in reader.get("/memories").text


def test_memories_that_name_each_other_move_and_come_back_together(served, reader):
    first = served.store("The queue is a file", category="linked")
    second = served.store("The queue is a table", category="linked", supersedes=(first.path,))
    memories = Memories(served.services.agent("architect"), Silent())
    chosen = [
        ("chosen", f"{m.agent} {m.hash} {m.path}")
        for m in map(memories.peek, (first.path, second.path))
    ]
    form = [("action", "move"), ("move", "moved"), ("form_token", reader.form_token), *chosen]
    assert reader.send("/memories/bulk/change", form).status == 303
    folder = served.services.agent("architect").paths.memories
    old = folder / "moved" / "the-queue-is-a-file.md"
    assert "superseded_by: moved/the-queue-is-a-table.md" in old.read_text()
    assert _undone(reader).status == 303
    assert f"superseded_by: {second.path}" in (folder / first.path).read_text()
    assert "2 memories" in reader.get("/memories").text


def test_what_was_moved_and_then_edited_is_not_moved_back(served, reader):
    kept = served.store("Moved and edited", category="from-here")
    chosen = ("chosen", f"{kept.agent} {kept.hash} {kept.path}")
    form = [("action", "move"), ("move", "to-there"), ("form_token", reader.form_token), chosen]
    assert reader.send("/memories/bulk/change", form).status == 303
    memories = Memories(served.services.agent(kept.agent), Silent())
    moved = memories.update("to-there/moved-and-edited", Changes(content="Edited since"))
    assert _undone(reader).status == 303
    assert "changed in the meantime" in reader.get("/memories").text
    assert memories.peek(moved.path).content == "Edited since"


def test_what_would_take_other_tags_back_is_refused(served, reader):
    kept = served.store("Tagged", category="colon", tags=("area:ci",))
    chosen = ("chosen", f"{kept.agent} {kept.hash} {kept.path}")
    form = [("action", "tag"), ("tag", "area:"), ("form_token", reader.form_token), chosen]
    assert reader.send("/memories/bulk/change", form).status == 400
    form[1] = ("tag", "#area:ci")
    assert "already so" in reader.send("/memories/bulk", form).text


def test_a_plan_that_cannot_be_carried_out_leads_back(served, reader):
    kept = served.store("Not to be moved", category="bulk-refused")
    form = {"chosen": f"{kept.agent} {kept.hash} {kept.path}", "to": "/memories?q=moved&page=2"}
    for action, value, why in (("move", "../x", "leaves its root"), ("tag", "", "Fill in")):
        refused = reader.post("/memories/bulk", {"action": action, action: value} | form)
        assert refused.status == 400
        assert why in refused.text
        assert '<a href="/memories?q=moved&amp;page=2" data-row>Memories</a>' in refused.text


@pytest.mark.browser
def test_enter_in_a_field_does_what_the_button_beside_it_does(served, tab):
    served.store("Press Enter", category="entered")
    tab.goto(tab.url + "?category=entered")
    tab.get_by_label("Select Press Enter").check()
    tab.get_by_label("Select Press Enter").press("Enter")
    tab.get_by_label("Category to move to").fill("entered/deeper")
    tab.get_by_label("Category to move to").press("Enter")
    tab.get_by_role("heading", name="Move 1 memory: entered/deeper?").wait_for()


@pytest.mark.browser
def test_how_many_are_selected_is_told(served, tab):
    for name in ("One", "Two"):
        served.store(f"{name} to count", category="counted")
    tab.goto(tab.url + "?category=counted")
    tab.get_by_label("Select One to count").check()
    tab.get_by_text("1 selected").wait_for()
    tab.get_by_label("select all").check()
    tab.get_by_text("2 selected").wait_for()
    tab.get_by_label("Select Two to count").uncheck()
    tab.get_by_text("1 selected").wait_for()
    assert not tab.get_by_label("select all").is_checked()


@pytest.mark.browser
def test_what_was_typed_stays_when_seen_as_an_agent_and_after_a_change_of_many(served, tab):
    served.store("Typed and then looked at", category="typed")
    tab.goto(tab.url + "?category=typed")
    tab.fill("#q", "looked at")
    tab.wait_for_url("**q=looked**")
    tab.get_by_label("Select Typed").check()
    tab.get_by_role("button", name="Archive").click()
    tab.get_by_role("link", name="Cancel").click()
    tab.wait_for_url("**q=looked+at**")
    tab.fill("#q", "typed")
    tab.wait_for_url("**q=typed**")
    tab.get_by_label("View as").select_option("architect")
    tab.wait_for_url("**as=architect**")
    assert tab.input_value("#q") == "typed"


def test_of_many_those_that_are_gone_keep_no_other_from_the_archive(served, reader):
    kept = [served.store(f"Goes {number}", category="goes") for number in range(2)]
    chosen = [("chosen", f"{each.agent} {each.hash} {each.path}") for each in kept]
    Memories(served.services.agent("architect"), Silent()).remove(kept[0].path)
    form = [("action", "archive"), ("form_token", reader.form_token), *chosen]
    assert reader.send("/memories/bulk/change", form).status == 303
    assert reader.get("/memories?category=goes&json=1").json["memories"] == []
    assert "1 changed in the meantime" in reader.get("/memories").text
