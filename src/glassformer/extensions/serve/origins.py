"""Which web pages may send requests: those of this server, and of origins that it trusts.

A cookie's SameSite ignores ports, and a form or an image of any page is sent without permission. So
whatever changes or costs something is refused to the pages of others, with a cookie or without.
Programs send neither `Origin` nor `Sec-Fetch-Site`.
"""

import socket
from collections.abc import Sequence
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.datastructures import Headers

from .api_error import ApiError

ANY = "*"
SHOWN = 100  # characters of an origin that an error names
OWN_SITE = (None, "same-origin", "none")  # Sec-Fetch-Site of a program, our pages, the address bar


class OriginCheck:
    """The check of the Host header, and of the origin of the page that sends a request.

    hosts: the names that this server answers to; "*": any. trusted: further origins whose pages may
    send requests; "*": all.
    """

    def __init__(self, hosts: Sequence[str], trusted: Sequence[str] = ()) -> None:
        self.hosts = frozenset(host.lower().strip("[]") for host in hosts)
        self.trusted = frozenset(origin.lower().rstrip("/") for origin in trusted)

    def is_host(self, host: str | None) -> bool:
        """Return whether a Host header is ours; HTTP/1.0, which no browser speaks, needs none."""
        return host is None or ANY in self.hosts or read_host(host) in self.hosts

    def check_origin(self, headers: Headers) -> bool:
        """Return whether no page of another origin sends a request with these headers.

        Raises ApiError 403 if one does that is not trusted.
        """
        origin = headers.get("origin", "").lower()
        is_own = self._is_own_page(origin, headers)
        if is_own and (not origin or self._is_own_name(origin)):
            return True
        if not is_own and (ANY in self.trusted or origin in self.trusted):
            return False
        shown = origin[:SHOWN] or "another site"
        if is_own:
            remedy = f"--name {read_host(urlsplit(origin).netloc)[:SHOWN]}"
        else:
            # A page from a file, or in a sandbox, may be anybody's.
            own = "its own origin" if origin == "null" else origin[:SHOWN] or "ORIGIN"
            remedy = f"--cors {own}"
        raise ApiError(403, f"pages of {shown} may not use this server, unless it has {remedy}")

    def _is_own_page(self, origin: str, headers: Headers) -> bool:
        """Return whether a program sends this, or a page of the host that the request is sent to.

        A proxy may give the host that the page knows as X-Forwarded-Host, which no page can set for
        another origin. `null` is the origin of a page in a sandbox.
        """
        site = headers.get("sec-fetch-site")
        if not origin or site is not None:
            return site in OWN_SITE
        hosts = (headers.get("host", ""), headers.get("x-forwarded-host", ""))
        return urlsplit(origin).netloc in [host.lower() for host in hosts if host]

    def _is_own_name(self, origin: str) -> bool:
        """Return whether nobody else can own the host of this origin.

        If the server answers to any host, that is an address or a name of this machine: a stranger
        may let any other name lead here.
        """
        name = read_host(urlsplit(origin).netloc)
        return ANY not in self.hosts or name in self.hosts or is_local_name(name)


def is_local_name(name: str) -> bool:
    """Return whether a host is an IP address or a name of this machine."""
    own = socket.gethostname().lower()
    short = own.partition(".")[0]
    if name in ("localhost", own, short, f"{short}.local"):
        return True
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def read_host(header: str) -> str:
    """Return a Host header without the port: of `127.0.0.1:5000`, of `[::1]:5000`."""
    if header.startswith("["):
        return header[1:].partition("]")[0].lower()
    return header.rpartition(":")[0].lower() if ":" in header else header.lower()
