"""Rings of memories that supersede each other."""

from __future__ import annotations

import pytest

from memory_sidecar.memories.health import in_rings


@pytest.mark.parametrize(
    ("following", "expected"),
    [
        ("a>b b>c", ""),
        ("a>b b>a", "ab"),
        ("a>b b>c c>a x>a", "abc"),
        ("a>b b>a b>c c>d d>c", "abcd"),
        ("a>b b>c c>d d>b c>e e>c a>f", "bcde"),
        ("a>b b>c a>c c>d d>e e>d", "de"),
    ],
)
def test_a_ring_is_all_that_leads_back_to_itself(following, expected):
    steps: dict[str, list[str]] = {}
    for step in following.split():
        steps.setdefault(step[0], []).append(step[2])
    assert sorted(in_rings(steps)) == list(expected)


class Asked(dict[str, list[str]]):
    """Counts how often it is asked what follows a name."""

    count = 0

    def get(self, *given):
        self.count += 1
        return super().get(*given)


def test_what_follows_each_name_is_asked_once_however_many_rings_there_are():
    steps = Asked({f"{number}": [f"{number ^ 1}"] for number in range(2_000)})
    assert len(list(in_rings(steps))) == 2_000
    assert steps.count <= 2_000
    chain = Asked({f"{number}": [f"{number + 1}"] for number in range(20_000)})
    assert list(in_rings(chain)) == []
