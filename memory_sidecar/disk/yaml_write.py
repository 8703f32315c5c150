"""Values as YAML that a person would write: one line each, quotes only where they are needed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence


def yaml_lines(meta: Mapping[str, object]) -> Iterator[str]:
    """`key: value` for each entry, without line breaks."""
    for key, value in meta.items():
        yield f"{_text(key)}: {yaml_value(value)}"


def yaml_value(value: object, *, inside: bool = False) -> str:
    """`value` in one line, lists in brackets; `inside` of such, a comma needs quotes.

    Raises TypeError for what is no text, number, truth value, list or mapping.
    """
    match value:
        case bool():
            return "true" if value else "false"
        case None:
            return "null"
        case int():
            return str(value)
        case str():
            return _text(value, inside=inside)
        case Mapping():
            pairs = (
                f"{_text(str(key), inside=True)}: {yaml_value(inner, inside=True)}"
                for key, inner in value.items()
            )
            return "{" + ", ".join(pairs) + "}"
        case Sequence():
            return "[" + ", ".join(yaml_value(item, inside=True) for item in value) + "]"
        case _:
            raise TypeError(f"{value!r} cannot be written into a frontmatter")


def plain_value(value: object) -> object:
    """`value` as it is read back: lists for tuples, dicts for mappings."""
    match value:
        case str():
            return value
        case Mapping():
            return {str(key): plain_value(inner) for key, inner in value.items()}
        case Sequence():
            return [plain_value(item) for item in value]
        case _:
            return value


_FORBIDDEN = re.compile(r"[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_NEEDS_QUOTES = re.compile(
    r"""[-?:,\[\]{}#&*!|>'"%@`\s] | .*(?: :\s | \s\# | :$ | \s$ )""", re.VERBOSE
)
_NEEDS_QUOTES_INSIDE = re.compile(r".*[,\[\]{}]")

# Text that a reader of YAML, of this version or an older one, takes for something else. Dates are
# left out on purpose: everybody writes them plainly, and they mean the same either way.
_OTHER_THAN_TEXT = re.compile(
    r"""(?ix) ~ | null | true | false | yes | no | on | off | y | n | = | << | \.{3}.*
      | [-+]? \.? [0-9] [0-9_,.]* (?: e [-+]? [0-9]+ )?
      | [-+]? [0-9] [0-9_]* (?: : [0-5]? [0-9] )+ (?: \. [0-9]* )?
      | [-+]? 0 [xob] [0-9a-f_]+
      | [-+]? \.inf | \.nan """
)


def _text(text: str, *, inside: bool = False) -> str:
    """Plain where every reader takes it for this text, else in double quotes."""
    is_plain = (
        text.isprintable()
        and text
        and not _NEEDS_QUOTES.match(text)
        and not (inside and _NEEDS_QUOTES_INSIDE.match(text))
        and not _OTHER_THAN_TEXT.fullmatch(text)
    )
    if is_plain:
        return text
    quoted = json.dumps(_SURROGATE.sub("\ufffd", text), ensure_ascii=False)
    return _FORBIDDEN.sub(lambda found: f"\\u{ord(found.group()):04x}", quoted)
