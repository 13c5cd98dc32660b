"""Terms within what a translation repeats: names, numbers and links that the network never reads.

It reads a stand-in in their place, which here stands for the term as well, and in which the target
of the term is put. So the term is where its part is, once. All other terms are constraints of the
search.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from glassformer.data.glossary import GlossaryTerm, TermPlace, list_spellings
from glassformer.text.verbatim import Verbatim

OF_TIMES = "time"  # a kind whose parts are rewritten, as no text with a target in it can be


class PlacedTerms(NamedTuple):
    """The parts of a sentence, joined with the terms that they overlap."""

    parts: list[Verbatim]  # that are read as stand-ins
    left: list[Verbatim]  # that the network has to repeat
    written: dict[Verbatim, str]  # what stands for the parts with terms
    terms: tuple[str, ...]  # the sources of those that need no constraint


def place_terms(
    text: str,
    places: Sequence[TermPlace],
    repeated: tuple[Sequence[Verbatim], Sequence[Verbatim]],
    titled: Mapping[Verbatim, str],
    names: Collection[str],
) -> PlacedTerms:
    """Join the terms of a text with the parts that they overlap.

    repeated: parts that are read as stand-ins, and those that are not. titled: how a translation
    writes names with titles. names: words that stand for others, which are parts if they are terms.
    """
    parts, left, written = list[Verbatim](), list[Verbatim](), dict[Verbatim, str]()
    alone = list[GlossaryTerm]()
    for group in _group([*repeated[0], *repeated[1], *places]):
        terms = [each for each in group if isinstance(each, TermPlace)]
        others = [each for each in group if not isinstance(each, TermPlace)]
        first, end = group[0], max(each.end for each in group)
        if not terms:
            (parts if first in repeated[0] else left).extend(others)
        elif others or text[first.start : end] in names:
            is_plain = bool(names) and not (others and others[0].start == first.start)
            kind = "name" if is_plain else others[0].kind
            whole = Verbatim(first.start, end, "number" if kind == OF_TIMES else kind)
            parts.append(whole)
            written[whole] = _write(text, whole, terms, titled.get(whole))
        else:
            alone += [each.term for each in terms]
    placed = dict.fromkeys(each.term.source for each in places if each.term not in alone)
    return PlacedTerms(parts, left, written, tuple(placed))


def _group(
    members: Sequence[Verbatim | TermPlace],
) -> Iterator[list[Verbatim | TermPlace]]:
    """Yield the members that overlap each other, in order."""
    group, end = list[Verbatim | TermPlace](), 0
    for each in sorted(members, key=lambda each: each[:2]):
        if group and each.start >= end:
            yield group
            group = []
        group.append(each)
        end = max(end, each.end)
    if group:
        yield group


def _write(text: str, whole: Verbatim, terms: Sequence[TermPlace], titled: str | None) -> str:
    """Return a part of a text with the targets of its terms."""
    pairs = [(text[each.start : each.end], _spell(each.term)) for each in terms]
    if titled and all(own in titled for own, _ in pairs):
        for own, target in pairs:
            titled = target.join(titled.rsplit(own, 1))
        return titled
    written, at = "", whole.start
    for each, (_, target) in zip(terms, pairs, strict=True):
        written, at = written + text[at : each.start] + target, each.end
    return written + text[at : whole.end]


def _spell(term: GlossaryTerm) -> str:
    return next(list_spellings(term, False))[0]
