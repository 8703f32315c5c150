"""What a record of a log says, and the code that it leads to."""

from __future__ import annotations

import pytest

from memory_sidecar.code.log_records import Record, record_in
from memory_sidecar.code.model import CodeQuery
from memory_sidecar.core.results import Silent


@pytest.mark.parametrize(
    ("text", "said", "by"),
    [
        (
            'time="2026-03-04T10:12:03Z" level=error msg="cannot lock row" id=3',
            "cannot lock row",
            "",
        ),
        ('{"level":50,"time":1772,"msg":"cannot \\"lock\\" row","pid":7}', 'cannot "lock" row', ""),
        (
            "{'event': 'cannot lock row', 'level': 'error', 'logger': 'shop'}",
            "cannot lock row",
            "shop",
        ),
        ('{"@timestamp":"2026","log.level":"warn","message":"late"}', "late", ""),
        (
            'ts=1772.1 level=info caller=shop/lock.go:42 msg=late err="no lock"',
            "late\nno lock",
            "shop/lock.go:42",
        ),
        ('why is there level=error msg="cannot lock row" so often', "cannot lock row", ""),
        (
            'level=error msg="cannot lock row"\n  at shop/lock.go:42',
            "cannot lock row\n  at shop/lock.go:42",
            "",
        ),
        ("raise Refused(message='cannot lock row')", "", ""),
        ("where is the level = 3 set", "", ""),
        ("cannot lock row", "", ""),
    ],
)
def test_a_record_says_its_message_and_errors(text, said, by):
    assert record_in(text) == Record(said, by)


SHOP = {
    "lock.py": "def lock(row):\n    log.error('Rows locked', row=row.id)\n",
    "rows.py": "def rows(locked):\n    return [row for row in locked if row.is_locked]\n",
    "level.py": "def set_level(level, time, env):\n    '''The level and time of an error.'''\n",
    "other.py": "def other():\n    return 'no rows locked'\n\n\nrows = locked = 'Rows'\n",
}


@pytest.mark.parametrize(
    ("record", "file"),
    [
        ('time=2026-03-04 level=error env=production msg="Rows locked" user_id=3', "lock.py"),
        ('{"level":"error","time":"2026-03-04","env":"production","msg":"Rows locked"}', "lock.py"),
        ('level=error caller=level.py:1 msg="Rows counted"', "level.py"),
    ],
)
def test_a_record_leads_to_the_code_that_makes_its_message(make_codebase, tmp_path, record, file):
    for name, text in SHOP.items():
        (tmp_path / "shop" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "shop" / name).write_text(text)
    codebase = make_codebase()
    codebase.index([tmp_path / "shop"], reporter=Silent())
    assert codebase.search(CodeQuery(record), reporter=Silent())[0].filename == file
