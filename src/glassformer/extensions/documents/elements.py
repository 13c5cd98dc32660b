"""The elements of HTML: which of them end a run of text, and which hold no text to translate."""

import re
from functools import cache

_BLOCKS = (
    "address article aside base blockquote body br button caption center col colgroup dd details "
    "dialog dir div dl dt fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 "
    "head header hgroup hr html legend li link listing main menu meta nav ol optgroup option p "
    "param plaintext search section select source summary table tbody td tfoot th thead title tr "
    "track ul"
)
_VOID = "area base br col embed frame hr img input link meta param source track wbr"
_RAW = "iframe noembed noframes script style textarea xmp"
_INLINE_OPAQUE = "code kbd samp var svg math canvas rp rt rtc"
_OPAQUE = f"{_INLINE_OPAQUE} {_RAW} pre template object audio video noscript"
_OPTIONAL_END = "dd dt li optgroup option p rp rt rtc tbody td tfoot th thead tr"
_SIBLINGS = ("dd dt", "optgroup option", "rb rp rt rtc", "td th tr tbody thead tfoot")
BLOCKS = frozenset(_BLOCKS.split())
VOID = frozenset(_VOID.split())  # elements without content, and without an end tag
RAW = frozenset(_RAW.split())  # their < is text
OPAQUE = frozenset(_OPAQUE.split())  # nothing within them is text
OPTIONAL_END = frozenset(_OPTIONAL_END.split())  # the next of their kind ends them, for example
CONTAINERS = (BLOCKS - OPTIONAL_END - VOID) | {"ruby"}  # what those are in
_ATTRIBUTE = re.compile(
    r"([^\s=/\"'<>]++)(?:\s*+=\s*+(?:\"([^\"]*+)\"|'([^']*+)'|([^\s\"'<>]*+)))?+"
)


def is_inline(name: str) -> bool:
    """Return whether an element is part of a sentence; an unknown or hyphenated one is."""
    return name not in BLOCKS and (name not in OPAQUE or name in _INLINE_OPAQUE.split())


def is_excluded(attributes: str) -> bool:
    """Return whether an element with these attributes is marked as not to be translated."""
    if "no" not in attributes.lower():  # as nearly always
        return False
    for match in _ATTRIBUTE.finditer(attributes):
        name, value = match[1].lower(), (match[2] or match[3] or match[4] or "").lower()
        if name == "translate" and value.strip() == "no":
            return True
        if name == "class" and "notranslate" in value.split():
            return True
    return False


@cache
def list_terminators(name: str) -> frozenset[str]:
    """Return the elements whose start ends an open element that needs no end tag."""
    if name == "p":
        return BLOCKS - {"br", "button", "select", "optgroup", "option"}
    groups = map(str.split, _SIBLINGS)
    return frozenset(next((group for group in groups if name in group), [name]))
