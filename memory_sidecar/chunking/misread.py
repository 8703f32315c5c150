"""Respells what a grammar misreads, in as many bytes, so that it can read what follows.

After one such place the rest of the class or file is often an error, without definitions. A
spelling is used only if it leaves fewer errors, since it may be wrong elsewhere in the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

_MANY_ERRORS = 0.05  # of a file
_NO_BREAK = re.compile(rb"[^\n]")


class Mending(NamedTuple):
    """What a grammar misreads, and how it is spelled instead."""

    pattern: re.Pattern[bytes]
    spelling: bytes = b" "  # one byte replaces each but line breaks; a longer one is a template
    few_errors: float = 0.0  # not tried while no larger part of the file is errors

    def spell(self, found: re.Match[bytes]) -> bytes:
        """Return the spelling of a match of the pattern; one with the group `kept` stays as it is.

        That group takes lines whose end is missing: else each would be searched from again.
        """
        if found.lastgroup == "kept":
            return found[0]
        is_one = len(self.spelling) == 1
        return _NO_BREAK.sub(self.spelling, found[0]) if is_one else found.expand(self.spelling)


def _words(pattern: bytes, spelling: bytes = b" ") -> Mending:
    return Mending(re.compile(pattern, re.MULTILINE), spelling)


# A condition inside an expression or around half of a block makes the rest of the file an error: in
# the main header of {fmt}, 160 KB, one definition in a hundred was found. If both branches begin
# the same block, only the first is read, so that definitions in the others are lost.
_CONDITION = re.compile(
    rb"^[ \t]*#[ \t]*(?:if|ifdef|ifndef|el\w+|endif)\b(?:[^\n\\]|\\(?:\n|.))*", re.MULTILINE
)
_OTHER_BRANCH = re.compile(
    rb"^[ \t]*#[ \t]*el\w+.*\n(?:(?![ \t]*#[ \t]*(?:if|endif)).*\n)*"
    rb"(?:(?=[ \t]*#[ \t]*endif)|(?P<kept>))",
    re.MULTILINE,
)
_CONDITIONS = tuple(Mending(each, few_errors=_MANY_ERRORS) for each in (_CONDITION, _OTHER_BRANCH))

# `PRIVATE_FIELDS` last in a struct, or in an enum of one constant; `#define` in an enum; `#undef`.
_IN_BRACES = Mending(
    re.compile(
        rb"(?:(?<=[{;]\n)|(?<=\*/\n))(?:(?:[ \t]*[A-Z_][A-Z\d_]{3,})?[ \t]*\n){0,9}"
        rb"[ \t]*[A-Z_][A-Z\d_]{3,}(?:\([^()\n]*\))?[ \t]*$(?=\s*\}[^,)\]])"
        rb"|(?:(?<=,\n)|(?<=enum \{\n))[ \t]*#[ \t]*define\b.*|^[ \t]*#[ \t]*undef\b.*",
        re.MULTILINE,
    ),
    few_errors=_MANY_ERRORS,
)

# One macro at both ends of each declaration makes the tree of a header of Redis deep.
_MACRO = _words(
    # Else five ways would be tried at each character.
    rb"(?=[ \tA-Z_])(?:(?<![ \t])|(?<=class )|(?<=struct ))(?=[ \t]*[A-Z_][A-Z\d_]{3})(?:"
    # `API int f(`, `API Cart::Cart(`
    rb"^[ \t]*[A-Z][A-Z\d_]{3,}"
    rb"(?=[ \t]+[A-Za-z_][\w:]*(?:<[^<>;(){}\n]*>)?(?:::|[ \t*&]+[\w(*~]))"
    # `API Cart() : id(1)`
    rb"|^[ \t]*[A-Z][A-Z\d_]{3,}(?=[ \t]+\w+\([^();{}]*\)(?:[ \t]*noexcept)?\s*:\s*\w+[({])"
    # `void API Cart<T>::f(`, `explicit API Cart(`
    rb"|(?<=\w) [A-Z][A-Z\d_]{3,}(?= \w[\w:]*(?:<[^<>;(){}\n]*>)?::~?\w+\()"
    rb"|(?<=\bexplicit) [A-Z][A-Z\d_]{3,}(?= \w+\()"
    # `class API Cart {`
    rb"|(?:(?<=\bclass )|(?<=\bstruct ))[A-Z][A-Z\d_]{3,}(?=[ \t]+\w+(?:[ \t]+final)?\s*[:{])"
    # `f(int) ATTRIBUTE;`, `f(int) const LOCKS(mutex) {`
    rb"|(?:(?<=\))|(?<=\bconst)|(?<=override))[ \t]*[A-Z][A-Z\d_]{3,}"
    rb"(?:(?=[ \t]*;)|(?:\([^()\n]*\))?(?=[ \t]*[{]))"
    # `Cart cart GUARDED_BY(mutex);`
    rb"|(?<=[\w)\]])(?<!\belse)(?<!\breturn)[ \t]+[A-Z][A-Z\d_]{3,}\([^()\n]*\)(?=[ \t]*[;=])"
    # `BEGIN_NAMESPACE`, `PROPERTY(Editable)` alone in a line: no function, and not last in a list
    rb"|(?<!\\\n)^[ \t]*[A-Z_][A-Z\d_]{3,}(?:[ \t]*\([^()\n;]*\))?[ \t]*$(?!\n\s*[{},)\]]))"
)
# A condition around the bases of a class.
_BASES = _words(
    rb"^[ \t]*#[ \t]*if.*$(?=\n[ \t]*:[^;{}#]+^[ \t]*#[ \t]*endif.*\n[ \t]*\{)"
    rb"|^[ \t]*#[ \t]*endif.*$(?=\n[ \t]*\{)"
)
_KOTLIN_MODIFIERS = rb"open|sealed|final|infix|inline|external|internal|dynamic|override|where"

# In text that only zsh reads, the functions are still found, and what they use if it is readable.
_BODY = re.compile(rb"(?<=\{\n)(?:(?!\}).*\n)+(?:(?=\})|(?P<kept>))")

# Overloads of a call in an interface, one a line: `(cart: T): T` and `<T>(cart: T): T`.
_CALL_SIGNATURE = _words(rb"^[ \t](?=[ \t]*<[^()\n]*>\([^\n]*\): )", b";")

MISREAD: dict[str, tuple[Mending, ...]] = {
    "bash": (
        _words(rb"\$\+\w+\[[^\]\n]*\]", b"1"),  # `(( $+commands[git] ))`
        _words(rb"\$\{(?:[^{}\n]|\{[^{}\n]*\})*\}", b"x"),  # `${(f)list}`
        Mending(_BODY, few_errors=_MANY_ERRORS),
    ),
    "c": (*_CONDITIONS, _IN_BRACES, _MACRO),
    "cpp": (*_CONDITIONS, _BASES, _IN_BRACES, _MACRO),
    "csharp": (
        _words(rb'(?<=\})""(?="(?!"))', b"''"),  # `$@"""{name}"""`
        _words(rb"\basync(?=[ ]?[,);:?]|[ ][&|=][^>])", b"a"),  # a name
        *_CONDITIONS,
    ),
    "kotlin": (
        _words(rb"\b(?:in|as)(?=[\d_])", b"x"),  # `in1.read()` in a line of its own
        _words(  # names: `open = true`, `set and mask`, `insert { … } get id`
            rb"\b(?:(?:" + _KOTLIN_MODIFIERS + rb")(?=[.(]|[?][.]|[ \t]*[+-]?=[^=])"
            rb"|[gs]et(?=[ \t]+[^\s({/}])|get(?=[ \t]*\([^)])|suspend(?= [{]))",
            b"x",
        ),
        _words(  # `is Cart if isOpen ->`
            rb"(?<=[\w)>\"?] )(?<!else )if(?=[ (][^\n{}]*->| \(\n[^{}]{,300}?\) ->)", b", "
        ),
        _words(rb"^[ \t]*@[\w.]+(?:\([^()\n]*\))?[ \t]*$"),  # before `get()`, `return`
        _words(rb"\bactual(?=[ \t]+constructor\b)"),  # `internal actual constructor(`
        _words(rb"(?<!\$)\$\$+(?=\")"),  # `$$"{price}"`
        _words(rb"(?<!\$)\$\$+\"[^\"\n]*\"", b"1"),  # `$$"${not.read}"`
        _words(  # before a declaration; in the type of a function: `f: context(A) B.() -> C`
            rb"^[ \t]*context\([^()\n]*\)(?=\s+(?:\w+ )*(?:fun|val|var)\b)"
            rb"|(?<![\w.])context\([^()\n]*\)"
            rb"(?=[ ](?:suspend )?(?:[\w.<>?]+[.])?\([^()\n]*\)[ ]?->)"
        ),
        _words(rb"(?<=[^\s{;])(?<!->)[ \t](?=\})", b";"),  # `companion object { val size = 1 }`
    ),
    "swift": _CONDITIONS,
    **dict.fromkeys(("typescript", "tsx"), (_CALL_SIGNATURE,)),
    "sql": (  # of SQL Server
        _words(rb"\[([A-Za-z_]\w*)\]", rb'"\1"'),
        _words(  # `CREATE OR ALTER`, and parameters without parentheses
            rb"(?i:(?<=\bcreate )or alter\b|(?<=[\w\]\"])\s+@\w+\s"
            rb"(?>(?:(?!\b(?:create|alter)\b|^[ \t]*as[ \t\r]*$)[^;]){0,2000})"
            rb"(?:(?=^[ \t]*as[ \t\r]*$)|(?P<kept>)))"
        ),
        _words(rb"^(?i:go)$", b"; "),
    ),
}

# Misread without an error: after an annotation these are a call of `annotation`, and no class.
MISREAD_UNSEEN: dict[str, tuple[Mending, ...]] = {
    # Each attribute of one name is a hidden level, which queries climb: 33,000 took 24 s.
    "hcl": (_words(rb"(?:(?:[.][\w*-]+|\[[\w\"*]*\])\s*){200,}"),),
    "kotlin": (
        _words(
            rb"(?<=[\w)][ \n])(?:actual|annotation|expect)"
            rb"(?=[ ](?:[a-z]+[ ])*(?:class|fun|interface|object|typealias|va[lr])\b)"
        ),
    ),
}


def spell(data: bytes, misread: Iterable[Mending]) -> bytes:
    """Return `data`, as long as before, with all of `misread` spelled otherwise, in that order."""
    for each in misread:
        data = each.pattern.sub(each.spell, data)
    return data
