from __future__ import annotations

import hashlib
import os
import socket
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from memory_sidecar.core.model import SourceFile
from memory_sidecar.disk.read import DecodedFile, read_text
from memory_sidecar.disk.walk import walk

LIMIT = 1 << 20


def read(root: Path, path: str, *, limit: int = LIMIT) -> DecodedFile:
    return read_text(root, SourceFile(path, 1, 0, 0), max_file_bytes=limit)


def read_bytes(root: Path, data: bytes, *, path: str = "a.py") -> DecodedFile:
    (root / path).write_bytes(data)
    result = read(root, path)
    assert result.content_hash == hashlib.sha256(data).hexdigest()
    return result


def text(result: DecodedFile) -> str:
    assert not result.skip_reason, result
    return result.text


def reason(result: DecodedFile) -> str:
    """Why `result` has no text; "" if it has one."""
    return result.skip_reason


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"x = 1\r\ny = 2\n", "x = 1\r\ny = 2\n"),
        ("größe = 'コード'\n".encode(), "größe = 'コード'\n"),
        ("größe\n".encode("utf-8-sig"), "größe\n"),
        (b"\xff\xfe" + "größe\n".encode("utf-16-le"), "größe\n"),
        (b"\xfe\xff" + "größe\n".encode("utf-16-be"), "größe\n"),
        (b"\xff\xfe\0\0" + "größe\n".encode("utf-32-le"), "größe\n"),
        ("// Grüße an alle, die das noch lesen können\n".encode("cp1252"), None),
        (b"// caf\xe9 at 10 \x80, na\xefve but plain text for the rest\n", None),
        (b"// undefined in cp1252: \x81, so it is read as latin-1, byte by byte\n", None),
        (b"\x1b[31mred\x1b[0m text\x0cpage\n", "\x1b[31mred\x1b[0m text\x0cpage\n"),
    ],
)
def test_text_is_decoded(root, data, expected):
    if expected is None:
        expected = data.decode("latin-1" if b"\x81" in data else "cp1252")
    assert text(read_bytes(root, data)) == expected


def test_one_broken_character_does_not_spoil_a_utf8_text(root):
    line = "# 日本語のコメント\n"
    data = line.encode() * 20 + b"# \xe6\xff\n"
    assert text(read_bytes(root, data)).startswith(line * 20)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", "empty"),
        (b" \n\t\r\n", "empty"),
        (b"\xef\xbb\xbf\n", "empty"),
        (b"plain text with one \0 in it\n", "binary"),
        (b"a" * 100_000 + b"\0", "binary"),
        (bytes(range(1, 9)) * 20 + b"text", "binary"),
        (b"\xff\xfe" + bytes(range(256)) * 8 + b"\0\0" * 200, "binary"),
        ("Съешь же ещё этих мягких французских булок".encode("cp1251"), "not text"),
        ("Καλημέρα κόσμε, τι κάνεις;".encode("iso8859-7"), "not text"),
        ("สวัสดีชาวโลก".encode("tis-620"), "not text"),
    ],
)
def test_what_is_no_text_is_skipped_with_its_reason(root, data, expected):
    assert reason(read_bytes(root, data)) == expected


RUSSIAN = "Читает настройки и возвращает имена всех пользователей"
JAPANESE = "これは日本語の文章です。"
SIMPLIFIED = "读取配置文件、并返回所有用户的名称"
TRADITIONAL = "讀取設定檔案、並傳回所有使用者的名稱"
KOREAN = "설정 파일을 읽고 모든 사용자의 이름을 돌려준다"


@pytest.mark.parametrize(
    ("words", "codec", "expected"),
    [
        (RUSSIAN, "cp1251", "windows-1251"),
        (RUSSIAN, "koi8-r", "koi8-u"),
        (RUSSIAN, "cp866", "cp866"),
        (RUSSIAN, "iso8859-5", "iso8859-5"),
        ("Зчитує налаштування й повертає імена", "koi8-u", "koi8-u"),
        (JAPANESE, "shift-jis", "cp932"),
        (JAPANESE, "euc-jp", "euc-jp"),
        (SIMPLIFIED, "gb2312", "gb18030"),
        (TRADITIONAL, "big5", "big5hkscs"),
        (KOREAN, "euc-kr", "cp949"),
    ],
)
def test_words_tell_an_encoding_of_their_language(root, words, codec, expected):
    for around in ("{}", "def read(path):\n    # {}\n    return path\n" * 9):
        written = around.replace("{}", words)
        result = read_bytes(root, written.encode(codec))
        assert (text(result), result.encoding) == (written, expected)


@pytest.mark.parametrize(
    "written",
    [
        "Änderungen für Größe, Maß und Übergänge; naïve Fälle",
        "« Où êtes-vous ? » À côté, déjà créée",
        "¿Qué pasó? ¡Año ñoño! °C µm ÄÖÜäöüß",
        "don\u2019t \u2013 “quote” … it\u2019s we\u2019re",
        'VOWELS = "àèìòù" + "àèìòù"',
        'assert title == "éàïôñ" != "éàïôñ"',
    ],
)
def test_western_text_is_read_as_such(root, written):
    result = read_bytes(root, f"# {written}\n{'# and more in ASCII' * 9}\n".encode("cp1252"))
    assert result.encoding == "windows-1252"
    assert written in text(result)


LONG_PARAGRAPHS = b"A sentence of an ordinary length. " * 100 + b"\n"
BUNDLE = b"/* licence */\n" * 200 + b"var a=function(){};" * 1200


@pytest.mark.parametrize(
    ("path", "data", "expected"),
    [
        ("app.js", b"var a=1;" * 1000, "minified"),
        ("app.js", BUNDLE, "minified"),
        ("app.css", BUNDLE, "minified"),
        ("data.json", b'{"a": 1},' * 1000, "lines too long"),
        ("data.json", b'{"a": 1}', ""),
        (
            "points.json",
            b'{\n "cells": 1,\n' * 200 + b'"' + b"x" * 25_000 + b'"}',
            "lines too long",
        ),
        ("book.ipynb", b'{"cells": [{"source": ["x"]}]}' * 1000 + b"\n", "lines too long"),
        ("table.py", b"T = '" + b"x" * 9000 + b"'\n", "lines too long"),
        ("table.py", b"x = 1\n" * 5000 + b"T = '" + b"x" * 30_000 + b"'\n", ""),
        ("notes.md", LONG_PARAGRAPHS * 5, ""),
        ("README.md", b"![](data:image/png;base64," + b"iVBOR" * 9000 + b")\n", ""),
        ("app.js", b"const a = 1;\n" * 5000, ""),
        ("app.js", b"const a = 1;\r" * 5000, ""),
    ],
)
def test_long_lines_are_judged_by_the_kind_of_file(root, path, data, expected):
    assert reason(read_bytes(root, data, path=path)) == expected


def test_what_stands_for_a_file_that_git_lfs_keeps_is_skipped_for_that(root):
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a21\nsize 12345\n"
    assert reason(read_bytes(root, pointer, path="orders.csv")) == "git LFS pointer"


def test_pictures_in_a_notebook_are_blank_lines(root):
    code, picture = '   "import pandas",\n', '   "image/png": "' + "iVBOR" * 5000 + '"\n'
    read = read_bytes(root, (code + picture + code).encode(), path="book.ipynb")
    assert text(read) == code + "\n" + code


def test_of_a_large_notebook_what_its_cells_put_out_is_blank_lines(root):
    rows = '     "0  1  2\\n",\n' * 80_000
    source = '   "source": [\n    "import pandas"\n   ]\n  }\n'
    data = f'  {{\n\n   "outputs": [\n{rows}   ],\n{source}'.encode()
    assert len(data) > LIMIT
    assert text(read_bytes(root, data, path="book.ipynb")) == "  {\n\n" + "\n" * 80_002 + source
    assert reason(read_bytes(root, b"# x\n" * 300_000, path="book.ipynb")) == "larger than 1 MiB"


def test_a_private_key_is_left_out_whatever_its_file_is_called(root):
    key = "-----BEGIN OPENSSH " + "PRIVATE KEY-----\nb3BlbnNzaC1rZXk\n"
    assert reason(read_bytes(root, key.encode(), path="deploy.txt")) == "may hold secrets"
    about = f"A key begins with {key}"
    assert reason(read_bytes(root, about.encode(), path="notes.md")) == ""


def test_a_private_key_that_the_source_asks_for_comes_in(root):
    key = "-----BEGIN OPENSSH " + "PRIVATE KEY-----\nb3BlbnNzaC1rZXk\n"
    (root / "id_rsa").write_text(key)
    for excludes, expected in (((), "may hold secrets"), (("!id_rsa",), "")):
        (file,) = walk(root, max_file_bytes=1000, excludes=excludes).files
        assert file.skip_reason == expected
        read = read_text(root, replace(file, skip_reason=""), max_file_bytes=1000)
        assert read.skip_reason == expected


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        ("// Code generated by protoc-gen-go. DO NOT EDIT.\n", "generated"),
        ("// <auto-generated>\n//   by a tool\n", "generated"),
        ("//------\n// <auto-generated/>\n", "generated"),
        ("/**\n * @generated SignedSource<<abc>>\n */\n", "generated"),
        ("# @generated by cargo\n", "generated"),
        ("<!-- @generated -->\n", "generated"),
        ("MARKER = '@generated'\n", ""),
        ("# mail someone@generated.example.org\n", ""),
        ("# Generated by Django 5.2 on 2025-01-01\n", ""),
        ("// Code generated by hand, edit at will\n", ""),
        ("\n" * 30 + "# @generated\n", ""),
    ],
)
def test_generated_code_is_told_by_a_comment_at_its_top(root, head, expected):
    assert reason(read_bytes(root, (head + "x = 1\n").encode())) == expected


def test_the_size_limit_holds_for_a_file_that_grew_since_the_walk(root):
    (root / "a.py").write_bytes(b"x" * 2049)
    assert reason(read(root, "a.py", limit=2048)) == "larger than 2 KiB"
    assert text(read(root, "a.py", limit=2049)) == "x" * 2049


def test_a_file_that_went_away_is_gone(root):
    (root / "file").write_text("x\n")
    with pytest.raises(FileNotFoundError):
        read(root, "gone.py")
    with pytest.raises(NotADirectoryError):
        read(root, "file/below.py")


def test_what_replaced_a_file_since_the_walk_is_not_opened(root, monkeypatch):
    (root / "target").write_text("x\n")
    (root / "link.py").symlink_to("target")
    (root / "loop.py").symlink_to("loop.py")
    (root / "folder.py").mkdir()
    os.mkfifo(root / "pipe.py")
    assert reason(read(root, "link.py")) == "symbolic link"
    assert reason(read(root, "loop.py")) == "symbolic link"
    assert reason(read(root, "folder.py")) == "not a regular file"
    assert reason(read(root, "pipe.py")) == "not a regular file"
    monkeypatch.chdir(root)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket.py")
        assert reason(read(root, "socket.py")) == "not a regular file"


def test_a_file_that_cannot_be_read_is_to_be_tried_again(locked_root, drop_privileges):
    (locked_root / "a.py").write_text("x\n")
    (locked_root / "a.py").chmod(0)
    drop_privileges()
    with pytest.raises(PermissionError):
        read(locked_root, "a.py")


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="counts descriptors in /proc")
def test_no_descriptor_is_left_open(root):
    (root / "folder.py").mkdir()
    (root / "a.py").write_text("x\n")
    before = len(list(Path("/proc/self/fd").iterdir()))
    for path in ("folder.py", "a.py", "gone.py"):
        for limit in (LIMIT, 1):
            with suppress(FileNotFoundError):
                read(root, path, limit=limit)
    assert len(list(Path("/proc/self/fd").iterdir())) == before
