"""Messages of programs in XML: XLIFF (1.2 and 2), .resx of .NET, and strings.xml of Android."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from functools import partial
from typing import Any

from .catalogues import PlainMessage, TranslatableMessage, fill_messages
from .dialects import Dialect, name_elements
from .failures import Failures
from .packed import parse_xml
from .paragraphs import Paragraph, empty

_XLIFF = "urn:oasis:names:tc:xliff:document:"
_TO_DO = frozenset(("", "initial", "new", "needs-translation"))  # states of a target
_FORMATS = "a b big em font i s small strike strong sub sup tt u"
_PROTECTED = "-protected"
_ANDROID = Dialect(
    paragraphs=("string", "item"),
    wrappers=frozenset(_FORMATS.split()),
    verbatim=re.compile(r"\\(?:u[0-9a-fA-F]{4}|[^\s\w']|[nt])"),
)
_CODE = re.compile(r"\\u([0-9a-fA-F]{4})")
_NO_BREAK = "\u00a0\u202f"  # spaces that nobody sees in a file
_LINE_END = re.compile(r"\\n[ \u00a0]+")


class XmlCatalogue:
    """A file of messages in XML as texts of HTML. Raises ValueError if it is damaged."""

    form = "html"

    def __init__(
        self, data: bytes, name: str, read: Callable[[Any], Iterator[TranslatableMessage]]
    ) -> None:
        self.failures = Failures()
        self.root = parse_xml(data, name)
        self.messages = [message for message in read(self.root) if message.texts]
        self.texts = [text for message in self.messages for text in message.texts]

    def fill(self, translations: Sequence[str]) -> bytes:
        """Return the file with these translations in place of its texts, or beside them."""
        from lxml import etree

        fill_messages(self.messages, translations, self.failures)
        tree = self.root.getroottree()
        encoding = tree.docinfo.encoding or "UTF-8"
        written: bytes = etree.tostring(tree, xml_declaration=True, encoding=encoding)
        return written


class MarkedMessage:
    """A message with elements in it; `finish` is called once it is filled in."""

    def __init__(self, element: Any, dialect: Dialect, finish: Callable[[], object]) -> None:
        self.paragraph, self.finish = Paragraph(element, dialect), finish
        has_text = any(map(str.isalnum, self.paragraph.plain))
        self.texts = [self.paragraph.markup] if has_text else []

    def fill(self, translations: Sequence[str]) -> None:
        self.paragraph.fill(translations[0])
        self.finish()


def read_xliff(root: Any) -> Iterator[MarkedMessage]:
    """Yield the messages of an XLIFF file that are not translated yet. ValueError if it is none."""
    namespace = root.tag.partition("}")[0].lstrip("{")
    if not namespace.startswith(_XLIFF):
        raise ValueError("the file is no XLIFF: its root has another namespace")
    dialect = Dialect(
        paragraphs=(f"{{{namespace}}}target",),
        wrappers=name_elements(namespace, "g mrk pc"),
        pair_begins=name_elements(namespace, "bpt bx sc"),
        pair_ends=name_elements(namespace, "ept ex ec"),
    )
    for source in root.iter(f"{{{namespace}}}source"):
        unit = source.getparent()
        target = unit.find(f"{{{namespace}}}target")
        if not _is_excluded(unit) and _is_to_do(unit, source, target):
            yield _make_target(source, target, dialect)


def _is_excluded(unit: Any) -> bool:
    around = [unit, *unit.iterancestors()]
    marks = (each.get("translate") for each in around)
    return next((mark for mark in marks if mark), "yes") == "no" or unit.get("approved") == "yes"


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


def _make_target(source: Any, target: Any, dialect: Dialect) -> MarkedMessage:
    """Return the message of a unit, whose target gets its translation and the source's elements."""
    result = deepcopy(source)
    result.tag, result.tail = dialect.paragraphs[0], source.tail
    result.attrib.clear()
    for mark in filter(_is_protected, [*result.iter()]):
        mark.tag += _PROTECTED  # so it is no wrapper, and stays as it is

    def finish() -> None:
        for mark in result.iter():
            mark.tag = mark.tag.removesuffix(_PROTECTED) if _is_element(mark) else mark.tag
        if target is not None:
            empty(target)
            target.text = result.text
            target.extend([*result])
            target.attrib.pop("state", None)
            return
        segmented = source.getparent().find(source.tag.replace("}source", "}seg-source"))
        (source if segmented is None else segmented).addnext(result)

    return MarkedMessage(result, dialect, finish)


def read_resx(root: Any) -> Iterator[PlainMessage]:
    """Yield the texts of a .resx file; a name with > or $ is for the designer of forms."""
    if root.tag != "root":
        raise ValueError("the file is no .resx: its first element is not <root>")
    for data in root.iterchildren("data"):
        value, name = data.find("value"), data.get("name") or ""
        is_text = not (data.get("type") or data.get("mimetype") or name.startswith((">", "$")))
        if value is not None and is_text and len(value) == 0:
            yield PlainMessage(value.text or "", _make_text_writer(value))


def _make_text_writer(element: Any) -> Callable[[str], None]:
    def write(text: str) -> None:
        element.text = text

    return write


def read_android(root: Any) -> Iterator[MarkedMessage]:
    """Yield the texts of Android's strings.xml; references to other resources are none."""
    if root.tag != "resources":
        raise ValueError("only Android's .xml files are translated: they begin with <resources>")
    for element in root.iter("string", "item"):
        around = (element, element.getparent())
        if any(each.get("translatable") == "false" for each in around):
            continue
        is_reference = (element.text or "").lstrip().startswith(("@", "?"))
        if not is_reference and any(map(str.isalnum, "".join(element.itertext()))):
            yield AndroidText(element)


class AndroidText(MarkedMessage):
    """A text without Android's escapes, which come back once it is filled in.

    Quotes around a whole text protect its white space, and are no part of it. A text that is not
    translated stays as it was.
    """

    def __init__(self, element: Any) -> None:
        text = element.text or ""
        self.element = element
        self.originals = [(each, each.text, each.tail) for each in element.iter()]
        self.is_spaced = any(map(_LINE_END.search, element.itertext()))
        is_quoted = len(element) == 0 and len(text) > 2 and text[0] == text[-1] == '"'
        self.is_quoted = is_quoted and text[-2] != "\\"
        if self.is_quoted:
            element.text = text[1:-1]
        _replace_text(element, _unescape)
        super().__init__(element, _ANDROID, self._escape)
        if not self.texts:
            self._leave()

    def fill(self, translations: Sequence[str]) -> None:
        try:
            super().fill(translations)
        except Exception:
            self._leave()
            raise

    def _escape(self) -> None:
        _replace_text(self.element, partial(_escape, is_spaced=self.is_spaced))
        if self.is_quoted:
            self.element.text = f'"{self.element.text}"'

    def _leave(self) -> None:
        for each, text, tail in self.originals:
            each.text, each.tail = text, tail


def _unescape(text: str) -> str:
    """Return a text of Android with the quotes and characters that its escapes name."""

    def spell(match: re.Match[str]) -> str:
        character = chr(int(match[1], 16))
        is_text = character.isprintable() or character in _NO_BREAK
        return character if is_text and character != "\\" else match[0]

    return _CODE.sub(spell, text.replace("\\'", "'").replace('\\"', '"'))


def _escape(text: str, *, is_spaced: bool) -> str:
    """Return a text with its quotes as Android wants them; is_spaced: the source has `\\n `."""
    text = text if is_spaced else _LINE_END.sub(r"\\n", text)
    for space in _NO_BREAK:
        text = text.replace(space, f"\\u{ord(space):04x}")
    return text.replace("'", "\\'").replace('"', '\\"')


def _replace_text(element: Any, change: Callable[[str], str]) -> None:
    """Change the text of an element and of all that is in it."""
    for each in element.iter():
        each.text = each.text and change(each.text)
        if each is not element:
            each.tail = each.tail and change(each.tail)
