"""The bodies of requests, by their Content-Type: JSON, a form, or none and a query.

JSON is taken only if the type says so: a page of another origin can send a form, plain text, or a
body without a type, but not JSON.
"""

import json
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from email.message import Message
from string import printable
from typing import Any
from urllib.parse import parse_qsl, quote, unquote_to_bytes

from fastapi import Request
from starlette.datastructures import FormData, Headers, ImmutableMultiDict, UploadFile

from glassformer.foundation.disk import count_values

from ..api_error import ApiError

FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")
FIELDS = 1000  # of a form
VALUES = 10_000  # of JSON, lists and objects included
# A text in JSON, perhaps without its end; it never goes back.
STRING = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)


async def read_body(request: Request) -> Mapping[str, Any]:
    """Return the fields of a request from JSON, a form or the query: clients send all three.

    JSON may have any charset that its Content-Type names. Raises ApiError for malformed JSON, for a
    form or query that is not UTF-8, and for a body that is compressed or of another type.
    """
    packed = request.headers.get("content-encoding", "identity")
    if packed.lower() != "identity":
        raise ApiError(415, f"the body is compressed ({packed}): send it as it is")
    kind, charset = read_content_type(request.headers.get("content-type", ""))
    if is_json(kind):
        body = await request.body()
        try:
            payload = parse_json_body(body, charset)
        except LookupError:
            raise ApiError(415, f"the charset {charset} is unknown: send UTF-8") from None
        except UnicodeDecodeError as error:
            raise ApiError(400, f"the body is not {(charset or error.encoding).upper()}") from None
        except (ValueError, RecursionError) as error:
            message = "nested too deeply" if isinstance(error, RecursionError) else error
            raise ApiError(400, f"the body is no JSON: {message}") from None
        if not isinstance(payload, dict):
            raise ApiError(400, "Invalid request: the body is no JSON object")
        return payload
    if kind not in FORMS and has_body(request.headers):
        raise refuse_type(kind)
    check_escapes(request.scope["query_string"], "the query")
    inputs = _gather(request.query_params)
    if kind in FORMS:
        async with read_form(request) as form:
            inputs |= _gather(form)
    return inputs


def _gather(fields: ImmutableMultiDict[str, Any]) -> dict[str, Any]:
    """Return the fields that are texts; several texts under q become a list."""
    arguments = {name: value for name, value in fields.items() if isinstance(value, str)}
    texts = [text for text in fields.getlist("q") if isinstance(text, str)]
    return arguments | ({"q": texts[0] if len(texts) == 1 else texts} if texts else {})


def read_content_type(header: str) -> tuple[str, str]:
    """Return the media type and the charset of a Content-Type header; "" for what it lacks."""
    message = Message()
    message["Content-Type"] = header
    kind = message.get_content_type() if header.strip() else ""
    return kind, str(message.get_param("charset", "") or "")


def is_json(kind: str) -> bool:
    """Return whether a media type is JSON."""
    return kind == "application/json" or kind.endswith("+json")


def has_body(headers: Headers) -> bool:
    """Return whether a request with these headers has a body."""
    return "transfer-encoding" in headers or headers.get("content-length", "0").strip("0") != ""


def check_json_type(headers: Headers) -> None:
    """Raise ApiError 415 if a request has a body that is not JSON by its Content-Type."""
    kind, _ = read_content_type(headers.get("content-type", ""))
    if has_body(headers) and not is_json(kind):
        raise refuse_type(kind)


def refuse_type(kind: str) -> ApiError:
    """Return the error for a body of another type than JSON."""
    return ApiError(415, f"the body is {kind or 'of no type'}: send JSON as application/json")


@asynccontextmanager
async def read_form(request: Request) -> AsyncIterator[FormData]:
    """Give the fields of a form. Raises ApiError 400 if its text is not UTF-8.

    A form with files may have another charset, if its Content-Type names it.
    """
    kind = Message()
    kind["Content-Type"] = request.headers.get("content-type", "")
    if kind.get_content_type() != "multipart/form-data":
        is_form = kind.get_content_type() == "application/x-www-form-urlencoded"
        body = await request.body() if is_form else b""
        check_escapes(body, "the form")
        escaped = quote(body, safe=printable)  # clients may send UTF-8 as it is
        if body.count(b"&") >= FIELDS:
            raise ApiError(413, f"the form has more than {FIELDS} fields")
        fields: list[tuple[str, str | UploadFile]] = [*parse_qsl(escaped, keep_blank_values=True)]
        yield FormData(fields)
        return
    charset = str(kind.get_param("charset", "utf-8"))
    kind.set_param("charset", "latin-1")  # in which each byte is a character: nothing is lost
    headers = [each for each in request.scope["headers"] if each[0] != b"content-type"]
    headers.append((b"content-type", kind["Content-Type"].encode("latin-1")))
    raw = Request({**request.scope, "headers": headers}, request.receive)
    async with raw.form() as form:
        yield FormData([_decode_field(*field, charset) for field in form.multi_items()])


def _decode_field(name: str, value: str | UploadFile, charset: str) -> tuple[str, str | UploadFile]:
    try:
        name = name.encode("latin-1").decode(charset)
        if isinstance(value, str):
            return name, value.encode("latin-1").decode(charset)
        value.filename = (value.filename or "").encode("latin-1").decode(charset)
    except LookupError:
        raise ApiError(415, f"the charset {charset} is unknown: send UTF-8") from None
    except ValueError:
        raise ApiError(400, f"the field {name!r} of the form is not {charset.upper()}") from None
    return name, value


def parse_json_body(body: bytes, charset: str) -> Any:
    """Return what a body of JSON says; without a charset, it is in UTF-8, UTF-16 or UTF-32.

    Raises LookupError for an unknown charset, ValueError or RecursionError if it is no JSON, and
    ApiError if it has more values than any request needs: each takes a hundred times its length.
    """
    errors = "strict" if charset else "surrogatepass"  # half a character is mended later
    text = body.decode(charset or json.detect_encoding(body), errors)
    if count_values(text) > VALUES and count_values(STRING.sub("", text)) > VALUES:
        raise ApiError(413, f"the body has more than {VALUES} values")
    return json.loads(text)


def check_escapes(inputs: bytes, what: str) -> None:
    """Raise ApiError 400 if a query, or a form that is written like one, is not UTF-8."""
    try:
        unquote_to_bytes(inputs).decode()
    except UnicodeDecodeError:
        raise ApiError(400, f"{what} is not UTF-8") from None
