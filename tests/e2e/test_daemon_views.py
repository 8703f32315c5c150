"""Commands that go on: the live view of `status`, and an `index` that its client gives up."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess

from tests.e2e.home import PROGRAM, Home
from tests.waiting import eventually


def test_live_view_is_drawn_in_place_until_interrupted(home):
    home.call("index", home.add_source(), "--wait", "keyword")
    controller, terminal = pty.openpty()
    watching = subprocess.Popen(
        [str(PROGRAM), "status", "--watch"], env=home.environ, stdin=terminal, stdout=terminal
    )
    os.close(terminal)
    shown = b""
    while shown.count(b"shop: 1 file, ") < 3:
        shown += os.read(controller, 1 << 16)
    assert shown.count(b"F\x1b[J") >= 2  # up, and away with what stood there
    watching.send_signal(signal.SIGINT)
    assert watching.wait(timeout=60) == 130
    os.close(controller)


def test_live_view_does_not_hold_up_a_stop(home):
    home.call("index", home.add_source(), "--wait", "keyword")
    watching = home.start("status", "--watch")
    assert watching.stdout is not None
    while not watching.stdout.readline().startswith("daemon: "):
        pass
    assert home.call("stop").returncode == 0
    _, err = watching.communicate(timeout=60)
    assert (watching.returncode, err) == (130, "")
    assert "cancelled to stop" not in home.log  # which is said after waiting in vain


def test_interrupted_index_is_given_up_and_its_source_still_followed(home):
    many = home.folder / "shop" / "many"
    many.mkdir(parents=True)
    for number in range(3000):
        (many / f"m{number}.py").write_text(f"def zebra_{number}():\n    return {number}\n" * 5)
    # Of a source that is new, so that what the daemon indexes is what this client waits for.
    indexing = home.start("index", many.parent, "--wait", "keyword")
    eventually(lambda: files_under_way(home))
    indexing.send_signal(signal.SIGINT)
    out, err = indexing.communicate(timeout=60)
    assert (indexing.returncode, out) == (130, ""), err
    assert "Traceback" not in err
    (many / "last.py").write_text("def okapi():\n    return 1\n")
    found = home.call(
        *("search", "okapi", "--mode", "keyword", "--wait-fresh", 60_000, "--json"),
        *("--source", "shop"),
    )
    assert found.returncode == 0, (found, home.log)
    assert [hit["filename"] for hit in json.loads(found.stdout)] == ["many/last.py"]
    (source,) = json.loads(home.call("status", "--json").stdout)["sources"]
    assert source["files_indexed"] == 3001
    assert "Traceback" not in home.log


def files_under_way(home: Home) -> bool:
    shown = home.call("status", "--json")
    if shown.returncode:  # nothing is indexed
        return False
    sources = json.loads(shown.stdout)["sources"]
    return any(source["live"] and source["live"]["indexing"] for source in sources)
