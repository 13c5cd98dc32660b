"""Word alignments from one head of cross-attention.

A word of the translation is linked to the source word with most attention: the weights are summed
over the tokens of the source word and averaged over those of the target word. They may come from
two rows of the decoder: the one that predicts a token, or the one after it, whose input is the
token ("reads"; Chen et al. 2020).

Words that the same tokens spell are one unit.

Letters: B sentences; H heads; T rows of the decoder; S source; C candidates.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ...config import EOS, Config, Model
from ...model.files.directory import Tokenizers
from ...text import Tokens
from ...text.spacing import is_unspaced
from ...text.unicode import Span
from .links import Link, Links

Row = Literal["reads", "predicts"]
Array = NDArray[np.float32]
_WORD, _CHARACTER = re.compile(r"\S+"), re.compile(r"\S")


class Attending(Protocol):
    """A model that reads sentences and attends from their translations to them."""

    config: Config
    tokenizers: Tokenizers

    @property
    def longest(self) -> int: ...

    def tokenize(self, text: str) -> Tokens: ...

    def tokenize_target(self, source: str, target: str) -> Tokens: ...

    def attend(
        self,
        sources: Sequence[Sequence[int]],
        targets: Sequence[Sequence[int]],
        heads: Sequence[tuple[int, int | None]],
    ) -> Iterator[tuple[int, list[NDArray[np.float32]]]]: ...


@dataclass(frozen=True)
class Words:
    """The words of one side, and the share of each token that belongs to each word.

    Words that the same tokens spell are treated as one unit.
    """

    spans: tuple[Span, ...]  # of the words, in characters
    share: Array  # tokens x units; a row sums to 1, or to 0 if the token is white space
    members: tuple[tuple[int, ...], ...]  # the words of each unit


class AlignmentCandidate(NamedTuple):
    """A layer, head and row of the decoder from which an alignment may be read."""

    layer: int  # of the decoder
    head: int | None  # None: the mean of all
    row: Row  # of a token: the one whose input it is ("reads"), or the one that predicts it

    def __str__(self) -> str:
        heads = "the mean of all heads" if self.head is None else f"head {self.head}"
        return f"layer {self.layer}, {heads}, in the row that {self.row} a word"


@dataclass(frozen=True)
class Pair:
    """A sentence and its translation, in tokens and in words."""

    texts: tuple[str, str]
    source: Words
    target: Words
    source_ids: Sequence[int]  # EOS included
    target_ids: Sequence[int]


@dataclass(frozen=True)
class AlignedPair:
    """The links of a pair, with the spans of its words and the weight of each link."""

    source_words: tuple[Span, ...]
    target_words: tuple[Span, ...]
    weights: dict[Link, float]
    fits: bool  # False: too long for the model, so without links

    @property
    def links(self) -> Links:
        return frozenset(self.weights)


def read_pair(model: Attending, source: str, target: str, by_character: tuple[bool, bool]) -> Pair:
    words = find_words(source, by_character[0]), find_words(target, by_character[1])
    return make_pair(model, (source, target), words)


def make_pair(
    model: Attending, texts: tuple[str, str], words: tuple[Sequence[Span], Sequence[Span]]
) -> Pair:
    """Return a source and its translation in tokens, and in words, whose spans are given."""
    source, target = model.tokenize(texts[0]), model.tokenize_target(*texts)
    return Pair(
        texts,
        share_out(tuple(words[0]), source.spans),
        share_out(tuple(words[1]), target.spans),
        [*source.ids, EOS],
        target.ids,
    )


def is_too_long(model: Attending, pair: Pair) -> bool:
    return max(len(pair.source_ids), len(pair.target_ids) + 1) > model.longest


def list_candidates(settings: Model) -> list[AlignmentCandidate]:
    """Return all places to read an alignment from. ValueError if the network has no attention."""
    if not settings.attending_layers:
        raise ValueError("this model has no attention to align words by: rnn.attention=none")
    rows: tuple[Row, Row] = ("reads", "predicts")
    return [
        AlignmentCandidate(layer, head, row)
        for layer in settings.attending_layers
        for head in (*range(settings.heads), None)
        for row in rows
    ]


def align_pairs(
    model: Attending, pairs: Sequence[Pair], candidate: AlignmentCandidate
) -> list[AlignedPair]:
    """Return the links of each pair; a pair without words or too long for the model has none."""
    results = [
        AlignedPair(pair.source.spans, pair.target.spans, {}, not is_too_long(model, pair))
        for pair in pairs
    ]
    for number, (weights,) in weigh_links(model, pairs, [candidate]):
        results[number].weights.update(_name(pairs[number], weights))
    return results


def weigh_links(
    model: Attending, pairs: Sequence[Pair], candidates: Sequence[AlignmentCandidate]
) -> Iterator[tuple[int, Array]]:
    """Yield the number of each pair with the attention between its units, in any order.

    The shape is candidates x target units x (source units + 1); the last column is attention to no
    word. Pairs without words, or too long for the model, are left out. Raises ValueError if the
    attention is not finite.
    """
    fit = [
        number
        for number, pair in enumerate(pairs)
        if pair.source.spans and pair.target.spans and not is_too_long(model, pair)
    ]
    heads = list(dict.fromkeys((each.layer, each.head) for each in candidates))
    sources, targets = [pairs[n].source_ids for n in fit], [pairs[n].target_ids for n in fit]
    for place, result in model.attend(sources, targets, heads):
        weights = dict(zip(heads, result, strict=True))
        yield fit[place], _merge(pairs[fit[place]], weights, candidates)


def _merge(
    pair: Pair,
    weights: dict[tuple[int, int | None], Array],
    candidates: Sequence[AlignmentCandidate],
) -> Array:
    """Return attention between units: summed over a key's tokens, averaged over a query's."""
    tokens = len(pair.target_ids)
    owned = pair.source.share
    rest = np.append(1 - owned.sum(1, keepdims=True), [[1.0]], 0)  # white space, and EOS
    of_source = np.hstack((np.pad(owned, ((0, 1), (0, 0))), rest)).astype(np.float32)
    total = pair.target.share.sum(0, keepdims=True)
    of_target = (pair.target.share / np.where(total, total, 1)).T
    merged = []
    for layer, head, row in candidates:
        first = int(row == "reads")
        merged.append(of_target @ weights[layer, head][first : first + tokens] @ of_source)
    return np.stack(merged)


def choose_units(weights: Array) -> Array:
    """Return 1 at the source unit with most attention from each target unit, and 0 elsewhere.

    A target unit without attention to any word has no 1.
    """
    best = weights[..., :-1].argmax(-1)
    chosen = np.zeros_like(weights[..., :-1])
    np.put_along_axis(chosen, best[..., None], 1, -1)
    return chosen * (weights[..., :-1].max(-1) > 0)[..., None]


def _name(pair: Pair, weights: Array) -> Iterator[tuple[Link, float]]:
    """Yield the links between words, with their weights, for one candidate's units."""
    for t, s in np.argwhere(choose_units(weights)).tolist():
        for j in pair.target.members[t]:
            for i in pair.source.members[s]:
                yield (i, j), float(weights[t, s])


def spread_links(pair: Pair, chosen: Array) -> Array:
    """Return links between units, ... T x S, as links between words, ... source x target words."""
    sides = [
        np.zeros((len(side.members), len(side.spans)), np.float32)
        for side in (pair.source, pair.target)
    ]
    for matrix, side in zip(sides, (pair.source, pair.target), strict=True):
        for unit, words in enumerate(side.members):
            matrix[unit, list(words)] = 1
    return np.swapaxes(sides[1].T @ chosen @ sides[0], -1, -2)


def find_words(text: str, by_character: bool) -> tuple[Span, ...]:
    """Return the spans of words between white space, or of each character but white space."""
    return tuple(match.span() for match in (_CHARACTER if by_character else _WORD).finditer(text))


def is_read_by_character(language: str | None, texts: Iterable[str]) -> bool:
    """Return whether each character is a word: neither language nor `texts` have spaces."""
    return is_unspaced(language) and not any(text.split()[1:] for text in texts)


def share_out(spans: tuple[Span, ...], tokens: Sequence[Span]) -> Words:
    """Return the words with the share of each token in them, by the characters in common."""
    starts, ends = np.array(tokens, np.float32).reshape(-1, 2).T
    firsts, lasts = np.array(spans, np.float32).reshape(-1, 2).T
    common = np.minimum.outer(ends, lasts) - np.maximum.outer(starts, firsts)
    common = np.maximum(common, 0)
    units: dict[bytes, list[int]] = {}
    for word, column in enumerate((common > 0).T):
        units.setdefault(column.tobytes(), []).append(word)
    joined: Array = np.zeros((len(tokens), len(units)), np.float32)
    for unit, words in enumerate(units.values()):
        joined[:, unit] = common[:, words].sum(1)
    total = joined.sum(1, keepdims=True)
    joined /= np.where(total, total, 1)
    return Words(spans, joined, tuple(map(tuple, units.values())))
