"""Which definition a name means, by what a language lets a reader of its file see."""

from __future__ import annotations

from functools import partial

import pytest

from memory_sidecar.code.candidates import MAX_CANDIDATES
from tests.code.trees import told_in, write_tree

FILES = {
    "kit/base.py": (
        "class Base:\n    def close(self): pass\n    def reset(self): pass\n\n"
        "def stop(): pass\n\ndef open(path): pass\n\ndef hook(): pass\n"
    ),
    "kit/child.py": (
        "import io\nimport os\nfrom kit.base import Base, stop\n\n"
        "class Child(Base):\n    def close(self):\n        super().close()\n"
        "    def reset(self):\n        super(Child, self).reset()\n"
        "        def later():\n            self.close()\n\n"
        "class Raw(io.RawIOBase):\n    def close(self):\n        super().close()\n\n"
        "def run(stop, hook):\n    stop()\n    hook()\n    os.close(1)\n    open(1)\n\n"
        "def end():\n    stop()\n    later()\n"
    ),
    "kit/__init__.py": "from kit import data as storage\n",
    "kit/data.py": "def dump(x): pass\n\ndef cast(x): pass\n",
    "kit/use.py": (
        "import json\nimport typing as t\nfrom kit import storage\n\n"
        "def keep(x):\n    json.dump(x)\n    t.cast(x)\n    storage.dump(x)\n"
    ),
    "go/cart/new.go": "package cart\n\nfunc New() {}\n",
    "go/fail/fail.go": (
        'package fail\n\nimport (\n\t"errors"\n\t"shop/cart"\n)\n\n'
        'func Fail() {\n\terrors.New("x")\n\tcart.New()\n}\n'
    ),
    "kit/all.py": "from kit.base import *\n\ndef every():\n    hook()\n",
    "web/act.js": "export function save() {}\nexport function load() {}\n",
    "web/view.js": (
        "import { save } from './act';\nimport Bill from './bill';\n"
        "const View = ({ save, load }) => { save(); load(); };\n"
        "function both(load) { load(); save(); JSON.stringify(1); }\n"
        "function stringify() {}\n"
        "function sum(rows) { return rows.map(1) + stringify(); }\n"
    ),
    "web/app.js": "const app = {};\napp.map = function () {};\napp.use = () => app.map();\n",
    "go/fit/fit.go": (
        "package fit\n\nfunc min(x int) int { return x }\n\n"
        "func Fit(x int) int { return min(x) }\n\ntype Size int\n\n"
        'func (s Size) string() string { return "" }\n'
    ),
    "go/use/use.go": (
        "package use\n\nfunc Use(x int) string { _ = min(x, 2); return string(rune(x)) }\n"
    ),
    "rs/ask.rs": (
        "pub struct Ask;\nimpl Ask { pub fn get(&self) {} pub fn len(&self) {} }\n"
        "pub fn unwrap() {}\n"
    ),
    "rs/main.rs": "fn main() { get(1); let n = read().await.unwrap(); }\n",
    "net/Gossip.cs": "class Gossip { public void Merge(Gossip that) {} }\n",
    "net/Clocks.cs": (
        "class Clock { public void Merge(Clock that) {} }\n"
        "class LocalGossip { public void Merge(LocalGossip that) {} }\n"
    ),
    "net/Daemon.cs": (
        "class Daemon {\n"
        "  dynamic oldGossip; dynamic last_clock;\n"
        "  void Both(Gossip a, Clock b, dynamic c) {\n"
        "    oldGossip.Merge(a);\n"
        "    last_clock.Merge(b);\n"
        "    c.Merge(a);\n"
        "  }\n}\n"
    ),
    "net/Ask.cs": "class Ask { void Go(object any) { any.Merge(1); } }\n",
    "net/Elsewhere.cs": (
        "class Elsewhere { LocalGossip x; Gossip y;\n  void Go() { newGossip.Merge(x); }\n}\n"
    ),
    "c/state.h": "enum state { IDLE, BUSY = 3 };\n",
    "c/state.c": '#include "state.h"\nint idle(int now) { return now == IDLE; }\n',
    "java/Plan.java": "enum Plan {\n  FREE, PAID;\n  static Plan first() { return FREE; }\n}\n",
    "java/Use.java": "class Use { Plan plan = Plan.FREE; }\n",
    "fields/entry.go": "package fields\ntype Entry struct { Name string; Run func(int) }\n",
    "fields/task.go": (
        "package fields\ntype Task struct{}\n"
        "func (t Task) Name() string { return t.title() }\n"
        "func use() { t, e := Task{}, Entry{}; t.Name(); e.Run(1); print(e.Name) }\n"
    ),
    "fields/view.rs": "struct View { header: u8, view: u8 }\nfn show() -> u8 { header() + 1 }\n",
    "fields/use.rs": (
        "use crate::header;\nfn all(v: view) { v.header(); header; crate::view; }\n"
        "fn read(v: View) -> u8 { v.header }\n"
    ),
    "fields/Row.cs": "class Row {\n  public Kind Kind;\n  Other.Kind Same() { return Kind; }\n}\n",
    "lua/core/loader.lua": (
        "local M = {}\nfunction M.start(plugin)\n  local function start() end\n  M.start()\nend\n"
        "return M\n"
    ),
    "lua/core/cache.lua": "local Loader = {}\nfunction Loader.start(path) end\nreturn Loader\n",
    "lua/core/plugin.lua": "local M = {}\nfunction M.start() end\nM.start()\nreturn M\n",
    "py/part.py": (
        "class Part:\n    def load(self): pass\n    read = load\n"
        "    @property\n    def size(self): pass\n    @size.setter\n    def size(self, n): pass\n"
        "    def rest(self):\n        load()\n        self.ready = self.mode\n"
        "class Whole(Part):\n    def mode(self): pass\n"
    ),
    "py/stray.py": (
        "class Part:\n    def ready(self): pass\n    def fill(self): pass\n"
        "class Stray:\n    def run(self): self.fill()\n"
    ),
    "kt/scope/Scope.kt": (
        "package kt.scope\nopen class Scope {\n  fun single() {}\n  fun ready() {}\n"
        "  class Entry\n}\nfun Scope.total() = 1\n"
    ),
    "kt/plain/Plain.kt": "package kt.plain\nfun single() {}\nfun ready() {}\nclass Entry\n",
    "kt/plain/Tool.kt": "package kt.plain\nclass Tool {\n  fun total() = 2\n}\n",
    "kt/use/Use.kt": (
        "package kt.use\nimport kt.scope.Scope\nfun use() = Scope().apply { single() }\n"
        "class Own : Scope() {\n  fun run() { ready() }\n}\n"
        "fun sum(own: Own) = own.total()\nfun make() = Entry()\n"
    ),
    "lua/event.lua": (
        'local Loader = require("core.loader")\nlocal M = {}\n'
        "function M.add(event)\n  Loader.start(event)\nend\nreturn M\n"
    ),
    "super/no_class.rb": "def orphan\n  super.deliver\nend\nclass Post\n  def deliver; end\nend\n",
    "ts/use.ts": "enum Level { Low, High = 2 }\nexport const level = Level.High;\n",
    "ts/prefix.ts": "export enum Prefix { Out = '->', Error = 'xxx', Last = Out }\n",
    "ts/fail.ts": "import { Prefix } from './prefix'\nthrow new Error(Prefix.Out)\n",
    "rs/level.rs": "pub enum Level { Loud, Quiet }\n",
    "rs/bare.rs": "fn bare() { Loud; }\n",
    "rs/all.rs": "use crate::level::Level::*;\nfn all() { Loud; }\n",
    "rs/one.rs": "use crate::level::Level::Quiet;\nfn one() { Quiet; }\n",
    "net/Tone.cs": "enum Tone { Deep, Shrill }\n",
    "net/Bare.cs": "class Bare { object Get() { return Deep; } }\n",
    "net/Open.cs": "using static Tone;\nclass Open { object Get() { return Deep; } }\n",
}
CLASSES = 60  # that have a method of one name


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory):
    root = tmp_path_factory.mktemp("resolve")
    write_tree(root, FILES)
    return told_in(root)


@pytest.fixture(scope="module")
def callers(told):
    return partial(told, "callers")


@pytest.fixture(scope="module")
def refs(told):
    return partial(told, "refs")


def test_super_means_what_the_own_class_overrides(callers):
    assert callers("Base.close") == ["kit/child.py:7 exact"]
    assert callers("Base.reset") == ["kit/child.py:9 exact"]
    assert callers("Raw.close") == []


def test_self_in_a_function_of_a_method_is_that_of_the_method(callers):
    assert callers("Child.close") == ["kit/child.py:11 exact"]


def test_a_parameter_that_is_called_is_no_function_of_its_name(callers):
    assert callers("stop") == ["kit/child.py:24 exact"]
    assert callers("save") == ["web/view.js:4 exact"]
    assert callers("load") == []


def test_a_bare_name_that_a_file_does_not_import_is_of_no_other_file(callers):
    assert callers("kit/base.py:7") == []  # what is built in
    assert callers("later") == []
    assert callers("min") == ["go/fit/fit.go:5 exact"]
    assert callers("Size.string") == []
    assert callers("Ask.get") == []


def test_a_bare_name_may_come_from_an_import_of_all_names(callers):
    assert callers("hook") == ["kit/all.py:4 likely"]


def test_what_is_called_of_a_foreign_module_or_object_is_no_function_of_the_file(callers):
    assert callers("stringify") == ["web/view.js:6 exact"]
    assert callers("app.map") == ["web/app.js:3 exact", "web/view.js:6 by name"]
    assert callers("unwrap") == ["rs/main.rs:1 by name"]


def test_a_function_of_a_module_that_the_source_does_not_have_is_none_of_its_own(callers):
    assert callers("cast") == []
    assert callers("dump") == ["kit/use.py:8 by name"]  # an alias that the package exports
    assert callers("New") == ["go/fail/fail.go:10 exact"]


def test_a_variable_is_of_the_class_whose_name_its_last_words_are(callers):
    found = callers("Gossip.Merge")
    assert found[0] == "net/Daemon.cs:4 likely"
    assert "net/Daemon.cs:5 likely" not in found
    assert callers("Clock.Merge")[0] == "net/Daemon.cs:5 likely"
    assert "net/Elsewhere.cs:2 by name" in found  # a LocalGossip's, or that of a Gossip


def test_what_may_be_meant_stands_first_in_files_that_name_the_class(callers):
    guessed = [each for each in callers("Gossip.Merge") if each.endswith("by name")]
    assert guessed == [
        "net/Daemon.cs:6 by name",
        "net/Elsewhere.cs:2 by name",
        "net/Ask.cs:1 by name",
    ]


def test_a_class_is_told_apart_among_very_many(tmp_path):
    (tmp_path / "net").mkdir()
    for number in range(CLASSES):
        (tmp_path / f"net/Part{number}.cs").write_text(
            f"class Part{number} {{ public static void Get() {{}} }}\n"
        )
    (tmp_path / "net/Use.cs").write_text("class Use { void Go() {\n  Part7.Get();\n} }\n")
    callers = partial(told_in(tmp_path), "callers")
    assert callers("Part7.Get") == ["net/Use.cs:2 exact"]
    assert callers("Part8.Get") == []


def test_a_constant_of_an_enum_is_told_apart_from_too_many_classes(tmp_path):
    classes = "".join(
        f"class T{n} {{\n  class Source {{}}\n}}\n" for n in range(MAX_CANDIDATES + 1)
    )
    (tmp_path / "net").mkdir()
    (tmp_path / "net/Many.cs").write_text(f"enum Members {{ Source, Sink }}\n{classes}")
    (tmp_path / "net/Use.cs").write_text(
        "class Use { object Go() {\n  var one = new Source();\n  return Members.Source;\n} }\n"
    )
    refs = partial(told_in(tmp_path), "refs")
    assert refs("Members.Source") == ["net/Use.cs:3 exact"]
    assert refs("T7.Source") == ["net/Use.cs:2 by name"]


@pytest.mark.parametrize(
    ("name", "uses"),
    [
        ("IDLE", ["c/state.c:2 exact"]),
        ("FREE", ["java/Plan.java:3 exact", "java/Use.java:1 exact"]),
        ("Level.High", ["ts/use.ts:2 exact"]),
    ],
)
def test_a_constant_of_an_enum_is_used_by_its_name(refs, name, uses):
    assert refs(name) == uses


@pytest.mark.parametrize(
    ("name", "uses"),
    [
        ("Prefix.Error", []),
        ("Prefix.Out", ["ts/fail.ts:2 exact", "ts/prefix.ts:1 likely"]),
        ("Level.Loud", ["rs/all.rs:2 likely"]),
        ("Level.Quiet", ["rs/one.rs:1 exact", "rs/one.rs:2 by name"]),
        ("Tone.Deep", ["net/Open.cs:2 likely"]),
    ],
)
def test_a_bare_name_is_no_constant_of_an_enum_that_the_file_does_not_open(refs, name, uses):
    assert refs(name) == uses


@pytest.mark.parametrize(
    ("field", "uses"),
    [
        ("Entry.Name", ["fields/task.go:4 by name"]),
        ("Entry.Run", ["fields/task.go:4 likely"]),
        ("View.header", ["fields/use.rs:3 likely"]),
        ("Row.Kind", ["fields/Row.cs:3 exact"]),
    ],
)
def test_a_field_is_neither_type_nor_import_nor_what_is_called_where_that_is_a_method(
    refs, field, uses
):
    assert refs(field) == uses


def test_a_method_is_what_is_called_where_a_field_has_its_name(callers):
    assert callers("Task.Name") == ["fields/task.go:4 likely"]


def test_in_the_body_of_a_class_its_members_are_names(refs):
    assert refs("py/part.py:2") == ["py/part.py:3 exact"]
    assert refs("py/part.py:5") == ["py/part.py:6 exact"]


def test_a_member_of_self_is_not_likely_of_a_class_beside_it(refs):
    assert refs("mode") == ["py/part.py:10 likely"]
    assert refs("fill") == ["py/stray.py:5 by name"]


def test_a_class_has_no_members_of_another_one_of_its_name(refs):
    assert refs("py/stray.py:2") == ["py/part.py:10 by name"]


def test_in_kotlin_a_bare_name_may_be_a_member_of_any_object(callers):
    assert callers("Scope.single") == callers("kt/plain/Plain.kt:2") == ["kt/use/Use.kt:3 by name"]
    assert callers("Scope.ready") == ["kt/use/Use.kt:5 exact"]
    assert callers("Scope.Entry") == []


def test_in_kotlin_a_variable_may_have_a_function_that_no_class_declares(callers):
    assert callers("kt/scope/Scope.kt:7") == ["kt/use/Use.kt:7 by name"]


def test_super_outside_of_every_class_may_be_of_any(callers):
    assert callers("deliver") == ["super/no_class.rb:2 by name"]


def test_a_variable_of_lua_means_the_file_that_it_requires(callers):
    assert callers("loader.start") == ["lua/core/loader.lua:4 exact", "lua/event.lua:4 likely"]
    assert callers("plugin.start") == ["lua/core/plugin.lua:3 exact"]
    assert callers("Loader.start") == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "head.py",
            "class Base:\n    def end(self): pass\n\nclass Other:\n    def end(self): pass\n\n"
            "class Child(\n    Base,\n    dict,\n):\n    def go(self):\n        super().end()\n",
        ),
        (
            "Head.java",
            "class Base { void end() {} }\nclass Other { void end() {} }\n"
            "class Child\n    extends Base\n    implements Runnable {\n"
            "    Other other;\n    void go() { super.end(); }\n}\n",
        ),
        (
            "Head.kt",
            "open class Base {\n    open fun end() {}\n}\n"
            "class Other {\n    fun end() {}\n}\n"
            "class Child(\n    val other: Other,\n) : Base() {\n"
            "    fun go() {\n        super.end()\n    }\n}\n",
        ),
    ],
)
def test_the_bases_of_a_class_may_stand_below_its_name(run, tmp_path, name, text):
    write_tree(tmp_path, {name: text})
    assert run("index", tmp_path, "--wait", "keyword").status == 0

    def callers(what: str) -> list[tuple[str, str]]:
        found = run("callers", what, "--json", cwd=tmp_path).json
        return [(hit["enclosing"], hit["confidence"]) for hit in found]

    assert callers("Base.end") == [("Child.go", "exact")]
    assert callers("Other.end") == []
