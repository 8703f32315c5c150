"""The reasons for skipping or indexing a file, in the words that the user sees."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

SYMBOLIC_LINK: Final = "symbolic link"  # its target is indexed itself
LINK_OUT: Final = "symbolic link out of the source"
NOT_REGULAR: Final = "not a regular file"  # FIFO, socket, device: opening one can block for ever
FOREIGN: Final = "owned by another user"
NO_PATH: Final = "no path below its folder"  # leads out of it, or cannot be a path at all
NAME_NOT_UTF8: Final = "name is not UTF-8"
SECRETS: Final = "may hold secrets"  # --exclude "!.env" asks for it all the same
ASKED_FOR: Final = "asked for"  # by such an exclude: the reason of an indexed file
LOCK_FILE: Final = "lock file"
GENERATED: Final = "generated"
MINIFIED: Final = "minified"
LONG_LINES: Final = "lines too long"  # data in one line; nothing in it can be pointed at
BINARY: Final = "binary"
NOT_TEXT: Final = "not text"  # in no encoding that is known, nor mostly ASCII
EMPTY: Final = "empty"
UNFILLED: Final = "a template that nobody has filled in yet"
TEMPLATE: Final = "a template for notes"
OWN_INDEX: Final = "index of its folder, which says nothing of its own"
TOO_LARGE: Final = "larger than"  # before the limit: see `larger_than`
LFS_POINTER: Final = "git LFS pointer"  # `git lfs pull` brings the file


def larger_than(limit_bytes: int) -> str:
    """`larger than 1 MiB`, in the largest unit that divides the limit."""
    for unit_bytes, unit in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if limit_bytes >= unit_bytes and limit_bytes % unit_bytes == 0:
            return f"{TOO_LARGE} {limit_bytes // unit_bytes} {unit}"
    return f"{TOO_LARGE} {limit_bytes} bytes"


def fits_without_outputs(limit_bytes: int) -> str:
    """The reason of an indexed notebook that only its outputs make larger than the limit."""
    return f"only with its outputs {larger_than(limit_bytes)}"


def read_as(encoding: str) -> str:
    """`as gb18030, since …`: the reason of an indexed file whose text is no Unicode."""
    return f"as {encoding}, since it is not UTF-8"
