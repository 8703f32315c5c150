"""What can be searched: a set of rows with their words and their vectors.

Every corpus of a database has the same tables, named after it; the SQL that makes them explains
them. A row has a vector or waits for one, never both, never neither.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Corpus:
    """Names the tables of one set of rows."""

    name: str
    rows: str  # the table of the rows, keyed by `id`
    text: str  # SQL expression over a row: what the model sees of it
    columns: tuple[str, ...]  # of `words`
    weights: tuple[float, ...]  # of these columns, for BM25
    has_source: bool = False  # a column `source` names the source that a row is derived from

    @property
    def words(self) -> str:
        """FTS5, contentless: what the keyword arm finds a row by."""
        return f"{self.name}_words"

    @property
    def vocabulary(self) -> str:
        """fts5vocab over `words`: how many rows hold a word."""
        return f"{self.name}_vocabulary"

    @property
    def vectors(self) -> str:
        """vec0: id, embedding."""
        return f"{self.name}_vectors"

    @property
    def pending(self) -> str:
        """The durable queue: id, queued_at."""
        return f"{self.name}_pending"

    @property
    def version_key(self) -> str:
        """The identity's count of transactions that changed the vectors."""
        return f"{self.name}_vector_version"
