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
        ("ERRO[0012] cannot lock row   id=47", "cannot lock row", ""),
        (
            '12:03:04Z\tERROR\tshop/lock.go:42\tcannot lock\t{"id": 47}',
            "cannot lock",
            "shop/lock.go:42",
        ),
        ("[10:12:03 ERR] cannot lock row", "cannot lock row", ""),
        ('[2026-03-04 10:12:03] production.ERROR: cannot lock {"id":3} []', "cannot lock", ""),
        ("fail: Shop.Lock[0]\n      cannot lock row", "      cannot lock row", "Shop.Lock"),
        ("2026-03-04T10:12Z ERROR shop::lock: late: row id=4", "late: row", "shop::lock"),
        ("ERROR:shop.lock:cannot lock row", "cannot lock row", "shop.lock"),
        ("10:12:03,123 ERROR [main] c.acme.Lock - cannot lock", "cannot lock", "c.acme.Lock"),
        ('E0304 10:12:03.123 12345 lock.go:42] "cannot lock" id=4', "cannot lock", "lock.go:42"),
        ("worker-1  | 10:12:03 WARN [LOCK] late", "[LOCK] late", ""),
        ("2026-03-04 10:12:03 [error    ] cannot lock      id=47", "cannot lock", ""),
        ("ERROR handling in the parser", "", ""),
        ("what does [ERROR] mean", "", ""),
        ("error[E0308]: mismatched types", "", ""),
        ("ERROR tests/test_lock.py::test_late - Late", "", ""),
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
        ("2026-03-04 10:12:03 ERROR Rows locked env=production user_id=3", "lock.py"),
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
