"""Which language a question is in, and which of its words are looked for."""

from __future__ import annotations

import numpy as np
import pytest

from memory_sidecar.index.keyword import weigh_keywords
from memory_sidecar.index.tongue import content_of, embed_subject, tongue_of


@pytest.mark.parametrize(
    ("question", "word"),
    [
        ("warum brechen Anweisungen hinter pgbouncer", "hinter"),
        ("welches ORM benutzt Harbor", "benutzt"),
        ("pourquoi démarrer le frontend", "demarrer"),
        ("¿dónde se guarda el event journal?", "guarda"),
        ("perché il server non risponde", "risponde"),
        ("onde está a chave", "chave"),
        ("waarom gebruiken we geen Redis", "redis"),
        ("varför används useEventStream", "anvands"),
        ("hvorfor fejler bygget", "fejler"),
        ("dlaczego kolejka jest pusta", "kolejka"),
    ],
)
def test_function_words_show_the_language_of_a_question(question, word):
    tongue = tongue_of(question)

    assert tongue is not None
    assert word not in tongue.function_words


@pytest.mark.parametrize(
    "question",
    [
        "how does the man page die on error",
        "user's commit style",
        "find_ob in .github/workflows/ci.yml",
        "actionL",
        "LoRaWAN gateway frequency plan",
        "why does der_encode want a war file",
        "jest pod aux",
        "comment style of functions",
        "comment style",
        "MIT license",
        "users want dark mode",
        "var declaration",
        "door sensor timeout",
        "dat file",
        "Los Angeles office",
        "VAD threshold",
        "von Neumann",
        "木村商事の請求書の要件",
        "",
    ],
)
def test_english_and_names_are_of_no_other_language(question):
    assert tongue_of(question) is None


def keywords_for(question, **rows):
    return weigh_keywords(question, lambda stems: (100, rows))


def test_only_words_that_rows_hold_count_and_no_function_words():
    question = "warum brechen Anweisungen hinter pgbouncer"
    keywords = keywords_for(question, warum=3, pgbouncer=1)

    content = content_of(keywords, question)

    assert list(content.idf) == ["pgbouncer"]
    assert content.terms == ("pgbouncer",)


def test_function_words_stay_where_nothing_else_is_asked():
    keywords = keywords_for("wer ist wer", wer=3)

    assert content_of(keywords, "wer ist wer") == keywords


def test_all_words_of_an_english_question_count():
    keywords = keywords_for("why does the pool break", pool=1)

    assert content_of(keywords, "why does the pool break") == keywords


def test_a_question_is_embedded_as_a_unit_vector_farther_from_its_language():
    question = "warum Kafka"
    language, subject = np.eye(2, dtype=np.float32)
    between = (language + subject) / np.float32(np.sqrt(2))

    vector = embed_subject(lambda t: between if t == question else language, question)

    assert vector @ language < between @ language
    assert np.linalg.norm(vector) == pytest.approx(1)
    assert vector.dtype == np.float32
