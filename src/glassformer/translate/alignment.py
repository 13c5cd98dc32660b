"""Word alignments of translations, from the cross-attention head that aligns words best."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from weakref import WeakKeyDictionary

from ..checks.quality_check import Judged
from ..config import EOS
from ..evaluate.align import AlignmentCandidate, Pair, align_pairs, share_out
from ..evaluate.choose_head import choose_alone, load_choice
from ..foundation.disk import read_json
from ..model.files.directory import GOLDEN
from ..text.context import find_lines
from ..text.unicode import Span
from ..translator import Translator
from .placing import Link, find_marked_words


@dataclass(frozen=True)
class Said:
    """A text and its translation, with the spans of corresponding parts."""

    source: str
    text: str
    parts: tuple[tuple[Span, Span], ...]
    judged: tuple[Judged, ...] = ()  # of each part, if known
    context: str = ""  # what is before the source, for a model with data.context


class Alignments:
    """An aligner of words that caches the chosen head of each model."""

    def __init__(self) -> None:
        self._heads = WeakKeyDictionary[Translator, AlignmentCandidate]()
        self._lock = threading.Lock()

    def align(self, model: Path, translator: Translator, texts: Sequence[Said]) -> list[list[Link]]:
        """Return links between the words of each text and its translation.

        Words are counted as `find_marked_words` does. model: the folder of the translator.
        """
        pairs, homes = list[Pair](), list[tuple[int, int, int]]()
        for number, said in enumerate(texts):
            spans = [source for source, _ in said.parts]
            read = translator.extend_parts([said.source], [spans], [said.context])
            for (source, target), extended in zip(said.parts, read, strict=True):
                one, other = said.source[slice(*source)], said.text[slice(*target)]
                if find_marked_words(one) and find_marked_words(other):
                    pairs.append(_read(translator, extended, other))
                    before = (
                        find_marked_words(said.source[: source[0]]),
                        find_marked_words(said.text[: target[0]]),
                    )
                    homes.append((number, len(before[0]), len(before[1])))
        links: list[list[Link]] = [[] for _ in texts]
        if pairs:
            head = self._choose(model, translator, pairs)
            for home, found in zip(homes, align_pairs(translator, pairs, head), strict=True):
                number, first, second = home
                links[number] += [
                    (first + s, second + t, weight) for (s, t), weight in found.weights.items()
                ]
        return links

    def _choose(
        self, model: Path, translator: Translator, pairs: Sequence[Pair]
    ) -> AlignmentCandidate:
        """Return the head stored with the model, else one chosen on the model's own sentences.

        Without such sentences it is chosen on `pairs`.
        """
        with self._lock:
            if translator not in self._heads:
                known = load_choice(model, translator)
                if known is None:
                    samples = [_read(translator, *pair) for pair in read_golden(model)]
                    known = choose_alone(translator, samples or pairs)
                self._heads[translator] = known.candidate
            return self._heads[translator]


def read_golden(model: Path) -> list[tuple[str, str]]:
    """Return the sentences stored with a model, and their translations."""
    try:
        lines = read_json(model / GOLDEN)["lines"]
        return [(str(line["source"]), str(line["translation"])) for line in lines]
    except (OSError, ValueError, KeyError, TypeError):
        return []


def _read(translator: Translator, source: str, target: str) -> Pair:
    """Return a pair; the words of an extended source are those of its sentence."""
    found, written = translator.read(source), translator.tokenizers.target.tokens(target)
    begin = find_lines(source, 0)[-1][0] if translator.context else 0
    words = [(begin + left, begin + right) for left, right in find_marked_words(source[begin:])]
    sides = [
        share_out(tuple(spans), tokens.spans)
        for spans, tokens in ((words, found), (find_marked_words(target), written))
    ]
    return Pair((source, target), sides[0], sides[1], [*found.ids, EOS], written.ids)
