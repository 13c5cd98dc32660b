"""Read the weights of a MarianMT checkpoint, and rename them to ours."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor

from ..compatibility.other_folders import is_pointer, tell_pointer
from ..config import BOS
from ..model import Transformer
from ..weights.tensors import load_tensors

NEVER = -200.0  # a bias that makes a token's probability 0 in fp32

ATTENTION = {
    "to_query": "q_proj",
    "to_key": "k_proj",
    "to_value": "v_proj",
    "to_output": "out_proj",
}
LAYER = {
    **{f"self_attention.{ours}": f"self_attn.{theirs}" for ours, theirs in ATTENTION.items()},
    **{f"cross_attention.{ours}": f"encoder_attn.{theirs}" for ours, theirs in ATTENTION.items()},
    "feed_forward.inner": "fc1",
    "feed_forward.outer": "fc2",
    "self_attention_residual.norm": "self_attn_layer_norm",
    "cross_attention_residual.norm": "encoder_attn_layer_norm",
    "feed_forward_residual.norm": "final_layer_norm",
}
SOURCE = ("model.shared.weight", "model.encoder.embed_tokens.weight")
TARGET = ("model.shared.weight", "model.decoder.embed_tokens.weight", "lm_head.weight")

Weights = dict[str, Tensor]


def read_weights(folder: Path) -> tuple[Path, Weights]:
    """Return the file that has the weights, and the weights by name.

    A pickle is read as data only. Raises ValueError if it is anything else, or if there is no file.
    """
    path, old = folder / "model.safetensors", folder / "pytorch_model.bin"
    for pointer in filter(is_pointer, (path, old)):
        raise ValueError(tell_pointer(pointer))
    if path.is_file():
        return path, load_tensors(path)
    if not old.is_file():
        raise ValueError(f"{folder} has no weights: neither {path.name} nor {old.name}")
    try:
        found = torch.load(old, map_location="cpu", weights_only=True)
    except Exception as error:  # a file that is no pickle may raise anything
        raise ValueError(f"{old}: damaged, or more than weights: {error}".split("\n")[0]) from None
    if not isinstance(found, dict) or not all(isinstance(x, Tensor) for x in found.values()):
        raise ValueError(f"{old}: not weights by their names")
    return old, found


def rename(path: Path, found: Weights, rows: list[list[int]], network: Transformer) -> Weights:
    """Return the weights under the names of `network`, in its order of ids, in fp32.

    `rows`: for source and target, the row of the checkpoint's table for each of our ids.
    Raises ValueError if weights are missing, left over, of another shape, or not finite.
    """
    output = TARGET if network.settings.tie != "none" else ("lm_head.weight",)
    tables = {
        "source_embedding.table": (SOURCE, rows[0]),
        "target_embedding.table": (TARGET, rows[1]),
        "output_table": (output, rows[1]),
    }
    weights: Weights = {}
    left = {name for name in found if ".layers." in name}
    for name, value in network.state_dict().items():
        part, _, kind = name.rpartition(".")
        if name == "output_bias":
            none = torch.zeros(max(rows[1]) + 1)
            weight = _choose(path, found.get("final_logits_bias", none).flatten(), rows[1])
            weight[BOS] = NEVER
        elif part in tables:
            theirs, chosen = tables[part]
            weight = _choose(path, _take(path, found, *theirs), chosen)
        else:
            side, layer, place = part.split(".", 2)
            theirs = (f"model.{side}.layers.{layer}.{LAYER[place]}.{kind}",)
            weight = _take(path, found, *theirs)
            left.discard(*theirs)
        if weight.shape != value.shape:
            there, here = list(weight.shape), list(value.shape)
            raise ValueError(f"{path}: {name} is {there}, but config.json says {here}")
        if not weight.is_floating_point() or not weight.isfinite().all():
            raise ValueError(f"{path}: {name} is not of finite floats")
        weights[name] = weight.float()
    if left:
        raise ValueError(f"{path}: {min(left)} is in no layer that config.json has")
    return weights


def _take(path: Path, found: Weights, *names: str) -> Tensor:
    for name in names:
        if name in found:
            return found[name]
    raise ValueError(f"{path}: {names[-1]} is missing")


def _choose(path: Path, found: Tensor, rows: list[int]) -> Tensor:
    """Return one row for each of our ids. Raises ValueError if the table has another size."""
    if len(found) != max(rows) + 1:
        raise ValueError(f"{path}: {len(found)} rows for {max(rows) + 1} tokens")
    return found[rows]
