"""Draws the picture of a search on a terminal that README shows: python tools/terminal.py

The picture shows the output of the real program, with the real model, over some folders of this
project.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from io import StringIO
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import DIMMED_MONOKAI, TerminalTheme
from rich.text import Text
from screenshots import PICTURES, copied

PROGRAM = Path(sys.executable).with_name("memory-sidecar")
ASKED = ("search", "how are copies of a chunk folded into one hit", "-n", "3")
COLUMNS = 108
LIGHT = TerminalTheme(  # dark enough to be read on white
    (255, 255, 255),
    (31, 35, 40),
    [
        *((31, 35, 40), (164, 14, 38), (17, 99, 41), (125, 78, 0)),
        *((5, 80, 174), (115, 60, 190), (20, 105, 120), (90, 98, 108)),
    ],
    [
        *((87, 96, 106), (190, 30, 45), (26, 127, 55), (140, 90, 0)),
        *((9, 90, 200), (130, 70, 210), (20, 110, 130), (100, 108, 118)),
    ],
)
THEMES = {"light": LIGHT, "dark": DIMMED_MONOKAI}
# rich's own drawing, but with the viewer's fonts instead of one from the network.
DRAWING = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}">
<style>.{unique_id}-matrix {{ font: {char_height}px monospace; line-height: {line_height}px }}
{styles}</style>
<defs><clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/></clipPath>{lines}</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}<g class="{unique_id}-matrix">{matrix}</g></g>
</svg>
"""


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    with tempfile.TemporaryDirectory(prefix="memory-sidecar-terminal-") as scratch:
        project = copied(Path(scratch, "memory-sidecar"))
        environ = {
            **os.environ,
            "MEMORY_SIDECAR_DATA_DIR": f"{scratch}/data",
            "MEMORY_SIDECAR_NO_DAEMON": "1",
            "CLICOLOR_FORCE": "1",
            "COLUMNS": str(COLUMNS),
            "TERM": "xterm-256color",
        }
        for arguments in (("index", ".", "--wait", "dense"), ASKED):
            done = subprocess.run(
                [PROGRAM, *arguments],
                cwd=project,
                env=environ,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=True,
            )
    for name, theme in THEMES.items():
        (PICTURES / f"terminal-{name}.svg").write_text(drawn(done.stdout, theme), "utf-8")


def drawn(said: str, theme: TerminalTheme) -> str:
    """`said`, terminal output with colour sequences, drawn as SVG."""
    console = Console(record=True, width=COLUMNS, file=StringIO(), color_system="truecolor")
    question = " ".join(f'"{each}"' if " " in each else each for each in ASKED)
    console.print(Text.assemble(("$ ", "green"), f"memory-sidecar {question}"))
    console.print(Text.from_ansi(said))
    return console.export_svg(title="", theme=theme, code_format=DRAWING, unique_id="terminal")


if __name__ == "__main__":
    main()
