"""A client's connection, with limits of time and memory: none can be kept for nothing."""

import asyncio
import json
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from typing import Any

with suppress(ImportError):
    from httptools import HttpParserUpgrade, HttpRequestParser
from uvicorn.protocols.http.auto import AutoHTTPProtocol

PATIENCE = 20.0  # seconds in which a connection must send a request, or take some of an answer
URL = 32 << 10  # bytes of a request's address
HEAD = 64 << 10  # bytes of a request that are not its body
HEADERS = 100  # headers of a request
PIPELINED = 64  # requests that wait while the one before them is answered
SLICE = 16 << 10  # bytes after which the limits are checked
PROPOSAL = (b"upgrade", b"http2-settings")  # headers that propose another protocol
IS_TOLD = hasattr(AutoHTTPProtocol, "on_header")  # else h11 parses, whose own limit is 64 KiB


class HeadError(Exception):
    """An error that ends a connection, with a status, or 0 where nobody can be answered."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status, self.sentence = status, sentence


class PlainParser:
    """A parser for which a request that proposes another protocol is one like any other.

    No other protocol is served, so the proposal is ignored (RFC 9110, 7.8). httptools stops behind
    the head of such a request. A new parser then gets the head without the proposal, which
    `write_head` returns, and what follows.
    """

    def __init__(self, protocol: Any, write_head: Callable[[], bytes]) -> None:
        self._protocol, self._write_head = protocol, write_head
        self._begin()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._parser, name)

    def feed_data(self, data: bytes) -> None:
        while data:
            try:
                self._parser.feed_data(data)
                return
            except HttpParserUpgrade as stop:
                data = self._write_head() + data[stop.args[0] :]
                self._begin()

    def _begin(self) -> None:
        self._parser = HttpRequestParser(self._protocol)
        with suppress(AttributeError):  # before httptools 0.6.3
            self._parser.set_dangerous_leniencies(lenient_data_after_close=True)  # as uvicorn does


class Connection(AutoHTTPProtocol):  # type: ignore[misc, valid-type, unused-ignore]
    """A connection that ends if it is idle, if it takes no answer, or if a request has no end.

    It is idle if nothing was requested for a whole interval of PATIENCE seconds.
    """

    _refusal: HeadError | None = None
    _head = _headers = 0  # bytes and headers of the request that is read
    _stalled: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        if IS_TOLD:
            self.parser = PlainParser(self, self._write_head)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._timer.cancel()
        self._stop_watching()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        for begin in range(0, len(data), SLICE):
            part = data[begin : begin + SLICE]
            self._head += len(part)
            super().data_received(part)
            if IS_TOLD and self._head > HEAD:
                self._refuse(HeadError(431, f"a request without its body has at most {HEAD} bytes"))
            if self.transport.is_closing():
                return

    def on_message_begin(self) -> None:
        self._head = self._headers = 0
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        super().on_url(url)
        if len(self.url) > URL:
            self._fail(HeadError(414, f"the address has at most {URL} bytes"))

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers += 1
        if self._headers > HEADERS:
            self._fail(HeadError(431, f"a request has at most {HEADERS} headers"))
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        if self.parser.should_upgrade():
            if self.parser.get_method() == b"CONNECT":
                self._fail(HeadError(400, "this server is no proxy"))
            return  # it is parsed again
        if len(self.pipeline) >= PIPELINED:
            self._fail(HeadError(0, "the client has sent too many requests at once"))
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._head = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        if not self.parser.should_upgrade():
            super().on_message_complete()

    def _write_head(self) -> bytes:
        """Return the head of the request that is read, without a proposal of another protocol."""
        version = self.parser.get_http_version().encode()
        lines = [b"%s %s HTTP/%s" % (self.parser.get_method(), self.url, version)]
        lines += [b"%s: %s" % header for header in self.headers if header[0] not in PROPOSAL]
        return b"\r\n".join(lines) + b"\r\n\r\n"

    def _fail(self, refusal: HeadError) -> None:
        """Make the parser end the request, and then call `send_400_response`."""
        self._refusal = refusal
        raise refusal

    def send_400_response(self, msg: str) -> None:
        self._refuse(self._refusal or HeadError(400, msg))

    def _refuse(self, refusal: HeadError) -> None:
        """Answer with an error, and close the connection."""
        if refusal.status and not self.transport.is_closing():
            body = json.dumps({"error": refusal.sentence}).encode()
            phrase = HTTPStatus(refusal.status).phrase
            head = (
                f"HTTP/1.1 {refusal.status} {phrase}\r\nContent-Type: application/json\r\n"
                f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
            )
            self.transport.write(head.encode() + body)
        self.transport.close()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch()

    def resume_writing(self) -> None:
        self._stop_watching()
        super().resume_writing()

    def _watch(self) -> None:
        """Look again whether the client has taken something of the answer."""
        loop = asyncio.get_running_loop()
        left = self.transport.get_write_buffer_size()
        self._stalled = loop.call_later(PATIENCE, self._check_taken, left)

    def _check_taken(self, before: int) -> None:
        if self.transport.get_write_buffer_size() >= before:
            self.transport.abort()
        else:
            self._watch()

    def _stop_watching(self) -> None:
        if self._stalled:
            self._stalled.cancel()

    def _wait(self) -> None:
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(PATIENCE, self._look, self.cycle)

    def _look(self, seen: Any) -> None:
        if self.cycle is seen and (seen is None or seen.response_complete):
            self.transport.close()
        else:
            self._wait()
