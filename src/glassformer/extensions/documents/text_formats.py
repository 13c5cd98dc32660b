"""When two formats of text are the same; programs write equal ones in many ways.

The order of attributes says nothing. The canonical form of XML would do, but the time for it grows
with the square of their number.
"""

from __future__ import annotations

from typing import Any

from .dialects import Dialect

FormatKey = tuple[Any, ...]  # equal for equal formats; () is none
_VAGUE = frozenset(("lang", "altLang", "dirty", "err", "noProof"))  # attributes, in PowerPoint


def spell_format(format: Any, dialect: Dialect) -> FormatKey:
    """Return what is equal for equal formats, the language of a spelling checker aside."""
    if format is None:
        return ()
    children = [child for child in format if child.tag not in dialect.vague]
    attributes = [item for item in list_attributes(format) if item[0] not in _VAGUE]
    return (*attributes, *map(spell_element, children))


def spell_element(element: Any) -> FormatKey:
    """Return what is equal for equal elements, with all that is in them."""
    text = (element.text or "").strip()
    children = map(spell_element, element)
    return (str(element.tag), text, tuple(list_attributes(element)), *children)


def list_attributes(element: Any) -> list[tuple[str, str]]:
    """Return the names and values of an element's attributes, sorted.

    lxml's `items` takes a time that grows with the square of their number.
    """
    return sorted((str(value.attrname), str(value)) for value in element.xpath("@*"))
