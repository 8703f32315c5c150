"""Reads a moment in time as people and programs write it."""

from __future__ import annotations

import re
from datetime import UTC, datetime

_MOMENT = re.compile(
    r"(\d{4})-(\d\d?)-(\d\d?)"
    r"(?:[Tt ]\s*(\d\d?):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?\s*(Z|z|[-+]\d\d(?::?\d\d)?)?)?"
)


def parse_time(value: object) -> int | None:
    """Epoch milliseconds of a date or moment, without a zone in UTC; `None` for anything else.

    A number is taken for epoch seconds, or milliseconds where seconds would lie beyond 2500.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return value * 1000 if abs(value) < 16_725_225_600 else value
    found = _MOMENT.fullmatch(value.strip()) if isinstance(value, str) else None
    if found is None:
        return None
    year, month, day, hour, minute, second = (int(part or 0) for part in found.groups()[:6])
    fraction, zone = found.group(7), found.group(8)
    try:
        moment = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError:  # the 31st of June
        return None
    ms = int((fraction or "").ljust(3, "0")[:3])
    return (int(moment.timestamp()) - _zone_offset(zone or "Z")) * 1000 + ms


def _zone_offset(zone: str) -> int:
    """In seconds east of Greenwich."""
    digits = zone[1:].replace(":", "").ljust(4, "0")
    seconds = int(digits[:2]) * 3600 + int(digits[2:]) * 60 if zone not in "Zz" else 0
    return -seconds if zone[0] == "-" else seconds
