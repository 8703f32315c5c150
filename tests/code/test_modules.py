"""What an import of JavaScript or TypeScript leads to, by its whole path and through re-exports."""

from __future__ import annotations

import pytest

from memory_sidecar.code.modules import MAX_FILES, ModuleFinder
from tests.code.trees import hits_in, told_in, write_tree

TAX = "export class Tax {\n  static add() {}\n}\n"
FILES = {
    "packages/core/index.js": "module.exports = require('./dist/core.js')\n",
    "packages/core/src/index.ts": "export * from './warning'\nexport { tax } from './money/tax'\n",
    "packages/core/src/warning.ts": "export function warn() {}\n",
    "packages/core/src/money/tax.ts": f"{TAX}export const tax = 1\n",
    "packages/dom/src/index.ts": "export * from '@shop/core'\n",
    "packages/dom/src/warning.ts": "export function warn() {}\n",
    "packages/dom/src/near.ts": "import {\n  warn,\n} from './warning.js'\n\nwarn()\n",
    "packages/site/src/utils/tax.ts": f"{TAX}export const tax = 2\n",
    "packages/site/src/far.ts": (
        "import { warn as tell } from '@shop/dom'\nimport { tax } from '@shop/core'\n\n"
        "tell()\nshow(tax)\n"
    ),
    "packages/site/src/alias.ts": (
        "import { tax, Tax } from '~/utils/tax'\nimport * as all from '../../core/src'\n\n"
        "show(tax)\nTax.add()\nall.warn()\n"
    ),
    "packages/site/src/local.spec.ts": (
        "import { warn } from '../../dom/src/warning'\n\n"
        "it('warns', () => {\n  warn()\n})\nit('is quiet', () => {\n  function warn() {}\n})\n"
    ),
    "packages/site/src/other.ts": "import { warn } from './missing/warning'\n\nwarn()\n",
    "packages/site/src/core.ts": "export function warn() {}\n",
    "old/lib/Cart.js": "class Cart {}\nmodule.exports = Cart\n",
    "old/shop.js": "const Cart = require('./lib/Cart')\n\nsell(Cart)\n",
}


@pytest.fixture(scope="module")
def exact(tmp_path_factory: pytest.TempPathFactory):
    """Return the exact references to the definition at a line: path and line, without imports."""
    root = tmp_path_factory.mktemp("modules")
    write_tree(root, FILES)
    hits = hits_in(root)

    def references(line: str) -> list[str]:
        return [
            f"{each['filename']}:{each['start_line']}"
            for each in hits("refs", line)
            if each["confidence"] == "exact" and each["how"] != "import"
        ]

    return references


@pytest.mark.parametrize(
    ("line", "uses"),
    [
        ("packages/core/src/warning.ts:1", ["site/src/alias.ts:6", "site/src/far.ts:4"]),
        ("packages/dom/src/warning.ts:1", ["dom/src/near.ts:5", "site/src/local.spec.ts:4"]),
        ("packages/core/src/money/tax.ts:4", ["site/src/far.ts:5"]),
        ("packages/site/src/utils/tax.ts:4", ["site/src/alias.ts:4"]),
        ("packages/site/src/utils/tax.ts:2", ["site/src/alias.ts:5"]),
    ],
)
def test_an_import_is_of_the_file_that_its_path_leads_to(exact, line, uses):
    assert exact(line) == [f"packages/{each}" for each in uses]


def test_a_class_that_a_module_is_required_as_is_used_by_its_name(exact):
    assert exact("old/lib/Cart.js:1") == ["old/lib/Cart.js:2", "old/shop.js:3"]


def test_a_file_that_exports_hundreds_of_others_is_not_gone_through_for_each_import(
    tmp_path, monkeypatch
):
    asked = []

    class Counting(ModuleFinder):
        def named(self, at, module):
            asked.append(module)
            return super().named(at, module)

    monkeypatch.setattr("memory_sidecar.code.candidates.ModuleFinder", Counting)
    files = {f"ts/t{n}.ts": "import { go } from '../all'\n\ngo()\n" for n in range(20)}
    files |= {f"ts/u{n}.ts": f"export const u{n} = 1\n" for n in range(300)}
    files |= {f"ts/go{n}.ts": "export function go() {}\n" for n in range(2)}
    files["all.ts"] = "".join(f"export * from './{path}'\n" for path in files)
    write_tree(tmp_path / "shop", files)
    assert len(hits_in(tmp_path / "shop")("refs", "ts/go0.ts:1")) >= 20
    assert len(asked) < 20 * (MAX_FILES + 10)


SCRIPT = {
    "src/types.ts": (
        "export interface Response {\n  data: string\n}\ninterface Set<T> {\n  key: T\n}\n"
        "export type Text = Set<string>\n"
    ),
    "src/app.ts": (
        "import { Text } from './types'\n\nexport const seen = new Set()\n"
        "export function answer(): Text {\n  console.log(seen)\n  return new Response('')\n}\n"
    ),
    "src/fake.test.ts": "import { answer } from './app'\n\nconsole.log = (text) => answer()\n",
    "public/old.js": "function paint() {}\n",
    "public/page.js": "paint()\n",
    "types/runtime.d.ts": "declare namespace Runtime {\n  export function open(): void\n}\n",
    "src/run.ts": "import { answer } from './app'\n\nRuntime.open()\nanswer()\n",
}


@pytest.mark.parametrize(
    ("definition", "uses"),
    [
        ("src/types.ts:1", ["src/app.ts:6 by name"]),
        ("src/types.ts:4", ["src/types.ts:7 exact", "src/app.ts:3 by name"]),
        ("src/types.ts:7", ["src/app.ts:1 exact", "src/app.ts:4 exact"]),
        ("src/fake.test.ts:3", ["src/app.ts:5 by name"]),
        ("public/old.js:1", ["public/page.js:1 likely"]),
        ("types/runtime.d.ts:1", ["src/run.ts:3 likely"]),
    ],
)
def test_a_name_that_a_file_does_not_import_is_no_export_of_another(tmp_path, definition, uses):
    write_tree(tmp_path / "shop", SCRIPT)
    assert told_in(tmp_path / "shop")("refs", definition) == uses


NAMESAKES = {
    "load.ts": "export interface Row {}\nexport default function load() {}\n",
    "use.ts": (
        "import type { Row } from './load'\nimport './load'\nexport * from './load'\n"
        "import {\n  load as again,\n} from './load'\nimport { load, Row as Line } from './load'\n"
        "import it from './load'\nexport { default as that } from './load'\nload()\n"
    ),
    "use.js": "const { Row } = require('./load')\nconst { load } = require('./load')\nload()\n",
    "rates.py": "class Rate: ...\n\n\ndef rates(): ...\n",
    "use.py": "from rates import Rate\nimport rates\n\nrates.Rate()\n",
    "star.py": "from rates import *\n\nrates()\n",
    "named.py": "from .rates import Rate, rates\n\nrates()\n",
    "own.py": "from rates import Rate\n\n\ndef rates(): ...\n\n\nrates()\n",
    "pack.sh": "pack() {\n  true\n}\n",
    "use.sh": "source pack.sh\npack\n",
}


@pytest.fixture(scope="module")
def told_of_namesakes(tmp_path_factory: pytest.TempPathFactory):
    root = tmp_path_factory.mktemp("namesakes")
    write_tree(root, NAMESAKES)
    return told_in(root)


@pytest.mark.parametrize(
    ("definition", "uses"),
    [
        (
            "load.ts:2",
            [f"{at} exact" for at in ("use.js:2", "use.js:3")]
            + [f"use.ts:{line} exact" for line in (5, 7, 8, 9, 10)],
        ),
        ("load.ts:1", ["use.js:1 exact", "use.ts:1 exact", "use.ts:7 exact"]),
        (
            "rates.py:4",
            [f"{at} exact" for at in ("named.py:1", "named.py:3", "star.py:1", "star.py:3")],
        ),
        ("own.py:4", ["own.py:7 exact"]),
        ("pack.sh:1", ["use.sh:2 exact"]),
    ],
)
def test_an_import_of_a_file_is_no_use_of_what_is_called_like_it(
    told_of_namesakes, definition, uses
):
    assert told_of_namesakes("refs", definition) == uses


def test_an_import_of_a_file_still_leads_to_it(told_of_namesakes):
    assert "use.ts:1" in {each.partition(" ")[0] for each in told_of_namesakes("impact", "load.ts")}


OF_COMMONJS = {
    "tax-rates.js": "class TaxRates {\n  add() {}\n}\nmodule.exports = TaxRates\n",
    "utils.js": "exports.clean = function () {}\n",
    "whole.js": "module.exports = require('./utils')\n",
    "spread.js": "module.exports = { ...require('./utils'), take() {} }\n",
    "one.js": "exports.clean = require('./utils').clean\n",
    "box.mjs": "export class Box {}\n\nexport function save() {}\n",
}
COMMONJS = {
    **{f"{folder}/{path}": text for folder in ("lib", "old") for path, text in OF_COMMONJS.items()},
    "use.js": (
        "const TaxRates = require('./lib/tax-rates')\n\nnew TaxRates()\nTaxRates.add()\n"
        "require('./lib/utils').clean()\nrequire('./lib/whole').clean()\n"
        "const s = require('./lib/spread')\ns.clean()\ns.take()\n"
        "const { clean } = require('./lib/one')\nclean()\n"
        "const Other = require('./old/tax-rates'), utils = require('./old/utils')\n"
        "run(utils, (Box) => new Box())\n"
    ),
    "use.mjs": (
        "const m = await import('./lib/box.mjs')\nm.save()\n"
        "const { Box } = await import('./lib/box.mjs')\nnew Box();\n"
        "(await import('./lib/box.mjs')).save()\n"
    ),
    "class.js": "class Till {\n  open() {}\n}\nmodule.exports = { Till }\n",
    "open.js": "const { open } = require('./class')\n\nopen()\n",
    "mixed.js": "Object.assign(exports, require('./lib/utils'))\n",
    "use-mixed.mjs": "import { clean } from './mixed'\n\nclean()\n",
    "one.js": "exports.clean = require('./lib/utils').clean\n",
    "one.mjs": "import { clean } from './one.js'\n\nclean()\n",
    "bundle.js": "function clean() {}\n\ndefine('clean', require('./lib/utils').clean)\nclean()\n",
}


@pytest.mark.parametrize(
    ("definition", "uses"),
    [
        ("lib/tax-rates.js:1", ["lib/tax-rates.js:4", "use.js:1", "use.js:3", "use.js:4"]),
        ("lib/tax-rates.js:2", ["use.js:4"]),
        (
            "lib/utils.js:1",
            ["bundle.js:3", "lib/one.js:1", "one.js:1", "one.mjs:1", "one.mjs:3"]
            + [f"use.js:{line}" for line in (5, 6, 8, 10, 11)],
        ),
        ("lib/spread.js:1", ["use.js:9"]),
        ("lib/box.mjs:1", ["use.mjs:3", "use.mjs:4"]),
        ("lib/box.mjs:3", ["use.mjs:2", "use.mjs:5"]),
        ("class.js:2", []),
        ("bundle.js:1", ["bundle.js:4"]),
        ("old/utils.js:1", ["old/one.js:1"]),
    ],
)
def test_what_is_required_or_imported_later_leads_to_its_definition(
    told_of_commonjs, definition, uses
):
    told = told_of_commonjs("refs", definition)
    exact = [each.removesuffix(" exact") for each in told if each.endswith(" exact")]
    assert sorted(exact) == sorted(uses)


def test_what_a_file_may_export_of_what_it_requires_is_not_ruled_out(told_of_commonjs):
    told = told_of_commonjs("refs", "lib/utils.js:1")
    assert "use-mixed.mjs:3" in {each.partition(" ")[0] for each in told}


@pytest.fixture(scope="module")
def told_of_commonjs(tmp_path_factory: pytest.TempPathFactory):
    root = tmp_path_factory.mktemp("commonjs")
    write_tree(root, COMMONJS)
    return told_in(root)


def test_an_object_of_a_module_is_surely_meant_only_where_that_is_imported(tmp_path):
    app = "var app = module.exports = {}\nrequire('./log')\napp.run = function run() {}\n"
    use = "app.run()\n"
    write_tree(
        tmp_path,
        {
            "lib/app.js": app,
            "lib/log.js": "",
            "test.js": f"const app = require('kit')()\n\n{use}",
            "own.js": f"const app = require('./lib/app')\n\n{use}",
            "script/app.js": "var bar = {}\nbar.ring = function ring() {}\n",
            "script/use.js": "bar.ring()\n",
        },
    )
    ask = told_in(tmp_path)
    assert ask("callers", "app.run") == ["own.js:3 exact", "test.js:3 likely"]
    assert ask("callers", "bar.ring") == ["script/use.js:1 exact"]
