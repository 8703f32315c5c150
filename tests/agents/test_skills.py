"""The skills: what they say is true, and installing them loses nothing."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from memory_sidecar.agents.skills import all_skills, install_skills
from memory_sidecar.cli.main import every_command
from memory_sidecar.core.errors import Conflict, PathRefused

SKILLS = {skill.name: skill for skill in all_skills()}
SESSION = b'{"messages": [{"role": "user", "content": "The retry is gone"}]}'
BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def command_lines(text: str) -> Iterator[str]:
    for block in BLOCK.findall(text):
        yield from block.splitlines()


def test_they_are_known_by_name():
    assert list(SKILLS) == [
        "embedding",
        "experiment-maintenance",
        "indexing",
        "knowledge-search",
        "project-search",
    ]


@pytest.mark.parametrize("name", SKILLS)
def test_a_skill_says_when_to_use_it_and_is_short(name):
    skill = SKILLS[name]
    assert skill.path.parent.name == name
    assert "Use " in skill.description
    assert 40 < len(skill.description) < 400
    assert len(skill.path.read_text("utf-8").splitlines()) < 60


@pytest.mark.parametrize("name", SKILLS)
def test_every_command_of_a_skill_works(name, indexed, serve, tmp_path):
    project = tmp_path / "project"
    project.mkdir()
    for file in indexed.rglob("*.*"):
        (project / file.relative_to(indexed)).parent.mkdir(parents=True, exist_ok=True)
        (project / file.relative_to(indexed)).write_bytes(file.read_bytes())
    assert serve("index", project).status == 0
    assert serve("store", "A charge is final", "--category", "pattern").status == 0
    assert serve("session", "save", stdin=SESSION).status == 0
    assert serve("context", "init", project, "--project", "pools").status == 0
    lines = list(command_lines(SKILLS[name].path.read_text("utf-8")))
    assert lines
    for line in lines:
        piped, _, command = line.rpartition(" | ")
        stdin = subprocess.check_output(["sh", "-c", piped]) if piped else b""
        program, *arguments = shlex.split(command)
        assert program == "memory-sidecar"
        done = serve(*arguments, stdin=stdin, cwd=project)
        assert done.status == 0, (line, done.err)


@pytest.mark.parametrize("name", SKILLS)
def test_what_a_skill_names_in_passing_is_there(name):
    text = BLOCK.sub("", SKILLS[name].path.read_text("utf-8"))
    options = {
        option
        for command in all_commands(every_command())
        for parameter in command.params
        for option in parameter.opts
    }
    assert set(re.findall(r"`(--[a-z-]+)", text)) <= options
    for other in re.findall(r"skill\s+`([a-z-]+)`", text):
        assert other in SKILLS


def all_commands(group: click.Group) -> Iterator[click.Command]:
    for command in group.commands.values():
        yield command
        if isinstance(command, click.Group):
            yield from all_commands(command)


def test_installed_skills_are_the_ones_we_have(run, tmp_path):
    done = run("skills", "install", tmp_path / "a" / "skills", "--json")
    assert done.status == 0
    assert [skill["name"] for skill in done.json] == list(SKILLS)
    for skill in done.json:
        assert Path(skill["path"]).read_bytes() == SKILLS[skill["name"]].path.read_bytes()


def test_installing_again_changes_nothing(tmp_path):
    install_skills(tmp_path)
    (tmp_path / "mine").mkdir()
    before = {file: file.stat().st_size for file in tmp_path.rglob("*")}
    install_skills(tmp_path)
    assert {file: file.stat().st_size for file in tmp_path.rglob("*")} == before


def test_a_skill_that_was_changed_is_not_lost(tmp_path):
    mine = tmp_path / "indexing" / "SKILL.md"
    mine.parent.mkdir()
    mine.write_text("mine")
    with pytest.raises(Conflict, match="indexing"):
        install_skills(tmp_path)
    assert mine.read_text() == "mine"
    assert not (tmp_path / "embedding").exists()
    install_skills(tmp_path, force=True)
    assert mine.read_bytes() == SKILLS["indexing"].path.read_bytes()


@pytest.mark.skipif(os.name == "nt", reason="needs links")
@pytest.mark.parametrize("link", ["indexing", "indexing/SKILL.md"])
def test_a_skill_is_not_written_through_a_link(tmp_path, link):
    (tmp_path / "victim").mkdir()
    (tmp_path / "skills" / link).parent.mkdir(parents=True)
    (tmp_path / "skills" / link).symlink_to(tmp_path / "victim" / "new", target_is_directory=True)
    for force in (False, True):
        with pytest.raises(PathRefused, match=r"symbolic link|not a regular file"):
            install_skills(tmp_path / "skills", force=force)
    assert list((tmp_path / "victim").iterdir()) == []


def test_a_file_is_no_place_for_skills(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(PathRefused):
        install_skills(tmp_path / "file")
