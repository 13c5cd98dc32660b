"""Routes /api/trace and /api/traces: record, list, edit, save and upload recordings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request, Response

from glassformer.see.derive import describe_answer
from glassformer.see.document import find_level
from glassformer.see.sentences import choose_sentence
from glassformer.see.trace import Trace
from glassformer.translator import Translator

from ..api_error import ApiError
from ..page import build_page, check_views
from ..request_log import TheLogEntry
from ..service.jobs import BackgroundJob
from ..service.recordings import Recording, read_archive, write_archive
from ..service.service import Service, TheService, TheTrace
from ..service.streams import Json, stream_answer
from .models import check_ids
from .openapi import STREAM
from .requests import EditRequest, TraceRequest, check_text_size, read_search
from .stream import answer_text, describe_candidates

if TYPE_CHECKING:  # looking inside needs PyTorch, serving does not
    from glassformer.decode import Step

router = APIRouter(tags=["traces"])
SAVED = {"Content-Disposition": "attachment"}  # the page chooses the file name


@router.post("/trace", response_class=Json, responses=STREAM)
async def record_trace(
    body: TraceRequest, request: Request, service: TheService, entry: TheLogEntry
) -> Response:
    """Translate a text and record one sentence of it; progress is streamed to who accepts it."""
    return await answer_text(body, request, service, entry, make_trace)


@router.delete("/jobs/{id}")
async def cancel_job(id: str, service: TheService) -> dict[str, Any]:
    """Cancel a running recording or stream."""
    if not service.jobs.cancel(id):
        raise ApiError(404, f"there is no job {id} any more")
    return {"cancelled": id}


@router.get("/traces")
def list_traces(service: TheService) -> dict[str, Any]:
    """List the recordings in memory, the last used first."""
    return {"traces": [each.describe() for each in service.recordings.list()]}


@router.post("/traces", status_code=201)
async def upload_trace(request: Request, service: TheService) -> dict[str, Any]:
    """Upload a saved recording: the zip of its folder."""
    from anyio.to_thread import run_sync

    data = await request.body()
    trace = await run_sync(read_archive, data, service.limits.upload)
    check_views(trace.settings)
    return service.recordings.add(Recording(trace)).describe()


@router.get("/traces/{id}", response_class=Json)
def get_trace(id: str, service: TheService) -> Response:
    """Return a recording without its tensors: `trace.json`, with model, request and base."""
    kept = service.recordings.find(id)
    about: dict[str, Any] = {
        "id": kept.id,
        "model": kept.model,
        "base": kept.base,
        "request": kept.request,
    }
    about["problems"] = [each.model_dump() for each in kept.trace.document.problems]
    return Json({**kept.trace.to_json(), "tensors": _list_tensors(kept.trace), **about})


@router.get("/traces/{id}/answer", response_class=Json)
def get_answer(id: str, service: TheService) -> Response:
    """Return what a first look at a recording needs: its words, probabilities and attention.

    `attention` is the cross-attention of each predicted token, the mean of all layers and heads; it
    is empty for a network without attention. `whole` has all sentences of the text, and symbols
    that the network did not read; it is null if the text is one sentence, and nothing else.
    """
    kept = service.recordings.find(id)
    return Json({"id": kept.id, "model": kept.model, **describe_answer(kept.trace)})


@router.delete("/traces/{id}")
def remove_trace(id: str, service: TheService) -> dict[str, Any]:
    """Remove a recording from memory."""
    service.recordings.remove(id)
    return {"removed": id}


@router.get("/traces/{id}/file", response_class=Response)
def store_trace(trace: TheTrace, compact: bool = False, parameters: bool = False) -> Response:
    """Return the recording as a file: the zip of its folder."""
    data = write_archive(trace, compact, parameters)
    return Response(data, media_type="application/zip", headers=SAVED)


@router.get("/traces/{id}/page", response_class=Response)
def save_page(trace: TheTrace, compact: bool = False) -> Response:
    """Return the recording as one HTML page that needs no server."""
    page = build_page(trace, compact=compact)
    return Response(page, media_type="text/html; charset=utf-8", headers=SAVED)


@router.post("/traces/{id}/edit", response_class=Json, responses=STREAM)
async def edit_trace(id: str, body: EditRequest, request: Request, service: TheService) -> Response:
    """Record the same sentence under edits, and compare the two."""
    kept = service.recordings.find(id)
    if kept.model is None and body.model is None:
        raise ApiError(400, "this recording was uploaded: name the model that made it")
    service.model_pool.find(kept.model or body.model)
    return await stream_answer(
        request, service.jobs.start(lambda job: edit(job, service, kept, body))
    )


def make_trace(job: BackgroundJob, service: Service, body: TraceRequest) -> dict[str, Any]:
    """Record a translation and keep it; for a job's thread."""
    model = service.model_pool.find(body.model)
    job.say("progress", stage="loading", step=0, most=None, text="")
    translator = service.model_pool.load(model)
    if translator.config.model.network != "rnn":  # of which the app has a view of its own
        check_views(translator.config.model)
    plain, base = body.model_dump(exclude={"edits", "base"}), None
    trace = _record(job, translator, plain, service, edits=body.edits)
    if body.edits and body.base:
        base = service.recordings.add(
            Recording(_record(job, translator, plain, service), model.id, plain)
        ).id
    return service.recordings.add(Recording(trace, model.id, plain, base)).describe()


def edit(
    job: BackgroundJob, service: Service, kept: Recording, body: EditRequest
) -> dict[str, Any]:
    """Record the old translation and a new one under the edits; for a job's thread."""
    model = service.model_pool.find(body.model or kept.model)
    translator = service.model_pool.load(model)
    plain = kept.request or {
        "text": kept.trace.whole_text,
        "sentence": kept.trace.sentence,
        "level": kept.trace.level,
    }
    base = _find_base(job, translator, service, kept, plain, model.id)
    if not body.edits:
        return {**base.describe(), "base": base.id, "forced": base.id, "changes": None}
    say = _make_reporter(job, translator, "comparing")
    from glassformer.see import EditEffect, record

    forced = record(
        translator,
        base.trace.text,
        level=plain["level"],
        target=base.trace,
        edits=body.edits,
    )
    job.check()
    after = _record(job, translator, plain, service, edits=body.edits)
    say(None)
    changes = EditEffect(base.trace, forced, after).to_json()
    ids = [
        service.recordings.add(Recording(each, model.id, plain, base.id))
        for each in (forced, after)
    ]
    return {**ids[1].describe(), "forced": ids[0].id, "changes": changes}


def _find_base(
    job: BackgroundJob,
    translator: Translator,
    service: Service,
    kept: Recording,
    plain: dict[str, Any],
    model: str,
) -> Recording:
    """Return the unedited recording; it is made again if it is no longer in memory."""
    if not kept.trace.edits:
        return kept
    try:
        if kept.base:
            return service.recordings.find(kept.base)
    except ApiError:
        pass
    return service.recordings.add(Recording(_record(job, translator, plain, service), model, plain))


def _record(
    job: BackgroundJob,
    translator: Translator,
    plain: dict[str, Any],
    service: Service,
    edits: list[dict[str, Any]] | None = None,
) -> Trace:
    options: dict[str, Any] = {"level": plain["level"], "edits": edits or []}
    if plain.get("target") is not None:
        if any(plain[name] for name in ("decode", "prefix", "hypothesis", "sentence")):
            raise ApiError(
                400, "decode, prefix, hypothesis and sentence have no effect with a target"
            )
        options["target"] = plain["target"]
        check_text_size(translator, plain["text"], service.limits)
    else:
        options["sentence"] = plain.get("sentence", 0)
        chosen = choose_sentence(translator, plain["text"], options["sentence"])
        check_text_size(translator, chosen.text, service.limits)
        options["decode"] = read_search(translator, plain.get("decode", {}), service.limits)
        options["prefix"] = check_ids(translator, plain.get("prefix", ""))
        options |= {name: plain.get(name, 0) for name in ("hypothesis", "seed")}
        options["progress"] = _make_reporter(job, translator, "searching")
    job.say("progress", stage="recording", step=0, most=None, text="")
    from glassformer.see import record

    return record(translator, plain["text"], **options)


def _make_reporter(job: BackgroundJob, translator: Translator, stage: str) -> Any:
    """Return a function that reports each step of a search as an event of the job.

    It raises, which ends the search, if the job was cancelled or takes too long.
    """
    steps = 0

    def say(step: Step | None, candidates: Sequence[tuple[int, float]] = ()) -> None:
        nonlocal steps
        steps += 1
        if step is None and stage == "searching":
            return job.say("progress", stage="whole", step=steps)
        facts: dict[str, Any] = {"text": "", "most": None}
        if step is not None:
            ids = _read_best(step)
            facts = {
                "text": str(translator.tokenizers.target.decode(ids)),
                "most": int(step.before.limit_B[0]),
                "tokens": [translator.tokenizers.target.token(id) for id in ids],
                "candidates": describe_candidates(translator, [*candidates]),
            }
        job.say("progress", stage=stage, step=steps, **facts)

    return say


def _read_best(step: Step) -> list[int]:
    """Return the token ids of the best hypothesis of a step."""
    row = int(step.parent_BC[0, 0])
    before, length = step.before.tokens_BWL[0, row].tolist(), int(step.before.length_B[0])
    return [*before[len(before) - length :], int(step.token_BC[0, 0])]


def _list_tensors(trace: Trace) -> dict[str, Any]:
    return {
        name: {
            "file": f"{find_level(name)}.safetensors",
            "shape": list(array.shape),
            "dims": list(trace.graph[name].dims),
        }
        for name, array in trace.tensors.items()
    }
