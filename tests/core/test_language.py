from __future__ import annotations

import pytest

from memory_sidecar.core.errors import UsageError
from memory_sidecar.core.language import LANGUAGES, detect_language, known_language


@pytest.mark.parametrize(
    ("path", "language"),
    [
        ("src/Cart.cs", "csharp"),
        ("a/b.PY", "python"),
        ("main.rs", "rust"),
        ("x.ts", "typescript"),
        ("x.d.ts", "typescript"),
        ("x.tsx", "tsx"),
        ("x.js", "javascript"),
        ("x.jsx", "javascript"),
        ("x.go", "go"),
        ("X.java", "java"),
        ("X.kt", "kotlin"),
        ("X.swift", "swift"),
        ("x.c", "c"),
        ("x.h", "c"),
        ("x.cpp", "cpp"),
        ("kernels/add.cu", "cpp"),
        ("Shop.slnx", "xml"),
        ("ios/Podfile", "ruby"),
        ("Cart.podspec", "ruby"),
        ("SConstruct", "python"),
        ("x.rb", "ruby"),
        ("x.php", "php"),
        ("x.lua", "lua"),
        ("x.sh", "bash"),
        ("x.sql", "sql"),
        ("cart.dart", "dart"),
        ("cart.ex", "elixir"),
        ("cart_test.exs", "elixir"),
        ("cart.zig", "zig"),
        ("main.tf", "hcl"),
        ("prod.tfvars", "hcl"),
        ("Cart.hs", "haskell"),
        ("Cart.scala", "scala"),
        ("player.gd", "gdscript"),
        ("player.gdscript", "gdscript"),
        ("main.tscn", "godot"),
        ("theme.tres", "godot"),
        ("project.godot", "godot"),
        ("README.md", "markdown"),
        ("page.mdx", "markdown"),
        ("pyproject.toml", "toml"),
        ("a.json", "json"),
        ("a.yaml", "yaml"),
        ("a.yml", "yaml"),
        ("a.xml", "xml"),
        ("App.csproj", "xml"),
        ("App.sln", "sln"),
        ("setup.cfg", "ini"),
        ("tox.ini", "ini"),
        ("index.html", "html"),
        ("a.css", "css"),
        ("docker/Dockerfile", "dockerfile"),
        ("Dockerfile.release", "dockerfile"),
        ("Makefile", "makefile"),
        ("CMakeLists.txt", "cmake"),
        ("notes.txt", "text"),
        ("LICENSE", "text"),
        ("strange.xyz", "text"),
        ("", "text"),
        ("v1.2/README", "text"),
    ],
)
def test_name_tells_the_language(path, language):
    assert detect_language(path) == language
    assert language in LANGUAGES


@pytest.mark.parametrize(
    ("head", "language"),
    [
        ("#!/bin/sh\n", "bash"),
        ("#!/usr/bin/env python3.12\n", "python"),
        ("#! /usr/bin/env -S node --harmony\n", "javascript"),
        ("#!/usr/bin/env -S uv run --script\n", "python"),
        ("#!/usr/bin/env -S LEVEL=1 EMPTY= python -u\n", "python"),
        ("#!/usr/bin/perl\n", "text"),
        ("no shebang\n#!/bin/sh\n", "text"),
    ],
)
def test_shebang_tells_where_the_name_does_not(head, language):
    assert detect_language("bin/run", head) == language


def test_extension_outweighs_the_shebang():
    assert detect_language("run.py", "#!/bin/sh\n") == "python"


def test_header_is_cpp_only_when_it_shows():
    assert detect_language("cart.h", "struct cart;\nint add(struct cart *);\n") == "c"
    assert detect_language("cart.h", "/* using it\n class of carts\n namespace here */\n") == "c"
    assert detect_language("cart.h", f"//{300 * 'x'}\n\nclass SHOP_API Cart {{\n") == "cpp"
    assert detect_language("cart.h", "class Cart final\n\n{\n") == "cpp"
    assert detect_language("cart.h", "#include <string>\n") == "cpp"
    assert detect_language("cart.h", "namespace shop {\nclass Cart;\n}\n") == "cpp"


@pytest.mark.parametrize("line", ["int a;", "class a", "class a final", "class"])
def test_header_of_many_empty_lines_is_told_soon(line):
    assert detect_language("a.h", line + "\n" * 300_000) == "c"


def test_user_may_say_a_language_by_any_usual_name():
    names = ("C#", "cs", "py", ".ts", "c++", "Shell", "golang", "gd", "md", "python")
    assert [known_language(name) for name in names] == [
        "csharp", "csharp", "python", "typescript", "cpp", "bash", "go", "gdscript", "markdown",
        "python",
    ]  # fmt: skip
    for unknown in ("klingon", ""):
        with pytest.raises(UsageError):
            known_language(unknown)
