"""Leaves out the wording of a request around its subject: its words would be searched for, too.

"Can you show me the code for X", "where is X defined", "how does the app handle X" and "the X
class" ask for X. In a project called shop, "how does shop round prices" asks how prices are
rounded.
"""

from __future__ import annotations

import re

from memory_sidecar.index.project_name import cut_out, without_project
from memory_sidecar.index.words import QUESTION_WORD, STOPWORDS, plain_words

# The plural of an abbreviation, as in "normalize URIs", is no name.
LOOKS_LIKE_NAME = re.compile(r"_|\.|::|->|#|\(\)|[a-z0-9][A-Z]|[A-Z]{2}(?!s\b)[a-z]|[?!]$")
MAX_FRAMES = 4  # phrases left out at each end of a request

_THING = (
    r"(?:code|place|part|logic|implementation|definition|source|function|method|class|type|module"
    r"|file|line)s?"
)
_DOES = r"(?:handles?|implements?|defines?|contains?|holds|does|is\ responsible\ for|deals\ with)"
_LEAD = re.compile(
    rf"""\A\W*(?: please | (?:can|could|would|will)\ you
    | i\ (?:need|want|have)\ to\ (?:know|see|understand|find|look\ at|change|modify|edit)
    | i(?:'m|\ am)\ looking\ for | help\ me\ (?:find|see|understand) | (?:search|look)\ for
    | (?:tell|show|give|find)\ me | (?:explain|describe)(?:\ to\ me)?
    | (?:find|locate|show|get|list|see)(?=\ (?:(?:where|how|what|which|the\ {_THING})\b|\S+$))
    | (?:all\ )?(?:the\ )?{_THING}\ (?:(?:that|which)\ {_DOES}|for|of|that|which|where|behind)
    | (?:which|what)\ {_THING}(?:\ {_DOES})?
    | where\ (?:is|are|do\ we) | what\ (?:is|are) | what\ (?:does|do)(?=\ .*\ do\W*$)
    | what\ happens\ (?:when|if|after|to) | how\ (?:do|does|did)(?=\ .*\ works?\W*$)
    | how\ (?:do|does|did)\ (?:it|this|they|we|the\ \S+)\ (?:handle|implement)
    )(?![^\s,:])[\s,:]*""",
    re.IGNORECASE | re.VERBOSE,
)
_TAIL = re.compile(
    rf"""\b(?: please | here | works? | lives? | do
    | (?:(?:is|are|was|were|gets?)\ )?(?:implemented|handled|defined|located|declared|done)
    | in\ (?:the|this|our)\ (?:code|code\ ?base|repo|repository|project)
    | (?:in\ )?(?:which|what)\ {_THING}\ (?:is\ it|(?:do|should|must|would)\ i\b.*)
    )\W*$""",
    re.IGNORECASE | re.VERBOSE,
)
# Words beside a name, as in "QuerySet class" and "def parse_args"; "hash function" has no name.
_KINDS = frozenset(
    "class def definition enum fn func function implementation interface method module signature"
    " source code struct the trait type".split()
)
_JOINING = re.compile(r"\A(?:where|how|what|which)\s+", re.IGNORECASE)
# "How does the app handle X" asks for X, whatever handles it.
_ACTOR = r"\b(?P<does>do|does|did|can|should)\ \S+(?=\ (?:handle|implement)\b)"


def without_actor(text: str, project: str) -> str:
    """Return `text` without what it says does something: `project`, or "the app" and the like."""
    return cut_out(_ACTOR, without_project(text, project))


def without_framing(text: str) -> str:
    """Return `text` without the wording around what it is about, and without its question mark.

    `text` itself if nothing would remain.
    """
    subject = whole = " ".join(text.split())
    for _ in range(MAX_FRAMES):
        subject = _LEAD.sub("", subject, count=1)
    if subject != whole:
        for _ in range(MAX_FRAMES):
            subject = _TAIL.sub("", subject).rstrip(" ,")
        subject = _JOINING.sub("", subject)
    if " " in subject and (subject != whole or QUESTION_WORD.match(subject)):
        subject = subject.rstrip("?!. ")  # not of a message, nor of a name: `empty?`
    names = [word for word in subject.split() if word.lower().rstrip("?!.,:") not in _KINDS]
    if len(names) == 1 and _is_name(names[0]):
        subject = names[0]
    if subject == whole or not set(plain_words(subject)) - STOPWORDS:
        return text
    return subject


def _is_name(word: str) -> bool:
    """Whether a word beside its kind is a name: "QuerySet class" has one, "TCP interface" none."""
    return bool(LOOKS_LIKE_NAME.search(word)) or (word[0].isupper() and not word.isupper())
