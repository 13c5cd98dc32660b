"""Read a checkpoint of fairseq: `checkpoint_best.pt` or `model.pt`, with dict.XX.txt beside it."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from torch import Tensor

from glassformer.extensions.foreign_tokenizers.subwords import choose_subwords
from glassformer.foundation.disk import read_text

from .foreign import Foreign, ForeignSide
from .pickles import check_weights, read_pickle, unwrap_settings

NAMES = ("checkpoint_best.pt", "model.pt", "checkpoint_last.pt")
# What encoder layers of 0.12 have a second time, for a fast path.
TWICE = re.compile(r"encoder\.layers\.\d+\.(in_proj|out_proj|fc1|fc2)_(weight|bias)")
# The norms of a layer in the checkpoints of 2018.
NORMS = {
    "encoder": ("self_attn_layer_norm", "final_layer_norm"),
    "decoder": ("self_attn_layer_norm", "encoder_attn_layer_norm", "final_layer_norm"),
}


def read_fairseq(path: Path, subwords: Sequence[str] = ()) -> Foreign:
    """Return the model. ValueError, in one sentence, for what cannot be imported."""
    folder = path if path.is_dir() else path.parent
    file = path if path.is_file() else _find(folder)
    result = read_pickle(file)
    cfg = unwrap_settings(result.get("cfg"))
    settings = unwrap_settings(result.get("args")) or unwrap_settings(cfg.get("model"))
    task = {**settings, **unwrap_settings(cfg.get("task"))}
    if not settings:
        raise ValueError(f"{file}: no settings of fairseq: neither args nor cfg")
    for side in ("normalize_before", "attention_heads", "ffn_embed_dim", "learned_pos"):
        both = [settings.get(f"{part}_{side}") for part in ("encoder", "decoder")]
        if None not in both and both[0] != both[1]:
            raise ValueError(f"{file}: encoder_{side} and decoder_{side} differ: {both}")
    learned = bool(settings.get("encoder_learned_pos"))
    reach = (settings.get(f"max_{side}_positions") or 1024 for side in ("source", "target"))
    positions = {"layout": "concatenated", "grid": "tensor2tensor", "offset": 2}
    if learned:
        positions = {"layout": "learned"}
    languages = {f"{side}_lang": task.get(f"{side}_lang") for side in ("source", "target")}
    sides = [
        _read_side(folder, side, languages[f"{side}_lang"], subwords)
        for side in ("source", "target")
    ]
    return Foreign(
        "fairseq",
        file,
        dict(_rename_old(check_weights(file, result.get("model")))),
        settings,
        sides,
        model={"positions": {**positions, "max_positions": min(reach)}},
        is_scaled=not settings.get("no_scale_embedding"),
        skipped=2 if learned else 0,
        data={name: code for name, code in languages.items() if code},
    )


def _find(folder: Path) -> Path:
    files = [folder / name for name in NAMES if (folder / name).is_file()]
    if not (files := files or sorted(folder.glob("*.pt"))):
        raise ValueError(f"{folder} has no checkpoint of fairseq, like {NAMES[0]}")
    return files[0]


def _read_side(
    folder: Path, side: str, language: str | None, subwords: Sequence[str]
) -> ForeignSide:
    """Return one side: <s>, <pad>, </s>, <unk>, then the lines of its dictionary."""
    files = sorted(folder.glob("dict.*.txt"))
    own = [file for file in files if file.name == f"dict.{language}.txt"]
    if not own and len(files) != 1:
        there = ", ".join(file.name for file in files) or "none"
        raise ValueError(f"{folder}: no dict.{language or 'XX'}.txt for the {side} side: {there}")
    lines = read_text((own or files)[0]).split("\n")
    tokens = [line.removesuffix(" #fairseq:overwrite").rsplit(" ", 1)[0] for line in lines if line]
    everything = ["<s>", "<pad>", "</s>", "<unk>", *tokens]
    cut = choose_subwords(folder, side, subwords)
    return ForeignSide(everything, pad=1, start=2, end=2, unknown=3, cut=cut)


def _rename_old(weights: dict[str, Tensor]) -> Any:
    """Yield weights under the names that newer checkpoints have."""
    for name, weight in weights.items():
        if TWICE.fullmatch(name):
            continue
        if match := re.fullmatch(r"(.+attn\.)in_proj_(weight|bias)", name):
            for part, own in zip("qkv", weight.chunk(3), strict=True):
                yield f"{match[1]}{part}_proj.{match[2]}", own
        elif match := re.fullmatch(r"((\w+)\.layers\.\d+\.)layer_norms\.(\d)\.(\w+)", name):
            yield f"{match[1]}{NORMS[match[2]][int(match[3])]}.{match[4]}", weight
        elif not name.endswith(("version", "_float_tensor")):
            yield name, weight
