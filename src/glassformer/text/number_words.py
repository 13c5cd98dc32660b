"""The words for small numbers in some languages, by which a number is known that is spelled out."""

import re
from functools import cache
from pathlib import Path

from .spacing import is_unspaced, name_base

LARGEST = 20
_ROMAN = ("", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX")


@cache
def read_number_words() -> dict[str, str]:
    """Return the words of each language, by its code: a line is a number."""
    import tomllib  # few translations lack a number

    path = Path(__file__).with_name("number_words.toml")
    return tomllib.loads(path.read_text(encoding="utf-8"))


def is_spelled_out(number: int, text: str, language: str | None) -> bool | None:
    """Return whether a text of this language says a number in words or in Roman numerals.

    None if that is not known: there are no words of the language here, or none for the number.
    """
    code = name_base(language)
    if code not in read_number_words() or not 0 <= number <= LARGEST:
        return None
    return bool(find_pattern(code, number).search(text.lower()) or _find_roman(number, text))


@cache
def find_pattern(code: str, number: int) -> re.Pattern[str]:
    """Return what finds the words of a language, by its code, for a number up to LARGEST."""
    words = re.split(r"\s*[\n|]\s*", read_number_words()[code].strip())[number].split()
    either = "|".join(re.escape(word).replace(r"\*", r"\w*") for word in words)
    return re.compile(either if is_unspaced(code) else rf"\b(?:{either})\b")


def _find_roman(number: int, text: str) -> bool:
    """Return whether there is the Roman numeral, as in XVIe; I alone is a word of English."""
    return number > 1 and bool(re.search(rf"\b{spell_roman(number)}[a-zè]*\b", text))


def spell_roman(number: int) -> str:
    """Return the Roman numeral of a number below 40; that of 0 is empty."""
    return "X" * (number // 10) + _ROMAN[number % 10]
