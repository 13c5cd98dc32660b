"""The address under which clients reach the server, also if a proxy is between."""

import re

from fastapi import Request
from starlette.types import Receive, Scope, Send
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

IS_PROXIED = "glassformer.is_proxied"  # the key in a request's scope: whether a proxy is trusted
HOST = re.compile(r"([\w.-]+|\[[\da-f:.]+\])(:\d{1,5})?", re.ASCII | re.IGNORECASE)
PREFIX = re.compile(r"(/[\w.~%!$&'()*+;=:@-]+)*/?", re.ASCII)


class ProxyMiddleware(ProxyHeadersMiddleware):
    """uvicorn's middleware, which also notes whether a request comes from a trusted proxy.

    uvicorn itself replaces the address of the proxy by that of its client.
    """

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # type: ignore[override]
        address = (scope.get("client") or ("",))[0]
        inner = {**scope, IS_PROXIED: address in self.trusted_hosts}
        await super().__call__(inner, receive, send)  # type: ignore[arg-type]


def name_own_address(request: Request) -> str:
    """Return the address of this server, as its client knows it, with a slash at the end.

    A trusted proxy says its own as X-Forwarded-Host and X-Forwarded-Prefix.
    """
    own = request.base_url
    host, prefix = own.netloc, own.path.rstrip("/")
    if request.scope.get(IS_PROXIED):
        host = _read(request, "x-forwarded-host", HOST) or host
        prefix = _read(request, "x-forwarded-prefix", PREFIX).rstrip("/") or prefix
    return f"{own.scheme}://{host}{prefix}/"


def _read(request: Request, name: str, form: re.Pattern[str]) -> str:
    """Return what the first of several proxies says in a header; nothing if it has no such form."""
    value = request.headers.get(name, "").partition(",")[0].strip()
    return value if form.fullmatch(value) else ""
