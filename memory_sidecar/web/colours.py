"""Code as lines with colours: every word of it is text, in a span that says what it is."""

from __future__ import annotations

from functools import cache

from markupsafe import Markup, escape
from pygments import lex
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.token import Comment, Keyword, Name, Number, String
from pygments.util import ClassNotFound

from memory_sidecar.core.visible import visible

Line = tuple[int, Markup]
"""Its number in the file, and the line in colours."""

MAX_CHARACTERS = 40_000  # as much as is drawn within a few milliseconds; more has no colours

# The first that holds a token names its class, see app.css.
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
    """Each line of `code`, without its break."""
    code = visible(code.replace("\r\n", "\n"))
    lexer = _lexer(language) if len(code) <= MAX_CHARACTERS else None
    if lexer is None:
        return [escape(line) for line in code.split("\n")]
    lines = [Markup()]
    for kind, text in lex(code, lexer):
        name = next((name for held, name in _CLASSES if kind in held), "")
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
