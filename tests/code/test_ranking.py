"""How the candidates of a question come in order."""

from __future__ import annotations

import numpy as np
import pytest

from memory_sidecar.code.asides import in_tests
from memory_sidecar.code.history import HistoryBoost
from memory_sidecar.code.model import ChunkFile, CodeQuery
from memory_sidecar.code.named import Defining, NamedRows
from memory_sidecar.code.question import KEYWORD_WEIGHT, Question
from memory_sidecar.code.ranking import (
    FILE_WORDS_WEIGHT,
    FURTHER_CHUNK,
    Candidates,
    PathTerms,
    rank_hybrid,
)
from memory_sidecar.core.language import detect_language
from memory_sidecar.core.results import Silent
from memory_sidecar.index.scored import NAMED_FROM


def candidates(paths, cosine, keyword=None, history=None):
    files = sorted(set(paths))
    return Candidates(
        np.arange(1, len(paths) + 1),
        cosine=np.array(cosine),
        static=np.full(len(paths), np.nan),
        keyword=np.full(len(paths), np.nan) if keyword is None else np.array(keyword),
        files=[ChunkFile("a", path, detect_language(path)) for path in files],
        history=[(history or {}).get(path) for path in files],
        file_numbers=np.array([files.index(path) for path in paths], np.int32),
    )


def ranked(
    paths,
    cosine,
    text="what happens",
    *,
    symbols=None,
    history=None,
    keyword=None,
    words=(),
    scopes=None,
    at_lines=(),
):
    found = candidates(paths, cosine, keyword, history)
    question, none = Question.of(text), [""] * len(paths)
    return found, rank_hybrid(
        found,
        question,
        NamedRows(
            [
                Defining(question.match_bits(symbol), scope=scope)
                for symbol, scope in zip(symbols or none, scopes or none, strict=True)
            ],
            at_path=np.zeros(len(found.files), np.bool_),
            holds_text=np.zeros(len(paths), np.bool_),
            at_lines=np.array(at_lines, np.int64),
        ),
        path_terms=[PathTerms.of(question, file.path, 0.0) for file in found.files],
        words=words,
    )


def test_a_further_chunk_of_a_file_gives_way_to_another_file():
    found, result = ranked(["a.py", "a.py", "b.py"], [0.9, 0.8, 0.79])
    assert [found.ids[row] for row in found.ordered(result.scores)] == [1, 3, 2]
    assert result.steps["further_chunk"][1] < 0 == result.steps["further_chunk"][0]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("shop/migrations/0001_initial.py", "shop/migrations/0002_price.py"),
        ("db/migrate/20210301120000_add_price.rb", "db/migrate/20210401120000_add_tax.rb"),
        ("migrations/mysql/2021-03-01_price/up.sql", "migrations/sqlite/2021-03-01_price/up.sql"),
        ("src/db/migration/V1__price.sql", "src/db/migration/V2__tax.sql"),
        ("alembic/versions/0ab1c2d3e4f5_price.py", "alembic/versions/1ab1c2d3e4f5_tax.py"),
    ],
)
def test_a_further_migration_gives_way_to_another_file(first, second):
    found, result = ranked([first, second, "shop/models.py"], [0.9, 0.8, 0.79])
    assert [found.ids[row] for row in found.ordered(result.scores)] == [1, 3, 2]


def test_files_beside_migrations_and_versions_are_no_series():
    paths = ["migrations/run.py", "migrations/lock.py", "versions/1.2.3/notes.py", "shop/100_a.py"]
    _, result = ranked(paths, [0.9, 0.8, 0.7, 0.6])
    assert not result.steps["further_chunk"].any()


def test_no_more_than_two_further_chunks_of_a_file_lend_to_its_best():
    lent = [
        ranked(["a.py"] * chunks + ["b.py"], [*[0.9, 0.8, 0.7, 0.6][:chunks], 0.1])[1]
        for chunks in (2, 3, 4)
    ]
    two, three, four = (result.boosts["same_file"][0] for result in lent)
    assert 0 < two < three == four


def test_chunks_of_one_file_alone_keep_their_order_and_end_at_a_floor():
    found, result = ranked(["a.py"] * 6, [0.9, 0.89, 0.88, 0.87, 0.86, 0.85])
    assert found.ordered(result.scores) == [0, 1, 2, 3, 4, 5]
    assert result.scores[5] > result.scores[1] * FURTHER_CHUNK**3


@pytest.mark.parametrize(
    ("text", "first"),
    [("how is the body read", 1), ("what tests the reading of the body", 0)],
)
def test_code_comes_before_the_tests_beside_it_unless_these_are_asked_for(text, first):
    found, result = ranked(["a.rs", "b.rs"], [0.8, 0.75], text, scopes=["tests", ""])
    assert found.ordered(result.scores)[0] == first
    for row in range(2):
        explanation = result.explain(row)
        assert sum(explanation.terms.values()) == pytest.approx(result.scores[row], abs=1e-5)


@pytest.mark.parametrize(
    ("symbols", "scope", "expected"),
    [
        (["reads_all"], "tests", True),
        (["reads_all"], "tests.Reader", True),
        (["body_tests", "reads_all"], "", True),
        (["test"], "", True),
        (["latest"], "", False),
        (["reads_all"], "Tests", False),
        (["reads_all"], "Reader.tests", False),
        ([], "", False),
    ],
)
def test_a_module_of_tests_is_known_by_its_name(symbols, scope, expected):
    assert in_tests(symbols, scope) is expected


def test_what_is_explained_adds_up_for_every_chunk():
    _, result = ranked(["tests/a.py", "tests/a.py", "b.py"], [0.9, 0.8, 0.7])
    for row in range(3):
        explanation = result.explain(row)
        assert sum(explanation.terms.values()) == pytest.approx(result.scores[row], abs=1e-5)


def test_words_that_sixty_candidates_hold_as_well_tell_nothing_but_of_tests():
    paths = ["a.py"] * 60 + ["tests/a.py"] * 60 + ["b.py"]
    _, result = ranked(paths, [0.7] * 121, keyword=[0.3] * 60 + [0.6] * 60 + [0.5])
    summed = result.summands["keyword"] / KEYWORD_WEIGHT
    assert summed.tolist() == pytest.approx([0.0] * 60 + [0.3] * 60 + [0.2])
    _, result = ranked(paths[1:], [0.7] * 120, keyword=[0.3] * 59 + [0.6] * 60 + [0.3])
    assert not result.summands["keyword"][:59].any()
    few = paths[2:]
    _, result = ranked(few, [0.7] * 119, keyword=[0.3] * 58 + [0.6] * 60 + [0.5])
    assert result.summands["keyword"][0] == pytest.approx(0.3 * KEYWORD_WEIGHT)


def test_a_file_whose_chunks_hold_the_words_together_comes_before_one_that_holds_a_few():
    paths = ["a.py", "b.py", "b.py", *(f"{n}.py" for n in range(60))]
    words = [(0.5, np.array([1, 2])), (0.5, np.array([3]))]
    found, result = ranked(paths, [0.7] * 63, words=words)
    assert found.ordered(result.scores)[0] == 1
    held = result.summands["file_words"] / FILE_WORDS_WEIGHT
    assert held[:3].tolist() == pytest.approx([0.5, 2**-0.25, 2**-0.25])


def test_words_that_many_files_hold_count_for_each_of_them():
    _, result = ranked([f"{n}.py" for n in range(70)], [0.7] * 70, words=[(0.5, np.arange(1, 71))])
    assert result.summands["file_words"].tolist() == pytest.approx([0.5 * FILE_WORDS_WEIGHT] * 70)


def test_a_file_that_commits_of_the_like_changed_comes_first():
    history = {"b.py": HistoryBoost(0.1, ("Fix what happens",))}
    found, result = ranked(["a.py", "b.py"], [0.7, 0.7], history=history)
    assert found.ordered(result.scores) == [1, 0]
    assert result.explain(1).terms["history"] > 0


def test_a_file_whose_names_cover_the_question_comes_first():
    found, result = ranked(
        ["a.py", "a.py", "b.py", "b.py"],
        [0.7] * 4,
        "parse the response headers",
        symbols=["run", "stop", "parse_response", "read_headers"],
    )
    assert found.ids[found.ordered(result.scores)[0]] == 3
    assert not result.boosts["defined"][:2].any()


def test_a_question_for_a_guide_puts_the_readme_before_tests_and_code():
    paths = ["tests/test_run.py", "run.py", "README.md", "CHANGELOG.md"]
    found, result = ranked(paths, [0.75, 0.72, 0.68, 0.68], "how do I run the tests")
    best = [paths[row] for row in found.ordered(result.scores)]
    assert best[0] == "README.md"
    assert result.boosts["guide"].tolist() == [0, 0, 0.3, 0]
    assert result.boosts["tests"][0] < 0


@pytest.mark.parametrize("path", ["README.fr.md", "README.zh-CN.md", "docs/fr/usage.md"])
def test_the_guide_comes_before_its_translations(path):
    paths = [path, "README.md"]
    found, result = ranked(paths, [0.75, 0.68], "how do I install it")
    assert paths[found.ordered(result.scores)[0]] == "README.md"


def test_files_that_are_called_tests_are_no_guide_to_testing():
    paths = ["tests/test_tests.py", "README.md"]
    found, result = ranked(paths, [0.75, 0.6], "how to test")
    assert paths[found.ordered(result.scores)[0]] == "README.md"
    assert result.boosts["path"].tolist() == [0, 0]


def test_code_keeps_its_place_where_no_guide_is_asked_for():
    paths = ["run.py", "README.md"]
    found, result = ranked(paths, [0.7, 0.75], "what runs the tests")
    assert paths[found.ordered(result.scores)[0]] == "run.py"


def test_chunks_at_lines_come_first_in_their_order_and_within_the_scale():
    found, result = ranked(["a.py", "a.py", "b.py", "c.py"], [0.9, 0.2, 0.1, 0.8], at_lines=[2, 1])
    assert [found.ids[row] for row in found.ordered(result.scores)] == [3, 2, 1, 4]
    assert 1 > result.scores[2] > result.scores[1] > NAMED_FROM


@pytest.mark.parametrize(("name", "is_aside"), [("cart.yaml", False), ("cart.py", True)])
def test_docs_are_no_aside_where_hardly_anything_is_code(make_codebase, tmp_path, name, is_aside):
    (tmp_path / name).write_text("cart: total = 0\n")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/cart.md").write_text("# Carts\n\nThe total of a cart is rounded once.\n")
    codebase = make_codebase()
    codebase.index([tmp_path], reporter=Silent())
    hits = codebase.search(CodeQuery("where is a cart rounded", explain=True), reporter=Silent())
    (docs,) = [hit for hit in hits if hit.filename == "docs/cart.md"]
    assert ("docs" in docs.explain.terms) is is_aside
