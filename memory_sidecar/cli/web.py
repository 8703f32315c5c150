"""`memory-sidecar web`: serves the page, from the daemon while a browser uses it."""

from __future__ import annotations

import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import click

from memory_sidecar.cli.call import IMPORTING, Call
from memory_sidecar.cli.form import title
from memory_sidecar.cli.numbers import Count
from memory_sidecar.cli.options import with_data_dir
from memory_sidecar.core.children import find_program
from memory_sidecar.core.errors import UsageError
from memory_sidecar.core.process import lift_memory_limit
from memory_sidecar.core.projects import home
from memory_sidecar.core.results import about

if TYPE_CHECKING:
    from memory_sidecar.web.site import Site

IDLE_MINUTES = 30
_OPENERS = {"darwin": ("open",), "win32": ("rundll32", "url.dll,FileProtocolHandler")}
_DISPLAY = ("DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "BROWSER")  # what an opener needs as well

_starting = threading.Lock()  # two calls at once share one page


@dataclass(frozen=True, slots=True)
class PageOpened:
    """A page that can be opened."""

    url: Annotated[str, about("opens it once, within five minutes")]


@dataclass(frozen=True, slots=True)
class PageEnded:
    """Whether there was a page, which is served no more."""

    stopped: bool


@click.command()
@click.option("--port", type=Count(0, 65535), default=0, help="Port of 127.0.0.1; else a free one.")
@click.option("--no-open", is_flag=True, help="Only print the address.")
@click.option("--stop", "stops", is_flag=True, help="Stop serving it.")
@with_data_dir
def web(call: Call, port: int, no_open: bool, stops: bool) -> PageOpened | PageEnded:
    """Look at memories, searches, sessions and the index in a browser.

    The daemon serves the page on this machine's own address, to browsers that open the printed
    one, and ends half an hour after its last use. With --no-daemon this command serves
    it, until interrupted.
    """
    if stops:
        if port or no_open:
            raise UsageError("--stop takes no other option", hint="`memory-sidecar web --stop`")
        ended = PageEnded(_stop(call))
        line = "the page is no longer served" if ended.stopped else "no page was served"
        return call.show(ended, [line])
    with _starting:
        site = _find_running(call, port) or _start(call, port)
    opened = PageOpened(site.address())
    call.show(opened, [("open ", title(opened.url, link=opened.url))])
    call.stdout.flush()
    if not no_open:
        _open_browser(call, opened.url)
    if call.host is None:
        try:
            site.wait()
        finally:
            site.close()
    return opened


def _find_running(call: Call, port: int) -> Site | None:
    site = call.host.page if call.host else None
    if site is None or site.is_ending:
        return None
    if port not in (0, site.port):
        raise UsageError(
            f"the page is served on port {site.port} already",
            hint="`memory-sidecar web --stop` stops it",
        )
    return site


def _start(call: Call, port: int) -> Site:
    with IMPORTING:  # a web server and templates that no other command needs
        from memory_sidecar.web.site import Site

    host = call.host

    def forget() -> None:
        if host and host.page is site:  # a later page must stay
            host.page = None

    site = Site(
        call.services,
        environ=call.child_environ,
        daemon_log=host.log if host else "",
        idle_s=IDLE_MINUTES * 60,
        on_end=forget,
    )
    site.start(port)
    if host:
        host.page = site
    return site


def _stop(call: Call) -> bool:
    site = call.host.page if call.host else None
    if site is not None:
        site.close()
    return site is not None


def _open_browser(call: Call, url: str) -> None:
    """Open `url` in the caller's desktop, if there is one; its address is printed already."""
    name, *words = _OPENERS.get(sys.platform, ("xdg-open",))
    shown = {name: call.environ[name] for name in _DISPLAY if name in call.environ}
    program = find_program(name, call.environ)
    if program is None or (sys.platform == "linux" and not shown):
        return
    with suppress(OSError):
        browser = subprocess.Popen(  # noqa: S603  found by its absolute path
            [program, *words, url],
            env=call.child_environ | shown,
            cwd=home(call.environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        lift_memory_limit(browser.pid)
