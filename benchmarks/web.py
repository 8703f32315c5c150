"""Measures the page: python benchmarks/web.py [--memories N]… [--sources N]

For each N, makes a data directory with N memory files, a session for every 20 memories, a
dense-context root of 300 atoms, and 50 small sources. The page is served as a daemon serves it, and
each view is requested over HTTP. There is no model, which would embed meanwhile. CPU time is that
of the whole process, and holds on a busy machine too. Ten minutes on two cores with 10,000 and
100,000 memories.
"""

from __future__ import annotations

import argparse
import http.client
import statistics
import tempfile
import time
from pathlib import Path
from urllib.parse import quote, urlsplit

from context import make_root
from figures import Results
from memories import AGENT, write_memories
from options import figure_options, whole
from sessions import Language, write_sessions

from memory_sidecar.agents.services import Services
from memory_sidecar.agents.watching import Watching
from memory_sidecar.core.paths import DataDir
from memory_sidecar.core.results import Silent
from memory_sidecar.core.settings import Settings

FILES = 20  # of a source
MEMORIES_OF_A_SESSION = 20
MESSAGES = 10  # of a session
ATOMS = 300
ASKED = 20  # times, each view
VIEWS = {
    "memories": "/memories",
    "memories, narrowed": "/memories?category=decision&tag=cache&age=year",
    "memories, by strength": "/memories?sort=strength",
    "memories, page 100": "/memories?page=100",
    "memories, what is typed": "/memories?q=" + quote("cursor cache breaks"),
    "memories, facets": "/memories?category=pitfall&facets=1",
    "search": "/search?q=" + quote("cursor cache breaks"),
    "index": "/index",
    "index, one source": "/index/source?name=source-0",
    "sessions": "/sessions",
    "sessions, page 5": "/sessions?page=5",
    "growth": "/growth",
    "context": "/context",
}


def main() -> None:
    options = _options()
    results = Results()
    for count in options.memories or (10_000, 100_000):
        with tempfile.TemporaryDirectory(prefix="memory-sidecar-web-") as scratch:
            measure(results, Path(scratch), count, options.sources)
    results.write("web", options)


def measure(results: Results, scratch: Path, count: int, sources: int) -> None:
    """Measure the page over `count` memories and `sources` sources."""
    data_dir = scratch / "data"
    write_memories(data_dir / "knowledge" / AGENT, count)
    sessions = count // MEMORIES_OF_A_SESSION
    write_sessions(data_dir, Language(), sessions=sessions, messages=MESSAGES)
    make_root(scratch / "context", projects=1, atoms=ATOMS)
    settings = Settings(model_dir=str(scratch / "none"), context_root=str(scratch / "context"))
    services = Services(DataDir(data_dir), settings)
    agent = services.agent(AGENT)
    agent.data.update(agent.sources(), Silent(), embed=False)
    roots = [write_source(scratch / "sources" / f"source-{n}") for n in range(sources)]
    services.codebase().index(roots, reporter=Silent(), embed=False)
    watching = Watching(services)
    watching.start()
    agent.data.wait_fresh(patience_s=60.0)
    services.codebase().data.wait_fresh(patience_s=60.0)
    started = time.perf_counter()
    from memory_sidecar.web.site import Site

    site = Site(services, environ={}, daemon_log="", idle_s=600)
    site.start()
    begun = time.perf_counter() - started
    visit = urlsplit(site.address())
    cookie = _get(site.port, f"/?{visit.query}")[1].partition(";")[0]
    named = f"{count:,} memories, "
    results.add(f"{named}serving it", 1000 * begun, "ms", note="with its imports, once")
    for name, path in VIEWS.items():
        began = time.process_time()
        first = _get(site.port, path, cookie)[0]
        spent = 1000 * (time.process_time() - began)
        if name == "memories":
            note = f"of CPU {spent:.0f} ms"
            results.add(f"{named}first view", first, "ms", wanted="≤ 150", note=note)
        began = time.process_time()
        times = [_get(site.port, path, cookie)[0] for _ in range(ASKED)]
        each = 1000 * (time.process_time() - began) / ASKED
        note = f"median of {ASKED}; of CPU {each:.0f} ms each; the first took {first:.1f} ms"
        results.add(f"{named}view: {name}", statistics.median(times), "ms", note=note)
    site.close()
    watching.close()
    services.close()


def write_source(root: Path) -> Path:
    """Write a folder with FILES small files."""
    root.mkdir(parents=True)
    for number in range(FILES):
        text = f"def case_{number}(cursor):\n    return cursor.{root.name.replace('-', '_')}\n"
        (root / f"case_{number}.py").write_text(text, encoding="utf-8")
    return root


def _get(port: int, path: str, cookie: str = "") -> tuple[float, str]:
    """Milliseconds until the complete answer, and the cookie it sets."""
    started = time.perf_counter()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", path, headers={"Cookie": cookie} if cookie else {})
    response = connection.getresponse()
    body = response.read()
    taken = 1000 * (time.perf_counter() - started)
    connection.close()
    assert response.status == 200, (path, response.status, body[:200])
    return taken, response.getheader("set-cookie", "")


def _options() -> argparse.Namespace:
    parser = figure_options(__doc__)
    parser.add_argument("--memories", type=whole(1), action="append", help="each of these numbers")
    parser.add_argument("--sources", type=whole(1), default=50)
    return parser.parse_args()


if __name__ == "__main__":
    main()
