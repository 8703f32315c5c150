"""What one check of `doctor` found."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """One check. `remedy` is what can be done about it: "rebuild", "index" or ""."""

    check: str
    ok: bool
    text: str
    hint: str = ""
    remedy: str = ""
    agent: str = ""  # whose database it is about; "" for the code's, or none
