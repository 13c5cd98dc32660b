"""A check that a text is of the kind that a model was trained on.

A network translates any text, so four signs are checked: characters and words that the training
text did not have, a language other than the model's source language, and tokens that get little
probability. The right translation is not known here. docs/corpus.md says how often the signs are
right and wrong.
"""

import math
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from ..foundation.disk import read_json
from ..model.files.directory import DOUBT, GOLDEN, Tokenizers
from ..model.files.known_words import find_unknown_words, read_known_words
from ..text.function_words import NAMES, find_other_language
from ..text.sentences import has_letters
from ..text.spacing import name_base
from .quality_check import ADDRESS, PLACEHOLDER
from .sentence import Problem, Sentence, Translation

# Chosen by `benchmarks/familiarity.py`.
SHARE = 0.6  # of its usual confidence: below this, a model is unsure that was not calibrated


class Familiarity:
    """A check of texts against the language, the characters and the usual confidence of a model."""

    def __init__(self, language: str | None, tokenizers: Tokenizers, folder: Path | None) -> None:
        """language: that of the sources. folder: that of the model, if it is in one."""
        self.language, self.tokenizer = name_base(language), tokenizers.source
        self.folder, self._tokenizers = folder, tokenizers

    @cached_property
    def words(self) -> frozenset[str] | None:
        """Return the words of the training text; None if they are not listed."""
        return read_known_words(self.folder) if self.folder else None

    @cached_property
    def usual(self) -> float | None:
        """Return the mean confidence in the translations of golden.json; None without it."""
        return measure_usual(self.folder, self._tokenizers) if self.folder else None

    @cached_property
    def limit(self) -> float | None:
        """Return the confidence below which a model is unsure: calibrated, or a share of usual."""
        try:
            return float(read_json(self.folder / DOUBT)["confidence"]) if self.folder else None
        except (OSError, ValueError, KeyError, TypeError):
            return SHARE * self.usual if self.usual else None

    def find_problems(self, sentence: Sentence, translation: Translation) -> Iterator[Problem]:
        """Yield each sign that the model was not trained on such a text."""
        source = sentence.text
        if not has_letters(source):
            return
        if sentence.adapted and sentence.adapted.is_only_stand_ins:  # it is repeated as it is
            unknown, letters = self.tokenizer.find_unknown(source), {*filter(str.isalpha, source)}
            if letters and letters.issubset(unknown):
                yield Problem.describe("unknown", list=" ".join(unknown))
            return
        if unknown := self.tokenizer.find_unknown(sentence.read_text):
            yield Problem.describe("unknown", list=" ".join(unknown))
        if unmet := self.list_unmet(sentence.read_text):
            yield Problem.describe("words", list=", ".join(unmet))
        # A text of words that training met is in no other language: "Call me as soon as possible."
        is_met = self.words is not None and not unmet
        if not is_met and (other := find_other_language(source, self.language)):
            yield Problem.describe("language", found=NAMES[other], own=NAMES[self.language])
        confidence = measure_confidence(translation)
        if self.limit and confidence < self.limit:
            shares = {"confidence": f"{confidence:.0%}", "usual": f"{self.usual or self.limit:.0%}"}
            yield Problem.describe("unsure", **shares)

    def list_unmet(self, text: str) -> list[str]:
        """Return the words of a text, as the network reads it, that were never met in training."""
        if self.words is None:
            return []
        bare = PLACEHOLDER.replace(" ", ADDRESS.replace(" ", text))
        return find_unknown_words(self.words, bare, self.tokenizer.normalization.characters)


def measure_confidence(translation: Translation) -> float:
    """Return the geometric mean of the probabilities of the tokens, end marks included."""
    tokens = len(translation.token_log_probs)
    return math.exp(translation.log_prob / tokens) if tokens else 1.0


def measure_usual(folder: Path, tokenizers: Tokenizers) -> float | None:
    """Return the mean confidence in the translations in golden.json; None without the file."""
    try:
        lines = read_json(folder / GOLDEN)["lines"]
        pairs = [(line["translation"], float(line["log_prob"])) for line in lines]
        rows = tokenizers.target.encode_many([translation for translation, _ in pairs])
        both = zip(pairs, rows, strict=True)
        shares = [math.exp(log_prob / (len(row) + 1)) for (_, log_prob), row in both]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError):
        return None
    return sum(shares) / len(shares) if shares else None
