"""Who does what: whatever the number of processes, together they do each update once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from glassformer.config import BOS, EOS, PAD
from glassformer.data.batches import Batch, Batches
from glassformer.data.store import Store, build_store
from glassformer.text.kinds import train_tokenizer
from glassformer.train.run.distributed import (
    LAUNCH,
    ProcessGroup,
    join_group,
    sign,
    was_begun_by,
    weightless,
)
from glassformer.train.run.micro_batching import MicroBatching

LINES = [" ".join("abcdefgh"[: 1 + n % 8]) for n in range(60)]


@pytest.fixture(scope="module")
def batches(tmp_path_factory: pytest.TempPathFactory) -> Batches:
    folder = tmp_path_factory.mktemp("store")
    tokenizer = train_tokenizer(LINES, 300)
    build_store(folder / "s", [(x, x[::-1]) for x in LINES], tokenizer, tokenizer, max_length=50)
    return Batches(Store.open(folder / "s"), batch_tokens=96, seed=3)


@pytest.mark.parametrize("gradient_accumulation", [1, 2, 3, 5])
@pytest.mark.parametrize("size", [1, 2, 3, 4, 9])
def test_every_pair_once(batches: Batches, size: int, gradient_accumulation: int) -> None:
    """Row by row what one process alone would see, in the same place of the same micro-batch."""
    steps = -(-batches.count(0) // gradient_accumulation)
    for step in range(steps):
        expected = {}
        for number, place in enumerate(batches.places(step, gradient_accumulation)):
            batch = batches.batch(*place)
            for row in range(len(batch.rows)):
                key = (number, row, len(batch.rows))
                expected[key] = (batch.source_BS[row].tolist(), batch.target_BT[row].tolist())
        found = {}
        for rank in range(size):
            for batch in ProcessGroup(rank, size).deal(batches, step, gradient_accumulation):
                first, whole = batch.part or (0, len(batch.rows))
                for row in range(len(batch.rows)):
                    key = (batch.number, first + row, whole)
                    assert key not in found
                    found[key] = (batch.source_BS[row].tolist(), batch.target_BT[row].tolist())
        assert found == expected


@pytest.mark.parametrize("gradient_accumulation", [1, 2, 3, 5])
@pytest.mark.parametrize("size", [2, 3, 9])
def test_even_shares_are_as_many(batches: Batches, size: int, gradient_accumulation: int) -> None:
    """Processes that hold parts of one model work in step: who has nothing does what weighs 0."""
    for step in range(4):
        dealt = [
            ProcessGroup(rank, size).deal(batches, step, gradient_accumulation, True)
            for rank in range(size)
        ]
        assert len({len(each) for each in dealt}) == 1
        real = [b for each in dealt for b in each if (b.target_BT[:, 1:] != PAD).any()]
        places = batches.places(step, gradient_accumulation)
        assert sum(len(b.rows) for b in real) == sum(
            len(batches.batch(*place).rows) for place in places
        )


def test_work_that_weighs_nothing() -> None:
    target = np.array([[BOS, 7, EOS]])
    found = weightless(Batch(np.array([[5, EOS]]), target, np.array([4]), 2))
    assert (found.target_BT[:, 1:] == PAD).all() and found.target_BT[0, 0] == BOS
    assert found.source_BS.tolist() == [[EOS, PAD]] and found.number == 2


@pytest.mark.parametrize("count", [1, 2, 3, 7, 20])
def test_a_batch_is_cut_into_parts_that_make_the_whole(batches: Batches, count: int) -> None:
    batch = batches.batch(0, 0).numbered(3)
    parts = batch.cut(count)
    assert len(parts) == count
    assert np.array_equal(np.concatenate([each.source_BS for each in parts]), batch.source_BS)
    assert np.array_equal(np.concatenate([each.target_BT for each in parts]), batch.target_BT)
    sizes = [len(each.rows) for each in parts]
    assert max(sizes) - min(sizes) <= 1
    twice = [half for each in parts for half in each.cut(2)]
    starts = [each.part[0] for each in twice if each.part]
    assert starts == [sum(len(x.rows) for x in twice[:n]) for n in range(len(twice))]
    assert {each.number for each in twice} == {3}


@pytest.mark.parametrize("cells", [1, 50, 77, 10_000])
def test_room_is_kept(batches: Batches, cells: int) -> None:
    """No part is larger than allowed, unless it is a single pair; none is empty."""
    batch = batches.batch(0, 1)
    parts = MicroBatching(cells).fit(batch)
    assert sum(len(each.rows) for each in parts) == len(batch.rows)
    assert all(each.cells <= cells or len(each.rows) == 1 for each in parts)
    assert all(len(each.rows) for each in parts)


def test_places_are_those_of_the_batches_in_turn(batches: Batches) -> None:
    count = batches.count(0)
    assert batches.places(0, 3) == [(0, 0), (0, 1), (0, 2)]
    assert batches.places(count - 1, 1) == [(0, count - 1)]
    assert batches.place(7 * count + 1) == (7, 1)


def test_alone_there_is_nothing_to_tell() -> None:
    group = ProcessGroup()
    assert group.sum(1, 2.5) == [1, 2.5] and group.gather({"a": 1}) == [{"a": 1}]
    with group.first_of_all():
        pass


def test_without_torchrun_we_are_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RANK", "WORLD_SIZE", "TORCHELASTIC_RESTART_COUNT"):
        monkeypatch.delenv(name, raising=False)
    with join_group("cpu") as group:
        assert group == ProcessGroup()
    monkeypatch.setenv("WORLD_SIZE", "4")  # alone, this says nothing
    with join_group("cpu") as group:
        assert group.size == 1


def test_only_the_launch_that_began_it_goes_on_unasked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "first")
    sign(ProcessGroup(), tmp_path)
    assert (tmp_path / LAUNCH).read_text(encoding="utf-8") == "first"
    assert was_begun_by(ProcessGroup(attempt=1), tmp_path)
    assert not was_begun_by(ProcessGroup(), tmp_path), "a first attempt is a new training"
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "second")
    assert not was_begun_by(ProcessGroup(attempt=1), tmp_path)
