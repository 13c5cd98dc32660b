"""Signs and short forms that are read as words: "salt & pepper" as "salt and pepper".

A network whose training text hardly had a sign has learned nothing of it, but knows the word. So it
is with 5 min and the 2nd floor, which `short_forms` has by language, and with entities of HTML that
came along with a text: &eacute; is read as é.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property

from glassformer.text.casing import PRONOUN, WORD
from glassformer.text.patterns import LazyPattern
from glassformer.text.spacing import name_base
from glassformer.text.symbols import touches
from glassformer.text.unicode import Span
from glassformer.text.verbatim import Verbatim, find_verbatim, read_first_names

from .short_forms import (
    ELIDED,
    ELIDING,
    ShortForm,
    list_entities,
    list_numbered,
    list_typed,
)

RARE = 20  # of a sign in the training text
LONE = LazyPattern(r"(?<=\S[ \u00a0])[&@](?=[ \u00a0]\S)")
OWN = ("number", "sign", "time")  # kinds of what is repeated that a short form may look like
AROUND = '.,:;!?()"“”«»…'
DIGIT, DAY = (
    LazyPattern(r"\d"),
    LazyPattern(r"\b[A-Z][a-z]{2,4}\. [a-z]|(?:day|\b\w{3})[-\u2013][A-Z]"),
)
STOPPED = LazyPattern(r"\b[A-Z][a-z]?\.[A-Z]")
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
    """The signs and short forms that one network reads as words of its language."""

    def __init__(
        self,
        languages: tuple[str | None, str | None],
        counts: Mapping[str, int],
        has_token: Callable[[str], bool],
        is_word: Callable[[str], bool],
    ) -> None:
        """counts: how often the training text had characters; nothing if they were not counted.

        is_word: whether the network has met a word, which is in small letters.
        """
        self.bases = base, _ = name_base(languages[0]), name_base(languages[1])
        self.is_word, self.has_token = is_word, has_token
        self.typed = [*list_typed(base)]
        words = {sign: table[base] for sign, table in (("&", AND), ("@", AT)) if base in table}
        self.spoken = {
            sign: word
            for sign, word in words.items()
            if has_token(f" {word}")
            and (not has_token(sign) or (counts and counts.get(sign, 0) < RARE))
        }
        self.entities = [*list_entities(self.spoken.get("&", "&"))]

    @cached_property
    def forms(self) -> list[ShortForm]:
        """Return all short forms; those beside numbers depend on which words the network knows."""
        numbered = list_numbered(*self.bases, self.is_word, self.has_token)
        return [*self.typed, *self.entities, *numbered]

    def find(self, text: str) -> list[tuple[Verbatim, str]]:
        """Return the signs and short forms of a text, each with the words for it.

        Signs stand between spaces. Text without letters, as "5 & 6", has none, nor has what a
        translation repeats, as code.
        """
        shouted = text.isupper() and len(WORD.findall(text)) > 1
        read = text.lower() if shouted and len(text.lower()) == len(text) else text
        pairs, at = [*self._find_lone(text), *self._find_elided(text), *self._find_short(read)], 0
        pairs += self._find_pronouns(text)
        pairs.sort(key=lambda pair: (pair[0][0], -pair[0][1]))  # the longest first
        parts = find_verbatim(text) if pairs else ()
        repeated = [
            (each.start, each.end)
            for each in parts
            if each.kind not in OWN and text[each.start] != "&"
        ]
        results = list[tuple[Verbatim, str]]()
        for (start, end), word in pairs:
            if start >= at and not touches((start, end), repeated):
                part = Verbatim(start, end, "word")
                results.append((part, word.upper() if shouted else word))
                at = end
        return results

    def _find_lone(self, text: str) -> Iterator[tuple[Span, str]]:
        if any(sign in text for sign in self.spoken) and any(map(str.isalpha, text)):
            for match in LONE.finditer(text):
                if word := self.spoken.get(match[0]):
                    yield match.span(), word

    def _find_elided(self, text: str) -> Iterator[tuple[Span, str]]:
        """Yield what is elided before a name for which another is read: d'Olivier as de Olivier."""
        if self.bases[0] not in ELIDING or not ("'" in text or "\u2019" in text):
            return
        for match in ELIDED.finditer(text):
            name = match["name"]
            if name in read_first_names() or not self.is_word(name.lower()):
                yield (match.start(), match.start("name")), f"{match['sign']}e "

    def _find_pronouns(self, text: str) -> Iterator[tuple[Span, str]]:
        """Yield the English i for which I is read; a sentence all in small letters is truecased."""
        if self.bases[0] == "en" and text != text.lower():
            yield from ((match.span(), "I") for match in PRONOUN.finditer(text))

    def _find_short(self, text: str) -> Iterator[tuple[Span, str]]:
        has_number = DIGIT.search(text) or DAY.search(text)
        forms = self.forms if has_number else self.typed if self._may_be_typed(text) else []
        if "&" in text and not has_number:
            forms = [*forms, *self.entities]
        for form in forms:
            is_possible = form.beside is None or form.beside.search(text)
            for match in form.pattern.finditer(text) if is_possible else ():
                words = form.read(match)
                is_known = form.kind == "typed" and self.is_word(match["short"].lower())
                if words and words != match[0] and not is_known:
                    yield match.span(), words

    def _may_be_typed(self, text: str) -> bool:
        """Return whether a text may have short forms beside no number; most have none."""
        if not self.typed:
            return False
        shorts = self.typed[0].words or {}
        has_own = any(word.strip(AROUND).lower() in shorts for word in text.split())
        has_sign = any(sign in text for sign in "'\u2019/")
        return has_own or has_sign or STOPPED.search(text) is not None
