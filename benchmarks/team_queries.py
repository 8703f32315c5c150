"""Measures searches of a team's database: python benchmarks/team_queries.py --kept DIR [--chunks N]

Words, names and static vectors come from a public source archive, whose rows are copied until there
are enough chunks. The model's vectors are the static ones rotated by a random matrix, with noise:
embedding 100,000 chunks takes an hour, and plain random vectors have no neighbours to find. A query
is measured without a model, and with one whose own time is subtracted: then words and static
vectors are looked up while it works, as in a daemon. DIR keeps the database for the next run.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path

import numpy as np
import numpy.typing as npt
import psutil
import psycopg
from figures import Results
from latency import QUESTIONS
from options import figure_options, whole
from postgres import started_server
from trees import chosen_tree, copy_part

from memory_sidecar.agents.services import Services
from memory_sidecar.code.model import CodeFilter, CodeQuery
from memory_sidecar.code.rows import CodeRows, LocalRows
from memory_sidecar.code.search import search_code, take_apart
from memory_sidecar.core.paths import DataDir
from memory_sidecar.core.process import SWITCH_INTERVAL_S, collect_seldom
from memory_sidecar.core.results import Silent
from memory_sidecar.core.settings import Settings
from memory_sidecar.index.arms import SEARCH_POOL
from memory_sidecar.team.code_write import copy_vectors, copy_words
from memory_sidecar.team.connection import SCHEMA_NAME
from memory_sidecar.team.postings import ENTRY

CONFIG = '[remote "origin"]\n\turl = git@git.example:bench/{name}.git\n'
ROUNDS = 3
FILTERED = ("/django/db/",)  # one chunk in about twenty
NEAREST = 10

Floats = npt.NDArray[np.float32]
Ids = npt.NDArray[np.int64]


def main() -> None:
    options = _options()
    results = Results()
    options.kept.mkdir(parents=True, exist_ok=True)
    options.kept.chmod(0o755)
    server = started_server(options.kept / "postgres")
    tree = chosen_tree(options)
    with psycopg.connect(server.get_uri(), autocommit=True) as connection:
        known = connection.execute("SELECT 1 FROM pg_database WHERE datname = 'large'").fetchone()
        if not known:
            connection.execute("CREATE DATABASE large")
    address = server.get_uri().replace("/postgres?", "/large?")
    if not known:
        filled = Results()
        fill(filled, options.kept, address, tree, chunks=options.chunks)
        filled.write("team-fill", options)
    measure_queries(results, options.kept, address)
    results.write("team-queries", options)


def _options() -> argparse.Namespace:
    parser = figure_options(__doc__, tree=True)
    parser.add_argument("--chunks", type=whole(1), default=100_000)
    parser.add_argument("--kept", type=Path, required=True, metavar="DIR")
    return parser.parse_args()


def fill(results: Results, work: Path, address: str, tree: Path, *, chunks: int) -> None:
    """Fill the database with `chunks` chunks of one source, their vectors and indexes."""
    root = clone(work / "whole", tree, every=1)
    with closing(Services(DataDir(work / "giver"), Settings(database=address))) as giver:
        giver.codebase().index([root], reporter=Silent(), embed=False)
    results.add("chunks", _copy_rows(address, chunks), "chunks")
    with psycopg.connect(address, autocommit=True) as owner:
        owner.execute("VACUUM ANALYZE")
        started = time.perf_counter()
        owner.execute(f"SELECT {SCHEMA_NAME}.declare_nearest()")
        results.add("indexes of vectors made in", time.perf_counter() - started, "s")
        owner.execute("VACUUM ANALYZE")
        for name, size in (
            ("database", "pg_database_size(current_database())"),
            (
                "index of the model's vectors",
                f"pg_relation_size('{SCHEMA_NAME}.chunk_vectors_nearest')",
            ),
            ("index of static vectors", f"pg_relation_size('{SCHEMA_NAME}.chunk_static_nearest')"),
        ):
            row = owner.execute(f"SELECT {size} / 1e6").fetchone()
            assert row
            results.add(name, float(row[0]), "MB")


class Asked:
    """A reader's machine: a clone without local changes."""

    def __init__(self, work: Path, address: str) -> None:
        self._services = Services(DataDir(work / "reader"), Settings(database=address))
        static = self._services.models.static
        assert static
        self._static = static
        self._turn = turning()
        self._embedded: dict[str, Floats] = {}
        self._model = self._services.models.embedder
        self._number = count()
        self._model_runs: list[tuple[float, float]] = []  # of one search: begin and end
        self.codebase = self._services.codebase()
        self.source = self.codebase.registry.add(work / "whole")

    def static(self, text: str) -> Floats:
        vector: Floats = self._static.embed([text])[0]
        return vector

    def vector(self, text: str) -> Floats:
        """Return the vector of `text`, from memory the second time."""
        if text not in self._embedded:
            vector: Floats = self.static(text) @ self._turn
            self._embedded[text] = vector / np.linalg.norm(vector)
        return self._embedded[text]

    def model(self, text: str) -> Floats:
        """Return the vector of `text` after the time that the model takes for it."""
        started = time.perf_counter()
        self._model.embed_query(f"{text} {next(self._number)}")  # new: the last are cached
        self._model_runs.append((started, time.perf_counter()))
        return self.vector(text)

    def search(self, question: str, wanted: CodeFilter, *, embeds: bool = False) -> float:
        """Search like `Codebase.search`; return the ms, without those of the model if `embeds`."""
        self._model_runs.clear()
        query, embed = CodeQuery(question, filter=wanted), self.model if embeds else self.vector
        started = time.perf_counter()
        asked, wordings = take_apart(query, [self.source.name])
        embeddings = [SEARCH_POOL.submit(embed, each) for each in wordings]
        with self.rows(wanted) as (rows, _):
            rows.vector_counts()
            search_code(query, rows, asked, embeddings=embeddings, embed_static=self.static)
        taken = time.perf_counter() - started
        if self._model_runs:
            begun, ended = zip(*self._model_runs, strict=True)
            taken -= max(ended) - min(begun)
        return 1000 * taken

    @contextmanager
    def rows(self, wanted: CodeFilter) -> Iterator[tuple[CodeRows, LocalRows]]:
        team, store = self.codebase.sharing.team, self.codebase.data.open()
        assert team
        with store.reading() as connection:
            local = LocalRows(connection, store, wanted)
            with team.searching(local, [self.source], Silent()) as rows:
                assert rows
                yield rows, local

    def close(self) -> None:
        self._services.close()


def measure_queries(results: Results, work: Path, address: str) -> None:
    """Measure queries over what `fill` wrote, in a warm process that is set up like a daemon."""
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    collect_seldom()
    with closing(Asked(work, address)) as reader:
        for name, wanted in (
            ("query", CodeFilter()),
            ("query, filtered to a part", CodeFilter(path_globs=FILTERED)),
        ):
            for question in QUESTIONS:
                reader.search(question, wanted, embeds=True)
            here_s, there_s = time.process_time(), _server_s(address)
            taken = [reader.search(question, wanted) for question in QUESTIONS * ROUNDS]
            here_s, there_s = time.process_time() - here_s, _server_s(address) - there_s
            results.add_spread(name, taken, wanted=("≤ 15", "≤ 40"))
            results.add(f"{name}, processor time here", 1000 * here_s / len(taken), "ms")
            results.add(f"{name}, processor time there", 1000 * there_s / len(taken), "ms")
            beyond = [
                reader.search(question, wanted, embeds=True) for question in QUESTIONS * ROUNDS
            ]
            results.add_spread(f"{name}, beyond the model", beyond, wanted=("≤ 15", "≤ 40"))
        _measure_recall(results, reader, address)


def _server_s(address: str) -> float:
    """Processor seconds of the server's backend processes."""
    with psycopg.connect(address) as owner:
        rows = owner.execute(
            "SELECT pid FROM pg_stat_activity WHERE datname = current_database()"
            " AND backend_type = 'client backend' AND pid <> pg_backend_pid()"
        ).fetchall()
    return sum(sum(psutil.Process(pid).cpu_times()[:2]) for (pid,) in rows)


def _measure_recall(results: Results, reader: Asked, address: str) -> None:
    with psycopg.connect(address, options=f"-c search_path={SCHEMA_NAME},public") as owner:
        ids, vectors = _vectors(owner, "chunk_vectors")
    found = []
    with reader.rows(CodeFilter()) as (rows, _):
        for question in QUESTIONS:
            best = ids[np.argsort(-(vectors @ reader.vector(question)))[:NEAREST]]
            near = rows.vector_search(static=False)(reader.vector(question), 200).best(NEAREST)
            found.append(len(np.intersect1d(best, near)) / NEAREST)
    results.add("recall@10 of the vector arm", statistics.mean(found), "", wanted="≥ .99")


def turning() -> Floats:
    """The random matrix, (256, 384), that makes model-like vectors of static ones."""
    return np.random.default_rng(1).standard_normal((256, 384), np.float32) / np.float32(16)


def _vectors(connection: psycopg.Connection, table: str) -> tuple[Ids, Floats]:
    ids, vectors = [], []
    with connection.cursor("vectors", binary=True) as cursor:
        cursor.execute(f"SELECT id, embedding::real[] FROM {table} ORDER BY id")
        while rows := cursor.fetchmany(10_000):
            ids.append(np.array([row for row, _ in rows], np.int64))
            vectors.append(np.array([vector for _, vector in rows], np.float32))
    return np.concatenate(ids), np.concatenate(vectors)


def _copy_rows(address: str, chunks: int) -> int:
    """Copy the rows until there are `chunks`, give all of them vectors and return their number."""
    noise = np.random.default_rng(2)
    with psycopg.connect(address, options=f"-c search_path={SCHEMA_NAME},public") as owner:
        row = owner.execute(
            "SELECT max(id), (SELECT max(id) FROM files), count(*), (SELECT id FROM sources)"
            " FROM chunks"
        ).fetchone()
        assert row
        step, file_step, known, source = row
        lists = owner.execute("SELECT term, entries FROM words", binary=True).fetchall()
        owner.execute("DROP INDEX IF EXISTS chunk_static_nearest, chunk_vectors_nearest")
        for copy in range(1, -(-chunks // known)):
            copied = _first_files(owner, file_step, chunks=chunks - copy * known)
            add = {
                "chunks": copy * step,
                "files": copy * file_step,
                "copy": f"copy-{copy}/",
                "copied": copied,
            }
            owner.execute(
                "INSERT INTO files OVERRIDING SYSTEM VALUE SELECT id + %(files)s, source,"
                " %(copy)s || path, language, fingerprint, first_chunk + %(chunks)s, chunks,"
                " generation FROM files WHERE id = ANY(%(copied)s)",
                add,
            )
            owner.execute(
                "INSERT INTO chunks OVERRIDING SYSTEM VALUE SELECT id + %(chunks)s,"
                " file + %(files)s, start_line, end_line, code, symbols, scope, signature, head,"
                " tokens FROM chunks WHERE file = ANY(%(copied)s)",
                add,
            )
            owner.execute(
                "INSERT INTO chunk_static SELECT id + %(chunks)s, source, file + %(files)s,"
                " embedding FROM chunk_static WHERE file = ANY(%(copied)s)",
                add,
            )
            moved: dict[str, bytes] = {}
            for term, entries in lists:
                array = np.frombuffer(entries, ENTRY)
                array = array[np.isin(array["file"], copied)]
                array["row"] += add["chunks"]
                array["file"] += add["files"]
                if len(array):
                    moved[term] = moved.get(term, b"") + array.tobytes()
            with owner.cursor() as cursor:
                copy_words(cursor, source, moved)
        owner.execute(
            "UPDATE sources SET generation = generation + 1,"
            " chunks = (SELECT count(*) FROM chunks), tokens = (SELECT sum(tokens) FROM chunks)"
        )
        owner.execute("UPDATE files SET generation = (SELECT generation FROM sources)")
        files = owner.execute("SELECT file FROM chunk_static ORDER BY id").fetchall()
        ids, vectors = _vectors(owner, "chunk_static")
        vectors = vectors @ turning()
        vectors += noise.standard_normal(vectors.shape).astype(np.float32) * vectors.std() * 0.3
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        with owner.cursor() as cursor:
            copy_vectors(
                cursor,
                "chunk_vectors",
                (
                    (row, source, file, vector)
                    for row, (file,), vector in zip(ids.tolist(), files, vectors, strict=True)
                ),
            )
        owner.execute("TRUNCATE chunk_pending")
    return len(ids)


def _first_files(owner: psycopg.Connection, last: int, *, chunks: int) -> list[int]:
    """Return the ids of the first files, up to the id `last`, that have at most `chunks` chunks."""
    rows = owner.execute(
        "SELECT id FROM (SELECT id, sum(chunks) OVER (ORDER BY id) AS total FROM files"
        " WHERE id <= %s) WHERE total <= %s",
        (last, chunks),
    )
    return [row for (row,) in rows]


def clone(root: Path, tree: Path, *, every: int, name: str = "large") -> Path:
    copy_part(tree, root, every=every)
    (root / "django").mkdir(exist_ok=True)
    (root / ".git").mkdir()
    (root / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (root / ".git" / "config").write_text(CONFIG.format(name=name))
    return root


if __name__ == "__main__":
    main()
