"""What every view has: its JSON, eyes to see through, errors in one line, live news and keys."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from urllib.parse import urlsplit

import pytest

from memory_sidecar.index.report import Failure
from memory_sidecar.web.app import CHANGES, VIEWS
from memory_sidecar.web.rendering import templates
from memory_sidecar.web.visit import Section, View, Visit
from tests.web.conftest import SCRIPT, serving
from tests.web.test_memories import Pieces


def test_a_view_is_json_too(served, reader):
    served.store("Totals are cents", tags=("money",))
    answer = reader.get("/memories?tag=money&json=1")
    assert answer.headers["content-type"] == "application/json"
    assert [each["title"] for each in answer.json["memories"]] == ["Totals are cents"]


def test_seen_as_an_agent_there_is_what_that_may_see(served, reader):
    mine = served.store("Of the builder alone", agent="builder")
    served.store("For all to know", agent="shared")
    of_another = f"agent={mine.agent}&path={mine.path}"
    assert reader.get(f"/memories/one?{of_another}").status == 200
    titles = {m["title"] for m in reader.get("/memories?as=architect&json=1").json["memories"]}
    assert "For all to know" in titles
    assert "Of the builder alone" not in titles
    for path in (
        "/memories",
        "/memories/one",
        "/index",
        "/search",
        "/sessions",
        "/sessions/one",
        "/growth",
    ):
        seen = reader.get(f"{path}?as=architect&agent=builder&path={mine.path}&json=1").text
        assert "Of the builder" not in seen
        assert '"builder"' not in seen
    assert reader.get(f"/memories/one?as=architect&{of_another}").status == 404
    failed = Failure("2026-03-01T09:00:00Z", "builder's pitfall/secret.md is damaged")
    activity = served.services.agent("builder").data.owner.activity
    activity.record_failure("memories", failed)
    assert "pitfall/secret" in reader.get("/index").text
    assert "pitfall/secret" not in reader.get("/index?as=architect").text
    activity.clear_failure("memories")


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/memories/one?agent=architect&path=none.md", 404),
        ("/memories?sort=beauty", 400),
        ("/memories?page=minus", 400),
        ("/growth?weeks=99999999", 400),
        ("/memories?age=old", 400),
        ("/memories?category=../..", 400),
        ("/memories?as=../..", 400),
        ("/nowhere", 404),
        ("//elsewhere.example/memories", 404),
        ("/memories/save", 405),
        ("/static/../app.py", 404),
        ("/static/%2e%2e/app.py", 404),
    ],
)
def test_a_wrong_address_is_told_in_one_line(reader, path, status):
    answer = reader.get(path)
    assert answer.status == status
    assert '<nav aria-label="Views">' in answer.text
    assert 'href="/memories' in answer.text
    assert "//elsewhere" not in answer.text
    assert "as JSON" not in answer.text
    part = reader.get(path, HX_Request="true")
    assert (part.status, "<" in part.text) == (status, False)


def _fails(_visit: Visit) -> View:
    raise ZeroDivisionError(f"in {SCRIPT} with AKIA{'ABCDEFGH' * 2}")


def test_what_nobody_foresaw_is_told_in_the_frame_and_logged(reader, monkeypatch, caplog):
    form = {"form_token": reader.form_token}
    monkeypatch.setitem(VIEWS, "/growth", Section(_fails, "Growth"))
    monkeypatch.setitem(CHANGES, "/memories/pin", _fails)
    view, change = reader.get("/growth"), reader.send("/memories/pin", form)
    part, told = reader.get("/growth", HX_Request="true"), reader.get("/growth?json=1")
    for answer, back in ((view, "/growth"), (change, "/memories")):
        assert Pieces(answer.text).found == []
        assert "Internal error: ZeroDivisionError: in &lt;script&gt;" in answer.text
        assert f'<a href="{back}" data-row>' in answer.text
    assert {each.status for each in (view, change, part, told)} == {500}
    assert {"AKIAABCDEFGH" in each.text for each in (view, change, part, told)} == {False}
    assert part.headers["content-type"].startswith("text/plain")
    assert told.json["error"]["hint"] == "the daemon's log says where"
    logged = [record for record in caplog.records if record.exc_info]
    assert [record.getMessage() for record in logged] == [
        "GET /growth failed", "POST /memories/pin failed", *["GET /growth failed"] * 2,
    ]  # fmt: skip


def test_numbers_are_told_alike(reader):
    assert templates().filters["milliseconds"](12345.6) == "12,345.6 ms"
    told = reader.get("/growth?weeks=99999999", HX_Request="true").text
    assert told == "weeks is no number from 0 to 1,000,000: '99999999'"


def test_each_view_has_one_heading_of_the_first_level(served, reader):
    kept = served.store("# Of the text itself", summary="Headed")
    one = f"agent=architect&path={kept.path}"
    for path in (*(path for path in VIEWS if VIEWS[path].label), f"/memories/one?{one}", "/none"):
        shown = re.sub(r'(?s)<section class="prose".+?</section>', "", reader.get(path).text)
        assert shown.count("<h1") == 1, path


@pytest.mark.parametrize(
    ("path", "first"),
    [
        ("/memories?page=900", "/memories"),
        ("/memories?as=architect&page=900", "/memories?as=architect"),
        ("/sessions?page=900", "/sessions"),
    ],
)
def test_a_page_behind_the_last_leads_to_the_first(served, reader, path, first):
    served.store("Totals are cents")
    shown = reader.get(path)
    assert shown.status == 200
    assert "The list ends before page 900." in shown.text
    assert f'<a href="{first}">To its first page</a>' in shown.text
    for wrong in ("yet.", "matches", 'rel="prev"'):
        assert wrong not in shown.text


def test_commands_in_a_hint_are_set_as_code_and_stay_text(served, reader):
    served.store("Totals are cents.")
    told = reader.get("/memories/one?agent=architect&path=<b>.md").text
    assert "<code>memory-sidecar list --agent architect</code>" in told
    assert "<b>" not in told


def test_before_anything_is_stored_each_view_is_there(tmp_path):
    with serving(tmp_path) as served:
        reader = served.reader()
        for path in (path for path in VIEWS if VIEWS[path].label):
            assert reader.get(path).status == 200, path
        index, sessions = reader.get("/index").text, reader.get("/sessions").text
        assert "<p>Nothing is indexed in " in index
        assert "Run <code>memory-sidecar index PATH</code>" in index
        assert 'href="/index/checks"' in index
        assert "View as" not in index
        assert "Went on after" not in sessions
        assert "Went on after" in reader.get("/sessions?topic=cart").text


def test_an_agent_that_has_nothing_is_not_told_to_remove_a_filter(reader):
    seen = reader.get("/sessions?as=new-here").text
    assert "No sessions yet" in seen
    assert "<option selected>new-here</option>" in seen
    assert "these filters" in reader.get("/sessions?as=new-here&topic=none").text
    assert "these filters" in reader.get("/memories?as=new-here&tag=none").text


def test_only_without_a_team_it_is_said_that_nothing_leaves_the_machine(
    served, reader, monkeypatch
):
    said = "nothing here leaves this machine"
    assert said in reader.get("/memories").text
    of_team = replace(served.services.settings, database="postgresql://example.com/team")
    monkeypatch.setitem(vars(served.services), "settings", of_team)
    assert said not in reader.get("/memories").text


def test_a_form_of_another_page_is_refused_in_the_frame(reader):
    refused = reader.send("/memories/pin", {"form_token": "guessed"})
    assert refused.status == 403
    assert "Load the page again" in refused.text
    assert '<nav aria-label="Views">' in refused.text


@pytest.mark.parametrize(
    ("path", "is_live"), [("/memories/one?agent=a&path=b", True), ("/nowhere", False)]
)
def test_only_a_view_that_may_still_come_is_live_while_it_is_missing(reader, path, is_live):
    assert ("data-live" in reader.get(path).text) is is_live
    refused = reader.post("/memories/archive", {"agent": "a", "path": "b"})
    assert refused.status == 404
    assert "data-live" not in refused.text


def test_a_view_is_told_of_a_change(served, reader):
    reader.await_change("/memories", lambda: served.store("Something new to be told of"))


@pytest.mark.browser
def test_a_part_that_fails_leaves_the_view_and_tells(served, chromium, monkeypatch):
    served.store("Stays where it is", category="stays")
    page = chromium.new_page()
    page.goto(served.site.address())
    page.wait_for_url("**/memories")
    page.goto(f"http://127.0.0.1:{served.site.port}/memories?category=stays")
    with monkeypatch.context() as broken:
        broken.setitem(VIEWS, "/memories", Section(_fails, "Memories"))
        page.fill("#q", "where")
        page.get_by_role("alert").get_by_text("ZeroDivisionError").wait_for()
        assert page.locator("[data-row]").count() == 1
    page.fill("#q", "stays")
    page.wait_for_url("**q=stays**")
    page.locator("#failed", has_text="Zero").wait_for(state="detached")
    page.context.close()


@pytest.mark.browser
def test_a_view_that_is_served_no_longer_says_so_until_it_is(served, chromium):
    page = chromium.new_page()
    page.goto(served.site.address())
    page.wait_for_url("**/memories")
    told = page.get_by_role("alert").get_by_text("no longer served")
    page.route("**/live?*", lambda route: route.abort())
    page.reload()
    told.wait_for()
    assert told.locator("code").text_content() == "memory-sidecar web"
    page.unroute("**/live?*")
    told.wait_for(state="detached")  # the browser itself asks again
    page.context.close()


@pytest.mark.browser
def test_keys_lead_through_a_list_which_is_live(served, tab):
    served.store("The first", category="keys")
    served.store(f"The second {SCRIPT}", category="keys", summary=f"Second {SCRIPT}")
    tab.goto(tab.url + "?category=keys")
    assert tab.locator("[data-row]").count() == 2
    tab.keyboard.press("j")
    tab.keyboard.press("j")
    assert tab.evaluate("document.activeElement.textContent") == "The first"
    served.store("The third", category="keys")
    tab.locator("[data-row]", has_text="The third").wait_for()
    tab.keyboard.press("?")
    assert tab.locator("#keys").is_visible()
    tab.keyboard.press("Escape")
    tab.keyboard.press("/")
    assert tab.evaluate("document.activeElement.id") == "q"
    tab.keyboard.type("third")
    tab.wait_for_url("**q=third**")
    tab.keyboard.press("Escape")
    tab.locator("[data-row]", has_text="The third").press("Enter")
    tab.wait_for_url("**/memories/one**")
    assert tab.title().startswith("The third")
    tab.go_back()
    tab.locator("[data-row]:focus", has_text="The third").wait_for()


@pytest.mark.browser
def test_what_was_unfolded_and_focused_stays_so_in_a_live_view(served, tab):
    served.store("The well is dug", category="wells", project="farm", tags=("a",))
    tab.goto(tab.url + "?category=wells")
    project, tag = (tab.locator(".facets summary", has_text=name) for name in ("project", "tag"))
    project.click()
    tag.click()
    tab.keyboard.press("j")
    served.store("The well is full", category="wells", project="farm", tags=("a",))
    tab.locator("[data-row]", has_text="The well is full").wait_for()
    assert tab.locator("[data-row]:focus").inner_text() == "The well is dug"
    opened = tab.locator(".facets details[open] > summary").all_inner_texts()
    assert "project" in opened
    assert "tag" not in opened


@pytest.mark.browser
def test_what_changed_while_a_tab_was_hidden_is_asked_for_once(served, tab):
    def show(is_shown: bool) -> None:
        hidden = {"value": not is_shown, "configurable": True}
        tab.evaluate("hidden => Object.defineProperty(document, 'hidden', hidden)", hidden)
        tab.evaluate("document.dispatchEvent(new Event('visibilitychange'))")

    asked: list[str] = []
    show(False)
    served.store("Stored behind its back")
    tab.on("request", lambda request: asked.append(urlsplit(request.url).path))
    show(True)
    tab.get_by_text("Stored behind its back").first.wait_for()
    assert asked == ["/live", "/memories"]


def test_the_headings_of_a_memory_skip_no_level(served, reader):
    first = served.store("The till opens at nine", category="headings")
    other = served.store("The till closes at five", category="headings", links=(first.path,))
    shown = reader.get(f"/memories/one?agent=architect&path={other.path}").text
    assert "Links to" in shown
    levels = list(map(int, re.findall(r"<h(\d)", shown)))
    assert all(below <= above + 1 for above, below in pairwise(levels)), levels


@pytest.mark.browser
def test_the_focus_stays_where_a_filter_was_changed(tab):
    tab.goto(tab.url.replace("/memories", "/search?in=code&q=total"))
    tab.get_by_label("Language").fill("python")
    tab.keyboard.press("Tab")
    tab.wait_for_url("**language=python**")
    tab.locator("[name=path]:focus").wait_for()


@pytest.mark.browser
def test_what_has_the_focus_is_not_behind_the_bar_of_views(served, tab):
    for number in range(30):
        served.store(f"The fact with the number {number}", category="sight")
    tab.goto(tab.url + "?category=sight")
    below = tab.evaluate("document.querySelector('body > header').getBoundingClientRect().bottom")
    for key in "j" * 30 + "k" * 30:
        tab.keyboard.press(key)
        assert tab.evaluate("document.activeElement.getBoundingClientRect().top") >= below


@pytest.mark.browser
def test_a_term_of_a_score_stays_in_one_line_on_a_narrow_screen(served, tab):
    served.store("The till opens at nine", category="narrow")
    tab.set_viewport_size({"width": 360, "height": 600})
    tab.goto(tab.url.replace("/memories", "/search?in=memories&category=narrow&q=till"))
    tab.get_by_text("why this rank").first.click()
    numbers = tab.locator(".sum td.mono").evaluate_all("all => all.map(each => each.clientHeight)")
    assert numbers
    assert max(numbers) < 30


@pytest.mark.browser
def test_a_phone_has_all_views_in_one_row_and_the_foot_at_the_bottom(served, tab):
    tab.set_viewport_size({"width": 360, "height": 800})
    tab.goto(tab.url + "?category=none")
    links = tab.locator("header nav li a").all()
    assert len({link.bounding_box()["y"] for link in links}) == 1
    foot = tab.locator("body > footer").bounding_box()
    assert foot["y"] + foot["height"] == 800
    assert tab.evaluate("document.documentElement.scrollWidth") == 360
