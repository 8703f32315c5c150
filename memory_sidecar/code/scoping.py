"""What each language lets a name mean, before any import or receiver is looked at."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from memory_sidecar.chunking.receivers import PRIMITIVES

_SELVES = frozenset({"self", "this", "cls", "super", "Self"})


@dataclass(frozen=True, slots=True)
class Scoping:
    """The rules of one language; the defaults are those of a language that has no row below."""

    family: str = ""  # of languages that use each other's names; "" for the language alone
    selves: Collection[str] = _SELVES  # what an object, its class or a base of it is called
    primitives: Collection[str] = ()  # types or namespaces whose members are of no source
    built_in: Collection[str] = ()  # objects of which only what a file adds to them is of a source
    constructors: Collection[str] = ()  # what they are called if not like their class

    # A bare name
    implicit_self: bool = False  # may be a method of the class around it
    inherits_bare: bool = False  # may be what the classes around it inherit
    members_of_classes: bool = False  # may be a member of these or of imported classes only
    doubts_members: bool = False  # is surely a member only if the member's file is imported
    files_are_classes: bool = False  # means only classes of other files: a file is a class itself
    tells_members: bool = False  # is no method, and a name behind a dot no function of another file
    shares_folder: bool = False  # may be defined in a file of the same folder, without an import
    shares_all: bool = False  # may be defined in any file: imports name namespaces, not files
    names_all: bool = False  # is defined in its file or folder, or is imported
    class_bodies: bool = False  # in the body of a class itself, may be a member defined above
    namespaces: bool = False  # is of the namespace around it, or of one that is opened

    # A field, a constant of an enum
    dotted_fields: bool = False  # a field is named behind a dot or in a literal only
    loose_constants: bool = False  # a constant is named without its enum, even outside of that
    bare_constants: bool = False  # a constant is named without its enum in a label
    calls_fields: bool = True  # a call may mean a field, and not a method
    dotted_constants: bool = False  # a constant stands behind its enum, nearly always
    behind_enum: bool = False  # a constant outside of its enum always stands behind it
    opens_enums: bool = False  # except in a file that imports the enum: `use Level::*`

    private_to_file: bool = False  # what is private is seen in its own file only
    valueless: bool = False  # a type and a constant stand behind no variable and no expression
    whole_classes: bool = False  # one file has all members of a class
    types_variables: bool = False  # a variable is declared with its type before it
    imports_packages: bool = False  # an import names a class with its package, mostly a folder
    imports_paths: bool = False  # or the path of a file, which may re-export what others define
    imports_dotted: bool = False  # or the dotted path of a module, which may re-export names
    imports_tables: bool = False  # or the table of a file, under a name like that of the file
    includes_files: bool = False  # or copies a file, whose name then qualifies no other name
    file_import: re.Pattern[str] | None = None  # of a line that imports a file, or `names` of it
    module_paths: bool = False  # files have inner modules, and a path needs no import
    loose_members: bool = False  # an object gets functions one by one, without a class
    untyped_objects: bool = False  # an object may have any function, under any name
    behind_modules: Collection[str] = ()  # uses that name what an inner module has behind it only
    unmeant: Mapping[str, Collection[str]] = field(default_factory=dict)  # by use: kinds not meant
    doubted: Mapping[str, Collection[str]] = field(default_factory=dict)  # only if nothing else is

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
    implicit_self=True,
    inherits_bare=True,
    shares_folder=True,
    shares_all=True,
    dotted_fields=True,
    loose_constants=True,
    types_variables=True,
    includes_files=True,
    doubted=_NO_FUNCTIONS,  # `value(one);` may be read as a declaration
)
_JAVASCRIPT = Scoping(
    family="javascript",
    built_in=frozenset("Array JSON Math Number Object Promise Reflect String console".split()),
    constructors={"constructor"},
    tells_members=True,
    dotted_fields=True,
    dotted_constants=True,
    behind_enum=True,
    imports_paths=True,
    file_import=re.compile(
        r"(?:(?:import|export)\b\s*(?:type\b\s*)?|(?:const|let|var)\b\s*)?"
        r"""(?P<names>[^"'()]*?)\s*(?:from\b|=\s*require\()?\s*["']"""
    ),
    loose_members=True,
    untyped_objects=True,
)
_JAVA = Scoping(
    family="java",
    selves={"this", "super"},
    constructors={"constructor"},  # a second one of Kotlin
    implicit_self=True,
    inherits_bare=True,
    members_of_classes=True,
    shares_folder=True,
    bare_constants=True,
    calls_fields=False,
    private_to_file=True,
    whole_classes=True,
    types_variables=True,
    imports_packages=True,
    unmeant=_NO_FUNCTIONS,
)
_SCOPINGS = {
    "bash": Scoping(shares_all=True, file_import=_ANY_IMPORT),
    "c": _C,
    "cpp": replace(_C, dotted_fields=False),
    "csharp": Scoping(
        selves={"this", "base"},
        primitives={each.decode() for each in PRIMITIVES},
        implicit_self=True,
        inherits_bare=True,
        members_of_classes=True,
        shares_folder=True,
        shares_all=True,
        namespaces=True,
        dotted_constants=True,
        behind_enum=True,
        opens_enums=True,
        private_to_file=True,
        valueless=True,
        types_variables=True,
        unmeant=_NO_FUNCTIONS,
    ),
    "dart": Scoping(
        selves={"this", "super"},
        implicit_self=True,
        inherits_bare=True,
        shares_all=True,
        dotted_constants=True,
        types_variables=True,
        unmeant=_NO_FUNCTIONS,
    ),
    "gdscript": Scoping(
        implicit_self=True,
        doubts_members=True,
        files_are_classes=True,
        shares_folder=True,
        shares_all=True,
    ),
    "go": Scoping(tells_members=True, shares_folder=True, names_all=True, dotted_fields=True),
    "java": _JAVA,
    "javascript": _JAVASCRIPT,
    "kotlin": replace(_JAVA, members_of_classes=False, calls_fields=True, types_variables=False),
    "lua": Scoping(shares_all=True, doubts_members=True, imports_tables=True, loose_members=True),
    "php": Scoping(
        selves=_SELVES | {"parent", "static"},
        constructors={"__construct"},
        shares_folder=True,
        shares_all=True,
        dotted_fields=True,
        calls_fields=False,
        dotted_constants=True,
        behind_enum=True,
        whole_classes=True,
        imports_packages=True,
        unmeant=_NO_FUNCTIONS,
        doubted={"attribute": _FUNCTIONS},  # `$cart->total` is a property, unless `__get` calls
    ),
    "python": Scoping(
        built_in={"bytes", "dict", "float", "int", "object", "str"},
        constructors={"__init__", "__new__"},
        tells_members=True,
        names_all=True,
        imports_dotted=True,
        class_bodies=True,
        file_import=re.compile(r"import\b|from\b.*?\bimport\b(?!\s*\*)(?P<names>.*)"),
        whole_classes=True,
    ),
    "ruby": Scoping(
        constructors={"initialize"},
        implicit_self=True,
        inherits_bare=True,
        doubts_members=True,
        file_import=_ANY_IMPORT,
        shares_folder=True,
        shares_all=True,
    ),
    "rust": Scoping(
        primitives={"bool", "char"},
        tells_members=True,
        dotted_fields=True,
        calls_fields=False,
        behind_enum=True,
        opens_enums=True,
        module_paths=True,
        behind_modules={"call", "type", "attribute", "other"},
        unmeant=dict.fromkeys(("call", "type"), ("module",)),
    ),
    "swift": Scoping(
        constructors={"init"},
        implicit_self=True,
        shares_folder=True,
        shares_all=True,
        private_to_file=True,
        unmeant=_NO_FUNCTIONS,
    ),
    "tsx": _JAVASCRIPT,
    "typescript": _JAVASCRIPT,
}


def scoping_of(language: str) -> Scoping:
    """Return the rules of `language`, or the defaults for one that has no row."""
    return _SCOPINGS.get(language, _DEFAULT)
