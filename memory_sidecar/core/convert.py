"""Values of JSON as dataclasses, from any thread."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")

_prepared: set[object] = set()
_preparing = threading.Lock()


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
