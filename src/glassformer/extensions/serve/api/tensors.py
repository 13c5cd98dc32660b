"""Routes /api/traces/{id}/...: the tensors of a recording, and explanations of their cells."""

import heapq
from collections.abc import Container
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Response

from glassformer.see.catalogue import look_up
from glassformer.see.derive import group_words
from glassformer.see.document import belongs, find_level
from glassformer.see.explain import Explanation
from glassformer.see.opgraph import Equation
from glassformer.see.wording import find_side, to_formula

from ..api_error import ApiError
from ..page import describe_equation
from ..service.arrays import cut_slice, pack_array, pack_many
from ..service.service import TheTrace
from ..service.streams import Json

router = APIRouter(prefix="/traces/{id}", tags=["numbers"])
Most = Annotated[int, Query(ge=1, le=100_000)]


@router.get("/tensors/{name}", response_class=Response)
def get_tensor(name: str, trace: TheTrace, slice: str = "") -> Response:
    """Return a tensor of any kind, or a slice of it, as little-endian float32.

    It may be recorded, derived, an input or a parameter.
    """
    return pack_array(cut_slice(_fetch(trace, name), slice), name)


@router.get("/tensors", response_class=Response)
def get_tensors(
    trace: TheTrace,
    names: str = "",
    level: Literal["attention", "states", "everything"] | None = None,
) -> Response:
    """Return several tensors, by their names or all of a level, as one safetensors file."""
    tensors = [name for name in names.split(",") if name]
    if level:
        tensors += [name for name in trace.names() if belongs(name, level)]
    if not tensors:
        raise ApiError(400, "give names=a,b,c or level=attention")
    return pack_many({name: _fetch(trace, name) for name in dict.fromkeys(tensors)})


@router.get("/opgraph", response_class=Json)
def get_opgraph(trace: TheTrace) -> Response:
    """Return the equation of each tensor, in the order of computation."""
    return Json({"ops": [_describe_op(op, trace.tensors) for op in trace.graph.values()]})


@router.get("/explain", response_class=Json)
def explain_cell(trace: TheTrace, name: str, index: str = "", most: Most = 2048) -> Response:
    """Return how one number was computed: its terms, and the chain down to a token or position."""
    try:
        places = [int(part) for part in index.split(",") if part.strip()]
    except ValueError:
        raise ApiError(400, f"index={index}: whole numbers with commas between them") from None
    _fetch(trace, name)
    explanation = trace.explain(name, places)
    shown, left_out = _shorten(explanation.to_json(), most)
    entry = look_up(explanation.name, explanation.op.module)
    return Json(
        {
            **shown,
            "kind": explanation.op.kind,
            "latex": explanation.to_latex(),
            "numpy": explanation.to_numpy(),
            "text": explanation.to_text(),
            "axes": _locate(explanation),
            "chain": [
                {"name": step.name, "index": step.index, "value": step.value}
                for step in explanation.chain
            ],
            "links": entry and entry._asdict(),
            "left_out": left_out,
        }
    )


@router.get("/top")
def get_top(
    trace: TheTrace, step: int, k: Annotated[int, Query(ge=1, le=1000)] = 10
) -> dict[str, Any]:
    """Return the most probable next tokens of a row of the decoder."""
    return {"choices": [choice._asdict() for choice in trace.top(step, k)]}


@router.get("/words")
def get_words(
    trace: TheTrace, side: Literal["source", "target", "predicted"] = "source"
) -> dict[str, Any]:
    """Return the indices of the tokens of each word."""
    text = trace.text if side == "source" else trace.translation
    return {"words": group_words(getattr(trace, side), text)}


def _fetch(trace: Any, name: str) -> Any:
    try:
        return trace[name]
    except ValueError as error:
        raise ApiError(404, str(error)) from None


def _describe_op(op: Equation, recorded: Container[str]) -> dict[str, Any]:
    level = find_level(op.name) if op.name in recorded else None
    return {**describe_equation(op), "formula": to_formula(op), "level": level}


def _locate(explanation: Explanation) -> list[dict[str, Any]]:
    """Return the index of the cell on each axis, with the token there if there is one."""
    trace, located = explanation.trace, []
    for axis, index in zip(explanation.op.axes, explanation.index, strict=False):
        side = find_side(explanation.name, axis.dim)
        token = getattr(trace, side)[index].text if side else None
        if axis.dim == "vocabulary" and trace.vocabulary is not None:
            token = trace.vocabulary[index]
        located.append({"dim": axis.dim, "index": index, "token": token})
    return located


def _shorten(shown: dict[str, Any], most: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return an explanation with the `most` largest terms, in order, and what was left out.

    Each term keeps its first `most` operands.
    """
    terms = [{**term, "index": index} for index, term in enumerate(shown["terms"])]
    total = sum(term["value"] for term in terms)
    kept = heapq.nlargest(most, terms, key=lambda term: abs(term["value"]))
    kept.sort(key=lambda term: term["index"])
    left = {"terms": len(terms) - len(kept), "sum": 0.0, "operands": 0}
    if left["terms"]:
        left["sum"] = total - sum(term["value"] for term in kept)
    for term in kept:
        left["operands"] += max(0, len(term["operands"]) - most)
        term["operands"] = term["operands"][:most]
    return {**shown, "terms": kept}, left
