"""What every view has: its JSON, eyes to see through, errors in one line, live news and keys."""

from __future__ import annotations

import http.client
from itertools import islice
from typing import TYPE_CHECKING

import pytest

from tests.web.conftest import SCRIPT, Reader, Served

if TYPE_CHECKING:
    from playwright.sync_api import Page


def test_a_view_is_json_too(served: Served, reader: Reader) -> None:
    served.store("Totals are cents", tags=("money",))
    answer = reader.get("/memories?tag=money&json=1")
    assert answer.headers["content-type"] == "application/json"
    assert [each["title"] for each in answer.json["memories"]] == ["Totals are cents"]


def test_seen_as_an_agent_there_is_what_that_may_see(served: Served, reader: Reader) -> None:
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


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/memories/one?agent=architect&path=none.md", 404),
        ("/memories?sort=beauty", 400),
        ("/memories?page=minus", 400),
        ("/memories?age=old", 400),
        ("/memories?category=../..", 400),
        ("/memories?as=../..", 400),
        ("/nowhere", 404),
        ("/static/../app.py", 404),
        ("/static/%2e%2e/app.py", 404),
    ],
)
def test_a_wrong_address_is_told_in_one_line(reader: Reader, path: str, status: int) -> None:
    answer = reader.get(path)
    assert answer.status == status
    assert "Traceback" not in answer.text


def test_a_view_is_told_of_a_change(served: Served, reader: Reader) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", served.site.port, timeout=20)
    connection.request("GET", "/live?view=/memories", headers={"Cookie": reader.cookie})
    stream = connection.getresponse()
    assert stream.readline() == b": still here\n"
    served.store("Something new to be told of")
    lines = islice(iter(stream.readline, b""), 60)
    assert next(line for line in lines if line.startswith(b"event")) == b"event: changed\n"
    connection.close()


@pytest.mark.browser
def test_keys_lead_through_a_list_which_is_live(served: Served, tab: Page) -> None:
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
