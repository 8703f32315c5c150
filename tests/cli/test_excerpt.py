"""A reader sees at once why a hit is one."""

from __future__ import annotations

import io
import itertools
import re
import time
from dataclasses import replace
from pathlib import Path

import pytest

from memory_sidecar.cli.call import Call
from memory_sidecar.cli.form import Places
from memory_sidecar.cli.search import HitView, hit_lines
from memory_sidecar.code.excerpt import Excerpt, excerpt, name_of, names_shown, spans, stems_of
from memory_sidecar.code.results import CodeHit
from memory_sidecar.mcp.code import shorten_hits
from tests.conftest import write_memory

CODE = '''def send(message):
    """Hand a message over."""
    connection = connect()
    log(message)

    for attempt in range(3):
        if retryWithBackoff(attempt):
            break
    connection.close()
    return message
'''.splitlines()


def test_lines_around_what_was_asked_for_are_chosen():
    part = excerpt(CODE, stems_of("where are retries decided"))
    assert any("retryWithBackoff" in line for line in part.lines)
    assert len(part.lines) <= 5
    assert part.lines == tuple(CODE[part.first : part.first + len(part.lines)])


def test_of_lines_that_tell_as_much_the_first_is_chosen_whatever_the_words():
    counts = (2, 5, 9, 10)  # of lines with each word; 1/2 + 1/5 + … depends on the order of adding
    for one, other in itertools.permutations("bdfgkmnp", 2):
        both = [[f"{first}{letter}um" for letter in "aiou"] for first in (one, other)]
        alone = [
            word
            for words in both
            for count, word in zip(counts, words, strict=True)
            for _ in range(count - 1)
        ]
        lines = [*map(" ".join, both), *alone]
        assert excerpt(lines, stems_of(" ".join(alone)), at_most=1).first == 0


def test_a_memory_does_not_say_its_title_twice(run):
    assert run("store", "# Totals are cents\n\nNever floats.", "--agent", "a").status == 0
    for command in (("query", "totals"), ("recent",)):
        shown = run(*command, "--agent", "a").out
        assert shown.count("Totals are cents") == 1
        assert "\n  Never floats.\n" in shown
    assert run("get", "totals-are-cents.md", "--agent", "a").out.startswith("# Totals are cents")


@pytest.mark.parametrize("first", ["# Totals in C#", "**Totals:** in cents", "__init__ of totals"])
def test_a_line_that_is_the_title_but_for_its_marks_is_shown_once(run, first):
    run("store", f"{first}\n\nNever floats.", "--agent", "a")
    for command in (("query", "totals"), ("recent",)):
        _, *below = run(*command, "--agent", "a").out.strip().splitlines()
        assert below == ["  Never floats."]


def test_a_long_memory_without_a_title_is_shown_once(run):
    told = f"Totals are cents {'and never anything else ' * 9}at all"
    run("store", told, "--agent", "a")
    for command in (("query", "totals"), ("recent",)):
        shown = run(*command, "--agent", "a").out
        assert shown.count("Totals are cents") == 1
        assert f"\n  {told}\n" in shown


def test_pinning_takes_the_word_of_either_command(run):
    for pin in ("--pin", "--pinned"):
        run("store", f"Totals are cents, {pin}", pin, "--summary", pin, "--agent", "a")
        run("update", f"{pin[2:]}.md", "--no-pin", "--agent", "a")
        assert run("update", f"{pin[2:]}.md", pin, "--agent", "a").status == 0
    assert run("recent", "--agent", "a").out.count("[pinned]") == 2


def test_a_memory_shows_the_lines_that_match(run):
    lines = [f"Step {number}: build part {number}" for number in range(30)]
    lines[20] = "Step 20: feed the zebras"
    run("store", "\n".join(lines), "--category", "codebase", "--summary", "All steps")
    shown = run("query", "who feeds zebras", "--mode", "keyword").out.split("\n")
    assert shown[1] == "  …"
    assert "  Step 20: feed the zebras" in shown[2:10]
    behind = int(shown[9].split()[-1]) + 1
    assert shown[10] == f"  … {30 - behind} more lines"
    run("store", "\nOne\nline of sheep\n\n", "--category", "codebase", "--summary", "Few")
    assert run("query", "sheep", "--mode", "keyword").out.endswith("\n  One\n  line of sheep\n\n")


def test_a_long_note_shows_the_lines_that_match_near_its_end(serve, data_dir):
    lines = [f"Step {number}: build part {number}, as before" for number in range(4_000)]
    lines[3_900] = "Step 3900: feed the zebras"
    write_memory(data_dir / "knowledge" / "a", "steps.md", "\n".join(lines), summary="All steps")
    shown = serve("query", "who feeds zebras", "--agent", "a", "--mode", "keyword").out.split("\n")
    assert shown[1] == "  …"
    part = [line.strip() for line in shown[2:10]]
    assert "Step 3900: feed the zebras" in part
    behind = 4_000 - lines.index(part[-1]) - 1
    assert shown[10] == f"  … {behind} more lines"


def test_rare_words_outweigh_frequent_ones():
    lines = ["message one", "message two", "", "", "", "", "unique thing"]
    assert "unique thing" in excerpt(lines, stems_of("unique message")).lines


def test_a_line_with_a_whole_name_outweighs_ones_with_its_words():
    about = "# the interface of a session, saved as any session is by its interface"
    lines = [about, "# session", "# interface", *[""] * 9, "def save_session(response):", "    ..."]
    assert lines[-2] in excerpt(lines, stems_of("SessionInterface.save_session")).lines
    assert lines[-2] not in excerpt(lines, stems_of("how are interfaces of sessions saved")).lines


def test_the_wording_around_a_request_is_not_what_matches():
    lines = ["# the code works", *("filler" for _ in range(9)), "retry()"]
    assert "retry()" in excerpt(lines, stems_of("show me the code for retries")).lines
    assert stems_of("how does the retry work?") == {"retr"}


def test_a_question_that_is_one_long_word_takes_no_time():
    began = time.thread_time()
    assert stems_of("Z" * 60_000)
    assert time.thread_time() - began < 5


def test_beginning_is_shown_where_no_word_occurs():
    assert excerpt(["", "", *CODE], stems_of("xyzzy")).lines[0] == CODE[0]
    assert excerpt([""], stems_of("xyzzy")).lines == ("",)


def test_words_are_found_in_identifiers_and_in_other_forms():
    line = "def retryWithBackoff(decides): pass"
    found = [line[start:end] for start, end in spans(line, stems_of("retries decided"))]
    assert found == ["retry", "decides"]


@pytest.mark.parametrize(
    ("question", "line", "shown"),
    [
        ("如何设置缓存", "// 这里设置Redis缓存", ["设置", "缓存"]),
        ("Redisの設定", "# Redisと設定", ["設定", "Redis"]),
        ("GRÖSSE", "# die Größe", ["Größe"]),
        ("हिन्दी खोज", "# हिन्दी में खोज", ["हिन्दी", "खोज"]),
    ],
)
def test_what_matches_is_shown_in_every_script(question, line, shown):
    stems = stems_of(question)
    assert [line[start:end] for start, end in spans(line, stems)] == shown
    assert excerpt(["filler"] * 9 + [line], stems).lines[-1] == line


def made(tmp_path: Path, **environ: str) -> Call:
    return Call(
        arguments=(), cwd=tmp_path / "shop" / "sub", environ=environ, stdin=io.BytesIO(),
        stdout=io.StringIO(), stderr=io.StringIO(), is_terminal=True, shows_progress=True,
        columns=60, rows=10,
    )  # fmt: skip


def hit(code: str, **properties: object) -> CodeHit:
    known: dict[str, object] = {
        "filename": "a b/cart.py",
        "location": "3-9",
        "language": "python",
        "code": code,
        "score": 0.5,
        "source": "shop",
        "start_line": 3,
        "end_line": 9,
        "symbols": ("total",),
        "scope": "Cart.total",
        "signature": "",
        "is_weak": False,
    }
    return CodeHit(**(known | properties))  # type: ignore[arg-type]


@pytest.fixture
def shown(tmp_path: Path) -> HitView:
    return HitView(
        question="total price",
        places=Places({"shop": tmp_path / "shop"}, made(tmp_path).cwd),
        names_source=False, full=False, only_files=False,
    )  # fmt: skip


def test_path_is_a_link_and_words_stand_out(tmp_path, shown):
    heading, line, *_ = hit_lines(made(tmp_path), [hit("total = price * 2")], shown)
    assert re.search(r"\x1b]8;;file://[^\x1b]*/shop/a%20b/cart\.py\x1b\\", heading)
    assert "../a b/cart.py:3-9" in heading
    assert "Cart.total" in heading
    assert line.count("\x1b[1;4") == 2


def test_nothing_but_the_words_found_is_underlined(tmp_path, shown):
    code = "``in the middle`` of a docstring\nclass Total(price.Error): ..."
    _, *lines = hit_lines(made(tmp_path), [hit(code)], shown)
    styled = re.findall(r"\x1b\[([\d;]+)m([^\x1b]*)", "\n".join(lines))
    assert [text for style, text in styled if "4" in style.split(";")] == ["Total", "price"]


@pytest.mark.parametrize("question", ["cart.py:22", "cart/cart.py:40 and shop/cart.py:22:7 fail"])
def test_the_line_that_is_asked_for_is_shown(tmp_path, shown, question):
    code = "\n".join(f"def step_{number}(cart): ...  # {number}" for number in range(3, 33))
    asked = hit(code, filename="shop/cart.py", start_line=3, end_line=32)
    lines = hit_lines(made(tmp_path, NO_COLOR="1"), [asked], replace(shown, question=question))
    assert any(line.startswith("    22  def step_22") for line in lines)
    (passage,) = shorten_hits([asked], question, 100)
    assert "step_22" in passage.code
    assert len(passage.code) < len(code) / 2


def test_what_is_named_is_shown_where_it_is_defined_not_where_others_mention_it(tmp_path, shown):
    code = """\
  isStale() {
    // observers first, their `isStale` is the truth,
    // made with `isStaleByTime` where none is
    return this.isInvalidated
  }

  isStaleByTime(time = 0) {
    return this.data === undefined || this.isInvalidated
  }"""
    asked = hit(code, scope="Query.isStale", symbols=("isStale", "isStaleByTime"))
    for question in ("isStaleByTime", "why was isStaleByTime changed"):
        view = replace(shown, question=question)
        heading, *lines = hit_lines(made(tmp_path, NO_COLOR="1"), [asked], view)
        assert "isStaleByTime" in heading
        assert any("isStaleByTime(time" in line for line in lines)
        (passage,) = shorten_hits([asked], question, 70)
        assert "isStaleByTime" in passage.what
        assert "isStaleByTime(time" in passage.code


def test_weak_matches_leave_most_of_the_budget_to_the_others():
    code = "\n".join(f"def step_{number}(cart): ..." for number in range(200))
    hits = [hit(code), *(hit(code, is_weak=True) for _ in range(4))]
    lengths = [len(each.code) for each in shorten_hits(hits, "step", 1000)]
    assert lengths[0] > sum(lengths[1:])
    alike = [len(each.code) for each in shorten_hits(hits[1:], "step", 1000)]
    assert alike[0] < sum(alike[1:])


@pytest.mark.parametrize("environ", [{"NO_COLOR": "1"}, {"TERM": "dumb"}], ids=str)
def test_nothing_steers_a_terminal_that_wants_plain_text(tmp_path, shown, environ):
    lines = hit_lines(made(tmp_path, **environ), [hit("total = '\x1b[31m'")], shown)
    assert not any("\x1b" in line for line in lines)
    assert lines[1] == "     3  total = '\\x1b[31m'"


def test_what_a_file_holds_never_steers_a_terminal(tmp_path, shown):
    hostile = hit("total = '\x1b]0;owned\x07'", filename="a\x1b[2Jb.py")
    text = "\n".join(hit_lines(made(tmp_path), [hostile], shown))
    assert "\x1b[2J" not in text
    assert "\x07" not in text
    assert "\\x1b]0;owned" in re.sub(r"\x1b\[[\d;]*m", "", text)


def test_a_line_wider_than_the_terminal_is_cut(tmp_path, shown):
    line = hit_lines(made(tmp_path), [hit("total = " + "x" * 500)], shown)[1]
    assert len(re.sub(r"\x1b\[[\d;]*m", "", line)) <= 60


@pytest.mark.parametrize("rows", [0, 4, 100])
def test_only_what_overflows_a_terminal_is_paged(tmp_path, rows):
    call, paged = made(tmp_path), list[str]()
    call.rows, call.page = rows, paged.append
    lines = ["a line"] * 5
    call.print_paged(lines, uses_pager=True)
    assert bool(paged) == (rows == 4)
    call.print_paged(lines, uses_pager=False)
    assert len(paged) <= 1


METHODS = """class Cart:
    def add(self, item):
        self.items.append(item)

    def total(self):
        return sum(self.items)


def checkout(cart):
    return pay(cart.total())
""".splitlines()


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("append", ("Cart.add",)),
        ("sum", ("Cart.total",)),
        ("pay", ("checkout",)),
        ("class", ("Cart", "Cart.add")),
    ],
)
def test_an_excerpt_is_called_by_what_its_lines_define(question, names):
    part = excerpt(METHODS, stems_of(question), at_most=2)
    assert names_shown(("Cart", "add", "total", "checkout"), METHODS, part) == names


def test_a_method_is_called_behind_its_own_class_not_what_comes_before_that():
    lines = ["def pay(total):", "    return total", "", *METHODS]
    part = excerpt(lines, stems_of("append"), at_most=2)
    assert names_shown(("pay", "Cart", "add", "total", "checkout"), lines, part) == ("Cart.add",)


METHODS_WITH_COMMENTS = """\
  constructor(request: Request) {
    this.raw = request
    this.first = this.param('first')
  }

  /**
   * `.param()` gets a parameter of the path.
   */
  param(key?: string): unknown {
    return this.decoded(key)
  }

  decoded(key?: string) {
    return decode(this.raw, key)
  }
""".splitlines()


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("unknown", ("param",)),
        ("raw", ("constructor",)),
        ("decode", ("decoded",)),
    ],
)
def test_a_method_that_is_named_before_its_definition_is_no_part_of_that_before_it(question, names):
    part = excerpt(METHODS_WITH_COMMENTS, stems_of(question), at_most=2)
    symbols = ("constructor", "param", "decoded")
    assert names_shown(symbols, METHODS_WITH_COMMENTS, part) == names


CLASSES_WITH_USES = """\
class Cart:
    def add(self, item):
        self.items.append(item)

    def total(self):
        return sum(self.prices)

# Till pays
class Till:
    def pay(self):
        return Cart().total()

cart = Cart()
cart.add("lamp")
cart.pay()
""".splitlines()


@pytest.mark.parametrize(
    ("first", "stop", "names"),
    [
        (1, 3, ("Cart.add",)),
        (5, 6, ("Cart.total",)),
        (7, 8, ("Till",)),
        (7, 11, ("Till", "Till.pay")),
        (10, 11, ("Till.pay",)),
        (13, 15, ("cart",)),
    ],
)
def test_a_definition_is_told_from_uses_below_and_named_behind_its_own_class(first, stop, names):
    part = Excerpt(first, tuple(CLASSES_WITH_USES[first:stop]))
    symbols = ("Cart", "add", "total", "Till", "pay", "cart")
    assert names_shown(symbols, CLASSES_WITH_USES, part) == names


def test_a_name_that_is_not_in_the_text_hides_none_behind_it():
    lines = ["export default () => 1", "", "bool operator==(Cart)", "  same", "  both"]
    part = Excerpt(2, tuple(lines[2:]))
    assert names_shown(("index", "operator=="), lines, part) == ("operator==",)


def test_a_whole_chunk_is_called_by_all_that_it_defines():
    part = excerpt(METHODS, stems_of("pay"), at_most=len(METHODS))
    assert names_shown(("Cart", "add", "total", "checkout"), METHODS, part) == ()


@pytest.mark.parametrize(
    ("language", "signature", "name"),
    [
        ("rust", "impl<S> Till<S> where S: for<'a> Coin<'a>", "Till, ring"),
        ("rust", "impl<F: Fn(u8) -> T> fmt::Debug for desk::Till<F>", "Till, ring"),
        ("rust", "impl Coin for [u8]", "ring"),
        ("rust", "fn ring() -> impl Coin", "ring"),
        ("swift", "public extension Desk.Till: Coin", "Desk.Till, ring"),
    ],
)
def test_methods_without_a_class_around_them_are_named_with_their_type(language, signature, name):
    found = hit("", language=language, scope="", symbols=("ring",), signature=signature)
    assert name_of(found, (), Excerpt(0, ())) == name


def test_a_hit_is_headed_by_what_its_shown_lines_define(tmp_path, shown):
    code = "\n".join(f"def step_{n}():\n    {'pay' if n == 7 else 'go'}()\n\n" for n in range(9))
    asked = hit(code, scope="", symbols=tuple(f"step_{n}" for n in range(9)), signature="step_0()")
    shown = replace(shown, question="pay")
    assert "step_7" in hit_lines(made(tmp_path, NO_COLOR="1"), [asked], shown)[0]
    (passage,) = shorten_hits([asked], "pay", 20)
    assert passage.what == "step_7"
    (passage,) = shorten_hits([asked], "pay", 4000)
    assert passage.what == "step_0, step_1, step_2"


def test_of_many_names_a_hit_is_headed_by_those_that_were_asked_for(tmp_path, shown):
    names = ("Page", "meta", "body", "problem", "parse_page")
    asked = hit("\n".join(f"{name} = 1" for name in names), scope="", symbols=names)
    whole = replace(shown, question="parse_page", full=True)
    assert "Page, meta, parse_page" in hit_lines(made(tmp_path, NO_COLOR="1"), [asked], whole)[0]
    for max_tokens in (1, 4000):
        (passage,) = shorten_hits([asked], "where is the problem in a page", max_tokens)
        assert passage.what == "Page, problem, parse_page"


def test_an_agent_is_told_in_which_class_a_method_is_however_little_is_shown(tmp_path):
    code = "    def add(self, item):\n        self.items.append(item)"
    asked = hit(code, scope="Cart", symbols=("add",), signature="def add(self, item)")
    for max_tokens in (1, 4000):
        (passage,) = shorten_hits([asked], "put in", max_tokens)
        assert passage.what == "Cart.add"


@pytest.mark.parametrize(
    ("properties", "called"),
    [
        ({"symbols": ("add", "remove")}, "add, remove"),
        ({"symbols": ("add", "remove"), "scope": "Cart"}, "Cart.add, remove"),
        ({"symbols": ("add", "remove"), "scope": "Cart.add"}, "Cart.add, remove"),
        ({"symbols": ("add",), "scope": "add"}, "add"),
        ({"scope": "Setup > Linux"}, "Setup > Linux"),
        ({"signature": "def add(item)"}, "def add(item)"),
        ({"signature": f"def add({'item, ' * 20})"}, f"def add({'item, ' * 10}…"),
        ({}, ""),
    ],
)
def test_a_hit_is_called_by_what_it_defines_behind_what_encloses_that(properties, called):
    lines = ["first", "second"]
    known = {"symbols": (), "scope": "", "signature": ""}
    assert name_of(hit("", **(known | properties)), lines, Excerpt(0, tuple(lines))) == called


def test_what_stands_before_all_that_a_hit_defines_is_not_called_by_that():
    lines = ["'''Money.'''", "", "import decimal", "", "CENTS = 100"]
    above = Excerpt(0, tuple(lines[:2]))
    assert name_of(hit("", symbols=("CENTS",), scope=""), lines, above) == ""
