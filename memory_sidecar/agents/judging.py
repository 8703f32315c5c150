"""Keeps the questions whose answers the user judged: a benchmark set for `./task bench -- SET`.

SET is the folder `questions` of the data directory. A line of its `queries.jsonl` is one question
with the paths, as a search shows them, of everything that the user said answers it:

    {"text": "where are prices rounded", "kind": "code", "of": "shop", "root": "/srv/shop",
     "relevant": ["src/money.py"]}
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from shlex import quote
from typing import Annotated

import msgspec

from memory_sidecar.agents.services import Services
from memory_sidecar.core.atomic import replace_file, sweep
from memory_sidecar.core.credentials import refuse_credentials
from memory_sidecar.core.errors import NotFound, UsageError
from memory_sidecar.core.locks import hold_lock
from memory_sidecar.core.model import Asked
from memory_sidecar.core.paths import QUESTIONS
from memory_sidecar.core.results import Reporter, Silent, about
from memory_sidecar.core.sqlite import named_errors
from memory_sidecar.memories.recall import Recall
from memory_sidecar.sessions.documents import parse_session_address

JUDGED = "queries.jsonl"
MAX_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class JudgedQuestion:
    """A question, and what answers it according to the user."""

    text: str
    kind: Asked
    of: Annotated[str, about("the source, or the agent who asks")]
    root: Annotated[str, about("of the source, absolute; empty for an agent")]
    relevant: Annotated[tuple[str, ...], about("paths as a search tells them, or session ids")]

    def is_same(self, other: JudgedQuestion) -> bool:
        """Whether both have the same text and kind, and ask the same source or agent."""
        return (self.text, self.kind, self.of) == (other.text, other.kind, other.of)


class JudgedSet:
    """The judged questions of a data directory. A lock keeps the changes of processes apart."""

    def __init__(self, services: Services, reporter: Reporter) -> None:
        self._services = services
        self._reporter = reporter
        self._tree = services.data_dir.tree
        self._folder = services.data_dir.root / QUESTIONS

    def all(self) -> list[JudgedQuestion]:
        """List the questions in the order they were first judged. Raises UsageError if broken."""
        file = self._folder / JUDGED
        with named_errors(file):
            try:
                lines = self._tree.read(file, MAX_BYTES).splitlines()
            except FileNotFoundError:
                return []
        try:
            return [_decoder.decode(line) for line in lines]
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise UsageError(
                f"{file} is not a list of judged questions: {error}", hint="fix it, or move it away"
            ) from error

    def add(self, text: str, kind: Asked, of: str, place: str) -> JudgedQuestion:
        """Note that `place` answers `text`. Raises NotFound, UsageError, SecretRefused.

        `place`: the path of a file in the source `of`, or the path of a memory or the id of a
        session of the agent `of`.
        """
        if not text.strip():
            raise UsageError("the question is empty", hint="give the question")
        refuse_credentials({"text": text})
        root, place = self._resolve(kind, of, place)
        judged = JudgedQuestion(text, kind, of, root, (place,))

        def change(known: list[JudgedQuestion]) -> list[JudgedQuestion]:
            for at, each in enumerate(known):
                if judged.is_same(each):
                    relevant = tuple(dict.fromkeys((*each.relevant, place)))
                    return [*known[:at], replace(judged, relevant=relevant), *known[at + 1 :]]
            return [*known, judged]

        return next(each for each in self._rewrite(change) if judged.is_same(each))

    def remove(self, text: str, place: str | None = None) -> list[JudgedQuestion]:
        """Take back that `place`, or by default anything, answers `text`; return what is left.

        Raises NotFound if no question `text` has that answer.
        """

        def without(each: JudgedQuestion) -> JudgedQuestion:
            kept = () if place is None else tuple(r for r in each.relevant if r != place)
            return replace(each, relevant=kept) if each.text == text else each

        def change(known: list[JudgedQuestion]) -> list[JudgedQuestion]:
            left = list(map(without, known))
            if left == known:
                lacking = f"{place!r} does not answer" if place is not None else "no question is"
                raise NotFound(
                    f"{lacking} {text!r}",
                    hint="`memory-sidecar judged list` shows the questions and their answers",
                )
            return [each for each in left if each.relevant]

        change(self.all())  # raises before the lock would make the folder
        return self._rewrite(change)

    def _rewrite(
        self, change: Callable[[list[JudgedQuestion]], list[JudgedQuestion]]
    ) -> list[JudgedQuestion]:
        """Replace the file by what `change` makes of its questions, under the lock."""
        lock = self._folder / f"{JUDGED}.lock"
        with hold_lock(self._tree, lock, what=f"{self._folder} is"):
            changed = change(self.all())
            content = b"".join(msgspec.json.encode(each) + b"\n" for each in changed)
            with named_errors(self._folder / JUDGED):
                replace_file(self._tree, self._folder / JUDGED, content)
            sweep(self._tree, self._folder, is_sole_writer=True, pattern="")
        return changed

    def _resolve(self, kind: Asked, of: str, place: str) -> tuple[str, str]:
        """Resolve `place` to a source's root ("" for an agent) and the name that a search shows.

        Raises NotFound where nothing indexed is at `place`.
        """
        if kind is Asked.CODE:
            codebase = self._services.codebase()
            source = codebase.registry.get(of)
            if not codebase.is_indexed(source, place):
                hint = f"`memory-sidecar why {quote(str(source.root / place))}` says more"
                raise NotFound(f"{of} has no indexed file {place}", hint=hint)
            return source.root.as_posix(), place
        if kind is Asked.SESSIONS:
            session_id, _ = parse_session_address(place)
            session = self._services.sessions(of, reporter=self._reporter).get(session_id)
            return "", str(session.document["session_id"])
        recall = Recall(self._services.agent(of), Silent())  # the error says what is not there
        return "", recall.peek(place, with_shared=True).path


_decoder = msgspec.json.Decoder(JudgedQuestion)
