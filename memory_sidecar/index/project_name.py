"""Leaves the name of a project out of a question that is asked in it.

In a project called shop, "how does shop round prices" asks how prices are rounded. The name would
find all that mentions it.
"""

from __future__ import annotations

import re

from memory_sidecar.index.words import STOPWORDS, plain_words

MIN_SUBJECT_WORDS = 2  # that remain of a query without the name of the project

# Names of folders that are words of a question: "main loop" in a clone called main.
_NO_PROJECTS = frozenset(
    "api app backend client code core docs frontend lib main master project repo server src tests"
    " web".split()
)


def without_project(text: str, project: str) -> str:
    """Return `text` without the name `project` where that means the project itself.

    That is at the beginning, after "in" and the like, after "does", and before "'s". Returns `text`
    itself if few words would remain to look for.
    """
    if project.lower() in _NO_PROJECTS or len(project) > len(text):  # compiling it takes seconds
        return text
    name = r"[-_.\ ]".join(map(re.escape, re.split("[-_. ]+", project)))
    return cut_out(
        rf"""(?:(?:\A\W*|\ )(?:in|inside|within|of|by|for)\ {name} | \A\W*{name}
        | (?<![\w./-]){name}(?='s) | \b(?P<does>do|does|did|can|should)\ {name})
        (?:'s)?(?![\w/\\-]|(?:\.|::|->|\#)\w)""",
        text,
    )


def cut_out(pattern: str, text: str) -> str:
    """Return `text` without what `pattern` finds, or with "it" after its group `does`.

    Returns `text` itself if few words would remain to look for.
    """
    rest = re.sub(
        pattern,
        lambda found: f"{found['does']} it" if found["does"] else "",
        text,
        flags=re.IGNORECASE | re.VERBOSE,
    ).strip(" ,:")
    return rest if len(set(plain_words(rest)) - STOPWORDS) >= MIN_SUBJECT_WORDS else text
