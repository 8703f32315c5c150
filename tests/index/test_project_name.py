"""The name of a project is left out of a question that is asked in it."""

from __future__ import annotations

import pytest

from memory_sidecar.index.project_name import without_project

ASKED = "how does shop round the prices"


@pytest.mark.parametrize(
    ("project", "left"),
    [
        ("shop", "how does it round the prices"),
        ("main", ASKED),
        ("shop." * 400_000, ASKED),  # as a pattern, it would not end within the time of a test
    ],
)
def test_the_name_of_a_project_is_left_out_where_it_stands_for_that(project, left):
    assert without_project(ASKED, project) == left
