"""Reads JSON from outside, refusing what could not be stored, written and printed again."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from typing import Any

_HALF = re.compile(r"\\u[dD][89a-fA-F]")
_SURROGATE = re.compile("[\ud800-\udfff]")


class BrokenJson(ValueError):
    """The text is not usable JSON; the message is one line that says why and where."""


def read_json(text: str | bytes, *, strictly: bool = False) -> Any:  # noqa: ANN401  JSON
    """Return the value of the JSON `text`; escapes of lone surrogates become U+FFFD.

    Raises BrokenJson also for JSON that Python reads but other programs cannot: numbers that are
    not finite or have thousands of digits, and very deep nesting. With `strictly`, also for a
    property that occurs twice, of which `json` would silently keep the last value.
    """
    pairs_hook = _reject_duplicates if strictly else None
    try:
        decoded = text if isinstance(text, str) else text.decode("utf-8-sig")
        value = json.loads(
            decoded,
            parse_constant=_reject_constant,
            parse_float=_parse_finite,
            object_pairs_hook=pairs_hook,
        )
        if _HALF.search(decoded):
            whole = _SURROGATE.sub("\ufffd", json.dumps(value, ensure_ascii=False))
            value = json.loads(whole)
    except BrokenJson:
        raise
    except UnicodeDecodeError as error:
        raise BrokenJson(f"not UTF-8 (byte {error.start})") from error
    except json.JSONDecodeError as error:
        where = f"line {error.lineno} column {error.colno}"
        what = error.msg.removesuffix(" at")  # "Unterminated string starting at"
        raise BrokenJson(f"not JSON: {what} at {where}") from error
    except RecursionError as error:
        raise BrokenJson("nested too deeply") from error
    except ValueError as error:
        raise BrokenJson("a number with too many digits") from error
    return value


def _reject_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    unique = dict(pairs)
    if len(unique) < len(pairs):
        twice, _ = Counter(name for name, _ in pairs).most_common(1)[0]
        raise BrokenJson(f"{twice[:40]!r} is there twice")
    return unique


def _reject_constant(name: str) -> None:
    raise BrokenJson(f"{name} is not a number in JSON")


def _parse_finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise BrokenJson(f"{digits[:20]} is too large a number")
    return number
