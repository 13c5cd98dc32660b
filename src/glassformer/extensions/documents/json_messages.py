"""The messages of programs in JSON: of i18next, vue-i18n, react-intl, Chrome, and Flutter's ARB.

The values are translated, the keys and the layout of the file stay. Where each entry of an object
or array is an object with a `defaultMessage`, that is the message, and the rest describes it. So it
is with a `message` or `string` of the whole file, and with one further in beside nothing but what
programs read; what describes it may be there, too.
Of a message of ICU with forms (`{n, plural, one {# file} other {# files}}`), each form is one, with
the text around it. Comments may stand between values.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence, Set
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

from .catalogues import BREAKS, Catalogue, PlainMessage, TranslatableMessage, cut_plural

MESSAGE_KEYS = ("message", "defaultMessage", "string")
SURE_KEY = "defaultMessage"  # what nobody else calls so
TECHNICAL = frozenset(["id", "placeholders", "file", "start", "end", "line", "col", "hash"])
DESCRIBING = frozenset(["key", "description", "comment", "context", "note"]) | TECHNICAL
APART = ("@", "$", "//")  # keys of metadata begin so
NAMING = ("lang", "language", "locale")  # keys whose value may be the code of a language
MOST_FORMS, DEEPEST = 40, 4  # of a message with several choices between forms; of these in another
_COMMENT = r"//[^\n]*+|/\*(?:[^*]|\*(?!/))*+\*/"
_TOKEN = re.compile(rf'"((?:[^"\\]|\\.)*+)"(\s*+:)?|{_COMMENT}|[{{}}\[\]]', re.DOTALL)
_IDLE = re.compile(rf'"(?:[^"\\]|\\.)*+"|({_COMMENT})', re.DOTALL)
_COMMA = re.compile(r'"(?:[^"\\]|\\.)*+"|(,)(?=\s*+[}\]])', re.DOTALL)
_CODE = re.compile(r"[a-z]{2,3}(?:[-_]\w{2,4})?")
_ROOT = re.compile(r"[a-z]{2}(?:[-_]\w{2,4})?")  # the key of what is in a language, as a whole file
_BLOCK = re.compile(r"\{\s*+[\w.]++\s*+,\s*+(?:plural|select|selectordinal)\s*+,")
_FORM = re.compile(r"\s*+(?:offset\s*+:\s*+\d++\s*+)?(?:=\d++|\w++)\s*+\{")
_BRACE = re.compile(r"[{}]")
# What programs fill in or look up, besides what `find_verbatim` knows: nested messages of i18next
# and vue-i18n, names of Ruby, Chrome and Laravel, numbered elements of React, quotes of ICU.
_VERBATIM = r"\$t\([^()]*+\)|@(?:\.\w++)?:(?:[\w.-]++|\([^()]*+\))|%\{\w++\}|\$\w++\$"
_VERBATIM += r"|(?<![\w:]):[A-Za-z_]\w++:?+|</?\d++\s?/?>|\$\$(?:\d++(?:[.,]\d++)*+)?+"
_VERBATIM += r"|\{'[^'{}]*+'\}|'[{}]'|(?<!\w)'[{}][^'\n]*+'"
VERBATIM = re.compile(_VERBATIM)
NUMBERED = re.compile(rf"{_VERBATIM}|#\w*+")
NUMBER, AS_READ = "#", "%d"  # the number of a plural form, and the placeholder that is read as one
_ALONE = re.compile(r"#(?!\w)")  # #st has an ending of the language
_QUOTING = re.compile(r"'(?=\{)")  # before a brace, it would make it a text in ICU
_DOUBLED = re.compile(r"(?<=\w)''(?=\w)")  # an apostrophe of ICU


def read_json_messages(text: str) -> Catalogue:
    """Return the messages of a JSON file. ValueError if it is no JSON, or nested too deeply."""
    names = list_keys(parse(text))
    parts, messages, at = list[str](), list[TranslatableMessage](), 0
    style, left = EscapeStyle.find(text), list[tuple[str, str]]()
    keys, own = list[str](), list[str | None]()  # of the objects and arrays around a place
    for match in _TOKEN.finditer(text):
        if match[0] in ("{", "["):
            keys.append("")
            own.append(next(names))
        elif match[0] in ("}", "]"):
            keys.pop()
            own.pop()
        elif match[2]:
            keys[-1] = read_string(match[1])
        elif match[1] and is_message(keys, own[-1] if own else "", match[1]):
            start, end = match.span(1)
            parts += [text[at:start], match[1]]
            write = partial(parts.__setitem__, len(parts) - 1)
            message, at = read_string(match[1]), end
            try:
                messages.append(read_message(message, style.make_writer(message, write)))
            except ValueError as error:
                left.append((message, str(error)))
    parts.append(text[at:])
    catalogue = Catalogue(messages, lambda: "".join(parts))
    for message, why in left:
        catalogue.failures.add([message], why)
    return catalogue


class Members(tuple[tuple[str, Any], ...]):
    """The keys and values of an object, in order; a key may be there twice."""

    __slots__ = ()


def parse(text: str) -> Any:
    """Return the value of a JSON file, which may have comments and a comma after the last entry."""
    try:
        return json.loads(text, object_pairs_hook=Members)
    except RecursionError:
        raise ValueError("the JSON is nested too deeply") from None
    except json.JSONDecodeError as error:
        bare = _IDLE.sub(lambda match: " " if match[1] else match[0], text)
        bare = _COMMA.sub(lambda match: "" if match[1] else match[0], bare)
        if bare == text:
            raise ValueError(f"no valid JSON: {error}") from None
        try:
            return json.loads(bare, object_pairs_hook=Members)
        except (json.JSONDecodeError, RecursionError):
            raise ValueError(f"no valid JSON: {error}") from None


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


def list_keys(value: Any) -> Iterator[str | None]:
    """Yield for each object and array, in the order in which they begin, the key of its message.

    "" where each value may be one, and None where none is.
    """
    waiting: list[tuple[Any, str | None, str]] = [(value, "", "")]
    is_whole = True
    while waiting:
        value, key, name = waiting.pop()
        if not isinstance(value, (list, Members)):
            continue
        yield key
        is_object = isinstance(value, Members)
        entries = value if is_object else [("", each) for each in value]
        inner = None
        if key == "":
            needed = frozenset() if is_whole or _ROOT.fullmatch(name) else TECHNICAL
            values = [each for _, each in entries]
            inner = choose_key(values, needed, may_differ=is_whole and is_object)
        waiting += [(each, inner, own) for own, each in reversed(entries)]
        is_whole = False


def choose_key(entries: Sequence[Any], needed: frozenset[str], *, may_differ: bool) -> str:
    """Return the key of the messages if all entries are objects that have it; else "".

    needed: of what is beside a `message` or `string`, one has to be among these; without them,
    `name` and `note` are labels, too. may_differ: what is beside it may be anything.
    """
    if not entries or not all(isinstance(each, Members) for each in entries):
        return ""
    members = [dict(each) for each in entries]
    others = DESCRIBING if needed else DESCRIBING | {"name"}
    for name in MESSAGE_KEYS:
        is_sure = may_differ or name == SURE_KEY
        if all(
            isinstance(each.get(name), str)
            and (is_sure or _is_beside(each.keys() - {name}, others, needed))
            for each in members
        ):
            return name
    return ""


def _is_beside(names: Set[str], others: frozenset[str], needed: frozenset[str]) -> bool:
    """Return whether the keys beside a message are such as describe it."""
    return names <= others and (not needed or not needed.isdisjoint(names))


def is_message(keys: Sequence[str], own: str | None, value: str) -> bool:
    """Return whether the string at a place is a message.

    keys: of what is around it. own: that of the message of the object that it is in; see list_keys.
    """
    if own != "":
        return keys[-1] == own
    is_name = bool(keys) and keys[-1].lower() in NAMING and _CODE.fullmatch(value)
    return not is_name and not any(key.startswith(APART) for key in keys)


def read_string(text: str) -> str:
    """Return the text of a string of JSON; half a surrogate pair becomes U+FFFD."""
    read: str = json.loads(f'"{text}"')
    return read.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def read_message(text: str, write: Callable[[str], object]) -> TranslatableMessage:
    """Return a message, or the forms of one. ValueError if these are not understood."""
    text = _DOUBLED.sub("'", text)
    parts = cut_forms(text)
    if len(parts) > 1:
        return FormsMessage(parts, write)
    return PlainMessage(text, write, VERBATIM, forms=cut_plural(text, VERBATIM))


class MessagePart(NamedTuple):
    """A part of a message: a form of it, or the syntax around forms."""

    text: str
    is_form: bool


def cut_forms(text: str, depth: int = 0) -> list[MessagePart]:
    """Return a message as forms and the syntax around them; each form has the text around it.

    A choice in a form, or behind another, is made within each form. ValueError if the braces do
    not fit, for too many forms, or for a # that would be in another choice afterwards.
    """
    block = _BLOCK.search(text)
    if not block:
        return [MessagePart(text, True)]
    parts, at, start = list[MessagePart](), block.end(), block.start()
    forms = list[tuple[int, int]]()
    while form := _FORM.match(text, at):
        at = find_end(text, form.end()) + 1
        forms.append((form.end(), at - 1))
    close = at + len(text[at:]) - len(text[at:].lstrip())
    if not forms or text[close : close + 1] != "}":
        raise ValueError("its forms do not end, or are none")
    before, after = text[:start], text[close + 1 :]
    if has_number(before + after):
        raise ValueError("its # stands beside another choice of forms")
    for begin, end in forms:
        if depth == DEEPEST or len(parts) > 2 * MOST_FORMS:
            raise ValueError("it has too many forms")
        parts.append(MessagePart(text[start:begin], False))
        parts += cut_forms(f"{before}{text[begin:end]}{after}", depth + 1)
        start = end
    return [*parts, MessagePart(text[start : close + 1], False)]


def has_number(text: str) -> bool:
    """Return whether a # stands outside of all choices between forms."""
    at = 0
    while block := _BLOCK.search(text, at):
        if NUMBER in text[at : block.start()]:
            return True
        at = find_end(text, block.start() + 1) + 1
    return NUMBER in text[at:]


def find_end(text: str, start: int) -> int:
    """Return the place of the brace that closes what is open at a place. ValueError without one."""
    depth = 1
    for brace in _BRACE.finditer(text, start):
        depth += 1 if brace[0] == "{" else -1
        if not depth:
            return brace.start()
    raise ValueError("its forms do not end, or are none")


class FormsMessage:
    """A message with several forms."""

    def __init__(
        self,
        parts: Sequence[MessagePart],
        write: Callable[[str], object],
        breaks: re.Pattern[str] = BREAKS,
    ) -> None:
        self.write, self.breaks, self.parts = write, breaks, [part.text for part in parts]
        self.forms = [self._read(n, part.text) for n, part in enumerate(parts) if part.is_form]
        self.texts = [text for form in self.forms for text in form.texts]

    def _read(self, place: int, form: str) -> PlainMessage:
        """Read a form, in which # is the number, for a place of the parts."""
        is_number = bool(_ALONE.search(form)) and AS_READ not in form

        def put(text: str) -> None:
            self.parts[place] = text.replace(AS_READ, NUMBER) if is_number else text

        text = _ALONE.sub(AS_READ, form) if is_number else form
        return PlainMessage(text, put, NUMBERED, breaks=self.breaks)

    def fill(self, translations: Sequence[str]) -> None:
        rest = iter(translations)
        for form in self.forms:
            form.fill([*islice(rest, len(form.texts))])
        self.write("".join(self.parts))
