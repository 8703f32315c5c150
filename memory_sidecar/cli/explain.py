"""Shows what a score is made of."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import shorten

from msgspec import UNSET

from memory_sidecar.cli.call import Call
from memory_sidecar.core.model import Explanation

SUBJECT_CHARACTERS = 60


def explanation_line(why: Explanation) -> str:
    """The terms as a sum, with what the arms said themselves."""
    arms = {"cosine": why.cosine, "keyword": why.keyword}
    told = []
    for name, value in why.terms.items():
        arm = arms.get(name)
        own = "" if arm is None else f" ({arm:.3f})"
        if name == "history" and why.commits is not UNSET:
            own = f" ({_first_of(why.commits)})"
        told.append(f"{value:+.3f} {name}{own}")
    return " ".join(told) or "nothing speaks for it"


def _first_of(subjects: Sequence[str]) -> str:
    more = f", {len(subjects) - 1} more" if len(subjects) > 1 else ""
    return f"'{shorten(subjects[0], SUBJECT_CHARACTERS, placeholder=' …')}'{more}"


def note_team(call: Call) -> None:
    """Say which database of a team stands behind the answer, and how fast it is."""
    if call.services.settings.database:
        from memory_sidecar.agents.team_status import team_line, team_status

        if (team := team_status(call.services)) is not None:
            call.reporter.notice(f"team: {team_line(team)}")
