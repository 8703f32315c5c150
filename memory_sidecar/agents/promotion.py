"""Turns sessions into memories: summary → candidates → the new ones among them → memory files.

    memory-sidecar session promote ID      on demand, or by itself after a success, if configured

Promoting twice stores nothing twice: a candidate that a memory or another candidate already says,
in the same words or nearly so, is reported and not stored. A dry run judges in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from memory_sidecar.agents.agent import Agent
from memory_sidecar.core.credentials import credential_problem, mask_document
from memory_sidecar.core.errors import ModelError, NotFound
from memory_sidecar.core.results import Reporter
from memory_sidecar.core.settings import Settings
from memory_sidecar.core.sqlite import Connection
from memory_sidecar.core.times import parse_time
from memory_sidecar.index.codes import Floats
from memory_sidecar.index.derived import DerivedStore
from memory_sidecar.index.vectors import Vector
from memory_sidecar.index.words import is_mostly_foreign
from memory_sidecar.memories.around import NEAR_DUPLICATE, memories_like, notice_no_model
from memory_sidecar.memories.draft import Draft, is_project
from memory_sidecar.memories.files import with_session
from memory_sidecar.memories.handlers import Memories
from memory_sidecar.memories.lookup import memories_by_statement, memories_with_content
from memory_sidecar.memories.store import MEMORY_CHUNKS
from memory_sidecar.sessions.documents import read_session, summary_document
from memory_sidecar.sessions.extract import DETAILED_SENTENCES, Embed, extract_summary
from memory_sidecar.sessions.journal import Journal
from memory_sidecar.sessions.model import Outcome, Session, Summary
from memory_sidecar.sessions.promotion import (
    Candidate,
    Fate,
    candidates,
    join_briefs,
    make_outcome,
    merge_sessions,
)
from memory_sidecar.sessions.results import Promotion, Saved
from memory_sidecar.sessions.summarizer import summarize

_ROWS = 256  # candidates compared at a time: one by one, 10,000 take many times as long


class Promoter:
    """Promotes sessions of `agent` into its own memories, or into `shared` ones."""

    def __init__(
        self,
        agent: Agent,
        *,
        settings: Settings,
        environ: Mapping[str, str],
        project_of: Callable[[Path], str],
        reporter: Reporter,
    ) -> None:
        """`project_of` returns the name of the project that contains a folder; "" for none."""
        self._agent = agent
        self._journal = Journal(agent, reporter)
        self._settings = settings
        self._environ = environ
        self._project_of = project_of
        self._reporter = reporter

    def promote(self, session_id: str, *, shared: bool = False, dry_run: bool = False) -> Promotion:
        """Store the memories that the session suggests; a dry run only reports them.

        A session without a summary gets one, which is saved with it. Raises SummarizerFailed, and
        NotFound for an unknown session or one without a sentence to summarize.
        """
        document = self._journal.get(session_id).document
        session = read_session(document)
        summary = session.summary or mask_document(self._make_summary(session, document))
        if session.summary is None and not dry_run:
            self._journal.add_summary(session.session_id, summary_document(summary))
        judged = list(self._judge(candidates(session, summary)))
        return self._finish(session, summary, judged, shared=shared, dry_run=dry_run)

    def promote_journal(self, tag: str, *, shared: bool, dry_run: bool) -> Promotion:
        """Store one outcome of all sessions that carry `tag`; with tag "", of the whole journal.

        The decisions, solved problems and notes of their own summaries are stored beside it. Raises
        as `promote`, and NotFound where no session carries the tag.
        """
        documents = self._journal.entries(tag)
        sessions = [read_session(each) for each in documents]
        document = merge_sessions(documents)
        whole = read_session(document)
        summed_up = [(each, each.summary) for each in sessions if each.summary]
        briefs = join_briefs([summary for _, summary in summed_up]) if summed_up else None
        made = briefs if len(summed_up) == len(sessions) <= DETAILED_SENTENCES else None
        made = made or self._make_summary(whole, document, fallback=briefs)
        summary = mask_document(made)
        suggested = [c for one, its in summed_up for c in candidates(one, its, with_brief=False)]
        outcome = make_outcome(whole, summary, tag, sessions)
        judged = list(self._judge([*suggested, outcome]))
        return self._finish(whole, summary, judged, shared=shared, dry_run=dry_run)

    def save(self, document: Mapping[str, Any], *, allow_secrets: bool = False) -> Saved:
        """Save a session; promote it if the settings say so and its outcome is a success."""
        saved = self._journal.save(document, allow_secrets=allow_secrets)
        if not (self._settings.session_promotion and saved.changed):
            return saved
        summary = read_session(self._journal.get(saved.session_id).document).summary
        if summary is None or summary.outcome is not Outcome.SUCCESS:
            return saved
        return replace(saved, promotion=self.promote(saved.session_id))

    def _finish(
        self,
        session: Session,
        summary: Summary,
        judged: Sequence[Candidate],
        *,
        shared: bool,
        dry_run: bool,
    ) -> Promotion:
        """Store the new ones of `judged`, unless `dry_run`, and report what became of all."""
        target = self._agent.shared if shared and self._agent.shared else self._agent
        if not dry_run:
            folder = Path(session.project_path)  # perhaps one of another machine, or just a name
            around = self._project_of(folder) if folder.is_absolute() else ""
            project = around or session.project
            # Each is checked before any is stored: a text may be too long for a memory.
            drafts = [
                self._draft(each, project) if each.fate is Fate.NEW else None for each in judged
            ]
            judged = [
                self._store(each, draft, target) if draft else each
                for each, draft in zip(judged, drafts, strict=True)
            ]
        return Promotion(session.session_id, summary.brief, summary.made_by, tuple(judged))

    def _make_summary(
        self, session: Session, document: Mapping[str, object], *, fallback: Summary | None = None
    ) -> Summary:
        """Summarize `session` by the configured command, or else extract its central sentences.

        Returns `fallback` for a session without a sentence. Raises NotFound, SummarizerFailed.
        """
        if command := self._settings.session_summarizer:
            return summarize(
                command,
                document,
                timeout_s=self._settings.session_summarizer_timeout_s,
                environ=self._environ,
            )
        summary = extract_summary(session, self._embed) or fallback
        if summary is None:
            raise NotFound(
                f"the session {session.session_id} has neither a summary nor a sentence to make "
                "one of",
                hint="save it again with a summary",
            )
        return summary

    @property
    def _embed(self) -> Embed | None:
        """The model's function from texts to vectors; None without a model."""
        with suppress(ModelError):
            return self._agent.data.models.embed
        return None

    def _judge(self, suggested: Sequence[Candidate]) -> Iterator[Candidate]:
        """Compare each candidate with the agent's and shared memories, and with those before it."""
        embed = self._embed
        notice_no_model(self._agent.data.models, self._reporter)
        vectors = embed([each.text for each in suggested]) if embed else None
        asked = [
            (each, None if vectors is None or is_mostly_foreign(each.text) else vectors[at])
            for at, each in enumerate(suggested)
        ]
        known_by_agent = [
            agent.answer(
                partial(_find_known, asked, agent.name, embed), self._reporter, MEMORY_CHUNKS
            )
            for agent in (self._agent, self._agent.shared)
            if agent and agent.exists
        ]
        new = _New(suggested, vectors)
        for place, candidate in enumerate(suggested):
            judged = candidate
            if candidate.fate is Fate.NEW:
                judged = (
                    self._refuse_secret(candidate)
                    or new.find_repeated(place)
                    or min(
                        (known for each in known_by_agent if (known := each[place])),
                        key=lambda known: known.fate is Fate.NEW,
                        default=candidate,
                    )
                )
            if judged.fate is Fate.NEW:
                new.add(place)
            yield judged

    def _refuse_secret(self, candidate: Candidate) -> Candidate | None:
        """Return `candidate` as refused if it seems to hold a secret, with a notice; else None."""
        if not (problem := credential_problem(candidate)):
            return None
        self._reporter.notice(f"left out for {candidate.category}: {problem}")
        return replace(candidate, fate=Fate.REFUSED)

    def _draft(self, candidate: Candidate, project: str) -> Draft:
        """Make the draft of a memory. Raises UsageError for a text that is too long for one."""
        return Draft(
            content=with_session(candidate.text, candidate.subject),
            category=candidate.category,
            tags=candidate.tags,
            source=f"agent:{self._agent.name}",
            evidence=candidate.evidence,
            project=project if is_project(project) else None,
            said_at=parse_time(candidate.said_at),
        )

    def _store(self, candidate: Candidate, draft: Draft, target: Agent) -> Candidate:
        """Store `draft` in the memories of `target`; return `candidate` with path and fate."""
        remembered = Memories(target, self._reporter).store(draft)
        fate = Fate.STORED if remembered.created else Fate.KNOWN
        return replace(candidate, fate=fate, path=remembered.path, agent=remembered.agent)


class _New:
    """Those of the candidates `suggested` that are new. `vectors`: one for each, or None."""

    def __init__(self, suggested: Sequence[Candidate], vectors: Floats | None) -> None:
        self._suggested = suggested
        self._vectors = vectors
        self._places: set[int] = set()
        self._by_text: dict[str, int] = {}
        self._start = -1  # of the block of candidates whose cosines are at hand

    def add(self, place: int) -> None:
        self._places.add(place)
        self._by_text.setdefault(self._suggested[place].text.casefold(), place)

    def find_repeated(self, place: int) -> Candidate | None:
        """Return the candidate at `place` as repeated if a new one says the same, or nearly."""
        candidate = self._suggested[place]
        same = self._by_text.get(candidate.text.casefold())
        alike = [] if same is None else [same]
        cosines = None
        if self._vectors is not None and not is_mostly_foreign(candidate.text):
            cosines = self._cosines(place, self._vectors)
            alike += np.flatnonzero(cosines >= NEAR_DUPLICATE).tolist()
        first = min(self._places.intersection(alike), default=None)
        if first is None:
            return None
        cosine = None if cosines is None else round(float(cosines[first]), 4)
        repeats = self._suggested[first].text
        return replace(candidate, fate=Fate.REPEATED, cosine=cosine, repeats=repeats)

    def _cosines(self, place: int, vectors: Floats) -> Floats:
        """Return the cosines of the candidate at `place` with each before it: (place,)."""
        start = place - place % _ROWS
        if start != self._start:
            self._start = start
            self._block = vectors[start : start + _ROWS] @ vectors[: start + _ROWS].T
        cosines: Floats = np.minimum(self._block[place - start, :place], 1.0)
        return cosines


def _find_known(
    asked: Iterable[tuple[Candidate, Vector | None]],
    agent: str,
    embed: Embed | None,
    store: DerivedStore,
    connection: Connection,
) -> list[Candidate | None]:
    """Return each of `asked` as known or near if a memory of `agent` says it; else None.

    A candidate that a memory only resembles stays new, and names the memory. `asked`: candidates
    with their vectors; for a candidate without one, only the same words count.
    """
    found: list[Candidate | None] = []
    stated = memories_by_statement(connection)
    for candidate, vector in asked:
        known = None
        same = memories_with_content(connection, candidate.text)
        if path := same[0] if same else stated.get(candidate.text):
            known = replace(candidate, fate=Fate.KNOWN, path=path, agent=agent)
        elif vector is not None and (
            near := memories_like(connection, store, vector, candidate.text, embed=embed)
        ):
            path, cosine = near[0].path, near[0].cosine
            alike = replace(candidate, cosine=cosine, says=near[0].summary)
            known = (
                replace(alike, fate=Fate.NEAR, path=path, agent=agent)
                if cosine >= NEAR_DUPLICATE
                else replace(alike, resembles=path)
            )
        found.append(known)
    return found
