"""What keys surround a row of data, read from its first row or from within a chunk."""

from __future__ import annotations

import json

import pytest

from memory_sidecar.chunking.chunk import chunk_text
from memory_sidecar.chunking.keys import KeyPath

SERVICES = {
    f"service{number}": {
        "image": f"registry.example.com/team/service{number}:1.2.{number}",
        "ports": [{"published": 8000 + number, "target": 80}],
        "healthcheck": {"interval": f"{number}s", "command": "x" * 150},
    }
    for number in range(30)
}
YAML = "services:\n" + "".join(
    f"  {name}:\n    image: {each['image']}\n    ports:\n      - published: {8000 + number}\n"
    f"        target: 80\n    healthcheck:\n      interval: {number}s\n      command: {'x' * 150}\n"
    for number, (name, each) in enumerate(SERVICES.items())
)


@pytest.mark.parametrize(
    ("text", "language"), [(YAML, "yaml"), (json.dumps({"services": SERVICES}, indent=2), "json")]
)
def test_keys_of_a_chunk_continue_the_path_of_its_scope(text, language):
    chunks = chunk_text(text, language)
    paths: set[str] = set()
    for chunk in chunks:
        rows = chunk.code.split("\n")
        path = KeyPath(language, chunk.scope, rows[0])
        paths.update(map(path.enter, rows))
    assert len(chunks) > 5
    assert {f"services.{name}.healthcheck.interval" for name in SERVICES} <= paths
    assert {f"services.{name}.ports.published" for name in SERVICES} <= paths
    assert "healthcheck" not in {path.rpartition(".")[0] for path in paths}


def test_text_below_a_key_has_no_keys():
    path = KeyPath("yaml")
    rows = ["run: |", "  set: 1", "", "  more: 2", "steps:", "  - name: build"]
    assert [*map(path.enter, rows)] == ["run", "", "", "", "steps", "steps.name"]


def test_a_section_begins_at_its_header():
    path = KeyPath("toml", "tool.ruff")
    rows = ["line-length = 100", "[[tool.mypy.overrides]]  # all", 'module = "a"']
    assert [*map(path.enter, rows)] == [
        "tool.ruff.line-length",
        "tool.mypy.overrides",
        "tool.mypy.overrides.module",
    ]
