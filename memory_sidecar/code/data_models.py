"""Tells which type a question for a model or a table means: "columns of the feed token table".

That is `FeedToken`, which has these, rather than the migrations that changed them.
"""

from __future__ import annotations

import re

MAX_WORDS = 4

_THING = r"(?:model|table|entity|entities|record|row|type|struct|class)s?"
_PARTS = r"(?:schema|columns?|fields?|properties|attributes|structure|definition|model|table)"
_ASKED = re.compile(
    rf"""\A\W*(?:(?:what|which|the|all|is|are|list|database|db)\ )*{_PARTS}
    \ (?:are\ )?(?:of|for|in|on|does|do)\ (?:(?:the|an?|each)\ )?
    (?P<owner>[a-z][\w -]*?)(?:\ {_THING})?(?:\ (?:have|has|contain|hold|define)s?)?\W*\Z
    | \A\W*(?:(?:what|which|where|the|an?|is|are|database|db)\ )*(?P<named>[a-z][\w -]*?)
    \ (?:(?:data\ |database\ |db\ )?(?:model|table|entity)(?:\ {_PARTS})?|schema)\W*\Z""",
    re.IGNORECASE | re.VERBOSE,
)


def model_names(text: str) -> list[str]:
    """Return the names of a type that the question `text` may mean, in the singular, too."""
    found = _ASKED.match(text)
    words = re.split(r"[\W_]+", found["owner"] or found["named"]) if found else []
    if not 0 < len(words) <= MAX_WORDS:
        return []
    name = "".join(word[:1].upper() + word[1:] for word in words)
    singular = re.sub(r"ies$", "y", name) if name.endswith("ies") else name.removesuffix("s")
    return list(dict.fromkeys((name, singular)))
