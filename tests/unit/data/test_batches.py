"""Every pair once an epoch, no batch too large, and each found without the others."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from itertools import islice, pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from glassformer.data.batches import FEW_SHAPES, ROWS, Batch, Batches, cut_batches
from glassformer.data.corpus import find_data
from glassformer.data.masking import LabelledBatches, MaskedBatches
from glassformer.data.store import Store, build_store
from glassformer.data.tables import Pair
from glassformer.text import BOS, EOS, PAD, Tokenizer
from glassformer.text.kinds import train_tokenizer

BUDGET = 90


@pytest.fixture(scope="module")
def folder(
    tmp_path_factory: pytest.TempPathFactory, pairs: list[Pair], tokenizer: Tokenizer
) -> Path:
    folder = tmp_path_factory.mktemp("batches") / "store"
    build_store(
        folder, pairs, tokenizer, tokenizer, max_length=100, samples=3, sampling=0.2, seed=1
    )
    return folder


@pytest.fixture(scope="module")
def store(folder: Path) -> Store:
    return Store.open(folder)


@pytest.fixture
def batches(store: Store) -> Batches:
    return Batches(store, batch_tokens=BUDGET, seed=1)


def read_epoch(batches: Batches, epoch: int) -> list[Batch]:
    return [batches.batch(epoch, index) for index in range(batches.count(epoch))]


def equal(one: Batch, other: Batch) -> bool:
    return (
        np.array_equal(one.rows, other.rows)
        and np.array_equal(one.source_BS, other.source_BS)
        and np.array_equal(one.target_BT, other.target_BT)
    )


@pytest.mark.parametrize("epoch", [0, 1, 2, 3])
def test_every_pair_once_an_epoch(batches: Batches, store: Store, epoch: int) -> None:
    rows = np.concatenate([batch.rows for batch in read_epoch(batches, epoch)])
    assert sorted(rows.tolist()) == list(range(len(store)))


@pytest.mark.parametrize("epoch", [0, 1, 5])
def test_a_batch_holds_the_ids_of_its_pairs(batches: Batches, store: Store, epoch: int) -> None:
    for batch in read_epoch(batches, epoch):
        assert batch.source_BS.dtype == batch.target_BT.dtype == np.int64
        for row, source, target in zip(batch.rows, batch.source_BS, batch.target_BT, strict=True):
            tokens = [*store.source(row, epoch), EOS]
            assert source.tolist() == tokens + [PAD] * (len(source) - len(tokens))
            tokens = [BOS, *store.target(row, epoch), EOS]
            assert target.tolist() == tokens + [PAD] * (len(target) - len(tokens))
        assert batch.source_BS[:, -FEW_SHAPES:].any(0)[0]
        assert batch.target_BT[:, -FEW_SHAPES:].any(0)[0]


def test_few_shapes_occur(batches: Batches) -> None:
    for batch in read_epoch(batches, 0):
        assert batch.source_BS.shape[1] % FEW_SHAPES == 0
        assert (batch.target_BT.shape[1] - 1) % FEW_SHAPES == 0


@pytest.mark.parametrize("kind", [Batches, LabelledBatches, partial(MaskedBatches, vocabulary=99)])
def test_the_padding_stays_within_the_positions(store: Store, kind: Callable[..., Batches]) -> None:
    most = max(int(side.max()) for epoch in range(5) for side in store.lengths(epoch)) + 1
    assert most % 8
    batches = kind(store, batch_tokens=BUDGET, seed=1, pad_to=8, positions=most)
    for batch in (*read_epoch(batches, 0), *batches.worst()):
        assert batch.source_BS.shape[1] <= most + (kind is not Batches)  # a class token
        assert batch.target_BT.shape[1] - 1 <= most + (kind is not Batches)


def test_without_rounding_the_longest_fills_its_side(store: Store) -> None:
    exact = Batches(store, batch_tokens=BUDGET, seed=1, pad_to=1)
    for batch in read_epoch(exact, 0):
        assert batch.source_BS[:, -1].any()
        assert batch.target_BT[:, -1].any()
    assert exact.count(0) < Batches(store, batch_tokens=BUDGET, seed=1).count(0)


@pytest.mark.parametrize("budget", [1, 25, 200, 10**6])
def test_the_budget_is_kept(store: Store, budget: int) -> None:
    batches = Batches(store, batch_tokens=budget, seed=1)
    for batch in read_epoch(batches, 0):
        longest = max(batch.source_BS.shape[1], batch.target_BT.shape[1] - 1)
        assert len(batch.rows) * longest <= budget or len(batch.rows) == 1
    assert batches.count(0) == {1: 300, 10**6: 1}.get(budget, batches.count(0))


@given(st.lists(st.integers(1, 9), min_size=1, max_size=80), st.integers(1, 200))
def test_no_cut_is_early(lengths: list[int], budget: int) -> None:
    lengths.sort()
    starts = cut_batches(np.array(lengths), budget).tolist()
    assert starts[0] == 0
    assert starts[-1] == len(lengths)
    for start, end in pairwise(starts):
        assert end - start == 1 or (end - start) * lengths[end - 1] <= budget
        more = end - start + (1 if end - start < ROWS else ROWS)
        assert start + more > len(lengths) or more * lengths[start + more - 1] > budget
        assert end - start <= ROWS or (end - start) % ROWS == 0 or end == len(lengths)


def test_epochs_and_seeds_differ(store: Store, batches: Batches) -> None:
    first = batches.batch(0, 0).rows.tolist()
    assert first != batches.batch(3, 0).rows.tolist()  # the same segmentation
    assert first != Batches(store, batch_tokens=BUDGET, seed=2).batch(0, 0).rows.tolist()
    lengths = [batch.source_BS.shape[1] for batch in read_epoch(batches, 0)]
    assert lengths != sorted(lengths)


def test_to_seek_is_to_iterate(store: Store, batches: Batches) -> None:
    total = sum(map(batches.count, range(4))) + 3
    run = list(islice(batches.from_step(0), total))
    expected = [batch for epoch in range(5) for batch in read_epoch(batches, epoch)][:total]
    assert all(map(equal, run, expected))
    for step in range(0, total // 2, 7):
        fresh = Batches(store, batch_tokens=BUDGET, seed=1)
        assert equal(fresh.batch(*fresh.place(step, accumulate=2)), run[2 * step])
        assert all(map(equal, islice(fresh.from_step(step, accumulate=2), 3), run[2 * step :]))


def test_epochs_may_have_different_counts(batches: Batches) -> None:
    counts = [batches.count(epoch) for epoch in range(6)]
    assert counts[:3] == counts[3:]
    assert len(set(counts)) > 1
    assert batches.place(counts[0] - 1) == (0, counts[0] - 1)
    assert batches.place(counts[0]) == (1, 0)
    assert batches.place(sum(counts) + 1) == (6, 1)


def test_the_same_in_another_process(folder: Path, batches: Batches) -> None:
    program = (
        "import sys; from glassformer.data.batches import Batches; "
        "from glassformer.data.store import Store; "
        f"batches = Batches(Store.open(sys.argv[1]), batch_tokens={BUDGET}, seed=1); "
        "batch = batches.batch(4, 2); "
        "print([batch.rows.tolist(), batch.source_BS.tolist(), batch.target_BT.tolist()])"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "3", "PYTHONPATH": os.pathsep.join(sys.path)}
    ran = subprocess.run(
        [sys.executable, "-c", program, str(folder)],
        capture_output=True,
        check=True,
        env=environment,
    )
    batch = batches.batch(4, 2)
    here = [batch.rows.tolist(), batch.source_BS.tolist(), batch.target_BT.tolist()]
    assert ran.stdout.decode().strip() == str(here)


def test_the_worst_batches(batches: Batches) -> None:
    def cells(batch: Batch) -> int:
        return int(batch.source_BS.size + batch.target_BT[:, 1:].size)

    every = [batch for epoch in range(3) for batch in read_epoch(batches, epoch)]

    def longest(batch: Batch) -> int:
        return max(batch.source_BS.shape[1], batch.target_BT.shape[1] - 1)

    most, last = batches.worst()
    assert cells(most) == max(map(cells, every))
    assert longest(last) == max(map(longest, every))


def test_no_such_batch(batches: Batches) -> None:
    for index in (-1, batches.count(0)):
        with pytest.raises(IndexError, match=f"epoch 0 has {batches.count(0)} batches"):
            batches.batch(0, index)


def test_little_of_real_text_is_padding(data: Path, tmp_path: Path) -> None:
    corpus = find_data(data / "multi30k", "en", "de").train
    tokenizer = train_tokenizer((side for pair in corpus for side in pair), 8000)
    build_store(tmp_path / "s", corpus, tokenizer, tokenizer, max_length=256)
    batches = Batches(Store.open(tmp_path / "s"), batch_tokens=4096, seed=1)
    padding = cells = 0
    for batch in read_epoch(batches, 0):
        for side in (batch.source_BS, batch.target_BT):
            padding += int((side == PAD).sum())
            cells += side.size
    assert padding < 0.14 * cells  # a quarter of it for rounding lengths
