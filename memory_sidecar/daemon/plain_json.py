"""JSON as the module `json` has it, without importing `re`, which would take a client 10 ms.

Both use the same private C module of Python. If that is missing or has changed, this falls back on
`json` itself.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_SPACE = " \t\n\r"
_MARK = b"\xef\xbb\xbf"  # the byte order mark that some write before UTF-8


def from_json(data: bytes) -> Any:  # noqa: ANN401  whatever JSON can say
    """Parse `data`, JSON in UTF-8. Raises ValueError for anything else and for too deep nesting."""
    try:
        return _load(data.removeprefix(_MARK).decode("utf-8", "surrogatepass"))
    except (RecursionError, SystemError) as error:
        # SystemError: without `json` loaded, the C module cannot raise its JSONDecodeError.
        raise ValueError("not JSON") from error


def _c_codec() -> tuple[Callable[[Any], str], Callable[[str], Any]]:
    """Return dumps and loads on the C module. Raises ImportError, AttributeError or TypeError."""
    import _json

    class Context:
        """The attributes that the scanner reads from its decoder."""

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


def _json_codec() -> tuple[Callable[[Any], str], Callable[[str], Any]]:
    import json

    return json.JSONEncoder(separators=(",", ":")).encode, json.loads


try:
    to_json, _load = _c_codec()
except (ImportError, AttributeError, TypeError):
    to_json, _load = _json_codec()
