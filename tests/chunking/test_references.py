"""What each language's query takes for a use of a name, as written down in `references/`.

A line there is a line of source, and after `⇒` the names it refers to: `call self.add`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import pytest

from memory_sidecar.chunking.outline import has_outline, outline
from memory_sidecar.chunking.references import (
    MAX_FOLLOWED,
    Reference,
    Span,
    find_references,
    has_references,
)
from memory_sidecar.chunking.syntax import parse
from memory_sidecar.core.language import LANGUAGES

SAMPLES = sorted((Path(__file__).parent / "references").iterdir())
WITH_REFERENCES = sorted(language for language in LANGUAGES if has_references(language))


def references(
    source: str, language: str, *, defined: Mapping[int, Span] = MappingProxyType({})
) -> list[Reference]:
    data = source.encode()
    parsed = parse(data, language)
    assert parsed is not None
    tree, spelled = parsed
    found = find_references(tree.root_node, data, language, defined, spelled)
    return [one._replace(byte=0) for one in found]


def shown(found: list[Reference]) -> list[str]:
    return [
        f"{one.how} {one.receiver}.{one.name}" if one.receiver else f"{one.how} {one.name}"
        for one in found
    ]


def test_macros_that_are_misread_are_references():
    source = (
        "struct s {\n  MY_FIELDS\n  OTHER_FIELDS(a)\n};\nMY_API int f(t_t *t);\n" + "MY_API x;\n"
    )
    found = outline(source.encode(), "c").references
    assert [(one.how, one.name, one.row) for one in found if one.name.isupper()] == [
        ("other", "MY_FIELDS", 1),
        ("call", "OTHER_FIELDS", 2),
        ("other", "MY_API", 4),
        ("type", "MY_API", 5),
    ]


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.stem)
def test_references_are_those_written_down(sample):
    rows = [line.partition("⇒") for line in sample.read_text(encoding="utf-8").splitlines()]
    found = references("\n".join(source.rstrip() for source, _, _ in rows), sample.stem)
    for row, (source, _, expected) in enumerate(rows):
        here = shown([one for one in found if one.row == row])
        assert ", ".join(here) == expected.strip(), source.strip()


def test_every_language_with_an_outline_but_sql_has_references_and_a_sample():
    outlined = {language for language in LANGUAGES if has_outline(language)}
    assert set(WITH_REFERENCES) == outlined - {"sql"} == {sample.stem for sample in SAMPLES}


def test_definitions_that_the_caller_knows_are_neither_references_nor_variables():
    source = "LIMIT = 1\ndef f():\n    return LIMIT\n"
    assert shown(references(source, "python")) == []
    assert references(source, "python", defined={0: (0, 9)}) == [Reference("LIMIT", 2, "other")]


@pytest.mark.parametrize(
    ("language", "text", "how"),
    [
        ("rust", "struct Cart;\nimpl Cart { fn add() {} }\nimpl Shop for Cart {}\n", "type"),
        ("swift", "struct Cart {}\nextension Cart { func add() {} }\nvar c: Cart\n", "type"),
    ],
)
def test_what_adds_to_a_type_uses_it(language, text, how):
    found = outline(text.encode(), language).references
    assert [(one.row, one.how) for one in found if one.name == "Cart"] == [(1, how), (2, how)]


@pytest.mark.parametrize(
    ("language", "text", "uses"),
    [
        ("javascript", "Cart.prototype.add = function () { go(); };\n", ["other Cart", "call go"]),
        ("lua", "Cart.add = function() go() end\n", ["other Cart", "call go"]),
    ],
)
def test_what_is_bound_to_a_member_uses_its_owner_but_not_itself(language, text, uses):
    found = shown([*outline(text.encode(), language).references])
    assert [use for use in found if "prototype" not in use] == uses


@pytest.mark.parametrize("language", ["kotlin", "scala", "swift"])
def test_a_name_in_backticks_is_used_by_what_is_between_them(language):
    assert shown(references("a(`b`.`when`(1))\n", language)) == ["call a", "other b", "call b.when"]


def test_a_name_behind_a_sign_that_ends_like_a_dot_may_be_a_variable():
    assert shown(references("int f(int n) { return m>n; }", "c")) == ["other m"]


def test_variables_are_left_out_wherever_the_file_binds_them():
    source = (
        "def f(a, b=1, *c, d: int, **e):\n    for g, (h, *i) in a: j = k = g\n"
        "    with a as l: print(lambda m: [m for n in b if (o := n)], a, c, d, e)\n"
        "    try: import x as p\n    except p as q: q, h, i, j, k, l, n, o\n"
    )
    assert shown(references(source, "python")) == [
        *("type int", "call print", "import x", "other x"),  # what p stands for, beside q
    ]


def test_what_the_file_defines_is_a_variable_only_where_a_definition_binds_it():
    source = "def f(): return g\ndef g(): return f\ndef h(g): return g\ndef w(): g = g; use(g)\n"
    found = outline(source.encode(), "python").references
    assert [(one.row, one.name) for one in found] == [(0, "g"), (1, "f"), (3, "use")]
    source = "def f():\n  def g(): pass\n  g = wrap(g)\n  return g\n"
    found = outline(source.encode(), "python").references
    assert [one.name for one in found] == ["wrap", "g", "g"]


def test_what_assigns_the_state_of_a_module_uses_it_in_javascript():
    source = "let cart = null\nfunction f() { cart = made; cart.go(); till = cart; till() }\n"
    found = outline(source.encode(), "javascript").references
    assert shown([*found]) == [
        *("other cart", "other made", "other cart", "call cart.go", "other cart"),
    ]


def test_what_is_required_is_of_its_own_module_behind_and_inside_calls_with_texts():
    source = (
        r"""const text = read("a\nb"); it("adds", () => { const Till = require("./till");"""
        """ const Rate = require("./rates").Rate }).slow(require("./speed").of)"""
    )
    modules = {one.name: one.module for one in references(source, "javascript")}
    assert {
        name: modules[name] for name in ("text", "Till", "Rate", "slow", "of") if name in modules
    } == {
        "Till": "./till",
        "Rate": "./rates",
        "slow": "",
        "of": "./speed",
    }


def test_a_module_without_a_member_is_used_before_a_condition_and_at_the_end_of_a_file():
    source = "const till = require('./till')\nopen(till?1:2)\ntill?.shut()\nclose = till"
    assert [one.row for one in references(source, "javascript") if one.name == "till"] == [
        0,
        0,
        1,
        3,
    ]


def test_of_more_names_than_are_followed_the_first_are():
    names = [f"name_{number}" for number in range(MAX_FOLLOWED + 100)]
    imports = "".join(f"from shop import {name}\n" for name in names)
    uses = "".join(f"def use_{name}():\n    {name} = 1\n    {name}()\n" for name in names)
    found = outline((imports + uses).encode(), "python")
    called = [one.name for one in found.references if one.how == "call"]
    assert called == names[MAX_FOLLOWED:]


def test_an_identifier_counts_once_as_the_most_telling():
    assert shown(references("@a\n@b.c\n@d()\nclass E: pass", "python")) == [
        *("call a", "other b", "call b.c", "call d"),
    ]


def test_receivers_are_what_stands_before_the_dot():
    source = "this.a(); super.b(); c?.d(); e!.f(); (g).h(); 'i'.j(); k[0].l(); m\n  .n(); [...o]"
    assert [(one.receiver, one.name) for one in references(source, "typescript")] == [
        *[("this", "a"), ("super", "b"), ("", "c"), ("c", "d"), ("", "e"), ("e", "f"), ("", "g")],
        *[("?", "h"), ("?", "j"), ("", "k"), ("?", "l"), ("", "m"), ("m", "n"), ("", "o")],
    ]


def test_a_dot_that_ends_a_line_stands_before_the_name_below_but_not_if_it_ends_a_comment():
    source = "func f() {\n\ta.\n\t\tb(1).\n\n\t\tc() // d (e).\n\tg()\n}\n"
    assert [(one.receiver, one.name) for one in references(source, "go")] == [
        *[("", "a"), ("a", "b"), ("?", "c"), ("", "g")],
    ]


def test_what_cannot_name_a_variable_may_name_a_member():
    source = "a.continue(); b.break(); if (c) continue\n"
    assert shown(references(source, "javascript")) == [
        *("other a", "call a.continue", "other b", "call b.break", "other c"),
    ]


def test_strings_comments_numbers_and_keywords_are_no_references():
    assert references("# a.b()\n'c.d()'\n1.5\nNone\nTrue\n'''\ne\n'''\n", "python") == []


@pytest.mark.parametrize("language", WITH_REFERENCES)
def test_nothing_in_an_empty_file(language):
    assert references("", language) == []
    assert references("\n\n", language) == []


@pytest.mark.parametrize("language", WITH_REFERENCES)
def test_syntax_errors_do_not_stop_it(language):
    broken = "}} ) foo(bar. ::( <T class if = \"' \0 é\n" * 20
    for one in references(broken, language):
        assert one.name in broken
        assert 0 <= one.row < 20


def test_code_around_a_syntax_error_still_counts():
    found = shown(references("one(1)\nx = = )\ntwo(2)\n", "python"))
    assert found[0] == "call one"
    assert found[-1] == "call two"


def test_unicode_identifiers_are_whole():
    source = "größe.länge(数)\nkafé()\n"
    assert references(source, "python") == [
        Reference("größe", 0, "other"),
        Reference("länge", 0, "call", "größe"),
        Reference("数", 0, "other"),
        Reference("kafé", 1, "call"),
    ]


def test_deep_nesting_is_read_as_far_as_it_is_parsed():
    deep = "f(" * 200 + "x" + ")" * 200
    assert shown(references(deep, "python")) == ["call f"] * 200 + ["other x"]
    assert parse(("f(" * 5_000 + "x" + ")" * 5_000).encode(), "python") is None


def test_long_chains_have_one_receiver_each():
    chain = "a" + "".join(f".b{number}" for number in range(100))
    assert [one.receiver for one in references(chain, "python")] == [
        *("", "a"),
        *(f"b{number}" for number in range(99)),
    ]


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("./x/y.js", "y"),
        ("../y/", "y"),
        ("@a/b", "b"),
        ("lodash", "lodash"),
        ("./a.service", "a.service"),
    ],
)
def test_paths_are_named_by_their_last_part(path, name):
    assert shown(references(f"import '{path}';", "javascript")) == [f"import {name}"]


@pytest.mark.parametrize(
    ("path", "package"),
    [
        ("example.com/rates/v2", "rates"),  # a major version
        ("gopkg.in/yaml.v3", "yaml"),
        ("k8s.io/api/meta/v1", "v1"),  # no module says that it is the first
        ("k8s.io/api/meta/v1beta1", "v1beta1"),
    ],
)
def test_a_package_of_go_is_called_by_its_path_without_a_major_version(path, package):
    for quote in ('"', "`"):
        source = f"package a\nimport (\n  b {quote}{path}{quote}\n)\nvar c = b.Make(b.Item{{}})\n"
        assert shown(references(source, "go")) == [
            *(f"import {package}", f"call {package}.Make", f"type {package}.Item"),
        ]
    assert shown(references('package a\nimport _ "x/y"\nimport . "x/z"\n', "go")) == [
        *("import y", "import z"),
    ]


def test_a_template_of_given_types_is_defined_and_uses_them():
    found = outline(b"template <> void Cart::add<shop::Item>(int n) {}\n", "cpp").references
    assert [(each.name, each.how) for each in found] == [
        ("Cart", "other"),
        ("shop", "other"),
        ("Item", "type"),
    ]
