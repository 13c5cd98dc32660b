"""Masked tokens (Devlin et al. 2019, 3.1) and labelled sentences, as batches for an encoder alone.

Letters: B sentences; S positions of the text: class token, tokens, EOS, padding.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..config import BOS, CLASS, EOS, MASK, PAD, Config
from ..foundation.extensions import need_addition
from ..text import Tokenizer
from .batches import Batch, Batches, Integers
from .store import Store

SHARE = 0.15  # of the tokens of a sentence are predicted, and at least one
MASKED, REPLACED = 0.8, 0.1  # of these are hidden, or replaced by a random token; the others stay
FIRST = 3  # the first id that a random token may have


def mask_tokens(ids_BS: Integers, vocabulary: int, seed: Sequence[int]) -> tuple[Integers, ...]:
    """Return the text with some tokens hidden, and what is to be predicted, both B S.

    The latter is PAD where nothing is. The class token, EOS and padding are never chosen. The same
    seed gives the same choice: it is made of raw bits, which NumPy promises never to change.
    """
    bits = np.random.PCG64(np.random.SeedSequence(list(seed)))
    draw_BS, kind_BS, other_BS = bits.random_raw(3 * ids_BS.size).reshape(3, *ids_BS.shape)
    may_BS = (ids_BS != PAD) & (ids_BS != CLASS) & (ids_BS != EOS)
    count_B1 = np.maximum(np.rint(SHARE * may_BS.sum(1, keepdims=True)), 1)
    rank_BS = np.where(may_BS, draw_BS, ~np.uint64(0)).argsort(1, kind="stable").argsort(1)
    is_chosen_BS = may_BS & (rank_BS < count_B1)
    share_BS = kind_BS / 2.0**64
    random_BS = FIRST + (other_BS % np.uint64(vocabulary - FIRST)).astype(np.int64)
    instead_BS = np.where(share_BS < MASKED + REPLACED, random_BS, ids_BS)
    instead_BS = np.where(share_BS < MASKED, MASK, instead_BS)
    return np.where(is_chosen_BS, instead_BS, ids_BS), np.where(is_chosen_BS, ids_BS, PAD)


class MaskedBatches(Batches):
    """Batches of texts with hidden tokens; other tokens are hidden in each epoch.

    A batch's source has the text, class token first; its target has the tokens to predict, one
    column further right, as if each were the next one: so every loss is computed alike.
    """

    def __init__(self, store: Store, *, vocabulary: int, seed: int, **keywords: Any) -> None:
        super().__init__(store, seed=seed, **keywords)
        self._vocabulary = vocabulary

    def _read(self, epoch: int, order: Integers, number: int) -> Batch:
        plain = super()._read(epoch, order, number)
        seed = self._seed, epoch, 2, number
        masked_BS, wanted_BS = mask_tokens(plain.target_BT, self._vocabulary, seed)
        return Batch(masked_BS, shift_right(wanted_BS), plain.rows)


class LabelledBatches(Batches):
    """Batches of sentences whose label is to be predicted at the class token."""

    def _read(self, epoch: int, order: Integers, number: int) -> Batch:
        start, end = self._cut(epoch)[number : number + 2]
        rows = order[start:end]
        texts = [self._store.source(row, epoch) for row in rows]
        text_BS = self._frame(texts, [CLASS])
        wanted_BS = np.full_like(text_BS, PAD)
        wanted_BS[:, 0] = [self._store.target(row, epoch)[0] for row in rows]
        return Batch(text_BS, shift_right(wanted_BS), rows)


def shift_right(wanted_BS: Integers) -> Integers:
    """Return the tokens one column further right, after BOS: what a target looks like."""
    return np.pad(wanted_BS, ((0, 0), (1, 0)), constant_values=BOS)


def choose_batches(
    config: Config,
    store: Store,
    tokenizers: tuple[Tokenizer, Tokenizer],
    weights: Sequence[float] = (),
) -> Batches:
    """Return the batches for these settings, in which `pad_to` must be set.

    `weights`: how often an epoch has each pair of each part of the store.
    """
    train, model = config.train, config.model
    assert train.pad_to is not None
    options: dict[str, Any] = {
        "batch_tokens": train.batch_tokens,
        "seed": train.seed,
        "pad_to": train.pad_to,
        "positions": model.positions.max_positions - (model.network == "encoder"),  # class token
    }
    if model.labels:
        return LabelledBatches(store, **options)
    if model.network == "encoder":
        return MaskedBatches(store, vocabulary=len(tokenizers[0]), **options)
    options["source_end"] = EOS if config.text.source_eos else PAD
    if config.data.augment.is_on or config.draws_anew:
        make = need_addition("noisy_batches", "data.augment, or text.samples=0,")
        noisy: Batches = make(config, store, tokenizers, weights=weights, **options)
        return noisy
    return Batches(store, **options, weights=weights)
