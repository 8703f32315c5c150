"""Asks clangd, over the language server protocol, what names in C and C++ sources refer to."""

from __future__ import annotations

import json
import random
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SOURCES = {".c": "c", ".cc": "cpp", ".cpp": "cpp"}
# The kinds of clangd's tokens that may refer to a definition of ours.
ASKED = frozenset("function method class struct enum type macro".split())
FOLDERS = ("", "include", "src")  # in which clangd looks for included files

Asked = tuple[str, int, str, set[tuple[str, int]], bool]
"""Path, line from 1, name, what it means (paths and lines), whether that is what we look for."""


def resolved(tree: Path, program: Path, *, sample: int, seed: int) -> Iterator[Asked]:
    """A seeded sample of the names used in `tree`, with the definitions that clangd gives."""
    files = sorted(file for file in tree.rglob("*") if file.suffix in SOURCES)
    if not files:
        return
    with tempfile.TemporaryDirectory() as commands:
        includes = [f"-I{tree / folder}" for folder in FOLDERS]
        database = [
            {"directory": str(tree), "file": str(file), "arguments": ["cc", *includes, str(file)]}
            for file in files
        ]
        Path(commands, "compile_commands.json").write_text(json.dumps(database), "utf-8")
        server = _Server(program, tree, Path(commands))
        texts = {file: file.read_text("utf-8", "replace") for file in files}
        for file, text in texts.items():
            server.open(file, text, SOURCES[file.suffix])
        places = [
            (file, *token) for file, text in texts.items() for token in server.used(file, text)
        ]
        random.Random(seed).shuffle(places)
        for file, line, column, name in places[:sample]:
            found = server.definitions(file, line, column)
            targets = {
                (each.relative_to(tree).as_posix(), row)
                for each, row in found
                if each.is_relative_to(tree)
            }
            yield file.relative_to(tree).as_posix(), line + 1, name, targets, bool(targets)
        server.end()


class _Server:
    def __init__(self, program: Path, tree: Path, commands: Path) -> None:
        options = [f"--compile-commands-dir={commands}", "--background-index=false", "--log=error"]
        self._process = subprocess.Popen(
            [str(program), *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._last = 0
        tokens = {"formats": ["relative"], "tokenTypes": [], "tokenModifiers": []}
        able = {"textDocument": {"semanticTokens": {**tokens, "requests": {"full": True}}}}
        asked = {"processId": None, "rootUri": tree.as_uri(), "capabilities": able}
        legend = self.ask("initialize", asked)["capabilities"]["semanticTokensProvider"]["legend"]
        self._types: list[str] = legend["tokenTypes"]
        modifiers: list[str] = legend["tokenModifiers"]
        self._defining = sum(
            1 << at for at, name in enumerate(modifiers) if name in ("declaration", "definition")
        )
        self._tell("initialized", {})

    def open(self, file: Path, text: str, language: str) -> None:
        document = {"uri": file.as_uri(), "languageId": language, "version": 1, "text": text}
        self._tell("textDocument/didOpen", {"textDocument": document})

    def used(self, file: Path, text: str) -> Iterator[tuple[int, int, str]]:
        """Row and column, from 0, and text of each name that is a use, not a declaration."""
        document = {"textDocument": {"uri": file.as_uri()}}
        data = (self.ask("textDocument/semanticTokens/full", document) or {"data": []})["data"]
        lines = text.splitlines()
        row = column = 0
        for at in range(0, len(data), 5):
            rows, columns, length, kind, modifiers = data[at : at + 5]
            column = columns if rows else column + columns
            row += rows
            if self._types[kind] in ASKED and not modifiers & self._defining:
                yield row, column, lines[row][column : column + length]

    def definitions(self, file: Path, row: int, column: int) -> Iterator[tuple[Path, int]]:
        """File and line, from 1, of each definition of the name at that position."""
        place = {"line": row, "character": column}
        asked = {"textDocument": {"uri": file.as_uri()}, "position": place}
        for each in self.ask("textDocument/definition", asked) or ():
            yield Path(each["uri"].removeprefix("file://")), each["range"]["start"]["line"] + 1

    def ask(self, method: str, parameters: dict[str, Any]) -> Any:  # noqa: ANN401  JSON
        self._last += 1
        self._send({"id": self._last, "method": method, "params": parameters})
        while True:
            answer = self._receive()
            if answer.get("id") == self._last and "method" not in answer:
                return answer.get("result")

    def end(self) -> None:
        self.ask("shutdown", {})
        self._tell("exit", {})
        self._process.wait()

    def _tell(self, method: str, parameters: dict[str, Any]) -> None:
        self._send({"method": method, "params": parameters})

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self._process.stdin.flush()

    def _receive(self) -> dict[str, Any]:
        assert self._process.stdout
        length = 0
        while line := self._process.stdout.readline().strip():
            if line.lower().startswith(b"content-length:"):
                length = int(line.partition(b":")[2])
        answer: dict[str, Any] = json.loads(self._process.stdout.read(length))
        return answer
