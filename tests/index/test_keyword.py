"""Words are split the same way on both sides, and no query is FTS5 syntax."""

from __future__ import annotations

from unicodedata import normalize

import apsw
import pytest

from memory_sidecar.code.store import CHUNKS
from memory_sidecar.index.keyword import (
    BM25_HALF,
    document_frequencies,
    keyword_scores,
    keywords_of,
    stems_of,
)
from memory_sidecar.index.words import (
    MAX_PHRASE_WORDS,
    index_words,
    name_apart,
    words_and_phrases,
)

BODIES = {
    1: "def parseHttpResponse(self, response):",
    2: "parse_http_response = None",
    3: "class Cart: total = 0",
    4: "日本語の検索エンジン",
    5: "import os",
    6: "admins log in with 2FA",
    7: "postgresql://",
}


@pytest.fixture
def connection(make_database):
    return make_database(BODIES)


def found(connection, text):
    ids, scores = keyword_scores(
        connection, CHUNKS, keywords_of(connection, CHUNKS, text), limit=10
    )
    assert all(scores[:-1] >= scores[1:])
    return ids.tolist()


@pytest.mark.parametrize(
    "query", ["parseHttpResponse", "parse_http_response", "parse.http.response", "http response"]
)
def test_an_identifier_is_found_however_it_is_written(connection, query):
    assert set(found(connection, query)) == {1, 2}


@pytest.mark.parametrize("query", ["2FA", "2fa", "my_2FA"])
def test_a_word_that_begins_with_a_digit_is_found_in_capitals(connection, query):
    assert found(connection, query) == [6]


def test_a_whole_camel_case_word_is_found_in_lower_case(connection):
    assert found(connection, "parsehttpresponse") == [1]
    assert found(connection, "PostgreSQL") == [7]


def test_inflected_words_meet_in_their_stem(connection):
    assert found(connection, "totals") == [3]


@pytest.mark.parametrize("query", ["検索", "日本語"])
def test_scripts_without_spaces_are_found_by_part(connection, query):
    assert found(connection, query) == [4]


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("यहाँ हिन्दी में खोज", "हिन्दी"),
        ("مُحَمَّد", "محمد"),
        ("שָׁלוֹם", "שלום"),
        ("Straße", "STRASSE"),
        ("IŞIK", "\u0131ş\u0131k"),
        ("ΟΔΟΣ", "οδός"),
        ("ещё", "еще"),
        ("tiếng Việt", "tieng viet"),
        ("Łódź", "lodz"),
        ("\uff28\uff34\uff34\uff30", "http"),
        ("パスワード", "ﾊﾟｽﾜｰﾄﾞ"),
        ("佐々木", "佐々木"),
        ("ພາສາລາວ", "ພາສາ"),
        ("найтиПользователя", "пользователя"),
        ("berechneÄnderung", "änderung"),
        *(
            (text, normalize("NFD", text))
            for text in ("Größe", "한국어", "パスワード", "й", "Việt")
        ),
    ],
)
def test_a_word_is_found_however_its_script_writes_it(text, query):
    words, phrases = words_and_phrases(query)
    indexed = f" {' '.join(stems_of(text))} "
    assert words or phrases
    assert all(f" {' '.join(stems_of(term))} " in indexed for term in (*words, *phrases))
    assert all(len(word) > 1 for word in words if len(query) > 2)  # not cut at each vowel sign


def test_a_word_counts_once_however_it_is_written():
    assert words_and_phrases("MIME of GitHub-URL") == (
        ["mime", "of", "git", "hub", "url"],
        ["git hub url", "github"],
    )


def test_a_phrase_is_asked_for_by_a_bounded_number_of_words():
    path = [f"part{number}" for number in range(200)]
    unspaced = "本" * 200
    assert words_and_phrases("/".join(path))[1] == [" ".join(path[-MAX_PHRASE_WORDS:])]
    assert words_and_phrases(f"a/{unspaced}")[1] == ["本 本", " ".join("本" * MAX_PHRASE_WORDS)]


def test_a_word_is_found_beside_a_script_without_spaces():
    words, phrases = words_and_phrases("Redisの設定")
    assert words == ["redis"]
    assert phrases == ["redis の", "の 設", "設 定"]


def test_characters_apart_are_no_match(connection):
    assert found(connection, "本検") == []


@pytest.mark.parametrize(
    "query",
    [
        '"',
        "*",
        "NEAR(",
        "-x",
        "AND",
        "OR NOT",
        "body:x",
        "^cart",
        "(",
        "cart)",
        "\0",
        "'",
        "😀",
        "{}",
    ],
)
def test_no_query_is_syntax(connection, query):
    found(connection, query)


def test_stopwords_count_only_when_nothing_else_is_there(connection):
    assert keywords_of(connection, CHUNKS, "how is the cart").terms == ("cart",)
    assert keywords_of(connection, CHUNKS, "how is the").terms == ("how", "is", "the")


def test_words_of_most_chunks_are_left_out_beside_rare_ones(make_database):
    asked = "shared gateway"
    for many, terms in ((10, ("shared", "gateway")), (11, ("gateway",))):
        bodies = dict.fromkeys(range(many), "shared") | {many: "gateway"}
        assert keywords_of(make_database(bodies), CHUNKS, asked).terms == terms


def test_words_are_counted_again_after_a_commit(connection):
    assert document_frequencies(connection, CHUNKS, ["os", "zzz"]) == (7, {"os": 1, "zzz": 0})
    writer = apsw.Connection(connection.filename)
    writer.execute("INSERT INTO chunk_words (rowid, body, symbols, path) VALUES (8, 'os', '', '')")
    writer.close()
    assert document_frequencies(connection, CHUNKS, ["os", "zzz"]) == (7, {"os": 2, "zzz": 0})


def test_coverage_is_the_share_of_weight_that_is_there(connection):
    keywords = keywords_of(connection, CHUNKS, "cart response")
    assert keywords.coverage(stems_of("shop/cart.py")) == pytest.approx(
        keywords.idf["cart"] / sum(keywords.idf.values())
    )
    assert keywords.coverage(stems_of("cart_responses.py")) == pytest.approx(1)
    assert keywords.coverage([]) == 0


def test_the_whole_of_a_question_is_the_weight_of_all_its_words(connection):
    keywords = keywords_of(connection, CHUNKS, "cart response")
    assert keywords.whole == sum(keywords.idf.values()) > 0
    assert keywords_of(connection, CHUNKS, "買い物").whole == BM25_HALF


def test_a_megabyte_of_query_is_cut(connection):
    assert len(keywords_of(connection, CHUNKS, "x1y2 " * 200_000).terms) <= 64


def test_names_are_remembered_and_strings_of_data_are_not():
    index_words("parseHttpResponse")
    known = name_apart.cache_info().currsize
    assert index_words("parseHttpResponse aB" + "c0D" * 1000).startswith("parse Http Response a B")
    assert name_apart.cache_info().currsize == known
