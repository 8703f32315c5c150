"""The headings of a file of prose, each with the lines below it."""

from __future__ import annotations

import time

from memory_sidecar.chunking.prose import rst_sections_of, sections_of
from memory_sidecar.code.headings import stops_of


def test_a_section_ends_where_the_next_of_its_level_or_above_begins():
    rows = ["# a", "## b", "#### c", "### d", "## e", "# f", "text"]
    assert stops_of([*sections_of(rows)][1:], len(rows)) == [5, 4, 3, 4, 5, 7]


def test_the_headings_of_rst_are_what_is_underlined():
    text = """
======
 Shop
======

Prices
------
Sum::

    not a title
    ===========

======  =====
 a      b
======  =====

.. _carts:

Carts of many
lines of text
~~~

Carts
~~~~~
Taxes
-----
"""
    found = [(each.start, each.level, each.title) for each in rst_sections_of(text.split("\n"))]
    assert found == [(1, 1, "Shop"), (5, 2, "Prices"), (22, 3, "Carts"), (24, 2, "Taxes")]


def test_a_file_of_headings_takes_linear_time():
    sections = [*sections_of(["# a"] * 100_000)][1:]
    began = time.thread_time()
    assert stops_of(sections, 100_000)[-1] == 100_000
    assert time.thread_time() - began < 2
