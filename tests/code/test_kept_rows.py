"""A file that is saved again: what reads as before keeps its rows, and all is as if made anew."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import apsw

FUNCTION = '''
def {name}(order):
    """What {name} does to an order, at some length, so that it becomes a chunk of its own."""
    total = 0
    for item in order.items:
        total += item.price * item.quantity  # {word}
        if item.is_gift and order.customer.has_paid_for_the_paper:
            total += order.paper.price
    if total > order.limit:
        raise ValueError("an order of {name} is larger than the customer may spend in a month")
    for discount in order.customer.discounts:
        if discount.begins <= order.made_on <= discount.ends and discount.kind == "{name}":
            total -= discount.share * total
    order.history.append(("{name}", total, order.made_on, order.customer.number))
    return round(total, 2)
'''


def rows(database: Path) -> dict[str, list[Any]]:
    """What finds the chunks, without their ids."""
    connection = apsw.Connection(str(database), flags=apsw.SQLITE_OPEN_READONLY)
    found = {
        "chunks": "SELECT source, filename, location, language, code, start_line, end_line,"
        " symbols, scope, signature, head FROM code_chunks ORDER BY source, filename, start_line",
        "words": "SELECT term, doc, cnt FROM chunk_vocabulary ORDER BY term",
        "static": "SELECT c.filename, c.start_line, v.embedding FROM code_chunks c"
        " JOIN chunk_static v ON v.id = c.id ORDER BY 1, 2",
        "waiting": "SELECT c.filename, c.start_line FROM code_chunks c"
        " JOIN chunk_pending p ON p.id = c.id ORDER BY 1, 2",
        "names": "SELECT f.filename, d.number, d.name, d.start_line FROM code_definitions d"
        " JOIN code_files f ON f.id = d.file ORDER BY 1, 2",
    }
    read = {what: list(connection.execute(query)) for what, query in found.items()}
    connection.close()
    return read


def ids(database: Path) -> dict[str, int]:
    connection = apsw.Connection(str(database), flags=apsw.SQLITE_OPEN_READONLY)
    found: list[Any] = connection.execute("SELECT symbols, id FROM code_chunks").fetchall()
    connection.close()
    return dict(found)


def test_what_a_save_only_moves_keeps_its_row(run, data_dir, tmp_path):
    file = tmp_path / "src" / "orders.py"
    file.parent.mkdir()
    parts = [FUNCTION.format(name=f"price_{n}", word="plain") for n in range(6)]
    file.write_text("".join(parts))
    run("index", file.parent, "--wait", "keyword")
    before = ids(data_dir / "codebase.sqlite")
    parts[2] = FUNCTION.format(name="price_2", word="fancy\n        # and longer")
    file.write_text("".join(parts))
    run("index", file.parent, "--wait", "keyword")
    after = ids(data_dir / "codebase.sqlite")
    assert {name for name in after if after[name] != before[name]} == {"price_2"}
    (hit,) = run(
        "search", "price_5", "--mode", "keyword", "-n", "1", "--json", cwd=file.parent
    ).json
    lines = file.read_text().splitlines()
    assert hit["symbols"] == ["price_5"]
    assert "def price_5" in "\n".join(lines[hit["start_line"] - 1 : hit["end_line"]])
    assert hit["code"] == "\n".join(lines[hit["start_line"] - 1 : hit["end_line"]])


def test_after_any_edits_the_rows_are_those_of_a_first_index(run, data_dir, tmp_path):
    """Parts moved, doubled, dropped and changed at random, by a seed."""
    choose = random.Random(7)
    folder = tmp_path / "src"
    folder.mkdir()
    parts = [FUNCTION.format(name=f"price_{n}", word="plain") for n in range(8)]
    for turn in range(12):
        (folder / "orders.py").write_text("".join(parts))
        run("index", folder, "--wait", "keyword")
        fresh = tmp_path / f"data-{turn}"
        fresh.mkdir()
        run("index", folder, "--wait", "keyword", "--data-dir", fresh)
        assert rows(data_dir / "codebase.sqlite") == rows(fresh / "codebase.sqlite")
        match choose.choice(("move", "double", "drop", "change")):
            case "move":
                choose.shuffle(parts)
            case "double":
                parts.insert(choose.randrange(len(parts)), choose.choice(parts))
            case "drop":
                parts.pop(choose.randrange(len(parts)))
            case "change":
                number = choose.randrange(len(parts))
                parts[number] = FUNCTION.format(name=f"cost_{turn}", word="new\n    # longer")


def test_a_map_ranks_what_is_used_alike_by_path_in_whatever_order_it_was_indexed(run, tmp_path):
    folder = tmp_path / "src"
    folder.mkdir()
    (folder / "use.py").write_text("from a import first\nfrom b import second\n")
    for name, function in (("b", "second"), ("a", "first")):
        (folder / f"{name}.py").write_text(f"def {function}():\n    pass\n")
        run("index", folder, "--wait", "keyword")
    entries = run("map", "--json", cwd=folder).json
    assert [each["filename"] for each in entries] == ["a.py", "b.py"]
