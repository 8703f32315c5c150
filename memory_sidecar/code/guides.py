"""Tells which questions ask how to install, run or change a project, and which files are guides."""

from __future__ import annotations

import re
from collections.abc import Collection

from memory_sidecar.code.asides import PROSE
from memory_sidecar.index.project_name import is_how_to_of

# Always candidates if a guide is asked for: the arms would find tests for "how do I run the tests".
ENTRY_PAGES = tuple(
    f"{name}{ending}"
    for name in ("README", "Readme", "readme", "CONTRIBUTING")
    for ending in (".md", ".markdown", ".rst", "")
)
GUIDE_BOOST = 0.2
ENTRY_PAGE_BOOST = 0.3  # for a README and the like at the root

# A question of users or builders of the project, which its README and docs answer.
_GUIDE = re.compile(
    r"\bhow (?:do|can|should|would) (?:i|you|one)\b"
    r"|\bhow (?:to|(?:do|can|should) we) (?:install|run|build|compile|configure|set ?up|contribute"
    r"|upgrade|migrate|deploy|release|start|launch|get|use|test(?! (?:if|for|that|whether)\b))\b"
    r"|\b(?:get(?:ting)? started|quick ?start|hello world|install(?:ation|ing)|contribut(?:e|ing)"
    r"|(?:what|system) (?:are the )?requirements|supported versions?|simple example"
    r"|versions? (?:is|are) (?:supported|required|needed)"
    r"|(?:which|what) [\w .-]{0,60}versions? [\w .-]{0,60}support\w*"
    r"|how is [\w .-]+ licensed|(?:which|what) licen[cs]e"
    r"|report (?:(?:a|an) (?:\w+ )?(?:bug|issue|problem|vulnerability)|bugs))\b"
    r"|\A\W*(?:run(?:ning)? (?:\w+ ){0,2}tests\b|(?:migrat|upgrad)(?:e|ing) from\b.*\bto\b)",
    re.IGNORECASE,
)
_ENTRY_PAGE = re.compile(
    r"^(?:readme|contributing|install(?:ing|ation)?|hacking|develop\w*|getting.?started)[^/]*$"
    r"|^(?:\.github/|docs?/)?(?:security|contributing)[^/]*$",
    re.IGNORECASE,
)
_NOTICES = re.compile(r"(^|/)(?:change|history|news|release|licen[cs]e)[^/]*$", re.IGNORECASE)
_ASKS_FOR_LICENCE = re.compile(r"\blicen[cs]e[ds]?\b", re.IGNORECASE)
_LICENCE = re.compile(r"^(?:docs?/)?(?:licen[cs]e|copying|unlicense)[^/]*$", re.IGNORECASE)


def asks_for_guide(text: str, projects: Collection[str]) -> bool:
    """Whether the question `text` is one of users or builders of one of `projects`."""
    return bool(_GUIDE.search(text)) or any(is_how_to_of(text, each) for each in projects)


def guide_boost(path: str, text: str) -> float:
    """Return what a chunk of the file at `path` gains by being a guide, as `text` asks for one."""
    if _LICENCE.search(path) and _ASKS_FOR_LICENCE.search(text):
        return ENTRY_PAGE_BOOST
    if not PROSE.search(path) or _NOTICES.search(path):
        return 0.0
    return ENTRY_PAGE_BOOST if _ENTRY_PAGE.search(path) else GUIDE_BOOST
