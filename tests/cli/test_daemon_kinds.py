"""How long a request may take, by its arguments alone: quick ones never wait for the others."""

from __future__ import annotations

import pytest

from memory_sidecar.cli.daemon import LONG_TEXT, Commands
from memory_sidecar.daemon.exchange import Invocation, Kind


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        (("search", "total"), Kind.QUICK),
        (("search", "-"), Kind.QUICK),
        (("search", "total", "--wait-fresh", "500"), Kind.WAITING),
        (("search", "total", "--wait-fresh=500"), Kind.WAITING),
        (("embed", "a text"), Kind.QUICK),
        (("embed", "-"), Kind.WORKING),
        (("store", "x" * LONG_TEXT, "--agent", "a"), Kind.WORKING),
        (("source", "list"), Kind.WORKING),
        (("index", "."), Kind.WAITING),
        (("status",), Kind.QUICK),
        (("status", "--watch"), Kind.ENDLESS),
        ((), Kind.WORKING),
    ],
)
def test_kind_follows_from_the_arguments(arguments, kind, tmp_path):
    commands = Commands(tmp_path, environ={})
    assert commands.kind_of(Invocation(arguments, "/", {}, False, False, 80)) is kind
