"""What `json` does, done without it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from memory_sidecar.daemon import protocol
from memory_sidecar.daemon.protocol import from_json, to_json

VALUES = (
    {"a": [1, -2.5, 1e300, None, True, False], "": {"": {}}, "b": []},
    ['é 😀 \n " \\ / \x7f', "\udce9", 2**70],
    "x",
    7,
)


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_values_become_the_bytes_that_json_makes_and_come_back(value):
    assert to_json(value) == json.dumps(value, separators=(",", ":"))
    assert from_json(f" {json.dumps(value, indent=1)}\r\n".encode()) == value
    assert from_json(b"\xef\xbb\xbf" + to_json(value).encode()) == value


NO_JSON = (
    *(b"", b" ", b"{", b"{abc", b'{"a":}', b"[1,]", b"1 2", b"nul", b'"\n"', b'"\xff"', b'"\\ud8'),
    *(b"[" * 100_000, b"9" * 5000),
)


@pytest.mark.parametrize("data", NO_JSON, ids=lambda data: repr(data[:10]))
def test_what_is_no_json_is_refused(data):
    with pytest.raises(ValueError, match=r"."):
        from_json(data)


def test_what_is_no_json_is_refused_where_json_is_not_loaded():
    """As in the thin client, whose C module then has no class for its error, or loads it."""
    code = f"""
import sys
from memory_sidecar.daemon.protocol import from_json
if "json" in sys.modules:
    sys.exit("json is loaded")
for data in {NO_JSON!r}:
    try:
        from_json(data)
    except ValueError:
        continue
    sys.exit(f"taken: {{data[:10]}}")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_what_json_cannot_say_is_refused():
    with pytest.raises(TypeError):
        to_json({"a": object()})


def test_a_python_without_that_c_module_has_the_same():
    assert protocol._c_codec() != protocol._json_codec()  # both work here
    dump, load = protocol._json_codec()
    for value in VALUES:
        assert dump(value) == to_json(value)
        assert load(dump(value)) == value
