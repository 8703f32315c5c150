"""Memories on the page: what is stored is shown, and is text."""

from __future__ import annotations

from html.parser import HTMLParser
from urllib.parse import quote

from tests.web.conftest import SCRIPT, Reader, Served


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


def test_what_is_stored_is_text(served: Served, reader: Reader) -> None:
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
