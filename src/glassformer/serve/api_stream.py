"""/api/translate: a translation, told word by word while it is made."""

from __future__ import annotations

from typing import Any

import torch
from fastapi import APIRouter, Request, Response

from ..config import EOS, Decode
from ..decode import Fate, Hypothesis, Step, search
from ..familiarity import Familiarity
from ..guard import judge
from ..see.overhearing import Overheard
from ..see.pieces import read_source, spell
from ..text.spacing import join
from ..translation import Translation, assemble, compose
from ..translator import Translator
from .api_models import check_ids
from .jobs import Job
from .refusal import Refusal
from .request_log import note, note_texts
from .requests import StreamRequest, check_text, choose_search
from .service import Service, TheService
from .streams import Json, answer

router = APIRouter(tags=["translate"])


@router.post("/translate", response_class=Json)
async def stream_translation(
    body: StreamRequest, request: Request, service: TheService
) -> Response:
    """Each step of the search: what was chosen, and what else was likely."""
    check_text(body.text, service.limits)
    note_texts(request, [body.text])
    note(request, models=[service.shelf.find(body.model).id])
    return await answer(request, service.jobs.start(lambda job: tell(job, service, body)))


def tell(job: Job, service: Service, body: StreamRequest) -> dict[str, Any]:
    """In a thread: sentence by sentence. The first begins as the request says."""
    translator = service.shelf.load(service.shelf.find(body.model))
    decode = choose_search(translator, body.decode, service.limits)
    prefix = check_ids(translator, body.prefix)
    spans = translator.split(body.text)
    job.say("sentences", sentences=spans)
    told, made = [], list[Translation]()
    for number, span in enumerate(spans):
        forced = [] if number else _encode(translator, prefix)
        found = _search(job, translator, decode, body, number, span, forced)
        made += [
            compose(
                body.text[slice(*span)],
                [(0, span[1] - span[0])],
                [found],
                translator.tokenizers.target,
            )
        ]
        told.append(_tell_found(translator, found))
        job.say("sentence", sentence=number, **told[-1])
    joined, _ = join(body.text if body.text.strip() else "", spans, [each["text"] for each in told])
    judged = judge(body.text, [assemble(body.text, spans, made)], Familiarity(translator))
    checked = {name: judged.to_json()[name] for name in ("confidence", "problems")}
    return {"translation": joined, **checked, "sentences": told}


def _search(
    job: Job,
    translator: Translator,
    decode: Decode,
    body: StreamRequest,
    number: int,
    span: tuple[int, int],
    forced: list[int],
) -> Hypothesis:
    pieces = read_source(translator, body.text[slice(*span)])
    job.say("source", sentence=number, pieces=[piece.model_dump() for piece in pieces])
    network = Overheard(translator.model, body.candidates, decode)
    steps = 0

    def watch(_: list[int], step: Step) -> None:
        nonlocal steps
        job.say(
            "step",
            sentence=number,
            step=steps,
            **_tell_step(translator, step, network.candidates(step)),
        )
        steps += 1

    with torch.inference_mode():
        ((found,),) = search(
            network,
            [[piece.id for piece in pieces]],
            decode,
            prefixes=[forced],
            lines=[number],
            seed=body.seed,
            longest=translator.longest,
            device=translator.device,
            watch=watch,
        )
    return found


def _tell_step(
    translator: Translator, step: Step, candidates: list[tuple[int, float]]
) -> dict[str, Any]:
    tokenizer = translator.tokenizers.target
    live = list[dict[str, Any]]()
    for each in step.candidates(0):
        if each.fate in (Fate.KEPT, Fate.STOPPED, Fate.FINISHED, Fate.CUT):
            past = step.before.pieces_BWL[0, each.parent].tolist()
            ids = [*past[len(past) - int(step.before.length_B[0]) :], each.piece]
            written = ids[:-1] if each.piece == EOS else ids
            live.append(
                {
                    "ids": ids,
                    "text": spell(tokenizer, written),
                    "log_prob": each.log_prob,
                    "score": each.score,
                    "finished": each.fate is Fate.FINISHED,
                }
            )
    best = live[0]
    return {
        "ids": best["ids"],
        "text": best["text"],
        "pieces": [tokenizer.piece(id) for id in best["ids"]],
        "log_prob": best["log_prob"],
        "candidates": tell_candidates(translator, candidates),
        "live": live,
    }


def tell_candidates(
    translator: Translator, candidates: list[tuple[int, float]]
) -> list[dict[str, Any]]:
    piece = translator.tokenizers.target.piece
    return [{"text": piece(id), "id": id, "log_prob": log_prob} for id, log_prob in candidates]


def _tell_found(translator: Translator, found: Hypothesis) -> dict[str, Any]:
    tokenizer = translator.tokenizers.target
    return {
        "text": spell(tokenizer, found.pieces),
        "ids": found.pieces,
        "pieces": [tokenizer.piece(id) for id in found.pieces],
        "piece_log_probs": found.piece_log_probs,
        "log_prob": found.log_prob,
        "score": found.score,
        "finished": found.finished,
    }


def _encode(translator: Translator, prefix: str | list[int]) -> list[int]:
    if isinstance(prefix, str):
        prefix = translator.tokenizers.target.encode(prefix)
    if len(prefix) >= translator.longest:
        raise Refusal(400, f"prefix: at most {translator.longest - 1} pieces")
    return prefix
