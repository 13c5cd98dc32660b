"""The pairs that `probe` asks a model about: where the answer is given, and where the words are.

A pair is a source with a right and a wrong translation. Both are alike up to one token, the answer;
the row of the decoder that predicts it is called the step.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from glassformer.config import BOS, EOS
from glassformer.text.unicode import Span
from glassformer.translator import Translator

from .contrastive import ContrastiveItem

REST = "rest"  # the role of the source tokens that no other role has, the end mark among them
Places = Mapping[str, list[int]]


@dataclass(frozen=True)
class ProbePair:
    """A source, its translation up to the answer, and the places of marked words by role."""

    source: list[int]  # ids, EOS included
    given: list[int]  # ids that the decoder reads, BOS first; its last row is the step
    answers: tuple[int, int]  # the right token and the wrong one
    words: Places  # positions in the source
    rows: Places  # rows of the decoder that read the words of the translation

    @property
    def step(self) -> int:
        return len(self.given) - 1

    def exchange(self, one: str, other: str) -> ProbePair:
        """Return the pair with the other answer, in which two roles have changed places."""
        names = {one: other, other: one}
        words, rows = (
            {name: places[names.get(name, name)] for name in places}
            for places in (self.words, self.rows)
        )
        return replace(self, answers=self.answers[::-1], words=words, rows=rows)


def read_probe_pair(translator: Translator, item: ContrastiveItem) -> ProbePair | str:
    """Return the pair of an item, with its first wrong translation; or why there is none."""
    reader = translator.reader
    result = reader.tokenize(item.source)
    right, wrong = (reader.tokenize_target(item.source, x) for x in (item.right, item.wrong[0]))
    both = [*right.ids, EOS], [*wrong.ids, EOS]
    at = next((n for n, (a, b) in enumerate(zip(*both, strict=False)) if a != b), None)
    if at is None:
        return "right and wrong are the same tokens"
    source = [*result.ids, EOS] if translator.config.text.source_eos else [*result.ids]
    beginning = [BOS, *reader.begin, *right.ids[:at]]
    if max(len(source), len(beginning)) > reader.longest:
        return "longer than the model allows"
    words = {
        role: find_tokens(item.source, phrase, result.spans)
        for role, phrase in item.marked.get("source", {}).items()
    }
    if not all(words.values()):
        return "a marked word is not in its text"
    rows = {}
    for role, phrase in item.marked.get("target", {}).items():
        tokens = find_tokens(item.right, phrase, right.spans)
        rows[role] = [n + len(beginning) - at for n in tokens if n < at]
        if not tokens:
            return "a marked word is not in its text"
    taken = {place for places in words.values() for place in places}
    words[REST] = [n for n in range(len(source)) if n not in taken]
    return ProbePair(source, beginning, (both[0][at], both[1][at]), words, rows)


def read_probe_pairs(
    translator: Translator, items: Sequence[ContrastiveItem]
) -> tuple[list[ProbePair], dict[str, int]]:
    """Return the pairs of items that have the same roles, and how many were left out, and why.

    The roles are those that most items have. ValueError if no pair is left.
    """
    skipped = Counter[str]()
    by_roles: dict[tuple[frozenset[str], ...], list[ProbePair]] = defaultdict(list)
    for item in items:
        read = read_probe_pair(translator, item)
        if isinstance(read, str):
            skipped[read] += 1
        else:
            before = {role for role, rows in read.rows.items() if rows}
            by_roles[frozenset(read.words), frozenset(before)].append(read)
    if not by_roles:
        probe_pairs = ", ".join(f"{n} {why}" for why, n in skipped.items())
        raise ValueError(f"no pair can be asked about: {probe_pairs}")
    roles = max(by_roles, key=lambda roles: len(by_roles[roles]))
    if others := sum(len(pairs) for key, pairs in by_roles.items() if key != roles):
        skipped["other words are marked, or after the answer"] = others
    kept = [
        replace(pair, rows={role: pair.rows[role] for role in pair.rows if role in roles[1]})
        for pair in by_roles[roles]
    ]
    return kept, dict(skipped)


def find_tokens(text: str, phrase: str, spans: Sequence[Span]) -> list[int]:
    """Return the tokens of the first time that a phrase stands in a text, as whole words.

    If it does not stand there like that, its case counts for nothing; then it may be in a word.
    """
    literal = re.escape(phrase.strip())
    whole = rf"(?<!\w){literal}(?!\w)"
    tokens = (
        re.search(whole, text)
        or re.search(whole, text, re.IGNORECASE)
        or re.search(literal, text, re.IGNORECASE)
    )
    if not tokens or not phrase.strip():
        return []
    start, end = tokens.span()
    return [n for n, (first, last) in enumerate(spans) if min(end, last) > max(start, first)]


def find_donors(pairs: Sequence[ProbePair], role: str) -> list[tuple[ProbePair, ProbePair]]:
    """Return pairs with a second one that differs only in the word of one role, and in its answer.

    Both have the same number of tokens, and their translations are alike up to the answer.
    """
    alike: dict[tuple[object, ...], list[ProbePair]] = defaultdict(list)
    for pair in pairs:
        kept = (id for n, id in enumerate(pair.source) if n not in pair.words[role])
        key = (*kept,), (*pair.given,), (*pair.words[role],), len(pair.source)
        alike[key].append(pair)
    donors = []
    for group in alike.values():
        by_answer: dict[tuple[int, int], ProbePair] = {}
        for pair in group:
            by_answer.setdefault(pair.answers, pair)
        donors += [
            (pair, by_answer[other]) for pair in group if (other := pair.answers[::-1]) in by_answer
        ]
    return donors
