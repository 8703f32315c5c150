"""What a file of JavaScript exports or imports under another name leads to its definition."""

from __future__ import annotations

import pytest

from tests.code.trees import told_in, write_tree

FILES = {
    "till.ts": "export default class Till {\n  open() {}\n}\nexport function Drawer() {}\n",
    "rate.ts": (
        "function rate() {}\nfunction other() {}\nexport { rate as default, other as rates }\n"
    ),
    "index.ts": (
        "export { default as Cash } from './till'\nexport { rates as prices } from './rate'\n"
        "export * from './more'\n"
    ),
    "more.ts": (
        "import Box from './till'\nexport { Box as Chest }\nexport { default } from './rate'\n"
    ),
    "use.ts": (
        "import Drawer from './till'\nimport price from './rate'\nimport again from './more'\n"
        "import { Cash, Chest, prices } from '.'\n\n"
        "new Drawer().open()\nprice()\nagain()\nCash.open()\nnew Chest()\nprices()\n"
    ),
    "other.ts": (
        "import Drawer from 'drawers'\nimport { Cash } from './missing'\n\nDrawer()\nCash()\n"
    ),
    "make.js": (
        "exports = module.exports = makeApp\nexports.cash = Pay\nfunction makeApp() {}\n"
        "function Pay() {}\n"
    ),
    "main.js": "module.exports = require('./make')\n",
    "use.js": (
        "const app = require('./main')\nconst { cash } = require('./make')\n\napp()\ncash()\n"
    ),
    "kit.js": "exports.pack = function () {}\n",
    "held.js": "const held = { ...require('./kit') }\nmodule.exports = { a: held }\n",
    "use-held.js": "const { pack } = require('./held')\n\npack()\n",
    "late.ts": (
        "import('./till').then((m) => m.Drawer())\n"
        "import('./till').then(({ Drawer }) => Drawer())\n"
    ),
    "late.js": "import('./till').then(m => m.Drawer())\n",
    "utils/merge.js": "export default function deepMerge() {}\n",
    "react.js": "export default function View() {}\n",
    "packages/pad/src/index.js": "export default function padLeft() {}\n",
    "packages.js": (
        "import merge from 'lodash/merge'\nimport React from 'react'\n"
        "import own from '@/utils/merge'\nimport pad from '@shop/pad'\n\n"
        "merge()\nReact()\nown()\npad()\n"
    ),
    "shown.jsx": "function Shown() {}\nexport default <Shown />\n",
    "nested.js": "module.exports = { default: { a: Inner } }\nfunction Inner() {}\n",
    "use-nested.js": (
        "import shown from './shown'\nimport { a } from './nested'\n\nshown()\na()\n"
    ),
}


@pytest.fixture(scope="module")
def exact(tmp_path_factory: pytest.TempPathFactory):
    root = tmp_path_factory.mktemp("renames")
    write_tree(root, FILES)
    told = told_in(root)
    return lambda line: sorted(
        {at.removesuffix(" exact") for at in told("refs", line) if at.endswith(" exact")}
    )


@pytest.mark.parametrize(
    ("definition", "uses"),
    [
        (
            "till.ts:1",
            ["index.ts:1", "more.ts:1", "more.ts:2", "use.ts:1"]
            + [f"use.ts:{line}" for line in (10, 4, 6, 9)],
        ),
        ("till.ts:2", ["use.ts:9"]),
        ("till.ts:4", ["late.js:1", "late.ts:1", "late.ts:2"]),
        ("rate.ts:1", ["more.ts:3", "rate.ts:3", "use.ts:2", "use.ts:3", "use.ts:7", "use.ts:8"]),
        ("rate.ts:2", ["index.ts:2", "rate.ts:3", "use.ts:11", "use.ts:4"]),
        ("make.js:3", ["make.js:1", "use.js:1", "use.js:4"]),
        ("kit.js:1", []),
        ("make.js:4", ["make.js:2", "use.js:2", "use.js:5"]),
        ("utils/merge.js:1", ["packages.js:3", "packages.js:8"]),
        ("react.js:1", []),
        ("packages/pad/src/index.js:1", ["packages.js:4", "packages.js:9"]),
        ("shown.jsx:1", ["shown.jsx:2"]),
        ("nested.js:2", ["nested.js:1"]),
    ],
)
def test_a_renamed_export_is_used_under_its_other_names(exact, definition, uses):
    assert exact(definition) == sorted(uses)
