"""The route /api/traces/{id}/heads: the effect of each head on one token of a translation."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response

from .api_error import ApiError
from .jobs import BackgroundJob
from .recordings import Recording
from .requests import HeadsRequest
from .service import Service, TheService
from .streams import Json, stream_answer

router = APIRouter(tags=["traces"])


@router.post("/traces/{id}/heads", response_class=Json)
async def weigh_heads(
    id: str, body: HeadsRequest, request: Request, service: TheService
) -> Response:
    """Silence each head on its own, and score the recorded translation again.

    `lead`: ln(p(token) / p(rival)) with all heads; `leads`: the same without each head, block by
    block.
    """
    kept = service.recordings.find(id)
    if kept.model is None:
        raise ApiError(400, "this recording was uploaded: its model is not here")
    return await stream_answer(
        request, service.jobs.start(lambda job: weigh_each_head(job, service, kept, body))
    )


def weigh_each_head(
    job: BackgroundJob, service: Service, kept: Recording, body: HeadsRequest
) -> dict[str, Any]:
    """Run one pass for each block, and return the leads; for a job's thread."""
    translator = service.model_pool.load(service.model_pool.find(kept.model))
    from ..see.silencing import silence_each

    found = silence_each(translator, kept.trace, body.step, body.rival, job.check)
    token = translator.tokenizers.target.token
    return {
        "step": found.step,
        "token": {"id": found.token, "text": token(found.token)},
        "rival": {"id": found.rival, "text": token(found.rival)},
        "lead": found.lead,
        "leads": {block: leads.tolist() for block, leads in found.leads.items()},
    }
