"""Renders templates and code. Stored text is escaped, and its invisible characters are shown."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markdown_it import MarkdownIt
from markupsafe import Markup, escape
from pygments import lex
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.token import Comment, Keyword, Name, Number, String
from pygments.util import ClassNotFound

from memory_sidecar.code.excerpt import MAX_COLOURED
from memory_sidecar.core.credentials import first_words
from memory_sidecar.core.model import Asked
from memory_sidecar.core.results import pluralize
from memory_sidecar.core.times import format_duration
from memory_sidecar.core.visible import visible
from memory_sidecar.memories.facets import AGES, STRENGTHS
from memory_sidecar.memories.files import repeats_title
from memory_sidecar.sessions.model import Outcome

FOLDER = Path(__file__).parent
MAX_MARKDOWN_CHARACTERS = 100_000  # that a browser lays out at once; more is shown unrendered
MAX_MARKS = 32_000  # rendering Markdown slows with its marks; a handbook that long has 8,000
MAX_TITLE = 200
_STEPS = ((60, "s"), (3600, "min"), (86_400, "h"), (86_400 * 30, "d"), (86_400 * 365, "mo"))


@cache
def templates() -> Environment:
    """Return the Jinja environment of all views, with every template compiled."""
    environment = Environment(
        loader=FileSystemLoader(FOLDER / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_finalize,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters |= {
        "ago": ago,
        "count": "{:,}".format,
        "pluralize": pluralize,
        "format_duration": format_duration,
        "milliseconds": lambda took: f"{took:,.1f} ms",
        "megabytes": lambda size: f"{int(size) / 1e6:,.1f} MB",
        "markdown": markdown,
        "short": short,
        "breakable": breakable,
        "below": below,
        "with_code": with_code,
        "sentence": sentence,
    }
    environment.globals.update(KINDS=Asked, AGES=AGES, STRENGTHS=STRENGTHS, OUTCOMES=Outcome)
    for name in environment.list_templates():  # so that the first view need not compile them
        environment.get_template(name)
    return environment


def _finalize(value: object) -> object:
    """Make invisible and direction-changing characters of a printed `value` visible.

    The values of forms, which are sent back, are printed with `| e`, which changes no character.
    """
    if value is None:
        return ""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def ago(moment: str | None) -> Markup:
    """Return how long ago `moment` (ISO 8601) was, like `3 d`, with the moment as its title."""
    if not moment:
        return Markup("never")
    then = datetime.fromisoformat(moment)
    seconds = max((datetime.now(UTC) - then).total_seconds(), 0)
    size, unit = 1, "s"
    for limit, name in _STEPS:
        unit = name
        if seconds < limit:
            break
        size = limit
    else:
        unit = "y"
    return Markup('<time datetime="{0}" title="{0}">{1} {2}</time>').format(
        moment, int(seconds // size), unit
    )


def short(text: str, most: int = MAX_TITLE) -> str:
    """Cut `text` to the length of a title, or to `most` characters."""
    return first_words(text, most)


def below(text: str, title: str) -> str:
    """Return `text` without the heading or the line of its own that only repeats the `title` above.

    A text of nothing else stays as it is.
    """
    first, _, rest = text.lstrip().partition("\n")
    is_heading = _HEADING.match(first) and repeats_title(first, title)
    is_line = first.rstrip() == title and not rest.partition("\n")[0].strip()
    return rest.lstrip("\r\n") if rest.strip() and (is_heading or is_line) else text


_HEADING = re.compile(r"#{1,6}\s")


def breakable(path: str) -> Markup:
    """Return `path` so that a narrow view breaks it behind a slash rather than within a name."""
    return escape(visible(path)).replace("/", Markup("/<wbr>"))


def markdown(text: str) -> Markup:
    """Render CommonMark with tables as HTML. HTML in it stays text, and images become links."""
    text = visible(text)
    if len(text) > MAX_MARKDOWN_CHARACTERS or len(_MARKS.findall(text)) > MAX_MARKS:
        return Markup("<pre>{}</pre>").format(text)
    html = _markdown().render(text)  # with `html` off: its only tags are those of Markdown
    for tag, instead in _SCROLLED:
        html = html.replace(tag, instead)
    return Markup(html)  # noqa: S704


_MARKS = re.compile(r"[\n!&*<>\[\\\]_`|~]")

# Blocks that may be wider than the page scroll on their own, and with the focus by the arrow keys.
_SCROLLED = (
    ("<pre>", '<pre tabindex="0">'),
    ("<table>", '<div class="scroll" tabindex="0"><table>'),
    ("</table>", "</table></div>"),
)


def sentence(text: str) -> str:
    """Return `text` with a capital, unless a path, a quotation or code begins it."""
    return text[:1].upper() + text[1:] if text.partition(" ")[0].isalpha() else text


def with_code(text: str) -> Markup:
    """Return `text` with what stands between backticks as code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return escape(visible(text))
    return Markup().join(
        Markup("<code>{}</code>").format(visible(part)) if at % 2 else escape(visible(part))
        for at, part in enumerate(parts)
    )


@cache
def _markdown() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    parser.disable("image")  # stays a link behind a `!`: viewing a page fetches nothing

    def open_link(_renderer: Any, tokens: Any, index: int, *_rest: Any) -> str:  # noqa: ANN401
        href = escape(tokens[index].attrGet("href") or "")
        return f'<a href="{href}" target="_blank" rel="noreferrer noopener">'

    parser.add_render_rule("link_open", open_link)
    return parser


Line = tuple[int, Markup]
"""The number of a line in its file, and its HTML."""

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
    lexer = _lexer(language) if len(code) <= MAX_COLOURED else None
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
