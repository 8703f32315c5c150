"""What was said once must be understood for ever: the bytes here are those of released versions."""

from __future__ import annotations

import json

import pytest

from memory_sidecar import __version__
from memory_sidecar.daemon.exchange import Invocation
from memory_sidecar.daemon.protocol import (
    PROTOCOL,
    ProtocolError,
    decode,
    encode,
    greeting,
    is_older,
    read_greeting,
)

# Recorded; add to these, and never change one.
GREETINGS = {
    b'{"memory_sidecar":1,"version":"0.1.0","token":""}\n': (1, "0.1.0"),
    b'{"memory_sidecar":1,"version":"0.1.0","pid":71,"data_dir":"/d"}\n': (1, "0.1.0"),
    b'{"mood":["new"],"memory_sidecar":7,"version":"12.0.0rc1"}\n': (7, "12.0.0rc1"),
}
REQUEST_0_1_0 = (
    b'{"type":"run","arguments":["search","caf\\u00e9 \\udce9"],"cwd":"/src/shop","environ":'
    b'{"HOME":"/h"},"is_terminal":false,"shows_progress":true,"columns":120}\n'
)
REQUEST_OF_LATER = (
    b'{"type":"run","arguments":["status"],"cwd":"/src","colour_depth":24,"priority":{"a":1}}\n'
)


@pytest.mark.parametrize("line", GREETINGS, ids=lambda line: line.decode().strip())
def test_recorded_greetings_are_understood(line):
    assert read_greeting(decode(line)) == GREETINGS[line]


def test_recorded_request_is_understood():
    assert Invocation.of(decode(REQUEST_0_1_0)) == Invocation(
        arguments=("search", "café \udce9"),
        cwd="/src/shop",
        environ={"HOME": "/h"},
        is_terminal=False,
        shows_progress=True,
        columns=120,
    )


def test_unknown_fields_are_ignored_and_missing_ones_have_defaults():
    request = Invocation.of(decode(REQUEST_OF_LATER))
    assert (request.arguments, request.columns, request.is_terminal) == (("status",), 80, False)


def test_todays_greeting_is_one_of_the_recorded_kind():
    line = encode(greeting(token=""))
    assert line.count(b"\n") == 1
    assert json.loads(line) == {"memory_sidecar": PROTOCOL, "version": __version__, "token": ""}


@pytest.mark.parametrize("line", [b"", b"\n", b"null\n", b"[1]\n", b"{\n", b"\xff\n", b"[" * 10**5])
def test_what_is_no_frame_is_refused(line):
    with pytest.raises(ProtocolError):
        decode(line)


@pytest.mark.parametrize(
    "frame", [{}, {"memory_sidecar": True, "version": "1"}, {"memory_sidecar": 1, "version": 1}]
)
def test_what_is_no_greeting_is_refused(frame):
    with pytest.raises(ProtocolError):
        read_greeting(frame)


@pytest.mark.parametrize("text", ["plain\nlines\r\n", "\0\x1b[1m", "é漢字", "\udce9"])
def test_any_text_survives(text):
    line = encode({"text": text})
    assert line.count(b"\n") == 1
    assert decode(line) == {"text": text}


@pytest.mark.parametrize(
    ("one", "other", "older"),
    [
        ("0.1.0", "0.1.0", False),
        ("0.1.0", "0.1.1", True),
        ("0.9.0", "0.10.0", True),
        ("1.0.0", "0.9.9", False),
        ("0.2.0.dev1", "0.2.0", False),
    ],
)
def test_versions_compare_by_their_numbers(one, other, older):
    assert is_older(one, than=other) is older
