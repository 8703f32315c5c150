"""Highlights code as lines of HTML: each token is escaped text, in a span with its class."""

from __future__ import annotations

from functools import cache

from markupsafe import Markup, escape
from pygments import lex
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.token import Comment, Keyword, Name, Number, String
from pygments.util import ClassNotFound

from memory_sidecar.core.results import visible

Line = tuple[int, Markup]
"""The number of a line in its file, and its HTML."""

MAX_CHARACTERS = 40_000  # highlighted within a few milliseconds; longer code has no colours

# The first kind that a token is of gives its CSS class, see app.css.
_CLASSES = (
    (Comment, "c"),
    (String, "s"),
    (Number, "n"),
    (Keyword, "k"),
    (Name.Function, "f"),
    (Name.Class, "f"),
    (Name.Tag, "k"),
    (Name.Decorator, "f"),
)


def coloured_lines(code: str, language: str) -> list[Markup]:
    """Return the HTML of each line of `code`, without line breaks."""
    code = visible(code.replace("\r\n", "\n"))
    lexer = _lexer(language) if len(code) <= MAX_CHARACTERS else None
    if lexer is None:
        return [escape(line) for line in code.split("\n")]
    lines = [Markup()]
    for kind, text in lex(code, lexer):
        name = next((name for parent, name in _CLASSES if kind in parent), "")
        for at, part in enumerate(text.split("\n")):
            if at:
                lines.append(Markup())
            if part:
                lines[-1] += _span(part, name)
    return lines


def _span(text: str, name: str) -> Markup:
    return Markup('<span class="{}">{}</span>').format(name, text) if name else escape(text)


@cache
def _lexer(language: str) -> Lexer | None:
    try:
        return get_lexer_by_name(
            language.replace("_", "-"), stripnl=False, ensurenl=False, startinline=True
        )
    except ClassNotFound:
        return None
