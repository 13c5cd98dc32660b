"""XLIFF (1.2 and 2): units without a translation get a target, with the elements of the source."""

from __future__ import annotations

import re
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from functools import partial
from typing import Any

from .access_keys import AccessKeys
from .bars import CHOICE
from .catalogues import BREAKS, BREAKS_IN_LAYOUT, PlainMessage, TranslatableMessage, cut_plural
from .dialects import SPACE, Dialect, name_elements
from .json_messages import FormsMessage, cut_forms
from .paragraphs import empty
from .xml_file import XmlFile
from .xml_messages import MarkedMessage

_XLIFF = "urn:oasis:names:tc:xliff:document:"
_TO_DO = frozenset(("", "initial", "new", "needs-translation"))  # states of a target
_PROTECTED = "-protected"


def read_xliff(file: XmlFile) -> list[TranslatableMessage]:
    """Return the messages of an XLIFF file that are not translated yet; ValueError if it is none.

    The failures of the file get those with forms that are not understood.
    """
    namespace = file.root.tag.partition("}")[0].lstrip("{")
    if not namespace.startswith(_XLIFF):
        raise ValueError("the file is no XLIFF: its root has another namespace")
    dialect = Dialect(
        paragraphs=(f"{{{namespace}}}target",),
        wrappers=name_elements(namespace, "g mrk pc"),
        pair_begins=name_elements(namespace, "bpt bx sc"),
        pair_ends=name_elements(namespace, "ept ex ec"),
        verbatim=CHOICE,
    )
    sources = [*file.root.iter(f"{{{namespace}}}source")]
    keys = AccessKeys([source.text or "" for source in sources])
    messages = list[TranslatableMessage]()
    for source in sources:
        unit = source.getparent()
        target = unit.find(f"{{{namespace}}}target")
        if not _is_excluded(unit) and _is_to_do(unit, source, target):
            with file.failures.leave("".join(source.itertext())):
                messages.append(_read_unit(file, source, target, dialect, keys))
    return messages


def _is_excluded(unit: Any) -> bool:
    return _inherit("translate", unit) == "no" or unit.get("approved") == "yes"


def _inherit(name: str, element: Any) -> str:
    """Return an attribute of an element, or the nearest one around it that has it; else ""."""
    values = (each.get(name) for each in [element, *element.iterancestors()])
    return next(filter(None, values), "")


def _is_to_do(unit: Any, source: Any, target: Any) -> bool:
    """Return whether a unit has no translation: none, an empty one, or a copy of the source."""
    if target is None:
        return True
    text, translation = ("".join(each.itertext()).strip() for each in (source, target))
    state = target.get("state") or unit.get("state") or ""
    return not translation or (translation == text and state in _TO_DO)


def _is_element(node: Any) -> bool:
    return isinstance(node.tag, str)  # that of a comment is a function


def _is_protected(element: Any) -> bool:
    """Return whether an element says that it is not to be translated."""
    is_marked = element.get("mtype") == "protected" or element.get("translate") == "no"
    return _is_element(element) and is_marked


def _read_unit(
    file: XmlFile, source: Any, target: Any, dialect: Dialect, keys: AccessKeys
) -> TranslatableMessage:
    """Return the message of a unit, whose target gets its translation and the source's elements.

    ValueError if it has forms that are not understood.
    """
    is_spaced = _inherit(SPACE, source) == "preserve"
    breaks = BREAKS if is_spaced else BREAKS_IN_LAYOUT
    dialect = replace(dialect, text_breaks=breaks)
    result = _make_target(source, target, dialect)

    def finish() -> None:
        for mark in filter(_is_element, result.iter()):
            mark.tag = mark.tag.removesuffix(_PROTECTED)
        if target is not None:
            file.replace(target, result)
            return
        segmented = source.getparent().find(source.tag.replace("}source", "}seg-source"))
        file.insert_behind(source if segmented is None else segmented, result)

    def put(text: str) -> None:
        result.text = text
        finish()

    codes = InlineCodes(result, dialect)
    if len(forms := cut_forms(codes.text)) > 1:
        return FormsMessage(forms, partial(_fill, result, codes, finish), breaks)
    text = source.text or ""
    if len(source) or not text.strip():
        return MarkedMessage(result, dialect, finish)
    result.text, write = keys.hide(text, put)
    if len(plural := cut_plural(result.text)) > 1:
        return PlainMessage(result.text, write, forms=plural, breaks=breaks)
    return MarkedMessage(result, dialect, lambda: write(result.text))


def _make_target(source: Any, target: Any, dialect: Dialect) -> Any:
    """Return a new target with the content of a source, and the attributes of a former target."""
    result = deepcopy(source)
    result.tag, result.tail = dialect.paragraphs[0], None
    space = source.get(SPACE)
    result.attrib.clear()
    if target is not None:
        result.attrib.update(target.attrib)
        result.attrib.pop("state", None)
    elif space:
        result.set(SPACE, space)
    for mark in filter(_is_protected, [*result.iter()]):
        mark.tag += _PROTECTED  # so it is no wrapper, and stays as it is
    return result


def _fill(element: Any, codes: InlineCodes, finish: Callable[[], object], text: str) -> None:
    codes.write(text, element)
    finish()


class InlineCodes:
    """The elements in a message as placeholders and tags of a text: `{x0}`, `<x1>words</x1>`."""

    def __init__(self, element: Any, dialect: Dialect) -> None:
        self.wrappers, self.elements, self.name = dialect.wrappers, list[Any](), "x"
        text = "".join(element.itertext())
        while re.search(rf"[{{<]/?{self.name}\d", text):
            self.name += "x"
        self.text = self._spell(element)

    def _spell(self, element: Any) -> str:
        parts = [element.text or ""]
        for child in element:
            name = f"{self.name}{len(self.elements)}"
            self.elements.append(child)
            if child.tag in self.wrappers:
                parts.append(f"<{name}>{self._spell(child)}</{name}>")
            else:
                parts.append(f"{{{name}}}")
            parts.append(child.tail or "")
        return "".join(parts)

    def write(self, text: str, element: Any) -> None:
        """Put a text into an element, with elements for what stands for them.

        ValueError if tags are not nested as they should be.
        """
        code = re.compile(rf"\{{{self.name}(?P<point>\d+)\}}|<(?P<end>/)?{self.name}(?P<tag>\d+)>")
        opened, names, at = [deepcopy(element)], [""], 0
        empty(opened[0])
        for match in code.finditer(text):
            _append_text(opened[-1], text[at : match.start()])
            at = match.end()
            if match["end"]:
                if names.pop() != match["tag"]:
                    raise ValueError("its tags are not nested")
                opened.pop()
                continue
            child = deepcopy(self.elements[int(match["point"] or match["tag"])])
            child.tail = None
            opened[-1].append(child)
            if match["tag"]:
                empty(child)
                opened.append(child)
                names.append(match["tag"])
        _append_text(opened[-1], text[at:])
        if len(opened) > 1:
            raise ValueError("its tags are not nested")
        empty(element)
        element.text = opened[0].text
        element.extend([*opened[0]])


def _append_text(parent: Any, text: str) -> None:
    if len(parent):
        parent[-1].tail = (parent[-1].tail or "") + text
    else:
        parent.text = (parent.text or "") + text
