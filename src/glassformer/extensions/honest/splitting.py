"""A split of pairs into training, validation and test text that keeps near twins together.

Two pairs are relatives if they have a source or a target in common, but for case, spacing and the
digits of numbers, or if a side of one is a near twin of that side of the other
(`check_data.near_twins`): with another name in it, unless the sentence is short. Relatives of
relatives are relatives. A whole family goes to one part, so that no score is that of a sentence
which the model has seen with another number in it.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import compress
from random import Random
from typing import NamedTuple

from ..check_data.near_twins import TwinIndex
from ..check_data.words import gather_words
from .comparison import find_twins

Pair = tuple[str, str]
Pairs = list[Pair]
NUMBER = re.compile(r"\d+")
LARGEST = 20  # of a part: a family of more than this share of it is not held out


class Split(NamedTuple):
    """The parts of a corpus, each in the order of the corpus."""

    train: Pairs
    valid: Pairs
    test: Pairs


def split_honestly(pairs: Sequence[Pair], valid: int, test: int, seed: int = 1) -> Split:
    """Split pairs into training text and about so many pairs to validate and to test on.

    Whole families are held out, small ones in random order. ValueError if the relatives leave too
    few families for the parts that are wanted.
    """
    parts = {"valid": valid, "test": test}
    family = find_families(pairs)
    sizes = Counter(family)
    names = sorted(sizes, key=lambda each: (sizes[each], each))
    part_of: dict[int, str] = {}
    Random(seed).shuffle(names)
    for part, size in parts.items():
        for name in _choose(names, sizes, size):
            part_of[name] = part
        names = [name for name in names if name not in part_of]
    chosen = [part_of.get(name, "train") for name in family]
    while twins := _list_twins(pairs, chosen):
        for place in twins:
            chosen[place] = "train"
    results: dict[str, Pairs] = {"train": [], "valid": [], "test": []}
    for pair, part in zip(pairs, chosen, strict=True):
        results[part].append(pair)
    wanting = [part for part, count in parts.items() if count and not results[part]]
    if wanting or not results["train"]:
        raise ValueError(
            f"{len(pairs):,} pairs are too much alike to hold some out: give a validation text of "
            "your own, --valid, and a test text, --test"
        )
    return Split(**results)


def _choose(names: Sequence[int], sizes: Counter[int], requested: int) -> Iterator[int]:
    """Yield families up to the wanted number of pairs; large ones stay in the training text."""
    left, largest = requested, max(1, requested // LARGEST)
    for name in names:
        if sizes[name] <= min(left, largest):
            left -= sizes[name]
            yield name


def _list_twins(pairs: Sequence[Pair], chosen: Sequence[str]) -> list[int]:
    """Return the places of held-out pairs with a near twin in the training text by itself.

    Bigrams that are frequent in all pairs may not be in that, which is less: it tells more twins.
    """
    training = [pair for pair, part in zip(pairs, chosen, strict=True) if part == "train"]
    places = [place for place, part in enumerate(chosen) if part != "train"]
    sides = [[pairs[place][side] for place in places] for side in (0, 1)]
    return [*compress(places, find_twins(training, sides[0], [sides[1]]))]


def find_families(pairs: Sequence[Pair]) -> list[int]:
    """Return the family of each pair, as the number of its first pair."""
    family = Families(len(pairs))
    for side in (0, 1):
        lines = gather_words(pair[side] for pair in pairs)
        for one, other in _list_relatives(lines):
            family.join(one, other)
    return [family.find(number) for number in range(len(pairs))]


def _list_relatives(lines: Sequence[Sequence[str]]) -> Iterator[tuple[int, int]]:
    """Yield lines, by place, that are the same but for numbers, with the first; and near twins."""
    same: dict[str, list[int]] = defaultdict(list)
    for place, words in enumerate(lines):
        same[mask_numbers(words)].append(place)
    same.pop("", None)
    for first, *others in same.values():
        yield from ((first, other) for other in others)
    firsts = [places[0] for places in same.values()]
    index = TwinIndex([lines[place] for place in firsts])
    for place in firsts:
        for twin in index.list_twins(lines[place]):
            yield place, firsts[twin.line]


def mask_numbers(words: Sequence[str]) -> str:
    """Return a line with 0 for each number."""
    return NUMBER.sub("0", " ".join(words))


class RelativesIndex:
    """An index of the lines of a text, to find relatives of them in another text."""

    def __init__(self, text: Iterable[str]) -> None:
        self.lines = {mask_numbers(words): words for words in gather_words(text) if words}
        self.index = TwinIndex([*self.lines.values()])

    def has_relative(self, words: Sequence[str]) -> bool:
        """Return whether a line, given by its words, is a relative of one of the text."""
        return mask_numbers(words) in self.lines or self.index.find(words) is not None


class Families:
    """The connected components of numbers that are joined (union-find)."""

    def __init__(self, count: int) -> None:
        self.parent = list(range(count))

    def find(self, number: int) -> int:
        """Return the first number of a family."""
        while self.parent[number] != number:
            self.parent[number] = self.parent[self.parent[number]]
            number = self.parent[number]
        return number

    def join(self, one: int, other: int) -> None:
        first, second = sorted((self.find(one), self.find(other)))
        self.parent[second] = first
