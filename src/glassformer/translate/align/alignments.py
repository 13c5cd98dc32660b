"""Links between the words of texts and their translations, from the head that aligns words best."""

import threading
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from weakref import WeakKeyDictionary

from ...foundation.disk import read_json
from ...model.files.directory import GOLDEN
from ...text.context import find_lines
from ...text.unicode import Span
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
        self,
        folder: Path,
        model: Attending,
        texts: Sequence[ParallelText],
        find: Callable[[str], list[Span]] = find_marked_words,
    ) -> list[list[MarkedLink]]:
        """Return links between the words of each text and its translation.

        folder: that of the model. find: what returns the spans of the words that are counted.
        """
        pairs, homes = list[Pair](), list[tuple[int, int, int]]()
        for number, both in enumerate(texts):
            of_source, of_text = find(both.source), find(both.text)
            for (source, target), extended in zip(both.parts, both.sources, strict=True):
                first, source_words = _cut_words(of_source, source)
                second, target_words = _cut_words(of_text, target)
                if source_words and target_words:
                    one, other = both.source[slice(*source)], both.text[slice(*target)]
                    at = _find_sentence(model, extended, one)
                    shifted = [(at + left, at + right) for left, right in source_words]
                    pairs.append(make_pair(model, (extended, other), (shifted, target_words)))
                    homes.append((number, first, second))
        links: list[list[MarkedLink]] = [[] for _ in texts]
        if pairs:
            head = self._choose(folder, model, pairs)
            for home, aligned in zip(homes, align_pairs(model, pairs, head), strict=True):
                number, first, second = home
                links[number] += [
                    (first + s, second + t, weight) for (s, t), weight in aligned.weights.items()
                ]
        return links

    def _choose(self, folder: Path, model: Attending, pairs: Sequence[Pair]) -> AlignmentCandidate:
        """Return the head stored with the model, else one chosen on the model's own sentences.

        Without such sentences it is chosen on `pairs`.
        """
        with self._lock:
            if model not in self._heads:
                self._heads[model] = (
                    find_head(folder, model) or choose_alone(model, pairs).candidate
                )
            return self._heads[model]


def find_head(folder: Path, model: Attending) -> AlignmentCandidate | None:
    """Return the head stored with a model, else one chosen on its own sentences; None without."""
    known = load_choice(folder, model.config)
    if known is None and (samples := [_read(model, *pair) for pair in read_golden(folder)]):
        known = choose_alone(model, samples)
    return known.candidate if known else None


def read_golden(folder: Path) -> list[tuple[str, str]]:
    """Return the sentences stored with a model, and their translations."""
    try:
        lines = read_json(folder / GOLDEN)["lines"]
        return [(str(line["source"]), str(line["translation"])) for line in lines]
    except (OSError, ValueError, KeyError, TypeError):
        return []


def _cut_words(words: Sequence[Span], span: Span) -> tuple[int, list[Span]]:
    """Return the number of the first word within a span, and the spans in it of all that are.

    Of a word across an end of the span, as where clauses divide it, only a part is.
    """
    begin, end = span
    first = bisect_right(words, begin, key=lambda word: word[1])
    last = bisect_left(words, end, key=lambda word: word[0])
    within = words[first:last]
    return first, [(max(left, begin) - begin, min(right, end) - begin) for left, right in within]


def _find_sentence(model: Attending, extended: str, sentence: str) -> int:
    """Return where a sentence begins in what is read of it, behind its context and marks."""
    begin = _skip_context(model, extended)
    return begin + max(0, extended[begin:].find(sentence.replace("\n", " ")))


def _skip_context(model: Attending, extended: str) -> int:
    """Return where the last line of an extended source begins."""
    return find_lines(extended, 0)[-1][0] if model.config.data.context else 0


def _read(model: Attending, source: str, target: str) -> Pair:
    """Return a pair; the words of an extended source are those of its sentence."""
    begin = _skip_context(model, source)
    words = [(begin + left, begin + right) for left, right in find_marked_words(source[begin:])]
    return make_pair(model, (source, target), (words, find_marked_words(target)))
