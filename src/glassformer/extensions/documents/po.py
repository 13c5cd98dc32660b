"""PO files of gettext: messages without a translation get one; the others keep theirs.

A plural has a form for each group of numbers, by a rule in the head of the file. The form of 1 is
translated from the singular, and the others from the plural; so is that of 1 if it serves greater
numbers, too, as 21, and only the plural has the place of the number: "One file", "%d files".
"""

from __future__ import annotations

import gettext
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from glassformer.text.verbatim import find_verbatim

from .catalogues import Catalogue, PlainMessage

RULE = re.compile(r"plural\s*=\s*([^;]{1,400})")
USUAL, TRIED = "n != 1", range(200)  # the rule if none is there; numbers that it is tried with


def read_po(text: str) -> Catalogue:
    """Return the messages of a PO file that are not translated yet, or only copied.

    Raises ValueError if it is damaged; ModuleNotFoundError without polib.
    """
    import polib

    try:
        # The line break at the end makes it no name of a file, which polib would read.
        entries = polib.pofile(text.replace("\r\n", "\n").rstrip("\n") + "\n", wrapwidth=78)
    except (OSError, UnicodeError) as error:
        raise ValueError(f"the file is no PO: {' '.join(str(error).split())}") from None
    newline = "\r\n" if "\r\n" in text else "\n"
    served = _list_served(entries.metadata.get("Plural-Forms", ""))
    messages = [message for entry in entries for message in _read_entry(entry, served)]
    has_head = text.lstrip().startswith("#")

    def write() -> str:
        written = str(entries) if has_head else str(entries).removeprefix("#\n")
        return (written.rstrip("\n") + "\n").replace("\n", newline)

    return Catalogue(messages, write)


def _list_served(plural_forms: str) -> Mapping[int, set[int]]:
    """Return the numbers that each plural form serves, of those that are tried."""
    match = RULE.search(plural_forms)
    try:
        choose = gettext.c2py(match[1] if match else USUAL)
        forms = [choose(number) for number in TRIED]
    except (ValueError, ZeroDivisionError, RecursionError):
        choose = gettext.c2py(USUAL)
        forms = [choose(number) for number in TRIED]
    served: dict[int, set[int]] = {}
    for number, form in zip(TRIED, forms, strict=True):
        served.setdefault(form, set()).add(number)
    return served


def _read_entry(entry: Any, served: Mapping[int, set[int]]) -> Iterator[PlainMessage]:
    if entry.obsolete:
        return
    if not entry.msgid_plural:
        if entry.msgstr in ("", entry.msgid):
            yield PlainMessage(entry.msgid, lambda text: setattr(entry, "msgstr", text))
        return
    for number, translation in entry.msgstr_plural.items():
        if translation in ("", entry.msgid, entry.msgid_plural):
            numbers = served.get(number, set())
            is_one = 1 in numbers and (max(numbers) == 1 or not _has_own_place(entry))
            source = entry.msgid if is_one else entry.msgid_plural
            yield PlainMessage(source, _make_plural_writer(entry, number))


def _has_own_place(entry: Any) -> bool:
    """Return whether only the plural of a message has a placeholder, that of the number."""
    singular, plural = (
        {text[each.start : each.end] for each in find_verbatim(text) if each.kind == "placeholder"}
        for text in (entry.msgid, entry.msgid_plural)
    )
    return not plural <= singular


def _make_plural_writer(entry: Any, number: int) -> Callable[[str], None]:
    def write(text: str) -> None:
        entry.msgstr_plural[number] = text

    return write
