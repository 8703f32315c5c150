"""What can be set, where, and what a repository may say about itself."""

from __future__ import annotations

import errno
import os
from dataclasses import fields
from typing import NoReturn

import pytest

from memory_sidecar.core.errors import CannotWrite, UsageError
from memory_sidecar.core.projects import record_trust
from memory_sidecar.core.settings import Settings, load_settings, narrow_settings


@pytest.fixture
def environ(tmp_path):
    return {"XDG_CONFIG_HOME": str(tmp_path / "config")}


@pytest.fixture
def user_config(tmp_path):
    path = tmp_path / "config" / "memory-sidecar" / "config.toml"
    path.parent.mkdir(parents=True)
    return path


@pytest.fixture
def project(tmp_path):
    (tmp_path / "project" / "data" / "memory").mkdir(parents=True)
    return tmp_path / "project"


def test_the_environment_wins_over_a_trusted_project_and_that_over_the_user(
    project, user_config, environ
):
    user_config.write_text("embed_threads = 1\nmax_file_bytes = 1\nrerank = false\n")
    (project / "memory-sidecar.toml").write_text("embed_threads = 2\nmax_file_bytes = 2\n")
    record_trust(str(project), True, environ)
    settings = load_settings(
        project / "data" / "memory", environ | {"MEMORY_SIDECAR_EMBED_THREADS": "3"}
    )
    assert (settings.embed_threads, settings.max_file_bytes, settings.rerank) == (3, 2, False)


@pytest.mark.parametrize("value", ["", " "])
def test_an_empty_or_blank_variable_is_unset(user_config, environ, tmp_path, value):
    user_config.write_text('agent = "me"\nembed_threads = 3\nexcludes = ["*.log"]\n')
    empty = {f"MEMORY_SIDECAR_{field.name.upper()}": value for field in fields(Settings)}
    assert load_settings(tmp_path, environ | empty) == load_settings(tmp_path, environ)


def test_a_project_that_is_not_trusted_sets_nothing(project, environ):
    (project / "memory-sidecar.toml").write_text('session_summarizer = "x"\nnonsense = 1\n')
    assert load_settings(project / "data" / "memory", environ) == Settings()


def test_lists_have_commas_in_the_environment_and_paths_begin_at_their_file(
    user_config, environ, tmp_path
):
    user_config.write_text('child_environment = ["A", "B"]\nmodel_dir = "models"\n')
    settings = load_settings(tmp_path, environ | {"MEMORY_SIDECAR_EXCLUDES": "*.a, b/ ,"})
    assert settings.child_environment == ("A", "B")
    assert settings.excludes == ("*.a", "b/")
    assert settings.model_dir == str(user_config.parent / "models")


def test_a_disk_that_fails_is_told_as_such(user_config, environ, tmp_path, monkeypatch):
    user_config.write_text("embed_threads = 1\n")

    def fail(_descriptor: int, _size: int) -> NoReturn:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "read", fail)
    with pytest.raises(CannotWrite, match=f"{user_config} cannot be read or written: Input/output"):
        load_settings(tmp_path, environ)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("nonsense = 1", "unknown setting 'nonsense'"),
        ("embed_threads = true", "embed_threads must be of type integer"),
        ("excludes = [1]", "excludes must be of type array of strings"),
        ('log_level = "loud"', "log_level must not be 'loud'"),
        ("x = ", "is not readable TOML"),
        ("max_file_bytes = 0x" + "f" * 5_000, "between 0 and 2,147,483,647, not one of many"),
        ("a=" + "[" * 100_000, "is not readable TOML"),
        ("# " + "x" * (1 << 20), "is not read: larger than 1 MiB"),
    ],
)
def test_what_is_wrong_with_the_users_own_is_told(user_config, environ, tmp_path, text, told):
    user_config.write_text(text)
    with pytest.raises(UsageError, match=told.replace("'", ".")):
        load_settings(tmp_path, environ)


def test_a_source_may_leave_out_more_and_nothing_else(project):
    (project / "memory-sidecar.toml").write_text(
        'excludes = ["*.log", "!.env"]\n'
        'max_file_bytes = 10\nsession_summarizer = "x"\nmodel_dir = "m"\n'
    )
    ours = Settings(excludes=("tmp/",), max_file_bytes=100)
    assert narrow_settings(project, ours) == Settings(excludes=("tmp/", "*.log"), max_file_bytes=10)


@pytest.mark.parametrize(
    "text",
    [
        "max_file_bytes = 1000000000",
        "max_file_bytes = 0",
        'max_file_bytes = "1"',
        "max_file_bytes = true",
        "excludes = 1",
        "excludes = [1]",
        "x = ",
        "a=" + "[" * 100_000,
        "# " + "x" * (1 << 20),
        f"a{'.a' * 100_000} = 1\nmax_file_bytes = 1",  # of which tomllib makes quadratic work
    ],
)
def test_what_makes_no_sense_there_changes_nothing(project, text):
    (project / "memory-sidecar.toml").write_text(text)
    assert narrow_settings(project, Settings()) == Settings()


def test_a_byte_order_mark_hides_no_setting(project, user_config, environ, tmp_path):
    for file in (project / "memory-sidecar.toml", user_config):
        file.write_bytes(b'\xef\xbb\xbfexcludes = ["*.log"]\r\n')
    assert narrow_settings(project, Settings()).excludes == ("*.log",)
    assert load_settings(tmp_path, environ).excludes == ("*.log",)


def test_what_is_no_file_is_not_waited_for(project):
    os.mkfifo(project / "memory-sidecar.toml")
    assert narrow_settings(project, Settings()) == Settings()
    (project / "memory-sidecar.toml").unlink()
    (project / "memory-sidecar.toml").symlink_to("/dev/zero")
    assert narrow_settings(project, Settings()) == Settings()


def test_one_sources_settings_are_no_other_ones(run, tmp_path):
    says = {"shop": "", "tiny": "max_file_bytes = 1", "bare": 'excludes = ["*.py", "a[", "!x"]'}
    for name, text in says.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "cart.py").write_text(f"def total_of_{name}(prices): ...\n")
        (tmp_path / name / "notes.md").write_text(f"The total of {name} is in cents.\n")
        (tmp_path / name / "memory-sidecar.toml").write_text(text)
    assert run("index", "tiny", "bare", "shop").status == 0
    hits = run("search", "--all", "total", "--mode", "keyword", "--json").json
    assert {(hit["source"], hit["filename"]) for hit in hits} == {
        ("shop", "cart.py"),
        ("shop", "notes.md"),
        ("bare", "notes.md"),
    }
