"""Search on the page: hits of all kinds, why they stand where they do, and what was right."""

from __future__ import annotations

import json
import re
from html import unescape
from urllib.parse import quote, urlencode

import pytest

from memory_sidecar.core.results import Silent
from memory_sidecar.web.rendering import coloured_lines
from tests.web.conftest import SCRIPT, Served
from tests.web.test_memories import Pieces


@pytest.fixture(scope="module", autouse=True)
def _searchable(served: Served) -> None:
    code = f'def price_sale():\n    return """{SCRIPT}"""\n'
    (served.project / "shop" / "sale.py").write_text(code)
    served.services.codebase().index([served.project], reporter=Silent())
    served.store("A price is in cents", summary="Cents", tags=("money",))
    served.services.sessions("architect", reporter=Silent()).save(
        {"session_id": "s-1", "messages": [{"role": "user", "content": f"The price {SCRIPT}"}]}
    )


def test_one_question_asks_everything_and_each_score_is_the_sum_of_its_parts(reader):
    found = reader.get("/search?q=price&json=1").json["found"]
    explained = [
        *((hit["score"], hit["explain"]) for hit in found["code"]),
        *((hit["relevance"], hit["explain"]) for hit in found["memories"]),
        *((each["hit"]["score"], each["hit"]["explain"]) for each in found["sessions"]),
    ]
    assert all(map(len, found.values()))
    for score, why in explained:
        assert sum(why["terms"].values()) == pytest.approx(score, abs=2e-5)
    text = reader.get("/search?q=price").text
    assert "&lt;script&gt;" in text
    assert Pieces(text.replace("vscode:", "/")).found == []
    assert '<span data-line="1"><span class="k">def</span>' in text
    assert text.count("is the sum of") == sum(bool(why["terms"]) for _, why in explained)


def test_long_texts_show_what_was_found_in_them(served, reader):
    before = "The parser stopped, since no header was found. " * 30
    served.store(f"{before}Only the linker knows zebras.", summary="Headers")
    said = [{"role": "user", "content": f"{before}Only the printer knows giraffes."}]
    served.services.sessions("architect", reporter=Silent()).save(
        {"session_id": "s-2", "messages": said}
    )
    for animal in ("zebras", "giraffes"):
        text = reader.get(f"/search?q=tell+me+of+{animal}").text
        assert f"knows {animal}" in " ".join(text.split())


def test_a_session_found_by_its_summary_does_not_repeat_its_title(served, reader):
    summary = {"brief": "Pelicans were counted", "key_decisions": ["Count pelicans at dawn"]}
    said = [{"role": "user", "content": "How many are there?"}]
    served.services.sessions("architect", reporter=Silent()).save(
        {"session_id": "s-3", "messages": said, "summary": summary}
    )
    text = reader.get("/search?q=pelicans+dawn&in=sessions&tier=1").text
    assert ">Pelicans were counted</a>" in text
    assert '<p class="said">decided: Count pelicans at dawn</p>' in text


@pytest.mark.parametrize("text", ["Herons nest in the old mill", "# Herons nest in the old mill"])
def test_a_memory_and_a_session_of_one_line_say_it_once(served, reader, text):
    served.store(text, category="birds")
    said = [{"role": "user", "content": "Herons nest in the old mill"}]
    served.services.sessions("architect", reporter=Silent()).save(
        {"session_id": "s-4", "messages": said}
    )
    for kind in ("memories", "sessions"):
        shown = reader.get(f"/search?q=where+do+herons+nest&in={kind}").text
        hit = next(each for each in shown.split('<li class="hit">') if "Herons" in each)
        assert hit.count("Herons nest in the old mill") == 1
        assert '<p class="said">' not in hit


def test_filters_and_modes_are_those_of_the_command_line(served, reader):
    def files(words: str) -> list[str]:
        found = reader.get(f"/search?q=total+price&in=code&json=1&{words}").json["found"]
        return [hit["filename"] for hit in found["code"]]

    assert set(files("language=csharp")) == {"shop/Order.cs"}
    assert all(file.startswith("shop/") for file in files("path=shop/**"))
    assert len(files("n=2")) == 2
    assert reader.get("/search?q=total&in=code&language=klingon").status == 400
    assert reader.get("/search?q=total&in=games").status == 400
    assert reader.get("/search?q=total&mode=magic").status == 400
    compared = reader.get("/search?q=total+price&mode=compare&json=1").json["modes"]
    assert set(compared) == {"hybrid", "keyword", "vector"}
    by_words = reader.get("/search?q=total+price&mode=keyword&json=1").json["found"]
    assert compared["keyword"]["code"] == by_words["code"]
    assert "not in hybrid" in reader.get("/search?q=total+price&in=code&mode=compare&n=2").text


def test_messages_of_one_session_have_ranks_of_their_own_side_by_side(served, reader):
    said = [{"role": "user", "content": f"The otter {what}"} for what in ("swims", "dives", "eats")]
    served.services.sessions("architect", reporter=Silent()).save(
        {"session_id": "s-3", "messages": said}
    )
    text = reader.get("/search?q=otter&in=sessions&mode=compare").text
    by_words = text.split('aria-label="keyword"')[1].split("</section>")[0]
    assert sorted(re.findall(r"hybrid (\d+)", by_words)) == ["1", "2", "3"]


@pytest.mark.parametrize(
    ("file", "told"),
    [
        ("docs/setup.md", "chunk ranks <strong>"),
        ("docs/setup.md:1-3", "chunk ranks <strong>"),
        ("logo.png", "skipped"),
        ("nowhere.py", "absent"),
        ("/elsewhere.py", "absent"),
        (SCRIPT, "absent"),
        ("long" * 100, "absent"),
    ],
)
def test_a_file_says_why_it_is_no_hit(reader, file, told):
    text = reader.get(f"/search?q=start+the+service&in=code&file={quote(file)}").text
    assert told in text
    assert Pieces(text.replace("vscode:", "/")).found == []


def test_what_was_right_is_kept_and_taken_back(served, reader):
    hit = {"q": "where is the total", "kind": "code", "of": served.project.name}
    fields = hit | {"place": "shop/cart.py", "to": "/search?q=where+is+the+total&n=5"}
    assert reader.post("/search/right", fields).headers["location"] == fields["to"]
    shown = reader.get(fields["to"]).text
    assert "shop/cart.py is right for this question" in shown
    assert "✓ right" in shown
    reader.post("/search/right", fields | {"as": "architect"})
    assert '<input type="hidden" name="as" value="architect">' in reader.get(fields["to"]).text
    kept = served.services.data_dir.root / "questions" / "queries.jsonl"
    assert json.loads(kept.read_text("utf-8"))["relevant"] == ["shop/cart.py"]
    elsewhere = fields | {"to": "//elsewhere.example"}
    assert reader.post("/search/wrong", elsewhere).headers["location"] == "/search"
    assert kept.read_text("utf-8") == ""
    assert reader.post("/search/right", fields | {"place": "none.py"}).status == 404
    of_builder = {"kind": "memories", "of": "builder", "as": "architect"}
    assert reader.post("/search/right", fields | of_builder).status == 404


def test_a_question_is_noted_once_and_not_for_further_looks(served, reader):
    before = len(served.services.questions.since(0))
    reader.get("/search?q=noted+once&in=code")
    for words in ("n=40", "file=x.py", "json=1"):
        reader.get(f"/search?q=noted+once&in=code&{words}")
    assert len(served.services.questions.since(0)) == before + 1


@pytest.mark.parametrize("mode", ["keyword", "compare"])
def test_a_question_typed_while_a_mode_is_chosen_is_noted_and_the_tabs_ask_none(
    served, reader, mode
):
    noted = served.services.questions
    before = len(noted.since(0))
    text = reader.get(f"/search?q=typed&in=code&mode={mode}").text
    assert len(noted.since(0)) == before + 1
    tabs = re.findall(r'href="(/search\?[^"]*&amp;n=[^"]*)"', text)
    assert len(tabs) >= 4
    for tab in tabs:
        assert reader.get(unescape(tab)).status == 200
    assert len(noted.since(0)) == before + 1


def test_colours_change_no_letter_and_let_no_markup_through():
    code = 'def f(a):\n    # <b>\n    return """\n<i>""" + "é\u202e"\n'
    for language in ("python", "no_such_language"):
        lines = coloured_lines(code, language)
        assert lines[0].striptags() == "def f(a):"
        assert len(lines) == code.count("\n") + 1
        assert "<b>" not in "".join(lines)
        assert "\u202e" not in "".join(lines)
    (line,) = coloured_lines('"\\' * 10_000, "javascript")  # which takes its lexer 7 s
    assert "<span" not in line


@pytest.mark.browser
def test_a_search_in_a_browser(tab, faults_of):
    tab.keyboard.press("2")
    tab.wait_for_url("**/search")
    tab.keyboard.press("/")
    tab.keyboard.type("retry with backoff")
    tab.keyboard.press("Enter")
    tab.wait_for_url("**q=retry**")
    first = tab.locator(".hit", has_text="web/retry.ts").first
    first.get_by_text("why this rank").click()
    assert first.locator(".sum tr").count() > 0
    assert faults_of(tab) == []
    first.get_by_role("button", name="mark as right").click()
    tab.get_by_role("button", name="Undo").click()
    tab.get_by_text("no longer noted").wait_for()
    tab.get_by_role("link", name="Code", exact=True).click()
    tab.get_by_label("Language").fill("python")
    tab.get_by_label("Language").press("Enter")
    tab.wait_for_url("**language=python**")
    assert tab.locator(".hit", has_text="retry.ts").count() == 0
    assert faults_of(tab) == []


def test_a_project_may_be_named_by_its_folder(served, reader):
    served.store("The price has no tax", project="project")
    for named in ("project", f"{served.project}/shop/", f"{served.project}/./docs"):
        words = urlencode({"q": "price", "in": "memories", "project": named, "json": "1"})
        (hit,) = reader.get(f"/search?{words}").json["found"]["memories"]
        assert hit["project"] == "project", named
    words = urlencode({"q": "price", "in": "memories", "project": "/", "json": "1"})
    assert reader.get(f"/search?{words}").json["found"]["memories"] == []


def test_a_blank_filter_is_none_and_one_that_fits_nothing_says_what_there_is(reader):
    def found(kind: str, words: str) -> int:
        return len(reader.get(f"/search?q=price&in={kind}&json=1&{words}").json["found"][kind])

    blank = "tag=+&project=+&source=&status=+&category=+"
    assert found("memories", blank) == found("memories", "") > 0
    assert found("memories", "tag=+money+") == 1
    blank = "project=+&topic=+&after=+&before=+"
    assert found("sessions", blank) == found("sessions", "") > 0
    assert found("code", "language=+&path=+&source=+") == found("code", "") > 0
    told = reader.get("/search?q=price&in=memories&tag=gold").text
    assert "no memory has the tag gold: there is money" in told
