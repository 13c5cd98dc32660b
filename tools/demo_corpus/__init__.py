"""The grammar of the built-in corpus: one for sentences in English, French and Chinese.

It is made for looking inside a model. In "The animal didn't cross the street because it was too
tired" only the adjective says which noun `it` refers to, and French il or elle is wrong unless the
model found that noun. The tables `lexicon.toml` and `rules.toml` are meant to be read; `rules.py`
explains them. The package ships what `exam.write_corpus` writes: `python -m tools.demo_corpus`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import replace
from functools import cache
from hashlib import blake2b
from itertools import islice
from random import Random
from typing import Any, Literal, NamedTuple, TypeVar, get_args

from glassformer.extensions.demo.corpus import Split, has_pronoun

from .grammar import Grammar
from .parser import parse_phrase
from .rules import PhraseTree, RulePart
from .spelling import LANGUAGES, Style, close, undress
from .words import LexiconWord, WordChoices, read

__all__ = [
    "LANGUAGES",
    "NOTES",
    "Note",
    "PronounItem",
    "Split",
    "accepted",
    "is_riddle",
    "list_riddle_words",
    "pairs",
    "pronoun_items",
    "split_of",
]

SYNONYM = 0.2  # how often a source has another wording than the preferred one
DRESSES = (
    (0.82, Style()),
    (0.88, Style(stop=False)),
    (0.96, Style(False, False)),
    (1.0, Style(capital=False)),
)
T = TypeVar("T", bound=Hashable)


class Note(NamedTuple):
    """A sentence that the explanations of the Transformer use, and its split."""

    en: str
    fr: str
    zh: str
    split: Split


NOTES = tuple(Note(**note) for note in read("notes.toml")["note"])


class PronounItem(NamedTuple):
    """A test sentence whose French pronoun is right only if `it` was resolved to the right noun."""

    source: str
    reference: str  # in French
    contrast: str  # the reference with the other noun's pronoun and adjective
    right: Literal["il", "elle"]
    wrong: Literal["il", "elle"]
    nouns: tuple[str, str]  # in English, as they come in the sentence
    genders: tuple[str, str]  # of the nouns in French, m or f: seldom the same
    adjective: str  # in English; it decides
    referent: Literal[0, 1]  # which noun

    def is_resolved_by(self, translation: str) -> bool:
        """Return whether a French translation has the right pronoun, and not the wrong one."""
        return has_pronoun(translation, only=self.right)


def pairs(
    source_lang: str, target_lang: str, count: int, seed: int, split: Split = "train"
) -> list[tuple[str, str]]:
    """Return `count` distinct sentence pairs, the same in every process.

    Each (noun, place, adjective), or other set of content words, occurs in one split only; yet
    every word occurs in `train`. The sentences of NOTES that belong to the split come first. A
    source may have any wording (did not, didn't) and style (no capital, no full stop); a target
    always has the preferred wording, in the style of its source.
    """
    _check(source_lang, target_lang, split)

    def make(tree: PhraseTree, rng: Random) -> tuple[str, str]:
        chance = rng.random()
        style = next(style for bound, style in DRESSES if chance < bound)
        style = style._replace(capital=style.capital or source_lang == "zh")
        return _say(tree, source_lang, style, rng), _say(tree, target_lang, style)

    rng = Random(f"{source_lang} {target_lang} {split} {seed}")
    notes = [
        (getattr(note, source_lang), getattr(note, target_lang))
        for note in NOTES
        if note.split == split
    ]
    trees = _trees(rng, source_lang, split)
    return _distinct(notes, trees, count, lambda tree: make(tree, rng))


def pronoun_items(
    count: int, seed: int, split: Split = "test", source_lang: str = "en"
) -> list[PronounItem]:
    """Return `count` distinct sentences in which `it` may be either of two nouns, with solutions.

    The solutions are in French.
    """
    _check(source_lang, "fr", split)
    rng = Random(f"pronouns {source_lang} {split} {seed}")
    trees = _trees(rng, source_lang, split, "riddle")
    return _distinct([], trees, count, lambda tree: _item(tree, source_lang, rng))


def is_riddle(sentence: str, language: str = "en") -> bool:
    """Return whether `it` in a sentence may be either of two nouns, as in `pronoun_items`.

    The nouns must have different genders in French, so that the pronoun shows which was chosen.
    """
    return any(
        len({"f" in tree.children[slot].head.tags for slot in ("who", "where")}) == 2
        for tree in _read(sentence, language)
        if tree.rule.category == "riddle"
    )


def list_riddle_words() -> tuple[dict[str, str], list[str]]:
    """Return the nouns of riddles with their French genders, and the adjectives that decide."""
    slots = [rule.slots for rule in _grammar().rules["riddle"]]
    lexicon = _grammar().lexicon

    def list_fitting(category: str, *names: str) -> list[LexiconWord]:
        wants = [each[name].tags for each in slots for name in names]
        words = lexicon[category]
        return [word for word in words if any(all(word.tags & w for w in want) for want in wants)]

    def spell(word: LexiconWord) -> list[str]:
        return [forms[""][0] for forms in word.synonyms["en"].options]

    nouns = list_fitting("noun", "who", "where")
    genders = {text: "f" if "f" in word.tags else "m" for word in nouns for text in spell(word)}
    return genders, [text for word in list_fitting("adjective", "why") for text in spell(word)]


def accepted(sentence: str, source_lang: str, target_lang: str) -> set[str]:
    """Return every translation that the grammar allows, in the style of the sentence.

    The set is empty if the grammar does not know the sentence. Chinese has no capitals, so a
    translation from it begins with one.
    """
    _check(source_lang, target_lang)
    _, style = undress(sentence, source_lang)
    return {
        close(way, target_lang, style)
        for tree in _read(sentence, source_lang)
        for way in _grammar().ways(tree, target_lang)
    }


def split_of(sentence: str, language: str) -> Split | None:
    """Return the split that a sentence of the grammar belongs to; None for any other sentence."""
    text, _ = undress(sentence, language)
    trees = sorted(  # a tree whose preferred wording this is comes first
        _read(sentence, language),
        key=lambda tree: _grammar().say(tree, language).lower() != text.lower(),
    )
    return _split(trees[0].key()) if trees else None


def _read(sentence: str, language: str) -> Iterator[PhraseTree]:
    text, _ = undress(sentence, language)
    for start in dict.fromkeys((text[:1], text[:1].lower(), text[:1].upper())):
        yield from parse_phrase(_grammar(), start + text[1:], language)


def _trees(
    rng: Random, source: str, split: Split, category: str = "sentence"
) -> Iterator[PhraseTree]:
    while True:
        tree = _grammar().draw(rng, source, category)
        if _split(tree.key()) == split:
            yield tree


def _distinct(
    first: Iterable[T], trees: Iterator[PhraseTree], count: int, make: Callable[[PhraseTree], T]
) -> list[T]:
    found = dict.fromkeys(first)
    idle = 0  # draws in a row that brought nothing new
    while len(found) < count:
        before = len(found)
        found[make(next(trees))] = None
        idle = 0 if len(found) > before else idle + 1
        if idle == 2000:
            raise ValueError(f"count={count}: the built-in corpus yields only about {len(found)}")
    return list(islice(found, count))


def _split(key: tuple[str, ...]) -> Split:
    """Return the split of a key: a twentieth each is test and valid; keys of one word are train."""
    if key in _pinned():
        return _pinned()[key]
    if len(key) == 1:
        return "train"
    part = blake2b("|".join(key).encode(), digest_size=1).digest()[0] % 20
    return "test" if part == 0 else "valid" if part == 1 else "train"


def _say(tree: PhraseTree, language: str, style: Style, rng: Random | None = None) -> str:
    """Return the sentence of a tree: any wording if `rng` is given, else the preferred one."""

    def pick(choices: WordChoices[Any]) -> int:
        if rng is None or choices.drawn == 1 or rng.random() >= SYNONYM:
            return 0
        return 1 + int(rng.random() * (choices.drawn - 1))

    return close(_grammar().say(tree, language, pick), language, style, careless=rng is not None)


def _item(tree: PhraseTree, source: str, rng: Random) -> PronounItem:
    who, where, why = (tree.children[slot].head for slot in ("who", "where", "why"))
    side = tree.rule.sides["fr"].options[0]
    agrees = next(part.agrees for part in side if isinstance(part, RulePart) and part.name == "why")
    other = "where" if agrees == "who" else "who"
    turned = [
        part._replace(agrees=other) if isinstance(part, RulePart) and part.name == "why" else part
        for part in side
    ]
    rule = replace(tree.rule, sides={"fr": WordChoices((turned,), 1)})
    feminine = "f" in tree.children[agrees].head.tags
    return PronounItem(
        source=_say(tree, source, Style(), rng),
        reference=_say(tree, "fr", Style()),
        contrast=_say(replace(tree, rule=rule), "fr", Style()),
        right="elle" if feminine else "il",
        wrong="il" if feminine else "elle",
        nouns=(who.name, where.name),
        genders=("f" if "f" in who.tags else "m", "f" if "f" in where.tags else "m"),
        adjective=why.name,
        referent=0 if agrees == "who" else 1,
    )


def _check(source: str, target: str, split: str = "train") -> None:
    for language in (source, target):
        if language not in LANGUAGES:
            raise ValueError(f"the built-in corpus has no language {language!r}: en, fr or zh")
    if source == target:
        raise ValueError(f"source and target language are both {source!r}")
    if split not in get_args(Split):
        raise ValueError(f"the built-in corpus has no split {split!r}: train, valid or test")


@cache
def _grammar() -> Grammar:
    return Grammar()


@cache
def _pinned() -> dict[tuple[str, ...], Split]:
    """Return the splits of the sentences in NOTES, by key."""
    trees = ((tree, note) for note in NOTES for tree in _read(note.en, "en"))
    return {tree.key(): note.split for tree, note in trees}
