"""PO files of gettext: messages without a translation get one; the others keep theirs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from .catalogues import Catalogue, PlainMessage


def read_po(text: str) -> Catalogue:
    """Return the messages of a PO file that are not translated yet, or only copied.

    Raises ValueError if it is damaged; ModuleNotFoundError without polib.
    """
    import polib

    try:
        entries = polib.pofile(text.replace("\r\n", "\n"), wrapwidth=78)
    except (OSError, UnicodeError) as error:
        raise ValueError(f"the file is no PO: {' '.join(str(error).split())}") from None
    newline = "\r\n" if "\r\n" in text else "\n"
    messages = [message for entry in entries for message in _read_entry(entry)]
    has_head = text.lstrip().startswith("#")

    def write() -> str:
        written = str(entries) if has_head else str(entries).removeprefix("#\n")
        return (written.rstrip("\n") + "\n").replace("\n", newline)

    return Catalogue(messages, write)


def _read_entry(entry: Any) -> Iterator[PlainMessage]:
    if entry.obsolete:
        return
    if not entry.msgid_plural:
        if not entry.msgstr:
            yield PlainMessage(entry.msgid, lambda text: setattr(entry, "msgstr", text))
        return
    for number, translation in entry.msgstr_plural.items():
        if not translation:
            source = entry.msgid if number == 0 else entry.msgid_plural
            yield PlainMessage(source, _make_plural_writer(entry, number))


def _make_plural_writer(entry: Any, number: int) -> Callable[[str], None]:
    def write(text: str) -> None:
        entry.msgstr_plural[number] = text

    return write
