"""A glossary in tokens: what the translation of a sentence has to contain."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property

from glassformer.data.glossary import Glossary, GlossaryTerm, list_spellings
from glassformer.decode.sentences import Constraint, Spelling
from glassformer.text import Tokenizer
from glassformer.text.spacing import SOUTH_EAST, is_unspaced, list_combining
from glassformer.translate.sentence import Sentence


class TermSpeller:
    """The spellings of terms in the tokens of a target language, given by its code."""

    def __init__(self, target: Tokenizer, language: str | None) -> None:
        self.target, self.is_unspaced = target, is_unspaced(language)

    def constrain(self, sentences: Sequence[Sentence], glossary: Glossary) -> list[Sentence]:
        """Return the sentences, each with what its terms demand of the translation.

        A term within what a stand-in stands for demands nothing.
        """
        return [
            each._replace(constraints=[*map(self._spell, _find(glossary, each))])
            for each in sentences
        ]

    def _spell(self, term: GlossaryTerm) -> Constraint:
        spellings: list[Spelling] = []
        is_unspaced = self.is_unspaced or bool(re.match(f"[{SOUTH_EAST}]", term.targets[0]))
        for text, may_go_on in list_spellings(term, is_unspaced):
            rows = [self.target.encode(text)]
            if is_unspaced:
                rows.append(self.target.encode_inside(text))
            continuing = frozenset[int]() if may_go_on else self._continuing
            spellings += [Spelling(tuple(row), continuing) for row in rows if row]
        if not spellings:
            raise ValueError(f"term {term.source!r}: no token spells {term.targets[0]!r}")
        return Constraint(tuple(spellings))

    @cached_property
    def _continuing(self) -> frozenset[int]:
        """Return the target tokens that begin with what continues a word."""
        letter = re.compile(rf"[^\W_]|[{list_combining()}]")
        tokens = enumerate(self.target.vocabulary)
        return frozenset(id for id, token in tokens if letter.match(token))


def _find(glossary: Glossary, sentence: Sentence) -> list[GlossaryTerm]:
    placed = sentence.adapted.terms if sentence.adapted else ()
    return [term for term in glossary.find(sentence.text) if term.source not in placed]
