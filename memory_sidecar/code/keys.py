"""Finds where the key of data stands whose path a question names: `services.web.ports`.

No chunk holds such a path in one piece: it continues that of its scope. The path need not begin at
the root, as that of a translation, which begins with its language, seldom does. Before it may stand
what names the file: `Values.image.tag` of `values.yaml`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from memory_sidecar.chunking.keys import NESTING, SECTIONED, KeyPath
from memory_sidecar.code.asides import PROSE
from memory_sidecar.code.name_parts import is_subsequence
from memory_sidecar.code.rows import CodeRows
from memory_sidecar.code.store import StoredChunk
from memory_sidecar.core.language import TEXT

MAX_PATHS = 4  # of keys in one question that are looked for
MAX_CHUNKS = 100  # that are read for each: those that hold most of its words
MIN_PARTS = 2  # of a path

DATA = NESTING | SECTIONED | {TEXT}  # languages of data; text: properties of Java
_PATH = re.compile(
    r"(?<![\w./\\@:$-])[$.]*([^\W\d][\w-]*(?:(?:\[\w*\])?\.\w[\w-]*)+)(?![\w/\\(-]|\.\w)"
)
_INDEX = re.compile(r"\[\w*\]")


def chunks_with_key(text: str, rows: CodeRows) -> list[int]:
    """Return the ids of the chunks in which the keys stand that `text` names by their paths."""
    paths = dict.fromkeys(_INDEX.sub("", found[1]) for found in _PATH.finditer(text))
    ids: dict[int, None] = {}
    for path in [*paths][:MAX_PATHS]:
        parts = path.split(".")
        likely = rows.coverage_arm(rows.keywords(path)).best(MAX_CHUNKS)
        lengths = {each.chunk_id: _parts_held(parts, each) for each in rows.read(likely.tolist())}
        most = max(lengths.values(), default=0)
        ids |= {id_: None for id_, length in lengths.items() if length == most > 0}
    return [*ids]


def _parts_held(parts: Sequence[str], stored: StoredChunk) -> int:
    """Return how many of the last `parts` of a path are that of a key in the chunk, or its end.

    0 unless those before them name the file and its folders.
    """
    is_data = stored.language in DATA and not PROSE.search(stored.filename)
    if not is_data or parts[-1] not in stored.chunk.code:
        return 0
    rows = stored.chunk.code.split("\n")
    path = KeyPath(stored.language, stored.chunk.scope, rows[0])
    known = {f".{found}" for row in rows if (found := path.enter(row)).endswith(parts[-1])}
    named = re.split(r"[/.]", stored.filename.lower())
    for length in range(len(parts), MIN_PARTS - 1, -1):
        asked = f".{'.'.join(parts[-length:])}"
        if any(each.endswith(asked) for each in known):
            above = (part.lower() for part in parts[:-length])
            return length if is_subsequence(above, named) else 0
    return 0
