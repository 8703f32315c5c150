"""`memory-sidecar web`: served by the daemon from when it is asked for, and no longer."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from http.client import HTTPException
from urllib.parse import urlsplit

import pytest

from memory_sidecar.cli.host import Host
from memory_sidecar.core.errors import UsageError
from memory_sidecar.web import site as site_module
from memory_sidecar.web.app import VIEWS
from memory_sidecar.web.site import Site
from memory_sidecar.web.visit import Section, View, Visit
from tests.conftest import run_here
from tests.e2e.home import Home
from tests.mcp.conftest import served_home
from tests.web.conftest import Reader, Served

PAGE = {"jinja2", "markupsafe", "starlette", "uvicorn", "memory_sidecar.web"}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    with served_home(tmp_path_factory.mktemp("served")) as home:
        yield home


def test_the_daemon_serves_it_until_it_is_stopped(home):
    assert not home.data_dir.exists()
    first = json.loads(home.call("web", "--no-open", "--json").stdout)["url"]
    home.call("store", "Totals are cents", "--category", "pitfall")
    second = json.loads(home.call("web", "--no-open", "--json").stdout)["url"]
    address = urlsplit(first)
    assert (address.hostname, address.port) == ("127.0.0.1", urlsplit(second).port)
    assert address.port is not None
    entered = Reader(address.port).get(f"/?{address.query}")
    reader = Reader(address.port, entered.headers["set-cookie"].partition(";")[0])
    shown = reader.get("/index?json=1").json
    status = json.loads(home.call("status", "--json").stdout)
    assert shown["status"]["daemon"]["pid"] == status["daemon"]["pid"]
    done = home.call("web", "--port", address.port + 1, "--no-open")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert json.loads(home.call("web", "--stop", "--json").stdout) == {"stopped": True}
    assert json.loads(home.call("web", "--stop", "--json").stdout) == {"stopped": False}
    with pytest.raises(ConnectionRefusedError):
        reader.get("/memories")


def test_the_page_ends_when_no_browser_uses_it(served):
    ended: list[str] = []
    site = Site(
        served.services,
        environ={},
        daemon_log="",
        idle_s=0.0,
        on_end=lambda: ended.append("ended"),
    )
    site.start()
    site.wait(20)
    assert ended == ["ended"]


def test_a_page_that_is_ending_is_not_given_out(served, monkeypatch):
    begun, may_end = threading.Event(), threading.Event()

    def show(_visit: Visit) -> View:
        begun.set()
        may_end.wait(60)
        raise UsageError("late")

    monkeypatch.setattr(site_module, "END_S", 0.01)
    monkeypatch.setitem(VIEWS, "/growth", Section(show, "Growth"))
    daemon = Host("")

    def opened() -> int:
        done = run_here(
            "web",
            "--no-open",
            "--json",
            environ={},
            cwd=served.project,
            open_services=lambda _: nullcontext(served.services),
            host=daemon,
        )
        assert done.status == 0
        assert daemon.page
        return daemon.page.port

    first = opened()
    old = daemon.page
    assert old
    asking = Served(old, served.services, served.project).reader()

    def ask() -> None:
        with suppress(OSError, HTTPException):  # it is cut off
            asking.get("/growth")

    waiting = threading.Thread(target=ask)
    waiting.start()
    assert begun.wait(20)
    old.close()
    assert opened() != first
    new = daemon.page
    assert new
    may_end.set()
    old.wait(20)
    waiting.join()
    assert daemon.page is new
    new.close()


def test_a_port_that_is_taken_is_said_in_one_line(home):
    url = json.loads(home.call("web", "--no-open", "--json").stdout)["url"]
    taken = urlsplit(url).port
    done = home.call("web", "--port", taken, "--no-open", "--no-daemon")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)


def test_nothing_of_it_is_imported_before(tmp_path):
    code = (
        "import sys\n"
        "import memory_sidecar.cli.daemon\n"
        "from memory_sidecar.cli.main import every_command\n"
        "every_command()\n"
        "print(*sys.modules)\n"
    )
    run = [sys.executable, "-c", code]
    done = subprocess.run(run, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert PAGE.isdisjoint(done.stdout.split())
