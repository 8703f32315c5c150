"""What several outputs hold."""

from __future__ import annotations

from typing import Annotated, Any, NotRequired, TypedDict

from memory_sidecar.core.results import about

Time = Annotated[str, about("ISO 8601 in UTC")]
Score = Annotated[float, about("0 to 1, falls with rank")]


class Explanation(TypedDict):
    """What a score is made of."""

    cosine: Annotated[
        float | None,
        about("likeness to the question; null where that arm had no opinion"),
    ]
    keyword: Annotated[float | None, about("share of the question's weight that the words match")]
    boosts: Annotated[dict[str, float], about("what lifted or lowered it, by name")]
    terms: Annotated[
        dict[str, float], about("what each adds, by name: together they are the score")
    ]


class ErrorText(TypedDict):
    """What is wrong, and what would be right."""

    code: Annotated[str, about("stable, such as no_index")]
    message: str
    hint: Annotated[str, about("a next step, or empty")]
    current: NotRequired[
        Annotated[dict[str, Any], about("what is there, where another change came first")]
    ]


class Error(TypedDict):
    """The last line on standard error when a command fails and JSON was asked for."""

    error: ErrorText
