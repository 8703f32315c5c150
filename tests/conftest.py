"""A small project, the ways to index it, and the ways to ask.

Three ways to run: `sidecar` starts the program, as a host does; `run` runs a command line in this
process; `make_codebase` gives the handler itself, with a model that costs nothing. Every command
that a test starts runs in its own process, unless the test is about the daemon.
"""

from __future__ import annotations

import gc
import hashlib
import io
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import psutil
import pytest

from memory_sidecar.agents.agent import Agent
from memory_sidecar.agents.services import Services
from memory_sidecar.cli.call import Call
from memory_sidecar.cli.main import run as run_call
from memory_sidecar.code.handlers import Codebase
from memory_sidecar.core.errors import ModelMissing
from memory_sidecar.core.paths import SHARED, DataDir, StorePaths
from memory_sidecar.core.settings import Settings
from memory_sidecar.core.times import Clock, system_clock
from memory_sidecar.disk.frontmatter import new_page
from memory_sidecar.embedding.embedder import Embedder, OnDemand, Reranker
from memory_sidecar.embedding.models import Models
from memory_sidecar.embedding.static import StaticEmbedder, find_static
from memory_sidecar.embedding.supply import BGE_SMALL, ModelFiles
from tests.finished import Finished

for name in [each for each in os.environ if each.startswith("MEMORY_SIDECAR_")]:
    del os.environ[name]  # the developer's own
os.environ["MEMORY_SIDECAR_NO_DAEMON"] = "1"
os.environ["XDG_CONFIG_HOME"] = os.devnull  # nothing that the developer has set or trusts
# A shell has what it runs in the background ignore interrupts, and so would all that is started.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--faults", choices=("short", "full"), default="short", help="how much of them"
    )
    parser.addoption(
        "--write-golden", action="store_true", help="write down the order of hits as it is now"
    )


MEMORY_DISK = Path("/dev/shm")
MEMORY_NEEDED = 4 << 30  # bytes free; a run takes half a gigabyte


def pytest_configure() -> None:
    """Keep temporary files in memory where there is room: half of a run was waiting for the disk.

    PYTEST_DEBUG_TEMPROOT keeps them elsewhere.
    """
    if sys.platform != "linux" or not os.access(MEMORY_DISK, os.R_OK | os.W_OK | os.X_OK):
        return
    found = os.statvfs(MEMORY_DISK)
    room = min(found.f_bavail * found.f_frsize, psutil.virtual_memory().available)
    if room >= MEMORY_NEEDED and not found.f_flag & os.ST_NOEXEC:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY_DISK))


SLOW = (
    *("tests/e2e/", "tests/faults/", "tests/security/"),
    *(f"tests/mcp/test_{name}.py" for name in ("pump", "many_clients", "foreign_clients")),
)


@pytest.hookimpl(tryfirst=True)  # before `-m` is asked
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if item.nodeid.startswith(SLOW):
            item.add_marker("slow")
    if config.getoption("--faults") != "full":
        left_out = [item for item in items if item.get_closest_marker("full")]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


PROGRAM = Path(sys.executable).with_name("memory-sidecar")

PROJECT = {
    "shop/cart.py": '''
class Cart:
    """What a customer is about to buy."""

    def add_item(self, item, count=1):
        self.items[item] = self.items.get(item, 0) + count

    def total_price(self):
        return sum(item.price * count for item, count in self.items.items())
''',
    "shop/payment.py": '''
def charge_card(card, amount):
    """Take the money, or raise Declined."""
    response = post("https://bank.example/charge", card=card.number, amount=amount)
    if response.status != 200:
        raise Declined(response.reason)
''',
    "shop/Order.cs": """
namespace Shop
{
    /// <summary>A cart that was paid for.</summary>
    public class Order
    {
        public decimal TotalPrice() => Lines.Sum(line => line.Price * line.Count);
    }
}
""",
    "web/retry.ts": """
export async function retryWithBackoff<T>(attempt: () => Promise<T>, times = 3): Promise<T> {
  for (let n = 1; ; n++) {
    try { return await attempt(); } catch (error) { if (n === times) throw error; }
  }
}
""",
    "game/player.gd": """
extends CharacterBody2D

func _physics_process(delta):
    velocity.y += gravity * delta
    move_and_slide()
""",
    "docs/setup.md": "# Setup\n\n## Linux\n\nInstall the package and start the service.\n",
    "settings.toml": '[server]\nport = 8080\nname = "köln"\n',
    "日本語.py": "def 検索(語):\n    return 索引[語]\n",
    "logo.png": "\x89PNG\r\n\x1a\n\x00\x00",
}


@dataclass
class Notices:
    """A `Reporter` that remembers."""

    said: list[str] = field(default_factory=list)
    waits = True

    def notice(self, text: str) -> None:
        self.said.append(text)

    def progress(self, stage: str, done: int, total: int) -> None: ...

    def has(self, words: str) -> bool:
        return any(words in text for text in self.said)


@lru_cache(10_000)
def _of_word(word: str, dimension: int) -> npt.NDArray[np.float64]:
    seed = int.from_bytes(hashlib.sha256(word.encode("utf-8", "replace")).digest()[:8])
    return np.random.default_rng(seed).standard_normal(dimension)


class HashEmbedder:
    """Unit vectors from a hash of each word: texts that share words lie close to each other."""

    def __init__(self, files: ModelFiles) -> None:
        self.files = files
        self.embedded: list[str] = []
        self._lock = threading.Lock()

    def load(self) -> None: ...

    def embed_query(self, text: str) -> npt.NDArray[np.float32]:
        counts = Counter(text.lower().split() or [""])
        words = np.stack([_of_word(word, self.files.spec.dimension) for word in counts])
        total = np.array(list(counts.values())) @ words
        vector: npt.NDArray[np.float32] = (total / np.linalg.norm(total)).astype(np.float32)
        return vector

    def embed_passages(
        self, texts: Sequence[str], *, stop: threading.Event | None = None
    ) -> npt.NDArray[np.float32]:
        del stop
        with self._lock:
            self.embedded += texts
        return np.stack([self.embed_query(text) for text in texts])


def _static() -> StaticEmbedder | None:
    """One for all tests: reading its table takes as long as many a test."""
    with suppress(ModelMissing):  # where its package is not made for the machine
        return StaticEmbedder(find_static())
    return None


STATIC = _static()


def load_once(kind: type[OnDemand[Any]]) -> None:
    """Have the installed model loaded once for all tests, whatever opens it anew."""
    load = kind._load
    loaded: dict[str, Any] = {}

    def kept(model: Any) -> Any:
        files = str(model.files)
        if sys.prefix not in files:  # a test's own, which it may change
            return load(model)
        if files not in loaded:
            loaded[files] = load(model)
        return loaded[files]

    kind._load = kept  # type: ignore[assignment, method-assign]


for model in (StaticEmbedder, Embedder, Reranker):
    load_once(model)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Look through 7,000 tests and all modules for garbage neither now nor between the tests."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


class HashModels(Models):
    """Models that take no time. `version` makes another one of it, "" none at all."""

    def __init__(self, cache: Path, *, version: str = "1") -> None:
        super().__init__(Settings(), cache=cache)
        self.version = version
        self._hashing: HashEmbedder | None = None
        self._static = STATIC
        self._static_problem = None if STATIC else ModelMissing("no table here")

    @property
    def files(self) -> ModelFiles:
        if not self.version:
            raise ModelMissing("no model here", hint="get one")
        name = f"hash {self.version}"
        sha256 = hashlib.sha256(name.encode()).hexdigest()
        return ModelFiles(replace(BGE_SMALL, name=name), Path(), "configured", "", sha256)

    @property
    def embedder(self) -> Any:  # a HashEmbedder, where an Embedder is expected
        files = self.files
        if self._hashing is None or self._hashing.files != files:
            self._hashing = HashEmbedder(files)
        return self._hashing

    @property
    def reranker(self) -> Reranker | None:
        return self._reranker

    @property
    def static(self) -> StaticEmbedder | None:
        return self._static


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with a few files in several languages."""
    return write_project(tmp_path / "project")


def write_project(root: Path) -> Path:
    for path, text in PROJECT.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(text.encode("latin-1" if "PNG" in text else "utf-8"))
    return root


def write_other_project(root: Path) -> Path:
    """One of a single file, `lamp.py`, which defines `switch_on`."""
    root.mkdir()
    (root / "lamp.py").write_text("def switch_on():\n    return True\n")
    return root


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def notices() -> Notices:
    return Notices()


@pytest.fixture
def make_codebase(data_dir: Path) -> Iterator[Callable[..., Codebase]]:
    """`make_codebase()` opens the data directory's codebase anew, as another process would."""
    opened: list[Codebase | HashModels] = []

    def make(*, model: str = "1", data_dir: Path = data_dir, **options: Any) -> Codebase:
        models = HashModels(data_dir / "embeddings.sqlite", version=model)
        codebase = Codebase(
            StorePaths(data_dir / "codebase.sqlite"),
            models=models,
            **{
                "settings": Settings(),
                "clock": system_clock,
                "own_folders": [data_dir],
                **options,
            },
        )
        opened.extend((codebase, models))
        return codebase

    yield make
    for each in opened:
        each.close()


@pytest.fixture
def make_agent(data_dir: Path) -> Iterator[Callable[..., Agent]]:
    """`make_agent(name)` opens an agent anew, as another process would."""
    opened: list[Agent | HashModels] = []

    def make(name: str = "architect", *, model: str = "1", clock: Clock = system_clock) -> Agent:
        models = HashModels(data_dir / "embeddings.sqlite", version=model)
        paths = DataDir(data_dir).agent(name)
        shared = None
        if name != SHARED:
            shared = Agent(paths.shared, models=models, clock=clock, shared=None)
            opened.append(shared)
        agent = Agent(paths, models=models, clock=clock, shared=shared)
        opened.extend((agent, models))
        return agent

    yield make
    for each in opened:
        each.close()


def write_memory(
    folder: Path, path: str, content: str = "Something to keep.", **meta: object
) -> Path:
    """A memory's file at `path`, as a person would write it: the keys of `meta`, then a body."""
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    stamps = {"created_at": "2026-03-01T09:12:00Z", "updated_at": "2026-03-01T09:12:00Z"}
    file.write_text(new_page(stamps | meta, content + "\n"), encoding="utf-8", newline="")
    return file


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., Finished]:
    return run_in(tmp_path)


def run_in(folder: Path) -> Callable[..., Finished]:
    """Runs a command line in this process, its output not on a terminal, its data in `folder`."""
    environ = {
        "MEMORY_SIDECAR_DATA_DIR": str(folder / "data"),
        "XDG_CONFIG_HOME": str(folder / "config"),
    }
    return partial(run_here, environ=environ, cwd=folder)


@contextmanager
def hashing_services(data: Path) -> Iterator[Services]:
    """An empty data directory, with a model that costs nothing."""
    with closing(Services(DataDir(data), Settings())) as services:
        services.models.close()
        services.models = HashModels(data / "embeddings.sqlite")
        yield services


@pytest.fixture
def services(data_dir: Path) -> Iterator[Services]:
    with hashing_services(data_dir) as services:
        yield services


@pytest.fixture
def serve(data_dir: Path, tmp_path: Path) -> Iterator[Callable[..., Finished]]:
    """As `run`, with everything kept open in between, as a daemon does."""
    with closing(Services(DataDir(data_dir), Settings())) as services:
        yield run_with(services, cwd=tmp_path)


def run_with(services: Services, *, cwd: Path) -> Callable[..., Finished]:
    """Runs command lines with `services`, which stay open."""
    return partial(
        run_here,
        environ={},
        cwd=cwd,
        open_services=lambda _: nullcontext(services),
    )


def run_here(*arguments: str | Path, stdin: bytes = b"", **made: Any) -> Finished:
    out, err = io.StringIO(), io.StringIO()
    call = Call(
        arguments=tuple(map(str, arguments)),
        stdin=io.BytesIO(stdin),
        stdout=out,
        stderr=err,
        is_terminal=False,
        shows_progress=False,
        columns=80,
        **made,
    )
    return Finished(run_call(call), out.getvalue(), err.getvalue())


@pytest.fixture
def sidecar(data_dir: Path, tmp_path: Path) -> Callable[..., Finished]:
    """Runs the program itself, without a daemon."""

    def sidecar(
        *arguments: str | Path,
        stdin: bytes = b"",
        cwd: Path = tmp_path,
        before: Callable[[], None] | None = None,
        **environ: str,
    ) -> Finished:
        done = subprocess.run(
            [PROGRAM, *arguments],
            input=stdin,
            cwd=cwd,
            env=os.environ | {"MEMORY_SIDECAR_DATA_DIR": str(data_dir)} | environ,
            preexec_fn=before,
            capture_output=True,
            check=False,
        )
        return Finished(done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8"))

    return sidecar


@pytest.fixture(scope="session")
def _indexed_once(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("indexed")
    root, data = write_project(folder / "project"), folder / "data"
    subprocess.run(
        [PROGRAM, "index", root, "--db", data / "codebase.sqlite"],
        env=os.environ | {"MEMORY_SIDECAR_DATA_DIR": str(data)},
        capture_output=True,
        check=True,
    )
    return root, data


@pytest.fixture
def indexed(_indexed_once: tuple[Path, Path], data_dir: Path) -> Path:
    """The root of a project that is indexed in `data_dir` by the real model. Not to be changed."""
    root, data = _indexed_once
    shutil.copytree(data, data_dir)
    return root


@pytest.fixture
def known_vectors(_indexed_once: tuple[Path, Path], data_dir: Path) -> None:
    """The real model's vectors of `project`, so that indexing it need not load the model."""
    data_dir.mkdir()
    shutil.copy(_indexed_once[1] / "embeddings.sqlite", data_dir)
