"""What a query insists on."""

from __future__ import annotations

import pytest

from memory_sidecar.sessions.model import Required


@pytest.mark.parametrize(
    ("query", "text", "phrases", "prefixes"),
    [
        ("token refresh", "token refresh", (), ()),
        ('"token refresh" fails', "token refresh fails", ("token refresh",), ()),
        ("refr* tok*", "refr tok", (), ("refr", "tok")),
        ('"a b" "a b" x* x*', "a b a b x x", ("a b",), ("x",)),
        ('"refr*"', "refr", ("refr*",), ()),
        ('say "hello', 'say "hello', (), ()),
        ('"" "?!"', "?!", (), ()),
        ("a*b *c **", "a*b *c **", (), ()),
        ("2 * 3", "2 * 3", (), ()),
        ('who read "The Alchemist"', "who read The Alchemist", (), ()),
        ('Did she read "The Alchemist"? ', "Did she read The Alchemist ?", (), ()),
        ("whenever tok*", "whenever tok", (), ("tok",)),
    ],
)
def test_quotes_and_stars_are_signs_where_they_can_be(query, text, phrases, prefixes):
    assert Required.of(query) == Required(text, phrases, prefixes)


def test_it_is_asked_whether_there_is_any():
    assert not Required.of("token").has_any
    assert Required.of("tok*").has_any
