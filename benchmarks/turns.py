"""Let tasks that are compared take turns, so that other load on the machine affects all of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TypeVar

T = TypeVar("T")


def take_turns(
    works: Mapping[str, Callable[[], T]], rounds: int, warm_up: int = 1
) -> dict[str, list[T]]:
    """Call each work once in each round; return what each returned, by its name.

    The results of the first `warm_up` rounds are dropped.
    """
    found: dict[str, list[T]] = {name: [] for name in works}
    for number in range(rounds + warm_up):
        for name, work in works.items():
            result = work()
            if number >= warm_up:
                found[name].append(result)
    return found


def timed(work: Callable[[], object]) -> Callable[[], float]:
    """Return a work that does this one and returns the seconds that it took."""

    def run() -> float:
        began = time.perf_counter()
        work()
        return time.perf_counter() - began

    return run
