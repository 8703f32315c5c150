"""The arms of all searches, the threads beside the keyword arm, and the vectors of questions.

An arm is the ranking of a corpus's rows by words, or by vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from memory_sidecar.core.errors import ModelError, NoIndex
from memory_sidecar.core.model import SearchMode
from memory_sidecar.core.results import Reporter
from memory_sidecar.core.sqlite import Connection
from memory_sidecar.embedding.embedder import Embedder
from memory_sidecar.embedding.models import Models
from memory_sidecar.index.codes import Floats, Ids
from memory_sidecar.index.ids import locate, mask_allowed
from memory_sidecar.index.report import VectorCounts
from memory_sidecar.index.schema import read_identity
from memory_sidecar.index.vectors import EmbedQuery, Vector, VectorView

Scores = npt.NDArray[np.float64]

SEARCH_POOL = ThreadPoolExecutor(4, thread_name_prefix="question")
"""The threads for work beside the keyword arm, nearly all of which releases the GIL.

All searches share these few, so a task may wait only for tasks that were submitted before it.
"""


@dataclass(frozen=True, slots=True)
class Arm:
    """An arm's score of every row that it knows; `ids` and `scores` (n,), by ascending id."""

    ids: Ids
    scores: Floats

    @classmethod
    def silent(cls) -> Arm:
        return cls(np.empty(0, np.int64), np.empty(0, np.float32))

    @classmethod
    def of(cls, ids: Ids, scores: Floats, allowed: Ids | None) -> Arm:
        """`ids`, `scores`: (n,), in any order. `allowed`: ascending, or None for all."""
        if allowed is not None:
            kept = mask_allowed(ids, allowed)
            ids, scores = ids[kept], scores[kept]
        if np.any(np.diff(ids) < 0):
            order = np.argsort(ids)
            ids, scores = ids[order], scores[order]
        return cls(ids, scores)

    def best(self, depth: int) -> Ids:
        """Return the ids of the `depth` best rows, or of all, in any order."""
        if len(self.ids) <= depth:
            return self.ids
        return self.ids[np.argpartition(self.scores, -depth)[-depth:]]

    def scores_of(self, wanted: Ids) -> Scores:
        """Return the scores (n,) of the rows `wanted`; NaN for those that the arm does not know."""
        at, known = locate(wanted, self.ids)
        scores = np.full(len(wanted), np.nan)
        scores[known] = self.scores[at[known]]
        return scores


class VectorArm:
    """The vector arm, which computes cosines only of the rows that it is asked for."""

    def __init__(self, view: VectorView, query: Floats, allowed: Ids | None, depth: int) -> None:
        """Find the best `depth` rows for `query`, a unit vector; `allowed` is as in `Arm.of`."""
        self._view = view
        self._query = query
        self._best, _ = view.nearest(query, depth, allowed)

    def best(self, depth: int) -> Ids:
        return self._best[:depth]

    def scores_of(self, wanted: Ids) -> Scores:
        """Return the cosines (n,) of the rows `wanted`; NaN for those without a vector."""
        return self._view.cosines_of(self._query, wanted).astype(np.float64)


class QuestionEmbedder:
    """Embeds questions for comparison with the vectors that a database has."""

    def __init__(self, models: Models, *, remedy: str) -> None:
        """`remedy` is the command that brings the database up to date, for hints."""
        self._models = models
        self._remedy = remedy

    def begin(self, connection: Connection, texts: Sequence[str]) -> Sequence[Future[Vector]]:
        """Begin to embed `texts` in other threads, if `connection` has vectors of our model."""
        with suppress(ModelError):
            embedder = self._models.embedder
            if texts and read_identity(connection, "model") == embedder.files.sha256:
                return [SEARCH_POOL.submit(embedder.embed_query, text) for text in texts]
        return ()

    def by_model(
        self,
        connection: Connection,
        counts: VectorCounts,
        reporter: Reporter,
        mode: SearchMode,
        *,
        is_main: bool = True,
        static: EmbedQuery | None = None,
        whose: str = "",
    ) -> EmbedQuery | None:
        """Return a function that embeds a question to compare it with the rows counted in `counts`.

        Returns None, with a notice, if there is no vector to compare with; for the main rows of a
        search by vector alone, raises ModelError or NoIndex instead. Notices name the agent `whose`
        rows they are, and say whether rows without a vector are ranked by `static` vectors or, in
        that `mode`, left out.
        """
        is_alone = mode is SearchMode.VECTOR
        required = is_alone and is_main
        meanwhile = "by keyword and static vectors" if static else "by keyword alone"
        if not counts.rows and not required:
            return None
        try:
            embedder = self._embedder_for(connection, counts)
        except (ModelError, NoIndex) as error:
            if required:
                raise
            outcome = "leaving out what has no vector" if is_alone else f"ranking {meanwhile}"
            reporter.notice(f"{outcome}: {error.with_hint}")
            return None
        if not counts.pending:
            return embedder.embed_query
        outcome = "leaving out the others" if is_alone else f"ranking the others {meanwhile}"
        counts.notice_pending(reporter, outcome, whose=whose)
        if counts.pending < counts.rows:
            return embedder.embed_query
        if required:
            raise NoIndex(
                "no vectors yet (0 % done)",
                hint=f"`--mode hybrid` ranks {meanwhile} until they are there; "
                "`memory-sidecar status` shows the progress",
            )
        return None

    def by_static(self, connection: Connection) -> EmbedQuery | None:
        """Return a function that makes static vectors of questions; `None` if no row has any."""
        static = self._models.static
        if static is None or read_identity(connection, "static") != static.version:
            return None
        return lambda text: static.embed([text])[0]

    def _embedder_for(self, connection: Connection, counts: VectorCounts) -> Embedder:
        """Return the loaded model. Raises ModelError, and NoIndex for vectors of another model."""
        embedder = self._models.embedder
        if counts.rows > counts.pending:
            if read_identity(connection, "model") != embedder.files.sha256:
                raise NoIndex(
                    "vectors are of another model", hint=f"`{self._remedy}` makes new ones"
                )
            embedder.load()
        return embedder
