"""Shows what a score is made of."""

from __future__ import annotations

from memory_sidecar.core.model import Explanation


def explanation_line(why: Explanation) -> str:
    """The terms as a sum, with what the arms said themselves."""
    arms = {"cosine": why.cosine, "keyword": why.keyword}
    told = []
    for name, value in why.terms.items():
        arm = arms.get(name)
        own = "" if arm is None else f" ({arm:.3f})"
        told.append(f"{value:+.3f} {name}{own}")
    return " ".join(told) or "nothing speaks for it"
