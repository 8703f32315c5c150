"""Methods whose results their object keeps."""

from __future__ import annotations

import weakref

from memory_sidecar.core.cached_method import cached_method


class _Shelf:
    def __init__(self, name: str) -> None:
        self.name = name
        self.asked: list[tuple[str, bool]] = []

    @cached_method
    def find(self, title: str, *, whole: bool = True) -> str | None:
        self.asked.append((title, whole))
        return f"{self.name}: {title}" if title else None


def test_a_result_is_computed_once_for_its_arguments_be_it_none() -> None:
    shelf = _Shelf("left")
    assert [shelf.find("Emma"), shelf.find("Emma"), shelf.find("")] == ["left: Emma"] * 2 + [None]
    assert shelf.find("") is None
    assert shelf.find("Emma", whole=False) == "left: Emma"
    assert shelf.asked == [("Emma", True), ("", True), ("Emma", False)]


def test_each_object_has_its_own_results() -> None:
    assert [_Shelf(name).find("Emma") for name in ("left", "right")] == [
        "left: Emma",
        "right: Emma",
    ]


def test_results_go_with_their_object_at_once() -> None:
    shelf = _Shelf("left")
    shelf.find("Emma")
    gone = weakref.ref(shelf)
    del shelf
    assert gone() is None
