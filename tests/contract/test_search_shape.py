"""`search Q --db D/codebase.sqlite --top-k N --json-output`, as the host calls it."""

from __future__ import annotations

import json

import pytest


def test_hits_have_what_the_host_reads(sidecar, indexed, data_dir):
    done = sidecar(
        *("search", "how is a customer charged", "--db", data_dir / "codebase.sqlite"),
        *("--top-k", "3", "--json-output"),
    )
    assert (done.status, done.err) == (0, "")
    hits = done.json
    assert len(hits) == 3
    best = hits[0]
    assert (best["filename"], best["language"]) == ("shop/payment.py", "python")
    for hit in hits:
        assert {"filename", "location", "language", "code", "score"} <= hit.keys()
        assert 0 <= hit["score"] <= 1
    scores = [hit["score"] for hit in hits]
    assert scores == sorted(scores, reverse=True)


def test_location_opens_the_lines_of_the_code(run, indexed):
    for hit in run("search", "--all", "total price", "--json").json:
        start, end = map(int, hit["location"].split("-"))
        lines = (indexed / hit["filename"]).read_text("utf-8").split("\n")
        assert "\n".join(lines[start - 1 : end]) == hit["code"]


def test_the_same_question_gives_the_same_bytes(run, indexed):
    first = run("search", "--all", "retry with backoff", "--json", "--explain")
    assert run("search", "--all", "retry with backoff", "--json", "--explain").out == first.out


@pytest.mark.parametrize("mode", ["hybrid", "keyword", "vector"])
def test_every_mode_answers(run, indexed, mode):
    hits = run("search", "--all", "total price of the items", "--mode", mode, "--json").json
    assert hits[0]["filename"] in ("shop/cart.py", "shop/Order.cs")


def test_explanation_has_both_arms(run, indexed):
    best, *_ = run("search", "--all", "total_price", "--json", "--explain").json
    why = best["explain"]
    assert -1 <= why["cosine"] <= 1
    assert 0 < why["keyword"] < 1
    assert why["boosts"]["exact_symbol"] == 1


def test_explanation_says_how_fresh_the_source_is(run, indexed):
    (hit, *_) = run("search", "--all", "total_price", "--json", "--explain").json
    (source,) = run("status", "--json").json["sources"]
    assert hit["freshness"] == {
        "is_current": None,  # nobody watches
        "scanned_at": source["scanned_at"],
        "vectors_pending": 0,
    }
    assert "freshness" not in run("search", "--all", "total_price", "--json").json[0]


def test_a_budget_holds_for_all_code_together(run, indexed):
    hits = run("search", "--all", "price", "--max-tokens", "60", "--json").json
    assert hits
    assert sum(len(hit["code"]) for hit in hits) <= 240


def test_no_hits_is_an_empty_list(run, indexed):
    done = run("search", "--all", "xyzzyplugh", "--mode", "keyword", "--json")
    assert (done.status, done.json) == (0, [])


def test_no_index_is_an_error_with_a_hint(run, data_dir):
    done = run("search", "--all", "anything", "--json")
    assert done.status == 3
    assert done.error["code"] == "no_index"
    assert "memory-sidecar index" in done.error["hint"]
    assert not data_dir.exists()


def test_unknown_source_is_not_found(run, indexed):
    done = run("search", "cart", "--source", "nowhere", "--json")
    assert (done.status, done.error["code"]) == (3, "not_found")
    assert "project" in done.error["hint"]


def test_the_working_directory_chooses_the_source(run, indexed, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / "cart.py").write_text("def total_price(): return 0\n")
    run("index", other, "--wait", "keyword")

    def sources_from(cwd, *options):
        hits = run("search", "total_price", "--json", *options, cwd=cwd).json
        return {hit["source"] for hit in hits if "total_price" in hit["code"]}

    assert sources_from(indexed / "web") == {"project"}
    assert sources_from(other) == {"other"}
    assert sources_from(tmp_path, "--all") == {"project", "other"}
    assert sources_from(indexed / "web", "--all") == {"project", "other"}
    assert sources_from(tmp_path, "--source", "other") == {"other"}


def test_outside_of_every_source_nothing_is_guessed(run, indexed):
    done = run("search", "total_price", "--json")
    assert (done.status, done.error["code"], done.out) == (3, "no_index", "")
    assert "`memory-sidecar index .`" in done.error["hint"]
    assert "--all" in done.error["hint"]


def test_unknown_properties_can_be_ignored_and_none_is_missing(run, indexed):
    """What a deserializer without defaults would trip over."""
    for hit in run("search", "--all", "setup", "--json").json:
        assert all(hit[name] is not None for name in hit)
        assert json.dumps(hit["score"]) not in ("NaN", "Infinity")
