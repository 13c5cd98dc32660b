"""A weighted synchronous grammar: each tree has sentences in three languages."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable
from itertools import accumulate
from random import Random
from typing import Any, TypeVar

from . import rules, words
from .rules import PhraseTree, Rule, Wants
from .spelling import join_spelled
from .words import PLAIN, Agreement, LexiconWord, WordChoices

UNLIKE = 0.85  # how often the key `unlike` of a slot is enforced
T = TypeVar("T")
Pick = Callable[[WordChoices[Any]], int]  # which synonym, which side; 0 is the preferred one


class Grammar:
    """The lexicon and the rules: they draw trees and generate sentences; `parser` parses them."""

    def __init__(self) -> None:
        self.lexicon, self.function = words.load_lexicon()
        self.rules = rules.load_rules(words.read("rules.toml"))
        self._options: dict[tuple[str, Wants, str], tuple[list[Any], list[float]]] = {}
        for name in self.rules.keys() & set().union(*self.function.values()):
            raise ValueError(f"rules.toml: {name!r} names a category and a function word")

    def draw(self, rng: Random, source: str, category: str = "sentence") -> PhraseTree:
        """Return a random tree, by weight, without what is hidden in the language `source`."""
        while True:  # where nothing fits a slot, or a word comes twice, start again
            tree = self._draw(rng, source, category, ())
            if isinstance(tree, PhraseTree) and len(used := tree.words()) == len(set(used)):
                return tree

    def _draw(
        self, rng: Random, source: str, category: str, wants: Wants
    ) -> PhraseTree | LexiconWord | None:
        options, weights = self._fitting(category, wants, source)
        if not options:
            return None
        choice: LexiconWord | Rule = options[bisect(weights, rng.random() * weights[-1])]
        if isinstance(choice, LexiconWord):
            return choice
        children: dict[str, PhraseTree | LexiconWord] = {}
        for name, slot in choice.slots.items():
            asked = slot.tags + (wants if name == choice.head else ())
            if slot.fits:
                asked += (children[slot.fits].head.tags,)
            if slot.unlike and rng.random() < UNLIKE:
                asked += (frozenset("mf") - children[slot.unlike].head.tags,)
            child = self._draw(rng, source, slot.category, asked)
            if child is None:
                return None
            children[name] = child
        return choice.grow(children)

    def _fitting(self, category: str, wants: Wants, source: str) -> tuple[list[Any], list[float]]:
        """Return the words or rules whose head has the wanted tags, with cumulative weights."""
        key = (category, wants, source)
        if key not in self._options:
            found: list[Any]
            if category in self.lexicon:
                found = [w for w in self.lexicon[category] if all(w.tags & want for want in wants)]
            else:
                found = [r for r in self.rules[category] if self._can_head(r, wants, source)]
            found = [option for option in found if source not in option.hidden]
            weights = list(accumulate(getattr(option, "weight", 1.0) for option in found))
            self._options[key] = (found, weights)
        return self._options[key]

    def _can_head(self, rule: Rule, wants: Wants, source: str) -> bool:
        if not rule.head:
            return not wants
        slot = rule.slots[rule.head]
        return bool(self._fitting(slot.category, slot.tags + wants, source)[0])

    def say(self, tree: PhraseTree, language: str, pick: Pick = lambda choices: 0) -> str:
        """Return the sentence of a tree, spelled, without capital letter and full stop."""
        return join_spelled(self._say(tree, language, PLAIN, pick), language)

    def _say(self, tree: PhraseTree, language: str, own: Agreement, pick: Pick) -> str:
        children, function = tree.children, self.function[language]
        said = []
        for part in _choose(tree.rule.sides[language], pick):
            if isinstance(part, str):
                said.append(part)
                continue
            name, form, agrees = part
            agreement = (children[agrees].agreement or own) if agrees else own
            child = children.get(name)
            if isinstance(child, LexiconWord):
                said.append(agreement.choose(_choose(child.synonyms[language], pick)[form]))
            elif child:
                if not agrees and name != tree.rule.head:  # only the head agrees with the whole
                    agreement = child.agreement or own
                said.append(self._say(child, language, agreement, pick))
            elif name == "measure":
                said.append(agreement.measure)
            else:
                said.append(agreement.choose(function[name]))
        return "".join(said)

    def ways(self, tree: PhraseTree, language: str) -> list[str]:
        """Return every sentence of a tree in a language, the preferred one first."""
        found: dict[str, None] = {}
        path: list[int] = []  # the choices made, in the order in which `say` calls `pick`
        while True:
            sizes: list[int] = []

            def pick(choices: WordChoices[Any], sizes: list[int] = sizes) -> int:
                sizes.append(len(choices.options))
                if len(sizes) > len(path):
                    path.append(0)
                return path[len(sizes) - 1]

            found[self.say(tree, language, pick)] = None
            while path and path[-1] + 1 == sizes[len(path) - 1]:
                path.pop()
            if not path:
                return list(found)
            path[-1] += 1


def _choose(choices: WordChoices[T], pick: Pick) -> T:
    return choices.options[pick(choices) if len(choices.options) > 1 else 0]
