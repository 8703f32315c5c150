"""Where the key of data stands that a question names by its path."""

from __future__ import annotations

import pytest

from tests.code.trees import search_in, write_tree


def _services(*names):
    return "services:\n" + "".join(
        f"  {name}:\n    image: registry.example.com/shop/{name}:1.0\n    environment:\n"
        f"      MESSAGE: {'a long text ' * 30}\n    healthcheck:\n      interval: 5s\n"
        for name in names
    )


@pytest.fixture
def search(make_codebase, project):
    files = {
        "compose.yaml": _services("web", "queue", "database", "mail"),
        "build.yml": "jobs:\n  interval: healthcheck\n  web:\n    services: 5\n",
        "tsconfig.json": '{\n  "compilerOptions": {\n    "paths": {"@": ["src"]}\n  }\n}\n',
        "chart/values.yaml": "image:\n  tag: latest\n",
        "other/values.yaml": "image:\n  name: shop\nother:\n  tag: latest\n",
        "setup.toml": "[tool.shop.cart]\nround-up = true\n",
        "login.properties": "form.remember=Remember me\n",
        "locales/en.yml": "en:\n  errors:\n    messages:\n      not_found: is not here\n",
        "locales/de.json": '{\n  "errors": {\n    "messages": {"x": 1},\n    "other": 2\n  }\n}\n',
        "pages.py": "def show():\n    return t('errors.messages.not_found')\n",
        "docs.md": "Set services.mail.healthcheck.interval or image.tag.\n" * 2,
    }
    write_tree(project, files)
    return search_in(project, make_codebase())


@pytest.mark.parametrize(
    ("text", "file", "line"),
    [
        ("services.queue.healthcheck.interval", "compose.yaml", 13),
        ("services.mail.healthcheck.interval = 5s", "compose.yaml", 25),
        ("where is services.mail.healthcheck.interval set", "compose.yaml", 25),
        ("queue.healthcheck.interval: must not be empty", "compose.yaml", 13),
        ("compilerOptions.paths", "tsconfig.json", 3),
        ("$.compilerOptions.paths[0]", "tsconfig.json", 3),
        ("{{ .Values.image.tag }}", "chart/values.yaml", 2),
        ("tool.shop.cart.round-up", "setup.toml", 2),
        ("where is form.remember set", "login.properties", 1),
        ("errors.messages.not_found", "locales/en.yml", 4),
    ],
)
def test_a_path_of_keys_leads_to_the_line_of_the_last(search, text, file, line):
    best = search(text)[0]
    assert best.filename == file
    assert best.start_line <= line <= best.end_line


def test_keys_are_looked_for_where_the_filter_allows(search):
    assert search("errors.messages.not_found", languages=("python",))[0].filename == "pages.py"
    assert {hit.language for hit in search("compilerOptions.paths", languages=("yaml",))} == {
        "yaml"
    }
