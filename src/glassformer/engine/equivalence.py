"""The test that the engine computes the same as `model/`, whose code a user may have changed.

It runs on a few tokens, once for each shape of network and each state of the code; the result is
kept in the measurement cache.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from pathlib import Path

import torch

from ..config import Model
from ..model import EncoderDecoder
from .engine import Engine, Read
from .measurement_cache import recall, remember

SAME = 1e-3  # as a share of the largest logit; another order of rounding changes about 1e-6
APART = 1e9  # the difference where the engine cannot be built
FIRST, LAST = 3, 20  # ids that every vocabulary has


def is_faithful(settings: Model, read: Read, load: Callable[[], EncoderDecoder]) -> bool:
    """Return whether the engine's logits are those of the network.

    If not, say so once on stderr: translations then run on `model/`.
    """
    key = f"apart {hash_code()} {settings.model_dump_json()}"
    known = recall(key)
    if known is None:
        known = {"logits": compare_engines(settings, read, load())}
        remember(key, known)
        if known["logits"] > SAME:
            said = "the network is another than the packed one: it translates as it is, slower"
            print(f"glassformer: {said}", file=sys.stderr)
    return known["logits"] <= SAME


@torch.inference_mode()
def compare_engines(settings: Model, read: Read, network: EncoderDecoder) -> float:
    """Return the largest difference of logits, as a share of the largest logit."""
    try:
        engine = Engine(settings, read)
        ids = torch.Generator().manual_seed(1)
        source_BS = torch.randint(FIRST, LAST, (2, 7), generator=ids)
        target_BT = torch.randint(FIRST, LAST, (2, 5), generator=ids)
        found = engine.step(target_BT, engine.start(source_BS))
    except (LookupError, RuntimeError, ValueError):  # a weight is missing or has another shape
        return APART
    device = next(network.parameters()).device
    wanted = network.step(target_BT.to(device), network.start(source_BS.to(device))).cpu()
    apart = float((found - wanted).abs().max() / wanted.abs().max().clamp(min=1))
    return apart if apart == apart else APART


@cache
def hash_code() -> str:
    """Return a hash of PyTorch's version and of all code that decides what is computed."""
    package = Path(__file__).parents[1]
    digest = sha256(torch.__version__.encode())
    for folder in ("model", "engine", "kernels"):
        for path in sorted((package / folder).rglob("*.*")):
            if path.suffix in (".py", ".c", ".h"):
                digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
