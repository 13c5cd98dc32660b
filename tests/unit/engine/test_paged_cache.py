"""What decoding in C remembers: places are used again, and nothing that is still wanted is lost."""

from __future__ import annotations

import random

import pytest
import torch

from glassformer.engine.paged_cache import Memory, PagedCache

W = 4  # beams


def begin(sentences: int) -> PagedCache:
    memory = torch.empty(1, 3, 2)
    length_B = torch.full((sentences,), 3)
    return PagedCache([Memory(memory, memory.data_ptr(), 0)] * sentences, length_B, (1, 2), 1000)


def step(past: PagedCache, written: list[list[int]], number: int) -> None:
    """Each row writes a number of its own."""
    tokens_R1 = torch.arange(len(written))[:, None]  # no two rows begin alike
    new = past.make_room(tokens_R1).new_N.long()
    past.tables[0, new, 0] = torch.arange(len(written)).bfloat16()
    past.tables[0, new, 1] = float(number)
    past.length_R = past.length_R + 1
    for row, own in enumerate(written):
        own.append(row + 1000 * number)


def read(past: PagedCache, row: int) -> list[int]:
    places = past.place_RT[row, : int(past.length_R[row])].long()
    return [int(row) + 1000 * int(number) for row, number in past.tables[0, places].tolist()]


@pytest.mark.parametrize("seed", range(5))
def test_what_a_row_has_written_stays(seed: int) -> None:
    """Rows go on from any row of their sentence; sentences end, and others join."""
    draw = random.Random(seed)
    past, written = begin(3), [[] for _ in range(3 * W)]
    past.keep(torch.arange(3).repeat_interleave(W))
    for number in range(1, 120):
        step(past, written, number)
        stay = [b for b in range(len(written) // W) if draw.random() > 0.1] or [0]
        rows = [b * W + draw.randrange(W) for b in stay for _ in range(W)]
        past.keep(torch.tensor(rows))
        written = [[*written[row]] for row in rows]
        while len(written) < 3 * W:
            joins = begin(1)
            joins.keep(torch.zeros(W, dtype=torch.long))
            past.join(joins)
            written += [[] for _ in range(W)]
        assert [read(past, row) for row in range(len(written))] == written


def test_places_are_used_again() -> None:
    """Of 800 that a sentence writes it goes on from 200: the others need no room of their own."""
    past, written = begin(1), [[] for _ in range(W)]
    past.keep(torch.zeros(W, dtype=torch.long))
    for number in range(1, 201):
        step(past, written, number)
        past.keep(torch.zeros(W, dtype=torch.long))
        written = [[*written[0]] for _ in range(W)]
    named = past.place_RT[:, :200].unique()
    assert len(named) == 200
    assert named.max() < 350
    assert past.capacity < 500
