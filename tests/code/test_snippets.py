"""Pasted code is found where it stands, though it was moved, marked or changed in part."""

from __future__ import annotations

import pytest

from memory_sidecar.code.model import CodeQuery
from memory_sidecar.code.snippets import lines_held, pasted_lines, phrases_of
from memory_sidecar.core.results import Silent

SNIPPET = """\
    for line in self.lines:
        price = line.price.rounded(self.currency)
        total += price * line.amount
    return total"""
OTHER = """\
class Totals:
    def lines_of(self, cart):
        lines = self.lines(cart, self.currency)
        prices = [line.price.rounded(self.currency) for line in lines]
        return self.total(prices, [line.amount for line in lines])
"""


@pytest.fixture
def search(make_codebase, project):
    (project / "odd.py").write_text(f"def walk(self):\n    total = 0\n{SNIPPET}\n")
    (project / "totals.py").write_text(OTHER)
    made = make_codebase()

    def search(text):
        made.index([project], reporter=Silent())
        return made.search(CodeQuery(text, explain=True), reporter=Silent())

    return search


def marked(mark):
    return "\n".join(f"{mark}{line}" for line in SNIPPET.splitlines())


@pytest.mark.parametrize(
    "pasted",
    [
        SNIPPET,
        marked("            "),
        marked("+"),
        marked("> "),
        "\n".join(f"{at:4} | {line}" for at, line in enumerate(SNIPPET.splitlines(), 41)),
        f"why is the Totals class wrong here?\n```python\n{SNIPPET}\n```",
        SNIPPET.replace("total += price * line.amount", "Totals.lines_of += price"),
    ],
    ids=["as it is", "moved", "diff", "quoted", "numbered", "asked about", "changed"],
)
def test_the_file_with_the_pasted_lines_comes_first(search, pasted):
    best = search(pasted)[0]
    assert best.filename == "odd.py"
    assert "line" in best.explain.terms
    assert sum(best.explain.terms.values()) == pytest.approx(best.score, abs=1e-5)


def test_the_file_that_holds_more_of_the_lines_comes_first(search, project):
    (project / "apart.py").write_text("\n".join(SNIPPET.splitlines()[:2]) + "\n        pass\n")
    assert search(SNIPPET)[0].filename == "odd.py"


def test_of_equal_files_a_source_comes_before_its_test(search, project):
    (project / "tests").mkdir(exist_ok=True)
    (project / "tests" / "test_odd.py").write_text((project / "odd.py").read_text())
    assert search(SNIPPET)[0].filename == "odd.py"


def test_lines_that_many_files_hold_lead_to_none(search, project):
    for number in range(4):
        (project / f"copy{number}.py").write_text(f"def walk{number}(self):\n{SNIPPET}\n")
    assert all("line" not in hit.explain.terms for hit in search(SNIPPET))


def test_few_words_are_no_pasted_code(search):
    assert all("line" not in hit.explain.terms for hit in search("return total\n}"))


def test_a_pasted_signature_comes_before_what_it_names(search, project):
    signature = "def background(self, bar_style: BarStyle) -> None:"
    others = "".join(f"    def walk{number}(self):\n        pass\n" for number in range(9))
    (project / "odd.py").write_text(f"class Odd:\n{others}    {signature}\n        pass\n")
    (project / "bar_style.py").write_text(
        "class BarStyle:\n    def background(self): pass\n    def bar_style(self): pass\n"
    )
    assert search(signature)[0].filename == "odd.py"


def test_words_of_one_line_are_not_looked_for_by_their_line():
    assert not pasted_lines("return total\n")
    assert lines_held(pasted_lines("a = 1\n+b = 2"), "  a=1\nc\n- b = 2") == {"a=1", "b=2"}


def test_the_longest_lines_are_looked_for():
    assert phrases_of("}\nx = 1\n+ sum(every_price, of_it)\n1: für alle Preise hier") == [
        "sum every price of it"
    ]
