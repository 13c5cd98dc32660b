"""Near twins: lines that differ from a line of another text by a word or a few letters.

Two lines that are much alike have bigrams of words in common. So the bigrams of the other text are
indexed, but for those that many of its lines have, and only lines that share enough of them are
compared letter by letter: the time grows with the lines, not with the pairs of lines. A line whose
bigrams are all so frequent has no twins. Thai and the like, which have few letters and no spaces,
have some letters in a row for words.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from .words import FEW_LETTERS, join_characters

ALIKE = 0.75  # similarity from which lines are near twins
SHORTEST = 12  # letters: shorter lines are alike by chance
FREQUENT = 50  # lines: a bigram of more says little
KEPT, MOST = 3, 500  # the rarest bigrams of a line count up to so many lines
SHARED = 0.35  # of the indexed bigrams of a line, to be compared with it
EDGE = ""  # before the first word of a line, and after the last

Bigram = tuple[str, str]


class Twin(NamedTuple):
    """A line of the other text that is much like a given one, and how much, up to 1."""

    line: int
    similarity: float


class TwinIndex:
    """An index of the lines of a text, given by their words, to find near twins of other lines."""

    def __init__(self, lines: Sequence[Sequence[str]]) -> None:
        self.texts = [" ".join(words) for words in lines]
        counts = Counter(bigram for words in lines for bigram in list_bigrams(words))
        self.places: dict[Bigram, list[int]] = defaultdict(list)
        self.needed = list[float]()
        for number, words in enumerate(lines):
            rarest = sorted(list_bigrams(words), key=counts.__getitem__)
            kept = [
                each
                for place, each in enumerate(rarest)
                if counts[each] <= (MOST if place < KEPT else FREQUENT)
            ]
            for bigram in kept:
                self.places[bigram].append(number)
            self.needed.append(SHARED * len(kept))

    def find(self, words: Sequence[str]) -> Twin | None:
        """Return the line that is most alike, but not the same; None if none is a near twin."""
        return max(self.list_twins(words), key=lambda twin: twin.similarity, default=None)

    def list_twins(self, words: Sequence[str]) -> Iterator[Twin]:
        """Yield all lines that are near twins of these words, but not the same."""
        text = " ".join(words)
        if len(text) >= SHORTEST:
            yield from (each for each in self._compare(words, text) if each.similarity >= ALIKE)

    def _compare(self, words: Sequence[str], text: str) -> Iterator[Twin]:
        shared = Counter[int]()
        for bigram in list_bigrams(words):
            shared.update(self.places.get(bigram, ()))
        for line, count in shared.items():
            other = self.texts[line]
            shorter, longer = sorted((len(text), len(other)))
            if count >= self.needed[line] and shorter >= ALIKE * longer and text != other:
                yield Twin(line, 1 - measure_distance(text, other) / longer)


def list_bigrams(words: Sequence[str]) -> list[Bigram]:
    """Return the pairs of neighbouring words of a line, and of its edges, each once."""
    joined = join_characters(words, FEW_LETTERS)
    return list(dict.fromkeys(pairwise((EDGE, *joined, EDGE)))) if words else []


def measure_distance(one: str, other: str) -> int:
    """Return how many letters must be changed, added or left out to turn one text into another.

    Levenshtein's distance, with a column of its table in the bits of two numbers (Myers 1999).
    """
    if not one:
        return len(other)
    places: dict[str, int] = defaultdict(int)
    for place, letter in enumerate(one):
        places[letter] |= 1 << place
    every, last = (1 << len(one)) - 1, 1 << (len(one) - 1)
    more, less, distance = every, 0, len(one)  # where the column rises by one, where it falls
    for letter in other:
        equal = places.get(letter, 0)
        diagonal = (((equal & more) + more) ^ more) | equal
        rises, falls = less | ~(diagonal | more) & every, more & diagonal
        distance += bool(rises & last) - bool(falls & last)
        rises, falls = rises << 1 | 1, falls << 1
        more = (falls | ~(equal | less | rises)) & every
        less = rises & (equal | less) & every
    return distance
