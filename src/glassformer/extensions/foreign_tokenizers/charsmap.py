"""The compiled replacements of SentencePiece's normaliser: a trie over the bytes of UTF-8.

The trie is a double array as darts-clone writes it: 32-bit units, each the label of a byte, an
offset to the units of the next bytes, and whether a value belongs to the bytes so far. Values are
places in a list of replacements that end with a zero byte.
"""

import sys
from array import array


class Charsmap:
    """The replacements of a normaliser; the longest that fits is taken, as in SentencePiece."""

    def __init__(self, compiled: bytes) -> None:
        """Read the compiled form, nothing if it is empty. ValueError if it is damaged."""
        self._units, self._replacements = array("I"), b""
        self._plain = set[str]()  # characters known to begin no replacement
        if not compiled:
            return
        size = int.from_bytes(compiled[:4], "little")
        if size % 4 or not 0 < size <= len(compiled) - 4:
            raise ValueError("its normaliser is damaged")
        self._units.frombytes(compiled[4 : 4 + size])
        if sys.byteorder == "big":
            self._units.byteswap()
        self._replacements = compiled[4 + size :]

    def keeps(self, text: str) -> bool:
        """Return whether no character of a text begins a replacement."""
        for character in set(text) - self._plain:
            if not self._units or self._descend(self._root, character) is None:
                self._plain.add(character)
        return self._plain.issuperset(text)

    def find(self, text: str, at: int) -> tuple[str, int] | None:
        """Return the replacement of the longest match at a place, and its end; None without one."""
        if not self._units or text[at] in self._plain:
            return None
        place, match = self._root, None
        for end in range(at, len(text)):
            below = self._descend(place, text[end])
            if below is None:
                break
            place, value = below
            if value is not None:
                match = value, end + 1
        return match and (self._read(match[0]), match[1])

    @property
    def _root(self) -> int:
        return _find_offset(self._units[0])

    def _descend(self, place: int, character: str) -> tuple[int, int | None] | None:
        """Return the place after a character, and the value there; None if no key goes on so."""
        units = self._units
        value = None
        try:
            for byte in character.encode():
                place ^= byte
                unit = units[place]
                if unit & 0x800000FF != byte:
                    return None
                place ^= _find_offset(unit)
                value = units[place] & 0x7FFFFFFF if unit >> 8 & 1 else None
        except IndexError:
            raise ValueError("its normaliser is damaged") from None
        return place, value

    def _read(self, start: int) -> str:
        end = self._replacements.find(b"\0", start)
        if not 0 <= start <= end:
            raise ValueError("its normaliser is damaged")
        return self._replacements[start:end].decode("utf-8", "replace")


def _find_offset(unit: int) -> int:
    return (unit >> 10) << ((unit & 0x200) >> 6)
