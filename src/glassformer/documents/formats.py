"""The formats of documents that can be translated, by the ending of the file's name."""

from collections.abc import Callable, Sequence
from pathlib import PurePath
from typing import Protocol

from .office import OPEN, SLIDES, WORD, OfficeDocument
from .subtitles import Subtitles

OFFICE = {".docx": WORD, ".odp": OPEN, ".odt": OPEN, ".pptx": SLIDES}


class TranslatableDocument(Protocol):
    """A document as texts to be translated; `form` says whether they are text or HTML."""

    form: str
    texts: list[str]

    def fill(self, said: Sequence[str]) -> bytes:
        """Return the document with these translations in place of its texts."""


class WholeText:
    """A file that is one text, plain or HTML; its white space is kept."""

    def __init__(self, text: str, form: str) -> None:
        self.form, self.texts = form, [text]

    def fill(self, said: Sequence[str]) -> bytes:
        return said[0].encode("utf-8", "replace")


TEXTS: dict[str, Callable[[str], TranslatableDocument]] = {
    ".htm": lambda text: WholeText(text, "html"),
    ".html": lambda text: WholeText(text, "html"),
    ".srt": Subtitles,
    ".txt": lambda text: WholeText(text, "text"),
}
ENDINGS = sorted([*OFFICE, *TEXTS])


def open_document(data: bytes, name: str) -> TranslatableDocument:
    """Return the document in a file of this name.

    Raises ValueError if the ending is unknown, or the file damaged or hostile; ModuleNotFoundError
    if a package is missing.
    """
    ending = PurePath(name).suffix.lower()
    if ending in OFFICE:
        return OfficeDocument(data, OFFICE[ending])
    if ending not in TEXTS:
        raise ValueError(f"documents that can be translated end in {', '.join(ENDINGS)}")
    encoding = "utf-16" if data.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    try:
        return TEXTS[ending](data.decode(encoding))
    except UnicodeDecodeError as error:
        said = f"the file is no UTF-8: byte {error.start + 1} cannot be read"
        raise ValueError(said) from None
