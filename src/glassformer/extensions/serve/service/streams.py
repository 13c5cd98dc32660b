"""Answers of jobs: server-sent events if the client accepts them, else JSON at the end."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from fastapi import Request
from fastapi.responses import JSONResponse, Response, StreamingResponse

from glassformer.foundation.typed_json import replace_infinite

from ..api_error import ApiError
from .jobs import BackgroundJob

EVENTS = "text/event-stream"
LOOK = 0.5  # seconds between two checks whether the client is still connected
HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


def encode_json(value: Any) -> str:
    """Return JSON on one line, with null for numbers that are not finite."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except ValueError:
        return json.dumps(replace_infinite(value), ensure_ascii=False, separators=(",", ":"))


class Json(JSONResponse):
    """A JSON answer in which numbers that are not finite are null."""

    def render(self, content: Any) -> bytes:
        return encode_json(content).encode("utf-8", "replace")


def format_event(name: str, data: Any) -> bytes:
    return f"event: {name}\ndata: {encode_json(data)}\n\n".encode("utf-8", "replace")


async def stream_answer(request: Request, job: BackgroundJob) -> Response:
    """Return the job's events as a stream, or its result; cancel it if the client leaves."""
    if EVENTS in request.headers.get("accept", ""):
        return StreamingResponse(_stream(job), media_type=EVENTS, headers=HEADERS)
    loop = asyncio.get_running_loop()
    looked = loop.time()
    try:
        async for event in job.events(beat=LOOK):
            if event and event[0] == "done":
                return Json(event[1])
            if event and event[0] == "error":
                raise ApiError(event[1]["status"], event[1]["error"])
            if loop.time() - looked > LOOK:
                looked = loop.time()
                if await request.is_disconnected():
                    job.cancel()
    finally:
        job.cancel()
    raise ApiError(500, "internal error")


async def _stream(job: BackgroundJob) -> AsyncIterator[bytes]:
    try:
        yield format_event("start", {"job": job.id})
        async for event in job.events():
            yield format_event(*event) if event else b": still at work\n\n"
    finally:
        job.cancel()
