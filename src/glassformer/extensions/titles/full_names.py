"""Names of several parts, such as Ludwig van Beethoven, and whatever is said to be a name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

from glassformer.text.function_words import WORDS
from glassformer.text.patterns import LazyPattern
from glassformer.text.spacing import name_base
from glassformer.text.verbatim import STARTERS, Verbatim, is_first

from .word_names import CAPITAL, list_word_names

# Between the parts of a name, in languages where they are no words.
PARTICLES = (
    *("van", "von", "de", "da", "di", "del", "della", "der", "den", "la", "los", "las"),
    *("du", "dos", "bin", "ben", "ibn"),
)
JOINED = r"(?:al|el|an|as|ash|ar|ad|at|az)-"  # to a name: Khalid al-Mansour
NAMED = {  # what a name follows, be it another word, too: my dog's name is Lucky
    "de": ("heiße ", "heißt ", "hieß ", "Name ist "),
    "en": ("name is ", "name's ", "name\u2019s ", "name was ", "named "),
    "fr": ("m'appelle ", "s'appelle ", "m\u2019appelle ", "s\u2019appelle ", "nom est "),
}
# Names that are verbs, too, are names in front of another verb: Will said, May and Tom.
_SAID = (
    "asked|called|came|gave|got|knows|left|likes|liked|lives|loves|met|needs|said|says|told|took"
    f"|wanted|wants|went|works|wrote|and {CAPITAL}"
)
VERBS = {"en": rf"(?:Will(?= (?:is|was|has|had|does|did)\b)|(?:Will|May)(?= (?:{_SAID})))"}
_PROPER = rf"(?:[DO]['\u2019])?{CAPITAL}[^\W\d_]+(?:(?:-|['\u2019](?!s\b))[^\W\d_]+){{0,2}}"


@cache
def compile_particles(language: str | None) -> LazyPattern:
    """Return a pattern of what is between two parts of a name, or before the last one."""
    code = name_base(language)
    words = (*WORDS.get(code, ()), *(["da"] if code == "de" else []))
    particles = "|".join(each for each in PARTICLES if each not in words)
    return LazyPattern(rf"(?:(?:{particles}) |{JOINED}){{1,3}}(?={CAPITAL})")


@cache
def compile_full_names(language: str | None) -> LazyPattern:
    """Return a pattern of the full names in texts of a language."""
    particles = compile_particles(language).pattern
    named = "|".join(rf"(?<=\b{each})" for each in NAMED.get(name_base(language), ()))
    introduced = rf"|(?:{named}){_PROPER}(?: {_PROPER}){{0,3}}\b" if named else ""
    begins = rf"\b(?!(?:{STARTERS}) ){_PROPER}"
    verbs = VERBS.get(name_base(language), "(?!)")
    places, brands, others = list_word_names(language)
    return LazyPattern(
        rf"(?P<place>{places})|(?P<none>{begins} (?:{others}))"
        rf"|(?P<sure>\b{verbs}|{brands}|(?:{others})(?! {CAPITAL}))"
        rf"|{begins}(?: {_PROPER}){{0,3}},? [JS]r\b(?:\.(?=,? [a-z\d]))?"  # Robert Downey Jr. is
        rf"|(?:{begins} |\b){particles}{_PROPER}\b{introduced}"
    )


def find_full_names(
    text: str, language: str | None, is_word: Callable[[str], bool]
) -> Iterator[Verbatim]:
    """Yield the full names of a text.

    is_word: whether the first word of a sentence is a word before a name, as in "Visit van Gogh".
    """
    for match in compile_full_names(language).finditer(text):
        start, first = match.start(), match[0].partition(" ")[0]
        if match["none"]:
            continue
        is_sure = match["place"] or match["sure"]
        if not is_sure and is_first(text, start) and is_word(first):
            start += len(first) + 1
        yield Verbatim(start, match.end(), "location" if match["place"] else "name")
