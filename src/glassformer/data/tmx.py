"""Reading of translation memories (TMX): the pairs of two languages, without inline markup."""

import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from xml.parsers.expat import ExpatError, ParserCreate

from .files import open_bytes

CHUNK = 1 << 16  # bytes
NATIVE = {"bpt", "ept", "it", "ph", "ut"}  # elements that hold markup of a document, no text
SPACE = re.compile(r"[ \t\r\n]+")

Unit = dict[str, list[str]]  # language to texts


def read_tmx(path: Path, source: str | None, target: str | None) -> Iterator[tuple[str, str]]:
    """Yield the pairs of two languages; en means en-GB as well, if a unit has no en.

    A unit with several texts in a language, as variants, gives a pair for each of them. Units that
    lack one of the two are left out; white space becomes one space. ValueError if the file is not
    XML, declares entities (nothing is ever expanded or fetched), or has no such pair.
    """
    if not (source and target):
        raise ValueError(f"{path}: a .tmx has many languages: say --source-lang and --target-lang")
    languages: set[str] = set()
    result = False
    for unit in _read_units(path):
        languages |= unit.keys()
        for pair in product(_choose(unit, source), _choose(unit, target)):
            result = True
            yield pair
    if not result:
        there = ", ".join(sorted(languages)) or "none"
        raise ValueError(f"{path}: no pair of {source} and {target}; languages there: {there}")


def _choose(unit: Unit, lang: str) -> list[str]:
    """Return the texts of a language; without them, those of its countries."""
    code = _plain(lang)
    countries = (text for each in unit if each.startswith(code + "-") for text in unit[each])
    return unit.get(code) or [*dict.fromkeys(countries)]


def _plain(lang: str) -> str:
    return lang.lower().replace("_", "-")


def _read_units(path: Path) -> Iterator[Unit]:
    reader = _Reader(path)
    parser = ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.add
    parser.EntityDeclHandler = reader.refuse
    try:
        with open_bytes(path) as stream:
            while chunk := stream.read(CHUNK):
                parser.Parse(chunk)
                yield from reader.take()
        parser.Parse(b"", True)
    except ExpatError as error:
        raise ValueError(f"{path}, line {error.lineno}: not XML: {error}") from None


class _Reader:
    """The handlers of the XML parser, which collect translation units."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.units: list[Unit] = []
        self.unit: Unit = {}
        self.lang = ""
        self.text: list[str] | None = None  # the text of the open segment
        self.native = 0  # how many open elements are in NATIVE

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "tu":
            self.unit = {}
        elif name == "tuv":
            self.lang = _plain(attributes.get("xml:lang") or attributes.get("lang") or "")
        elif name == "seg":
            self.text, self.native = [], 0
        elif name in NATIVE:
            self.native += 1

    def end(self, name: str) -> None:
        if name == "seg" and self.text is not None:
            text = SPACE.sub(" ", "".join(self.text)).strip(" ")
            texts = self.unit.setdefault(self.lang, [])
            if text not in texts:
                texts.append(text)
            self.text = None
        elif name == "tu":
            self.units.append(self.unit)
        elif name in NATIVE:
            self.native -= 1

    def add(self, text: str) -> None:
        if self.text is not None and not self.native:
            self.text.append(text)

    def refuse(self, name: str, *_: object) -> None:
        raise ValueError(f"{self.path}: declares the entity {name}: take the declaration out")

    def take(self) -> list[Unit]:
        units, self.units = self.units, []
        return units
