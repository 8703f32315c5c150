"""Detects the language of a file by its name and, where that does not suffice, by its text.

The names of languages here are those that are stored, shown and used in filters. An unknown
language is "text", never an error.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from memory_sidecar.core.errors import UsageError

TEXT = "text"

# Every language that is recognised, with its file extensions.
EXTENSIONS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "bash": ("sh", "bash", "zsh", "ksh", "zsh-theme"),
        "c": ("c", "h"),
        "cmake": ("cmake",),
        "cpp": (
            *("cpp", "cc", "cxx", "c++", "hpp", "hh", "hxx", "h++", "ipp", "inl", "tpp"),
            *("ixx", "cppm", "cu", "cuh"),
        ),
        "csharp": ("cs", "csx"),
        "css": ("css",),
        "dart": ("dart",),
        "dockerfile": ("dockerfile",),
        "elixir": ("ex", "exs"),
        "gdscript": ("gd", "gdscript"),
        "go": ("go",),
        "godot": ("tscn", "tres", "godot"),
        "haskell": ("hs",),
        "hcl": ("tf", "tfvars", "hcl"),
        "html": ("html", "htm", "xhtml"),
        "ini": ("ini", "cfg"),
        "java": ("java",),
        "javascript": ("js", "jsx", "mjs", "cjs"),
        "json": ("json", "jsonc", "geojson", "ipynb"),
        "kotlin": ("kt", "kts"),
        "lua": ("lua",),
        "makefile": ("mk", "mak"),
        "markdown": ("md", "mdx", "markdown"),
        "php": ("php", "phtml"),
        "python": ("py", "pyi", "pyw"),
        "ruby": ("rb", "rake", "gemspec", "podspec", "ru"),
        "rust": ("rs",),
        "scala": ("scala", "sc", "sbt"),
        "sln": ("sln",),
        "sql": ("sql",),
        "swift": ("swift",),
        TEXT: ("txt", "text", "rst"),
        "toml": ("toml",),
        "tsx": ("tsx",),
        "typescript": ("ts", "mts", "cts"),
        "xml": (
            *("xml", "csproj", "fsproj", "vbproj", "vcxproj", "slnx", "props", "targets"),
            *("nuspec", "xaml", "axaml", "resx", "xsd"),
        ),
        "yaml": ("yaml", "yml"),
        "zig": ("zig",),
    }
)
LANGUAGES = frozenset(EXTENSIONS)
NO_CODE = frozenset("css html ini json markdown sln toml xml yaml".split())
"""The languages of prose, markup, data and configuration."""

_FILE_NAMES: Mapping[str, tuple[str, ...]] = {
    "bash": (".bash_profile", ".bashrc", ".profile", ".zshrc"),
    "cmake": ("cmakelists.txt",),
    "dockerfile": ("containerfile", "dockerfile"),
    "ini": (".editorconfig", ".gitconfig"),
    "makefile": ("gnumakefile", "makefile"),
    "python": ("sconscript", "sconstruct", "wscript"),
    "ruby": ("brewfile", "fastfile", "gemfile", "podfile", "rakefile", "vagrantfile"),
}
_INTERPRETERS: Mapping[str, tuple[str, ...]] = {
    "bash": ("ash", "bash", "dash", "ksh", "sh", "zsh"),
    "dart": ("dart",),
    "javascript": ("node", "nodejs"),
    "lua": ("lua", "luajit"),
    "php": ("php",),
    "python": ("pypy", "python", "uv"),
    "ruby": ("ruby",),
    "swift": ("swift",),
    "typescript": ("deno",),
}


def _by_word(table: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    return {word: language for language, words in table.items() for word in words}


_BY_EXTENSION = _by_word(EXTENSIONS)
_BY_FILE_NAME = _by_word(_FILE_NAMES)
_BY_INTERPRETER = _by_word(_INTERPRETERS)
_ALIASES = {
    "c#": "csharp",
    "docker": "dockerfile",
    "golang": "go",
    "make": "makefile",
    "node": "javascript",
    "plain": TEXT,
    "shell": "bash",
}
_SHEBANG = re.compile(r"#!\s*(?:\S*/)?(?:env\s+(?:(?:-|\w+=)\S*\s+)*)?([A-Za-z]+)")
_CPP_HEADER = re.compile(
    r"^[ \t]*(?:class\s+(?:\w+\s+)?\w+\s*(?:final\s*)?[:{;]|namespace\b[\w\s:]*(?:\{|$)"
    r"|template\s*<|using\s+(?:namespace\s|\w+\s*=|\w+::)|(?:public|private|protected)\s*:\s*$"
    r"|#\s*include\s*<\w+>)|\bstd::",
    re.MULTILINE,
)


def detect_language(path: str, text: str = "") -> str:
    """Return one of LANGUAGES for the file at `path`; `text` is its content, or the beginning.

    The text decides where the name says nothing (by its `#!` line), and for `.h` between C and C++.
    """
    name = path.rsplit("/", 1)[-1].lower()
    if known := _BY_FILE_NAME.get(name):
        return known
    stem, dot, extension = name.rpartition(".")
    if dot and (known := _BY_EXTENSION.get(extension)):
        return "cpp" if extension == "h" and _CPP_HEADER.search(text) else known
    if stem == "dockerfile":  # Dockerfile.release
        return "dockerfile"
    if shebang := _SHEBANG.match(text):
        return _BY_INTERPRETER.get(shebang[1].lower(), TEXT)
    return TEXT


def known_language(name: str) -> str:
    """Return the stored name of a language that a user calls `C#`, `py`, `.ts` or `Shell`.

    Raises UsageError for an unknown one.
    """
    asked = name.strip().lower()
    if asked in LANGUAGES:
        return asked
    known = _ALIASES.get(asked) or _BY_EXTENSION.get(asked.removeprefix("."))
    if known is None:
        raise UsageError(
            f"unknown language {name[:40]!r}", hint="for example python, csharp, typescript"
        )
    return known
