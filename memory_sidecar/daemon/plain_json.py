"""JSON as `json` has it, without importing that: its regular expressions take a client 10 ms.

Both rest on the same C module, which is Python's own affair: where it is missing or another one,
this is `json` after all.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_SPACE = " \t\n\r"
_MARK = b"\xef\xbb\xbf"  # some write it before UTF-8


def from_json(data: bytes) -> Any:  # noqa: ANN401  whatever JSON can say
    """The value that `data` is, UTF-8. Raises ValueError: anything else, or too deep."""
    try:
        return _load(data.removeprefix(_MARK).decode("utf-8", "surrogatepass"))
    except (RecursionError, SystemError) as error:
        # SystemError: where `json` is not loaded, the C module finds no words for what is wrong.
        raise ValueError("not JSON") from error


def _of_c() -> tuple[Callable[[Any], str], Callable[[str], Any]]:
    """Raises ImportError, AttributeError or TypeError where Python's C module is another one."""
    import _json

    class Context:
        """What the scanner asks its decoder for."""

        strict = True
        object_hook = object_pairs_hook = None
        parse_float = float
        parse_int = int
        parse_constant = {
            "NaN": float("nan"),
            "Infinity": float("inf"),
            "-Infinity": float("-inf"),
        }.__getitem__

    scan = _json.make_scanner(Context)  # type: ignore[arg-type]

    def refuse(value: object) -> None:
        raise TypeError(f"{type(value).__name__} is not JSON")

    encode = _json.make_encoder(
        None, refuse, _json.encode_basestring_ascii, None, ":", ",", False, False, True
    )

    def dump(value: Any) -> str:  # noqa: ANN401
        return "".join(encode(value, 0))

    def load(text: str) -> Any:  # noqa: ANN401
        text = text.strip(_SPACE)
        try:
            value, end = scan(text, 0)
        except StopIteration as error:
            raise ValueError("not JSON") from error
        if end != len(text):
            raise ValueError("more than one value")
        return value

    load(dump({"": [0, ""]}))
    return dump, load


def _of_json() -> tuple[Callable[[Any], str], Callable[[str], Any]]:
    import json

    return json.JSONEncoder(separators=(",", ":")).encode, json.loads


try:
    to_json, _load = _of_c()
except (ImportError, AttributeError, TypeError):
    to_json, _load = _of_json()
