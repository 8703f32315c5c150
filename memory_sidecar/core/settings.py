"""Settings: from the environment, a trusted `memory-sidecar.toml`, the user's `config.toml`.

The first of these that has a key wins. An unknown key or a value of the wrong type is an error
that names it, never a silent default. The `memory-sidecar.toml` of a source may only leave out
more of that source: see `narrow_settings`.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, TypeGuard

from memory_sidecar.core.errors import UsageError, system_error
from memory_sidecar.core.opening import FileRefused, Tree
from memory_sidecar.core.projects import (
    CONFIG_NAME,
    absolute_path,
    config_folder,
    folder_and_parents,
    trust_of,
)

ENV_PREFIX = "MEMORY_SIDECAR_"
MAX_NUMBER = (1 << 31) - 1
USER_CONFIG_NAME = "config.toml"
MAX_CONFIG_BYTES = 1 << 20
MAX_UNTRUSTED_BYTES = 1 << 14  # a key of so many dots takes half a second to read, of 1 MiB an hour
LOG_LEVELS = ("debug", "info", "warning", "error")
_PATHS = frozenset({"model_dir", "context_root"})  # relative to the file that names them
_FURTHER_VARIABLES = {"context_root": (f"{ENV_PREFIX}CONTEXT",)}  # beside the one of its name


@dataclass(frozen=True, slots=True)
class Settings:
    """Every key of `config.toml`, also as `MEMORY_SIDECAR_<KEY>`, where a list has commas.

    An empty or blank variable counts as unset.
    """

    model_dir: str = ""  # a folder with model.onnx and its tokenizer; "" looks for one
    model_download: bool = True  # whether FastEmbed may fetch the model when none is found
    embed_threads: int = 0  # parallel embedding threads; 0 means one for every core, at most 8
    max_file_bytes: int = 1 << 20  # larger files are skipped, with that reason
    excludes: tuple[str, ...] = ()  # of every source, globs as in a `.gitignore` at its root
    child_environment: tuple[str, ...] = ()  # variables that programs get besides the usual ones
    rerank: bool = True  # whether `query` has the cross-encoder read the best memories once more
    idle_unload_minutes: int = 10  # the daemon gives the model's memory back after so long; 0 never
    idle_end_minutes: int = 10  # a daemon that keeps nothing ends after so long; 0 never
    agent: str = "default"  # whose memories are meant where `--agent` does not say
    context_root: str = ""  # the dense-context root; "" looks upwards of where a command is run
    context_regen: bool = False  # whether the daemon keeps its indexes up to date
    context_commit: bool = False  # whether a counted access is committed with git at once
    context_count_reads: bool = False  # whether the sidecar's own answers count as accesses
    session_summarizer: str = ""  # a command that makes a summary: the session as JSON in and out
    session_summarizer_timeout_s: int = 60
    session_promotion: bool = False  # whether saving a session that ended in success promotes it
    database: str = ""  # of a team, as postgresql://user@host/name; "" keeps all in SQLite
    database_password_command: str = ""  # prints that user's password on its first line
    database_agents: tuple[str, ...] = ("shared",)  # whose memories and sessions are in it
    editor_url: str = "vscode://file{path}:{line}"  # what the page opens code with
    keep_questions: bool = True  # whether what is asked is noted, for `growth`
    log_level: str = "info"  # of the daemon: debug, info, warning or error


def load_settings(folder: Path, environ: Mapping[str, str]) -> Settings:
    """Load the settings for `folder`, a data directory or a working directory.

    Raises UsageError for a file that is not TOML, an unknown key or a value that it cannot have.
    """
    settings = Settings()
    kinds = {field.name: type(getattr(settings, field.name)) for field in fields(settings)}
    chosen: dict[str, Any] = {}
    for config in _configs(folder, environ):
        for key, value in _read(config).items():
            if key not in kinds:
                known = ", ".join(sorted(kinds))
                raise UsageError(f"{config}: unknown setting {key!r}", hint=f"known are: {known}")
            chosen[key] = _check_value(config, key, value, kinds[key])
    for key, kind in kinds.items():
        for name in (ENV_PREFIX + key.upper(), *_FURTHER_VARIABLES.get(key, ())):
            if (text := environ.get(name, "")).strip():
                chosen[key] = _from_text(key, text, kind)
    for key, value in chosen.items():
        if kinds[key] is int and not 0 <= value <= MAX_NUMBER:
            shown = str(value) if value.bit_length() <= 64 else "one of many digits"
            raise UsageError(f"{key} must be between 0 and {MAX_NUMBER:,}, not {shown}")
    level = chosen.get("log_level", settings.log_level)
    if level not in LOG_LEVELS:
        levels = ", ".join(LOG_LEVELS)
        raise UsageError(f"log_level must not be {level[:40]!r}", hint=f"it is one of {levels}")
    return replace(settings, **chosen)


def narrow_settings(root: Path, settings: Settings) -> Settings:
    """Return `settings` narrowed by the `memory-sidecar.toml` of the source at `root`.

    The user need not trust that file, so only two keys of it count: `excludes` are added to ours,
    without those that begin with `!`, and a smaller `max_file_bytes` replaces ours. A file that
    cannot be read, or is larger than MAX_UNTRUSTED_BYTES, is ignored: see `narrowing_problem`.
    """
    try:
        says = _read(root / CONFIG_NAME, MAX_UNTRUSTED_BYTES)
    except UsageError:
        return settings
    limit, globs = says.get("max_file_bytes"), says.get("excludes")
    left_out = (
        [glob for glob in globs if not glob.startswith("!")] if _is_list_of_text(globs) else []
    )
    return replace(
        settings,
        max_file_bytes=min(settings.max_file_bytes, limit)
        if type(limit) is int and limit > 0
        else settings.max_file_bytes,
        excludes=settings.excludes + tuple(left_out),
    )


def narrowing_problem(root: Path) -> str:
    """Say why `narrow_settings` ignores excludes of the source's own file, "" if it does not."""
    try:
        globs = _read(root / CONFIG_NAME, MAX_UNTRUSTED_BYTES).get("excludes", [])
    except UsageError as error:
        return error.message
    is_usable = _is_list_of_text(globs)
    return "" if is_usable else f"{root / CONFIG_NAME}: `excludes` is not a list of texts"


def _configs(folder: Path, environ: Mapping[str, str]) -> Sequence[Path]:
    """Return the configuration files for `folder`, in ascending order of precedence."""
    configs = [Path(os.path.realpath(Path(config_folder(environ), USER_CONFIG_NAME)))]
    for above in folder_and_parents(os.fspath(folder)):
        config = Path(above, CONFIG_NAME)
        if os.path.isfile(config) and trust_of(above, environ):  # noqa: PTH113  which never fails
            return [*configs, config]
    return configs


def _read(config: Path, limit_bytes: int = MAX_CONFIG_BYTES) -> dict[str, Any]:
    """Return the keys and values of `config`, none for a missing file. Raises UsageError."""
    try:
        content = Tree(config.parent).read(config.name, limit_bytes)
        return tomllib.loads(content.decode("utf-8-sig"))
    except FileRefused as error:
        raise UsageError(f"{config} is not read: {error.reason}") from error
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        unreadable = UsageError(f"{config} cannot be read: {error.strerror}")
        raise system_error(error, config) or unreadable from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{config} is not readable TOML: {error}") from error


def _check_value(config: Path, key: str, value: object, kind: type) -> object:
    if kind is tuple and _is_list_of_text(value):
        return tuple(value)
    if type(value) is not kind:
        raise UsageError(f"{config}: {key} must be of type {_type_name(kind)}")
    if key in _PATHS and value:
        return absolute_path(str(config.parent), os.path.expanduser(str(value)))  # noqa: PTH111
    return value


def _is_list_of_text(value: object) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _type_name(kind: type) -> str:
    return {str: "string", bool: "boolean", int: "integer", tuple: "array of strings"}[kind]


def _from_text(key: str, text: str, kind: type) -> bool | int | str | tuple[str, ...]:
    if kind is bool:
        if text.lower() in ("1", "true", "yes", "on"):
            return True
        if text.lower() in ("0", "false", "no", "off"):
            return False
    elif kind is int:
        try:
            return int(text)
        except ValueError:
            pass
    elif kind is tuple:
        return tuple(filter(None, map(str.strip, text.split(","))))
    else:
        return text
    raise UsageError(f"{ENV_PREFIX}{key.upper()}={text!r} must be of type {_type_name(kind)}")
