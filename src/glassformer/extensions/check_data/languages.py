"""Language identification of lines, by trigrams learned from the corpus and function words."""

from collections import Counter
from collections.abc import Sequence
from itertools import compress

import numpy as np

from glassformer.text.function_words import BY_SCRIPT, NAMES, WORDS
from glassformer.text.spacing import name_base

from .characters import NAMES as SCRIPTS
from .characters import lower_table
from .ragged import Array, Block

BUCKETS = 1 << 16  # for trigrams, hashed
CLEAR, EACH = 6.0, 0.25  # nats for a whole line, and for each of its trigrams
SEEDS = 30  # lines from which trigrams of another language can be learned
ENOUGH = 2_000  # lines that identify the language of a side
COMMON = 0.4  # a word is one of the side's language if such a share of its lines is in that
SAME = 0.7  # of the words of two lines: beyond, one is a copy of the other, but for a few words

# Of a text in a known language, beside which an unknown one has some of its words by chance.
LEAST_SHARE = 0.04  # of all words, the two commonest left out
LEAST_KINDS = 0.65  # of its function words, in a long text


class Contrast:
    """A trigram classifier of two kinds of text: nats for the first (+) or the second (-)."""

    def __init__(self, first: Sequence[str], second: Sequence[str]) -> None:
        counts = [
            np.bincount(_hash_trigrams(Block(texts)), minlength=BUCKETS) + 0.5
            for texts in (first, second)
        ]
        shares = [count / count.sum() for count in counts]
        # A character is in three trigrams, so each counts a third.
        self.evidence = (np.log(shares[0]) - np.log(shares[1])) / 3

    def judge(self, block: Block) -> Array:
        """Return a score for each line: over 1 clearly the first kind, below -1 the second."""
        result = np.bincount(
            block.line[2:], self.evidence[_hash_trigrams(block)], minlength=block.size
        )
        return np.asarray(result / np.maximum(CLEAR, EACH / 3 * block.lengths))


def _part(mixed: Sequence[str], others: Sequence[str]) -> Contrast:
    """Return a classifier of a language against `others`, whose lines are partly in `mixed`.

    The lines of `mixed` that are clearly like `others` are moved there first.
    """
    is_own = Contrast(mixed, others).judge(Block(mixed)) > -1
    return Contrast(
        [*compress(mixed, is_own)],
        [*others, *compress(mixed, ~is_own)],
    )


def _hash_trigrams(block: Block) -> Array:
    codes = lower_table()[block.codes]
    mixed = codes[2:] * np.uint32(0x9E3779B1) ^ codes[1:-1] * np.uint32(0x85EBCA6B)
    mixed ^= codes[:-2] * np.uint32(0xC2B2AE35)
    return np.asarray(mixed >> np.uint32(16))


class SideLanguage:
    """The language of one side, with classifiers that find lines in other languages."""

    def __init__(
        self,
        texts: Sequence[str],
        words: Sequence[Sequence[str]],
        scripts: Array,
        named: str | None = None,
    ) -> None:
        """Learn from a sample; `scripts` as `count_scripts` gives them.

        `named` is the language that the side is said to be in. Nothing here can tell a language
        without a list from those that have one, so its side is in no language of these.
        """
        is_strange = bool(named) and name_base(named) not in NAMES
        self.code = None if is_strange else identify(words, scripts)
        common = Counter(word for line in words for word in set(line)).most_common(20)
        self.own = WORDS.get(self.code or "", frozenset(word for word, _ in common))
        self.strange = self._find_strange_words(words)
        seeds: dict[str | None, list[str]] = {}
        for text, line in zip(texts, words, strict=True):
            seeds.setdefault(self._name(line), []).append(text)
        own = seeds.pop(None, [])
        self.contrasts: dict[str, Contrast] = {
            code: _part(own, theirs)
            for code, theirs in seeds.items()
            if code and len(theirs) >= SEEDS
        }

    def find_others(
        self, block: Block, words: Sequence[Sequence[str]], partners: Sequence[Sequence[str]]
    ) -> dict[int, str]:
        """Return the lines that are in another language, with its code.

        Words that a line shares with its partner, such as a title, do not tell its language.
        """
        results = dict[int, str]()
        for number, line in enumerate(words):
            code = self._name(line)
            if (
                code
                and code not in self.contrasts
                and self._name(leave_own(line, partners[number]))
            ):
                results[number] = code
        for other, contrast in self.contrasts.items():
            results |= dict.fromkeys(np.flatnonzero(contrast.judge(block) < -1).tolist(), other)
        return results

    def _find_strange_words(self, words: Sequence[Sequence[str]]) -> dict[str, list[str]]:
        """Return the function words of other languages that are no words of this one."""
        strange: dict[str, list[str]] = {}
        for code, theirs in WORDS.items():
            for word in theirs - self.own if code != self.code else ():
                strange.setdefault(word, []).append(code)
        lines, beside = Counter[str](), Counter[str]()
        for line in words:
            here = strange.keys() & line
            lines.update(here)
            if here and not self.own.isdisjoint(line):
                beside.update(here)
        return {
            word: codes for word, codes in strange.items() if beside[word] <= COMMON * lines[word]
        }

    def _name(self, words: Sequence[str]) -> str | None:
        """Return the language of which a line has two function words, if it has none of its own."""
        here = self.strange.keys() & words
        if len(here) < 2 or max(map(len, here)) < 2:
            return None
        hits = Counter(code for word in here for code in self.strange[word])
        code, count = max(hits.items(), key=lambda each: (each[1], each[0]))
        if count < 2 or count < 0.15 * len(words):
            return None
        return None if (self.own - WORDS[code]) & set(words) else code


def identify(words: Sequence[Sequence[str]], scripts: Array) -> str | None:
    """Return the code of the language that most lines are in; None if it is unknown."""
    letters = scripts[:, 1:].sum(0)
    by_script = {SCRIPTS.index(script): code for script, code in BY_SCRIPT.items()}
    for number, code in by_script.items():  # kana before Han: Japanese has both
        if letters[number - 1] > 0.2 * max(letters.sum(), 1):
            return code
    sample = words[:: len(words) // ENOUGH + 1]
    lists = Counter(word for own in WORDS.values() for word in own)
    hits = {
        code: sum(1 / lists[word] for line in sample for word in own.intersection(line))
        for code, own in WORDS.items()
    }
    (best, count), (_, second) = Counter(hits).most_common(2)
    if count <= 0.3 * len(sample) or count <= 1.2 * second:
        return None
    return best if _is_in(WORDS[best], sample) else None


def _is_in(own: frozenset[str], sample: Sequence[Sequence[str]]) -> bool:
    """Return whether the function words `own` are those of a text: many, and of many kinds.

    Any language has some words that look like one of another language, and some of them are common.
    """
    hits = Counter(word for line in sample for word in line if word in own)
    beside = hits.total() - sum(count for _, count in hits.most_common(2))
    kinds = min(LEAST_KINDS * len(own), hits.total() ** 0.5)
    return len(hits) >= kinds and beside > LEAST_SHARE * sum(map(len, sample))


def leave_own(words: Sequence[str], partner: Sequence[str]) -> Sequence[str]:
    """Return the words that a line does not share with its partner; all if one is a copy."""
    theirs = set(partner)
    own = [word for word in words if word not in theirs]
    shared = 2 * (len(words) - len(own))
    return words if shared > SAME * (len(words) + len(partner)) else own
