"""The normalization of a text before it is cut into tokens: its form, punctuation and case.

A tokenizer keeps it with its vocabulary, so translating does what training did.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ..config import Text
from .characters import CharacterMap
from .unicode import Form, Span, clean, clean_with_spans, replace_surrogates

# Marks that are typed in several ways, and the one that stands for all of them.
MARKS = {
    '"': "\u00ab\u00bb\u201c\u201d\u201e\u201f\u2033\u301d\u301e\uff02",
    "'": "`\u00b4\u2018\u2019\u201a\u201b\u2032\u2039\u203a\uff07",
    "-": "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\uff0d",
    "...": "\u2026",
}
_PLAIN_MARKS = {mark: plain for plain, marks in MARKS.items() for mark in marks}
_TABLE = str.maketrans(_PLAIN_MARKS)
KINDS = ("nfkc", "lowercase", "punctuation")  # the settings of [text], and our fields


class Normalization(NamedTuple):
    """The steps, in this order: known characters, plain punctuation, NFC or NFKC, small letters.

    The characters depend on the model and are no part of its tokenizer's file.
    """

    nfkc: bool = False
    lowercase: bool = False
    punctuation: bool = False
    characters: CharacterMap | None = None

    @classmethod
    def choose(cls, settings: Text, side: str) -> Normalization:
        """Return what the settings say of one side, source or target."""
        sides = ("source", "both") if side == "source" else ("both",)
        nfkc, lowercase, punctuation = (getattr(settings, kind) in sides for kind in KINDS)
        return cls(nfkc, lowercase, punctuation)

    @classmethod
    def parse(cls, steps: Sequence[Mapping[str, Any]]) -> Normalization:
        """Return the normalization whose description has these steps."""
        kinds = {step["type"] for step in steps}
        return cls("NFKC" in kinds, "Lowercase" in kinds, "Replace" in kinds)

    @property
    def form(self) -> Form:
        return "NFKC" if self.nfkc else "NFC"

    def clean(self, text: str) -> str:
        """Return the text after all steps; a lone surrogate, which is no character, is U+FFFD."""
        if self.characters:
            text = self.characters.clean(text)
        if self.punctuation:
            text = text.translate(_TABLE)
        text = clean(text, self.form)
        return _lower(text) if self.lowercase else text

    def clean_with_spans(self, text: str) -> tuple[str, list[Span]]:
        """Return `clean(text)`, and for each of its characters the span that it came from."""
        if self == PLAIN:
            return clean_with_spans(text)
        if self.characters:
            known, before = self.characters.clean_with_spans(text)
            cleaned, after = self._replace(characters=None).clean_with_spans(known)
            return cleaned, [(before[start][0], before[end - 1][1]) for start, end in after]
        text = replace_surrogates(text)
        plain = [_PLAIN_MARKS.get(each, each) if self.punctuation else each for each in text]
        origins = [at for at, each in enumerate(plain) for _ in each]
        formed, spans = clean_with_spans("".join(plain), self.form)
        written = [_lower(each) if self.lowercase else each for each in formed]
        return "".join(written), [
            (origins[start], origins[end - 1] + 1)
            for each, (start, end) in zip(written, spans, strict=True)
            for _ in each
        ]

    def describe(self) -> list[dict[str, Any]]:
        """Return the steps as Hugging Face `tokenizers` is told them."""
        steps: list[dict[str, Any]] = []
        for plain, marks in MARKS.items() if self.punctuation else ():
            pattern = {"Regex": f"[{re.escape(marks)}]"}
            steps.append({"type": "Replace", "pattern": pattern, "content": plain})
        steps.append({"type": self.form})
        return [*steps, {"type": "Lowercase"}] if self.lowercase else steps


def _lower(text: str) -> str:
    """Return the small letters; each by itself, so that a sigma is the same at a word's end."""
    return "".join(map(str.lower, text)) if "\u03a3" in text else text.lower()


PLAIN = Normalization()
