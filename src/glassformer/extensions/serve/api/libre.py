"""LibreTranslate's HTTP API, so that its clients work with this server unchanged."""

from collections.abc import AsyncIterator, Mapping
from typing import Any, NamedTuple

from anyio.to_thread import run_sync
from fastapi import APIRouter, Request
from fastapi.responses import Response, StreamingResponse
from starlette.datastructures import ImmutableMultiDict

from glassformer.extensions.documents.formats import ENDINGS
from glassformer.foundation.version import __version__

from ..api_error import ApiError
from ..content_type import has_body, is_json, read_content_type, refuse_type
from ..limits import wait_for
from ..rate_limit import Charge
from ..request_log import name_key, note, note_texts
from ..service.languages import Languages
from ..service.model_pool import PooledModel
from ..service.service import Service, TheService
from ..service.streams import EVENTS, HEADERS, format_event
from .openapi import DETECT, TRANSLATE
from .requests import check_characters, check_escapes, parse_json_body, read_form

FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")
router = APIRouter(tags=["LibreTranslate"])


@router.post("/translate", openapi_extra=TRANSLATE)
async def translate(request: Request, service: TheService) -> Any:
    """Translate one or several texts from a given or detected language."""
    given = await read_body(request)
    owner = check_access(service, given, request)
    for name in ("q", "source", "target"):
        if not given.get(name):
            raise ApiError(400, f"Invalid request: missing {name} parameter")
    form = _read_word(given, "format") or "text"
    if form not in ("text", "html"):
        raise ApiError(400, f"{form} format is not supported")
    texts = _read_texts(given["q"], service, form)
    note_texts(request, texts)
    wanted = Wanted(
        texts,
        _read_word(given, "source"),
        _read_word(given, "target"),
        form,
        _read_number(given.get("alternatives"), service.limits.alternatives),
        _read_flag(given, "alignment"),
        _read_flag(given, "confidence"),
    )
    if form == "html" and (wanted.alignment or wanted.confidence):
        raise ApiError(400, "alignment and confidence are for format text, not for html")
    if _read_flag(given, "stream") or EVENTS in request.headers.get("accept", ""):
        charge = await _charge(service, wanted, owner)
        with service.access.refund(charge):
            return await _stream(request, service, wanted, given["q"], charge)
    work = _translate_charged(request, service, wanted, owner)
    answer = await wait_for(work, request, service.limits.seconds)
    return answer if isinstance(given["q"], list) else {n: each[0] for n, each in answer.items()}


class Wanted(NamedTuple):
    """A request to translate, after it was read and checked."""

    texts: list[str]
    source: str  # a code, or auto
    target: str
    form: str  # text or html
    alternatives: int = 0
    alignment: bool = False
    confidence: bool = False


async def _charge(service: Service, wanted: Wanted, owner: str) -> Charge:
    """Count the characters of a request. Raises ApiError if they are too many."""
    characters = await service.translation_service.pages.count(wanted.texts, wanted.form)
    check_characters(characters, service.limits.characters)
    return service.access.spend(owner, characters)


async def _translate_charged(
    request: Request, service: Service, wanted: Wanted, owner: str
) -> dict[str, list[Any]]:
    """Return the fields of the answer; what is refused costs nothing."""
    with service.access.refund(await _charge(service, wanted, owner)):
        return await _translate(request, service, wanted)


async def _translate(request: Request, service: Service, wanted: Wanted) -> dict[str, list[Any]]:
    """Return the fields of the answer, each as a list with one entry for each text."""
    answer = dict[str, list[Any]]()
    codes, routes = await find_routes(request, service, wanted, answer)
    found: list[list[str]] = [[] for _ in wanted.texts]
    inside: list[dict[str, Any]] = [{} for _ in wanted.texts]
    for code, route in routes.items():
        places = [place for place, own in enumerate(codes) if own == code]
        texts = [wanted.texts[place] for place in places]
        ways = await service.translation_service.translate_as(
            wanted.form, texts, route, wanted.alternatives + 1
        )
        if wanted.alignment or wanted.confidence:
            told = await service.translation_service.look_inside(
                texts, route, wanted.alignment, wanted.confidence
            )
            for place, each in zip(places, told, strict=True):
                inside[place] = each
        for place, way in zip(places, ways, strict=True):
            found[place] = way
    answer["translatedText"] = [best for best, *_ in found]
    if wanted.alternatives:
        answer["alternatives"] = [others for _, *others in found]
    for name in inside[0] if inside else ():
        answer[name] = [each[name] for each in inside]
    return answer


async def find_routes(
    request: Request, service: Service, wanted: Wanted, answer: dict[str, list[Any]]
) -> tuple[list[str], dict[str, list[PooledModel]]]:
    """Return the language of each text, and the models for each language.

    Detected languages become a field of the answer.
    """
    languages, texts = service.languages, wanted.texts
    to = languages.find(wanted.target)
    if wanted.source == "auto":
        detected = [found[0] for found in await run_sync(_detect, languages, texts)]
        codes = [str(each["language"]) for each in detected]
        answer["detectedLanguage"] = detected
    else:
        codes = [languages.find(wanted.source)] * len(texts)
    routes = {code: languages.check_route(code, to) for code in codes}
    note(request, models=list(dict.fromkeys(model.id for way in routes.values() for model in way)))
    return codes, routes


async def _stream(
    request: Request, service: Service, wanted: Wanted, q: Any, charge: Charge
) -> Response:
    """Return an event for each sentence of one text as soon as it is translated, then the whole."""
    if isinstance(q, list) or wanted.form != "text" or wanted.alternatives:
        raise ApiError(400, "a stream is for one text, in format text, without alternatives")
    answer = dict[str, list[Any]]()
    (code,), routes = await find_routes(request, service, wanted, answer)

    async def tell() -> AsyncIterator[bytes]:
        try:
            text = wanted.texts[0]
            async for span, said in service.translation_service.stream(text, routes[code]):
                yield format_event("sentence", {"source": span, "translatedText": said})
            whole = await _translate(request, service, wanted)
            yield format_event("done", {name: each[0] for name, each in whole.items()})
        except (ApiError, ValueError) as error:
            service.access.give_back(charge)
            sentence = error.sentence if isinstance(error, ApiError) else str(error)
            yield format_event("error", {"error": sentence})

    return StreamingResponse(tell(), media_type=EVENTS, headers=HEADERS)


@router.post("/detect", openapi_extra=DETECT)
async def detect(request: Request, service: TheService) -> list[dict[str, Any]]:
    """Detect which of the source languages a text is in, the likeliest first."""
    given = await read_body(request)
    check_access(service, given, request)
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
        "apiKeys": service.access.is_closed,
        "keyRequired": service.access.is_closed,
        "suggestions": False,
        "filesTranslation": True,
        "supportedFilesFormat": ENDINGS,
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
            found = parse_json_body(body, charset)
        except LookupError:
            raise ApiError(415, f"the charset {charset} is unknown: send UTF-8") from None
        except (ValueError, RecursionError) as error:
            said = "nested too deeply" if isinstance(error, RecursionError) else error
            raise ApiError(400, f"the body is no JSON: {said}") from None
        if not isinstance(found, dict):
            raise ApiError(400, "Invalid request: the body is no JSON object")
        return found
    if kind not in FORMS and has_body(request.headers):
        raise refuse_type(kind)
    check_escapes(request.scope["query_string"], "the query")
    given = _gather(request.query_params)
    if kind in FORMS:
        async with read_form(request) as form:
            given |= _gather(form)
    return given


def _gather(fields: ImmutableMultiDict[str, Any]) -> dict[str, Any]:
    """Return the fields that are texts; several texts under q become a list."""
    given = {name: value for name, value in fields.items() if isinstance(value, str)}
    texts = [text for text in fields.getlist("q") if isinstance(text, str)]
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


def _read_flag(given: Mapping[str, Any], name: str) -> bool:
    value = given.get(name)
    if isinstance(value, bool) or value is None:
        return bool(value)
    if str(value).lower() in ("true", "1", "false", "0", ""):
        return str(value).lower() in ("true", "1")
    raise ApiError(400, f"Invalid request: {name} is true or false")


def check_access(service: Service, given: Mapping[str, Any], request: Request) -> str:
    """Return who asks. Raises ApiError without a valid key, or after too many requests."""
    key = _read_key(given, request)
    if service.access.is_closed:
        note(request, key=name_key(key))
    return service.access.check(key, request.client.host if request.client else "")


def _read_key(given: Mapping[str, Any], request: Request) -> str:
    kind, _, bearer = request.headers.get("authorization", "").partition(" ")
    key = given.get("api_key") or (bearer if kind.lower() == "bearer" else "")
    return key if isinstance(key, str) else ""
