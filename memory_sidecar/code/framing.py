"""Leaves out of a request what it says around its subject: those words would be looked for, too.

"Can you show me the code for X", "where is X defined" and "how does the app handle X" ask for X,
"the X class" for a name. In a project called shop, "how does shop round prices" asks how prices are
rounded.
"""

from __future__ import annotations

import re

from memory_sidecar.index.words import STOPWORDS, plain_words

MAX_FRAMES = 4  # phrases left out at each end of a request
MIN_SUBJECT_WORDS = 2  # that remain of a query without the name of the project

LOOKS_LIKE_NAME = re.compile(r"_|\.|::|->|#|\(\)|[a-z0-9][A-Z]|[A-Z]{2}[a-z]|[?!]$")
QUESTION_WORD = re.compile(r"\W*(?:how|what|where|why|which|who|when)\b", re.IGNORECASE)
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
# Said beside a name, "QuerySet class" or "def parse_args", and not only: a hash function is none.
_KINDS = frozenset(
    "class def definition enum fn func function implementation interface method module signature"
    " source code struct the trait type".split()
)
_JOINING = re.compile(r"\A(?:where|how|what|which)\s+", re.IGNORECASE)
# Names of folders that are words of a question: "main loop" in a clone called main.
_NO_PROJECTS = frozenset(
    "api app backend client code core docs frontend lib main master project repo server src tests"
    " web".split()
)


def without_project(text: str, project: str) -> str:
    """Return `text` without the name `project` where that means the project itself.

    That is at the beginning, after "in" and the like, after "does", and before "'s"; and whatever
    stands between "does" and "handle". `text` itself if few words would remain to look for.
    """
    name = r"[-_.\ ]".join(map(re.escape, re.split("[-_. ]+", project)))
    if project.lower() in _NO_PROJECTS:
        name = "(?!)"
    rest = re.sub(
        rf"""(?:\A\W*{name} | \ (?:in|inside|within|of|by|for)\ {name} | (?<![\w./-]){name}(?='s)
        | \b(?P<does>do|does|did|can|should)\ (?:{name}|\S+(?=\ (?:handle|implement)\b)))
        (?:'s)?(?![\w/-]|\.\w)""",
        lambda found: f"{found['does']} it" if found["does"] else "",
        text,
        flags=re.IGNORECASE | re.VERBOSE,
    ).strip(" ,:")
    return rest if len(set(plain_words(rest)) - STOPWORDS) >= MIN_SUBJECT_WORDS else text


def without_framing(text: str) -> str:
    """Return `text` without the wording around what it is about, and a question's mark at its end.

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
    """Whether a word beside what it is, "QuerySet class", is a name: `TCP` interface is none."""
    return bool(LOOKS_LIKE_NAME.search(word)) or (word[0].isupper() and not word.isupper())
