"""PO files of gettext: messages without a translation get one; the others keep theirs.

A plural has a form for each group of numbers, by a rule in the head of the file. The form of 1 is
translated from the singular, and the others from the plural; so is that of 1 if it serves greater
numbers, too, as 21, and only the plural has the place of the number: "One file", "%d files".

All lines but those of new translations stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import dropwhile
from typing import Any

from .access_keys import AccessKeys
from .catalogues import Catalogue, PlainMessage
from .plural_forms import RULE, USUAL, is_for_one, list_served


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
    rule = RULE.search(entries.metadata.get("Plural-Forms", ""))
    served = list_served(rule[1] if rule else USUAL)
    keys = AccessKeys([entry.msgid for entry in entries])
    messages = [message for entry in entries for message in _read_entry(entry, served, keys)]
    before = [_spell_translation(entry) for entry in entries]

    def write() -> str:
        ended = text if text.endswith("\n") else text + newline
        lines, written, at = ended.splitlines(keepends=True), list[str](), 0
        for entry, former in zip(entries, before, strict=True):
            if (translation := _spell_translation(entry)) != former:
                first, end = _find_translation(lines, max(entry.linenum - 1, at))
                written += lines[at:first]
                written += [line + newline for line in translation]
                at = end
        return "".join([*written, *lines[at:]])

    return Catalogue(messages, write)


def _spell_translation(entry: Any) -> list[str]:
    """Return the lines of a file that are the translation of an entry."""
    lines: list[str] = str(entry).rstrip("\n").split("\n")
    return [*dropwhile(lambda line: not line.startswith("msgstr"), lines)]


def _find_translation(lines: Sequence[str], start: int) -> tuple[int, int]:
    """Return the first line of the translation of the entry at a line, and the line behind it."""
    first = start
    while first < len(lines) and not lines[first].lstrip().startswith("msgstr"):
        first += 1
    end = first
    for number in range(first, len(lines)):
        if (line := lines[number].strip()).startswith(("msgstr", '"')):
            end = number + 1
        elif line:
            break
    return first, end


def _read_entry(
    entry: Any, served: Mapping[int, set[int]], keys: AccessKeys
) -> Iterator[PlainMessage]:
    if entry.obsolete:
        return
    if not entry.msgid_plural:
        if entry.msgstr in ("", entry.msgid):
            write = partial(setattr, entry, "msgstr")
            yield PlainMessage(*keys.hide(entry.msgid, write))
        return
    for number, translation in entry.msgstr_plural.items():
        if translation in ("", entry.msgid, entry.msgid_plural):
            numbers = served.get(number, set())
            both = entry.msgid, entry.msgid_plural
            source = both[not is_for_one(numbers, *both)]
            write = partial(entry.msgstr_plural.__setitem__, number)
            yield PlainMessage(*keys.hide(source, write))
