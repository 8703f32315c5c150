"""What a person sees on a terminal, with a daemon behind it."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
from pathlib import Path

import pytest

from tests.e2e.home import PROGRAM, Home

ROWS, COLUMNS = 12, 80


def on_terminal(home: Home, cwd: Path, *words: str, **environ: str) -> tuple[int, str]:
    """The exit status, and all that the terminal was sent."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    told = {**home.environ, "MEMORY_SIDECAR_NO_DAEMON": "0", "TERM": "xterm", **environ}
    started = subprocess.Popen(
        [str(PROGRAM), *words], cwd=cwd, env=told, stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    seen = b""
    try:
        while part := os.read(ours, 1 << 16):
            seen += part
    except OSError:  # the other end is closed, as Linux says it
        pass
    os.close(ours)
    return started.wait(), seen.decode()


@pytest.fixture
def shop(home: Home) -> Path:
    root = home.folder / "shop"
    root.mkdir()
    for number in range(12):
        text = f"def total_{number}(prices):\n    taxed = prices * 2\n    return sum(taxed)\n"
        (root / f"cart_{number}.py").write_text(text)
    assert home.call("index", root, "--wait", "keyword").returncode == 0
    return root


def test_five_hits_go_through_the_pager_with_links_and_colours(home, shop):
    pager = home.folder / "pager"
    pager.write_text('#!/bin/sh\necho "PAGED $LESS"\ncat\n')
    pager.chmod(0o755)
    search = ("search", "total prices", "--mode", "keyword")
    status, seen = on_terminal(home, shop, *search, PAGER=str(pager))
    assert status == 0
    assert "PAGED FRX" in seen
    assert len(re.findall(r"\x1b]8;;file://[^\x1b]*/shop/cart_\d+\.py\x1b", seen)) == 5
    assert "\x1b[1;4" in seen  # what was asked for stands out
    status, seen = on_terminal(home, shop, *search, "--no-pager", PAGER=str(pager), NO_COLOR="1")
    assert (status, "PAGED" in seen) == (0, False)
    assert "\x1b" not in seen
    assert len(re.findall(r"^cart_\d+\.py:1-3", seen, re.MULTILINE)) == 5
