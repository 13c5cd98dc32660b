"""The languages that a file says it has: a page its own, XLIFF both, gettext that of translations.

A translated page or book says that of the target. XLIFF has to name the language of its targets,
and gettext's head has a line for it, so both get it where they say none; gettext's also gets the
rule of the plural forms.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import PurePath

from glassformer.text.spacing import name_base
from glassformer.text.unicode import Span

from .epub import find_package, list_pages
from .packed import Package
from .plural_forms import write_plural_forms

Languages = tuple[str | None, str | None]  # of the source and of the target
KINDS = "texts", "translations"
SEEN = 65_536  # bytes in which a file says its languages
PAGES, XLIFF, PO, BOOK = (".html", ".htm", ".xhtml"), (".xlf", ".xliff"), (".po", ".pot"), ".epub"
ARB = ".arb"
_TAG = re.compile(rb"<!--|-->|<(?:html|body|ncx|xliff|file)\b[^<>]{0,4096}>", re.IGNORECASE)
_STRING = rb"""(?P<quote>["']?)(?P<code>[\w-]{0,35})(?P=quote)(?=[\s/>])"""
_PAGE = re.compile(rb"(?P<name>\s(?:xml:)?lang\s*=\s*)" + _STRING, re.IGNORECASE)
_SOURCE = re.compile(rb"\s(?:(?P<second>srcLang)|source-language)\s*=\s*" + _STRING)
_TARGET = re.compile(rb"(?P<name>\s(?:trgLang|target-language)\s*=\s*)" + _STRING)
_BOOK = re.compile(
    rb"(?P<line><(?:\w{1,20}:)?language\b[^<>]{0,500}>\s*)(?P<code>[\w-]{1,35})(?=\s*<)"
)
_HEAD = re.compile(
    rb'^(?P<line>(?:msgstr\s{1,9})?"(?:[^"\n]{0,4096}\\n)?Language: *)'
    rb"(?P<code>[\w@-]{0,35})(?=\\n)",
    re.MULTILINE,
)
_LOCALE = re.compile(rb'(?P<line>"@@locale"\s{0,99}:\s{0,99}")(?P<code>[\w-]{0,35})(?=")')


def find_languages(data: bytes, name: str) -> list[tuple[str, str]]:
    """Return the languages of sources and translations that a file says; "" for one it does not.

    name: of the file, whose ending tells its format. XLIFF may have several files in one.
    """
    ending, head = PurePath(name).suffix.lower(), data[:SEEN]
    if ending == BOOK:
        parts = Package(data).parts
        return [(_read(_BOOK.search(parts[find_package(parts)][:SEEN])), "")]
    if ending in PO:
        return [("", _read(_HEAD.search(head)))]
    if ending == ARB:
        return [(_read(_LOCALE.search(head)), "")]
    tags = [head[slice(*span)] for span in _list_tags(head)]
    if ending in PAGES:
        return [(_read(_PAGE.search(b" ".join(tags))), "")]
    both = [(_read(_SOURCE.search(tag)), _read(_TARGET.search(tag))) for tag in tags]
    return [*dict.fromkeys(filter(any, both))] if ending in XLIFF else []


def _read(match: re.Match[bytes] | None) -> str:
    return match["code"].decode() if match else ""


def _list_tags(data: bytes) -> Iterator[Span]:
    """Yield the spans of the tags that may say a language; those in comments do not."""
    is_comment = False
    for match in _TAG.finditer(data):
        if match[0] in (b"<!--", b"-->"):
            is_comment = match[0] == b"<!--"
        elif not is_comment:
            yield match.span()


def compare_languages(data: bytes, name: str, source: str | None, target: str | None) -> str:
    """Return a sentence if a file says other languages than those of a model, else ""."""
    parts = [
        f"its {what} are in {declared}, not in {language}"
        for own in find_languages(data, name)
        for what, declared, language in zip(KINDS, own, (source, target), strict=True)
        if declared and language and name_base(declared) != name_base(language)
    ]
    return f"{name} says that {', and '.join(dict.fromkeys(parts))}" if parts else ""


def declare_language(data: bytes, name: str, target: str | None) -> bytes:
    """Return a translated file that says the language of its translations, if it says any."""
    ending = PurePath(name).suffix.lower()
    if not target:
        return data
    code = target.replace("_", "-").encode()
    if ending == BOOK:
        return _declare_book(data, code)
    if ending in PO:
        data = write_plural_forms(data, target)
        return _HEAD.sub(lambda line: line["line"] + (line["code"] or code), data, count=1)
    if ending == ARB:
        return _LOCALE.sub(lambda line: line["line"] + code, data, count=1)
    if ending in PAGES:
        return _write_tags(data, lambda tag: _PAGE.sub(_replace(code), tag))
    return _write_tags(data, lambda tag: _name_target(tag, code)) if ending in XLIFF else data


def _declare_book(data: bytes, code: bytes) -> bytes:
    package = Package(data)
    parts, contents = package.parts, find_package(package.parts)
    changed = {
        name: _write_tags(parts[name], lambda tag: _PAGE.sub(_replace(code), tag))
        for name, _ in list_pages(parts)
    }
    changed[contents] = _BOOK.sub(lambda line: line["line"] + code, parts[contents], count=1)
    return package.write(changed)


def _write_tags(data: bytes, write: Callable[[bytes], bytes]) -> bytes:
    """Return a file with its tags that may say a language written anew."""
    left, at = list[bytes](), 0
    for start, end in _list_tags(data):
        left += [data[at:start], write(data[start:end])]
        at = end
    return b"".join([*left, data[at:]])


def _replace(code: bytes) -> Callable[[re.Match[bytes]], bytes]:
    return lambda match: match["name"] + match["quote"] + code + match["quote"]


def _name_target(tag: bytes, code: bytes) -> bytes:
    """Return a tag of XLIFF that names the target if it names the source."""
    source, target = _SOURCE.search(tag), _TARGET.search(tag)
    if not source or (target and target["code"]):
        return tag
    if target:
        return _TARGET.sub(_replace(code), tag)
    name = b"trgLang" if source["second"] else b"target-language"
    return tag[: source.end()] + b" " + name + b'="' + code + b'"' + tag[source.end() :]
