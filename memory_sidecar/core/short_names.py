"""What is named by its first letters, where these suffice."""

from __future__ import annotations

from collections.abc import Sequence

from memory_sidecar.core.errors import UsageError

MAX_NAMED = 5


def is_another_whole_name(short: str, name: str) -> bool:
    """Whether `name` is more than `short`, which reads like the whole name of something else.

    As `task-1` for `task-12`, and `use-tabs` for `use-tabs-in-makefiles`: who changes or removes
    what is called so, and is gone by now, must not meet the other one.
    """
    if name == short or not name.startswith(short):
        return False
    last, following = short[-1:], name[len(short)]
    is_inside_word = last.isalnum() and following.isalnum()
    return not is_inside_word or (last.isdigit() and following.isdigit())


def sole_match(short: str, names: Sequence[str]) -> str | None:
    """The one of `names`, all of which begin with `short`; `None` for none.

    Raises UsageError for several, which names them.
    """
    if len(names) > 1:
        more = ", …" if len(names) > MAX_NAMED else ""
        named = ", ".join(names[:MAX_NAMED])
        raise UsageError(f"several begin with {short!r}: {named}{more}", hint="add a letter")
    return names[0] if names else None
