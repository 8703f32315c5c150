"""JSON from elsewhere, read so that whatever it says can be stored, written and printed again."""

from __future__ import annotations

import json
import math
import re
import threading
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")

_HALF = re.compile(r"\\u[dD][89a-fA-F]")
_SURROGATE = re.compile("[\ud800-\udfff]")

_prepared: set[object] = set()
_preparing = threading.Lock()


class BrokenJson(ValueError):
    """Says in one line what is wrong, and where."""


def read_json(text: str | bytes) -> Any:  # noqa: ANN401  JSON
    """The value that `text` says; halves of characters become U+FFFD.

    Raises BrokenJson also for what Python would read and other programs could not: numbers that
    are not finite or have thousands of digits, and nesting without an end.
    """
    try:
        decoded = text if isinstance(text, str) else text.decode("utf-8-sig")
        value = json.loads(decoded, parse_constant=_refused, parse_float=_finite)
        if _HALF.search(decoded):
            whole = _SURROGATE.sub("\ufffd", json.dumps(value, ensure_ascii=False))
            value = json.loads(whole)
    except BrokenJson:
        raise
    except UnicodeDecodeError as error:
        raise BrokenJson(f"not UTF-8 (byte {error.start})") from error
    except json.JSONDecodeError as error:
        where = f"line {error.lineno} column {error.colno}"
        raise BrokenJson(f"not JSON: {error.msg} at {where}") from error
    except RecursionError as error:
        raise BrokenJson("nested too deeply") from error
    except ValueError as error:
        raise BrokenJson("a number with too many digits") from error
    return value


def _refused(name: str) -> None:
    raise BrokenJson(f"{name} is no number that JSON has")


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise BrokenJson(f"{digits[:20]} is too large a number")
    return number


def converted(
    value: object, shape: type[T], *, dec_hook: Callable[[type, Any], object] | None = None
) -> T:
    """As `msgspec.convert`, whose errors it raises.

    What msgspec (0.22.0) knows of a dataclass is made at its first use, and a thread that comes
    while another makes it reads a part of it: that ends the process.
    """
    if shape not in _prepared:
        with _preparing:
            msgspec.json.Decoder(shape, dec_hook=dec_hook)
            _prepared.add(shape)
    return msgspec.convert(value, shape, dec_hook=dec_hook)
