"""A request to translate, as LibreTranslate's clients send it: read, checked, and logged."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from fastapi import Request

from ..api_error import ApiError
from ..request_log import LogEntry, find_log_entry, name_key
from ..service.service import Service
from ..service.streams import EVENTS
from .bodies import read_body
from .requests import check_characters


class TranslateRequest(NamedTuple):
    """A request to translate, after it was read and checked."""

    texts: list[str]
    source: str  # a code, or auto
    target: str
    form: str  # text or html
    entry: LogEntry  # what the log says of it
    alternatives: int = 0
    alignment: bool = False
    confidence: bool = False
    is_list: bool = False  # whether each field of the answer is a list
    is_stream: bool = False  # whether each sentence is answered as soon as it is translated


async def read_translate_request(
    request: Request, service: Service
) -> tuple[TranslateRequest, str]:
    """Return what a request asks for, and who asks. Raises ApiError if it may not ask so."""
    fields = await read_body(request)
    owner, entry = check_access(service, fields, request), find_log_entry(request)
    for name in ("q", "source", "target"):
        if not fields.get(name):
            raise ApiError(400, f"Invalid request: missing {name} parameter")
    form = _read_word(fields, "format") or "text"
    if form not in ("text", "html"):
        raise ApiError(400, f"{form} format is not supported")
    texts = read_q(fields["q"], service, form)
    entry.note_texts(texts)
    order = TranslateRequest(
        texts,
        _read_word(fields, "source"),
        _read_word(fields, "target"),
        form,
        entry,
        _read_number(fields.get("alternatives"), service.limits.alternatives),
        _read_flag(fields, "alignment"),
        _read_flag(fields, "confidence"),
        isinstance(fields["q"], list),
    )
    if form == "html" and (order.alignment or order.confidence):
        raise ApiError(400, "alignment and confidence are for format text, not for html")
    is_stream = _read_flag(fields, "stream") or EVENTS in request.headers.get("accept", "")
    return order._replace(is_stream=is_stream), owner


def read_q(q: Any, service: Service, form: str) -> list[str]:
    texts, limits = q if isinstance(q, list) else [q], service.limits
    if not all(isinstance(text, str) for text in texts):
        raise ApiError(400, "Invalid request: q is a text, or a list of texts")
    check_characters(len(texts), limits.texts)
    if form == "text":  # the text of a page is counted after the page is parsed
        check_characters(sum(map(len, texts)), limits.characters)
    return [_mend(text) for text in texts]


def _mend(text: str) -> str:
    """Return a text with U+FFFD for unpaired surrogates, and without NUL."""
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return whole.replace("\0", "")


def _read_word(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name) or ""
    if not isinstance(value, str):
        raise ApiError(400, f"Invalid request: {name} is a text")
    return _mend(value)


def _read_number(value: Any, most: int) -> int:
    try:
        number = int(value or 0)
    except (TypeError, ValueError, OverflowError):
        raise ApiError(400, "Invalid request: alternatives is a number") from None
    if number < 0:
        raise ApiError(400, "Invalid request: alternatives is 0 or more")
    return min(number, most)


def _read_flag(fields: Mapping[str, Any], name: str) -> bool:
    value = fields.get(name)
    if isinstance(value, bool) or value is None:
        return bool(value)
    if str(value).lower() in ("true", "1", "false", "0", ""):
        return str(value).lower() in ("true", "1")
    raise ApiError(400, f"Invalid request: {name} is true or false")


def check_access(service: Service, fields: Mapping[str, Any], request: Request) -> str:
    """Return who asks. Raises ApiError without a valid key, or after too many requests."""
    key = _read_key(fields, request)
    if service.access.is_closed:
        find_log_entry(request).note(key=name_key(key))
    return service.access.check(key, request.client.host if request.client else "")


def _read_key(fields: Mapping[str, Any], request: Request) -> str:
    kind, _, bearer = request.headers.get("authorization", "").partition(" ")
    key = fields.get("api_key") or (bearer if kind.lower() == "bearer" else "")
    return key if isinstance(key, str) else ""
