"""The C# client of the guide for hosts, compiled and run: by Mono, whose C# is older.

What C# 12 says shorter is written out as C# 7 here, and stand-ins take the place of the two
libraries; the program that it calls is the real one.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.conftest import PROGRAM, write_project
from tests.test_docs import HOST, blocks

OURS = Path(__file__).with_name("csharp")
WRITTEN_OUT = """
    private readonly string data, program;

    public MemorySidecar(PARAMETERS) { this.data = data; this.program = program; }

    private static string[] Flat(params object[] parts) =>
        parts.SelectMany(part => part as IEnumerable<string> ?? new[] { (string)part }).ToArray();
"""


@pytest.mark.skipif(not shutil.which("mcs"), reason="no Mono: apt-get install mono-mcs")
def test_the_client_of_the_guide_compiles_and_every_call_of_it_works(home, tmp_path):
    (client,) = (block for block in blocks(HOST, "csharp") if "class MemorySidecar" in block)
    (tmp_path / "Client.cs").write_text(older(client), "utf-8")
    files = [tmp_path / "Client.cs", OURS / "StandIns.cs", OURS / "Host.cs"]
    command = ["mcs", "-langversion:latest", f"-out:{tmp_path / 'host.exe'}", *files]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    source = write_project(tmp_path / "project")
    done = subprocess.run(
        ["mono", tmp_path / "host.exe", PROGRAM, home.data_dir, source],
        env=home.environ, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.stdout.splitlines() == [
        "embed 384",
        "search before True",
        "index 8",
        "search shop/cart.py True",
        "store True pitfall/totals-are-cents-not-euros.md",
        "query True cart True",
        "put True",
        "recall Bank - The bank refuses twice",
        "commit True",
        "at once True",
        "absent True",
    ], done.stderr


def older(text: str) -> str:
    """`text`, of C# 12, in C# 7: what is shorter there written out."""
    text = re.sub(r"(?<=[\w\]>])\?(?=[>\s)])", "", text)  # no nullable annotations
    text = re.sub(r"(?<=[,;]) // .*", "", text)  # what is said of a field
    text = text.replace("using var ", "var ")
    text = re.sub(r"\[(\"[a-z-]+\",[^\]]*)\]", r"Flat(\1)", text).replace(".. ", "")
    text = re.sub(
        r"public sealed record (\w+)\((.*?)\);",
        lambda found: f"public sealed class {found[1]} {{ {fields(found[2])} }}",
        text,
        flags=re.DOTALL,
    )
    return re.sub(
        r"(class MemorySidecar)\((.*?)\)\n\{",
        lambda found: f"{found[1]}\n{{{WRITTEN_OUT.replace('PARAMETERS', found[2])}",
        text,
    )


def fields(parameters: str) -> str:
    found = re.findall(
        r'\[property: (JsonPropertyName\("\w+"\))\] (.+?)(?:,\s*(?=\[)|$)', parameters, re.DOTALL
    )
    assert found, parameters
    return " ".join(f"[{attribute}] public {field};" for attribute, field in found)
