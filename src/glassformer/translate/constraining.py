"""A glossary in tokens: what the translation of a sentence has to contain."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from ..decode.sentences import Constraint, Spelling
from ..text import Tokenizer
from ..text.spacing import is_unspaced
from .sentence import Sentence

if TYPE_CHECKING:
    from ..data.glossary import Glossary, GlossaryTerm


class TermSpeller:
    """The spellings of terms in the tokens of a target language, given by its code."""

    def __init__(self, target: Tokenizer, language: str | None) -> None:
        self.target, self.is_unspaced = target, is_unspaced(language)

    def constrain(self, sentences: Sequence[Sentence], glossary: Glossary) -> list[Sentence]:
        """Return the sentences, each with what its terms demand of the translation."""
        return [
            each._replace(constraints=[self._spell(term) for term in glossary.find(each.text)])
            for each in sentences
        ]

    def _spell(self, term: GlossaryTerm) -> Constraint:
        from ..data.glossary import list_spellings

        spellings: list[Spelling] = []
        for text, may_go_on in list_spellings(term, self.is_unspaced):
            rows = [self.target.encode(text)]
            if self.is_unspaced:
                rows.append(self.target.encode_inside(text))
            continuing = frozenset[int]() if may_go_on else self._continuing
            spellings += [Spelling(tuple(row), continuing) for row in rows]
        return Constraint(tuple(spellings))

    @cached_property
    def _continuing(self) -> frozenset[int]:
        """Return the target tokens that begin with a letter or digit: they continue a word."""
        texts = enumerate(self.target.vocabulary)
        return frozenset(id for id, text in texts if text[:1].isalnum())
