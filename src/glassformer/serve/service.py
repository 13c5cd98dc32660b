"""What all requests share."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fastapi import Depends, Request

from .access import Access
from .batching import Batcher
from .interpreter import Interpreter
from .jobs import Jobs
from .languages import Languages
from .limits import Limits
from .recordings import Recordings
from .shelf import Shelf

if TYPE_CHECKING:
    from .metrics import Metrics


@dataclass
class Service:
    shelf: Shelf
    limits: Limits
    jobs: Jobs
    recordings: Recordings
    batcher: Batcher
    interpreter: Interpreter
    languages: Languages
    access: Access
    metrics: Metrics
    runs: Path | None = None
    drawing: threading.Lock = field(default_factory=threading.Lock)  # fonts are one for all
    closing: threading.Event = field(default_factory=threading.Event)

    def close(self) -> None:
        """Finish what was accepted; end what only looks on."""
        self.closing.set()
        self.jobs.close()
        self.batcher.close()


def get_service(request: Request) -> Service:
    found: Service = request.app.state.service
    return found


TheService = Annotated[Service, Depends(get_service)]
