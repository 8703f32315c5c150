"""Shows what a score is made of."""

from __future__ import annotations

from memory_sidecar.core.model import Explanation
from memory_sidecar.outputs import common as out


def explanation_json(why: Explanation) -> out.Explanation:
    return {
        "cosine": None if why.cosine is None else round(why.cosine, 6),
        "keyword": None if why.keyword is None else round(why.keyword, 6),
        "boosts": {name: round(value, 6) for name, value in why.boosts.items()},
        "terms": {name: round(value, 6) for name, value in why.terms.items()},
    }


def explanation_line(why: Explanation) -> str:
    """The terms as a sum, with what the arms said themselves."""
    arms = {"cosine": why.cosine, "keyword": why.keyword}
    told = []
    for name, value in why.terms.items():
        arm = arms.get(name)
        own = "" if arm is None else f" ({arm:.3f})"
        told.append(f"{value:+.3f} {name}{own}")
    return " ".join(told) or "nothing speaks for it"
