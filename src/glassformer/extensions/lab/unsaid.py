"""The words that right translations leave unsaid, by text that a model never saw.

The head that aligns words says how much of each source word is in its right translation (see
`coverage.dropped`). Words that have next to none of it now and then, such as *do* and *going*, are
no sign of a fault. All others are, if the head is good enough: in the other half of the text hardly
a right translation may look as if it dropped one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from glassformer.translate.align.alignments import find_head
from glassformer.translator import Translator

from ..coverage.dropped import LEAST, CoverageRule, DroppedWords

ALARMS = 0.025  # of the right translations: with more alarms, the head says too little

Covered = list[tuple[str, float]]  # the words of a text, each with its coverage


@dataclass(frozen=True)
class UnsaidWords:
    """A rule of dropped words, and the share of right translations that it would doubt."""

    rule: CoverageRule
    alarms: float

    def to_json(self) -> dict[str, Any]:
        layer, head, shift, unsaid, ratio = self.rule
        place = {"head": [layer, head, shift], "ratio": round(ratio, 4), "alarms": self.alarms}
        return place | {"unsaid": sorted(unsaid)}


def find_unsaid(
    translator: Translator,
    sources: Sequence[str],
    references: Sequence[Sequence[str]],
    more: tuple[Sequence[str], Sequence[str]] = ((), ()),
) -> UnsaidWords | None:
    """Return the rule of dropped words for a model; None if its attention says too little.

    references: one list for each set of translations of all sources. more: sources and translations
    that the model may have learned from, by which words are listed, but no alarm is counted.
    """
    searcher = translator.searcher
    head = find_head(searcher.folder, searcher) if searcher.folder else None
    if head is None or searcher.reader.context:  # the words of a context need not be said
        return None
    rule = CoverageRule(head.layer, head.head, int(head.row == "reads"))
    halves = [
        [*_measure(translator, rule, sources[half::2], [each[half::2] for each in references])]
        for half in (0, 1)
    ]
    known = list_unsaid(_measure(translator, rule, more[0], [more[1]]))
    alarms = 0
    for half, other in (halves, halves[::-1]):
        judge = rule._replace(unsaid=known | list_unsaid(other))
        alarms += sum(1 for covered in half if judge.list_dropped(covered))
    share = alarms / max(1, sum(map(len, halves)))
    if share > ALARMS:
        return None
    ratio = _measure_ratio(translator, sources, references)
    unsaid = known.union(*map(list_unsaid, halves))
    return UnsaidWords(rule._replace(unsaid=unsaid, ratio=ratio), share)


def list_unsaid(texts: Iterable[Covered]) -> frozenset[str]:
    """Return the words that once had less than twice LEAST, in small letters."""
    return frozenset(
        word.lower() for covered in texts for word, coverage in covered if coverage < 2 * LEAST
    )


def _measure_ratio(
    translator: Translator, sources: Sequence[str], references: Sequence[Sequence[str]]
) -> float:
    """Return how many tokens of a translation are usual for one of a source, its end included."""
    read = sum(map(len, translator.searcher.reader.encode(sources)))
    ids = (translator.searcher.reader.encode_targets(sources, each) for each in references)
    return sum(len(line) for lines in ids for line in lines) / max(1, read * len(references))


def _measure(
    translator: Translator,
    rule: CoverageRule,
    sources: Sequence[str],
    references: Sequence[Sequence[str]],
) -> Iterator[Covered]:
    """Yield the words of each source with their coverage in each of its translations."""
    searcher = translator.searcher
    texts = [searcher.reader.prepare(source).text for source in sources]
    check = DroppedWords(searcher)
    for lines in references:
        ids = [
            searcher.tokenize_target(source, line).ids
            for source, line in zip(sources, lines, strict=True)
        ]
        fit = [n for n, each in enumerate(ids) if 0 < len(each) < searcher.longest]
        pairs = [texts[n] for n in fit], [ids[n] for n in fit]
        yield from (words for _, words in check.measure(rule, *pairs))
