"""Routes /api/translate, whose search is streamed step by step, and /api/samples: random ones."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from itertools import count
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request, Response

from glassformer.config import EOS, Decode
from glassformer.decode.sentences import penalise_length
from glassformer.see.tokens import read_source, spell_tokens
from glassformer.translate.checking import join_checked
from glassformer.translate.options import SearchOptions
from glassformer.translate.sentence import Sentence
from glassformer.translator import Translator

from ..api_error import ApiError
from ..request_log import LogEntry, TheLogEntry
from ..service.jobs import BackgroundJob
from ..service.service import Service, TheService
from ..service.streams import Json, stream_answer
from .models import check_ids
from .openapi import STREAM
from .requests import SamplesRequest, StreamRequest, check_text, check_text_size, read_search

if TYPE_CHECKING:  # a stream shows the search in PyTorch
    from glassformer.decode import Hypothesis, Step
    from glassformer.decode.run import Watch
    from glassformer.engine.weights import Engine
    from glassformer.see.edit import EditedSentence

router = APIRouter(tags=["translate"])


@router.post("/translate", response_class=Json, responses=STREAM)
async def stream_translation(
    body: StreamRequest, request: Request, service: TheService, entry: TheLogEntry
) -> Response:
    """Translate, and stream each step of the search with its likeliest tokens."""
    return await answer_text(body, request, service, entry, run_search)


async def answer_text(
    body: Any,
    request: Request,
    service: Service,
    entry: LogEntry,
    work: Callable[[BackgroundJob, Service, Any], dict[str, Any]],
) -> Response:
    """Answer with what a job makes of the text of a request, which is checked and logged."""
    check_text(body.text, service.limits)
    entry.note_texts([body.text])
    entry.note(models=[service.model_pool.find(body.model).id])
    return await stream_answer(request, service.jobs.start(lambda job: work(job, service, body)))


def run_search(job: BackgroundJob, service: Service, body: StreamRequest) -> dict[str, Any]:
    """Translate sentence by sentence and report each step; for a job's thread.

    The request's prefix is the beginning of the first sentence's translation.
    """
    translator = service.model_pool.load(service.model_pool.find(body.model))
    decode = read_search(translator, body.decode, service.limits)
    prefix = check_ids(translator, body.prefix)
    begins = [prefix] if isinstance(prefix, str) else None
    (sentences,) = translator.reader.read([body.text], prefixes=begins)
    job.say("sentences", sentences=[each.span for each in sentences])
    answers, translated = list[dict[str, Any]](), list[Sentence]()
    for number, sentence in enumerate(sentences):
        forced = [] if number else _encode(translator, sentence, prefix)
        hypothesis = _search(job, translator, decode, body, sentence, forced)
        written = translator.writer.write(sentence._replace(hypotheses=[hypothesis]))
        translated.append(translator.checker.check(written))
        answers.append(_describe_hypothesis(translator, hypothesis))
        job.say("sentence", sentence=number, **answers[-1])
    checked = join_checked(body.text, translated, SearchOptions(decode))
    about = {name: checked.to_json()[name] for name in ("confidence", "problems")}
    return {"translation": checked.best[0].text, **about, "sentences": answers}


def _search(
    job: BackgroundJob,
    translator: Translator,
    decode: Decode,
    body: StreamRequest,
    sentence: Sentence,
    forced: list[int],
) -> Hypothesis:
    """Return the best translation of a sentence; PyTorch tells the steps on the way to it."""
    tokens, number = read_source(translator, translator.reader.extend(sentence)), sentence.part
    job.say("source", sentence=number, tokens=[token.model_dump() for token in tokens])
    source, reader = [token.id for token in tokens], translator.reader
    options: dict[str, Any] = {"prefixes": [forced], "lines": [number], "seed": body.seed}
    options |= {"longest": reader.longest, "budget": translator.searcher.budget}
    options |= {"lengths": lengths} if (lengths := reader.count_lengths([source])) else {}
    if find_spec("torch") is None:
        engine = translator.searcher.choose_engine(decode)
    else:
        engine, options["watch"] = _watch_search(job, translator, decode, body.candidates, number)
    ((best,),) = engine.search([source], decode, n_best=1, workers=1, progress=None, **options)
    return best


def _watch_search(
    job: BackgroundJob, translator: Translator, decode: Decode, most: int, number: int
) -> tuple[Engine, Watch]:
    """Return an engine in PyTorch, and what tells the steps of its search."""
    from glassformer.engine.conventions import ConventionEngine
    from glassformer.engine.torch_engine import TorchEngine
    from glassformer.see.search_networks import LogitsKeeper

    network, steps = LogitsKeeper(translator.model, most, decode), count()

    def watch(_: list[int], step: Step) -> None:
        facts = _describe_step(translator, step, network.candidates(step), decode)
        job.say("step", sentence=number, step=next(steps), **facts)

    engine = TorchEngine(translator.model, network, "fp32", translator.device)
    has_eos = translator.config.text.source_eos
    return ConventionEngine(engine, translator.reader.begin, has_eos), watch


def _describe_step(
    translator: Translator, step: Step, candidates: list[tuple[int, float]], decode: Decode
) -> dict[str, Any]:
    from glassformer.decode import Fate

    tokenizer, before = translator.tokenizers.target, step.before
    first = before.tokens_BWL.size(-1) - int(before.length_B[0]) + len(translator.reader.begin)
    forced = before.token_log_probs_BWL[0, 0, :first].sum().item()
    hypotheses = list[dict[str, Any]]()
    shown = Fate.KEPT, Fate.STOPPED, Fate.FINISHED, Fate.CUT
    for each in step.candidates(0):
        if each.fate in shown:
            ids = [*before.tokens_BWL[0, each.parent, first:].tolist(), each.token]
            written = ids[:-1] if each.token == EOS else ids
            log_prob = each.log_prob - forced
            hypotheses.append(
                {
                    "ids": ids,
                    "text": spell_tokens(tokenizer, written),
                    "log_prob": log_prob,
                    "score": log_prob / penalise_length(max(1, len(ids)), decode),
                    "finished": each.fate is Fate.FINISHED,
                }
            )
    best = hypotheses[0]
    return {
        "ids": best["ids"],
        "text": best["text"],
        "tokens": [tokenizer.token(id) for id in best["ids"]],
        "log_prob": best["log_prob"],
        "candidates": describe_candidates(translator, candidates),
        "hypotheses": hypotheses,
    }


def describe_candidates(
    translator: Translator, candidates: list[tuple[int, float]]
) -> list[dict[str, Any]]:
    token = translator.tokenizers.target.token
    return [{"text": token(id), "id": id, "log_prob": log_prob} for id, log_prob in candidates]


def _describe_hypothesis(translator: Translator, hypothesis: Hypothesis) -> dict[str, Any]:
    tokenizer = translator.tokenizers.target
    return {
        "text": spell_tokens(tokenizer, hypothesis.tokens),
        "ids": hypothesis.tokens,
        "tokens": [tokenizer.token(id) for id in hypothesis.tokens],
        "token_log_probs": hypothesis.token_log_probs,
        "log_prob": hypothesis.log_prob,
        "score": hypothesis.score,
        "finished": hypothesis.finished,
    }


def _encode(translator: Translator, sentence: Sentence, prefix: str | list[int]) -> list[int]:
    if isinstance(prefix, str):
        (prefix,) = translator.reader.encode_prefixes([sentence], [prefix])
    if len(prefix) >= translator.reader.longest:
        raise ApiError(400, f"prefix: at most {translator.reader.longest - 1} tokens")
    return prefix


@router.post("/samples", response_class=Json, responses=STREAM)
async def sample_translations(
    body: SamplesRequest, request: Request, service: TheService, entry: TheLogEntry
) -> Response:
    """Draw translations of one sentence; `texts` has each as often as it was drawn."""
    return await answer_text(body, request, service, entry, draw_translations)


def draw_translations(job: BackgroundJob, service: Service, body: SamplesRequest) -> dict[str, Any]:
    """Draw the translations, all in one batch; for a job's thread."""
    translator = service.model_pool.load(service.model_pool.find(body.model))
    decode = read_search(translator, {**body.decode, "search": "sample"}, service.limits)
    check_text_size(translator, body.text, service.limits)
    job.check()
    from glassformer.see.edit import prepare_edits
    from glassformer.see.recording import record

    edited = prepare_edits(translator, body.text, "", body.edits, record)
    return {"texts": _draw_samples(translator, edited, decode, body.count, body.seed)}


def _draw_samples(
    translator: Translator, edited: EditedSentence, decode: Decode, count: int, seed: int
) -> list[str]:
    """Return `count` translations of a sentence that are drawn at random, under its edits.

    All are drawn in one batch, so an edit that needs a pass without KV cache raises ValueError.
    """
    import torch

    from glassformer.decode import search
    from glassformer.foundation.machine.device import autocast
    from glassformer.see.search_networks import UncachedNetwork

    source = [token.id for token in edited.source]
    with (
        torch.inference_mode(),
        autocast(translator.weights.exact, translator.device),
        edited.network() as network,
    ):
        if isinstance(network, UncachedNetwork):
            raise ValueError("samples are drawn together: not under an edit of single positions")
        results = search(
            network,
            [source] * count,
            decode,
            prefixes=[translator.reader.begin] * count,
            lengths=translator.reader.count_lengths([source] * count),
            lines=range(count),
            seed=seed,
            longest=translator.reader.longest,
            device=translator.device,
        )
    return [spell_tokens(translator.tokenizers.target, each[0].tokens) for each in results]
