"""What a grammar misreads takes no other definition with it, and keeps its names and lines."""

from __future__ import annotations

import pytest

from memory_sidecar.chunking.chunk import parse_text
from memory_sidecar.chunking.outline import outline
from memory_sidecar.chunking.syntax import parse

METHODS = "".join(
    f"    /** Adds an item to the cart, and counts it. */\n    void f{n}(A const&, D);\n"
    for n in range(12)
)
ONE_BRANCH = "".join(
    f"    int F{n}()\n#if FAST\n        => {n};\n#else\n    {{ return {n}; }}\n#endif\n"
    for n in range(3)
)


@pytest.mark.parametrize(
    ("language", "text", "names"),
    [
        ("bash", "f() {\n  if (( $+commands[git] )); then\n    g\n  fi\n}\ng() {\n  f\n}\n", "f g"),
        ("bash", "f() {\n  for a in ${(f)b}; do g; done\n}\ng() {\n  f\n}\n", "f g"),
        ("bash", "f() {\n  for a ($b) c $a; d=( **/*(.) )\n}\ng() {\n  f\n}\n", "f g"),
        ("csharp", 'class A {\n  string F() => $@"a ""{x}""";\n  int G() => 1;\n}', "A F G"),
        ("csharp", "class A {\n  void F() { if (async) H(); }\n  int G() => 1;\n}", "A F G"),
        ("csharp", f"interface A {{\n{ONE_BRANCH}    int G();\n}}", "A F0 F1 F2 G"),
        ("cpp", "NS_BEGIN\n\nstruct A : B {\n  int f();\n};\nNS_END", "A f"),
        (
            "cpp",
            "NS_BEGIN\n#define B(x) \\\n  ONE_OF(x)\n#define C(x) x\n"
            "struct A : D { int f(); };\nNS_END",
            "B C A f",
        ),
        (
            "cpp",
            f"class A\n#if ! B\n    : private C\n#endif\n{{\n    A(D d) noexcept;\n{METHODS}}};",
            "A A " + " ".join(f"f{n}" for n in range(12)),
        ),
        ("cpp", "MY_API_ Name f(int n) { return g(n, n); }\n", "f"),
        ("cpp", "template <class T>\nvoid MY_API a::B<T>::f(int i) { g(i); }", "f"),
        ("cpp", "struct A {\n  explicit MY_API A(B& b) : b(b) {}\n  B& b;\n};", "A A b"),
        (
            "cpp",
            "class MY_API A : public B {\n  A& operator=(int);\n  void f();\n};",
            "A operator= f",
        ),
        ("cpp", "struct A : B {\n  MY_INLINE A(int i) : x(i) {}\n  int x;\n};", "A A x"),
        ("cpp", "struct A {\n  void f() const LOCKS(mu) { g(); }\n  int x;\n};", "A f x"),
        (
            "cpp",
            "struct A {\n  B* const b GUARDED_BY(mu);\n  int n GUARDED_BY(mu) = 0;\n};",
            "A b n",
        ),
        (
            "c",
            "typedef enum {\n#define XX(a) E_##a,\n  ALL_OF(XX)\n#undef XX\n  E_MAX\n} e;\n"
            "struct s {\n  /* of this system */\n  OWN_FIELDS\n  PRIVATE_FIELDS\n};\n"
            "MY_API int f(t* a);\nMY_API int g(void);\n",
            "e E_MAX s f g",
        ),
        (
            "sql",
            "CREATE PROCEDURE [dbo].[f]\n  @a INT,\n  @b INT = NULL\nAS\nBEGIN\n  SELECT 1\n"
            "END\nGO\nCREATE OR ALTER PROCEDURE g AS BEGIN SELECT 1 END\nGO\n"
            "CREATE TABLE [dbo].[t] ([a] INT);",
            "f g t",
        ),
        ("kotlin", "class A {\n  context(log: Log)\n  fun f() {}\n  val x = 1\n}", "A f x"),
        (
            "kotlin",
            "class A {\n  fun <T> f(b: context(Log) T.() -> Unit) {}\n"
            "  val x: context(Log) () -> B = y\n"
            "  fun g(b: context(Log, C<D>) suspend (E) -> F) {}\n}\nfun h() {}\n",
            "A f x g h",
        ),
        ("kotlin", "class A {\n  companion object { val x = 1 }\n  fun f() {}\n}", "A x f"),
        ("kotlin", "class A {\n  fun f() {\n    g()\n    in1.h()\n  }\n  fun i() {}\n}", "A f i"),
        ("kotlin", "class A {\n  fun f() {\n    open = true\n  }\n  fun i() {}\n}", "A f i"),
        (
            "kotlin",
            "class A {\n  fun f() {\n    val b = 1\n    set = b\n  }\n  fun i() {}\n}",
            "A f i",
        ),
        ("kotlin", "class A {\n  fun f() { val id = g { } get B.id }\n  fun i() {}\n}", "A f i"),
        (
            "kotlin",
            "class A {\n  val x\n    @OptIn(B::class)\n    get() = 1\n  fun f() {}\n}",
            "A x f",
        ),
        ("kotlin", 'class A {\n  val x = $$"a".b\n  fun f(i: Int) = i\n}', "A x f"),
        (
            "kotlin",
            'open class A(val x: B) {\n  @Value($$"${a.b:}#{C(D).f()}")\n  val y = 1\n'
            "  open fun f(): B {\n  }\n}",
            "A x y f",
        ),
        (
            "kotlin",
            "@T\n@U\nclass A {\n  fun f(id: Id): B? {\n    return D.all().where { D.id eq id.x }"
            ".first()?.let {\n      E(\n      )\n    }\n  }\n}\ndata class G(\n)\n",
            "A f G",
        ),
        (  # two at once: neither alone leaves fewer errors
            "kotlin",
            "class A {\n  val x\n    @OptIn(B::class)\n    get() = 1\n  fun f() = when (x) {\n"
            "    is B if (\n      x.c\n    ) -> 1\n    else -> 2\n  }\n}",
            "A x f",
        ),
        (
            "swift",
            "class A {\n  func f() {\n    switch x {\n    case 1:\n      #if os(Linux)\n"
            "      fallthrough\n      #else\n      return\n      #endif\n    default: g()\n    }\n"
            "  }\n  func i() {}\n}",
            "A f i",
        ),
        (
            "kotlin",
            "class A {\n  fun f() = when (x) {\n    is B if x.c -> 1\n    else -> 2\n  }\n}",
            "A f",
        ),
        (
            "kotlin",
            "interface A<T> { data object B : A<C> }\n@D value class E(val f: G)\n"
            "class H {\n    fun i(j: K) = l { j.m { n(it) } }\n}\nfun o() {}\n",
            "A B E f H i o",
        ),
        (
            "typescript",
            "interface A {\n  <T extends B | null>(b: T): T\n"
            "  <T extends B | null>(c: string, b: T): T\n}\nfunction f(b: B) { g(b) }\n",
            "A f",
        ),
    ],
)
def test_what_is_misread_hides_no_definition(language, text, names):
    found = outline(text.encode(), language)
    assert " ".join(d.symbol for d in found.definitions if d.symbol) == names
    parsed = parse(text.encode(), language)
    assert parsed
    assert not parsed[0].root_node.has_error
    outer = found.definitions[0]
    if text.endswith("}"):
        assert outer.stop == text.count("\n") + 1
        assert all(d.path.startswith(outer.path) for d in found.definitions)


def test_a_name_that_is_misread_keeps_its_name():
    text = "class A {\n  operator fun get(id: Int) = 1\n  fun f() { val b = c\n set = b\n }\n}"
    found = outline(text.encode(), "kotlin")
    assert [d.path for d in found.definitions] == ["A", "A.get", "A.f"]
    assert "set" in [each.name for each in found.references]


def test_a_statement_after_a_macro_is_no_function_and_a_name_may_go_over_lines():
    text = (
        "template <class T>\nvoid\nA<T>::\nf(int i)\n{\n  YIELD { g(); }\n  if(ok) { h(); }\n}\n"
        "int A :: i() { return 1; }\n"
    )
    found = outline(text.encode(), "cpp").definitions
    assert [(d.symbol, d.path) for d in found] == [("f", "A.f"), ("i", "A.i")]


def test_a_list_keeps_its_last_constant_and_a_test_its_name():
    text = "#if A\n}\n#endif\nenum E {\n  ONE,\n  LAST_ONE\n};\nTEST(Cart, adds)\n{\n  f();\n}\n"
    names = [d.symbol for d in outline(text.encode(), "cpp").definitions]
    assert names == ["E", "ONE", "LAST_ONE", "TEST"]


def test_the_types_of_flow_hide_no_definition_of_javascript():
    text = (
        "/**\n * @flow strict\n */\nexport type Options = {| +size?: ?number |};\n"
        "class Cart {\n  add(item: ?Item): void {\n    total((item: any));\n  }\n}\n"
        "export function total(cart: Cart): number {\n  return 1;\n}\n"
    )
    found = parse_text(text, "javascript").outline
    assert [d.symbol for d in found.definitions] == ["Options", "size", "Cart", "add", "total"]
    assert ("total", "call") in {(r.name, r.how) for r in found.references}


def test_a_line_that_is_too_long_to_be_parsed_hides_no_other():
    text = f"def f\nend\nLOGO = '{'A' * 30_000}'\n\ndef g\nend\n"
    names = [(d.symbol, d.name_row) for d in outline(text.encode(), "ruby").definitions]
    assert names == [("f", 0), ("g", 4)]
