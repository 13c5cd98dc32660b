"""Pairs that are changed anew each epoch: what changes, what stays, and that it can be repeated."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from glassformer.config import MASK, Augment, Config
from glassformer.data.batches import Batches
from glassformer.data.store import Store, StorePart, build_mixed_store
from glassformer.extensions.ideas.noisy_batches import AugmentedBatches, PairChanger
from glassformer.extensions.ideas.typos import (
    change_case,
    change_digits,
    drop_words,
    hide_tokens,
    make_typos,
    switch_out,
)
from glassformer.text import SeededSampler, Tokenizer
from glassformer.text.kinds import train_tokenizer
from glassformer.text.layout import FIRST_CHARACTER

PAIRS = [
    (f"the {a} {b} runs {n} times", f"{n} mal läuft {b} {a}")
    for a in ("red", "old") for b in ("cat", "horse") for n in ("3", "17", "2026")
]  # fmt: off


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return train_tokenizer([side for pair in PAIRS for side in pair] * 2, 350).with_tags(["<bt>"])


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory, tokenizer: Tokenizer) -> Store:
    folder = tmp_path_factory.mktemp("store") / "store"
    part = StorePart("", PAIRS, tuple(tokenizer.find_tags(["<bt>"])))
    build_mixed_store(folder, [part], tokenizer, tokenizer, max_length=60)
    return Store.open(folder)


def make_batches(
    store: Store, tokenizer: Tokenizer, sampling: float = 0.0, **augment: float
) -> Batches:
    how = {"sampling": sampling, "longest": 60, "seed": 3}
    changer = PairChanger(Augment(**augment), (tokenizer, tokenizer), **how)
    return AugmentedBatches(store, changer=changer, batch_tokens=100, seed=3, pad_to=1)


def read_epoch(batches: Batches, tokenizer: Tokenizer, epoch: int) -> dict[int, tuple[str, str]]:
    found = {}
    for index in range(batches.count(epoch)):
        batch = batches.batch(epoch, index)
        for row, source, target in zip(batch.rows, batch.source_BS, batch.target_BT, strict=True):
            assert source[0] == tokenizer.tags["<bt>"]
            found[int(row)] = (tokenizer.decode(source), tokenizer.decode(target))
    return found


def test_without_changes_batches_are_the_plain_ones(store: Store, tokenizer: Tokenizer) -> None:
    plain = Batches(store, batch_tokens=100, seed=3, pad_to=1)
    ours = make_batches(store, tokenizer)
    for index in range(plain.count(0)):
        one, other = plain.batch(0, index), ours.batch(0, index)
        assert np.array_equal(one.source_BS, other.source_BS)
        assert np.array_equal(one.target_BT, other.target_BT)


def test_each_epoch_is_another_and_can_be_repeated(store: Store, tokenizer: Tokenizer) -> None:
    how = {"typos": 0.5, "words": 0.2, "case": 0.3, "digits": 0.5}
    batches = make_batches(store, tokenizer, **how)
    first, second = (read_epoch(batches, tokenizer, epoch) for epoch in (0, 1))
    assert first != second and first.keys() == second.keys() == {*range(len(PAIRS))}
    assert read_epoch(make_batches(store, tokenizer, **how), tokenizer, 1) == second
    changed = [found[0] != pair[0] for found, pair in zip(first.values(), PAIRS, strict=True)]
    assert any(changed)


def test_segmentations_are_drawn_anew(store: Store, tokenizer: Tokenizer) -> None:
    batches = make_batches(store, tokenizer, sampling=0.3)
    seen = set()
    for epoch in range(12):
        assert read_epoch(batches, tokenizer, epoch) == dict(enumerate(PAIRS))
        for index in range(batches.count(epoch)):
            batch = batches.batch(epoch, index)
            seen |= {
                tuple(x)
                for x, row in zip(batch.source_BS.tolist(), batch.rows, strict=True)
                if row == 0
            }
    assert len(seen) > 8  # a store of K segmentations has K


def test_the_sampler_needs_no_history(tokenizer: Tokenizer) -> None:
    texts = [source for source, _ in PAIRS]
    one, other = (SeededSampler(tokenizer, 0.2, 5) for _ in range(2))
    forward = [one.draw(text, Random(text)) for text in texts]
    backward = [other.draw(text, Random(text)) for text in texts[::-1]]
    assert forward == backward[::-1]
    assert all(tokenizer.decode(ids) == text for ids, text in zip(forward, texts, strict=True))
    assert forward != [tokenizer.encode(text) for text in texts]


def test_numbers_change_on_both_sides_alike() -> None:
    for seed in range(50):
        source, target = change_digits("in 1984, 3 of 17", "3 von 17 in 1984, 5", Random(seed))
        year, three, seventeen = (
            source.replace(",", "").split()[1],
            source.split()[2],
            source.split()[-1],
        )
        assert target == f"{three} von {seventeen} in {year}, 5"  # no 5 in the source
        assert (len(year), len(three), len(seventeen)) == (4, 1, 2) and year[0] != "0"


def test_the_other_changes() -> None:
    text = "The old horse runs home again"
    cases = {change_case(text, Random(seed)) for seed in range(20)}
    assert cases == {text.lower(), text.upper(), text.title()}
    lost = [drop_words(text, 0.3, Random(seed)).split() for seed in range(300)]
    assert 0.65 < sum(map(len, lost)) / (300 * 6) < 0.75
    assert drop_words("one", 0.99, Random(1)) == "one"
    for seed in range(100):
        words = make_typos(text, 1.0, Random(seed)).split(" ")
        assert len(words) == 6 and words[0] == "The" and words[1] == "old"
        assert all(abs(len(a) - len(b)) <= 1 for a, b in zip(words, text.split(), strict=True))
    assert make_typos(text, 0.0, Random(1)) == text


def test_too_long_stays_as_it_is(tokenizer: Tokenizer) -> None:
    ids = tokenizer.encode("red cat"), tokenizer.encode("x")
    changer = PairChanger(
        Augment(case=1), (tokenizer, tokenizer), sampling=0.0, longest=len(ids[0]), seed=1
    )
    for seed in range(9):
        assert len(changer.change(ids, Random(seed))[0]) <= len(ids[0])


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            ["model.network=decoder", "data.augment.case=0.1"],
            "augment.case=0.1 has no effect with network",
        ),
        (
            ["model.network=decoder", "text.samples=0"],
            "text.samples=0 is not possible with network",
        ),
        (
            ["data.augment.words=0.1", "train.alignment_weight=1"],
            "augment.words moves words that alignment",
        ),
    ],
)
def test_refused(changes: list[str], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Config.read({}, changes)


def test_tokens_are_hidden_in_the_source_alone(store: Store, tokenizer: Tokenizer) -> None:
    plain, ours = make_batches(store, tokenizer), make_batches(store, tokenizer, mask=0.4)
    hidden = total = 0
    for epoch in range(20):
        for index in range(plain.count(epoch)):
            before, after = plain.batch(epoch, index), ours.batch(epoch, index)
            is_text_BS = (before.source_BS > FIRST_CHARACTER) & (
                before.source_BS < len(tokenizer) - 1
            )
            differs_BS = before.source_BS != after.source_BS
            assert np.array_equal(before.target_BT, after.target_BT)
            assert (after.source_BS[differs_BS] == MASK).all() and not differs_BS[~is_text_BS].any()
            hidden, total = hidden + differs_BS.sum(), total + is_text_BS.sum()
    assert 0.35 < hidden / total < 0.45


def test_tokens_of_both_sides_are_exchanged(store: Store, tokenizer: Tokenizer) -> None:
    """Tags, ends and padding are not, and none of them is put in the place of a token."""
    plain, ours = make_batches(store, tokenizer), make_batches(store, tokenizer, switchout=1.0)
    tag = tokenizer.tags["<bt>"]
    for epoch in range(5):
        for index in range(plain.count(epoch)):
            one, other = plain.batch(epoch, index), ours.batch(epoch, index)
            for before, after in (
                (one.source_BS, other.source_BS),
                (one.target_BT, other.target_BT),
            ):
                assert before.shape == after.shape and (before != after).any()
                fixed = (before < FIRST_CHARACTER) | (before == tag)
                assert np.array_equal(fixed, (after < FIRST_CHARACTER) | (after == tag))
                assert np.array_equal(before[fixed], after[fixed])


def test_how_many_tokens_are_exchanged() -> None:
    """With temperature 1, k of 4 have chances in proportion to exp(-k): 0.5705 in the mean."""
    changed = [
        sum(id for id in switch_out([0] * 4, [1], 1.0, Random(seed))) for seed in range(4000)
    ]
    weights = np.exp(-np.arange(5))
    assert np.mean(changed) == pytest.approx(
        (weights * np.arange(5)).sum() / weights.sum(), abs=0.05
    )
    assert switch_out([], [1], 1.0, Random(1)) == [] == hide_tokens([], 0.5, Random(1))
    assert switch_out([7] * 5, [1], 1e-3, Random(1)) == [7] * 5
