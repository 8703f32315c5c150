"""Path filters as shells, editors and models write them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memory_sidecar.core.errors import UsageError
from memory_sidecar.disk.globs import compile_globs, path_filter, relative_globs

ROOTS = {Path("/srv/shop"): "shop", Path("/srv/shop/web"): "web"}


@pytest.mark.parametrize(
    ("glob", "relative"),
    [
        ("*.py", "*.py"),
        ("docs/", "docs/"),
        ("./docs/", "/src/docs/"),
        ("./*.py", "/src/*.py"),
        ("../docs", "/docs"),
        ("../../other", "../../other"),
        (".github/**", ".github/**"),
        ("...", "..."),
        ("/srv/shop/docs/**", "/docs/**"),
        ("/srv/shop/web/a.ts", "/a.ts"),
        ("/srv/shopping", "/srv/shopping"),
    ],
)
def test_a_glob_becomes_relative_to_its_source(glob, relative):
    assert relative_globs([glob], ROOTS, Path("/srv/shop/src"))[0] == (relative,)


@pytest.mark.parametrize("glob", ["/", "..", "./..", "/srv/shop", "/srv/shop/"])
def test_a_glob_of_a_whole_source_means_all_files(glob):
    assert relative_globs(["*.py", glob], ROOTS, Path("/srv/shop/src"))[0] == ()


def test_a_glob_names_the_source_that_it_lies_in():
    def names(*globs: str) -> tuple[str, ...]:
        return relative_globs(globs, ROOTS, Path("/srv/shop/src"))[1]

    assert names("/srv/shop/web/", "../web/*.ts", "!/srv/shop/docs") == ("web",)
    assert names("..", "/srv/shop/web/a.ts") == ("shop", "web")
    assert names("*.py", "/srv/shop/web/a.ts") == names("../../other") == names("!./a.py") == ()


def test_a_glob_may_lead_to_a_source_by_links(tmp_path):
    (tmp_path / "shop").mkdir()
    (tmp_path / "link").symlink_to("shop")
    roots = {Path(os.path.realpath(tmp_path)) / "shop": "shop"}
    assert relative_globs([f"{tmp_path}/link/src/*.py"], roots) == (("/src/*.py",), ("shop",))
    assert relative_globs([f"{tmp_path}/link"], roots) == ((), ("shop",))


@pytest.mark.parametrize("path", ["app/[id]/page.ts", "app/[id]/", "/app/[id]/*.ts"])
def test_brackets_may_be_those_of_a_name(path):
    assert compile_globs((path,)).match_file("app/[id]/page.ts")
    assert not compile_globs((path,)).match_file("app/[name]/page.ts")


def test_an_empty_glob_is_left_out():
    assert relative_globs(["*.py", "", " "], ROOTS) == (("*.py",), ())


@pytest.mark.parametrize("excluding", ["!tests/**", "!./tests/", "!/srv/shop/tests", "!tests"])
def test_a_glob_with_an_exclamation_mark_excludes_wherever_it_stands(excluding):
    alone = compile_globs(relative_globs([excluding], ROOTS)[0])
    assert [alone.match_file(path) for path in ("src/a.py", "tests/a.py")] == [True, False]
    for globs in ([excluding, "*.py"], ["*.py", excluding], [".", excluding, "!*.js"]):
        both = compile_globs(relative_globs(globs, ROOTS)[0])
        paths = ("src/a.py", "src/a.js", "tests/a.py")
        assert [both.match_file(path) for path in paths] == [True, False, False]


@pytest.mark.parametrize(
    ("glob", "path", "is_meant"),
    [
        ("**/*.{ts,tsx}", "web/a.tsx", True),
        ("**/*.{ts,tsx}", "web/a.py", False),
        ("{docs,src/{a,b}}/**", "src/b/c.py", True),
        ("app/{id}/page.ts", "app/{id}/page.ts", True),
        (r"app/\{a,b\}.ts", "app/{a,b}.ts", True),
        (r"app/\{a,b\}.ts", "app/a.ts", False),
        ("src/\u00fc.py", "src/u\u0308.py", True),
        ("src/u\u0308.{py,js}", "src/\u00fc.py", True),
    ],
)
def test_braces_hold_alternatives(glob, path, is_meant):
    assert compile_globs((glob,)).match_file(path) is is_meant


def test_braces_that_multiply_are_refused():
    with pytest.raises(UsageError, match="too many alternatives"):
        compile_globs(("{a,b}" * 20,))


@pytest.mark.parametrize("glob", ["src/[b-a].py", "![b-a]", "a\\"])
def test_a_glob_that_is_no_pattern_is_refused(glob):
    with pytest.raises(UsageError, match="--path: "):
        compile_globs((glob,))


@pytest.mark.parametrize("glob", ["*a" * 9, "**/a/" * 9, "{" + "," * 5_000, "{x," + "*a" * 5 + "}"])
def test_a_glob_that_would_take_minutes_is_refused(glob):
    with pytest.raises(UsageError):
        compile_globs((glob,)).match_file("a" * 250)
    assert compile_globs(("**/*a*/**/{*.ts,*.tsx,*.js,*.jsx,*.*.vue}",)).match_file("x/ba/y/z.ts")


@pytest.mark.parametrize("glob", ["src/shop", "/src/shop", "src/shop/", "/src", "/src/", "shop/x"])
@pytest.mark.parametrize("path", ["src/shop", "src/shop/x", "src/shopping", "a/src/shop/x", "src"])
def test_a_plain_path_means_what_it_means_as_a_glob(glob, path):
    assert path_filter((glob,))(path) == compile_globs((glob,)).match_file(path)


def test_a_plain_path_that_is_too_long_is_refused():
    with pytest.raises(UsageError, match="is too long"):
        path_filter(("a/" * 3000,))
