"""The command `glassformer publish`: a copy of a model without its training."""

from __future__ import annotations

from pathlib import Path

from .options import AS_JSON, MODEL, flag, opt
from .terminal import to_json


def publish(
    model: Path = MODEL,
    out: Path = opt("FOLDER", "Where the copy goes: a new folder.", default=...),
    int8: bool = flag("Store the weights in int8: a quarter of fp32, and a little coarser."),
    as_json: bool = AS_JSON,
) -> None:
    """Copy a model without its training: no checkpoints, no training text, no validation text.

    The copy is checked as doctor does it, and what it still tells of the data is said.

    \b
    glassformer publish my-model --out my-published-model
    glassformer publish my-model --out my-small-model --int8
    """
    from ..publish.publishing import publish_model as copy

    found = copy(model, out, int8=int8)
    print(to_json(found.to_json()) if as_json else f"{out}: {found}")
