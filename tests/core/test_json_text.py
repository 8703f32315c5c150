"""What is read as JSON can be written as JSON and as UTF-8."""

from __future__ import annotations

import json

import pytest

from memory_sidecar.core.json_text import BrokenJson, read_json


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": [1, 2.5, null, "ö"]}', {"a": [1, 2.5, None, "ö"]}),
        (b'\xef\xbb\xbf"mark"', "mark"),
        (r'"\ud83d"', "\ufffd"),
        (r'{"\udc00": ["\ud83d\ude00\ud83d"]}', {"\ufffd": ["😀\ufffd"]}),
        (r'"\\ud83d"', r"\ud83d"),
    ],
)
def test_what_is_read_can_be_written(text, value):
    read = read_json(text)
    assert read == value
    assert json.loads(json.dumps(read, ensure_ascii=False, allow_nan=False).encode()) == value


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "not JSON: .* at line 1 column 2"),
        (b'"\xff"', r"not UTF-8 \(byte 1\)"),
        ("9" * 5000, "too many digits"),
        ('{"a": 1e999}', "too large a number"),
        ("NaN", "not a number in JSON"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_what_cannot_is_named_in_a_line(text, why):
    with pytest.raises(BrokenJson, match=why) as broken:
        read_json(text)
    assert "\n" not in str(broken.value)
