"""Pairs whose sources are read with the sources before them; see `text.context`."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import repeat

from ..text.context import PrecedingLines, extend_source
from .corpus import Corpus, read_pairs
from .tables import Pair


def read_in_context(part: Corpus, most: int, *, held_out: bool = False) -> Iterator[Pair]:
    """Yield the chosen pairs, each source extended by up to `most` of the sources before it.

    A pair whose sides are both empty ends a document, and is left out. held_out: the pairs are to
    validate on, and others of the file may stand in their context; a training never reads a source
    that was held out, so that its documents end there.
    """
    document = PrecedingLines(most)
    chosen: Iterable[bool] = repeat(True) if part.chosen is None else part.chosen
    for (source, target), is_chosen in zip(
        read_pairs(replace(part, chosen=None)), chosen, strict=False
    ):
        has_source, has_target = bool(source.strip()), bool(target.strip())
        if not (has_source or has_target):
            document.end()
            continue
        if is_chosen:
            is_whole = has_source and has_target
            yield (extend_source(document.context, source) if is_whole else source), target
        if not (is_chosen or held_out):
            document.end()
        elif has_source:
            document.add(source)
