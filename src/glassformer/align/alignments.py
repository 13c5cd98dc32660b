"""Links between the words of texts and their translations, from the head that aligns words best."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from weakref import WeakKeyDictionary

from ..foundation.disk import read_json
from ..model.files.directory import GOLDEN
from ..text.context import find_lines
from ..text.unicode import Span
from .choose_head import choose_alone, load_choice
from .marked_words import MarkedLink, find_marked_words
from .pairs import AlignmentCandidate, Attending, Pair, align_pairs, make_pair


@dataclass(frozen=True)
class ParallelText:
    """A text and its translation, with the spans of corresponding sentences."""

    source: str
    text: str
    parts: tuple[tuple[Span, Span], ...]
    sources: tuple[str, ...]  # the source of each part as the model reads it: after its context


class Alignments:
    """An aligner of words that caches the chosen head of each model."""

    def __init__(self) -> None:
        self._heads = WeakKeyDictionary[Attending, AlignmentCandidate]()
        self._lock = threading.Lock()

    def align(
        self, folder: Path, model: Attending, texts: Sequence[ParallelText]
    ) -> list[list[MarkedLink]]:
        """Return links between the words of each text and its translation.

        Words are counted as `find_marked_words` does. folder: that of the model.
        """
        pairs, homes = list[Pair](), list[tuple[int, int, int]]()
        for number, both in enumerate(texts):
            for (source, target), extended in zip(both.parts, both.sources, strict=True):
                one, other = both.source[slice(*source)], both.text[slice(*target)]
                if find_marked_words(one) and find_marked_words(other):
                    pairs.append(_read(model, extended, other))
                    first = find_marked_words(both.source[: source[0]])
                    second = find_marked_words(both.text[: target[0]])
                    homes.append((number, len(first), len(second)))
        links: list[list[MarkedLink]] = [[] for _ in texts]
        if pairs:
            head = self._choose(folder, model, pairs)
            for home, aligned in zip(homes, align_pairs(model, pairs, head), strict=True):
                number, source_words, target_words = home
                links[number] += [
                    (source_words + s, target_words + t, weight)
                    for (s, t), weight in aligned.weights.items()
                ]
        return links

    def _choose(self, folder: Path, model: Attending, pairs: Sequence[Pair]) -> AlignmentCandidate:
        """Return the head stored with the model, else one chosen on the model's own sentences.

        Without such sentences it is chosen on `pairs`.
        """
        with self._lock:
            if model not in self._heads:
                known = load_choice(folder, model.config.model)
                if known is None:
                    samples = [_read(model, *pair) for pair in read_golden(folder)]
                    known = choose_alone(model, samples or pairs)
                self._heads[model] = known.candidate
            return self._heads[model]


def read_golden(folder: Path) -> list[tuple[str, str]]:
    """Return the sentences stored with a model, and their translations."""
    try:
        lines = read_json(folder / GOLDEN)["lines"]
        return [(str(line["source"]), str(line["translation"])) for line in lines]
    except (OSError, ValueError, KeyError, TypeError):
        return []


def _read(model: Attending, source: str, target: str) -> Pair:
    """Return a pair; the words of an extended source are those of its sentence."""
    begin = find_lines(source, 0)[-1][0] if model.config.data.context else 0
    words = [(begin + left, begin + right) for left, right in find_marked_words(source[begin:])]
    return make_pair(model, (source, target), (words, find_marked_words(target)))
