"""LibreTranslate's HTTP API, so that its clients work with this server unchanged."""

from collections.abc import AsyncIterator
from typing import Any

from anyio.to_thread import run_sync
from fastapi import APIRouter, Request
from fastapi.responses import Response, StreamingResponse

from glassformer.extensions.documents.formats import ENDINGS
from glassformer.foundation.version import __version__

from ..api_error import ApiError
from ..limits import wait_for
from ..rate_limit import Charge
from ..request_log import find_log_entry
from ..service.languages import Languages
from ..service.model_pool import PooledModel
from ..service.service import Service, TheService
from ..service.streams import EVENTS, HEADERS, format_event
from .bodies import read_body
from .openapi import DETECT, TRANSLATE
from .requests import check_characters
from .translate_request import TranslateRequest, check_access, read_q, read_translate_request

router = APIRouter(tags=["LibreTranslate"])


@router.post("/translate", openapi_extra=TRANSLATE)
async def translate(request: Request, service: TheService) -> Any:
    """Translate one or several texts from a given or detected language."""
    order, owner = await read_translate_request(request, service)
    if order.is_stream:
        charge = await _charge(service, order, owner)
        with service.access.refund(charge):
            return await _stream(service, order, charge)
    work = _translate_charged(service, order, owner)
    answer = await wait_for(work, request, service.limits.seconds)
    return answer if order.is_list else {name: each[0] for name, each in answer.items()}


async def _charge(service: Service, order: TranslateRequest, owner: str) -> Charge:
    """Count the characters of a request. Raises ApiError if they are too many."""
    characters = await service.translation_service.pages.count(order.texts, order.form)
    check_characters(characters, service.limits.characters)
    return service.access.spend(owner, characters)


async def _translate_charged(
    service: Service, order: TranslateRequest, owner: str
) -> dict[str, list[Any]]:
    """Return the fields of the answer; what is refused costs nothing."""
    with service.access.refund(await _charge(service, order, owner)):
        return await _translate(service, order)


async def _translate(service: Service, order: TranslateRequest) -> dict[str, list[Any]]:
    """Return the fields of the answer, each as a list with one entry for each text."""
    answer = dict[str, list[Any]]()
    codes, routes = await find_routes(service, order, answer)
    results: list[list[str]] = [[] for _ in order.texts]
    inside: list[dict[str, Any]] = [{} for _ in order.texts]
    for code, route in routes.items():
        places = [place for place, own in enumerate(codes) if own == code]
        texts = [order.texts[place] for place in places]
        ways = await service.translation_service.translate_as(
            order.form, texts, route, order.alternatives + 1
        )
        if order.alignment or order.confidence:
            insights = await service.translation_service.look_inside(
                texts, route, order.alignment, order.confidence
            )
            for place, each in zip(places, insights, strict=True):
                inside[place] = each
        for place, way in zip(places, ways, strict=True):
            results[place] = way
    answer["translatedText"] = [best for best, *_ in results]
    if order.alternatives:
        answer["alternatives"] = [others for _, *others in results]
    for name in inside[0] if inside else ():
        answer[name] = [each[name] for each in inside]
    return answer


async def find_routes(
    service: Service, order: TranslateRequest, answer: dict[str, list[Any]]
) -> tuple[list[str], dict[str, list[PooledModel]]]:
    """Return the language of each text, and the models for each language.

    Detected languages become a field of the answer.
    """
    languages, texts = service.languages, order.texts
    to = languages.find(order.target)
    if order.source == "auto":
        detected = [result[0] for result in await run_sync(_detect, languages, texts)]
        codes = [str(each["language"]) for each in detected]
        answer["detectedLanguage"] = detected
    else:
        codes = [languages.find(order.source)] * len(texts)
    routes = {code: languages.check_route(code, to) for code in codes}
    models = dict.fromkeys(model.id for way in routes.values() for model in way)
    order.entry.note(models=[*models])
    return codes, routes


async def _stream(service: Service, order: TranslateRequest, charge: Charge) -> Response:
    """Return an event for each sentence of one text as soon as it is translated, then the whole."""
    if order.is_list or order.form != "text" or order.alternatives:
        raise ApiError(400, "a stream is for one text, in format text, without alternatives")
    answer = dict[str, list[Any]]()
    (code,), routes = await find_routes(service, order, answer)

    async def tell() -> AsyncIterator[bytes]:
        try:
            text = order.texts[0]
            async for span, translation in service.translation_service.stream(text, routes[code]):
                yield format_event("sentence", {"source": span, "translatedText": translation})
            whole = await _translate(service, order)
            yield format_event("done", {name: each[0] for name, each in whole.items()})
        except (ApiError, ValueError) as error:
            service.access.give_back(charge)
            sentence = error.sentence if isinstance(error, ApiError) else str(error)
            yield format_event("error", {"error": sentence})

    return StreamingResponse(tell(), media_type=EVENTS, headers=HEADERS)


@router.post("/detect", openapi_extra=DETECT)
async def detect(request: Request, service: TheService) -> list[dict[str, Any]]:
    """Detect which of the source languages a text is in, the likeliest first."""
    body = await read_body(request)
    check_access(service, body, request)
    if not body.get("q"):
        raise ApiError(400, "Invalid request: missing q parameter")
    texts = read_q(body["q"], service, "text")[:1]
    find_log_entry(request).note_texts(texts)
    (result,) = await run_sync(_detect, service.languages, texts)
    return result


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
