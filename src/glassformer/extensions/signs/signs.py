"""Signs that are read as words: "salt & pepper" is read as "salt and pepper".

A network whose training text hardly had the sign has learned nothing of it, but knows the word.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from glassformer.text.patterns import LazyPattern
from glassformer.text.spacing import name_base
from glassformer.text.verbatim import Verbatim, find_verbatim

RARE = 20  # of a sign in the training text
LONE = LazyPattern(r"(?<=\S[ \u00a0])[&@](?=[ \u00a0]\S)")
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
        words = {sign: table[base] for sign, table in (("&", AND), ("@", AT)) if base in table}
        self.spoken = {
            sign: word
            for sign, word in words.items()
            if has_token(f" {word}")
            and (not has_token(sign) or (counts and counts.get(sign, 0) < RARE))
        }

    def find(self, text: str) -> list[tuple[Verbatim, str]]:
        """Return the signs of a text that stand between spaces, each with the word for it.

        Text without letters, as "5 & 6", has none, nor has what a translation repeats, as code.
        """
        if not any(sign in text for sign in self.spoken) or not any(map(str.isalpha, text)):
            return []
        repeated = find_verbatim(text)
        return [
            (Verbatim(match.start(), match.end(), "word"), word.upper() if text.isupper() else word)
            for match in LONE.finditer(text)
            if (word := self.spoken.get(match[0]))
            and not any(part.start <= match.start() < part.end for part in repeated)
        ]
