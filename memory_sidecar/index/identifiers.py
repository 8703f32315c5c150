"""Counts identifiers as a whole: `parse_config_v2` is more than its three words here and there.

Only memories and sessions use this; code is found by the names that it defines, see `code.named`.
"""

from __future__ import annotations

from memory_sidecar.core.sqlite import Connection
from memory_sidecar.index.keyword import (
    Keywords,
    Postings,
    idf_of,
    rows_with,
    stems_of,
)
from memory_sidecar.index.report import row_count
from memory_sidecar.index.schema import Corpus


def with_identifiers(
    postings: Postings, connection: Connection, corpus: Corpus, keywords: Keywords
) -> Postings:
    """Return `postings`, of `keywords`, with a further list for each identifier that rows hold.

    If the question is identifiers alone, each weighs its idf. Beside other words, it weighs only
    the excess of its idf over that of its rarest word, since an answer need not repeat the name.
    """
    parts = {term: stems_of(term) for term in keywords.terms if " " in term}
    is_alone = keywords.idf.keys() <= {stem for stems in parts.values() for stem in stems}
    lists, weights = dict(postings.lists), dict(postings.weights)
    for term, stems in parts.items():
        known = [keywords.idf[stem] for stem in stems if stem in keywords.idf]
        if term in lists or not known or any(stem in postings.unread for stem in stems):
            continue  # reading the posting lists of very common words takes long
        rows = rows_with(connection, corpus, term, keywords.among)
        weight = idf_of(len(rows), row_count(connection, corpus.rows))
        weight -= 0.0 if is_alone else max(known)
        if len(rows) and weight > 0:
            lists[term], weights[term] = rows, weight
    return Postings(lists, postings.unread, weights)
