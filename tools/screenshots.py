"""Takes the pictures of the page that README shows: python tools/screenshots.py [--serve PORT]

Over a small made-up data directory, of dates that lie as far back as they would, with the real
model. `--serve` keeps the page there to look at instead.
"""

from __future__ import annotations

import argparse
import io
import json
import shutil
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from PIL import Image

from memory_sidecar.agents.judging import JudgedSet
from memory_sidecar.agents.services import Services
from memory_sidecar.context.access import accesses_of_paths
from memory_sidecar.context.atoms import AtomDraft
from memory_sidecar.context.handlers import Context, init, record
from memory_sidecar.context.layout import Root
from memory_sidecar.core.model import Asked, AtomKind, CodeQuery
from memory_sidecar.core.paths import DataDir
from memory_sidecar.core.results import Silent
from memory_sidecar.core.settings import Settings
from memory_sidecar.core.times import iso_utc, system_clock
from memory_sidecar.disk.frontmatter import new_page
from memory_sidecar.disk.usage import QuestionLog, log_reads
from memory_sidecar.memories.handlers import Memories
from memory_sidecar.memories.model import MemoryQuery
from memory_sidecar.sessions.model import SessionQuery
from memory_sidecar.web.site import Site

ROOT = Path(__file__).parents[1]
DEMO = Path(__file__).with_name("demo.json")
PICTURES = ROOT / "docs" / "pictures"
SOURCES = ("memory_sidecar/code", "memory_sidecar/memories", "memory_sidecar/index", "docs")
DAY_MS = 86_400_000
WIDTH, HEIGHT = 960, 600
COLOURS = 128  # of a picture, so that it is small


def main() -> None:
    options = _options()
    with tempfile.TemporaryDirectory(prefix="memory-sidecar-page-") as scratch:
        services = demo(Path(scratch))
        site = Site(services, environ={}, daemon=lambda: None, idle_s=3600)
        site.start(options.serve or 0)
        if options.serve is None:
            shoot(site, json.loads(DEMO.read_text("utf-8"))["views"])
        else:
            print(site.address(), flush=True)
            site.wait()
        site.close()
        services.close()


def demo(folder: Path) -> Services:
    """What `demo.json` tells, below `folder`, and indexed."""
    told = json.loads(DEMO.read_text("utf-8"))
    now = system_clock()
    data = DataDir(folder / "data")
    for memory in told["memories"]:
        write_memory(data, memory, now)
    for session in told["sessions"]:
        write_session(data, session, now)
    write_atoms(folder / "context", told["atoms"])
    services = Services(data, settings_of(folder))
    services.codebase().index([copied(folder / "memory-sidecar")], reporter=Silent())
    for name in services.agent_names():
        services.agent(name).rebuild(reporter=Silent())
    for question in told["questions"]:
        ask(services, question, now)
    for judged in told["judged"]:
        JudgedSet(services, Silent()).add(
            judged["text"], Asked.CODE, "memory-sidecar", judged["place"]
        )
    return services


def settings_of(folder: Path) -> Settings:
    return Settings(context_root=str(folder / "context"), rerank=False)


def copied(project: Path) -> Path:
    """A project to search: some folders of this one."""
    for source in SOURCES:
        ignored = shutil.ignore_patterns("__pycache__", "*.png")
        shutil.copytree(ROOT / source, project / source, ignore=ignored)
    return project


def write_memory(data: DataDir, memory: dict[str, Any], now: int) -> None:
    """Its file, with the days since it was made, and the reads of it since."""
    agent, made = data.agent(memory["agent"]), now - memory["days"] * DAY_MS
    stamps = {"created_at": iso_utc(made), "updated_at": iso_utc(made)}
    file = agent.memories / memory["path"]
    file.parent.mkdir(parents=True, exist_ok=True)
    page = new_page(stamps | memory["meta"], memory["content"] + "\n")
    file.write_text(page, encoding="utf-8")
    for number in range(memory["reads"]):
        at = made + (now - made) * (number + 1) // (memory["reads"] + 1)
        log_reads(agent.tree, agent.access_log, [memory["path"]], tool="get", at_ms=at)


def write_session(data: DataDir, session: dict[str, Any], now: int) -> None:
    """Its file, with the days since it began instead of moments."""
    began = now - int(session["days"] * DAY_MS)
    document = session["document"] | {"created_at": iso_utc(began), "updated_at": iso_utc(began)}
    for number, message in enumerate(document["messages"]):
        message["created_at"] = iso_utc(began + number * 90_000)
    agent = data.agent(session["agent"])
    log_reads(agent.tree, agent.access_log, session["recalled"], tool="get", at_ms=began + 60_000)
    folder = agent.sessions / iso_utc(began)[:7]
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{document['session_id']}.json"
    file.write_text(json.dumps(document, indent=1), encoding="utf-8")


def write_atoms(root: Path, atoms: list[dict[str, Any]]) -> None:
    """A dense-context root with a project, each atom read so many times."""
    init(root, project="ranking")
    context = Context(Root(root), embed_with=_no_model)
    project = context.root.project("ranking")
    for atom in atoms:
        kind = AtomKind[atom["kind"].upper()]
        basis = {_BASIS[kind]: atom["basis"]}
        draft = AtomDraft(summary=atom["summary"], status=atom["status"], body="Measured.", **basis)
        made = context.new(project, kind, draft)
        for _ in range(atom["reads"]):
            record(accesses_of_paths([Path(made.path)]))
    context.regenerate([project], reporter=Silent())


_BASIS = {
    AtomKind.EXPERIMENT: "links",
    AtomKind.KNOWLEDGE: "evidence",
    AtomKind.PATTERN: "source_experiments",
}


def _no_model() -> NoReturn:
    raise AssertionError("no atom is compared with others here")


def ask(services: Services, question: dict[str, Any], now: int) -> None:
    """Ask a question so many times, as if once in so many days up to now."""
    agent, text = question["agent"], question["text"]
    asks: dict[str, Callable[[], list[Any]]] = {
        "code": lambda: services.codebase().search(CodeQuery(text), reporter=Silent()),
        "memories": lambda: Memories(services.agent(agent), Silent()).query(MemoryQuery(text=text)),
        "sessions": lambda: services.sessions(agent, reporter=Silent()).search(
            SessionQuery(text=text)
        ),
    }
    for number in range(question["times"]):
        at = now - int(number * question["days"] * DAY_MS)
        log = QuestionLog(services.data_dir.tree, clock=partial(int, at), is_kept=True)
        log.asking(Asked(question["kind"]), agent, text, asks[question["kind"]])
        log.close()


def shoot(site: Site, views: dict[str, str]) -> None:
    """A picture of each view in dark and light, by the name that `views` gives its address."""
    from playwright.sync_api import sync_playwright

    PICTURES.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-lcd-text"]
        )
        for scheme in ("light", "dark"):
            page = browser.new_page(
                viewport={"width": WIDTH, "height": HEIGHT}, color_scheme=scheme
            )
            page.goto(site.address())
            page.wait_for_url("**/memories")
            for name, address in views.items():
                page.goto(f"http://127.0.0.1:{site.port}{address}")
                page.wait_for_load_state("networkidle")
                keep(page.screenshot(), PICTURES / f"{name}-{scheme}.png")
            page.close()
        browser.close()


def keep(screenshot: bytes, file: Path) -> None:
    """Write a PNG with few colours."""
    with Image.open(io.BytesIO(screenshot)) as picture:
        few = picture.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
        few.save(file, optimize=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--serve", type=int, metavar="PORT", help="0: a free one")
    return parser.parse_args()


if __name__ == "__main__":
    main()
