"""A parser of the built-in grammar, which finds every tree of a sentence.

It matches top-down and ignores agreement, on text without spaces and elisions; generating the
sentences of a tree then checks what was ignored.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from .grammar import Grammar
from .rules import PhraseTree, Rule, Side
from .spelling import join_spelled, loosen
from .words import LexiconWord

Found = dict[str, PhraseTree | LexiconWord]


def parse_phrase(grammar: Grammar, text: str, language: str) -> Iterator[PhraseTree]:
    """Yield every tree of a sentence, which is given without capital letter and full stop."""
    for loose in loosen(text, language):
        for tree, end in _Parser(grammar, loose, language).category("sentence", 0):
            if end == len(loose) and text in grammar.ways(tree, language):
                yield tree


class _Parser:
    def __init__(self, grammar: Grammar, text: str, language: str) -> None:
        self.grammar, self.text, self.language = grammar, text, language
        self.memo: dict[tuple[str, int], list[tuple[PhraseTree, int]]] = {}

    def category(self, name: str, start: int) -> list[tuple[PhraseTree, int]]:
        """Return the trees of a category that begin at `start`, and where each ends."""
        if (name, start) not in self.memo:
            self.memo[name, start] = [
                (rule.grow({slot: found[slot] for slot in rule.slots}), end)
                for rule in self.grammar.rules[name]
                for side in rule.sides[self.language].options
                for found, end in self._side(rule, side, start, {})
                if _fits(rule, found)
            ]
        return self.memo[name, start]

    def _side(
        self, rule: Rule, side: Side, start: int, found: Found
    ) -> Iterator[tuple[Found, int]]:
        if not side:
            yield found, start
            return
        part, *rest = side
        if isinstance(part, str):
            loose = _loose(part, self.language)
            if self.text.startswith(loose, start):
                yield from self._side(rule, rest, start + len(loose), found)
            return
        category = rule.slots[part.name].category if part.name in rule.slots else part.name
        for option, end in self._options(category, part.form, start):
            if option is None:
                yield from self._side(rule, rest, end, found)
            elif found.get(part.name, option) is option:
                yield from self._side(rule, rest, end, {**found, part.name: option})

    def _options(
        self, category: str, form: str, start: int
    ) -> Iterator[tuple[PhraseTree | LexiconWord | None, int]]:
        if category in self.grammar.rules:
            yield from self.category(category, start)
            return
        for spelling, word in _spellings(self.grammar, self.language, category, form):
            if self.text.startswith(spelling, start):
                yield word, start + len(spelling)


@cache
def _spellings(
    grammar: Grammar, language: str, category: str, form: str
) -> list[tuple[str, LexiconWord | None]]:
    """Return the spellings of a form, each with its word: of all words of a category.

    For a function word or a measure word, the word is None.
    """
    cells: list[tuple[str, LexiconWord | None]]
    if words := grammar.lexicon.get(category):
        cells = [
            (cell, word)
            for word in words
            for forms in word.synonyms[language].options
            for cell in forms[form]
        ]
    elif category == "measure":
        cells = [(w.agreement.measure, None) for w in grammar.lexicon["noun"] if w.agreement]
    else:
        cells = [(cell, None) for cell in grammar.function[language][category]]
    loose = ((_loose(text, language), word) for cell, word in cells for text in cell.split(">"))
    return list(dict.fromkeys(loose))


@cache
def _loose(text: str, language: str) -> str:
    return loosen(join_spelled(text, language), language)[0] if text.strip() else ""


def _fits(rule: Rule, found: Found) -> bool:
    for name, slot in rule.slots.items():
        wants = slot.tags + ((found[slot.fits].head.tags,) if slot.fits else ())
        if wants and not all(found[name].head.tags & want for want in wants):
            return False
    return True
