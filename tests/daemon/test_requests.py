from __future__ import annotations

from pathlib import Path

from memory_sidecar.daemon.exchange import Request
from memory_sidecar.daemon.requests import RequestJournal


def asked(word: str) -> Request:
    return Request(("search", word), "/src", {}, False, False, 80)


def die_during(state: Path, *requests: Request) -> RequestJournal:
    """A daemon that is killed while it answers: nothing is cleared, nothing closed."""
    journal = RequestJournal(state)
    answering = [journal.answering(request) for request in requests]
    for each in answering:
        each.__enter__()
    LEFT_OPEN.extend(answering)
    return journal


LEFT_OPEN: list[object] = []  # a generator that is collected would clear its slot


def test_request_is_barred_after_three_crashes_in_a_row(tmp_path: Path) -> None:
    for count in range(3):
        daemon = die_during(tmp_path, asked("deadly"), asked(f"bystander {count}"))
        assert not daemon.is_barred(asked("deadly"))
    for _ in range(2):  # and stays so, while the daemon answers others
        daemon = die_during(tmp_path)
        assert daemon.is_barred(asked("deadly"))
        assert not daemon.is_barred(asked("bystander 2"))


def test_answer_in_between_clears_it(tmp_path: Path) -> None:
    for _ in range(4):
        die_during(tmp_path, asked("unlucky"))
        journal = RequestJournal(tmp_path)
        with journal.answering(asked("unlucky")):
            pass
        assert not journal.is_barred(asked("unlucky"))
        journal.close()


def test_broken_counts_are_begun_anew(tmp_path: Path) -> None:
    (tmp_path / "request-crashes.json").write_text("{")
    assert not RequestJournal(tmp_path).is_barred(asked("any"))
