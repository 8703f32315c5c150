"""Names that a user abbreviates to their first letters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from memory_sidecar.core.errors import UsageError

MAX_NAMED = 5


def is_another_whole_name(short: str, name: str) -> bool:
    """Whether `short` reads like a whole name itself, so that it must not stand for `name`.

    So `task-1` is not short for `task-12`, nor `use-tabs` for `use-tabs-in-makefiles`: a command
    that removes the former, when that is gone already, must not remove the latter.
    """
    if name == short or not name.startswith(short):
        return False
    last, following = short[-1:], name[len(short)]
    is_inside_word = last.isalnum() and following.isalnum()
    return not is_inside_word or (last.isdigit() and following.isdigit())


def known_names(name: str, known: Sequence[str]) -> str:
    """Return a hint for a `name` that is not among `known`: those that hold it, and all."""
    like = [each for each in known if name.lower() in each.lower()][:MAX_NAMED]
    meant = f"did you mean {' or '.join(like)}? " if like else ""
    return f"{meant}there are: {', '.join(known) or 'none yet'}"


def nearest_names(asked: str, known: Iterable[str]) -> str:
    """List a few names of `known`, those that begin with `asked` first."""
    nearest = sorted(known, key=lambda each: (not each.startswith(asked), each))
    return ", ".join(nearest[:MAX_NAMED])


def sole_match(short: str, names: Sequence[str]) -> str | None:
    """Return the only one of `names`, which all begin with `short`, or `None` for no names.

    Raises UsageError, which lists them, for several.
    """
    if len(names) > 1:
        more = ", …" if len(names) > MAX_NAMED else ""
        named = ", ".join(names[:MAX_NAMED])
        raise UsageError(f"several begin with {short!r}: {named}{more}", hint="add a letter")
    return names[0] if names else None
