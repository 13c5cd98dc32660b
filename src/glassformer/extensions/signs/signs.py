"""Signs that are read as words: "salt & pepper" is read as "salt and pepper".

A network whose training text hardly had the sign has learned nothing of it, but knows the word.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from glassformer.text.patterns import LazyPattern
from glassformer.text.spacing import name_base
from glassformer.text.unicode import Span
from glassformer.text.verbatim import Verbatim, find_verbatim

RARE = 20  # of a sign in the training text
LONE = LazyPattern(r"(?<=\S[ \u00a0])[&@](?=[ \u00a0]\S)")
HALF = LazyPattern(r"(?<![\w:.,/-])(\d{1,2})(?:(am|pm)| ?(AM|PM))\b(?![-\u2013])")  # of a day
OWN = ("number", "sign")  # kinds of what is repeated that an hour may look like
AT = {"en": "at"}
AND = {
    **{"af": "en", "az": "və", "be": "і", "bg": "и", "bn": "এবং", "bs": "i", "ca": "i", "cs": "a"},
    **{"cy": "a", "da": "og", "de": "und", "el": "και", "en": "and", "eo": "kaj", "es": "y"},
    **{"et": "ja", "eu": "eta", "fa": "و", "fi": "ja", "fr": "et", "ga": "agus", "gl": "e"},
    **{"ha": "da", "hi": "और", "hr": "i", "hu": "és", "hy": "և", "id": "dan", "is": "og"},
    **{"it": "e", "ka": "და", "kk": "және", "la": "et", "lb": "an", "lt": "ir", "lv": "un"},
    **{"mk": "и", "ms": "dan", "mt": "u", "nb": "og", "ne": "र", "nl": "en", "nn": "og"},
    **{"no": "og", "pl": "i", "pt": "e", "ro": "și", "ru": "и", "sk": "a", "sl": "in"},
    **{"sq": "dhe", "sr": "и", "sv": "och", "sw": "na", "ta": "மற்றும்", "tr": "ve", "uk": "і"},
    **{"ur": "اور", "uz": "va", "vi": "và", "yo": "àti"},
}


class Signs:
    """The signs that one network reads as words of its language."""

    def __init__(
        self, language: str | None, counts: Mapping[str, int], has_token: Callable[[str], bool]
    ) -> None:
        """counts: how often the training text had characters; nothing if they were not counted."""
        base = name_base(language)
        self.halves = [half for half in ("am", "pm") if base == "en" and has_token(f" {half}")]
        words = {sign: table[base] for sign, table in (("&", AND), ("@", AT)) if base in table}
        self.spoken = {
            sign: word
            for sign, word in words.items()
            if has_token(f" {word}")
            and (not has_token(sign) or (counts and counts.get(sign, 0) < RARE))
        }

    def find(self, text: str) -> list[tuple[Verbatim, str]]:
        """Return the signs of a text that stand between spaces, each with the word for it.

        Hours such as 9am are among them, with a space. Text without letters, as "5 & 6", has none,
        nor has what a translation repeats, as code.
        """
        pairs = [*self._find_lone(text), *self._find_halves(text)]
        repeated = [each for each in find_verbatim(text) if each.kind not in OWN] if pairs else []
        return [
            (Verbatim(start, end, "word"), word.upper() if text.isupper() else word)
            for (start, end), word in sorted(pairs)
            if not any(part.start <= start < part.end for part in repeated)
        ]

    def _find_lone(self, text: str) -> Iterator[tuple[Span, str]]:
        if any(sign in text for sign in self.spoken) and any(map(str.isalpha, text)):
            for match in LONE.finditer(text):
                if word := self.spoken.get(match[0]):
                    yield match.span(), word

    def _find_halves(self, text: str) -> Iterator[tuple[Span, str]]:
        for match in HALF.finditer(text) if self.halves else ():
            if (half := (match[2] or match[3]).lower()) in self.halves:
                yield match.span(), f"{match[1]} {half}"
