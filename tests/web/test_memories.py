"""Memories on the page: what is stored is shown, and is text."""

from __future__ import annotations

import html
import re
import threading
from dataclasses import replace
from html.parser import HTMLParser
from urllib.parse import quote, urlencode

import pytest

from memory_sidecar.core.results import Silent
from memory_sidecar.memories.draft import Changes, Draft
from memory_sidecar.memories.handlers import Memories
from memory_sidecar.memories.results import Remembered
from memory_sidecar.web.memory import MAX_LINKS
from tests.conftest import write_memory
from tests.waiting import eventually
from tests.web.conftest import SCRIPT


class Pieces(HTMLParser):
    """What in a page could run or load something."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            address = (value or "").strip().lower()
            is_ours = not address or address.startswith(("/", "#"))
            if name.startswith("on") or (name in ("src", "action", "srcdoc") and not is_ours):
                self.found.append(f"{tag} {name}={value}")
            if name == "href" and address.startswith(("javascript:", "data:", "vbscript:")):
                self.found.append(f"{tag} {name}={value}")
        if tag == "script" and not dict(attrs).get("src"):
            self.found.append(tag)


def test_a_memory_that_says_nothing_is_called_by_its_path(served, reader):
    agent = served.services.agent("silent")
    write_memory(agent.paths.memories, "blank/nothing.md", "")
    agent.index_written(["blank/nothing.md"], reporter=Silent())
    shown = reader.get("/memories/one?agent=silent&path=blank/nothing.md").text
    assert '<h1 id="called">blank/nothing.md</h1>' in shown
    assert 'aria-label="Select blank/nothing.md"' in reader.get("/memories?agent=silent").text


def test_an_agent_that_cannot_be_read_is_not_said_to_have_no_memories(served, reader):
    paths = served.services.data_dir.agent("unread")
    write_memory(served.services.data_dir.root / "knowledge" / "unread", "pit/a.md", "Unread")
    paths.db.write_text("not a database of ours\n" * 100)
    for view in ("/memories?agent=unread", "/memories?as=unread"):
        shown = reader.get(view).text
        assert "without unread: " in shown
        assert "No memor" not in shown
    paths.db.unlink()


def test_what_is_stored_is_text(served, reader):
    content = f"""# {SCRIPT}

[a link](javascript:alert(1)) [another](data:text/html,x) ![a picture](http://elsewhere.example/x.png)
<iframe srcdoc="x"></iframe> \u202e turned around

| {SCRIPT} |
|---|
"""
    kept = served.store(
        content, summary=f"Runs {SCRIPT}", tags=(SCRIPT,), source=SCRIPT, project=SCRIPT
    )
    for path in ("/memories", f"/memories/one?agent={kept.agent}&path={kept.path}"):
        answer = reader.get(path)
        assert "&lt;script&gt;" in answer.text
        assert Pieces(answer.text).found == []
        assert "\u202e" not in answer.text
    nowhere = reader.get(f"/memories/one?agent={quote(SCRIPT)}&path={quote(SCRIPT)}")
    assert nowhere.status == 404
    assert Pieces(nowhere.text).found == []


def one(kept: Remembered, path: str = "one", **words: str) -> str:
    named = {"agent": kept.agent, "path": kept.path} | words
    return f"/memories/{path}?{urlencode(named)}"


def its(kept: Remembered, **fields: str) -> dict[str, str]:
    return {"agent": kept.agent, "path": kept.path, "hash": kept.hash} | fields


def test_facets_count_what_their_links_lead_to(served, reader):
    served.store("Shelves are numbered", category="places/shelf", tags=("depot",))
    served.store("Boxes have no number", category="places/box", tags=("depot", "box"))
    served.store("Boxes are shared", agent="shared", category="places/box", tags=("depot",))
    facets = reader.get("/memories?tag=depot&json=1").json["facets"]
    assert facets["memories"] == 3
    for name in ("agent", "category", "tag", "age", "strength"):
        assert facets[name], name
        for each in facets[name]:
            wanted = urlencode([("tag", "depot"), (name, each["value"])])
            narrowed = reader.get(f"/memories?{wanted}&json=1").json
            if name != "tag":  # of tags any counts
                assert len(narrowed["memories"]) == each["memories"], (name, each)
    assert {each["value"]: each["memories"] for each in facets["category"]} == {
        "places": 3,
        "places/box": 2,
        "places/shelf": 1,
    }


def test_what_was_superseded_is_counted_and_found_as_that(served, reader):
    old = served.store("Use files for queues", category="queues")
    served.store("Use tables for queues", category="queues", supersedes=(old.path,))
    status = reader.get("/memories?category=queues&outdated=1&json=1").json["facets"]["status"]
    assert status == [{"value": "superseded", "memories": 1}]
    found = reader.get("/memories?category=queues&outdated=1&status=superseded&json=1").json
    assert [each["path"] for each in found["memories"]] == [old.path]
    assert found["facets"]["memories"] == 1


def test_what_is_outdated_is_marked_so_whatever_its_own_status(served, reader):
    old = served.store("Old way of naming ships", category="ships")
    served.store("New way of naming ships", category="ships", supersedes=(old.path,))
    late = served.store("Until yesterday ships had numbers", category="ships", expires_at=1)
    memories = Memories(served.services.agent(old.agent), Silent())
    for each in (old, late):
        memories.update(each.path, Changes(status="proven"))
    listed = reader.get("/memories?category=ships&outdated=1").text
    for each, mark in ((old, "superseded"), (late, "expired")):
        marked = f'<span class="warn">{mark}</span>'
        assert listed.count(marked) == 1
        shown = reader.get("/memories/one?" + urlencode({"agent": each.agent, "path": each.path}))
        assert f'<dt>outdated</dt><dd class="warn">{mark}</dd>' in shown.text
    assert '<span class="warn">proven</span>' not in listed


def test_a_secret_is_masked_in_the_title_and_the_facets_too(served, reader):
    token = "ghp_" + "x7" * 18
    memories = Memories(served.services.agent("architect"), Silent())
    kept = memories.store(
        Draft(content=f"The token is {token}", category="leak", tags=(token,)), allow_secrets=True
    )
    page = reader.get(one(kept)).text
    title, *_ = re.findall("<title>(.*?)</title>", page)
    assert "token" in title.lower()
    assert token not in page + reader.get("/memories").text


def test_a_secret_that_is_typed_is_refused_and_what_stores_it_is_a_command(served, reader):
    kept = served.store("No secret", category="leak")
    fields = its(kept, content="The token is ghp_" + "x7" * 18, summary="", tags="", status="")
    refused = reader.post("/memories/save", fields)
    assert (refused.status, "by a command with --allow-secrets" in refused.text) == (400, True)


def test_a_part_of_the_page_leaves_what_is_told_to_the_next_view(served, reader):
    kept = served.store("Told once", category="told")
    fields = its(kept, content="Told once more", summary="", tags="", status="")
    assert reader.post("/memories/save", fields).status == 303
    assert "Saved" not in reader.get("/memories", HX_Request="true").text
    assert "Saved" in reader.get("/memories").text
    assert "Saved" not in reader.get("/memories").text


def test_a_tag_with_a_comma_stays_one(served, reader):
    kept = served.store("Commas", category="commas", tags=("x,y", "z"))
    fields = its(kept, content="Commas", summary="", tags="x,y, z, more", status="")
    assert reader.post("/memories/save", fields).status == 303
    assert reader.get(one(kept) + "&json=1").json["memory"]["tag_list"] == ["x,y", "z", "more"]


def test_a_question_that_nothing_answers_is_told_so(served, reader):
    served.store("The till opens at nine", category="opening")
    weak = "Only weak matches"
    assert weak in reader.get("/memories?q=zebras+in+quantum+soup&category=opening").text
    assert weak not in reader.get("/memories?q=when+does+the+till+open&category=opening").text


def test_a_list_pages_through_several_agents(served, reader):
    for name in ("architect", "shared"):
        agent = served.services.agent(name)
        files = [f"pages/number-{number}.md" for number in range(30)]
        for file in files:
            write_memory(agent.paths.memories, file)
        agent.index_written(files, reporter=Silent())
    pages = [reader.get(f"/memories?category=pages&page={page}&json=1").json for page in (1, 2)]
    assert [(len(page["memories"]), page["more"]) for page in pages] == [(50, True), (10, False)]
    paths = {(each["agent"], each["path"]) for page in pages for each in page["memories"]}
    assert len(paths) == 60
    assert 'rel="next"' in reader.get("/memories?category=pages").text


def test_a_list_can_be_sorted_by_reads(served, reader):
    kept = served.store("Read me", category="readers")
    Memories(served.services.agent(kept.agent), Silent()).get(kept.path)
    served.store("Not me", category="readers")
    address = "/memories?category=readers&sort=reads"
    found = reader.get(f"{address}&json=1").json["memories"]
    assert [each["path"] for each in found] == [kept.path, "readers/not-me.md"]
    page = reader.get(address)
    assert 'aria-current="true">reads</a>' in page.text
    assert "1 read " in page.text


def test_of_very_many_links_some_are_shown_and_all_counted(served, reader):
    named = tuple(f"src/part{number}.py" for number in range(MAX_LINKS + 20))
    hub = served.store("The hub of all parts", links=named)
    shown = reader.get(one(hub)).text
    assert shown.count("and 20 more") == 1
    assert shown.count("src/part") == MAX_LINKS


def test_what_replaced_what_stands_beside(served, reader):
    oldest = served.store("The port is 80", category="ports")
    older = served.store("The port is 8080", category="ports", supersedes=(oldest.path,))
    newest = served.store(
        "The port is 9090", category="ports", supersedes=(older.path,), evidence=("session:s1",)
    )
    around = reader.get(one(newest) + "&json=1").json["around"]
    assert [each["name"] for each in around["older"]] == [older.path, oldest.path]
    assert [each["title"] for each in around["older"]] == ["The port is 8080", "The port is 80"]
    around = reader.get(one(oldest) + "&json=1").json["around"]
    assert [each["name"] for each in around["newer"]] == [older.path, newest.path]
    assert "session:s1" in reader.get(one(newest)).text
    lone = served.store("The port is 1", category="ports")
    agent = served.services.agent(lone.agent)
    file = agent.paths.memories / lone.path
    file.write_text(file.read_text().replace("---\n", "---\nsuperseded_by: no/x\n", 1))
    agent.index_written([lone.path], reporter=Silent())
    shown = " ".join(reader.get(one(lone)).text.split())
    assert '<span class="mono">no/x.md</span> <span class="meta">is not there</span>' in shown


def test_a_change_that_comes_too_late_shows_both(served, reader):
    kept = served.store("The lock is a file", category="locks", tags=("old", "both"))
    fields = its(kept, content="The lock is a row", summary="", tags="both, new", status="")
    assert reader.post("/memories/save", fields).status == 303
    late = reader.post("/memories/save", fields | {"content": "The lock is a port"})
    assert late.status == 409
    assert "The lock is a row" in late.text
    assert "The lock is a port" in late.text
    now = reader.get(one(kept) + "&json=1").json["memory"]
    assert (now["content"].strip(), now["tag_list"]) == ("The lock is a row", ["both", "new"])
    assert reader.post("/memories/save", fields | {"hash": now["hash"]}).status == 303


def test_a_save_that_is_refused_leaves_its_form_as_it_was_filled_in(served, reader):
    kept = served.store("The queue is a list", category="queues", tags=("old",))
    other = served.store("The queue is a tree", category="queues")
    token = "ghp_" + "x7" * 18
    written = {
        "content": "\n  The <b>queue</b> is\n a heap ",
        "summary": 'A "heap"',
        "tags": "a, b",
    }
    fields = its(kept, **written, status="", supersedes=other.path)
    for changes, status, problem in (
        ({"supersedes": "queues/none.md"}, 404, "no memory"),
        ({"tags": token}, 400, "secret"),
        ({"path": "queues/gone.md"}, 404, "no memory"),
        ({"agent": "stranger"}, 404, "to see"),
        ({"form_token": "of another day"}, 403, "load the page again"),
    ):
        filled = {"form_token": reader.form_token} | fields | changes
        refused = reader.send("/memories/save", filled)
        assert refused.status == status, refused.text
        (told,) = re.findall('role="alert">Not saved: (.*?)</p>', refused.text)
        assert problem in told
        form = html.unescape(refused.text.partition('action="/memories/save"')[2])
        assert f">\n{filled['content']}</textarea>" in form
        for name in ("summary", "tags", "status", "path", "agent", "hash", "supersedes"):
            assert re.search(f'name="{name}" value="{re.escape(filled[name])}"', form), name
        assert 'class="as"' not in refused.text  # which would put all of it into an address
        assert "&amp;content=" not in refused.text
        assert f'value="{reader.form_token}"' in form
    now = reader.get(one(kept) + "&json=1").json["memory"]
    assert (now["content"].strip(), now["tag_list"]) == ("The queue is a list", ["old"])
    assert reader.post("/memories/save", fields | {"supersedes": ""}).status == 303


@pytest.mark.parametrize(
    "text", ["\u2067\u05d0\u05d1\u2069 b", "A\u2028B \U000e0067", " \x0c\x1b[1m\x85"]
)
def test_a_form_that_is_sent_back_as_it_came_changes_nothing(served, reader, text):
    kept = served.store(f"Turned around: {text}", summary=f"Summary {text} end")
    shown = reader.get(f"/memories/edit?{urlencode({'agent': kept.agent, 'path': kept.path})}").text
    form = html.unescape(shown.partition('action="/memories/save"')[2])
    content = form.partition("<textarea")[2].partition(">\n")[2].partition("</textarea>")[0]
    summary = form.partition('name="summary" value="')[2].partition('">')[0]
    assert text.strip() in content
    fields = its(kept, content=content, summary=summary, tags="", status="", supersedes="")
    assert reader.post("/memories/save", fields).status == 303
    assert "Nothing was to be changed" in reader.get("/memories").text


def test_a_form_leaves_alone_what_it_shows_in_other_letters(served, reader):
    kept = served.store("Lines of a summary", summary="old")
    agent = served.services.agent(kept.agent)
    file = agent.paths.memories / kept.path
    text = "---\nsummary: |\n  Two\n  lines\nstatus: In Progress\n---\nLines of a summary\n"
    file.write_text(text)
    agent.index_written([kept.path], reporter=Silent())
    shown = reader.get(one(kept) + "&json=1").json["memory"]
    form = reader.get(f"/memories/edit?{urlencode({'agent': kept.agent, 'path': kept.path})}").text
    assert 'name="summary" value="Two lines"' in form
    fields = its(kept, content="Other", summary="Two lines", tags="", status=shown["status"])
    fields |= {"hash": shown["hash"], "supersedes": ""}
    assert reader.post("/memories/save", fields).status == 303
    assert file.read_text().startswith(text.partition("---\nLines")[0])
    assert file.read_text().endswith("---\nOther\n")


def test_a_refused_change_of_a_memory_that_cannot_be_read_is_told_in_one_line(served, reader):
    kept = served.store("Unread by now", agent="unreadable")
    form = its(kept, pinned="1", to="pit/b.md", **{"as": "not an agent!"})
    for change in ("pin", "move", "share", "archive", "save"):
        refused = reader.post(f"/memories/{change}", form)
        assert refused.status == 400
        assert "is not an agent id" in refused.text


@pytest.mark.parametrize(
    ("path", "why"),
    [("../up.md", "leaves its root"), ("a b/c d.md", "cannot be"), ("", "not a memory's path")],
)
def test_a_memory_that_cannot_move_there_is_shown_with_the_path_that_was_typed(
    served, reader, path, why
):
    kept = served.store("Stays where it was put")
    form = {"agent": kept.agent, "path": kept.path, "hash": kept.hash, "to": path}
    refused = reader.post("/memories/move", form)
    assert refused.status == 400
    alert = re.search(r'<p class="banner bad" role="alert">(.+?)</p>', refused.text)
    assert alert
    assert why in html.unescape(alert[1])
    assert "Stays where it was put" in refused.text
    assert f'name="to" value="{path or kept.path}"' in refused.text


def test_a_memory_that_changed_is_pinned_but_archived_only_when_seen(served, reader):
    kept = served.store("Seen before it changed")
    served.store("Seen before it changed", tags=("meanwhile",))
    form = {"agent": kept.agent, "path": kept.path, "hash": kept.hash}
    refused = reader.post("/memories/archive", form)
    assert refused.status == 409
    assert "has changed in the meantime" in refused.text
    assert "meanwhile" in refused.text
    assert reader.post("/memories/pin", form | {"pinned": "1"}).status == 303
    assert "Pinned" in reader.get("/memories").text
    gone = reader.post("/memories/archive", form | {"path": "none.md"})
    assert gone.status == 404
    assert "has no memory" in gone.text


def test_a_title_is_not_repeated_by_the_text_below_it(served, reader):
    kept = served.store("# Totals are **cents**\n\nThe ledger compares them.", category="ledger")
    alone = served.store("# Nothing but a heading", category="ledger")
    assert "<h1>" not in (shown := reader.get(one(kept)).text)
    assert "<p>The ledger compares them.</p>" in shown
    assert "<h1>Nothing but a heading</h1>" in reader.get(one(alone)).text
    line = served.store("Cents it is\n\nSo says the ledger.", category="ledger")
    assert "<p>Cents it is</p>" not in reader.get(one(line)).text
    half = served.store("Cents are what\nthe ledger has.", category="ledger")
    assert "<p>Cents are what\nthe ledger has.</p>" in reader.get(one(half)).text
    told = served.store("# Cents\n\nThe ledger.", category="ledger", summary="Totals are cents")
    assert "<h1>Cents</h1>" in reader.get(one(told)).text
    hits = reader.get("/search?q=nothing+but+a+heading+ledger&in=memories").text
    assert "# Totals" not in hits


def test_what_is_wide_scrolls_and_breaks_no_word(served, reader):
    table = "| a | b |\n|---|---|\n| 1 | `<table>` |"
    kept = served.store(f"Wide\n\n{table}\n\n```\n<pre>\n```\n")
    shown = reader.get(f"/memories/one?agent=architect&path={kept.path}").text
    assert '<div class="scroll" tabindex="0"><table>' in shown
    assert shown.count("</table></div>") == 1
    assert '<pre tabindex="0"><code>&lt;pre&gt;' in shown
    assert "<code>&lt;table&gt;</code>" in shown


def test_pages_stay_small_however_long_and_many_memories_are(served, reader):
    for number in range(12):
        served.store(f"Long {number} {'and long ' * 3000}", category="long", summary="s " * 800)
    listed = reader.get("/memories?category=long")
    assert len(listed.text) < 100_000
    assert len(reader.get("/memories/duplicates").text) < 500_000


def test_of_a_very_long_memory_the_page_has_a_part(served, reader):
    text = "A line of **it**.\n\n" * 50_000
    kept = served.store(f"# Endless\n\n{text}", category="endless")
    shown = reader.get(one(kept))
    assert "A line of <strong>it</strong>" in shown.text
    assert "The first 100,000 of 950,0" in shown.text
    assert f"memory-sidecar get {kept.path} --agent {kept.agent}" in shown.text
    assert len(shown.text) < 400_000
    assert "/memories/edit" not in shown.text
    assert text.strip() in reader.get(f"{one(kept)}&json=1").json["memory"]["content"]
    refused = reader.get(one(kept, "edit"))
    assert (refused.status, len(refused.text) < 20_000) == (400, True)
    assert "too long to be edited in a browser" in refused.text


def test_a_text_of_nothing_but_marks_is_shown_as_it_is(served, reader):
    kept = served.store(f"# Marks\n\n{'![' * 20_000}", category="marks")
    shown = reader.get(one(kept)).text
    assert "![![![" in shown
    assert "<h1>Marks" not in shown


def test_what_says_the_same_stands_side_by_side(served, reader):
    one_way = served.store("Cats sleep in the afternoon sun", category="cats")
    other = served.store("cats sleep in the afternoon Sun", category="cats")
    memories = Memories(served.services.agent("architect"), Silent())
    memories.get(other.path)
    assert replace(memories.peek(other.path), refs=7).reads == 8  # as an atom counts in its file
    assert "· 1 read</p>" in reader.get("/memories/duplicates").text
    pairs = reader.get("/memories/duplicates?json=1").json["pairs"]
    (pair,) = [each for each in pairs if each["one"]["category"] == "cats"]
    assert {pair["one"]["path"], pair["other"]["path"]} == {one_way.path, other.path}
    merged = reader.get(one(one_way, "edit", **{"with": other.path})).text
    assert "afternoon sun" in merged
    assert "afternoon Sun" in merged
    fields = its(one_way, other=other.path)
    assert reader.post("/memories/supersede", fields).status == 303
    pairs = reader.get("/memories/duplicates?json=1").json["pairs"]
    assert not [each for each in pairs if each["one"]["category"] == "cats"]


@pytest.mark.browser
def test_a_memory_is_edited_in_one_tab_and_seen_in_another(served, tab):
    kept = served.store(
        "The depot opens at eight", category="depot", summary="Depot opens at eight"
    )
    other = tab.context.new_page()
    address = f"http://127.0.0.1:{served.site.port}"
    other.goto(address + "/memories?category=depot")
    tab.goto(address + one(kept))
    tab.get_by_role("button", name="Edit").click()
    tab.get_by_label("Summary").fill(f"Depot opens at nine {SCRIPT}")
    tab.get_by_role("button", name="Save").click()
    tab.get_by_role("status").filter(has_text="Saved").wait_for()
    other.goto(address + one(kept))
    kept_as = Memories(served.services.agent(kept.agent), Silent())
    kept_as.update(kept.path, Changes(summary="Depot opens at ten"))
    other.bring_to_front()
    other.get_by_role("heading", name="Depot opens at ten", level=1).wait_for()
    kept_as.update(kept.path, Changes(summary="Depot opens at nine"))
    tab.goto(address + "/memories?category=depot")
    other.goto(address + "/memories?category=depot")
    other.bring_to_front()
    other.locator("[data-row]", has_text="Depot opens at nine").wait_for()
    other.locator("[name=chosen]").check()
    other.get_by_role("button", name="Archive").click()
    other.get_by_role("heading", name="Archive 1 memory?").wait_for()
    other.get_by_role("button", name="Archive").click()
    assert other.locator("[data-row]").count() == 0
    other.get_by_role("button", name="Undo").click()
    other.locator("[data-row]", has_text="Depot opens at nine").wait_for()
    assert "run" not in {tab.title(), other.title()}


@pytest.mark.browser
def test_a_double_click_is_one_change(served, tab, chromium, monkeypatch):
    """Until it is answered, the tab does not look at what is gone by then, as others do."""
    kept = served.store("Archived by an impatient hand", category="clicks")
    remove, begun, has_clicked = Memories.remove, [], threading.Event()

    def remove_slowly(*given, **options):
        removed = remove(*given, **options)
        begun.append(given[1])
        has_clicked.wait(10)
        return removed

    monkeypatch.setattr(Memories, "remove", remove_slowly)
    other = chromium.new_page()
    other.goto(served.site.address())
    other.wait_for_url("**/memories")
    for each in (tab, other):
        each.goto(f"http://127.0.0.1:{served.site.port}{one(kept)}")
    tab.get_by_role("button", name="Archive").dblclick(no_wait_after=True)
    eventually(lambda: begun)
    other.locator("#failed").filter(has_text="no memory").wait_for()
    has_clicked.set()
    tab.get_by_role("status").filter(has_text="lies in the archive").wait_for()
    assert begun == [kept.path]
    other.close()


@pytest.mark.browser
def test_what_was_written_is_lost_neither_to_a_page_that_ended_nor_to_a_wrong_key(served, chromium):
    kept = served.store("Before it was edited", category="unsaved")
    page = chromium.new_page()
    page.goto(served.site.address())
    page.wait_for_url("**/memories")
    page.goto(f"http://127.0.0.1:{served.site.port}/memories/edit?agent=architect&path={kept.path}")
    page.fill("textarea", "Written for half an hour")
    page.route("**", lambda route: route.abort())
    page.get_by_role("button", name="Save").click()
    told = page.get_by_role("alert").get_by_text("no longer served")
    told.wait_for()
    assert told.bounding_box()["y"] > 0
    assert page.input_value("textarea") == "Written for half an hour"
    page.unroute("**")
    page.get_by_label("Text").press("Escape")
    with page.expect_event("dialog") as asked:
        page.once("dialog", lambda dialog: dialog.dismiss())
        page.keyboard.press("2")
    assert asked.value.type == "beforeunload"
    page.get_by_role("button", name="Save").click()
    page.wait_for_url("**/memories/one**")
    assert page.get_by_text("Written for half an hour").first.is_visible()
    page.context.close()


@pytest.mark.browser
def test_what_reads_from_right_to_left_is_shown_and_edited_so(served, tab):
    kept = served.store("הסכום נשמר ב־`Cart.total()` תמיד", category="hebrew")
    query = f"agent=architect&path={kept.path}"
    tab.goto(tab.url.replace("/memories", f"/memories/one?{query}"))
    lefts = tab.locator(".prose code").evaluate(
        """code => [0, 11].map(at => {
          const range = document.createRange();
          range.setStart(code.firstChild, at);
          range.setEnd(code.firstChild, at + 1);
          return range.getBoundingClientRect().left;
        })"""
    )
    assert lefts == sorted(lefts)  # the last parenthesis is right of the first letter
    tab.get_by_role("button", name="Edit").click()
    for field in ("Text", "Summary"):
        assert tab.get_by_label(field).get_attribute("dir") == "auto"


def test_of_very_many_tags_the_page_says_that_it_names_some(served, reader):
    some = "the 40 most frequent"
    served.store("Crowded", category="crowd", tags=tuple(f"crowd:{n}" for n in range(50)))
    assert some in reader.get("/memories?category=crowd").text
    assert some not in reader.get("/memories?category=hebrew").text


@pytest.mark.browser
def test_views_of_memories_are_for_everyone(served, tab, faults_of):
    first = served.store("Wide words", category="axe", tags=("axe",), summary="A wide word")
    served.store("wide Words", category="axe")
    for words in ("Long", "long"):  # more than is shown without scrolling
        served.store("\n\n".join([f"{words} words of a note"] * 40), category="axe")
    for path in ("/memories?tag=axe", one(first), one(first, "edit"), "/memories/duplicates"):
        tab.goto(f"http://127.0.0.1:{served.site.port}{path}")
        assert faults_of(tab) == [], path
    paragraphs = tab.locator(".clipped", has_text="Long words").first.locator("p")
    tops = [paragraphs.nth(at).bounding_box()["y"] for at in range(2)]
    assert tops[0] < tops[1]  # below each other, not side by side
    tab.set_viewport_size({"width": 400, "height": 800})
    tab.goto(f"http://127.0.0.1:{served.site.port}/memories?tag=axe")
    assert tab.evaluate("document.documentElement.scrollWidth") <= 400
