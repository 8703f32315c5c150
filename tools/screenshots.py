"""Takes the pictures of the page that README shows: python tools/screenshots.py [--serve PORT]

The real program, with the real model, fills a small made-up data directory with backdated entries.
`--serve` serves the page instead, to look around in.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from PIL import Image

ROOT = Path(__file__).parents[1]
PROGRAM = Path(sys.executable).with_name("memory-sidecar")
DEMO = Path(__file__).with_name("demo.json")
PICTURES = ROOT / "docs" / "pictures"
SOURCES = ("memory_sidecar/code", "memory_sidecar/memories", "memory_sidecar/index", "docs")
DAY_S = 86_400
WIDTH, HEIGHT = 960, 600
COLOURS = 128  # of a picture, so that it is small

ASKING = {"code": ["search"], "memories": ["query"], "sessions": ["session", "search"]}
BASIS = {"experiment": "--link", "knowledge": "--evidence", "pattern": "--source-experiment"}


def main() -> None:
    options = _options()
    content = json.loads(DEMO.read_text("utf-8"))
    with tempfile.TemporaryDirectory(prefix="memory-sidecar-page-") as scratch:
        demo = Demo(Path(scratch), time.time())
        try:
            demo.fill(content)
            url = demo.run("web", "--no-open", "--port", str(options.serve or 0))["url"]
            if options.serve is None:
                shoot(url, content["views"])
            else:
                print(url, flush=True)
                threading.Event().wait()  # until it is interrupted
        finally:
            demo.run("stop")


@dataclass(frozen=True)
class Demo:
    """Fills `folder` with the contents of `demo.json`, dated back from `now`."""

    folder: Path
    now: float

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def project(self) -> Path:
        return self.folder / "memory-sidecar"

    @property
    def environ(self) -> dict[str, str]:
        return {
            **os.environ,
            "MEMORY_SIDECAR_DATA_DIR": str(self.data),
            "MEMORY_SIDECAR_CONTEXT_ROOT": str(self.folder / "context"),
            "MEMORY_SIDECAR_RERANK": "false",
        }

    def fill(self, content: dict[str, Any]) -> None:
        copied(self.project)
        self.run("index", ".", "--wait", "dense")
        for memory in content["memories"]:
            self.write_memory(memory)
        for session in content["sessions"]:
            self.save_session(session)
        for agent in {each["agent"] for each in content["memories"]}:
            self.run("reindex", "--agent", agent)
        self.make_atoms(content["atoms"])
        self.ask(content["questions"])
        for judged in content["judged"]:
            self.run("judged", "add", judged["text"], judged["place"])

    def run(self, *arguments: str, stdin: str = "") -> Any:  # noqa: ANN401  JSON
        done = subprocess.run(
            [PROGRAM, *arguments, "--json"],
            cwd=self.project,
            env=self.environ,
            input=stdin,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        return json.loads(done.stdout)

    def write_memory(self, memory: dict[str, Any]) -> None:
        """Write the file of `memory`, backdated by its days, and record its reads."""
        made = self.now - memory["days"] * DAY_S
        file = self.data / "knowledge" / memory["agent"] / memory["path"]
        file.parent.mkdir(parents=True, exist_ok=True)
        meta = {"created_at": iso(made), "updated_at": iso(made), **memory["meta"]}
        lines = "".join(f"{key}: {json.dumps(value)}\n" for key, value in meta.items())
        file.write_text(f"---\n{lines}---\n\n{memory['content']}\n", encoding="utf-8")
        step = (self.now - made) / (memory["reads"] + 1)
        self.note_reads(
            memory["agent"],
            ((memory["path"], made + step * (number + 1)) for number in range(memory["reads"])),
        )

    def note_reads(self, agent: str, reads: Iterable[tuple[str, float]]) -> None:
        log = self.data / "knowledge" / ".state" / agent / "access.jsonl"
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("a", encoding="utf-8") as file:
            for path, at in reads:
                file.write(json.dumps({"ts": iso(at), "file": path, "tool": "get"}) + "\n")

    def save_session(self, session: dict[str, Any]) -> None:
        """Save `session`, whose times are given as days ago."""
        began, agent = self.now - session["days"] * DAY_S, session["agent"]
        document = session["document"] | {"created_at": iso(began), "updated_at": iso(began)}
        for number, message in enumerate(document["messages"]):
            message["created_at"] = iso(began + number * 90)
        self.run("session", "save", "-", "--agent", agent, stdin=json.dumps(document))
        self.note_reads(agent, ((path, began + 60) for path in session["recalled"]))

    def make_atoms(self, atoms: list[dict[str, Any]]) -> None:
        """Make a dense-context root with one project, and record the reads of each atom."""
        self.run("context", "init", str(self.folder / "context"), "--project", "ranking")
        reads = {}
        for atom in atoms:
            kind = atom["kind"]
            words = ["--status", atom["status"], "--body", "Measured."]
            words += [word for each in atom["basis"] for word in (BASIS[kind], each)]
            made = self.run("context", "new", kind, atom["summary"], *words)
            reads[made["path"]] = atom["reads"]
        for number in range(max(reads.values())):
            read = [path for path, times in reads.items() if times > number]
            self.run("context", "access", *read)
        self.run("context", "regen")

    def ask(self, questions: list[dict[str, Any]]) -> None:
        """Ask each question once, and record it as if asked repeatedly over the past days."""
        for each in questions:
            of_agent = [] if each["kind"] == "code" else ["--agent", each["agent"]]
            self.run(*ASKING[each["kind"]], each["text"], *of_agent)
        self.run("stop")  # the daemon writes the log after the answer, at the latest at its end
        log = self.data / "questions" / "asked.jsonl"
        asked = zip(questions, log.read_text("utf-8").splitlines(), strict=True)
        noted = [
            json.loads(line)
            | {"agent": each["agent"], "at": int(1000 * (self.now - n * each["days"] * DAY_S))}
            for each, line in asked
            for n in range(each["times"])
        ]
        log.write_text("".join(json.dumps(line) + "\n" for line in noted), encoding="utf-8")


def copied(project: Path) -> Path:
    """Make `project`, a project to search: a copy of some folders of this repository."""
    for source in SOURCES:
        ignored = shutil.ignore_patterns("__pycache__", "*.png")
        shutil.copytree(ROOT / source, project / source, ignore=ignored)
    return project


def iso(epoch_s: float) -> str:
    return datetime.fromtimestamp(epoch_s, UTC).isoformat(timespec="milliseconds")


def shoot(url: str, views: dict[str, str]) -> None:
    """Take a picture of each view in dark and light. `views`: addresses by name of picture."""
    from playwright.sync_api import sync_playwright

    PICTURES.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-lcd-text"]
        )
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        page.goto(url)
        page.wait_for_url("**/memories")
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            for name, address in views.items():
                page.goto(urljoin(url, address))
                page.wait_for_load_state("networkidle")
                keep(page.screenshot(), PICTURES / f"{name}-{scheme}.png")
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
