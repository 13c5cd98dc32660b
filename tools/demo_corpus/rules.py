"""The rules of the built-in grammar, and the trees that are built with them.

A rule gives a category (`np`) one right-hand side per language, all over the same slots:

    [[np]]                                                       # a black cat, un chat noir
    with = { noun = "noun count", how = "adjective colour for noun" }
    head = "noun"
    en = "a {how} {noun}"
    fr = "{un} {noun} {how}"
    zh = "一{measure}{how.by}{noun}"

with    what a slot may hold, a word or a tree: `noun count` has a head that is tagged count,
        `for noun` shares a tag with the slot noun, `unlike who` mostly not the gender of who
head    the slot whose tags, gender, person and number are those of the whole tree
agree   agreement that the rule sets itself, such as plural
key     the slots whose words decide the split; without it, all words do
hidden  source languages in which the rule is not used, since it would say the same as another rule

`{slot.form}` is a form of the word, `{slot~other}` agrees with the slot `other`; without `~` a slot
agrees with the tree that contains it. A name that is no slot is a function word, `{measure}` the
Chinese measure word. A list offers several sides, the preferred one first; a side that begins with
? is parsed but never generated. `all` is one side for all languages.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, NamedTuple

from .spelling import LANGUAGES
from .words import PLAIN, Agreement, LexiconWord, WordChoices

Wants = tuple[frozenset[str], ...]  # a head shares a tag with each


class RulePart(NamedTuple):
    """A placeholder of a side, `{name.form~agrees}`."""

    name: str
    form: str
    agrees: str


Side = list[str | RulePart]
_PART = re.compile(r"\{(\w+)(?:\.(\w+))?(?:~(\w+))?\}")
_SLOT = re.compile(r"(\w+)((?: [\w|]+)*?)(?: for (\w+))?(?: unlike (\w+))?")
_KEYS = {"with", "head", "weight", "agree", "hidden", "key", "all", *LANGUAGES}


class Slot(NamedTuple):
    """A slot and what it may hold: `category tag tag|tag for fits unlike unlike`."""

    category: str
    tags: Wants
    fits: str
    unlike: str


@dataclass(frozen=True, eq=False, slots=True)
class Rule:
    category: str
    weight: float
    slots: dict[str, Slot]
    head: str
    agree: dict[str, Any]
    hidden: frozenset[str]
    key: tuple[str, ...]
    sides: dict[str, WordChoices[Side]]
    renames: bool  # the rule is only another name of its one child

    def grow(self, children: dict[str, PhraseTree | LexiconWord]) -> PhraseTree:
        """Return the tree of this rule with the given children."""
        if self.renames and isinstance(child := next(iter(children.values())), PhraseTree):
            return child
        agreement = children[self.head].agreement if self.head else None
        if self.agree:
            agreement = (agreement or PLAIN)._replace(**self.agree)
        return PhraseTree(self, children, agreement)


@dataclass(frozen=True, eq=False, slots=True)
class PhraseTree:
    rule: Rule
    children: dict[str, PhraseTree | LexiconWord]
    agreement: Agreement | None  # None: it takes its parent's

    @property
    def head(self) -> LexiconWord:
        """Return the head word, whose tags and agreement are those of the tree."""
        return self.children[self.rule.head].head

    def words(self) -> list[LexiconWord]:
        found: list[LexiconWord] = []
        for child in self.children.values():
            found += child.words() if isinstance(child, PhraseTree) else [child]
        return found

    def key(self) -> tuple[str, ...]:
        """Return the content words that decide the split; equal keys are in the same split."""
        if self.rule.key:
            return tuple(self.children[slot].head.name for slot in self.rule.key)
        return tuple(sorted({word.name for word in self.words()}))


def load_rules(table: dict[str, list[dict[str, Any]]]) -> dict[str, list[Rule]]:
    """Return the rules of `rules.toml` by category."""
    return {name: [_rule(name, entry) for entry in entries] for name, entries in table.items()}


def _rule(category: str, entry: dict[str, Any]) -> Rule:
    def wrong(what: str) -> ValueError:
        return ValueError(f"rules.toml, [[{category}]] {entry.get('en', entry.get('all'))}: {what}")

    if unknown := sorted(entry.keys() - _KEYS):
        raise wrong(f"unknown key {unknown[0]!r}")
    slots: dict[str, Slot] = {}
    for name, text in entry.get("with", {}).items():
        if not (match := _SLOT.fullmatch(text)):
            raise wrong(f"cannot read the slot {text!r}")
        tags = tuple(frozenset(tag.split("|")) for tag in match[2].split())
        slots[name] = Slot(match[1], tags, match[3] or "", match[4] or "")
    sides: dict[str, WordChoices[Side]] = {}
    for language in LANGUAGES:
        texts = entry.get("all") or entry[language]
        sides[language] = WordChoices.read([texts] if isinstance(texts, str) else texts, _side)
        for side in sides[language].options:
            if missing := slots.keys() - {part.name for part in side if isinstance(part, RulePart)}:
                raise wrong(f"the {language} side leaves {sorted(missing)[0]!r} out")
    return Rule(
        category,
        float(entry.get("weight", 1)),
        slots,
        entry.get("head", ""),
        entry.get("agree", {}),
        frozenset(entry.get("hidden", "").split()),
        tuple(entry.get("key", "").split()),
        sides,
        entry.get("all") == f"{{{[*slots, ''][0]}}}",
    )


def _side(text: str) -> Side:
    side: Side = []
    at = 0
    for match in _PART.finditer(text):
        side += [text[at : match.start()]] if match.start() > at else []
        side.append(RulePart(match[1], match[2] or "", match[3] or ""))
        at = match.end()
    return [*side, text[at:]] if at < len(text) else side
