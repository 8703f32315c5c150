"""How to parse a fragment of each language: the contexts to put it in, and the words for its holes.

A fragment alone is often no program: C# needs a class around a method, Go a function around a call.
Each context is tried as it is, then with a `;` after the fragment. All readings of the first row of
contexts that yields any are used, since `int F() { … }` may be a method or a local function; later
rows are for fragments that can stand nowhere else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias

FRAGMENT = "@@"  # the place of the fragment in a context

Row: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Dialect:
    """How to parse fragments of one language."""

    contexts: tuple[Row, ...]
    spellings: tuple[str, ...] = ("{0}",)  # of a hole, with `{0}` for a word, to try in this order
    body: str = " {}"  # of what a pattern may be the head of


_NAME_OR_STATEMENT = ("{0}", "{0};", "{0} {0}", "{0} {0};", "case {0}:")
_SCRIPT = Dialect(
    (
        ("@@", "(@@)", "({ @@ })", "<z @@ />"),
        ("class Z { @@ }", "switch (z) { @@ }", "try {} @@", "@@ class Z {}"),
    ),
    ("{0}", "{0};", "case {0}:"),
)
_TYPED_SCRIPT = Dialect(
    (
        (*_SCRIPT.contexts[0], "interface Z extends @@ {}"),
        (*_SCRIPT.contexts[1], "interface Z { @@ }", "type Z = @@", "function z(@@) {}"),
    ),
    ("{0}", "{0};", "{0}: {0}", "case {0}:"),
)

DIALECTS: Mapping[str, Dialect] = MappingProxyType(
    {
        "bash": Dialect((("@@",),)),
        "c": Dialect(
            (("@@", "void z(void) { @@ }", "void z(@@) {}", "struct z { @@ };"), ("@@ z;",)),
            _NAME_OR_STATEMENT,
        ),
        "cpp": Dialect(
            (("@@", "void z() { @@ }", "void z(@@) {}", "@@ z;", "class z { @@ };"),),
            _NAME_OR_STATEMENT,
        ),
        "csharp": Dialect(
            (
                (
                    *("@@", "class Z { @@ }", "@@ class Z {}"),
                    *("class Z { void z() { @@ } }", "class Z { object z = @@; }"),
                    *("class Z { void z(@@) { } }", "class Z { object z = Z(@@); }"),
                ),
                ("class Z { void z() { try {} @@ } }", "enum Z { @@ }", "class Z { int z { @@ } }"),
            ),
            (*_NAME_OR_STATEMENT, "{0} => {0}"),
        ),
        "css": Dialect((("@@", "z { @@ }"),), ("{0}", "{0};", "{0}: {0};")),
        "elixir": Dialect((("@@", "[@@]"),), ("{0}", "{0}: {0}")),
        "gdscript": Dialect((("@@", "func z():\n\t@@"), ("func z(@@):\n\tpass",))),
        "go": Dialect(
            (
                ("@@\n", "func z() { @@ }", "func z(@@) {}", "var z @@\n", "var z = z{ @@ }\n"),
                ("type z struct { @@ }", "type z interface { @@ }"),
            ),
            ("{0}", "{0} {0}", "case {0}:"),
        ),
        "haskell": Dialect((("@@\n",), ("z = @@\n", "z :: @@\n", "class Z z where\n  @@\n"))),
        "hcl": Dialect((("@@\n", "z = @@\n"),), ("{0}", "{0} = {0}", "{0} {{}}")),
        "java": Dialect(
            (
                ("@@", "class Z { @@ }", "class Z { void z(@@) {} }", "class Z { @@ z; }"),
                ("@@ class Z {}", "class Z { Object z = @@; }", "class Z { Z() { @@ } }"),
                ("class Z { Z() { try {} @@ } }",),
            ),
            _NAME_OR_STATEMENT,
        ),
        "javascript": _SCRIPT,
        "json": Dialect((("@@", "{ @@ }"),), ('"{0}"', '"{0}": "{0}"')),
        "kotlin": Dialect(
            # `A::b` is a node of another kind between brackets.
            (
                ("@@", "z[@@]", "z(@@)", "@@ class Z"),
                ("class Z { @@ }", "fun z(@@) {}", "val z: @@ = z"),
            ),
            ("{0}", "{0}: {0}", "val {0}", "fun {0}() {{}}"),
        ),
        "lua": Dialect((("@@", "return @@"),), ("{0}", "::{0}::")),
        "php": Dialect(
            (
                ("<?php @@", "<?php class Z { @@ }", "<?php z(@@);"),
                ("<?php function z(@@) {}", "<?php @@ class Z {}", "<?php enum Z { @@ }"),
            ),
            ("{0}", "${0}", "{0};", "public ${0};", "case {0}:"),
        ),
        "python": Dialect(
            (
                ("@@", "z: @@", "z(@@)"),
                ("@@\ndef z(): pass", "try:\n    pass\n@@", "def z(@@): pass"),
            ),
            body=": pass",
        ),
        "ruby": Dialect((("@@", "z(@@)"),), ("{0}", "Z{0}")),
        "rust": Dialect(
            (
                ("@@", "fn z() { @@ }"),
                (
                    "impl Z { @@ }",
                    "struct Z { @@ }",
                    "match z { @@ }",
                    "fn z(@@) {}",
                    "fn z() -> @@ {}",
                    "fn z() { Z { @@ } }",
                ),
            ),
            ("{0}", "{0};", "{0}: {0}", "{0}!{{}}", "{0} => {0},"),
        ),
        "scala": Dialect(
            (("@@", "class Z { @@ }"), ("def z(@@): Z", "@@ class Z", "val z: @@ = z")),
            ("{0}", "{0}: {0}", "val {0} = {0}"),
        ),
        "sql": Dialect((("@@",), ("SELECT * FROM z WHERE @@", "CREATE TABLE z (@@)"))),
        "swift": Dialect(
            (
                ("@@", "func z() { @@ }", "protocol Z { @@ }"),
                ("class Z { @@ }", "@@ class Z {}", "func z(@@) {}", "let z: @@", "z(@@)"),
            ),
            ("{0}", "{0}: {0}", "var {0}: {0}"),
        ),
        "toml": Dialect((("@@\n",),), ("{0}", '"{0}"', '{0} = "{0}"')),
        "tsx": _TYPED_SCRIPT,
        "typescript": Dialect(  # `<z …` begins a cast
            tuple(tuple(c for c in row if "<" not in c) for row in _TYPED_SCRIPT.contexts),
            _TYPED_SCRIPT.spellings,
        ),
        "zig": Dialect(
            (("@@", "fn z() void { @@ }"), ("fn z(@@) void {}", "const z = @@;")),
            ("{0}", "{0};", "{0}: {0}"),
        ),
    }
)
