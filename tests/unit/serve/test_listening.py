"""Where the server listens, and who is sent away because nothing comes."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from contextlib import ExitStack

import pytest

pytest.importorskip("fastapi", reason="the extra `serve` is not installed")

from glassformer.extensions.serve.listening import (
    allow_files,
    bind,
    listen,
    name_address,
    refuse_new,
)

from .conftest import Client


def has_ipv6() -> bool:
    try:
        bind("::1", 0).close()
    except OSError:
        return False
    return True


def test_localhost_is_both() -> None:
    """Some clients try ::1 alone."""
    with ExitStack() as held:
        socks = [held.enter_context(sock) for sock in listen("localhost", 0)]
        port = socks[0].getsockname()[1]
        assert {sock.getsockname()[1] for sock in socks} == {port}
        hosts = ["127.0.0.1", "::1"] if has_ipv6() else ["127.0.0.1"]
        assert [sock.getsockname()[0] for sock in socks] == hosts
        with pytest.raises(OSError) as caught:
            listen("localhost", port)
        assert caught.value.filename == f"127.0.0.1:{port}"
    for sock in listen("127.0.0.1", 0):
        with sock:
            assert sock.family is socket.AF_INET


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_a_program_asks_by_name(client: Client, host: str) -> None:
    if host == "::1" and not has_ipv6():
        pytest.skip("there is no IPv6 here")
    with socket.create_connection((host, client.port), timeout=20) as sock:
        sock.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b" 200 " in sock.recv(1000)


def test_the_address_opens_on_this_machine() -> None:
    shown = {host: name_address(host, 80) for host in ("localhost", "0.0.0.0", "::", "10.0.0.2")}
    assert shown == {
        "localhost": "http://127.0.0.1:80",
        "0.0.0.0": "http://127.0.0.1:80",
        "::": "http://[::1]:80",
        "10.0.0.2": "http://10.0.0.2:80",
    }


@pytest.mark.skipif(os.name != "posix", reason="only there are open files counted so")
def test_a_connection_is_an_open_file() -> None:
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
        allow_files(300)
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == 300
        allow_files(200)
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == 300
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_node_by_name(client: Client) -> None:
    """Node tries the addresses of localhost as the system lists them."""
    if not (node := shutil.which("node")):
        pytest.skip("there is no Node here")
    address = f"http://localhost:{client.port}/health"
    code = f"fetch('{address}').then((it) => it.text()).then(console.log)"
    found = subprocess.run([node, "-e", code], capture_output=True, text=True, timeout=60)
    assert json.loads(found.stdout)["status"] == "ok", found.stderr


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux filters packets so")
@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_who_has_connected_is_heard_and_nobody_else_connects(host: str) -> None:
    if host == "::1" and not has_ipv6():
        pytest.skip("there is no IPv6 here")
    with bind(host, 0) as sock, socket.create_connection(sock.getsockname()[:2]) as before:
        if not refuse_new(sock):
            pytest.skip("this system has no filters of packets")
        with pytest.raises(TimeoutError):
            socket.create_connection(sock.getsockname()[:2], timeout=0.3)
        before.sendall(b"x")
        accepted = sock.accept()[0]
        with accepted:
            assert accepted.recv(1) == b"x"
        sock.settimeout(0.1)
        with pytest.raises(TimeoutError):
            sock.accept()
