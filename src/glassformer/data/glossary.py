"""A glossary: how words of the source have to be translated. This module imports no torch."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from ..text.characters import INVISIBLE
from ..text.spacing import word_pattern
from ..text.unicode import clean, clean_with_spans, join_spans
from .files import read_lines

STEM, OR = "*", "|"  # after a target: it may go on; between targets: either


@dataclass(frozen=True)
class GlossaryTerm:
    """A word or phrase of the source, and the translations of which one has to appear."""

    source: str
    targets: tuple[str, ...]  # one that ends in STEM may be the beginning of a word

    def is_in(self, translation: str) -> bool:
        """Return whether one of the targets is in a translation, as whole words or as a stem."""
        return any(_find(target).search(clean(translation)) for target in self.targets)


class TermPlace(NamedTuple):
    """A term of a glossary, and its place in a text."""

    start: int
    end: int
    term: GlossaryTerm


class Glossary:
    """The terms of a glossary, and where a text has them.

    A source in lower case is found in any case, another one as it is written.
    """

    def __init__(self, terms: Iterable[GlossaryTerm]) -> None:
        self.terms = tuple(sorted(terms, key=lambda term: -len(term.source)))
        self._patterns = [_find(term.source, any_case=term.source.islower()) for term in self.terms]

    @classmethod
    def read(cls, path: Path) -> Glossary:
        """Read a file with a source term, a tab and its target on each line.

        Several targets stand with | between them; one that ends in * may be inflected. Blank lines
        and those that begin with # are left out. ValueError names the line that is wrong.
        """
        terms: dict[str, GlossaryTerm] = {}
        for number, line in enumerate(read_lines(path), 1):
            if not line.strip() or line.startswith("#"):
                continue
            source, tab, target = line.partition("\t")
            if not tab or "\t" in target:
                raise ValueError(f"{path}, line {number}: a source term, a tab, a target term")
            term = make_term(source, target, f"{path}, line {number}")
            if terms.setdefault(term.source, term) != term:
                raise ValueError(
                    f"{path}, line {number}: {term.source} is there twice, with other targets"
                )
        if not terms:
            raise ValueError(f"{path}: there are no terms in it")
        return cls(terms.values())

    @classmethod
    def of(cls, terms: Glossary | Mapping[str, str]) -> Glossary:
        """Return a glossary of source terms and their targets, written as in a file."""
        if isinstance(terms, Glossary):
            return terms
        return cls(make_term(*pair, name=f"term {pair[0]!r}") for pair in terms.items())

    def rewrite(self, spell: Callable[[str], str]) -> Glossary:
        """Return the glossary with its targets as a model writes them, in small letters perhaps."""
        rows = ((term.source, tuple(map(spell, term.targets))) for term in self.terms)
        return Glossary(GlossaryTerm(*row) for row in rows)

    def find(self, text: str) -> list[GlossaryTerm]:
        """Return the terms in a text, each once; a longer one hides those that overlap it."""
        return list(dict.fromkeys(each.term for each in self.locate(text)))

    def locate(self, text: str) -> list[TermPlace]:
        """Return where a text has terms, in order."""
        places = list[TermPlace]()
        cleaned, origins = clean_with_spans(text)
        for term, pattern in zip(self.terms, self._patterns, strict=True):
            for match in pattern.finditer(cleaned):
                start, end = join_spans(origins, match.span())
                if all(end <= each.start or each.end <= start for each in places):
                    places.append(TermPlace(start, end, term))
        return sorted(places, key=lambda each: each.start)


def make_term(source: str, target: str, name: str) -> GlossaryTerm:
    """Return a term. ValueError, which begins with `name`, if nothing of a side is visible."""
    targets = tuple(each.strip() for each in target.split(OR))
    visible = (each.translate(dict.fromkeys(INVISIBLE)).strip() for each in (source, *targets))
    if not all(each.rstrip(STEM).strip() for each in visible):
        raise ValueError(f"{name}: neither the source nor a target may be empty")
    return GlossaryTerm(clean(source.strip()), tuple(map(clean, targets)))


def count_terms(
    glossary: Glossary, sources: Iterable[str], translations: Iterable[str]
) -> tuple[int, int]:
    """Return how many terms the sources have, and how many of them are translated as asked."""
    met = [
        term.is_in(translation)
        for source, translation in zip(sources, translations, strict=True)
        for term in glossary.find(source)
    ]
    return len(met), sum(met)


def _find(words: str, *, any_case: bool = False) -> re.Pattern[str]:
    """Return a pattern of words that are no part of others; * at the end lets the last go on."""
    plain = words.removesuffix(STEM)
    return word_pattern(plain, any_case=any_case, may_go_on=plain != words)


def list_spellings(term: GlossaryTerm, is_unspaced: bool) -> Iterator[tuple[str, bool]]:
    """Yield each target without its mark, and whether a word may go on after it."""
    for target in term.targets:
        plain = target.removesuffix(STEM)
        yield plain, is_unspaced or plain != target
