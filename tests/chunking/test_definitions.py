"""Which definitions are found, of what kind and in what scope, by the idioms of each language."""

from __future__ import annotations

import pytest

from memory_sidecar.chunking.outline import outline

IDIOMS = [
    (
        "a template and its members outside of the class",
        "cpp",
        "template <> struct Box<int> { int& at(int i); operator bool() const; int** all(); };\n"
        "template <class T> T Box<T>::get() const { return x; }\n"
        "template <class T> Box<T>& Box<T>::operator=(const Box<T>& o) { return *this; }\n"
        "template <class T> Box<T>::operator std::string() const { return s; }\n",
        "struct Box, method Box.at, method Box.operator bool, method Box.all, method Box.get,"
        " method Box.operator=, method Box.operator string",
    ),
    (
        "pointers to pointers, and a function type in parentheses",
        "c",
        "char **names(int n) { return 0; }\ntypedef int (visit)(int);\n",
        "function names, type visit",
    ),
    (
        "declarators of any depth",
        "c",
        "typedef void *(*alloc)(int);\nstruct S { const char *(*name)(void *); int **a[2]; };\n"
        "int (*signal(int))(int);\nstatic int ***p = 0, n[2][3];\n",
        "type alloc, struct S, field S.name, field S.a, function signal, variable p, variable n",
    ),
    (
        "references, and static members outside of the class",
        "cpp",
        "struct S { T& t; const T& get(); typedef T& ref; };\n"
        "const T& one = {};\nint S::count = 0;\n"
        "template <> struct Wide<a_policy_with_a_long_name, another_policy_with_a_long_name,\n"
        "                        one_more_policy_with_a_long_name> {};\n",
        "struct S, field S.t, method S.get, type S.ref, variable one, variable S.count,"
        " struct Wide",
    ),
    (
        "no variables of functions that look like functions, nor those of a test",
        "cpp",
        "void f() { Cart cart(items); int (*g)(int); }\nTEST(a) { int local = 1; }\n",
        "function f, function TEST",
    ),
    (
        "conversions and indexers",
        "csharp",
        "class A { public static implicit operator B(A a) => a.b; int this[int i] => Go(); }",
        "class A, method A.B, method A.this",
    ),
    (
        "types, of which an attribute is one",
        "elixir",
        "defmodule A do\n  @typedoc false\n  @type t :: atom\n  @opaque p(x) :: {x}\nend\n",
        "module A, type A.t, type A.p",
    ),
    (
        "structs, interfaces that have a name, and functions in variables",
        "go",
        "package p\ntype S struct { a int }\nvar now = func() int { return clock() }\n"
        "type I interface { F() }\nfunc f(i interface{ g() }) {}\n",
        "struct S, field S.a, function now, interface I, method I.F, function f",
    ),
    (
        "aliases, not options and questions of them",
        "bash",
        "alias ll='ls -l'\nif x; then alias -g -- g=git ..='cd ..'; fi\nalias ll\nrun a='b'\n",
        "function ll, function g, function ..",
    ),
    (
        "constructors, fields, operators, and names that end in a prime",
        "haskell",
        "data Shape = Circle Int | Square { side :: Int }\nnewtype Id = Id { unId :: Int }\n"
        "type family F a\npattern P x y = Pair x y\nclass M' a where\n  (<+>) :: a -> a -> a\n"
        "step' :: Int -> Int\nstep' x = x\nx |> f = f x\nmain = do\n  run\n",
        "type Shape, constant Shape.Circle, constant Shape.Square, field Shape.Square.side,"
        " type Id, field Id.unId, type F, constant P, class M', method M'.<+>, function step',"
        " function |>, function main",
    ),
    (
        "elements and constants of annotations",
        "java",
        'public @interface An { String value() default ""; int K = 1; }',
        "type An, method An.value, field An.K",
    ),
    (
        "what an export takes from an object",
        "javascript",
        "export const { add, remove: drop } = cart.actions;\nconst { open } = cart;\n",
        "variable add, variable drop",
    ),
    (
        "classes and generators bound to a name, and declarators beside each other",
        "javascript",
        "const K = class { m() {} };\nconst g = function* () {};\nlet a = 1, f = () => 2;\n"
        "class C { on = () => { go(); }; }\n",
        "class K, method K.m, function g, variable a, function f, class C, method C.on",
    ),
    (
        "interfaces, enums, and members of a companion",
        "kotlin",
        "interface I {\n  fun f()\n}\nenum class E(val c: Int) {\n  A(1);\n"
        "  companion object Codes { fun of(c: Int) = A }\n}\n",
        "interface I, method I.f, enum E, field E.c, constant E.A, class E, method E.of",
    ),
    (
        "functions in tables and fields",
        "lua",
        "local t = { add = function() go() end }\nM.none = function() end\n"
        "M[function() return 1 end] = function() end\n",
        "variable t, function t.add, function M.none",
    ),
    (
        "variables and tables of a module, not those of a function, of others and imports",
        "lua",
        'local Cart = require "cart"\nlocal M, N = {}, 2\nM.open = Cart.wrap(function() end)\n'
        "vim.o.x = 1\nfunction M.f() local y = 1 end\n",
        "variable M, variable N, variable M.open, function M.f",
    ),
    (
        "constants by define(), and properties that a constructor declares",
        "php",
        "<?php define('MAX', 1); run('NO');\n"
        "class A { function __construct(private readonly Foo $foo, $plain) {} }\n",
        "variable MAX, class A, method A.__construct, field A.foo",
    ),
    (
        "declarations with macros around",
        "cpp",
        "CART_API std::string Cart<T>::name() {\n  return n;\n}\nCART_API Cart<T>::Cart(int a)\n"
        "    : Base(a) {\n  make();\n}\nCART_API int (*add)(int a) CART_ATTR;\n",
        "method Cart.name, method Cart.Cart, variable add",
    ),
    (
        "procedures, of which the body may be an error",
        "sql",
        "CREATE PROCEDURE f(IN a INT)\nBEGIN\n  SELECT 1;\nEND;\n"
        "CREATE OR REPLACE PROCEDURE g(a int)\nLANGUAGE plpgsql AS $$ BEGIN END; $$;\n"
        "DROP PROCEDURE h;\n",
        "function f, function g",
    ),
    (
        "properties of enums",
        "swift",
        "enum E {\n  case a\n  static let all = 1\n  var isA: Bool { self == .a }\n}\n",
        "enum E, constant E.a, field E.all, field E.isA",
    ),
    (
        "fields of structs, unions and enums",
        "zig",
        "const S = struct { size: u8, fn f() void {} };\nconst U = union(enum) { x: u8, none };\n",
        "struct S, field S.size, method S.f, union U, field U.x, field U.none",
    ),
    (
        "names that one statement binds",
        "python",
        "a, b = 1, 2\nclass A:\n    c, d.e = f()\n",
        "variable a, variable b, class A, variable A.c",
    ),
    (
        "names that a condition or an import decides, and lambdas",
        "python",
        "try:\n    import fast\nexcept ImportError:\n    fast = None\n"
        "if X:\n    T = 1\nelse:\n    T = 2\n"
        "def f():\n    if X:\n        local = 1\nshort = lambda x: go(x)\n",
        "variable fast, variable T, variable T, function f, function short",
    ),
    (
        "accessors, aliases, methods made by name, and a class at the root",
        "ruby",
        "class Cart\n  attr_accessor :items,\n    :owner\n  alias sum total\n"
        "  alias_method :size, :count\n  define_method(:made) { |x| x }\n  get :items\nend\n"
        "class ::Top; end\n",
        "class Cart, field Cart.items, field Cart.owner, method Cart.sum, method Cart.size,"
        " method Cart.made, class Top",
    ),
    (
        "types of a trait, and what is implemented for references and primitives",
        "rust",
        "trait T { type Out: Copy; }\nimpl T for &str { fn a() {} }\n"
        "impl<'a> I for &'a P<X> { fn b() {} }\n"
        "impl T for u8 { fn c() {} }\nimpl T for dyn Any { fn d() {} }\n",
        "trait T, type T.Out, impl str, method str.a, impl P, method P.b, impl u8, method u8.c,"
        " impl Any, method Any.d",
    ),
    (
        "values at the top, and abstract ones",
        "scala",
        "val top = 1\nabstract class A { val name: String }\n",
        "variable top, class A, variable A.name",
    ),
    (
        "structs, enums, actors, subscripts, operators, and members of protocols",
        "swift",
        "struct S { subscript(i: Int) -> Int { 1 } }\nenum E { case a }\nactor A {}\n"
        "protocol P {\n  associatedtype Item\n  var name: String { get }\n  init(x: Int)\n}\n"
        "prefix func +++ (a: Int) -> Int { a }\n",
        "struct S, method S.subscript, enum E, constant E.a, class A, interface P, type P.Item,"
        " field P.name, method P.init, function +++",
    ),
    (
        "operators that its own types have, too, and macros",
        "swift",
        "struct S {\n  static func == (a: S, b: S) -> Bool { true }\n"
        "  static func += (a: inout S, b: S) {}\n  static prefix func ! (a: S) -> S { a }\n}\n"
        'macro text(_ x: Int) -> String = #externalMacro(module: "M", type: "T")\n',
        "struct S, method S.==, method S.+=, method S.!, macro text",
    ),
    (
        "methods that calls name, each by its own arguments",
        "ruby",
        "class A\n  def_delegators :@items, :size, :each\n  def_delegator :@items, :first, :head\n"
        "  def_delegator :@items, :last\n  define_singleton_method(:make) { new }\n"
        "  cattr_accessor :log, :level\n  LOW, HIGH = 1, 2\nend\n",
        "class A, method A.size, method A.each, method A.head, method A.last, method A.make,"
        " field A.log, field A.level, variable A.LOW, variable A.HIGH",
    ),
    (
        "functions by their whole name, as it is called",
        "bash",
        "log::warn() { :; }\ngit-clean() { log::warn x; }\n_a:b() { :; }\n",
        "function log::warn, function git-clean, function _a:b",
    ),
    (
        "members of a table that is called like a keyword of C++",
        "lua",
        "local operator = {}\nfunction operator.lt(a, b) end\noperator.gt = function() end\n",
        "variable operator, function operator.lt, function operator.gt",
    ),
    (
        "functions without a body",
        "gdscript",
        "@abstract func size() -> int\nfunc twice():\n\treturn 2 * size()\n",
        "function size, function twice",
    ),
    (
        "what an annotation is above",
        "kotlin",
        "@A(X)\nannotation class B\n@C(X::class)\nactual class D {\n  fun e() {}\n}\n"
        "@F internal expect class G\n@H\nactual typealias I = Int\n@J\nexpect fun k()\n",
        "class B, class D, method D.e, class G, type I, function k",
    ),
    (
        "a constructor in a row of its own",
        "kotlin",
        "actual class A\ninternal actual constructor(val b: Int) : C {\n  fun d() {}\n}\n",
        "class A, field A.b, method A.d",
    ),
    (
        "constants of namespaces and modules",
        "typescript",
        "namespace A { const x = 1; let y: T; function f() { const z = 1; } }\n"
        "declare global { const g: T }\nexport const { a } = b;\n",
        "module A, variable A.x, variable A.y, function A.f, variable g, variable a",
    ),
    (
        "what is declared for others",
        "typescript",
        "declare const VERSION: string;\nexport const g = function* () {};\n"
        "class C { static make = function () {}; }\n",
        "variable VERSION, function g, class C, method C.make",
    ),
    *(
        (
            "what an exported pattern binds",
            language,
            "export const { a, b: c, d = 1, e: f = 2, ...g } = h;\n"
            "export const [i, j = 1, ...k] = l;\nfunction m() { const [n] = o; }\n",
            ", ".join(f"variable {each}" for each in "acdfgijk") + ", function m",
        )
        for language in ("javascript", "typescript")
    ),
    (
        "a struct with a name for a pointer to it",
        "c",
        "typedef struct Node { int a; } Node, *NodePtr;\n",
        "struct Node, type NodePtr, field Node.a",
    ),
    (
        "classes bound to a member, the one that is the module, and exported variables",
        "javascript",
        "exports.Cart = class { add() {} };\nmodule.exports = class Box { add() {} };\n"
        "module.exports = function make() {};\nexport var size = 1;\nmix(class Lid {});\n",
        "class exports.Cart, method exports.Cart.add, class Box, method Box.add, function make,"
        " variable size, class Lid",
    ),
    (
        "what several names are bound to at once, and types with parameters",
        "python",
        "a = b = 1\ntype Carts[T] = list[T]\nclass C:\n    __str__ = __repr__ = show\n",
        "variable a, variable b, type Carts, class C, variable C.__str__, variable C.__repr__",
    ),
    (
        "values of an enum, and several at once",
        "scala",
        "object O { val A, B = Value }\nenum E:\n  case C\n  val d = 3\n",
        "class O, variable O.A, variable O.B, enum E, constant E.C, variable E.d",
    ),
    (
        "properties of an enum",
        "kotlin",
        "enum class E { A; val b = 1; val c get() = 2; val d by lazy { 3 } }",
        "enum E, constant E.A, field E.b, field E.c, field E.d",
    ),
    (
        "callbacks with types of variables",
        "elixir",
        "defmodule A do\n  @callback put(t, x) :: x when x: term\nend\n",
        "module A, function A.put",
    ),
    (
        "several methods of one type",
        "haskell",
        "class Total a where\n  paid, due :: a -> Int\n  (<+>), (<->) :: a -> a -> a\n",
        "class Total, method Total.paid, method Total.due, method Total.<+>, method Total.<->",
    ),
    (
        "fields of unions and of variants",
        "rust",
        "union U { a: u8 }\nenum E { V { b: u8 } }",
        "union U, field U.a, enum E, constant E.V, field E.V.b",
    ),
    (
        "opaque types, and public variables",
        "zig",
        "const Handle = opaque {};\npub var count: u8 = 1;\n",
        "type Handle, variable count",
    ),
]


@pytest.mark.parametrize(
    ("language", "source", "expected"),
    [row[1:] for row in IDIOMS],
    ids=[f"{row[1]}: {row[0]}" for row in IDIOMS],
)
def test_definitions_have_their_kind_and_scope(language, source, expected):
    found = outline(source.encode(), language).definitions
    assert ", ".join(f"{each.kind} {each.path}" for each in found) == expected


@pytest.mark.parametrize(
    ("language", "source"),
    [
        ("cpp", "template <class T> T f() { return a(); }\nint g() { return 1; }\n"),
        ("csharp", "class A {\n[Fact] void F() { }\nvoid G() { }\n}\n"),
        ("java", "class A {\n@Test void f() { }\nvoid g() { }\n}\n"),
        ("rust", "#[test] fn f() { }\nfn g() { }\n"),
        ("swift", "class A {\n@objc func f() { }\nfunc g() { }\n}\n"),
    ],
)
def test_an_attribute_in_the_row_of_its_definition_is_none_of_the_next(language, source):
    *_, last = outline(source.encode(), language).definitions
    assert last.start == last.name_row
