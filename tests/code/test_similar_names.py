"""What half a name, a name with a slip and the key of a setting mean, which nothing defines."""

from __future__ import annotations

from itertools import product

import pytest

from memory_sidecar.code.messages import MAX_MESSAGE_CHUNKS
from memory_sidecar.code.model import CodeFilter, CodeQuery
from memory_sidecar.code.named import MAX_DEFINING
from memory_sidecar.code.query_names import MAX_SIMILAR_NAMES, is_one_typo_apart
from memory_sidecar.code.unknown_names import MAX_PHRASE_CHUNKS, MAX_READING_ALL
from memory_sidecar.core.results import Silent


@pytest.mark.parametrize("other", ["parse_agrs", "parse_arg", "parse_argss", "parse_orgs"])
def test_a_slip_is_a_letter_more_less_or_another_or_two_swapped(other):
    assert is_one_typo_apart("parse_args", other)
    assert is_one_typo_apart(other, "parse_args")


@pytest.mark.parametrize("other", ["parse_ag", "args_parse", "parse_argsort", "aprse_agrs", ""])
def test_two_slips_are_another_name(other):
    assert not is_one_typo_apart("parse_args", other)


@pytest.fixture
def search(make_codebase, project):
    (project / "odd.py").write_text("def drain_retry_queue(queue):\n    queue.clear()\n")
    (project / "build.yml").write_text("jobs:\n  fail-fast: false\n  retry_limit: 5\n")
    (project / "main.py").write_text("x = os.environ['LONGEST_WAIT'], '--max-wait', 'tries'\n")
    (project / "docs.md").write_text("Set LONGEST_WAIT or --max-wait.\n" * 3)
    (project / "odd_test.rb").write_text("test 'no wait for the old queue' do\nend\n")
    made = make_codebase()

    def search(text, *also_indexed, **filters):
        made.index([project, *also_indexed], reporter=Silent())
        query = CodeQuery(text, filter=CodeFilter(**filters), explain=True)
        return made.search(query, reporter=Silent())

    return search


@pytest.mark.parametrize(
    ("text", "file", "reason"),
    [
        ("drain_rerty_queue", "odd.py", "exact_symbol"),
        ("who calls drain_rerty_queue and why", "odd.py", "exact_symbol"),
        ("drain_ret", "odd.py", "exact_symbol"),
        ("retry_queue", "odd.py", "exact_symbol"),
        ("who calls retry_queue and why", "odd.py", "exact_symbol"),
        ("queue_drain_retry", "odd.py", "exact_symbol"),
        ("drain_queue", "odd.py", "exact_symbol"),
        ("DRAIN-RERTY-QUEUE", "odd.py", "exact_symbol"),
        ("fail-fast", "build.yml", "exact_text"),
        ("retry_limit", "build.yml", "exact_text"),
        ("docker run -e LONGEST_WAIT=5 shop", "main.py", "exact_text"),
        ("shop sell --max-wait=5", "main.py", "exact_text"),
        ("--tries", "main.py", "exact_text"),
        (
            "| Name | Default |\n|---|---|\n| `LONGEST_WAIT` | 5 |\n| `RETRIES_SHOWN` | 1 |\n",
            "main.py",
            "exact_text",
        ),
        ("Failure:\nOddTest#test_no_wait_for_the_old_queue:", "odd_test.rb", "exact_text"),
        ("--- FAIL: TestOdd/no_wait_for_the_old_queue (0.00s)", "odd_test.rb", "exact_text"),
    ],
)
def test_what_is_meant_comes_first(search, text, file, reason):
    best = search(text)[0]
    assert best.filename == file
    assert best.explain.boosts[reason] == 1


def test_what_a_sentence_has_beside_a_defined_name_does_not_lead(search):
    hits = search("why does drain_retry_queue not read LONGEST_WAIT")
    assert (hits[0].filename, hits[0].explain.boosts.get("exact_symbol")) == ("odd.py", 1)
    assert all("exact_text" not in hit.explain.boosts for hit in hits)


def test_of_many_unknown_names_the_first_alone_stand_for_those_with_their_parts(search):
    foreign = [f"gone_with_{number}" for number in range(MAX_READING_ALL)]
    for names, is_found in ((foreign[1:], True), (foreign, False)):
        (best, *_) = search(" ".join(["why do", *names, "and retry_queue fail"]))
        assert ("exact_symbol" in best.explain.boosts) == is_found


def test_a_token_of_a_thousand_parts_is_like_no_name(search):
    letters = "abcdefghijklm"
    parts = ["".join(each) for size in (2, 3) for each in product(letters, repeat=size)]
    token = "x" + "".join(map(str.capitalize, parts[:1200]))
    assert all("exact_symbol" not in hit.explain.boosts for hit in search(token))


@pytest.mark.parametrize(
    "text",
    ["drainRetryQueue", "DrainRetryQueue", "drain-retry-queue", "why drainRetryQueue is called"],
)
def test_a_name_is_found_as_other_languages_would_write_it(search, text):
    best = search(text)[0]
    assert (best.filename, best.explain.boosts.get("exact_symbol")) == ("odd.py", 1)


def test_a_word_of_nothing_but_underscores_is_like_no_name(search, project):
    (project / "inner.py").write_text("def _drain(): pass\n")
    assert all("exact_symbol" not in hit.explain.boosts for hit in search("____"))


@pytest.mark.parametrize(
    "text", ["drainretryqueue", "DrainRetry", "drainrertyqueue", "DRAINRETRYQUEUE"]
)
def test_case_hides_no_name_nor_its_half_nor_a_slip(search, project, text):
    (project / "Odd.java").write_text("class Odd {\n  void drainRetryQueue() {\n  }\n}\n")
    best = search(text)[0]
    assert best.filename == "Odd.java"
    assert best.explain.boosts["exact_symbol"] == 1


def test_empty_brackets_name_no_file_that_begins_with_a_dot(search, project):
    (project / ".editorconfig").write_text("root = true\n")
    assert all("exact_path" not in hit.explain.boosts for hit in search("()"))


def test_the_name_itself_in_another_case_goes_before_those_that_begin_with_it(search, project):
    (project / "queues.py").write_text("class RetryQueue:\n    pass\n")
    (project / "many.py").write_text("class RetryQueueOfMany:\n    retry_queue_size = 5\n")
    hits = search("retryqueue")
    assert hits[0].filename == "queues.py"
    assert all("exact_symbol" not in hit.explain.boosts for hit in hits[1:])


def test_the_key_of_a_setting_is_none_of_the_names_that_end_like_it(search, project):
    (project / "filters.py").write_text("class Filter:\n    def skip_limit(self):\n        pass\n")
    (project / "keys.py").write_text('LIMIT = Key("checkout.skip_limit", 5)\n')
    best = search("checkout.skip_limit")[0]
    assert (best.filename, best.explain.boosts.get("exact_text")) == ("keys.py", 1)
    assert search("Filter.skip_limit")[0].filename == "filters.py"


def test_what_a_test_alone_defines_is_the_name_of_what_sources_have(search, project):
    (project / "tests").mkdir()
    tests = "TILL_MODE = 1\nmax_tries = 5\n\n\ndef maxTries():\n    pass\n"
    (project / "tests" / "tries.py").write_text(tests)
    (project / "settings.c").write_text('int read(void) { return get("max_tries"); }\n')
    (project / "modes.c").write_text('int mode(void) { return get("till_mode"); }\n')
    (project / "Shop.java").write_text("class Shop { int ask() { return maxTries(); } }\n")
    files = {"max_tries": "settings.c", "maxTries": "Shop.java", "till_mode": "modes.c"}
    for text, file in files.items():
        best = search(text)[0]
        assert (best.filename, best.explain.boosts.get("exact_text")) == (file, 1)
    assert all("exact_symbol" not in hit.explain.boosts for hit in search("default max_tries"))
    assert search("test of max_tries")[0].filename == "tests/tries.py"


def test_a_word_of_a_sentence_does_not_ask_for_where_it_stands(search):
    assert all(
        "exact_text" not in h.explain.boosts for h in search("what is the LONGEST_WAIT of it")
    )


@pytest.mark.parametrize("key", ["show_choices", "show-choices"])
def test_a_parameter_in_very_many_chunks_means_each_of_them(search, project, key):
    holding = {f"use{number}.py" for number in range(MAX_MESSAGE_CHUNKS + 5)}
    for name in holding:
        (project / name).write_text(f"{name[:-3]} = ask('{key}', show={len(name)})\n")
    (project / "choices.py").write_text("def show(choices):\n    return show_all(choices)\n")
    found = search(key)[: len(holding)]
    assert {hit.filename for hit in found} <= holding


def test_a_plain_word_in_very_many_chunks_means_none_of_them(search, project):
    for number in range(MAX_MESSAGE_CHUNKS + 5):
        (project / f"use{number}.py").write_text(f"# a checkout is done here\nstep = {number}\n")
    assert all("exact_text" not in hit.explain.boosts for hit in search("checkout"))


@pytest.mark.parametrize(
    ("text", "file", "reason"),
    [
        ("tab_width", "edit.ini", "exact_text"),
        ("Unknown key in the theme", "theme.ini", "exact_text"),
        ("router", "router.ini", "exact_path"),
    ],
)
def test_what_others_hold_more_often_hides_nothing_within_a_filter(
    search, project, text, file, reason
):
    texts = {
        "edit.ini": "[edit]\ntab_width = 4\n",
        "theme.ini": "# unknown key in the theme\n",
        "router.ini": "[routes]\nnumber = 4\n",
    }
    others = [project / "a" / str(number) for number in range(MAX_PHRASE_CHUNKS)]
    ours = project / "z" / "our" / "own"
    for folder in [*others, ours]:
        if folder == ours:
            search("theirs")  # so that they are indexed first
        folder.mkdir(parents=True)
        for name, written in texts.items():
            (folder / name).write_text(written)
    best = search(text, path_globs=("/z/",))[0]
    assert (best.filename, best.explain.boosts.get(reason)) == (f"z/our/own/{file}", 1)


def test_the_name_of_a_field_means_what_holds_it(search, project):
    (project / "router.rs").write_text(
        "pub struct Router {\n    routes: Vec<Route>,\n    v7_checks: bool,\n}\n"
    )
    (project / "checks.rs").write_text("pub fn checks_v8() -> bool {\n    true\n}\n")
    best = search("v7_checks")[0]
    assert best.filename == "router.rs"
    assert best.explain.boosts["exact_text"] == 1


def test_a_part_of_a_path_in_very_many_chunks_means_none_of_them(search, project):
    (project / "shop.core").mkdir()
    (project / "shop.core" / "cart.py").write_text("total = 0\n")
    for number in range(MAX_MESSAGE_CHUNKS + 5):
        (project / f"use{number}.py").write_text(f"import shop.core\nstep = {number}\n")
    hits = search("shop.core/cart.py")
    assert hits[0].filename == "shop.core/cart.py"
    assert all("exact_text" not in hit.explain.boosts for hit in hits[1:])


def test_a_field_that_a_chunk_names_is_found_by_half_of_it(search, project):
    (project / "Identity.cs").write_text(
        "public class Identity {\n    private readonly Type parametersType;\n}\n"
    )
    (project / "parameter.cs").write_text("// a parameter, its type, parameters, types\n")
    assert search("parametersT")[0].filename == "Identity.cs"


def test_where_a_name_is_called_is_not_where_it_is_defined(search, project):
    (project / "caller.py").write_text("def close(queue):\n    drain_retry_queue()\n")
    hits = search("drain_retry_queue()")
    assert hits[0].filename == "odd.py"
    assert all("exact_text" not in hit.explain.boosts for hit in hits)


def test_what_begins_many_names_tells_none(search, project):
    many = (f"def drain_{number}():\n    pass\n" for number in range(MAX_SIMILAR_NAMES))
    (project / "many.py").write_text("\n".join(many))
    assert all("exact_symbol" not in hit.explain.boosts for hit in search("drain"))


@pytest.mark.parametrize(
    ("text", "leads"), [("handle_event", True), ("log each handle_event", False)]
)
def test_what_very_many_define_is_not_what_a_sentence_is_about(search, project, text, leads):
    for number in range(MAX_DEFINING + 1):
        (project / f"view{number}.py").write_text("def handle_event(event):\n    return event\n")
    (project / "log.py").write_text("def log(event):\n    print(f'handle_event: {event}')\n")
    best = search(text)[0]
    assert ("exact_symbol" in best.explain.boosts, best.filename != "log.py") == (leads, leads)


def test_what_another_source_defines_is_not_looked_for(search, project, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / "else.py").write_text("def drain_rerty_queue():\n    pass\n")
    assert search("drain_rerty_queue", other)[0].filename == "else.py"
    assert search("drain_rerty_queue", sources=("project",))[0].filename == "odd.py"


def test_half_a_name_that_has_the_stem_of_very_many_words_is_half_of_one(search, project):
    (project / "profiles.py").write_text("class Profile:\n    pass\n")
    for number in range(MAX_PHRASE_CHUNKS + 1):
        (project / f"use{number}.py").write_text(f"kept_{number} = Profile('profile {number}')\n")
    best = search("Profil")[0]
    assert best.filename == "profiles.py"
    assert best.explain.boosts["exact_symbol"] == 1


def test_a_word_in_lower_case_means_names_in_any_case_however_often_it_is_written(search, project):
    (project / "queue.py").write_text("class RetryQueue:\n    pass\n")
    uses = "".join(f"# a retryqueue is used here, {number}\n" for number in range(40))
    (project / "retryqueue.md").write_text(uses)
    assert search("retryqueue")[0].filename == "queue.py"


@pytest.mark.parametrize("word", ["ledgers", "manual"])
def test_a_word_that_nothing_defines_means_the_file_that_is_called_so(search, project, word):
    texts = {
        "src/ledgers.py": "SUMS = {}",
        "docs/ledgers.md": "Of ledgers: ledgers of the shop.",
        "tests/test_ledgers.py": "# ledgers and more ledgers, as the manual has it",
        "docs/manual.md": "How the shop is run.",
        "docs/index.md": "The manual: a manual for ledgers.",
    }
    for path, text in texts.items():
        (project / path).parent.mkdir(exist_ok=True)
        (project / path).write_text(f"{text}\n")
    best = search(word)[0]
    assert best.filename == {"ledgers": "src/ledgers.py", "manual": "docs/manual.md"}[word]
    assert best.explain.boosts["exact_path"] == 1


def test_a_word_that_many_files_are_called_means_none_of_them(search, project):
    for folder in "abcd":
        (project / folder).mkdir()
        (project / folder / "ledgers.py").write_text("SUMS = {}\n")
    assert all("exact_path" not in hit.explain.boosts for hit in search("ledgers"))
