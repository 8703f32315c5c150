"""Detects the language of a file by its name, else by its text; and splits texts into words.

The names of languages here are those that are stored, shown and used in filters. An unknown
language is "text", never an error. Identifiers of any language are split into their parts, by camel
case, too. `index.keyword`, which queries words, is apart, so that processes which build documents
load less.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from functools import lru_cache
from itertools import pairwise
from types import MappingProxyType

from memory_sidecar.core.errors import UsageError

TEXT = "text"

# Every language that is recognised, with its file extensions.
EXTENSIONS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "bash": ("sh", "bash", "zsh", "ksh"),
        "c": ("c", "h"),
        "cmake": ("cmake",),
        "cpp": ("cpp", "cc", "cxx", "c++", "hpp", "hh", "hxx", "h++", "ipp", "inl"),
        "csharp": ("cs", "csx"),
        "css": ("css",),
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
        "ruby": ("rb", "rake", "gemspec"),
        "rust": ("rs",),
        "scala": ("scala", "sc", "sbt"),
        "sln": ("sln",),
        "sql": ("sql",),
        "swift": ("swift",),
        TEXT: ("txt", "text", "rst"),
        "toml": ("toml",),
        "tsx": ("tsx",),
        "typescript": ("ts", "mts", "cts"),
        "xml": ("xml", "csproj", "fsproj", "vbproj", "props", "targets", "xaml", "resx", "xsd"),
        "yaml": ("yaml", "yml"),
        "zig": ("zig",),
    }
)
LANGUAGES = frozenset(EXTENSIONS)

_FILE_NAMES: Mapping[str, tuple[str, ...]] = {
    "bash": (".bash_profile", ".bashrc", ".profile", ".zshrc"),
    "cmake": ("cmakelists.txt",),
    "dockerfile": ("containerfile", "dockerfile"),
    "ini": (".editorconfig", ".gitconfig"),
    "makefile": ("gnumakefile", "makefile"),
    "ruby": ("gemfile", "rakefile"),
}
_INTERPRETERS: Mapping[str, tuple[str, ...]] = {
    "bash": ("ash", "bash", "dash", "ksh", "sh", "zsh"),
    "javascript": ("node", "nodejs"),
    "lua": ("lua", "luajit"),
    "php": ("php",),
    "python": ("pypy", "python"),
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
_SHEBANG = re.compile(r"#!\s*(?:\S*/)?(?:env\s+(?:-\S+\s+)*)?([A-Za-z]+)")
_CPP_HEADER = re.compile(
    r"^[ \t]*(?:class\s+(?:\w+\s+)?\w+\s*(?:final\s*)?[:{;]|namespace\b[\w\s:]*(?:\{|$)"
    r"|template\s*<|using\s+(?:namespace\s|\w+\s*=|\w+::)|(?:public|private|protected)\s*:\s*$"
    r"|#\s*include\s*<\w+>)|\bstd::",
    re.MULTILINE,
)


def detect_language(path: str, text: str = "") -> str:
    """Return one of LANGUAGES for the file at `path`; `text` is its content, or the beginning.

    The text decides for a file without an extension (by its `#!` line), and for `.h` between C and
    C++.
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


_CAMEL_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
# Possessive, so that no word is read twice to find that it has no hump: a quarter faster.
_CAMEL_WORD = re.compile(r"(?<![A-Za-z0-9])[A-Za-z][a-z0-9]*+[A-Z][A-Za-z0-9]*+")
_UNSPACED = re.compile("([\u0e00-\u0e7f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af])")
_LATIN = re.compile("[A-Za-z]")
_WORD = re.compile(r"[^\W_]+(?:[._:\-/]*[^\W_]+)*")
_PART = re.compile(r"[^\W_]+")

MAX_QUERY_WORDS = 64
LONGEST_NAME = 64  # characters of a name that is remembered: 16,000 strings of data take 700 MB

STOPWORDS = frozenset(
    "a an and are as at be been but by can could did do does for from had has have how i if in "
    "into is it its me my not of on or our should so such that the their them then there these "
    "they this those to was we were what when where which who why will with would you your".split()
)


def index_words(text: str) -> str:
    """Return `text` for FTS5: camelCase words are split, and the whole words appended."""
    if not text.isascii():
        text = _UNSPACED.sub(r" \1 ", text)
    whole: set[str] = set()

    def split(word: re.Match[str]) -> str:
        parts = humps_apart(word.group())
        if " " in parts:
            whole.add(word.group().lower())
        return parts

    text = _CAMEL_WORD.sub(split, text)
    return f"{text}\n{' '.join(sorted(whole))}" if whole else text


def lacks_latin(text: str) -> bool:
    """Tell whether `text` has no Latin letter: the model, made for English, hardly knows it."""
    return not _LATIN.search(text)


def plain_words(text: str) -> list[str]:
    """Return the words of `text` in order, in lower case, with identifiers split."""
    return [part.lower() for part in _PART.findall(humps_apart(text))]


def humps_apart(text: str) -> str:
    """Split `camelCase` into `camel Case`."""
    return name_apart(text) if len(text) <= LONGEST_NAME else _CAMEL_HUMP.sub(" ", text)


@lru_cache(maxsize=1 << 14)  # the same few identifiers make up most of a source
def name_apart(name: str) -> str:
    """Split a name as `humps_apart` does, and remember it."""
    return _CAMEL_HUMP.sub(" ", name)


def words_and_phrases(text: str) -> tuple[list[str], list[str]]:
    """Return the distinct words of a question, and its identifiers as phrases of their parts."""
    words: dict[str, None] = {}
    phrases: dict[str, None] = {}
    for word in _WORD.findall(text[: 64 * MAX_QUERY_WORDS]):
        parts = plain_words(word)
        for part in parts:
            if characters := _UNSPACED.findall(part):
                pairs = pairwise(characters)
                phrases.update(dict.fromkeys(map(" ".join, pairs)) or {part: None})
            else:
                words[part] = None
        if len(parts) > 1:
            phrases[_UNSPACED.sub(r" \1 ", " ".join(parts))] = None
    return list(words)[:MAX_QUERY_WORDS], list(phrases)


def is_word_character(character: str) -> bool:
    """Whether `character` is a letter, a digit, or a mark as scripts like Devanagari have."""
    if character.isascii():
        return character.isalnum()
    return unicodedata.category(character)[0] in "LNM" and not "\ufe00" <= character <= "\ufe0f"
