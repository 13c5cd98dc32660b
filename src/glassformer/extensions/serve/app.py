"""The whole server as one FastAPI application: both APIs, middleware and error answers."""

import logging
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from anyio.to_thread import run_sync
from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Receive, Scope, Send

from glassformer.foundation.machine.extras import explain_missing
from glassformer.foundation.version import __version__

from .api import derived as api_derived
from .api import files, libre, metrics
from .api import models as api_models
from .api import pictures as api_pictures
from .api import runs as api_runs
from .api import stream as api_stream
from .api import tensors as api_tensors
from .api import traces as api_traces
from .api import trainings as api_trainings
from .api.auth import Guard
from .api.openapi import describe_api, list_methods
from .api.pages import add_pages
from .api_error import ApiError, TrainingError, choose_language, tell_invalid
from .request_log import RequestLog, RequestLogMiddleware
from .service.service import Service
from .service.streams import EVENTS, Json

SMALLEST = 1000  # bytes from which compression is worth it
LEVEL = 5  # higher levels take longer and hardly shrink a page of the app
NUMBERS = re.compile(r"/(?:tensors|weights|file|download_file)(?:/|$)")  # fp32 hardly shrinks
NO_WEIGHT = re.compile(r"q\s*=\s*0(\.0*)?")  # of what a client does not accept
EXPOSED = ("Content-Disposition", "Retry-After", "X-Dtype", "X-Name", "X-Shape")
log = logging.getLogger("glassformer.extensions.serve")
ABOUT = "Translate, and look inside. /api needs the token; LibreTranslate's paths do not."
ERROR = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}}
ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"description": about, **ERROR}
    for status, about in {
        400: "A value is wrong; the sentence says which.",
        401: "No token.",
        403: "The page of another origin, or a wrong key.",
        404: "There is no such thing.",
        405: "The path has other methods: Allow says which.",
        408: "The body came too slowly.",
        409: "The training is not so far, or another one runs.",
        413: "Too large.",
        414: "The address is too long.",
        415: "The body is no JSON by its Content-Type.",
        429: "More than the key allows: try again after Retry-After seconds.",
        431: "The head is too large.",
        501: "What this needs is not installed.",
        503: "Too much to do: try again after Retry-After seconds.",
        507: "The disk is full.",
    }.items()
}

OURS = (
    api_models,
    api_traces,
    api_tensors,
    api_derived,
    api_pictures,
    api_stream,
    api_runs,
    api_trainings,
)


def build_app(
    service: Service,
    *,
    token: str,
    cookie: str = "glassformer",
    hosts: Sequence[str] = ("*",),
    origins: Sequence[str] = (),
    log: RequestLog | None = None,
) -> FastAPI:
    """Return the application.

    hosts: the Host names that this server answers to. origins: of pages elsewhere that may send
    requests; "*": all.
    """

    app = FastAPI(
        title="glassformer",
        version=__version__,
        description=ABOUT,
        openapi_url="/spec",
        docs_url=None,  # it would fetch its scripts from elsewhere
        redoc_url=None,
        lifespan=_live,
    )
    app.state.service = service
    _answer_errors(app)
    api = APIRouter(prefix="/api", responses=ERRORS)
    for part in OURS:
        api.include_router(part.router)
    app.include_router(api)
    for face in (libre, files, metrics):
        app.include_router(face.router, responses=ERRORS)
    add_pages(app)
    document = describe_api(app)
    app.openapi = lambda: document  # type: ignore[method-assign]
    app.add_middleware(CompressionMiddleware)
    guard = {"hosts": hosts, "origins": origins, "token": token, "cookie": cookie}
    app.add_middleware(Guard, service=service, **guard)  # type: ignore[arg-type, unused-ignore]
    if origins:
        app.add_middleware(
            OriginMiddleware,
            allow_origins=[*origins],
            allow_methods=["GET", "HEAD", "POST", "PUT", "DELETE"],
            allow_headers=["Authorization", "Content-Type"],
            expose_headers=EXPOSED,
        )
    app.add_middleware(RequestLogMiddleware, metrics=service.metrics, log=log)
    return app


class CompressionMiddleware:
    """Middleware that compresses answers with gzip for clients that accept it.

    `Range` is ignored: files are small, or packed anew for each request.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self.packed = GZipMiddleware(app, minimum_size=SMALLEST, compresslevel=LEVEL)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        accepted = accepts_gzip(",".join(headers.getlist("accept-encoding")))
        as_it_is = EVENTS in headers.get("accept", "") or NUMBERS.search(scope["path"])
        kept = [each for each in headers.raw if each[0] not in (b"accept-encoding", b"range")]
        encoding = b"gzip" if accepted else b"identity"  # starlette looks for the one word
        scope["headers"] = [*kept, (b"accept-encoding", encoding)]
        await (self.app if as_it_is else self.packed)(scope, receive, send)


def accepts_gzip(header: str) -> bool:
    """Return whether an Accept-Encoding header accepts gzip: by its names, else by `*`."""
    accepted = dict[str, bool]()
    for part in header.lower().split(","):
        name, _, weight = part.partition(";")
        accepted[name.strip()] = not NO_WEIGHT.fullmatch(weight.strip())
    names = ("gzip", "x-gzip", "*")
    return next((accepted[name] for name in names if name in accepted), False)


class OriginMiddleware(CORSMiddleware):
    """Middleware for pages of other origins; it refuses a preflight as any other request."""

    def preflight_response(self, request_headers: Headers) -> Response:
        response = super().preflight_response(request_headers)
        if response.status_code < 400:
            return response
        parts = bytes(response.body).decode().removeprefix("Disallowed CORS ")
        return JSONResponse({"error": f"pages elsewhere may not send this: see its {parts}"}, 400)


@asynccontextmanager
async def _live(app: FastAPI) -> AsyncIterator[None]:
    yield
    await run_sync(app.state.service.close)
    await app.state.service.translation_service.pages.close()


def _answer_errors(app: FastAPI) -> None:
    """Add handlers that answer every error as {"error": one sentence}.

    The sentence may repeat what was sent, and so have characters that UTF-8 does not.
    """

    @app.exception_handler(ApiError)
    async def refuse(_: Request, error: ApiError) -> Response:
        return Json({"error": error.sentence}, error.status, headers=error.headers)

    @app.exception_handler(TrainingError)
    async def decline(request: Request, error: TrainingError) -> Response:
        message = error.say(choose_language(request.headers.get("accept-language", "")))
        return Json({"error": message, "kind": error.kind}, error.status)

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> Response:
        return Json({"error": tell_invalid(error.errors()[0])}, 400)

    @app.exception_handler(ValueError)
    async def wrong(_: Request, error: ValueError) -> Response:
        return Json({"error": str(error)}, 400)

    @app.exception_handler(ClientDisconnect)
    async def gone(_: Request, __: ClientDisconnect) -> Response:
        return Response(status_code=400)  # nobody reads it

    @app.exception_handler(ModuleNotFoundError)
    async def missing(_: Request, error: ModuleNotFoundError) -> Response:
        return Json({"error": explain_missing(error) or "internal error"}, 501)

    @app.exception_handler(HTTPException)
    async def failed(request: Request, error: HTTPException) -> Response:
        message, headers = str(error.detail), {**(error.headers or {})}
        if error.status_code == 405:
            headers["Allow"] = ", ".join(list_methods(app.openapi(), request.scope["path"]))
        if isinstance(error.__cause__, UnicodeDecodeError):  # FastAPI read the body
            message = "the body is not UTF-8"
        return Json({"error": message}, error.status_code, headers=headers)

    @app.exception_handler(Exception)
    async def broken(_: Request, error: Exception) -> Response:
        return Json({"error": "internal error"}, 500)
