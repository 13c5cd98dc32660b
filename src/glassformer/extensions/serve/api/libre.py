"""LibreTranslate's HTTP API, so that its clients work with this server unchanged."""

from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import StreamingResponse

from glassformer.extensions.documents.formats import ENDINGS
from glassformer.foundation.version import __version__
from glassformer.translate.sentence import Sentence
from glassformer.translate.writing import join_texts

from ..api_error import ApiError
from ..limits import Deadline, wait_for
from ..rate_limit import Charge
from ..request_log import LogEntry, TheLogEntry
from ..service.languages import Routes
from ..service.model_pool import PooledModel
from ..service.service import Service, TheService
from ..service.streams import EVENTS, HEADERS, format_event
from .bodies import read_body
from .openapi import DETECT, STREAM, TRANSLATE
from .requests import check_characters
from .translate_request import TranslateRequest, check_access, read_q, read_translate_request

router = APIRouter(tags=["LibreTranslate"])
# Kinds of apostrophes and quotes; white space and capitals do not count either.
SAME = str.maketrans(dict.fromkeys("’‘ʼ`´", "'") | dict.fromkeys("“”„«»", '"'))


@router.post("/translate", openapi_extra=TRANSLATE, responses=STREAM)
async def translate(request: Request, service: TheService, entry: TheLogEntry) -> Any:
    """Translate one or several texts from a given or detected language."""
    fields = await read_body(request)
    owner = check_access(service, fields, request, entry)
    accepted = request.headers.get("accept", "")
    order = read_translate_request(fields, service.limits, accepted=accepted)
    entry.note_texts(order.texts)
    work = _answer(service, order, owner, entry)
    return await wait_for(work, request, service.limits.seconds)


async def _answer(service: Service, order: TranslateRequest, owner: str, entry: LogEntry) -> Any:
    """Return the answer; what is refused costs nothing. Raises ApiError if the text is too long."""
    characters = await service.translation_service.pages.count(order.texts, order.form)
    check_characters(characters, service.limits.characters)
    with service.access.charge(owner, characters) as charge:
        routes = await service.languages.choose_routes(order.texts, order.source, order.target)
        entry.note(models=routes.names)
        _check_routes(order, routes)
        if order.is_stream:
            events = _stream(service, order, routes, charge)
            return StreamingResponse(events, media_type=EVENTS, headers=HEADERS)
        answer = await _translate(service, order, routes)
        return answer if order.is_list else _take_first(answer)


def _check_routes(order: TranslateRequest, routes: Routes) -> None:
    """Raise ApiError for a look inside two models: what lies between them is not shown."""
    for route in routes.models.values():
        if len(route) > 1 and (order.alignment or order.confidence):
            both = " and ".join(model.id for model in route)
            raise ApiError(400, f"alignment and confidence need one model, this takes {both}")


async def _translate(
    service: Service, order: TranslateRequest, routes: Routes, known: Sequence[Sentence] = ()
) -> dict[str, list[Any]]:
    """Return the fields of the answer, each as a list with one entry for each text.

    known: the sentences of a text that is the only one, if they are translated already.
    """
    results: list[tuple[list[str], dict[str, Any]]] = [([], {}) for _ in order.texts]
    for code, route in routes.models.items():
        places = [place for place, own in enumerate(routes.codes) if own == code]
        texts = [order.texts[place] for place in places]
        translated = await _translate_by(service, order, route, texts, known)
        for place, each in zip(places, translated, strict=True):
            results[place] = each
    answer: dict[str, list[Any]] = {"detectedLanguage": routes.detected} if routes.detected else {}
    answer["translatedText"] = [best for (best, *_), _ in results]
    if order.alternatives:
        answer["alternatives"] = [leave_same(ways) for ways, _ in results]
    for name in results[0][1] if results else ():
        answer[name] = [insight[name] for _, insight in results]
    return answer


def leave_same(ways: Sequence[str]) -> list[str]:
    """Return the translations but the best, without those that are a better one but for SAME."""
    different = dict[str, str]()
    for way in ways:
        different.setdefault("".join(way.translate(SAME).casefold().split()), way)
    return [*different.values()][1:]


async def _translate_by(
    service: Service,
    order: TranslateRequest,
    route: Sequence[PooledModel],
    texts: Sequence[str],
    known: Sequence[Sentence],
) -> list[tuple[list[str], dict[str, Any]]]:
    """Return for each text its best translations, and what is asked about the first of them."""
    translation, n_best = service.translation_service, order.alternatives + 1
    if order.form == "html":
        pages = await translation.translate_markup(texts, route, n_best)
        return [(ways, {}) for ways in pages]
    if known:
        translated = [join_texts(text, known) for text in texts]
    else:
        translated = await translation.translate_texts(texts, route, n_best)
    insights = await translation.look_inside(
        [best for best, *_ in translated],
        route[0] if route else None,
        alignment=order.alignment,
        confidence=order.confidence,
    )
    return [
        ([each.text for each in ways], insight)
        for ways, insight in zip(translated, insights, strict=True)
    ]


def _take_first(answer: dict[str, list[Any]]) -> dict[str, Any]:
    return {name: each[0] for name, each in answer.items()}


async def _stream(
    service: Service, order: TranslateRequest, routes: Routes, charge: Charge
) -> AsyncIterator[bytes]:
    """Yield an event for each sentence of one text as soon as it is translated, then the whole."""
    (text,), (code,) = order.texts, routes.codes
    route, sentences = routes.models[code], list[Sentence]()
    deadline = Deadline(service.limits.seconds)
    try:
        async with aclosing(service.translation_service.stream(text, route)) as stream:
            while (each := await deadline.limit(anext(stream, None))) is not None:
                sentence, translation = each
                sentences.append(sentence)
                data = {"source": sentence.span, "translatedText": translation}
                yield format_event("sentence", data)
        known = sentences if len(route) == 1 else ()  # as the first model translated them
        answer = await deadline.limit(_translate(service, order, routes, known))
        yield format_event("done", _take_first(answer))
    except (ApiError, ValueError) as error:
        service.access.give_back(charge)
        reason = error.sentence if isinstance(error, ApiError) else str(error)
        yield format_event("error", {"error": reason})


@router.post("/detect", openapi_extra=DETECT)
async def detect(request: Request, service: TheService, entry: TheLogEntry) -> list[dict[str, Any]]:
    """Detect which of the source languages a text is in, the likeliest first."""
    body = await read_body(request)
    check_access(service, body, request, entry)
    if not body.get("q"):
        raise ApiError(400, "Invalid request: missing q parameter")
    texts = read_q(body["q"], service.limits, "text")[:1]
    entry.note_texts(texts)
    (detected,) = await service.languages.detect_all(texts)
    return detected


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
