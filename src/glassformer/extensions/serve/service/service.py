"""The service: models, queues, caches and limits that all requests share."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from fastapi import Depends, Request

from glassformer.extensions.documents.apart import DocumentProcesses
from glassformer.see.trace import Trace
from glassformer.translator import Translator

from ..limits import Limits
from ..rate_limit import Access
from .batching import Batcher
from .jobs import Jobs
from .languages import Languages
from .model_pool import ModelPool
from .own_trainings import OwnTrainings
from .processes import TranslatingProcess
from .recordings import Recordings
from .server_metrics import ServerMetrics
from .translated_files import TranslatedFiles
from .translation_service import TranslationService


@dataclass
class Service:
    model_pool: ModelPool
    limits: Limits
    jobs: Jobs
    recordings: Recordings
    batcher: Batcher
    translation_service: TranslationService
    languages: Languages
    access: Access
    metrics: ServerMetrics
    files: TranslatedFiles
    documents: DocumentProcesses = field(default_factory=DocumentProcesses)
    processes: Sequence[TranslatingProcess] = ()
    runs: Path | None = None
    own_trainings: OwnTrainings | None = None
    drawing: threading.Lock = field(default_factory=threading.Lock)  # Matplotlib's fonts are global
    closing: threading.Event = field(default_factory=threading.Event)

    def close(self) -> None:
        """Finish accepted translations; cancel jobs and streams."""
        self.closing.set()
        self.jobs.close()
        if self.own_trainings:
            self.own_trainings.close()
        self.batcher.close()
        for process in self.processes:
            process.close()


async def get_service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


TheService = Annotated[Service, Depends(get_service)]


def find_trace(id: str, service: TheService) -> Trace:
    return service.recordings.find(id).trace


def find_translator(id: str, service: TheService) -> Translator:
    return service.model_pool.load(service.model_pool.find(id))


TheTrace = Annotated[Trace, Depends(find_trace)]  # the recording that a path names
TheTranslator = Annotated[Translator, Depends(find_translator)]  # the model that a path names
