"""Batches whose pairs are changed anew each epoch: noise, other tokens, other segmentations.

What a pair becomes is a function of seed, epoch and its place in the epoch, so a resumed training
reads the same. Batches are planned by the lengths in the store; a side that would become longer
than is allowed stays as it is.
"""

from random import Random
from typing import Any

from glassformer.config import BOS, Augment, Config
from glassformer.data.batches import Batch, Batches, Integers
from glassformer.data.store import Store
from glassformer.text import SeededSampler, Tokenizer
from glassformer.text.layout import FIRST_CHARACTER

from .noise import draw_noise, drop_stop, drop_stops, insert_symbol
from .typos import (
    change_case,
    change_digits,
    drop_words,
    hide_tokens,
    make_typos,
    switch_out,
)


class PairChanger:
    """Changes pairs of token ids; `sampling`: its rate, if segmentations are drawn anew."""

    def __init__(
        self,
        settings: Augment,
        tokenizers: tuple[Tokenizer, Tokenizer],
        *,
        sampling: float,
        longest: int,
        seed: int,
    ) -> None:
        """`longest`: tokens of a side, at most."""
        self.settings, self.tokenizers = settings, tokenizers
        self.sampling, self.longest = sampling, longest
        self.samplers = [SeededSampler(each, sampling, seed) for each in tokenizers]
        self.tags = [{*each.tags.values()} for each in tokenizers]
        self.others = [
            [id for id in range(FIRST_CHARACTER, len(each)) if id not in tags]
            for each, tags in zip(tokenizers, self.tags, strict=True)
        ]

    def change(self, pair: tuple[list[int], list[int]], random: Random) -> tuple[list[int], ...]:
        """Return the ids of both sides, changed; tags and a context before them stay."""
        firsts = [self._find_text(side, ids) for side, ids in enumerate(pair)]
        texts = [
            each.decode(ids[first:])
            for each, ids, first in zip(self.tokenizers, pair, firsts, strict=True)
        ]
        changed = self._change_texts(texts[0], texts[1], random)
        results, fits = [], []
        for side, (before, after, ids) in enumerate(zip(texts, changed, pair, strict=True)):
            new = ids[firsts[side] :]
            if before != after or self.sampling:
                new = self._encode(side, after, random)
            results.append(new)
            fits.append(0 < len(new) <= self.longest - firsts[side])
        if changed[1] != texts[1]:  # the changes of both sides belong together
            fits = [all(fits)] * 2
        return tuple(
            [*ids[:first], *self._change_tokens(side, new if is_fit else ids[first:], random)]
            for side, (ids, first, new, is_fit) in enumerate(
                zip(pair, firsts, results, fits, strict=True)
            )
        )

    def _find_text(self, side: int, ids: list[int]) -> int:
        """Return where the text begins: after the last tag, as a separator is one too."""
        tags = self.tags[side]
        return max((place for place, id in enumerate(ids, 1) if id in tags), default=0)

    def _change_tokens(self, side: int, ids: list[int], random: Random) -> list[int]:
        settings = self.settings
        if settings.switchout:
            ids = switch_out(ids, self.others[side], settings.switchout, random)
        if settings.mask and side == 0:
            ids = hide_tokens(ids, settings.mask, random)
        return ids

    def _change_texts(self, source: str, target: str, random: Random) -> tuple[str, str]:
        settings = self.settings
        if random.random() < settings.digits:
            source, target = change_digits(source, target, random)
        if settings.stops and random.random() < settings.stops:
            source, target = drop_stops(source, target)
        if settings.inline and random.random() < settings.inline:
            source, target = insert_symbol(source, target, random)
        if settings.words:
            source = drop_words(source, settings.words, random)
        if settings.typos:
            source = make_typos(source, settings.typos, random)
        if random.random() < settings.case:
            source = change_case(source, random)
        if settings.stop and random.random() < settings.stop:
            source = drop_stop(source)
        if settings.noise and random.random() < settings.noise:
            source = target = draw_noise(random)
        return source, target

    def _encode(self, side: int, text: str, random: Random) -> list[int]:
        if self.sampling:
            return self.samplers[side].draw(text, random)
        return self.tokenizers[side].encode(text)


class AugmentedBatches(Batches):
    """Batches of pairs that a `PairChanger` changes."""

    def __init__(self, store: Store, *, changer: PairChanger, **keywords: Any) -> None:
        super().__init__(store, **keywords)
        self._changer = changer

    def _read(self, epoch: int, order: Integers, number: int) -> Batch:
        start, end = self._cut(epoch)[number : number + 2]
        rows = order[start:end]
        pairs = []
        for place, row in enumerate(rows.tolist(), int(start)):
            sides = self._store.source(row, epoch), self._store.target(row, epoch)
            random = Random(f"{self._seed} {epoch} {place} {row}")
            source, target = (side.tolist() for side in sides)
            pairs.append(self._changer.change((source, target), random))
        sources, targets = zip(*pairs, strict=True)
        return Batch(self._frame(sources, [], self._source_end), self._frame(targets, [BOS]), rows)


def make_batches(
    config: Config,
    store: Store,
    tokenizers: tuple[Tokenizer, Tokenizer],
    **keywords: Any,
) -> AugmentedBatches:
    """Return the batches of a training whose settings change its pairs."""
    changer = PairChanger(
        config.data.augment,
        tokenizers,
        sampling=config.text.sampling if config.draws_anew else 0.0,
        longest=min(config.data.max_length, config.model.positions.max_positions - 1),
        seed=config.train.seed,
    )
    return AugmentedBatches(store, changer=changer, **keywords)
