"""Finds the data directory of a call; remembers which project folders the user trusts to have one.

The user's answers are lines of a file in the configuration folder: `+/trusted`, `-/refused`. Trust
does not extend to folders inside. Imports next to nothing, since the thin client uses it.
"""

from __future__ import annotations

import os
import stat
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, MutableMapping, Sequence

CONFIG_NAME = "memory-sidecar.toml"
DATA_DIR_VARIABLE = "MEMORY_SIDECAR_DATA_DIR"
DATA_DIR_OPTION = "--data-dir"
NO_DAEMON_OPTION = "--no-daemon"
PROJECT_DATA_DIR = os.path.join("data", "memory")

_HELP_OPTIONS = frozenset({"-h", "--help", "-V", "--version"})
_HELP_COMMANDS = frozenset({"", "help", "version", "completion"})
_XDG_FOLDERS = ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME")
_OWN_FOLDERS = tuple(f"MEMORY_SIDECAR_{name}" for name in ("CONTEXT", "CONTEXT_ROOT", "MODEL_DIR"))

MAX_ANSWERS_BYTES = 1 << 20
DAY_S = 86_400
_SIGNS = {b"+": True, b"-": False}


def is_set(environ: Mapping[str, str], variable: str) -> bool:
    """Whether `variable` has a value other than 0."""
    return environ.get(variable, "0") not in ("", "0")


def split_command(arguments: list[str]) -> tuple[list[str], str]:
    """Return the words of a command line before `--`, and the first that is no option, or ""."""
    words = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return words, next((word for word in words if not word.startswith("-")), "")


def asks_for_help(arguments: Sequence[str]) -> bool:
    """Whether the command line `arguments` asks only for help, the version or completion."""
    words, command = split_command([*arguments])
    return command in _HELP_COMMANDS or not _HELP_OPTIONS.isdisjoint(words)


def settle_folders(environ: MutableMapping[str, str]) -> None:
    """Make every folder in `environ` mean the same in the daemon, whose working directory differs.

    A relative home or XDG folder counts as not set, as the XDG specification has it. The variables
    of ours are taken as relative to the working directory.
    """
    for name in ("HOME", *_XDG_FOLDERS):
        if sys.platform != "win32" and not os.path.isabs(environ.get(name, os.sep)):
            del environ[name]
    for name in filter(environ.get, _OWN_FOLDERS):
        try:
            environ[name] = absolute_path("", os.path.expanduser(environ[name]))
        except OSError:  # the working directory is gone, as any command that needs it will say
            return


def locate_data_dir(
    option: str | None, *, cwd: str, environ: Mapping[str, str]
) -> tuple[str, str | None]:
    """Return the data directory, and the nearest untrusted project that was skipped, if any.

    The data directory is `--data-dir`, else that of the environment, of the nearest trusted
    project, or the user's own. A project is a folder at or above `cwd` with `data/memory` or a
    `memory-sidecar.toml`. Paths are absolute. A project that the user refused is not returned.
    """
    if named := option or environ.get(DATA_DIR_VARIABLE):
        return absolute_path(cwd, expand_home(named, environ)), None
    passed_over = None
    for folder in folder_and_parents(cwd):
        data_dir = os.path.join(folder, PROJECT_DATA_DIR)
        if os.path.isdir(data_dir) or os.path.isfile(os.path.join(folder, CONFIG_NAME)):
            is_trusted = trust_of(folder, environ)
            if is_trusted:
                return data_dir, passed_over
            if is_trusted is None:
                passed_over = passed_over or folder
    return os.path.join(_user_data_folder(environ), "memory-sidecar"), passed_over


def data_dir_of(
    arguments: Sequence[str], *, cwd: str, environ: Mapping[str, str], may_ask: bool
) -> str:
    """Return the data directory of a command; if `may_ask`, ask the user to trust a project.

    Raises KeyboardInterrupt as `ask_for_trust`.
    """
    option = data_dir_option(arguments)
    data_dir, passed_over = locate_data_dir(option, cwd=cwd, environ=environ)
    if passed_over and may_ask and ask_for_trust(passed_over, environ):
        data_dir, _ = locate_data_dir(option, cwd=cwd, environ=environ)
    return data_dir


def data_dir_option(arguments: Sequence[str]) -> str | None:
    """Return the value of the last `--data-dir` in the arguments of a command."""
    found = None
    for at, word in enumerate(arguments):
        if word == "--":
            break
        if word == DATA_DIR_OPTION:
            found = arguments[at + 1] if at + 1 < len(arguments) else found
        elif word.startswith(DATA_DIR_OPTION + "="):
            found = word[len(DATA_DIR_OPTION) + 1 :]
    return found


def move_leading_options_last(arguments: list[str]) -> list[str]:
    """Move the options that stand before the command behind its arguments."""
    count = 0
    while count < len(arguments):
        option, equals, _ = arguments[count].partition("=")
        if option != DATA_DIR_OPTION and arguments[count] != NO_DAEMON_OPTION:
            break
        count += 2 if option == DATA_DIR_OPTION and not equals else 1
    rest = arguments[count:]
    end = rest.index("--") if "--" in rest else len(rest)
    return [*rest[:end], *arguments[:count], *rest[end:]]


def folder_and_parents(folder: str) -> Iterator[str]:
    """Yield `folder` and every folder above it, upwards."""
    yield folder
    while (parent := os.path.dirname(folder)) != folder:
        yield (folder := parent)


def _user_data_folder(environ: Mapping[str, str]) -> str:
    """Return the platform's folder for application data of this user."""
    if sys.platform == "win32":
        return environ.get("LOCALAPPDATA") or os.path.join(home(environ), "AppData", "Local")
    if sys.platform == "darwin":
        return os.path.join(home(environ), "Library", "Application Support")
    return environ.get("XDG_DATA_HOME") or os.path.join(home(environ), ".local", "share")


def config_folder(environ: Mapping[str, str]) -> str:
    """Return our folder within the user's configuration folder of the platform."""
    if sys.platform == "win32":
        base = environ.get("APPDATA") or os.path.join(home(environ), "AppData", "Roaming")
    else:
        base = environ.get("XDG_CONFIG_HOME") or os.path.join(home(environ), ".config")
    return os.path.join(base, "memory-sidecar")


def home(environ: Mapping[str, str]) -> str:
    """Return the home folder of the caller with the environment `environ`."""
    found = (environ.get("HOME") if sys.platform != "win32" else "") or os.path.expanduser("~")
    return found if os.path.isabs(found) else os.sep  # of a user whom the system does not know


def expand_home(path: str, environ: Mapping[str, str]) -> str:
    """Return `path` with `~` as the home folder of the caller with `environ`. Never fails."""
    if path == "~" or path.startswith("~/"):  # the daemon may have another home
        return home(environ) + path[1:]
    return os.path.expanduser(path)


def given_path(text: str, folder: str, environ: Mapping[str, str]) -> str:
    """Return the path `text` of the caller in `folder` with `environ` as an absolute one."""
    return absolute_path(folder, expand_home(text, environ))


def absolute_path(folder: str, path: str) -> str:
    """Return `path`, relative to `folder`, as an absolute one without `.` and `..`.

    `link/..` is the folder above the link's target, as in other programs. Never fails.
    """
    path = os.path.join(folder, path)
    above, up, rest = f"{path}{os.sep}".rpartition(f"{os.sep}{os.pardir}{os.sep}")
    try:
        return os.path.abspath(os.path.join(os.path.realpath(above + up), rest) if up else path)
    except OSError:  # a link on the way may not be read
        return os.path.abspath(path)


def trust_of(folder: str, environ: Mapping[str, str]) -> bool | None:
    """Whether the user trusts `folder`; `None` where they have not said."""
    return read_trust(environ).get(os.path.realpath(folder))


def read_trust(environ: Mapping[str, str]) -> dict[str, bool]:
    """Return the user's answers by real path; none if other users may write the file."""
    try:
        return _read_answers(environ)
    except OSError:
        return {}


def _read_answers(environ: Mapping[str, str]) -> dict[str, bool]:
    """Return the answers as `read_trust` does. Raises OSError where the file cannot be read."""
    try:
        with open(_file(environ), "rb", opener=_open_at_once) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode) or not _is_ours_alone(status):
                return {}
            *lines, _cut_off = file.read(MAX_ANSWERS_BYTES).split(b"\n")  # half a path is another
    except FileNotFoundError:
        return {}
    return {os.fsdecode(line[1:]): _SIGNS[line[:1]] for line in lines if line[:1] in _SIGNS}


def record_trust(folder: str, trusted: bool | None, environ: Mapping[str, str]) -> None:
    """Store whether the user trusts `folder`; `None` removes their earlier answer.

    Raises OSError, and ValueError for a folder whose name has a line break.
    """
    real = os.path.realpath(folder)
    if "\n" in real:
        raise ValueError("a folder whose name has a line break cannot be trusted")
    from filelock import FileLock

    path = _file(environ)
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    with FileLock(path + ".lock", timeout=10, mode=0o600):
        kept = {known: trust for known, trust in _read_answers(environ).items() if known != real}
        if trusted is not None:
            kept[real] = trusted
        lines = [(b"+" if trust else b"-") + os.fsencode(known) for known, trust in kept.items()]
        _replace(path, b"".join(line + b"\n" for line in lines))


def ask_for_trust(folder: str, environ: Mapping[str, str]) -> bool:
    """Ask at a terminal whether the user trusts `folder`; elsewhere, note that they do not.

    The note is written once a day, as programs call a hundred times an hour from one folder. Raises
    KeyboardInterrupt if the user interrupts the question.
    """
    from shlex import quote

    shown = "".join(letter if letter.isprintable() else "?" for letter in folder)
    what = "data/memory and memory-sidecar.toml"
    if not (os.isatty(0) and os.isatty(2)):
        if not _was_noted_today(folder, environ):
            hint = f"`memory-sidecar trust {quote(shown)}` if it is your own"
            _write(f"note: {shown} is not trusted, so its {what} are not used; {hint}\n")
        return False
    _write(f"{shown} has its own {what}, which may name programs to run.\nTrust it? [y/N] ")
    answer = os.read(0, 1024).decode("utf-8", "replace").strip().lower()
    trusted = answer in ("y", "yes")
    try:
        record_trust(folder, trusted, environ)
    except (OSError, ValueError) as error:
        _write(f"note: the answer cannot be saved: {error}\n")
        return False
    if not trusted:
        _write(f"It is not used. `memory-sidecar trust {quote(shown)}` changes that.\n")
    return trusted


def _was_noted_today(folder: str, environ: Mapping[str, str]) -> bool:
    """Whether the note for `folder` was written today; records that it is now, if possible."""
    import time

    path = os.path.join(config_folder(environ), "told")
    today = b"%d " % (time.time() // DAY_S)
    line = today + os.fsencode(os.path.realpath(folder)).replace(b"\n", b"?")
    try:
        with open(path, "rb", opener=_open_at_once) as file:
            noted = file.read(MAX_ANSWERS_BYTES).split(b"\n")
    except OSError:
        noted = []
    noted = [each for each in noted if each.startswith(today)]
    if line in noted:
        return True
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        _replace(path, b"\n".join([*noted, line]))
    except OSError:
        pass
    return False


def _write(text: str) -> None:
    os.write(2, text.encode("utf-8", "backslashreplace"))


def _file(environ: Mapping[str, str]) -> str:
    return os.path.join(config_folder(environ), "trusted")


def _open_at_once(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _is_ours_alone(status: os.stat_result) -> bool:
    return sys.platform == "win32" or (
        status.st_uid == os.getuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    )


def _replace(path: str, content: bytes) -> None:
    folder, name = os.path.split(path)
    written = os.path.join(folder, f".sidecar-tmp-{name}")  # one name: kills leave one file at most
    fd = os.open(written, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        try:
            while content:  # a disk that fills takes a part, and refuses the next
                content = content[os.write(fd, content) :]
            os.fsync(fd)
        finally:
            os.close(fd)
        os.replace(written, path)
    except OSError:
        os.unlink(written)  # to free room on a full disk
        raise
