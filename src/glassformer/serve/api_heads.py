"""/api/traces/{id}/heads: what each head matters to one token of a translation."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response

from ..see.silencing import silence_each
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
    """Each head is silenced on its own, and the translation is read again.

    `lead`: ln of how many times likelier the token is than its rival; `leads`: the same without
    each head, block by block.
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
    """In a thread: one pass for each block."""
    translator = service.model_pool.load(service.model_pool.find(kept.model))
    found = silence_each(translator, kept.trace, body.step, body.rival, job.check)
    token = translator.tokenizers.target.token
    return {
        "step": found.step,
        "token": {"id": found.token, "text": token(found.token)},
        "rival": {"id": found.rival, "text": token(found.rival)},
        "lead": found.lead,
        "leads": {block: leads.tolist() for block, leads in found.leads.items()},
    }
