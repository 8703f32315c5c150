"""What is named by its first letters, where these suffice."""

from __future__ import annotations

from collections.abc import Sequence

from memory_sidecar.core.errors import UsageError

MAX_NAMED = 5


def the_only_one(short: str, names: Sequence[str]) -> str | None:
    """The one of `names`, all of which begin with `short`; `None` for none.

    Raises UsageError for several, which names them.
    """
    if len(names) > 1:
        more = ", …" if len(names) > MAX_NAMED else ""
        named = ", ".join(names[:MAX_NAMED])
        raise UsageError(f"several begin with {short!r}: {named}{more}", hint="add a letter")
    return names[0] if names else None
