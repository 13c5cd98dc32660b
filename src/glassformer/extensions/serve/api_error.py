"""Errors of the HTTP API: a status and one sentence."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from glassformer.foundation.messages import Messages

CLIENT_LEFT = 499  # the status of a request whose client does not wait for the answer


class ApiError(Exception):
    """An error that is answered as {"error": sentence}; `retry` is Retry-After, in seconds."""

    def __init__(self, status: int, sentence: str, retry: int | None = None) -> None:
        super().__init__(sentence)
        self.status, self.sentence, self.retry = status, sentence, retry

    @property
    def headers(self) -> dict[str, str]:
        return {} if self.retry is None else {"Retry-After": str(self.retry)}


def refuse_missing(what: str, name: str, known: list[str]) -> ApiError:
    """Return an ApiError 404 that suggests the nearest known name."""
    from difflib import get_close_matches

    near = get_close_matches(name, known, 1, 0.3)
    hint = f"; did you mean {near[0]}?" if near else ""
    return ApiError(404, f"there is no {what} {name}{hint}")


def tell_invalid(first: Mapping[str, Any]) -> str:
    """Return the first validation error of a request, found by pydantic, as one sentence."""
    place = [str(part) for part in first["loc"] if part not in ("body", "query", "path", "header")]
    where = ".".join(place)
    kind, message = first["type"], first["msg"].removeprefix("Value error, ")
    if kind == "extra_forbidden":
        return f"unknown key {where}"
    if kind == "missing":
        return f"Invalid request: missing {where or 'body'} parameter"
    if kind == "json_invalid":
        return f"the body is no JSON: {first.get('ctx', {}).get('error', message)}"
    return f"{where}: {message}" if where else message


class TrainingError(Exception):
    """An error that is said in the reader's language: a key of messages.json, and what fills it."""

    def __init__(self, kind: str, status: int = 400, **fill: object) -> None:
        super().__init__(kind)
        self.kind, self.status, self.fill = kind, status, fill

    def say(self, lang: str) -> str:
        return read_texts_of_errors().say(self.kind, lang, **self.fill)


@cache
def read_texts_of_errors() -> Messages:
    return Messages(Path(__file__).with_name("messages.json"))


def choose_language(accepted: str) -> str:
    """Return "zh" if that is the first language of an Accept-Language header, else "en"."""
    return "zh" if accepted.strip().lower().startswith("zh") else "en"
