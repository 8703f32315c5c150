"""A bare name means a member of a class only where its language lets it."""

from __future__ import annotations

import pytest

from tests.code.trees import told_in, write_tree

FILES = {
    "rb/helper.rb": (
        "class UnitCase\n  attr_reader :context\n  def fixture_site; end\nend\n"
        "module Paths\n  def source_dir; end\nend\n"
    ),
    "rb/render.rb": "class Renderer\n  class File\n    def write; end\n  end\nend\n",
    "rb/static_file.rb": "class StaticFile\n  def extname; end\nend\n",
    "rb/test_site.rb": (
        "class TestSite < UnitCase\n  def run\n    fixture_site\n    source_dir 1\n  end\nend\n"
        'context "pages" do\n  File.extname(path)\nend\n'
    ),
    "lua/list.lua": (
        "local List = {}\nfunction List:ipairs() end\nfunction List.bound(x) end\nreturn List\n"
    ),
    "lua/use.lua": "for i, x in ipairs(rows) do\n  print(x)\nend\n",
    "lua/bound.lua": 'local bound = require("list").bound\nfunction run() bound(1) end\n',
    "gd/suite.gd": "class_name Suite extends Node\nfunc autofree(x):\n\treturn x\n",
    "gd/counter.gd": "extends Node\nvar autofree = 1\nfunc quit():\n\tpass\n",
    "gd/test_one.gd": "extends Suite\nfunc test():\n\tautofree(1)\n\tquit()\n",
    "js/response.js": (
        "var send = require('send');\nvar res = {};\nres.send = function (body) {};\n"
        "res.file = function () { send(1); };\nres.json = function () { res.send(1); };\n"
    ),
    "js/suite.js": "class Suite {\n  static create(title) {}\n}\n",
    "js/use.js": (
        "function use(a, suite) {\n  Object.create(null)\n  a.create(1)\n  Array.isArray(a)\n}\n"
    ),
    "js/fill.js": "Array.isArray = function (a) {}\n",
    "go/flag.go": (
        "package flag\ntype Set struct{}\nfunc (s *Set) Var(name string) {}\n"
        "func Var(name string) { line.Var(name) }\n"
    ),
    "go/bool.go": "package flag\nfunc (s *Set) Bool() { s.Var(`b`) }\nfunc Bool() { Var(`b`) }\n",
}


@pytest.fixture(scope="module")
def ask(tmp_path_factory):
    root = tmp_path_factory.mktemp("trees")
    write_tree(root, FILES)
    return told_in(root)


def test_in_ruby_a_bare_name_is_surely_inherited_or_of_a_module(ask):
    assert ask("refs", "UnitCase.fixture_site") == ["rb/test_site.rb:3 exact"]
    assert ask("refs", "Paths.source_dir") == ["rb/test_site.rb:4 likely"]
    assert ask("refs", "UnitCase.context") == ["rb/test_site.rb:7 by name"]


def test_in_ruby_a_constant_is_not_surely_one_inside_another_class(ask):
    assert ask("refs", "Renderer.File") == ["rb/test_site.rb:8 by name"]
    assert ask("refs", "StaticFile.extname") == ["rb/test_site.rb:8 by name"]


def test_in_lua_a_bare_name_is_not_surely_a_member_of_a_table(ask):
    assert ask("refs", "List.ipairs") == ["lua/use.lua:1 by name"]
    assert "lua/bound.lua:2 likely" in ask("refs", "List.bound")


def test_in_gdscript_a_bare_name_is_of_the_class_that_the_script_extends(ask):
    assert ask("refs", "Suite.autofree") == ["gd/test_one.gd:3 likely"]
    assert ask("refs", "quit") == ["gd/test_one.gd:4 by name"]


def test_in_javascript_a_bare_name_that_is_imported_is_no_member_of_an_object(ask):
    assert ask("callers", "res.send") == ["js/response.js:5 exact"]


def test_behind_an_object_of_the_language_stands_nothing_of_a_class(ask):
    assert ask("refs", "Suite.create") == ["js/use.js:3 by name"]
    assert ask("refs", "Array.isArray") == ["js/use.js:4 by name"]


def test_in_go_a_function_of_the_name_makes_a_method_no_less_sure(ask):
    assert ask("refs", "Set.Var") == ["go/bool.go:2 exact", "go/flag.go:4 likely"]
    assert ask("refs", "go/flag.go:4") == ["go/bool.go:3 exact"]
