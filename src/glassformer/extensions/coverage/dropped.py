"""Words of a source that its translation drops, by the head that training guided to align words.

What a translation says gets attention from the rows that say it. A word with next to none in all
rows together (its coverage: Tu et al. 2016, Wu et al. 2016) is not said, unless it is one of those
that right translations often leave unsaid, such as *do*. A calibration lists these in doubt.json.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from glassformer.config import EOS, Model
from glassformer.foundation.disk import read_json
from glassformer.model.files.directory import DOUBT
from glassformer.text.unicode import Span
from glassformer.translate.searching import Searcher
from glassformer.translate.sentence import Sentence, Translation

from .lists import ListRule, read_list_rule

LEAST = 0.15  # the least coverage of a word that is said
WORD = re.compile(r"[^\W\d_]{3,}(?:['’][^\W\d_]+)*")


class CoverageRule(NamedTuple):
    """The head that says which words are said, and the words that may stay unsaid."""

    layer: int  # of the decoder
    head: int | None  # None: the mean of all
    shift: int  # 1 if a token is read in the row whose input it is, 0 if in that which predicts it
    unsaid: frozenset[str] = frozenset()  # in small letters
    ratio: float = math.inf  # tokens of right translations for one of the source

    def list_dropped(self, covered: Iterable[tuple[str, float]]) -> list[str]:
        """Return the words that a translation drops, of those of its source with their coverage."""
        return [
            word for word, share in covered if share < LEAST and word.lower() not in self.unsaid
        ]


def read_rule(folder: Path | None, model: Model) -> CoverageRule | None:
    """Return the rule in the directory of a model; None if it was not calibrated."""
    try:
        stored = read_json(folder / DOUBT)["dropped"] if folder else {}
        layer, head, shift = stored["head"]
        is_there = layer in model.attending_layers and (head is None or 0 <= head < model.heads)
        unsaid, ratio = frozenset(map(str, stored["unsaid"])), float(stored["ratio"])
        return CoverageRule(layer, head, int(bool(shift)), unsaid, ratio) if is_there else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def describe_rule(folder: Path, model: Model) -> dict[str, Any] | None:
    """Return the rule of a model for JSON, with its limit and its pattern; None without one."""
    if (rule := read_rule(folder, model)) is None:
        return None
    return rule._asdict() | {"unsaid": sorted(rule.unsaid), "least": LEAST, "word": WORD.pattern}


class DroppedWords:
    """A check of translations for words of the source that they drop."""

    def __init__(self, searcher: Searcher) -> None:
        self.searcher = searcher

    @cached_property
    def rule(self) -> CoverageRule | None:
        """Return the rule of the model; None if it was not calibrated."""
        return read_rule(self.searcher.folder, self.searcher.config.model)

    @cached_property
    def lists(self) -> ListRule | None:
        """Return the check of lists of the model's languages; None if it knows none of them."""
        data = self.searcher.config.data
        return read_list_rule(data.source_lang, data.target_lang)

    def find(self, ways: Iterable[tuple[Sentence, Translation]]) -> list[list[str]]:
        """Return the words that each translation drops of its sentence, and lists with a gap."""
        pairs = [*ways]
        dropped = self._find_words(pairs)
        for words, (sentence, translation) in zip(dropped, pairs, strict=True):
            lost = self.lists.find_lost(sentence.text, translation.text) if self.lists else ()
            words += [each for each in lost if not any(word in each for word in words)]
        return dropped

    def _find_words(self, pairs: Sequence[tuple[Sentence, Translation]]) -> list[list[str]]:
        """Return the words that each translation drops of its sentence.

        One that is longer than is usual drops nothing, as a rule, and is not looked at.
        """
        rule = self.rule
        dropped: list[list[str]] = [[] for _ in pairs]
        if rule is None:
            return dropped
        known = [self._find_ids(*each) for each in pairs]
        most = [rule.ratio * len(sentence.ids) for sentence, _ in pairs]
        places = [n for n, ids in enumerate(known) if 0 < len(ids) <= most[n]]
        texts = [pairs[n][0].read_text for n in places]
        for number, covered in self.measure(rule, texts, [known[n] for n in places]):
            dropped[places[number]] = rule.list_dropped(covered)
        return dropped

    def measure(
        self, rule: CoverageRule, texts: Sequence[str], targets: Sequence[Sequence[int]]
    ) -> Iterator[tuple[int, list[tuple[str, float]]]]:
        """Yield the number of each pair, and the words of its text with their coverage.

        targets: the ids of the translations, without their end. Texts that are too long for the
        model are left out.
        """
        searcher = self.searcher
        read = [searcher.tokenizers.source.tokens(text) for text in texts]
        tags = searcher.reader.tags
        fit = [n for n, each in enumerate(read) if len(tags) + len(each.ids) < searcher.longest]
        engine = searcher.get_engine(searcher.weights.precision)
        attended = engine.attend(
            [[*tags, *read[n].ids, EOS] for n in fit],
            [targets[n] for n in fit],
            [(rule.layer, rule.head)],
            workers=searcher.weights.count_workers(len(fit), max(map(len, targets), default=0) + 1),
            budget=searcher.budget,
        )
        for place, (weights,) in attended:
            number = fit[place]
            rows = weights.tolist()[rule.shift :][: len(targets[number])]
            sums = [*map(sum, zip(*rows, strict=True))][len(tags) :]
            yield number, [*cover_words(texts[number], read[number].spans, sums)]

    def _find_ids(self, sentence: Sentence, translation: Translation) -> Sequence[int]:
        """Return the ids of a translation's tokens, which are among the sentence's hypotheses."""
        token = self.searcher.tokenizers.target.token
        for hypothesis in sentence.hypotheses:
            if [*map(token, hypothesis.tokens)] == translation.tokens:
                return hypothesis.tokens
        return ()


def cover_words(
    text: str, spans: Sequence[Span], sums: Sequence[float]
) -> Iterator[tuple[str, float]]:
    """Yield each word of a text, and the greatest coverage of one of its tokens."""
    for match in WORD.finditer(text):
        first, last = match.span()
        own = [sums[n] for n, (begin, end) in enumerate(spans) if begin < last and end > first]
        if own:
            yield match[0], max(own)
