"""Growth on the page: the numbers of `growth`, drawn."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from html import unescape

import pytest

from memory_sidecar.agents.growth import growth_of
from memory_sidecar.core.model import Asked
from memory_sidecar.core.results import Silent, to_builtins
from tests.web.conftest import SCRIPT, Served
from tests.web.test_memories import Pieces


@dataclass(frozen=True)
class Hit:
    is_weak: bool


@pytest.fixture(scope="module", autouse=True)
def _used(served: Served) -> None:
    served.store("Carts are emptied at night")
    for agent in ("architect", "builder"):
        served.services.questions.ask_and_log(Asked.MEMORIES, agent, f"{agent} {SCRIPT}", list)


def test_a_number_is_that_of_the_command(served, reader):
    shown = reader.get("/growth?weeks=4&json=1").json
    told = growth_of(served.services, weeks=4, reporter=Silent())
    rss = "resident_bytes"
    assert shown | {rss: 0} == json.loads(json.dumps(to_builtins(told))) | {rss: 0}
    text = reader.get("/growth?weeks=4").text
    assert Pieces(text).found == []
    charts = {
        names: json.loads(unescape(lines))
        for lines, names in re.findall(r'data-chart="([^"]+)" data-names="([^"]+)"', text)
    }
    for fields in ("questions unanswered", "memories"):
        drawn = [[week[name] for week in shown["weeks"]] for name in fields.split()]
        assert charts[fields][1:] == drawn
        assert all(lines[:3] == [0, 0, 0] and lines[3] for lines in drawn)


def test_a_question_that_code_answers_is_not_shown_as_unanswered(served, reader):
    asking = served.services.questions.ask_and_log
    asking(Asked.CODE, "architect", "Where are carts?", lambda: [Hit(is_weak=False)])
    asking(Asked.MEMORIES, "architect", "where are  carts?", list)
    shown = reader.get("/growth?as=architect&json=1").json
    assert [each["text"] for each in shown["unanswered"]] == [f"architect {SCRIPT}"]
    assert (shown["weeks"][-1]["questions"], shown["weeks"][-1]["unanswered"]) == (3, 1)


def test_an_agent_sees_its_own_alone(reader):
    as_architect = reader.get("/growth?as=architect&json=1").json
    assert as_architect["agents"] == ["architect"]
    assert [each["text"] for each in as_architect["unanswered"]] == [f"architect {SCRIPT}"]
    assert reader.get("/growth?as=architect&agent=builder").status == 404
    assert reader.get("/growth?weeks=many").status == 400


def test_a_question_is_told_while_it_is_looked_at(served, reader):
    asking = served.services.questions.ask_and_log
    reader.await_change("/growth", lambda: asking(Asked.MEMORIES, "shared", "Who is told?", list))


@pytest.mark.browser
def test_charts_are_drawn(served, tab, faults_of):
    tab.get_by_role("link", name="Growth").click()
    tab.locator("[data-chart] canvas").nth(3).wait_for()
    (tiles,) = tab.locator(".tiles strong").all_inner_texts()[:1]
    served.store("Carts are filled by day")
    more = re.compile(f"^{int(tiles) + 1}$")  # in one tile: that of megabytes may have the digits
    tab.locator(".tiles strong").first.filter(has_text=more).wait_for()
    tab.locator("[data-chart] canvas").nth(3).wait_for()
    assert "--" not in tab.locator("[data-chart] .u-legend").first.inner_text()
    tab.get_by_text("weeks as a table").click()
    assert tab.locator("tbody tr").count() >= 12
    assert faults_of(tab) == []
    tab.get_by_role("link", name="4 weeks").click()
    tab.wait_for_url("**weeks=4**")


@pytest.mark.browser
def test_the_numbers_beside_a_chart_have_the_room_they_need(tab):
    tab.get_by_role("link", name="Growth").click()
    tab.locator("[data-chart] canvas").nth(3).wait_for()
    left = "document.querySelector('[data-chart] .u-over').offsetLeft"
    with_units = tab.evaluate(left)
    tab.evaluate("""() => {
        const { dataset } = document.querySelector("[data-chart]");
        const [weeks, memories] = JSON.parse(dataset.chart);
        dataset.chart = JSON.stringify([weeks, memories.map(() => 50000)]);
        document.dispatchEvent(new Event("htmx:afterSwap"));
    }""")
    assert tab.evaluate(left) > with_units
