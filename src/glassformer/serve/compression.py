"""Compression of answers that are text; tensors, files and event streams are sent as they are."""

from __future__ import annotations

import re

from starlette.datastructures import Headers
from starlette.middleware.gzip import GZipMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

from .streams import EVENTS

SMALLEST = 1000  # bytes from which compression is worth it
LEVEL = 5  # higher levels take longer and hardly shrink a page of the app
NUMBERS = re.compile(r"/(?:tensors|weights|file)(?:/|$)")  # fp32 hardly shrinks


class Compressed:
    """Middleware that compresses answers with gzip for clients that accept it."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self.packed = GZipMiddleware(app, minimum_size=SMALLEST, compresslevel=LEVEL)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        as_it_is = scope["type"] != "http" or (
            EVENTS in Headers(scope=scope).get("accept", "") or NUMBERS.search(scope["path"])
        )
        await (self.app if as_it_is else self.packed)(scope, receive, send)
