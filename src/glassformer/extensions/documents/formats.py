"""The formats of documents that can be translated, by the ending of the file's name."""

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import PurePath
from typing import NamedTuple, Protocol

from .apple_strings import read_strings
from .catalogues import TranslatableMessage
from .encodings import PAGE_CHARSET, PO_CHARSET, Encoding, decode
from .epub import Book
from .failures import Failures
from .json_messages import read_json_messages
from .office import OPEN, SLIDES, WORD, OfficeDocument
from .po import read_po
from .subtitles import Subtitles
from .xliff import read_xliff
from .xml_file import XmlFile
from .xml_messages import XmlCatalogue, read_android, read_resx

OFFICE = {".docx": WORD, ".odp": OPEN, ".odt": OPEN, ".pptx": SLIDES}


class DocumentTexts(Protocol):
    """The texts of a document to be translated; `form` says whether they are text or HTML.

    `failures` gets what stays as it is.
    """

    form: str
    texts: list[str]
    failures: Failures


class TranslatableDocument(DocumentTexts, Protocol):
    """A document that takes the translations of its texts."""

    def fill(self, translations: Sequence[str]) -> bytes:
        """Return the document with these translations in place of its texts."""


class TranslatableText(DocumentTexts, Protocol):
    """A document whose file is a text."""

    def fill(self, translations: Sequence[str]) -> str:
        """Return the text of the file with these translations in place of its texts."""


class WholeText:
    """A file that is one text, plain or HTML; its white space is kept."""

    def __init__(self, text: str, form: str) -> None:
        self.form, self.texts, self.failures = form, [text], Failures()

    def fill(self, translations: Sequence[str]) -> str:
        return translations[0]


class TextFormat(NamedTuple):
    """How a file of text is read; see `encodings.decode`."""

    read: Callable[[str], TranslatableText]
    is_markup: bool = False
    declared_by: re.Pattern[bytes] | None = None
    may_guess: bool = False


class EncodedDocument:
    """A document whose file is a text in some encoding, which is kept."""

    def __init__(self, content: TranslatableText, encoding: Encoding, form: TextFormat) -> None:
        self.content, self.encoding, self.format = content, encoding, form
        self.form, self.texts = content.form, content.texts
        self.failures = content.failures

    def fill(self, translations: Sequence[str]) -> bytes:
        text, (_, is_markup, declared_by, _) = self.content.fill(translations), self.format
        declares = None if is_markup else declared_by
        return self.encoding.encode(text, as_markup=is_markup, declared_by=declares)


XML: dict[str, Callable[[XmlFile], Iterable[TranslatableMessage]]] = {
    ".resx": read_resx,
    ".xlf": read_xliff,
    ".xliff": read_xliff,
    ".xml": read_android,
}
PAGE = TextFormat(lambda text: WholeText(text, "html"), is_markup=True, declared_by=PAGE_CHARSET)
SUBTITLES = TextFormat(Subtitles, may_guess=True)
PO = TextFormat(read_po, declared_by=PO_CHARSET)
JSON = TextFormat(read_json_messages)
TEXTS = {
    ".arb": JSON,
    ".htm": PAGE,
    ".html": PAGE,
    ".json": JSON,
    ".po": PO,
    ".pot": PO,
    ".srt": SUBTITLES,
    ".strings": TextFormat(read_strings),
    ".txt": TextFormat(lambda text: WholeText(text, "text")),
    ".vtt": SUBTITLES,
    ".xhtml": PAGE,
}
BOOK = ".epub"
ENDINGS = sorted([*OFFICE, *TEXTS, *XML, BOOK])


def open_document(data: bytes, name: str) -> TranslatableDocument:
    """Return the document in a file of this name.

    Raises ValueError if the ending is unknown, or the file damaged or hostile; ModuleNotFoundError
    if a package is missing.
    """
    ending = PurePath(name).suffix.lower()
    if ending in OFFICE:
        return OfficeDocument(data, OFFICE[ending])
    if ending == BOOK:
        return Book(data)
    if ending in XML:
        return XmlCatalogue(data, PurePath(name).name, XML[ending])
    if ending not in TEXTS:
        raise ValueError(f"documents that can be translated end in {', '.join(ENDINGS)}")
    form = TEXTS[ending]
    text, encoding = decode(data, declared_by=form.declared_by, may_guess=form.may_guess)
    return EncodedDocument(form.read(text), encoding, form)
