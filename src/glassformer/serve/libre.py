"""LibreTranslate's HTTP API, so that its clients work with this server unchanged."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from anyio.to_thread import run_sync
from fastapi import APIRouter, Request
from starlette.datastructures import ImmutableMultiDict

from ..version import __version__
from .api_error import ApiError
from .languages import Languages
from .limits import wait_for
from .openapi import DETECT, TRANSLATE
from .request_log import name_key, note, note_texts
from .requests import check_characters
from .service import Service, TheService

router = APIRouter(tags=["LibreTranslate"])


@router.post("/translate", openapi_extra=TRANSLATE)
async def translate(request: Request, service: TheService) -> dict[str, Any]:
    """Translate one or several texts from a given or detected language."""
    given = await read_body(request)
    _check_access(service, given, request)
    for name in ("q", "source", "target"):
        if not given.get(name):
            raise ApiError(400, f"Invalid request: missing {name} parameter")
    form = _read_word(given, "format") or "text"
    if form not in ("text", "html"):
        raise ApiError(400, f"{form} format is not supported")
    texts, is_many = _read_texts(given["q"], service, form), isinstance(given["q"], list)
    note_texts(request, texts)
    alternatives = _read_number(given.get("alternatives"), service.limits.alternatives)
    work = _translate(
        request,
        service,
        texts,
        _read_word(given, "source"),
        _read_word(given, "target"),
        form,
        alternatives,
    )
    answer = await wait_for(work, request, service.limits.seconds)
    return answer if is_many else {name: values[0] for name, values in answer.items()}


async def _translate(
    request: Request,
    service: Service,
    texts: list[str],
    source: str,
    target: str,
    form: str,
    alternatives: int,
) -> dict[str, list[Any]]:
    """Return the fields of the answer, each as a list with one entry for each text."""
    languages, answer = service.languages, dict[str, list[Any]]()
    to = languages.find(target)
    if source == "auto":
        detected = [found[0] for found in await run_sync(_detect, languages, texts)]
        codes = [str(each["language"]) for each in detected]
        answer["detectedLanguage"] = detected
    else:
        codes = [languages.find(source)] * len(texts)
    routes = {code: languages.check_route(code, to) for code in codes}
    note(request, models=list(dict.fromkeys(model.id for way in routes.values() for model in way)))
    translate = (
        service.translation_service.translate_markup
        if form == "html"
        else (service.translation_service.translate)
    )
    found: list[list[str]] = [[] for _ in texts]
    for code, route in routes.items():
        places = [place for place, own in enumerate(codes) if own == code]
        ways = await translate([texts[place] for place in places], route, alternatives + 1)
        for place, way in zip(places, ways, strict=True):
            found[place] = way
    answer["translatedText"] = [best for best, *_ in found]
    if alternatives:
        answer["alternatives"] = [others for _, *others in found]
    return answer


@router.post("/detect", openapi_extra=DETECT)
async def detect(request: Request, service: TheService) -> list[dict[str, Any]]:
    """Detect which of the source languages a text is in, the likeliest first."""
    given = await read_body(request)
    _check_access(service, given, request)
    if not given.get("q"):
        raise ApiError(400, "Invalid request: missing q parameter")
    texts = _read_texts(given["q"], service, "text")[:1]
    note_texts(request, texts)
    (found,) = await run_sync(_detect, service.languages, texts)
    return found


def _detect(languages: Languages, texts: list[str]) -> list[list[dict[str, Any]]]:
    return [languages.detect(text) for text in texts]


@router.get("/languages")
async def list_languages(service: TheService) -> list[dict[str, Any]]:
    """List all languages with the languages that each can be translated into."""
    return service.languages.describe()


@router.get("/frontend/settings")
async def get_settings(service: TheService) -> dict[str, Any]:
    """Return the settings that LibreTranslate's front end needs."""
    listed = service.languages.describe()
    names = {each["code"]: each["name"] for each in listed}
    pairs = ((each["code"], other) for each in listed for other in each["targets"])
    target = next((other for code, other in pairs if other != code), "")
    return {
        "charLimit": service.limits.characters,
        "frontendTimeout": 500,
        "apiKeys": bool(service.access.keys),
        "keyRequired": bool(service.access.keys),
        "suggestions": False,
        "filesTranslation": False,
        "supportedFilesFormat": [],
        "language": {
            "source": {"code": "auto", "name": "Auto Detect"},
            "target": {"code": target, "name": names.get(target, "")},
        },
    }


@router.get("/health")
async def get_health() -> dict[str, str]:
    """Return that the server is running, and its version."""
    return {"status": "ok", "version": __version__}


@router.post("/suggest")
async def suggest() -> None:
    """Refuse suggestions: LibreTranslate can collect better translations, this server does not."""
    raise ApiError(403, "Suggestions are disabled on this server.")


@router.post("/translate_file")
async def translate_file() -> None:
    """Refuse files: LibreTranslate can translate them, this server does not."""
    raise ApiError(403, "Files translation are disabled on this server.")


async def read_body(request: Request) -> Mapping[str, Any]:
    """Return the fields of a request from JSON, a form or the query: clients send all three.

    Raises ApiError for malformed JSON.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "application/json" or kind.endswith("+json"):
        try:
            found = json.loads(await request.body())
        except (ValueError, RecursionError) as error:
            said = "nested too deeply" if isinstance(error, RecursionError) else error
            raise ApiError(400, f"the body is no JSON: {said}") from None
        if not isinstance(found, dict):
            raise ApiError(400, "Invalid request: the body is no JSON object")
        return found
    given = _gather(request.query_params)
    if kind in ("application/x-www-form-urlencoded", "multipart/form-data"):
        async with request.form() as form:
            given |= _gather(form)
    return given


def _gather(fields: ImmutableMultiDict[str, Any]) -> dict[str, Any]:
    """Return the fields that are texts; several texts under q become a list."""
    given = {name: value for name, value in fields.items() if isinstance(value, str)}
    texts = [text for text in fields.getlist("q") if isinstance(text, str)]
    texts = ["\n".join(text.splitlines()) for text in texts]
    return given | ({"q": texts[0] if len(texts) == 1 else texts} if texts else {})


def _read_texts(q: Any, service: Service, form: str) -> list[str]:
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


def _read_word(given: Mapping[str, Any], name: str) -> str:
    value = given.get(name) or ""
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


def _check_access(service: Service, given: Mapping[str, Any], request: Request) -> None:
    """Raise ApiError if the client has no valid key, or has sent too many requests."""
    key = _read_key(given, request)
    if service.access.keys:
        note(request, key=name_key(key))
    service.access.check(key, _find_address(request))


def _read_key(given: Mapping[str, Any], request: Request) -> str:
    kind, _, bearer = request.headers.get("authorization", "").partition(" ")
    key = given.get("api_key") or (bearer if kind.lower() == "bearer" else "")
    return key if isinstance(key, str) else ""


def _find_address(request: Request) -> str:
    return request.client.host if request.client else ""
