"""What a command left behind. Imports no more, for processes that are forked by the hundred."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Finished:
    """Its exit status, standard output and standard error."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one document on standard output."""
        return json.loads(self.out, parse_constant=_refuse_constant)

    @property
    def error(self) -> dict[str, str]:
        """The error of JSON mode: the last line of standard error, after any notices."""
        assert self.out == ""
        *notices, last = self.err.splitlines()
        assert all(line.startswith("note: ") for line in notices)
        shown: dict[str, str] = json.loads(last)["error"]
        assert shown.keys() == {"code", "message", "hint"}
        return shown


def _refuse_constant(name: str) -> None:
    raise AssertionError(f"{name} is no JSON")
