"""Rows whose files are gone make room for the next ones."""

from __future__ import annotations

import pytest

from memory_sidecar.disk.roots import first_present


@pytest.mark.parametrize(
    ("gone", "limit", "wanted"),
    [
        ((), 3, [0, 1, 2]),
        ((0, 2), 3, [1, 3, 4]),
        (range(8), 3, [8, 9]),
        (range(10), 3, []),
        ((1,), None, [0, 2, 3, 4, 5, 6, 7, 8, 9]),
    ],
)
def test_the_first_rows_that_are_present_are_found(gone, limit, wanted):
    def fetch(count):
        return list(range(10))[: None if count == -1 else count]

    assert first_present(fetch, lambda row: row not in gone, limit) == wanted


def test_rows_are_asked_for_a_few_times_however_many_are_gone():
    asked = []

    def fetch(count):
        asked.append(count)
        return list(range(count))

    assert first_present(fetch, lambda row: row >= 5_000, 5) == [*range(5_000, 5_005)]
    assert len(asked) < 15
    assert asked[-1] < 20_000
