"""Messages of programs in XML: .resx of .NET, strings.xml of Android, and for `xliff` the base."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from .access_keys import AccessKeys
from .bars import CHOICE
from .catalogues import BREAKS_IN_LAYOUT, PlainMessage, TranslatableMessage, fill_messages
from .dialects import Dialect
from .paragraphs import Paragraph
from .xml_file import XmlFile

_FORMATS = "a b big em font i s small strike strong sub sup tt u"
_ANDROID = Dialect(
    paragraphs=("string", "item"),
    wrappers=frozenset(_FORMATS.split()),
    verbatim=re.compile(rf"\\(?:u[0-9a-fA-F]{{4}}|[^\s\w'])|{CHOICE.pattern}"),
    text_breaks=BREAKS_IN_LAYOUT,
)
_CODE = re.compile(r"\\u([0-9a-fA-F]{4})")
_EDGE = "\u1680"  # stands for a space at an edge, which Android trims if it is not an escape
_EDGES = re.compile(r"\A(?:\s*\\u0020)+"), re.compile(r"(?:\\u0020\s*)+\Z")
_NO_BREAK = "\u00a0\u202f"  # spaces that nobody sees in a file
_WRITTEN = {ord(space): f"\\u{ord(space):04x}" for space in _NO_BREAK}
_WRITTEN |= {ord("'"): "\\'", ord('"'): '\\"', ord(_EDGE): r"\u0020"}


class XmlCatalogue:
    """A file of messages in XML as texts of HTML. Raises ValueError if it is damaged."""

    form = "html"

    def __init__(
        self, data: bytes, name: str, read: Callable[[XmlFile], Iterable[TranslatableMessage]]
    ) -> None:
        self.file = XmlFile(data, name)
        self.failures = self.file.failures
        self.messages = [message for message in read(self.file) if message.texts]
        self.texts = [text for message in self.messages for text in message.texts]

    def fill(self, translations: Sequence[str]) -> bytes:
        """Return the file with these translations in place of its texts, or beside them."""
        fill_messages(self.messages, translations, self.failures)
        return self.file.write()


class MarkedMessage:
    """A message with elements in it; `finish` is called once it is filled in."""

    def __init__(self, element: Any, dialect: Dialect, finish: Callable[[], object]) -> None:
        self.paragraph, self.finish = Paragraph(element, dialect), finish
        has_text = any(map(str.isalnum, self.paragraph.plain))
        self.texts = [self.paragraph.markup] if has_text else []

    def fill(self, translations: Sequence[str]) -> None:
        self.paragraph.fill(translations[0])
        self.finish()


def read_resx(file: XmlFile) -> Iterator[PlainMessage]:
    """Yield the texts of a .resx file; a name with > or $ is for the designer of forms."""
    if file.root.tag != "root":
        raise ValueError("the file is no .resx: its first element is not <root>")
    values = [*filter(_is_text, file.root.iterfind("data/value"))]
    keys = AccessKeys([value.text or "" for value in values])
    for value in values:
        yield PlainMessage(*keys.hide(value.text or "", _make_text_writer(file, value)))


def _is_text(value: Any) -> bool:
    data = value.getparent()
    is_other = data.get("type") or data.get("mimetype")
    return not (is_other or (data.get("name") or "").startswith((">", "$")) or len(value))


def _make_text_writer(file: XmlFile, element: Any) -> Callable[[str], None]:
    def write(text: str) -> None:
        element.text = text
        file.rewrite_content(element)

    return write


def read_android(file: XmlFile) -> Iterator[MarkedMessage]:
    """Yield the texts of Android's strings.xml; references to other resources are none."""
    if file.root.tag != "resources":
        raise ValueError("only Android's .xml files are translated: they begin with <resources>")
    for element in file.root.iter("string", "item"):
        around = (element, element.getparent())
        if any(each.get("translatable") == "false" for each in around):
            continue
        is_reference = (element.text or "").lstrip().startswith(("@", "?"))
        if not is_reference and any(map(str.isalnum, "".join(element.itertext()))):
            yield AndroidText(element, file)


class AndroidText(MarkedMessage):
    """A text without Android's escapes, which come back once it is filled in.

    Quotes around a whole text protect its white space, and are no part of it.
    """

    def __init__(self, element: Any, file: XmlFile) -> None:
        text = element.text or ""
        self.element, self.file = element, file
        is_quoted = len(element) == 0 and len(text) > 2 and text[0] == text[-1] == '"'
        self.is_quoted = is_quoted and text[-2] != "\\"
        if self.is_quoted:
            element.text = text[1:-1]
        _mark_edges(element)
        _replace_text(element, _unescape)
        super().__init__(element, _ANDROID, self._escape)

    def _escape(self) -> None:
        _replace_text(self.element, lambda text: text.translate(_WRITTEN))
        if self.is_quoted:
            self.element.text = f'"{self.element.text}"'
        self.file.rewrite_content(self.element)


def _mark_edges(element: Any) -> None:
    """Put what stands for a space in place of the escapes of spaces at both edges of a text."""

    def mark(edge: re.Pattern[str], text: str | None) -> str:
        return edge.sub(lambda match: match[0].replace(r"\u0020", _EDGE), text or "")

    element.text = mark(_EDGES[0], element.text)
    if len(element):
        element[-1].tail = mark(_EDGES[1], element[-1].tail)
    else:
        element.text = mark(_EDGES[1], element.text)


def _unescape(text: str) -> str:
    """Return a text of Android with the quotes and characters that its escapes name."""

    def spell(match: re.Match[str]) -> str:
        character = chr(int(match[1], 16))
        is_text = character.isprintable() or character in _NO_BREAK
        return character if is_text and character != "\\" else match[0]

    return _CODE.sub(spell, text.replace("\\'", "'").replace('\\"', '"'))


def _replace_text(element: Any, change: Callable[[str], str]) -> None:
    """Change the text of an element and of all that is in it."""
    for each in element.iter():
        each.text = each.text and change(each.text)
        if each is not element:
            each.tail = each.tail and change(each.tail)
