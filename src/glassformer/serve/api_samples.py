"""The route /api/samples: many translations of one sentence, drawn at random."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response

from .api_traces import check_text_size
from .jobs import BackgroundJob
from .request_log import note, note_texts
from .requests import SamplesRequest, check_text, read_search
from .service import Service, TheService
from .streams import Json, stream_answer

router = APIRouter(tags=["translate"])


@router.post("/samples", response_class=Json)
async def sample_translations(
    body: SamplesRequest, request: Request, service: TheService
) -> Response:
    """Draw translations of one sentence; `texts` has each as often as it was drawn."""
    check_text(body.text, service.limits)
    note_texts(request, [body.text])
    note(request, models=[service.model_pool.find(body.model).id])
    return await stream_answer(
        request, service.jobs.start(lambda job: draw_translations(job, service, body))
    )


def draw_translations(job: BackgroundJob, service: Service, body: SamplesRequest) -> dict[str, Any]:
    """Draw the translations, all in one batch; for a job's thread."""
    translator = service.model_pool.load(service.model_pool.find(body.model))
    decode = read_search(translator, {**body.decode, "search": "sample"}, service.limits)
    check_text_size(translator, body.text, service)
    job.check()
    from ..see.edit import prepare_edits
    from ..see.searching import draw_samples

    edited = prepare_edits(translator, body.text, "", body.edits)
    return {"texts": draw_samples(translator, edited, decode.model_dump(), body.count, body.seed)}
