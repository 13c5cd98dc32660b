"""The messages of programs in JSON: of i18next, vue-i18n, react-intl, Chrome, and Flutter's ARB.

The values are translated, the keys and the layout of the file stay. Where each entry is an object
with a `message`, a `defaultMessage` or a `string`, that is the message, and the rest describes it.
Of a message of ICU with forms (`{n, plural, one {# file} other {# files}}`), each form is one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice
from typing import NamedTuple

from glassformer.text.unicode import Span

from .catalogues import Catalogue, PlainMessage, TranslatableMessage

MESSAGE_KEYS = ("message", "defaultMessage", "string")
APART = ("@", "$", "//")  # keys of metadata begin so
_TOKEN = re.compile(r'"((?:[^"\\]|\\.)*+)"(\s*+:)?|[{}\[\]]', re.DOTALL)
_BLOCK = re.compile(r"\{\s*+[\w.]++\s*+,\s*+(?:plural|select|selectordinal)\s*+,")
_FORM = re.compile(r"\s*+(?:offset\s*+:\s*+\d++\s*+)?(?:=\d++|\w++)\s*+\{")
_BRACE = re.compile(r"[{}]")
# What programs fill in or look up, besides what `find_verbatim` knows: nested messages of i18next
# and vue-i18n, names of Ruby, Chrome and Laravel, numbered elements of React.
_VERBATIM = r"\$t\([^()]*+\)|@(?:\.\w++)?:(?:[\w.-]++|\([^()]*+\))|%\{\w++\}|\$\w++\$"
_VERBATIM += r"|(?<![\w:]):[A-Za-z_]\w++:?+|</?\d++\s?/?>"
VERBATIM = re.compile(_VERBATIM)
NUMBER, AS_READ = "#", "%d"  # the number of a plural form, and the placeholder that is read as one
_QUOTING = re.compile(r"'(?=\{)")  # before a brace, it would make it a text in ICU


def read_json_messages(text: str) -> Catalogue:
    """Return the messages of a JSON file. ValueError if it is no JSON, or nested too deeply."""
    try:
        names = choose_keys(json.loads(text))
    except RecursionError:
        raise ValueError("the JSON is nested too deeply") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"no valid JSON: {error}") from None
    parts, messages, at = list[str](), list[TranslatableMessage](), 0
    style = EscapeStyle.find(text)
    keys = list[str]()  # of the objects and arrays around a place
    for match in _TOKEN.finditer(text):
        if match[0] in ("{", "["):
            keys.append("")
        elif match[0] in ("}", "]"):
            keys.pop()
        elif match[2]:
            keys[-1] = read_string(match[1])
        elif is_message(keys, names):
            start, end = match.span(1)
            parts += [text[at:start], match[1]]
            write = partial(parts.__setitem__, len(parts) - 1)
            message = read_string(match[1])
            messages.append(read_message(message, style.make_writer(message, write)))
            at = end
    parts.append(text[at:])
    return Catalogue(messages, lambda: "".join(parts))


class EscapeStyle(NamedTuple):
    """How a file writes its strings: other letters than ASCII, and slashes, as escapes or not."""

    is_ascii: bool
    has_escaped_slashes: bool

    @classmethod
    def find(cls, text: str) -> EscapeStyle:
        return cls(text.isascii() and r"\u" in text, r"\/" in text)

    def make_writer(self, source: str, write: Callable[[str], object]) -> Callable[[str], object]:
        """Return what writes the translation of a message as a string of the file."""

        def spell(text: str) -> None:
            if not _QUOTING.search(source):
                text = _QUOTING.sub("’", text)
            spelt = json.dumps(text, ensure_ascii=self.is_ascii)[1:-1]
            write(spelt.replace("/", r"\/") if self.has_escaped_slashes else spelt)

        return spell


def choose_keys(value: object) -> tuple[str, ...]:
    """Return the key of the messages where all entries are objects that have it; else none."""
    entries = [*value.values()] if isinstance(value, dict) else []
    for name in MESSAGE_KEYS:
        if entries and all(isinstance(e, dict) and isinstance(e.get(name), str) for e in entries):
            return (name,)
    return ()


def is_message(keys: Sequence[str], names: Sequence[str]) -> bool:
    """Return whether the string at a place is a message; keys: of what is around it."""
    if names:
        return len(keys) == 2 and keys[-1] in names
    return not any(key.startswith(APART) for key in keys)


def read_string(text: str) -> str:
    """Return the text of a string of JSON; half a surrogate pair becomes U+FFFD."""
    read: str = json.loads(f'"{text}"')
    return read.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def read_message(text: str, write: Callable[[str], object]) -> TranslatableMessage:
    """Return a message, or the forms of one."""
    forms = cut_forms(text)
    return FormsMessage(text, forms, write) if forms else PlainMessage(text, write, VERBATIM)


def cut_forms(text: str) -> list[Span]:
    """Return the spans of the forms of a message that has one choice between forms; else none."""
    block = _BLOCK.search(text)
    if not block or _BLOCK.search(text, block.end()):
        return []
    spans, at = list[Span](), block.end()
    while form := _FORM.match(text, at):
        end = find_end(text, form.end())
        if end < 0:
            return []
        spans.append((form.end(), end))
        at = end + 1
    rest = text[at:].lstrip()
    around = text[: block.start()] + rest[1:]
    return spans if rest.startswith("}") and NUMBER not in around else []


def find_end(text: str, start: int) -> int:
    """Return the place of the brace that closes what is open at a place; -1 without one."""
    depth = 1
    for brace in _BRACE.finditer(text, start):
        depth += 1 if brace[0] == "{" else -1
        if not depth:
            return brace.start()
    return -1


class FormsMessage:
    """A message with several forms; each is read with the text around them, and written so."""

    def __init__(self, text: str, spans: Sequence[Span], write: Callable[[str], object]) -> None:
        block = _BLOCK.search(text)
        assert block
        close = text.index("}", spans[-1][1] + 1)
        before, after = text[: block.start()], text[close + 1 :]
        self.write, self.parts = write, list[str]()
        self.forms, at = list[PlainMessage](), block.start()
        for start, end in spans:
            form = f"{before}{text[start:end]}{after}"
            self.parts += [text[at:start], form]
            self._add(form, len(self.parts) - 1)
            at = end
        self.parts.append(text[at : close + 1])
        self.texts = [each for form in self.forms for each in form.texts]

    def _add(self, form: str, place: int) -> None:
        """Read a form, in which # is the number, and write it to a place of the parts."""
        is_number = NUMBER in form and AS_READ not in form

        def put(text: str) -> None:
            self.parts[place] = text.replace(AS_READ, NUMBER) if is_number else text

        text = form.replace(NUMBER, AS_READ) if is_number else form
        self.forms.append(PlainMessage(text, put, VERBATIM))

    def fill(self, translations: Sequence[str]) -> None:
        rest = iter(translations)
        for form in self.forms:
            form.fill([*islice(rest, len(form.texts))])
        self.write("".join(self.parts))
