"""The Content-Type of a request's body: JSON is taken only if it says so.

A page of another origin can send a form, plain text, or a body without a type, but not JSON.
"""

from email.message import Message

from starlette.datastructures import Headers

from .api_error import ApiError


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
