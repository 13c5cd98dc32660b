"""Several corpora in one store: which pairs an epoch has, and what each contributed."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest

from glassformer.data.batches import Batches
from glassformer.data.mixing import Mixture, find_weights
from glassformer.data.store import Store, StorePart, build_mixed_store
from glassformer.data.tables import Pair
from glassformer.text import Tokenizer

STARTS = np.array([0, 10, 14])


def test_an_epoch_has_whole_repetitions_and_a_part_that_moves_on() -> None:
    mixture = Mixture(STARTS, (0.5, 2.25), seed=3)
    epochs = [mixture.rows(epoch) for epoch in range(4)]
    assert all(mixture.corpora_of(rows).tolist() == [5, 9] for rows in epochs)
    assert mixture.counts.tolist() == [5, 9]
    both = np.concatenate(epochs[:2])
    assert sorted(both[both < 10].tolist()) == list(range(10))
    four = np.bincount(np.concatenate(epochs), minlength=14)
    assert four[:10].tolist() == [2] * 10
    assert four[10:].tolist() == [9] * 4


def test_a_small_corpus_with_a_small_weight_has_its_turn() -> None:
    mixture = Mixture(np.array([0, 1000, 1003]), (1.0, 0.1), seed=3)
    assert mixture.counts.tolist() == [1000, 1]
    read = np.concatenate([mixture.rows(epoch) for epoch in range(3)])
    assert {1000, 1001, 1002} <= {*read.tolist()}


def test_weights_of_one_leave_the_epoch_as_it_is() -> None:
    mixture = Mixture(STARTS, (1.0, 1.0), seed=3)
    assert mixture.is_plain and mixture.is_periodic
    assert mixture.rows(5).tolist() == list(range(14))


@pytest.mark.parametrize(("temperature", "share"), [(1, 0.01), (2, 0.0909), (1000, 0.499)])
def test_temperature(temperature: float, share: float) -> None:
    sizes = (99_000, 1000)
    large, small = find_weights(sizes, (1, 1), temperature)
    assert large == 1
    assert small * 1000 / (small * 1000 + 99_000) == pytest.approx(share, abs=2e-3)
    assert find_weights(sizes, (1, 3), None) == [1, 3]


@pytest.fixture(scope="module")
def store(
    tmp_path_factory: pytest.TempPathFactory, pairs: list[Pair], tokenizer: Tokenizer
) -> Store:
    folder = tmp_path_factory.mktemp("mixed") / "store"
    tagged = tokenizer.with_tags(["<bt>"])
    parts = [StorePart("a", pairs[:200]), StorePart("b", pairs[200:], (tagged.tags["<bt>"],))]
    build_mixed_store(folder, parts, tagged, tagged, max_length=100)
    return Store.open(folder)


def test_each_part_has_its_tag(store: Store) -> None:
    assert [(name, counts.kept) for name, counts in store.parts] == [("a", 200), ("b", 100)]
    tag = store.source(200, 0)[0]
    assert all(store.source(pair, 0)[0] == tag for pair in range(200, 300))
    assert not any(tag in store.source(pair, 0) for pair in range(200))


@pytest.mark.parametrize("weights", [(1.0, 2.0), (0.3, 1.5)])
def test_any_update_is_found_without_those_before(store: Store, weights: list[float]) -> None:
    how = {"batch_tokens": 90, "seed": 4, "weights": weights}
    one = list(islice(Batches(store, **how).from_step(0, 2), 300))
    for step in (0, 17, 120):
        epoch, index = Batches(store, **how).place(step, 2)
        found = Batches(store, **how).batch(epoch, index)
        assert found.rows.tolist() == one[2 * step].rows.tolist()
    mixture = Batches(store, **how).mixture
    read = sum(mixture.corpora_of(batch.rows) for batch in one[:240])
    assert Batches(store, **how).count_pairs(120, 2) == read.tolist()  # type: ignore[attr-defined]


def test_an_epoch_of_batches_has_the_rows_of_the_mixture(store: Store) -> None:
    batches = Batches(store, batch_tokens=90, seed=4, weights=(0.3, 1.5))
    for epoch in (0, 3):
        rows = [batches.batch(epoch, n).rows for n in range(batches.count(epoch))]
        assert sorted(np.concatenate(rows).tolist()) == sorted(batches.mixture.rows(epoch).tolist())


def test_the_worst_batch_is_that_of_all_pairs(store: Store) -> None:
    some = Batches(store, batch_tokens=90, seed=4, weights=(0.01, 0.01)).worst()
    whole = Batches(store, batch_tokens=90, seed=4).worst()
    assert [each.cells for each in some] == [each.cells for each in whole]
