"""Authentication of requests, and checks of who sends them and of their bodies."""

import asyncio
import hmac
import json
import sys
from collections.abc import Sequence
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..api_error import ApiError
from ..origins import OriginCheck
from ..service.service import Service
from .bodies import check_json_type

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'self'; img-src 'self' data: blob:; worker-src 'self' blob:; "
        "object-src 'none'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Resource-Policy": "same-origin",
}
SLOWEST = 20.0  # seconds in which a request's body must arrive
UPLOAD = "/api/traces"  # takes a zip
SAFE = ("GET", "HEAD", "OPTIONS")  # methods that change nothing
ENDLESS = (408, 413)  # statuses of a body that is too slow or too large: no more of it is read


class Guard:
    """Middleware that checks host, origin, the token of /api and bodies, and adds headers."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        hosts: Sequence[str],
        origins: Sequence[str],
        token: str,
        cookie: str,
        service: Service,
    ) -> None:
        self.app, self.token, self.cookie = app, token, cookie
        self.limits, self.closing = service.limits, service.closing
        self.origins = OriginCheck(hosts, origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        # Clients join paths carelessly, with double or trailing slashes.
        scope["path"] = "/" + "/".join(part for part in scope["path"].split("/") if part)

        is_head = scope["method"] == "HEAD"

        async def send_guarded(message: Message) -> None:
            is_start = message["type"] == "http.response.start"
            if is_start:
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                if self.closing.is_set():
                    headers["Connection"] = "close"
            if is_start or not is_head:
                await send(message)
            if is_start and is_head:  # the body may be endless: the answer is complete without it
                await send({"type": "http.response.body", "body": b""})

        if is_head:
            scope = {**scope, "method": "GET"}
        try:
            if await self._let_in(scope, send_guarded):
                return
            limited = self._limit(scope, receive)
            await self.app(scope, limited, send_guarded)
        except ApiError as refusal:  # about the body: no answer has begun yet
            if refusal.status == 413:
                await drain(receive, 4 * self.limits.body)
            await refuse(refusal, send_guarded)

    async def _let_in(self, scope: Scope, send: Send) -> bool:
        """Return whether the request was answered here, by a cookie with the token.

        Raises ApiError for a Host header that is missing or wrong, a foreign origin, a missing
        token, or a body of /api that is not JSON.
        """
        headers, path, method = Headers(scope=scope), scope["path"], scope["method"]
        hosts = headers.getlist("host")
        if len(hosts) != 1 and (hosts or scope.get("http_version") != "1.0"):
            number = len(hosts) or "none"
            raise ApiError(400, f"a request has one Host header, this one has {number}")
        if not self.origins.is_host(headers.get("host")):
            raise ApiError(421, "this server does not answer to that Host header")
        is_for_app, is_own = _is_ours(path) and method != "OPTIONS", True
        if is_for_app or method not in SAFE:
            is_own = self.origins.check_origin(headers)
        if path == "/" and scope["query_string"]:
            given_token = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
            if self._is_token(given_token):
                await self._welcome(send)
                return True
        if is_for_app and not self._has_token(headers, may_be_cookie=is_own):
            raise ApiError(401, "open the address that the terminal printed: it has the token")
        if is_for_app and method == "POST" and path != UPLOAD:
            check_json_type(headers)
        return False

    def _has_token(self, headers: Headers, *, may_be_cookie: bool) -> bool:
        """Return whether the token is there; browsers add a cookie to what foreign pages send."""
        kind, _, given_token = headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and self._is_token(given_token.strip()):
            return True
        if not may_be_cookie:
            return False
        try:
            entry = SimpleCookie(headers.get("cookie", "")).get(self.cookie)
        except CookieError:
            return False
        return entry is not None and self._is_token(entry.value)

    def _is_token(self, inputs: str) -> bool:
        return hmac.compare_digest(inputs.encode("utf-8", "replace"), self.token.encode())

    async def _welcome(self, send: Send) -> None:
        """Set the token as a cookie, and redirect to the address without it.

        The redirect is relative, because a proxy may serve "/" under another path.
        """
        cookie = f"{self.cookie}={self.token}; Path=/; HttpOnly; SameSite=Strict"
        headers = [(b"set-cookie", cookie.encode()), (b"content-length", b"0")]
        headers.append((b"location", b"./"))
        await send({"type": "http.response.start", "status": 303, "headers": headers})
        await send({"type": "http.response.body", "body": b""})

    def _limit(self, scope: Scope, receive: Receive) -> Receive:
        """Return a `receive` that raises ApiError if the body is too large or too slow."""
        uploads = {UPLOAD: self.limits.upload, "/translate_file": self.limits.file}
        if scope["method"] == "PUT" and scope["path"].startswith("/api/trainings/"):
            uploads[scope["path"]] = sys.maxsize  # the route has a limit of its own
        is_upload = scope["path"] in uploads
        most = uploads.get(scope["path"], self.limits.body)
        announced = Headers(scope=scope).get("content-length", "0")
        if announced.isdecimal() and int(announced) > most:
            raise ApiError(413, f"the body has {announced} bytes: at most {most}")
        loop, read, is_whole = asyncio.get_running_loop(), 0, False
        deadline = loop.time() + (10 * SLOWEST if is_upload else SLOWEST)

        async def receive_limited() -> Message:
            nonlocal read, is_whole
            if is_whole:
                return await receive()
            try:
                message = await asyncio.wait_for(receive(), max(deadline - loop.time(), 0.01))
            except TimeoutError:
                raise ApiError(408, "the body came too slowly") from None
            read += len(message.get("body", b""))
            is_whole = not message.get("more_body", False)
            if read > most:
                raise ApiError(413, f"the body is too large: at most {most} bytes")
            return message

        return receive_limited


def _is_ours(path: str) -> bool:
    return path == "/api" or path.startswith("/api/")


async def drain(receive: Receive, most: int) -> None:
    """Receive the rest of a body, within limits, because clients read the answer only then."""
    try:
        async with asyncio.timeout(2):
            while most > 0:
                message = await receive()
                most -= len(message.get("body", b""))
                if not message.get("more_body", False):
                    return
    except TimeoutError:
        return


async def refuse(refusal: ApiError, send: Send) -> None:
    """Answer with an error.

    The connection stays open unless the body is the reason: one that is closed while its client
    still sends is reset, and the client does not see the answer.
    """
    body = json.dumps({"error": refusal.sentence}).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
    ]
    if refusal.status in ENDLESS:
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
