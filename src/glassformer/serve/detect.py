"""Language detection among a few languages, by words and characters. Imports no torch.

The profile of a language is made from its function words, everyday words, its script, and the
sentences that its models contain. It has probabilities of words, and of characters given the two
before. The log-probabilities of a text's words are summed for each language (naive Bayes).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache

import numpy as np

from ..data.doctor.characters import NAMES as SCRIPTS
from ..data.doctor.characters import script_table
from ..data.doctor.function_words import BY_SCRIPT, WORDS
from .common_words import COMMON

HOMES = {code: {script} for script, code in BY_SCRIPT.items()} | {"ja": {"Kana", "Han"}}
SHARED = {("ja", "Han")}  # scripts shared with another language, which is likelier without kana
_WORD = re.compile(r"[^\W\d_]+")
MOST = 2000  # characters of a text that are used
FOREIGN = math.log(1e-7)  # ln p of a character in a script that the language does not use
SHARE = 0.5  # the weight of the word model beside the character model
MIXED = (0.6, 0.25, 0.1, 0.002)  # weights of trigrams, bigrams, unigrams and any character


class Profile:
    """The statistics of one language: word counts, character n-grams and scripts."""

    def __init__(self, code: str, sentences: Iterable[str] = ()) -> None:
        self.base = base = re.split("[-_]", code)[0].lower()
        own = [word for text in sentences for word in _split(text)]
        self.words = Counter(own) + Counter(dict.fromkeys(COMMON.get(base, ()), 1))
        self.words += Counter(dict.fromkeys(WORDS.get(base, ()), 3))
        self.total = sum(self.words.values())
        self.counts = [Counter[str]() for _ in range(4)]
        for word, times in self.words.items():
            padded = f"  {word} "
            for end in range(3, len(padded) + 1):
                for size in range(4):
                    self.counts[size][padded[end - size : end]] += times
                self.counts[3][padded[end - 3 : end]] += 0
        self.below = [_sum_contexts(counts) for counts in self.counts]
        letters = {character for word in self.words for character in word}
        self.homes = HOMES.get(base, set()) | {_find_script(letter) for letter in letters}
        self.judge_word = lru_cache(maxsize=10_000)(self._judge_word)

    def judge(self, words: list[str]) -> float:
        """Return the log-probability of these words, a natural logarithm."""
        return sum(map(self.judge_word, words))

    def _judge_word(self, word: str) -> float:
        spelled = self._spell(word)
        known = self.words.get(word, 0)
        if not known:
            return spelled
        return float(np.logaddexp(math.log(SHARE * known / self.total), spelled))

    def _spell(self, word: str) -> float:
        padded, total = f"  {word} ", 0.0
        for end in range(3, len(padded) + 1):
            character = padded[end - 1]
            script = _find_script(character)
            if character != " " and script not in self.homes:
                total += FOREIGN
                continue
            share = MIXED[3] * (0.5 if (self.base, script) in SHARED else 1)
            for size, weight in zip((3, 2, 1), MIXED, strict=False):
                context = self.below[size].get(padded[end - size : end - 1], 0)
                if context:
                    share += weight * self.counts[size][padded[end - size : end]] / context
            total += math.log(share)
        return total


class Detector:
    """A language detector; `sentences` has its languages with sample sentences of each."""

    def __init__(self, sentences: Mapping[str, Iterable[str]]) -> None:
        self.profiles = {code: Profile(code, texts) for code, texts in sentences.items()}

    def detect(self, text: str) -> list[tuple[str, float]]:
        """Return codes with confidences, 0 to 1, the likeliest first; 0 without letters."""
        words = _split(text[:MOST])
        if not words or not self.profiles:
            return [(code, 0.0) for code in self.profiles]
        found = {code: profile.judge(words) for code, profile in self.profiles.items()}
        top = max(found.values())
        # Neighbouring characters are not independent, so the log-probabilities are tempered.
        powers = {code: math.exp((value - top) / 3) for code, value in found.items()}
        sure = self._know(words)
        total = sum(powers.values())
        ranked = sorted(powers.items(), key=lambda pair: -pair[1])
        return [(code, sure * power / total) for code, power in ranked]

    def _know(self, words: list[str]) -> float:
        """Return the share of letters in a script that any of the languages uses."""
        homes = set[str]().union(*(profile.homes for profile in self.profiles.values()))
        letters = [letter for word in words for letter in word]
        return sum(_find_script(letter) in homes for letter in letters) / len(letters)


def _split(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text)]


def _sum_contexts(counts: Counter[str]) -> Counter[str]:
    """Return the count of each context: the n-gram without its last character."""
    found = Counter[str]()
    for gram, times in counts.items():
        found[gram[:-1]] += times
    return found


def _find_script(character: str) -> str:
    return SCRIPTS[script_table()[min(ord(character), 0x10FFFF)]]
