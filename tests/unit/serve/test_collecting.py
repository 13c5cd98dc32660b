"""Garbage is collected seldom while a server runs: meanwhile nobody is answered."""

from __future__ import annotations

import gc

import pytest

pytest.importorskip("fastapi", reason="the extra `serve` is not installed")

from glassformer.extensions.documents.markup import read_markup
from glassformer.extensions.serve.running import NEW_OBJECTS, collect_seldom

PAGE = "<a href=x>a</a> " * 12_500  # 200,000 bytes


def count_whole_collections() -> int:
    """Return how often all objects were looked through."""
    return int(gc.get_stats()[2]["collections"])


def read_pages() -> int:
    """Return how often all objects are looked through while pages are read."""
    gc.collect()
    begun = count_whole_collections()
    kept = [read_markup(PAGE) for _ in range(3)]
    return count_whole_collections() - begun if kept else -1


def test_no_page_makes_a_server_look_through_all_objects() -> None:
    with collect_seldom():
        usual = gc.get_threshold()
        assert gc.get_freeze_count() > 10_000
        assert read_pages() == 0
        try:
            gc.set_threshold(700, 10, 10)  # as Python does
            assert read_pages() > 0
        finally:
            gc.set_threshold(*usual)


@pytest.mark.parametrize("is_frozen", [False, True])
def test_afterwards_all_is_as_it_was(is_frozen: bool) -> None:
    usual = gc.get_threshold()
    gc.freeze() if is_frozen else gc.unfreeze()
    first, second = collect_seldom(), collect_seldom()
    with first:
        second.__enter__()
        assert gc.get_threshold()[0] == NEW_OBJECTS
    assert gc.get_threshold()[0] == NEW_OBJECTS  # the second one runs on
    second.__exit__(None, None, None)
    assert gc.get_threshold() == usual and bool(gc.get_freeze_count()) == is_frozen
    gc.unfreeze()


def test_cycles_are_collected_all_the_same() -> None:
    class Node:
        """An object that nothing but itself refers to."""

        def __init__(self) -> None:
            self.own = self

    with collect_seldom():
        for _ in range(100_000):
            Node()
        assert sum(type(each) is Node for each in gc.get_objects()) < 30_000
