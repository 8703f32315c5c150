"""The page over a small data directory, and two ways to look at it: by HTTP, and by a browser.

`reader` asks as a browser that was let in would, and costs next to nothing. `tab` is a real one.
"""

from __future__ import annotations

import html
import http.client
import json
import os
import re
import shutil
import subprocess
import tarfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urlsplit

import pytest

from memory_sidecar.agents.services import Services
from memory_sidecar.core.results import Silent
from memory_sidecar.memories.draft import Draft
from memory_sidecar.memories.handlers import Memories
from memory_sidecar.memories.results import Remembered
from memory_sidecar.web.site import Site
from tests.conftest import hashing_services, write_project
from tests.waiting import eventually

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

SCRIPT = "<script>document.title='run'</script><img src=x onerror=\"document.title='run'\">"
"""Stored wherever a text can be; nothing of it may be more than text."""

AXE = "4.14.1"
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "chrome"))), None)


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)


@dataclass
class Reader:
    """A browser as far as HTTP goes: it keeps a cookie, and says where its forms are from."""

    port: int
    cookie: str = ""

    def get(self, path: str, **headers: str) -> Answer:
        return self._ask("GET", path, None, headers)

    @property
    def form_token(self) -> str:
        """The one that the forms of this reader have."""
        token, *_ = re.findall(r'name="form_token" value="([^"]+)"', self.get("/memories").text)
        return html.unescape(token)

    def post(self, path: str, fields: dict[str, str]) -> Answer:
        """Send a form as the page has it."""
        return self.send(path, {"form_token": self.form_token} | fields)

    def send(
        self, path: str, fields: dict[str, str] | list[tuple[str, str]], **headers: str
    ) -> Answer:
        headers = {
            "Origin": f"http://127.0.0.1:{self.port}",
            "Content-Type": "application/x-www-form-urlencoded",
        } | headers
        return self._ask("POST", path, urlencode(fields), headers)

    def await_change(self, view: str, act: Callable[[], object]) -> None:
        """Look at `view`, and be told that it is another one after `act`, at once and later."""
        eventually(lambda: self._is_quiet(view))  # the first look may make databases
        found = re.search('data-live="([^"]+)"', self.get(view).text)
        assert found
        with self.listening(html.unescape(found[1])) as stream:
            assert stream.readline() == b": still here\n"
            act()
            lines = islice(iter(stream.readline, b""), 60)
            assert next(line for line in lines if line.startswith(b"event")) == b"event: changed\n"
        with self.listening(html.unescape(found[1])) as stream:  # opened after the change
            assert stream.readline() == b"event: changed\n"

    def _is_quiet(self, view: str) -> bool:
        found = re.search('data-live="([^"]+)"', self.get(view).text)
        assert found
        with self.listening(html.unescape(found[1])) as stream:
            return stream.readline() == b": still here\n"

    @contextmanager
    def listening(self, address: str) -> Iterator[http.client.HTTPResponse]:
        """Open the stream of events at `address`."""
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)) as connection:
            connection.request("GET", address, headers={"Cookie": self.cookie})
            with connection.getresponse() as stream:
                yield stream

    def _ask(self, method: str, path: str, body: str | None, headers: dict[str, str]) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        cookie = {"Cookie": self.cookie} if self.cookie else {}
        connection.request(method, path, body, cookie | sent)
        response = connection.getresponse()
        answer = Answer(
            response.status,
            {name.lower(): value for name, value in response.getheaders()},
            response.read().decode("utf-8"),
        )
        connection.close()
        return answer


@dataclass(frozen=True)
class Served:
    """A page, and what it shows."""

    site: Site
    services: Services
    project: Path

    def store(self, content: str, *, agent: str = "architect", **more: Any) -> Remembered:
        memories = Memories(self.services.agent(agent), Silent())
        return memories.store(Draft(content=content, **{"category": "pitfall"} | more))

    def set(self, **settings: str) -> None:
        """Have the user's configuration say `settings`, and nothing else."""
        file = self.services.data_dir.root.parent / "config" / "memory-sidecar" / "config.toml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(f"{key} = '{value}'\n" for key, value in settings.items()))

    def reader(self) -> Reader:
        """One more browser that was let in."""
        reader = Reader(self.site.port)
        entered = reader.get(urlsplit(self.site.address())._replace(scheme="", netloc="").geturl())
        reader.cookie = entered.headers["set-cookie"].partition(";")[0]
        return reader


@contextmanager
def serving(folder: Path) -> Iterator[Served]:
    """Serve an empty data directory in `folder`."""
    environ = {"XDG_CONFIG_HOME": str(folder / "config")}
    with hashing_services(folder / "data") as services:
        site = Site(services, environ=environ, daemon_log="", idle_s=600)
        site.start()
        yield Served(site, services, write_project(folder / "project"))
        site.close()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Shared by the tests of a module: each stores what it looks for."""
    with serving(tmp_path_factory.mktemp("web")) as served:
        yield served


@pytest.fixture
def reader(served: Served) -> Reader:
    return served.reader()


# For one module: while it lives, the thread of the tests has an event loop, which not all expect.
@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine")
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def axe() -> str:
    """The script of axe-core, which finds what keeps people from using a page."""
    cached = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    file = cached / "memory-sidecar-tests" / AXE / "package" / "axe.min.js"
    if not file.exists():
        npm = shutil.which("npm")
        if npm is None:
            pytest.skip("no npm to fetch axe-core with")
        file.parents[1].mkdir(parents=True, exist_ok=True)
        fetch = [npm, "pack", "--silent", f"axe-core@{AXE}"]
        fetched = subprocess.run(fetch, cwd=file.parents[1], capture_output=True, check=False)
        if fetched.returncode:
            pytest.skip("axe-core cannot be fetched")
        file.parent.mkdir(exist_ok=True)
        with tarfile.open(file.parents[1] / f"axe-core-{AXE}.tgz") as archive:
            found = archive.extractfile("package/axe.min.js")
            assert found is not None
            file.write_bytes(found.read())  # before 3.11.4, `extract` has no `filter`
    return file.read_text("utf-8")


@pytest.fixture
def faults_of(axe: str) -> Callable[[Page], list[str]]:
    """What axe finds in a tab that is serious or worse, in WCAG 2.1 A and AA: rule and place."""

    def look(tab: Page) -> list[str]:
        tab.evaluate(axe)
        found = tab.evaluate("axe.run({runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa']})")
        return [
            f"{fault['id']}: {node['html']} {node['failureSummary']}"
            for fault in found["violations"]
            if fault["impact"] in ("serious", "critical")
            for node in fault["nodes"]
        ]

    return look


@pytest.fixture
def tab(served: Served, chromium: Browser) -> Iterator[Page]:
    """A tab that was let in. A script that fails, or is refused, fails the test."""
    context = chromium.new_context()
    page = context.new_page()
    said: list[str] = []
    skipped = "Transition was skipped"  # where a view is left before it has come whole
    page.on("pageerror", lambda error: said.append(str(error)) if str(error) != skipped else None)
    page.on(
        "console",
        lambda message: (
            said.append(f"{message.text} {message.location}") if message.type == "error" else None
        ),
    )
    page.goto(served.site.address())
    page.wait_for_url("**/memories")
    yield page
    context.close()
    assert said == []
