"""Leaves the name of a project out of a question that is asked in it.

In a project called shop, "how does shop round prices" asks how prices are rounded. The name would
find all that mentions it.
"""

from __future__ import annotations

import re

from memory_sidecar.index.words import STOPWORDS, plain_words

MIN_SUBJECT_WORDS = 2  # that remain of a query without the name of the project

_HOW_TO = re.compile(r"\bhow to (?:\w+ ){1,2}(?P<object>\w[\w.-]*)\W*\Z", re.IGNORECASE)
_BETWEEN = re.compile("[-_. ]+")  # words of a name

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


def is_how_to_of(text: str, project: str) -> bool:
    """Whether `text` asks how to do something with `project` itself: "how to back up shop"."""
    found = _HOW_TO.search(text)
    return found is not None and names_project(found["object"], project)


def names_project(name: str, project: str) -> bool:
    """Whether `name` is that of `project`, in whatever style: `MyShop` is my-shop."""
    plain, of_project = (_BETWEEN.sub("", each).lower() for each in (name, project))
    return plain == of_project not in _NO_PROJECTS


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
