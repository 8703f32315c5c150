"""What each language lets a name mean, before any import or receiver is looked at."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from memory_sidecar.chunking.receivers import PRIMITIVES

_SELVES = frozenset({"self", "this", "cls", "super", "Self"})

Imports = Literal["name", "package", "path", "module", "table", "text"]
"""What an import brings: a name alone, or

    package   a class with its package, mostly a folder
    path      the path of a file, which may re-export what others define
    module    the dotted path of a module, which may re-export names
    table     the table of a file, under a name like that of the file
    text      a copy of a file, whose name then qualifies no other name
"""
Circle = Literal["folder", "source"]
BareMembers = Literal["", "body", "own", "inherited"]
"""Of which class a bare name may be a member: none, or

    body        that in whose body it stands, if defined above
    own         those around it: `self` is implicit
    inherited   these and their bases
"""
StrangeMembers = Literal["any", "imported", "doubted", "none"]
"""Of which other classes a bare name may be a member that no import tells: any, none, or

    imported   of imported ones
    doubted    surely of those whose file is imported, perhaps of others
"""
Objects = Literal["of classes", "loose", "untyped"]
"""Which functions an object has: those of its class, or

    loose     others that it gets one by one, too
    untyped   any, under any name
"""
BehindEnum = Literal["", "closed", "always"]
"""Whether a constant outside of its enum stands behind it: always, or where no import opens it."""


@dataclass(frozen=True, slots=True)
class Scoping:
    """The rules of one language; the defaults are those of a language that has no row below."""

    family: str = ""  # of languages that use each other's names; "" for the language alone
    selves: Collection[str] = _SELVES  # what an object, its class or a base of it is called
    primitives: Collection[str] = ()  # types or namespaces whose members are of no source
    built_in: Collection[str] = ()  # objects of which only what a file adds to them is of a source
    constructors: Collection[str] = ()  # what they are called if not like their class

    # What a file sees of others
    imports: Imports = "name"
    file_import: re.Pattern[str] | None = None  # of a line that imports a file, or `names` of it
    shares: tuple[Circle, ...] = ()  # whose files see a definition without import, nearest first
    names_all: bool = False  # a bare name is defined in its file or folder, or is imported
    files_are_classes: bool = False  # a bare name means only classes of other files
    namespaces: bool = False  # a bare name is of the namespace around it, or of one that is opened
    namespace_first: bool = False  # a bare name is of that of its file; others stand behind theirs
    private_to_file: bool = False  # what is private is seen in its own file only
    module_paths: bool = False  # files have inner modules, and a path needs no import
    behind_modules: Collection[str] = ()  # uses that name what an inner module has behind it only

    # A member of a class
    bare_calls: bool = False  # a method is called by its name alone, without parentheses
    bare_members: BareMembers = ""
    strange_members: StrangeMembers = "any"
    objects: Objects = "of classes"
    whole_classes: bool = False  # one file has all members of a class
    types_variables: bool = False  # a variable is declared with its type before it
    paths_of_receivers: bool = False  # files tell the path to the type of a receiver
    type_behind: re.Pattern[str] | None = None  # or before its type: both, with its qualifier
    valueless: bool = False  # a type and a constant stand behind no variable and no expression

    # A field, a constant of an enum
    dotted_fields: bool = False  # a field is named behind a dot or in a literal only
    calls_fields: bool = True  # a call may mean a field, and not a method
    loose_constants: bool = False  # a constant is named without its enum, even outside of that
    bare_constants: bool = False  # a constant is named without its enum in a label
    dotted_constants: bool = False  # a constant stands behind its enum, nearly always
    behind_enum: BehindEnum = ""

    unmeant: Mapping[str, Collection[str]] = field(default_factory=dict)  # by use: kinds not meant
    doubted: Mapping[str, Collection[str]] = field(default_factory=dict)  # only if nothing else is

    @property
    def implicit_self(self) -> bool:
        """Whether a bare name may be a member of the object around it."""
        return self.bare_members in ("own", "inherited")

    @property
    def tells_members(self) -> bool:
        """Whether a dot tells methods from the functions of other files."""
        return self.strange_members == "none"

    def is_of_file(self, name: str, line: str) -> bool:
        """Whether what a line imports as `name` is a file, and not what the file defines."""
        found = self.file_import.match(line) if self.file_import else None
        return found is not None and name not in _NAME.findall(found["names"] or "")


_DEFAULT = Scoping()
_NAME = re.compile(r"[\w$]+")
_ANY_IMPORT = re.compile("(?P<names>)")
_FUNCTIONS = ("function", "method")
_NO_FUNCTIONS = {"type": _FUNCTIONS}
_C = Scoping(
    family="c",
    selves={"this"},
    primitives={"std"},
    bare_members="inherited",
    shares=("folder", "source"),
    dotted_fields=True,
    loose_constants=True,
    types_variables=True,
    imports="text",
    doubted=_NO_FUNCTIONS,  # `value(one);` may be read as a declaration
)
_JAVASCRIPT = Scoping(
    family="javascript",
    built_in=frozenset("Array JSON Math Number Object Promise Reflect String console".split()),
    constructors={"constructor"},
    strange_members="none",
    dotted_fields=True,
    dotted_constants=True,
    behind_enum="always",
    imports="path",
    file_import=re.compile(
        r"(?:(?:import|export)\b\s*(?:type\b\s*)?|(?:const|let|var)\b\s*)?"
        r"""(?P<names>[^"'()]*?)\s*(?:from\b|=\s*require\()?\s*["']"""
    ),
    objects="untyped",
)
_JAVA = Scoping(
    family="java",
    selves={"this", "super"},
    constructors={"constructor"},  # a second one of Kotlin
    bare_members="inherited",
    strange_members="imported",
    shares=("folder",),
    bare_constants=True,
    calls_fields=False,
    private_to_file=True,
    whole_classes=True,
    types_variables=True,
    imports="package",
    unmeant={"type": _FUNCTIONS, "other": _FUNCTIONS},
)
_SCOPINGS = {
    "bash": Scoping(shares=("source",), file_import=_ANY_IMPORT),
    "c": _C,
    "cpp": replace(_C, dotted_fields=False),
    "csharp": Scoping(
        selves={"this", "base"},
        primitives={each.decode() for each in PRIMITIVES},
        bare_members="inherited",
        strange_members="imported",
        shares=("folder", "source"),
        namespaces=True,
        dotted_constants=True,
        behind_enum="closed",
        private_to_file=True,
        valueless=True,
        types_variables=True,
        unmeant=_NO_FUNCTIONS,
    ),
    "dart": Scoping(
        selves={"this", "super"},
        bare_members="inherited",
        shares=("source",),
        dotted_constants=True,
        types_variables=True,
        unmeant=_NO_FUNCTIONS,
    ),
    "gdscript": Scoping(
        bare_members="own",
        strange_members="doubted",
        files_are_classes=True,
        shares=("folder", "source"),
    ),
    "go": Scoping(
        strange_members="none",
        shares=("folder",),
        names_all=True,
        dotted_fields=True,
        type_behind=re.compile(r"(?<![\w.])(\w+)(?=(?:, \w+)* [*]?(?:(\w+)[.])?(\w+))"),
    ),
    "java": _JAVA,
    "javascript": _JAVASCRIPT,
    "kotlin": replace(
        _JAVA,
        strange_members="any",
        calls_fields=True,
        types_variables=False,
        unmeant=_NO_FUNCTIONS,
    ),
    "lua": Scoping(shares=("source",), strange_members="doubted", imports="table", objects="loose"),
    "php": Scoping(
        selves=_SELVES | {"parent", "static"},
        constructors={"__construct"},
        shares=("folder", "source"),
        dotted_fields=True,
        calls_fields=False,
        dotted_constants=True,
        behind_enum="always",
        whole_classes=True,
        paths_of_receivers=True,
        imports="package",
        namespace_first=True,
        unmeant=_NO_FUNCTIONS,
        doubted={"attribute": _FUNCTIONS},  # `$cart->total` is a property, unless `__get` calls
    ),
    "python": Scoping(
        built_in={"bytes", "dict", "float", "int", "object", "str"},
        constructors={"__init__", "__new__"},
        strange_members="none",
        names_all=True,
        imports="module",
        bare_members="body",
        file_import=re.compile(r"import\b|from\b.*?\bimport\b(?!\s*\*)(?P<names>.*)"),
        whole_classes=True,
    ),
    "ruby": Scoping(
        constructors={"initialize"},
        bare_calls=True,
        bare_members="inherited",
        strange_members="doubted",
        file_import=_ANY_IMPORT,
        shares=("folder", "source"),
    ),
    "rust": Scoping(
        primitives={"bool", "char"},
        strange_members="none",
        dotted_fields=True,
        calls_fields=False,
        behind_enum="closed",
        module_paths=True,
        type_behind=re.compile(r"(?<!\w)(\w+): (?:&(?:'\w+ )?|mut |dyn |impl )*(?:(\w+)::)*(\w+)"),
        behind_modules={"call", "type", "attribute", "other"},
        unmeant=dict.fromkeys(("call", "type"), ("module",)),
    ),
    "swift": Scoping(
        constructors={"init"},
        bare_members="own",
        shares=("folder", "source"),
        private_to_file=True,
        unmeant=_NO_FUNCTIONS,
    ),
    "tsx": _JAVASCRIPT,
    "typescript": _JAVASCRIPT,
}


def scoping_of(language: str) -> Scoping:
    """Return the rules of `language`, or the defaults for one that has no row."""
    return _SCOPINGS.get(language, _DEFAULT)
