"""Routes /api/traces/{id}/derive, heads and cuts: measures of a recording, of heads and words."""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from fastapi import APIRouter, Request, Response

from glassformer.see import derive
from glassformer.see.trace import Trace
from glassformer.see.wording import find_side
from glassformer.translator import Translator

from ..api_error import ApiError, refuse_missing
from ..service.arrays import Array, pack_array
from ..service.jobs import BackgroundJob
from ..service.service import Service, TheService, TheTrace
from ..service.streams import Json, stream_answer
from .openapi import STREAM
from .requests import CircuitRequest, CutsRequest, GradientsRequest, HeadsRequest

router = APIRouter(tags=["derived"])


def _entropy(trace: Trace, block: str) -> Array:
    """Return the entropy of the attention of each head and query: -Σ w ln w."""
    return derive.entropy(_weights(trace, block))


def _mean(trace: Trace, block: str) -> Array:
    """Return the mean of the attention of all heads; rows sum to 1."""
    return derive.mean_over_heads(_weights(trace, block))


def _max(trace: Trace, block: str) -> Array:
    """Return the largest attention of any head; rows do not sum to 1."""
    return derive.max_over_heads(_weights(trace, block))


def _values(trace: Trace, block: str) -> Array:
    """Return each weight times the norm of its value vector (Kobayashi et al. 2020)."""
    _weights(trace, block)
    return derive.weigh_values(trace, block)


def _rollout(trace: Trace, side: str = "encoder") -> Array:
    """Return attention rollout through all layers (Abnar and Zuidema 2020)."""
    if side not in ("encoder", "decoder"):
        raise ApiError(400, f"side={side}: one of encoder, decoder")
    return derive.roll_out(trace, side)


def _word_weights(trace: Trace, block: str) -> Array:
    """Return attention between words: summed over a key's tokens, averaged over a query's."""
    weights = _weights(trace, block)
    queries, keys = (_group(trace, find_side(f"{block}.weights", dim)) for dim in ("query", "key"))
    return derive.merge_words(weights, queries, keys)


def _entropies(trace: Trace) -> dict[str, Any]:
    """Return the mean entropy of each head, for all blocks."""
    blocks = [name.removesuffix(".weights") for name in trace.names() if name.endswith(".weights")]
    means = {block: _entropy(trace, block).mean(-1).tolist() for block in blocks}
    return {"blocks": means}


def _lens(trace: Trace, k: str = "5", row: str = "", ids: str = "") -> dict[str, Any]:
    """Return the logit lens: each layer's most probable tokens (nostalgebraist 2020).

    row: of the decoder; without it, all. ids: tokens whose log-probabilities are told too, as
    "12,7"; they stand behind the most probable ones.
    """
    rows = [_number("row", row, 0, len(trace.target) - 1)] if row else None
    size = trace["logits"].shape[-1]
    chosen = [_number("ids", each, 0, size - 1) for each in ids.split(",")] if ids else []
    logits = derive.read_lens(trace, rows).astype(np.float64)
    logits -= np.logaddexp.reduce(logits, axis=-1, keepdims=True)
    most = min(_number("k", k, 1), logits.shape[-1])
    best = np.argsort(-logits, axis=-1, kind="stable")[..., :most]
    names = trace.vocabulary

    def tell(row: Array, ids: Array) -> list[dict[str, Any]]:
        return [
            {"text": names[id] if names else None, "id": id, "log_prob": float(row[id])}
            for id in ids.tolist()
        ]

    facts = np.broadcast_to(np.array(chosen, int), (*best.shape[:2], len(chosen)))
    pairs = zip(logits, np.concatenate((best, facts), -1), strict=True)
    return {"layers": [[tell(*pair) for pair in zip(*layer, strict=True)] for layer in pairs]}


def _logit(trace: Trace, row: str, token: str) -> dict[str, Any]:
    """Return how much each head and block adds directly to one logit; the parts sum to it."""
    logits = trace["logits"]
    at = [
        _number(name, text, 0, size - 1)
        for name, text, size in zip(("row", "token"), (row, token), logits.shape, strict=True)
    ]
    parts = derive.attribute_logit(trace, *at)
    return {"parts": parts, "sum": sum(parts.values()), "logit": float(logits[*at])}


DERIVED: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {
    "entropy": (_entropy, ("head", "query")),
    "mean": (_mean, ("query", "key")),
    "max": (_max, ("query", "key")),
    "values": (_values, ("head", "query", "key")),
    "rollout": (_rollout, ("position", "position read")),
    "word_weights": (_word_weights, ("head", "word of queries", "word of keys")),
    "entropies": (_entropies, ()),
    "lens": (_lens, ()),
    "logit": (_logit, ()),
}


@router.get("/derive")
def list_derived() -> dict[str, Any]:
    """List the measures that can be derived from a recording, each with its definition."""
    return {
        "derived": [
            {
                "name": name,
                "parameters": _parameters(function),
                "dims": list(dims),
                "answer": "binary" if dims else "json",
                "about": inspect.getdoc(function),
            }
            for name, (function, dims) in DERIVED.items()
        ]
    }


@router.get("/traces/{id}/derive/{what}", response_class=Response)
def get_derived(what: str, request: Request, trace: TheTrace) -> Response:
    """Return a derived tensor as little-endian float32, or JSON if its numbers have names."""
    if what not in DERIVED:
        raise refuse_missing("derived", what, [*DERIVED])
    function, dims = DERIVED[what]
    query, known = dict(request.query_params), _parameters(function)
    for name in query.keys() - set(known):
        raise ApiError(400, f"{what} has no parameter {name}; it has {', '.join(known) or 'none'}")
    try:
        inspect.signature(function).bind(trace, **query)
    except TypeError as error:
        raise ApiError(400, f"{what}: {error}") from None
    result = function(trace, **query)
    return pack_array(result, what) if dims else Json(result)


def _parameters(function: Callable[..., Any]) -> list[str]:
    return [*inspect.signature(function).parameters][1:]


def _weights(trace: Trace, block: str) -> Array:
    try:
        return trace[f"{block}.weights"]
    except ValueError:
        blocks = [
            name.removesuffix(".weights") for name in trace.names() if name.endswith(".weights")
        ]
        raise refuse_missing("block", block, blocks) from None


def _group(trace: Trace, side: str | None) -> list[list[int]]:
    """Return the words of one side, as groups of rows; a decoder row counts for its input token."""
    is_source = side == "source"
    tokens = trace.source if is_source else trace.target
    return derive.group_words(tokens, trace.text if is_source else trace.translation)


def _number(name: str, text: str, least: int, most: int = 1 << 30) -> int:
    try:
        number = int(text)
    except ValueError:
        raise ApiError(400, f"{name}={text}: a whole number is needed") from None
    if not least <= number <= most:
        raise ApiError(400, f"{name}={text} is out of range: {least} to {most}")
    return number


@router.post("/traces/{id}/heads", response_class=Json, responses=STREAM)
async def weigh_heads(
    id: str, body: HeadsRequest, request: Request, service: TheService
) -> Response:
    """Silence each head on its own, and score the recorded translation again.

    `lead`: ln(p(token) / p(rival)) with all heads; `leads`: the same without each head, block by
    block.
    """

    def measure(job: BackgroundJob, translator: Translator, trace: Trace) -> dict[str, Any]:
        from glassformer.extensions.lab.contributions import silence_each

        silenced = silence_each(translator, trace, body.step, body.rival, job.check)
        token = translator.tokenizers.target.token
        return {
            "step": silenced.step,
            "token": {"id": silenced.token, "text": token(silenced.token)},
            "rival": {"id": silenced.rival, "text": token(silenced.rival)},
            "lead": silenced.lead,
            "leads": {block: leads.tolist() for block, leads in silenced.leads.items()},
        }

    return await _run_again(id, request, service, measure)


@router.post("/traces/{id}/cuts", response_class=Json, responses=STREAM)
async def weigh_words(
    id: str, body: CutsRequest, request: Request, service: TheService
) -> Response:
    """Cut groups of source tokens, each on its own, and score the recorded translation again.

    `log_probs`: of the tokens of `rows` together, without each group.
    """

    def measure(job: BackgroundJob, translator: Translator, trace: Trace) -> dict[str, Any]:
        from glassformer.extensions.lab.contributions import cut_each

        return {"log_probs": cut_each(translator, trace, body.rows, body.groups)}

    return await _run_again(id, request, service, measure)


@router.post("/traces/{id}/gradients", response_class=Json, responses=STREAM)
async def weigh_tokens(
    id: str, body: GradientsRequest, request: Request, service: TheService
) -> Response:
    """Attribute the tokens of `rows` to those of the source and of the translation so far.

    `gradient` (times input) and `integrated` gradients have a number for each token of both sides.
    The integrated ones sum to `log_prob` - `baseline` + `gap`: what ln p gains where vectors of
    zeros become the tokens.
    """

    def measure(job: BackgroundJob, translator: Translator, trace: Trace) -> dict[str, Any]:
        from glassformer.extensions.lab.contributions import attribute_gradients

        return attribute_gradients(translator, trace, body.rows).to_json()

    return await _run_again(id, request, service, measure)


@router.post("/traces/{id}/circuit", response_class=Json, responses=STREAM)
async def search_token_circuit(
    id: str, body: CircuitRequest, request: Request, service: TheService
) -> Response:
    """Search the fewest edges that make a token likelier than its rival, or measure some edges.

    `lead`: ln(p(token) / p(rival)); `there`: the same in the counterpart; `foretold`: what an exact
    sum says of that, null without a counterpart; `found`: the circuit, what it keeps, and what
    random ones do. With `edges`, `kept` alone. `refused`: why there is none.
    """

    def measure(job: BackgroundJob, translator: Translator, trace: Trace) -> dict[str, Any]:
        from glassformer.extensions.circuits.examples import list_examples, record_questions
        from glassformer.extensions.circuits.interactive import Unanswerable, ask_circuit
        from glassformer.see.tokens import read_source

        ids, sentences = None, []
        if body.counterpart is None:
            sentences = record_questions(translator, list_examples(translator.weights.folder))
        else:
            ids = [each.id for each in read_source(translator, body.counterpart)]
        question = ask_circuit(trace, body.step, body.rival, ids, sentences, by_head=body.by_head)
        if isinstance(question, Unanswerable):
            return question.to_json()
        if body.edges is not None:
            return {"kept": question.keep(body.edges)}
        texts = map(translator.tokenizers.target.token, question.contrast.answers)
        return dict(zip(("word", "rival"), texts, strict=True)) | question.search(job.check)

    return await _run_again(id, request, service, measure)


async def _run_again(
    id: str,
    request: Request,
    service: Service,
    measure: Callable[[BackgroundJob, Translator, Trace], dict[str, Any]],
) -> Response:
    """Answer with what a job measures on a recording, running its model again.

    Raises ApiError if the recording was uploaded: then its model is not here.
    """
    kept = service.recordings.find(id)
    if kept.model is None:
        raise ApiError(400, "this recording was uploaded: its model is not here")
    model = service.model_pool.find(kept.model)

    def work(job: BackgroundJob) -> dict[str, Any]:
        translator = service.model_pool.load(model)
        job.check()
        return measure(job, translator, kept.trace)

    return await stream_answer(request, service.jobs.start(work))
