"""SHA-256 for what is hashed whenever a model is opened.

Importing `hashlib` loads OpenSSL, which takes longer than all that is hashed then. The module in C
that `hashlib` falls back to has the same function; its name depends on the version of Python.
"""

from functools import cache
from importlib import import_module
from typing import Any


def sha256_hex(data: bytes) -> str:
    """Return the SHA-256 of some bytes, in hexadecimal digits."""
    return str(_find_module().sha256(data).hexdigest())


@cache
def _find_module() -> Any:
    for name in ("_sha2", "_sha256"):
        try:
            return import_module(name)
        except ImportError:
            continue
    return import_module("hashlib")
