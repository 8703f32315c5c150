"""Which chunks are in which files, whatever a reader adds or a filter asks meanwhile."""

from __future__ import annotations

import sys
import threading

import apsw

from memory_sidecar.code.directory import ChunkDirectory, ChunkFiles
from memory_sidecar.code.model import ChunkFile, CodeFilter
from memory_sidecar.code.rows import LocalRows
from memory_sidecar.core.results import Silent
from memory_sidecar.index.report import VectorCounts

CREATE = (
    "CREATE TABLE code_chunks"
    " (id INTEGER PRIMARY KEY, source, filename, language, symbols DEFAULT '', scope DEFAULT '')"
)
ADD = "INSERT INTO code_chunks (id, source, filename, language) VALUES (?, 'shop', ?, 'python')"


def test_the_file_at_the_root_comes_before_those_in_folders() -> None:
    files = ChunkFiles()
    for path in ("a/README.md", "a/b/README.md", "README.md"):
        files.number_of(ChunkFile("shop", path, "markdown"))
    found = [file.path for file in files.at("README.md")]
    assert found == ["README.md", "a/README.md", "a/b/README.md"]


def test_of_many_chunks_that_are_deleted_a_new_reader_keeps_none_and_an_older_one_all():
    rows = apsw.Connection(":memory:")
    rows.execute(CREATE)
    rows.executemany(ADD, [(number, f"old/{number}.py") for number in range(1, 3001)])
    directory = ChunkDirectory()
    before = directory.read(rows)
    rows.execute("DELETE FROM code_chunks")
    rows.execute(ADD, (3001, "new.py"))
    after = directory.read(rows)
    assert (after.ids.tolist(), [file.path for file in after.files]) == ([3001], ["new.py"])
    assert before.ids.tolist() == list(range(1, 3001))
    assert before.files.at("2999.py") == [ChunkFile("shop", "old/2999.py", "python")]


def test_files_are_found_by_name_while_another_reader_adds_some():
    rows = apsw.Connection(":memory:")
    rows.execute(CREATE)
    rows.executemany(ADD, [(number, f"{number}.py") for number in range(1, 1001)])
    directory = ChunkDirectory()
    before = directory.read(rows)

    def grow() -> None:
        for number in range(1001, 1501):
            rows.execute(ADD, (number, f"{number}.py"))
            directory.read(rows)

    growing = threading.Thread(target=grow)
    patience_s = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        growing.start()
        while growing.is_alive():
            assert [file.path for file in before.files.called("7")] == ["7.py"]
    finally:
        sys.setswitchinterval(patience_s)
        growing.join()


WANTED = (
    CodeFilter(sources=("cart",)),
    CodeFilter(sources=("cart", "shop")),
    CodeFilter(sources=("shop",), languages=("python",)),
    CodeFilter(languages=("markdown",)),
)


def test_a_filter_and_its_counts_follow_two_sources_that_change_in_turn(make_codebase, tmp_path):
    codebase = make_codebase()
    folders = [tmp_path / name for name in ("cart", "shop")]
    for turn, folder in enumerate(folders * 3):
        folder.mkdir(exist_ok=True)
        for name in ("first", "second", "third")[turn // 2 :]:
            (folder / f"{name}.py").write_text(f"def {name}():\n    return {turn}\n")
        (folder / f"{turn}.md").write_text("A note.\n")
        codebase.index([folder], reporter=Silent(), embed=turn == 2)
        store = codebase.data.open()
        with store.reading() as connection:
            chunks = list(
                connection.execute(
                    "SELECT c.id, c.source, c.language, p.id IS NOT NULL, symbols, scope"
                    " FROM code_chunks c"
                    " LEFT JOIN chunk_pending p ON p.id = c.id"
                )
            )
            for wanted in WANTED:
                rows = LocalRows(connection, store, wanted)
                named = dict(rows.symbols_of([each[0] for each in chunks]))
                assert named == {each[0]: each[4:] for each in chunks}
                counts = rows.vector_counts()
                sources = wanted.sources or ("cart", "shop")
                of_sources = [each for each in chunks if each[1] in sources]
                assert counts == VectorCounts(len(of_sources), sum(each[3] for each in of_sources))
                satisfying = {
                    each[0]
                    for each in of_sources
                    if not wanted.languages or each[2] in wanted.languages
                }
                known = {each[0] for each in chunks}
                allowed = known if rows.allowed is None else known.intersection(rows.allowed)
                assert allowed == satisfying
