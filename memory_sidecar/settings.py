"""What a user can set, read once from the environment and `memory-sidecar.toml`.

The environment wins over the file. An unknown key or a value of the wrong kind is an error that
names it, never a silent default.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from memory_sidecar.errors import UsageError

ENV_PREFIX = "MEMORY_SIDECAR_"


@dataclass(frozen=True, slots=True)
class Settings:
    """Every key of `memory-sidecar.toml`, also as `MEMORY_SIDECAR_<KEY>`."""

    model_dir: str = ""  # a folder with model.onnx and its tokenizer; "" looks for one
    model_download: bool = True  # whether FastEmbed may fetch the model when none is found
    embed_threads: int = 0  # parallel embedding threads; 0 means one for every core, at most 8
    max_file_bytes: int = 1 << 20  # larger files are skipped, with that reason
    rerank: bool = True  # whether `query` has the cross-encoder read the best memories once more
    idle_unload_minutes: int = 10  # the daemon gives the model's memory back after so long; 0 never
    idle_end_minutes: int = 10  # a daemon that keeps nothing ends after so long; 0 never
    context_root: str = ""  # the dense-context root; "" looks upwards of where a command is run
    context_regen: bool = False  # whether the daemon keeps its indexes up to date
    context_commit: bool = False  # whether a counted access is committed with git at once
    context_count_reads: bool = False  # whether the sidecar's own answers count as accesses
    session_summarizer: str = ""  # a command that makes a summary: the session as JSON in and out
    session_summarizer_timeout_s: int = 60
    session_promotion: bool = False  # whether saving a session that ended in success promotes it
    log_level: str = "info"  # of the daemon: debug, info, warning or error


def load_settings(config: Path | None, environ: Mapping[str, str] = os.environ) -> Settings:
    """Settings from `config` (a missing or `None` file means defaults) and `environ`.

    Raises UsageError for a file that is not TOML, an unknown key or a value of the wrong kind.
    """
    settings = Settings()
    kinds = {field.name: type(getattr(settings, field.name)) for field in fields(settings)}
    chosen: dict[str, Any] = {}
    for key, value in _read(config).items():
        if key not in kinds:
            known = ", ".join(sorted(kinds))
            raise UsageError(f"{config}: unknown setting {key!r}", hint=f"known are: {known}")
        if type(value) is not kinds[key]:
            raise UsageError(f"{config}: {key} must be of type {kinds[key].__name__}")
        chosen[key] = value
    for key, kind in kinds.items():
        if (text := environ.get(ENV_PREFIX + key.upper())) is not None:
            chosen[key] = _from_text(key, text, kind)
    return replace(settings, **chosen)


def _read(config: Path | None) -> dict[str, Any]:
    if config is None or not config.is_file():
        return {}
    try:
        return tomllib.loads(config.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"{config} is not readable TOML: {error}") from error


def _from_text(key: str, text: str, kind: type) -> bool | int | str:
    if kind is bool:
        if text.lower() in ("1", "true", "yes", "on"):
            return True
        if text.lower() in ("0", "false", "no", "off", ""):
            return False
    elif kind is int:
        try:
            return int(text)
        except ValueError:
            pass
    else:
        return text
    raise UsageError(f"{ENV_PREFIX}{key.upper()}={text!r} must be of type {kind.__name__}")
