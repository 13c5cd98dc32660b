"""A request to translate, as LibreTranslate's clients send it: read, checked, and logged."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from fastapi import Request

from ..api_error import ApiError
from ..limits import Limits
from ..request_log import LogEntry, name_key
from ..service.service import Service
from ..service.streams import EVENTS
from .requests import check_characters


class TranslateRequest(NamedTuple):
    """A request to translate, after it was read and checked."""

    texts: list[str]
    source: str  # a code, or auto
    target: str
    form: str  # text or html
    alternatives: int = 0
    alignment: bool = False
    confidence: bool = False
    is_list: bool = False  # whether each field of the answer is a list
    is_stream: bool = False  # whether each sentence is answered as soon as it is translated


def read_translate_request(
    fields: Mapping[str, Any], limits: Limits, *, accepted: str
) -> TranslateRequest:
    """Return what the fields of a request ask for. Raises ApiError if that is not possible.

    accepted: its header `accept`; one that names events asks for a stream, as the field does.
    """
    for name in ("q", "source", "target"):
        if not fields.get(name):
            raise ApiError(400, f"Invalid request: missing {name} parameter")
    form = _read_word(fields, "format") or "text"
    if form not in ("text", "html"):
        raise ApiError(400, f"{form} format is not supported")
    order = TranslateRequest(
        read_q(fields["q"], limits, form),
        _read_word(fields, "source"),
        _read_word(fields, "target"),
        form,
        _read_number(fields.get("alternatives"), limits.alternatives),
        _read_flag(fields, "alignment"),
        _read_flag(fields, "confidence"),
        isinstance(fields["q"], list),
        _read_flag(fields, "stream") or EVENTS in accepted,
    )
    if form == "html" and (order.alignment or order.confidence):
        raise ApiError(400, "alignment and confidence are for format text, not for html")
    if order.is_stream and (order.is_list or form != "text" or order.alternatives):
        raise ApiError(400, "a stream is for one text, in format text, without alternatives")
    return order


def read_q(q: Any, limits: Limits, form: str) -> list[str]:
    texts = q if isinstance(q, list) else [q]
    if not all(isinstance(text, str) for text in texts):
        raise ApiError(400, "Invalid request: q is a text, or a list of texts")
    check_characters(len(texts), limits.texts)
    if form == "text":  # the text of a page is counted after the page is parsed
        check_characters(sum(map(len, texts)), limits.characters)
    return [_mend(text) for text in texts]


def _mend(text: str) -> str:
    """Return a text with U+FFFD for unpaired surrogates, and without NUL."""
    if not text.isascii():
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text.replace("\0", "")


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


def check_access(
    service: Service, fields: Mapping[str, Any], request: Request, entry: LogEntry
) -> str:
    """Return who asks. Raises ApiError without a valid key, or after too many requests."""
    key = _read_key(fields, request)
    if service.access.is_closed:
        entry.note(key=name_key(key))
    return service.access.check(key, request.client.host if request.client else "")


def _read_key(fields: Mapping[str, Any], request: Request) -> str:
    kind, _, bearer = request.headers.get("authorization", "").partition(" ")
    key = fields.get("api_key") or (bearer if kind.lower() == "bearer" else "")
    return key if isinstance(key, str) else ""
