"""The limits of one server."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """The limits of a server; beyond them an error names the limit in one sentence."""

    characters: int = 20_000  # of all texts of one request
    texts: int = 256  # in one request
    seconds: float = 60.0  # from a request to its answer
    body: int = 1 << 20  # bytes of a request
    upload: int = 256 << 20  # bytes of a saved trace, packed and unpacked
    waiting: int = 2048  # sentences accepted and not yet translated
    batch: int = 64  # sentences translated together
    beam: int = 16
    alternatives: int = 8
    tokens: int = 256  # of a sentence that is recorded
    traces: int = 512 << 20  # bytes of recordings kept in memory
    jobs: int = 16  # recordings and streams waiting
    loaded: int = 4  # models in memory
    connections: int = 1024
