"""What the pages say of limits and waits is what the code has."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from memory_sidecar.agents import beginning, team_files, watching, written
from memory_sidecar.chunking.references import has_references
from memory_sidecar.cli import call, search, web
from memory_sidecar.code import clones
from memory_sidecar.code import ranking as of_code
from memory_sidecar.core import crash_log, language, process, settings
from memory_sidecar.daemon import start
from memory_sidecar.disk import atoms, frontmatter, read, usage
from memory_sidecar.embedding import embedder
from memory_sidecar.grep.dialects import DIALECTS
from memory_sidecar.index import asking, database, lacks, watched
from memory_sidecar.memories import directory, draft, hit, reads
from memory_sidecar.sessions import parts
from memory_sidecar.sessions import ranking as of_sessions
from memory_sidecar.team import code_read, connection, lease, link
from memory_sidecar.web import guard, memories

ROOT = Path(__file__).resolve().parents[1]
WORDS = "zero one two three four five six seven eight nine ten".split()
NUMBERS: dict[str, float] = {word: number for number, word in enumerate(WORDS)}
NUMBERS |= {"twenty": 20, "twenty-three": 23, "half an hour": 30, "half a second": 0.5, "twice": 2}
NUMBER = re.compile(rf"\d[\d,]*|\.\d+|\b(?:{'|'.join(sorted(NUMBERS, reverse=True))})\b")
LANGUAGES = {name for name in language.LANGUAGES if has_references(name)}

FIGURES = [  # a page, its words with the number, and that of the code
    ("README.md", "through twenty-three languages", len(LANGUAGES)),
    ("architecture.md", "that has none (`index/database.py`) | 10 s", database.MISSING_PATIENCE_S),
    ("architecture.md", "rows of that source (`index/lacks.py`) | 2 s", lacks.REST_S),
    ("architecture.md", "(`index/database.py`) | half a second", database.FIRST_LOOK_S),
    ("architecture.md", "(`index/asking.py`) | half a second", asking.RENAMED_PATIENCE_S),
    ("architecture.md", "for vectors (`agents/written.py`) | 10 s", written.EMBED_WITHIN_S),
    ("architecture.md", "counted (`memories/reads.py`) | .2 s", reads.WAIT_S),
    ("architecture.md", "the database (`index/database.py`) | 10 s", database.STORE_PATIENCE_S),
    ("architecture.md", "index run (`index/database.py`) | 60 s", database.INDEX_PATIENCE_S),
    ("architecture.md", "(`memories/directory.py`) | 60 s", directory.LOCK_PATIENCE_S),
    ("architecture.md", "the team (`agents/team_files.py`) | 1 s", team_files.SHORT_WAIT_S),
    ("architecture.md", "and `pull` (`agents/team_files.py`) | 30 s", team_files.WAIT_S),
    ("commands.md", "shows five hits", search.TOP_K_ON_TERMINAL),
    ("commands.md", "Elsewhere it prints ten", search.TOP_K),
    ("context.md", "atoms over two weeks old", atoms.COLD_AFTER.days / 7),
    ("daemon.md", "stops within ten seconds", start.END_TIMEOUT_S + 1),
    ("daemon.md", "Questions wait up to 10 s for first rows", database.MISSING_PATIENCE_S),
    ("hooks.md", "at most 12 memories", beginning.OF_PROJECT + beginning.OF_NONE),
    ("hooks.md", "the last three sessions", beginning.SESSIONS),
    ("host-csharp.md", "that takes 32 MiB", call.MAX_INPUT_BYTES >> 20),
    ("host-csharp.md", "a memory at most 1 MiB", draft.MAX_CONTENT_BYTES >> 20),
    ("ranking.md", "A hit below .58", of_code.WEAK_BELOW),
    ("ranking.md", ".53 or", of_sessions.WEAK_BELOW),
    ("ranking.md", "or .45 (code, messages, memories)", hit.WEAK_BELOW),
    ("memories.md", "waits up to half a second", asking.RENAMED_PATIENCE_S),
    ("security.md", "that has ended three processes", crash_log.MAX_CRASHES),
    ("security.md", "(4 GiB, on Linux), is left out", process.MAX_DATA_BYTES >> 30),
    ("security.md", "a clone of more than 2 GiB", clones.MAX_BYTES >> 30),
    ("security.md", "or 200,000 files is given up", clones.MAX_FILES),
    ("security.md", "beyond 4 MiB the oldest questions go", usage.HALF_BYTES >> 19),
    ("security.md", "opens once, within five minutes", guard.TOKEN_S / 60),
    ("security.md", "with `--stop` or half an hour after", web.IDLE_MINUTES),
    ("sessions.md", "read the best twenty hits", parts.MAX_HITS),
    ("settings.md", "of more than 16 KiB", settings.MAX_UNTRUSTED_BYTES >> 10),
    ("settings.md", "per core, at most 8", embedder.MAX_THREADS),
    ("settings.md", "up to 16 times as large", read.NOTEBOOK_TIMES),
    ("settings.md", "a memory may have 4 MiB", frontmatter.MAX_PAGE_BYTES >> 20),
    ("team.md", "at most twice a second", 1 / team_files.LOOK_EVERY_S),
    ("team.md", "while no client asks, every ten seconds", watching.EXCHANGE_EVERY_S),
    ("team.md", "rescans, every ten minutes", watched.RESCAN_S / 60),
    ("team.md", "which expires 15 minutes after", lease.LEASE_S / 60),
    ("team.md", "tried again after 15 seconds", link.AWAY_S),
    ("team.md", "no answer waits 15 seconds", connection.READ_S),
    ("team.md", "(120 when it writes)", connection.WRITE_S),
    ("team.md", "(`hnsw.ef_search` 500;", link.EF),
    ("team.md", "up to 20,000 chunks", code_read.FEW_CHUNKS),
    ("web.md", "Beyond 5,000 memories", memories.COUNTED_AT_ONCE),
]


@pytest.mark.parametrize(("page", "said", "figure"), FIGURES)
def test_a_page_states_the_limit_of_the_code(page, said, figure):
    folder = ROOT if page == "README.md" else ROOT / "docs"
    assert said in " ".join((folder / page).read_text("utf-8").split())
    (number,) = NUMBER.findall(said)
    assert (NUMBERS[number] if number in NUMBERS else float(number.replace(",", ""))) == figure


def test_the_languages_of_grep_are_all_named():
    page = " ".join((ROOT / "docs" / "which-tool.md").read_text("utf-8").split())
    (named,) = re.findall(r"indexing would read, in (.*?) and Zig\.", page)
    assert len(named.split(", ")) + 1 == len(DIALECTS)
