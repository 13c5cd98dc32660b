"""Speech and who speaks, such as *"No", said Tom*, whose translation has an odd quote."""

from __future__ import annotations

from glassformer.text.patterns import LazyPattern

_INNER, _CLOSED = r'[^"«»„“”]', r'["»“”]'
SPEECH = LazyPattern(
    rf'^["«„“]{_INNER}+(?:(?<=[,.?!…]){_CLOSED}|(?<=[,.?!…]\s){_CLOSED}|{_CLOSED}(?=\s?,))'
    rf"{_INNER}*\w{_INNER}*$"
)
SPOKEN = LazyPattern(rf",\s?{_CLOSED}|{_CLOSED}\s?,")  # a comma between it and who says it


def pair_quotes(source: str, text: str) -> str:
    """Return a translation of a speech with its odd quote dropped, or closed before who speaks."""
    at, number = text.rfind('"'), text.count('"')
    if number % 2 == 0 or (number == 1 and at) or not SPEECH.search(source):
        return text
    is_alike = ", " in text and text.count(",") == source.count(",")
    if number == 1 and is_alike and SPOKEN.search(source):
        return '," '.join(text.rsplit(", ", 1))
    return (text[:at] + text[at + 1 :]).replace("  ", " ")
