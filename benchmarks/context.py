"""Measures dense-context roots: python benchmarks/context.py [--json FILE] [--quick]

Each command is timed as a whole process, and unless a figure says otherwise there is no daemon and
no file has changed. The vectors of the summaries are random numbers, put into the cache beforehand:
looking them up and comparing them costs the same as with real ones. About two minutes on two cores.
"""

from __future__ import annotations

import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import date, timedelta
from pathlib import Path

from command import run_command
from figures import Results
from options import figure_options
from served import served
from vectors import random_vectors

from memory_sidecar.agents.services import Services
from memory_sidecar.context.atoms import read_shelf
from memory_sidecar.context.handlers import init
from memory_sidecar.context.layout import Project, Root
from memory_sidecar.disk.atoms import AtomKind
from memory_sidecar.disk.frontmatter import new_page
from memory_sidecar.embedding.cache import VectorCache, vector_key

RUNS = 5
SHARES = {AtomKind.EXPERIMENT: 0.6, AtomKind.KNOWLEDGE: 0.3, AtomKind.PATTERN: 0.1}
WORDS = """
    cache latency retry pool index query shard replica schema migration token parser chunk vector
    recall precision batch timeout queue worker lock snapshot page budget gradient sampler decoder
    prompt trace metric alert rollout canary region quota scheduler cursor stream buffer codec
""".split()
VERBS = "reduces raises breaks explains halves doubles hides exposes removes delays".split()


def main() -> None:
    parser = figure_options(__doc__)
    parser.add_argument("--quick", action="store_true", help="one run of each, 40 new atoms")
    options = parser.parse_args()
    runs = 1 if options.quick else RUNS
    results = Results()
    with tempfile.TemporaryDirectory(prefix="memory-sidecar-context-") as scratch:
        work = Path(scratch)
        small, large = work / "small", work / "large"
        make_root(small, projects=1, atoms=300)
        make_root(large, projects=10, atoms=10_000)

        def add(name: str, seconds: Callable[[Path, Path], float], root: Path) -> None:
            taken = statistics.median(seconds(root, work) for _ in range(runs))
            results.add(name, taken, "s", note=f"median of {runs}")

        results.add("regen, 300 atoms, first", regen_seconds(small, work), "s")
        add("regen, 300 atoms", regen_seconds, small)
        results.add("regen, 10,000 atoms, first", regen_seconds(large, work), "s")
        add("regen, 10,000 atoms, one changed", changed_seconds, large)
        add("regen, 10,000 atoms", regen_seconds, large)
        with served(work / "data") as daemon:
            daemon.start()

            def asked_seconds(root: Path, _: Path) -> float:
                return daemon.call("context", "regen", "--all", "--root", root)

            add("regen, 300 atoms, by a daemon", asked_seconds, small)
            add("regen, 10,000 atoms, by a daemon", asked_seconds, large)
        remember_random_vectors(large, work)
        add("check, 10,000 atoms", check_seconds, large)
        each = 20 if options.quick else 200
        new_a_second = new_at_once(small, work, each=each)
        results.add("context new by two processes", new_a_second, "atoms/s")
    results.write("context", options)


def make_root(path: Path, *, projects: int, atoms: int) -> None:
    """Write a root whose atoms have bodies of 2 KB, refer to earlier atoms and have some reads."""
    chance = random.Random(1)
    for number in range(projects):
        init(path, project=f"project-{number}")
        project = Project(Root(path), f"project-{number}")
        for kind, share in SHARES.items():
            for atom in range(1, int(atoms / projects * share) + 1):
                page = new_page(_frontmatter(chance, project, kind, atom), _body(chance))
                name = f"{kind.prefix}-{atom:03}.md"
                (project.folder(kind) / name).write_text(page, encoding="utf-8")
        lines = [
            {"ts": f"2026-05-{1 + n % 28:02}T10:00:00.000Z", "file": f"experiments/EXP-{n:03}.md"}
            for n in (chance.randint(1, 100) for _ in range(1000))
        ]
        log = "".join(json.dumps(line | {"tool": "Read"}) + "\n" for line in lines)
        project.access_log.write_text(log, encoding="utf-8")


def regen_seconds(root: Path, work: Path) -> float:
    run = run_command("context", "regen", "--all", "--root", root, data_dir=work / "data", cwd=work)
    return run.seconds


def changed_seconds(root: Path, work: Path) -> float:
    atom = root / "projects/project-3/experiments/EXP-050.md"
    text = atom.read_text(encoding="utf-8")
    atom.write_text(text.replace("summary: ", "summary: again "), encoding="utf-8")
    return regen_seconds(root, work)


def check_seconds(root: Path, work: Path) -> float:
    run = run_command(
        "context", "check", "--root", root,
        data_dir=work / "data", cwd=work, statuses=(0, 1),
    )  # fmt: skip
    return run.seconds


def remember_random_vectors(root: Path, work: Path) -> None:
    """Put random vectors into the cache, under the model that the command will use."""
    services = Services.find(data_dir=work / "data", cwd=work, environ=os.environ)
    sha256 = services.models.files.sha256
    services.close()
    summaries = {
        atom.facts.summary
        for project in Root(root).projects()
        for kind in AtomKind
        for atom in read_shelf(project, kind).atoms
    }
    cache = VectorCache(work / "data" / "embeddings.sqlite")
    keys = (vector_key(sha256, summary) for summary in sorted(summaries))
    cache.put_many(dict(zip(keys, random_vectors(len(summaries)), strict=True)))
    cache.close()


def new_at_once(root: Path, work: Path, *, each: int) -> float:
    """Run two processes at once that each create `each` atoms by consecutive commands."""
    script = (
        "import sys, time\n"
        "from memory_sidecar.cli.main import main\n"
        "started = time.perf_counter()\n"
        f"for _ in range({each}):\n"
        "    assert main(sys.argv[1:]) == 0\n"
        "print(time.perf_counter() - started, file=sys.stderr)\n"
    )
    arguments = ["context", "new", "experiment", "one of many", "--project", "project-0"]
    command = [sys.executable, "-c", script, *arguments, "--root", str(root), "--json"]

    def run(_: int) -> subprocess.CompletedProcess[str]:
        return subprocess.run(command, cwd=work, capture_output=True, text=True, check=True)

    with ThreadPoolExecutor(2) as threads:
        done = list(threads.map(run, range(2)))
    ids = [json.loads(line)["id"] for each_done in done for line in each_done.stdout.splitlines()]
    assert len(ids) == len(set(ids)) == 2 * each, "a number was given twice"
    return 2 * each / max(float(each_done.stderr) for each_done in done)


def _frontmatter(
    chance: random.Random, project: Project, kind: AtomKind, number: int
) -> dict[str, object]:
    earlier = [f"EXP-{chance.randint(1, max(number - 1, 1)):03}" for _ in range(2)]
    day = date(2026, 1, 1) + timedelta(days=number % 200)
    meta: dict[str, object] = {
        "id": f"{kind.prefix}-{number:03}",
        "date": day.isoformat(),
        "project": project.name,
        "summary": " ".join(_sentence(chance)),
        "tags": chance.sample(WORDS, 3),
        "status": chance.choice(["valid", "valid", "partial", "superseded:EXP-001"]),
    }
    match kind:
        case AtomKind.EXPERIMENT:
            meta |= {"executor": "lab2", "links": earlier[:1]}
        case AtomKind.KNOWLEDGE:
            meta |= {"evidence": earlier}
        case _:
            meta |= {"source-experiments": earlier}
    return meta


def _body(chance: random.Random) -> str:
    sections = ("Background", "Execution", "Results", "Conclusion", "Reflection")
    paragraphs = (
        f"\n## {name}\n\n" + " ".join(word for _ in range(6) for word in _sentence(chance)) + ".\n"
        for name in sections
    )
    return "".join(paragraphs)


def _sentence(chance: random.Random) -> Iterator[str]:
    yield from (*chance.sample(WORDS, 3), chance.choice(VERBS), *chance.sample(WORDS, 3))
    yield str(chance.randint(2, 999))


if __name__ == "__main__":
    main()
