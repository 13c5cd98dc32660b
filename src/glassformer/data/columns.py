"""The names of columns: which column of a table, or key of an object, holds which side."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ..text.function_words import name_language

SOURCE = ("source", "src", "original", "source text", "source segment", "source sentence")
TARGET = ("target", "tgt", "trg", "translation", "target text", "target segment", "target sentence")
SUFFIX = ("text", "sentence", "segment", "string")  # words that a column of texts may add
# What a column is called that is no side; a first row with such a name is a header, too.
OTHERS = {
    "id",
    "ids",
    "nr",
    "index",
    "line",
    "score",
    "similarity",
    "cosine",
    "probability",
    "domain",
}
OTHERS |= {
    "url",
    "context",
    "notes",
    "comment",
    "lang",
    "language",
    "date",
    "user",
    "origin",
    "file",
}
# What people call a language besides its code and its English name: its own name, ISO 639-2.
NAMES = {
    "ar": "العربية ara",
    "az": "azərbaycanca aze",
    "cs": "čeština ces cze",
    "da": "dansk dan",
    "de": "deutsch deu ger",
    "el": "ελληνικά ell gre",
    "en": "eng",
    "es": "español castellano spa",
    "fi": "suomi fin",
    "fr": "français fra fre",
    "he": "עברית heb",
    "hi": "हिन्दी hin",
    "hu": "magyar hun",
    "it": "italiano ita",
    "ja": "日本語 jpn",
    "ko": "한국어 kor",
    "nl": "nederlands nld dut",
    "no": "norsk nor",
    "pl": "polski pol",
    "pt": "português por",
    "ro": "română ron rum",
    "ru": "русский rus",
    "sv": "svenska swe",
    "tr": "türkçe tur",
    "uk": "українська ukr",
    "vi": "tiếng-việt vie",
    "zh": "中文 汉语 漢語 chinese zho chi cmn",
}
CODE, LANGUAGE, WORD = range(3)  # how a cell names a side, the best first
REGION = re.compile(r"[a-z]{2}|[a-z]{4}|\d{3}")


@dataclass(frozen=True)
class SideNames:
    """The names that the column of one side may have; `lang` is the code of its language, if known.

    words: what the side itself is called, the best first.
    """

    words: tuple[str, ...]
    lang: str | None = None

    @property
    def shown(self) -> str:
        names = [self.lang] if self.lang else []
        return " or ".join(map(repr, dict.fromkeys((*names, self.words[0]))))

    def rank(self, cell: str) -> int | None:
        """Return how a cell names this side, the least being the best; None if it does not."""
        name = plain_name(cell)
        if self.lang and name == plain_name(self.lang):
            return CODE
        if self.lang and is_language(name, self.lang):
            return LANGUAGE
        return WORD if name in self.words else None

    def find(self, cells: Sequence[str]) -> list[int]:
        """Return the indices of the cells that name this side best."""
        ranks = {
            place: rank for place, cell in enumerate(cells) if (rank := self.rank(cell)) is not None
        }
        best = min(ranks.values(), default=None)
        return [place for place, rank in ranks.items() if rank == best]


Names = tuple[SideNames, SideNames]


def name_sides(source_lang: str | None, target_lang: str | None) -> Names:
    """Return the names that a column of each side may have."""
    return SideNames(SOURCE, source_lang), SideNames(TARGET, target_lang)


def plain_name(cell: str) -> str:
    """Return the name of a column in lower case, with one space between its words."""
    return re.sub(r"[\s_.-]+", " ", cell.strip().casefold())


def is_language(name: str, lang: str) -> bool:
    """Return whether a plain name means a language: by a code, perhaps with a region, or a name."""
    words = [word for word in name.split() if word not in SUFFIX]
    if len(words) > 1 and words[0] in ("src", "source", "tgt", "trg", "target"):
        words = words[1:]
    code, *rest = words or [""]
    known = {plain_name(lang), *NAMES.get(lang, "").split(), (name_language(lang) or "").casefold()}
    if rest and code == plain_name(lang):
        return len(rest) == 1 and bool(REGION.fullmatch(rest[0]))
    return " ".join(words) in known


def find_language(cell: str) -> str | None:
    """Return the code of the language that a cell names, if we know it."""
    name = plain_name(cell)
    return next((lang for lang in NAMES if name == lang or is_language(name, lang)), None)


def find_columns(cells: Sequence[str], names: Names, where: str) -> tuple[int, int] | None:
    """Return the columns of source and target that a first row names; None if it is no header.

    ValueError, which lists the columns, if it is a header that does not name both, once each.
    """
    sides = [side.find(cells) for side in names]
    if not any(side.lang for side in names) and not all(sides):
        languages = [place for place, cell in enumerate(cells) if find_language(cell)]
        if len(languages) == 2:
            return languages[0], languages[1]
    if all(len(side) == 1 for side in sides) and sides[0] != sides[1]:
        return sides[0][0], sides[1][0]
    if not looks_like_names(cells) or not (is_header(cells) or _is_named(cells, sides, names)):
        return None
    columns = " and ".join(side.shown for side in names)
    raise ValueError(
        f"{where}: its columns are {', '.join(map(repr, cells))}: which are {columns}? "
        "Name them so, each once"
    )


def _is_named(cells: Sequence[str], sides: Sequence[Sequence[int]], names: Names) -> bool:
    """Return whether a side is named, and in two columns not only by a word for its language."""
    ranks = [
        side.rank(cells[places[0]]) for side, places in zip(names, sides, strict=True) if places
    ]
    return any(len(cells) > 2 or rank != LANGUAGE for rank in ranks)


def is_header(cells: Sequence[str]) -> bool:
    """Return whether a row has names that only columns have, or names of several languages."""
    names = [plain_name(cell) for cell in cells]
    languages = {find_language(cell) for cell in cells} - {None}
    return len(languages) > 1 or (len(cells) > 2 and not OTHERS.isdisjoint(names))


def looks_like_names(cells: Sequence[str]) -> bool:
    """Return whether all cells could be names: a few words, without a full stop."""
    return all(len(cell) < 40 and not re.search(r"[.!?。！？]\s*$", cell) for cell in cells)
