"""The languages that a file says it has: a page its own, XLIFF both, gettext that of translations.

A translated page or book says that of the target. XLIFF has to name the language of its targets,
and gettext's head has a line for it, so both get it where they say none.
"""

from __future__ import annotations

import re
from pathlib import PurePath

from glassformer.text.spacing import name_base

from .packed import Package

Languages = tuple[str | None, str | None]  # of the source and of the target
SEEN = 65_536  # bytes in which a file says its languages
PAGES, XLIFF, PO, BOOK = (".html", ".htm", ".xhtml"), (".xlf", ".xliff"), (".po", ".pot"), ".epub"
CONTENTS = ".opf"  # of a book
_TAG = re.compile(rb"<(html|xliff|file)\b[^<>]{0,4096}>", re.IGNORECASE)
_STRING = rb"""(?P<quote>["'])(?P<code>[\w-]{1,35})(?P=quote)"""
_PAGE = re.compile(rb"(?P<name>\s(?:xml:)?lang\s*=\s*)" + _STRING, re.IGNORECASE)
_SOURCE = re.compile(rb"\s(?:(?P<second>srcLang)|source-language)\s*=\s*" + _STRING)
_TARGET = re.compile(rb"\s(?:trgLang|target-language)\s*=\s*" + _STRING)
_BOOK = re.compile(rb"(?P<line><dc:language[^<>]{0,500}>\s*)(?P<code>[\w-]{1,35})(?=\s*<)")
_HEAD = re.compile(rb'^(?P<line>"Language: *)(?P<code>[\w@-]{0,35})(?=\\n")', re.MULTILINE)


def find_languages(data: bytes, name: str) -> tuple[str, str]:
    """Return the languages of sources and translations that a file says; "" for one it does not.

    name: of the file, whose ending tells its format.
    """
    ending, head = PurePath(name).suffix.lower(), data[:SEEN]
    if ending == BOOK:
        parts = Package(data).parts
        contents = (part for name, part in parts.items() if name.endswith(CONTENTS))
        return _read(_BOOK.search(next(contents, b"")[:SEEN])), ""
    if ending in PO:
        return "", _read(_HEAD.search(head))
    tags = b" ".join(tag[0] for tag in _TAG.finditer(head))
    if ending in PAGES:
        return _read(_PAGE.search(tags)), ""
    if ending in XLIFF:
        return _read(_SOURCE.search(tags)), _read(_TARGET.search(tags))
    return "", ""


def _read(match: re.Match[bytes] | None) -> str:
    return match["code"].decode() if match else ""


def compare_languages(data: bytes, name: str, source: str | None, target: str | None) -> str:
    """Return a sentence if a file says other languages than those of a model, else ""."""
    own = find_languages(data, name)
    rows = zip(("texts", "translations"), own, (source, target), strict=True)
    parts = [
        f"its {what} are in {declared}, not in {language}"
        for what, declared, language in rows
        if declared and language and name_base(declared) != name_base(language)
    ]
    return f"{name} says that {', and '.join(parts)}" if parts else ""


def declare_language(data: bytes, name: str, target: str | None) -> bytes:
    """Return a translated file that says the language of its translations, if it says any."""
    ending = PurePath(name).suffix.lower()
    if not target:
        return data
    code = target.replace("_", "-").encode()
    if ending == BOOK:
        package = Package(data)
        parts = package.parts.items()
        return package.write({each: declare_language(part, each, target) for each, part in parts})
    if ending == CONTENTS:
        return _BOOK.sub(lambda line: line["line"] + code, data, count=1)
    if ending in PO:
        return _HEAD.sub(lambda line: line["line"] + (line["code"] or code), data, count=1)
    if ending in PAGES:
        return _TAG.sub(lambda tag: _name_page(tag[0], code), data, count=1)
    return _TAG.sub(lambda tag: _name_target(tag[0], code), data) if ending in XLIFF else data


def _name_page(tag: bytes, code: bytes) -> bytes:
    """Return the first tag of a page with another language in the place of its own."""
    return _PAGE.sub(lambda lang: lang["name"] + lang["quote"] + code + lang["quote"], tag)


def _name_target(tag: bytes, code: bytes) -> bytes:
    """Return a tag of XLIFF that names the target if it names the source."""
    source = _SOURCE.search(tag)
    if not source or _TARGET.search(tag):
        return tag
    name = b"trgLang" if source["second"] else b"target-language"
    return tag[: source.end()] + b" " + name + b'="' + code + b'"' + tag[source.end() :]
