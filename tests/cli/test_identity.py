"""One name for an agent, whatever it calls: the option, environment, setting or default."""

from __future__ import annotations

import json

import pytest

from tests.finished import Finished


def agent_of(stored: Finished) -> str:
    assert stored.status == 0, stored.err
    return str(json.loads(stored.out)["agent"])


@pytest.mark.parametrize(
    ("option", "variable", "setting", "meant"),
    [
        ("amy", "bob", "cleo", "amy"),
        ("", "bob", "cleo", "bob"),
        ("", "", "cleo", "cleo"),
        ("", "", "", "default"),
    ],
)
def test_nearest_name_counts(run, tmp_path, option, variable, setting, meant):
    if setting:
        config = tmp_path / "config" / "memory-sidecar"
        config.mkdir(parents=True)
        (config / "config.toml").write_text(f'agent = "{setting}"\n')
    named = ("--agent", option) if option else ()
    environ = {
        "MEMORY_SIDECAR_DATA_DIR": str(tmp_path / "data"),
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        **({"MEMORY_SIDECAR_AGENT": variable} if variable else {}),
    }
    stored = run("store", "Carts are emptied", "--category", "pitfall", *named, environ=environ)
    assert agent_of(stored) == meant
    shown = run("get", "pitfall/carts-are-emptied", *named, environ=environ)
    assert "Carts are emptied" in shown.out


def test_a_search_is_noted_as_asked_by_the_agent_of_the_folder_it_is_asked_in(run, tmp_path):
    """As where the daemon was started elsewhere, which has its own default."""
    (tmp_path / "memory-sidecar.toml").write_text('agent = "cleo"\n')
    (tmp_path / "cart.py").write_text("total = 1\n")
    environ = {
        "MEMORY_SIDECAR_DATA_DIR": str(tmp_path.parent / f"{tmp_path.name}-data"),
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
    }
    for words in ("trust .", "index .", "search total"):
        assert run(*words.split(), environ=environ).status == 0
    (log,) = tmp_path.parent.glob(f"{tmp_path.name}-data/questions/asked.jsonl")
    assert json.loads(log.read_text())["agent"] == "cleo"


def test_wrong_name_in_the_environment_is_refused(run):
    refused = run("recent", environ={"MEMORY_SIDECAR_AGENT": "../other"})
    assert refused.status == 2
    assert "../other" in refused.err
