"""Import of MarianMT checkpoints in Hugging Face's format, such as the OPUS-MT models.

Our ids begin with <pad>, <s>, </s>; then come the checkpoint's tokens in their order. Its decoder
starts with its <pad>, whose row becomes our <s>. The model computes the same as before, except
for one choice, the grid of the positions; see `Import`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..compatibility.other_folders import recognise
from ..config import Config
from ..directory import CARD, Tokenizers, build_model, save_model, write_text
from ..disk import prepare_beside
from ..model import Transformer
from ..text.layout import CONTROLS
from ..text.unigram import UNKNOWN
from ..typed_json import read_typed
from .checkpoint import read_weights, rename
from .parity import choose_by_parity, score_tokens, translate_with
from .sentencepiece import Sentencepiece

GRIDS = {"transformers": "paper", "marian": "tensor2tensor"}
ACTIVATIONS = {"swish": "silu", "silu": "silu", "relu": "relu", "gelu": "gelu"}
MOST = 50  # sentences on which the two grids are compared


@dataclass(frozen=True)
class Import:
    """The result of an import, and the effect of the choice of positional grid.

    Marian trains with exponents i/(d/2-1) ("marian"); `transformers` computes with 2i/d.
    """

    grid: str
    parameters: int
    sentences: int
    mean_difference: float  # of a token's log-probability between the two grids
    largest_difference: float

    def __str__(self) -> str:
        return (
            f"{self.parameters:,} parameters, grid {self.grid}; with the other grid, the "
            f"log-probability of a token differs by {self.mean_difference:.2g} on average, "
            f"{self.largest_difference:.2g} at most ({self.sentences} sentences)"
        )


def import_marian(
    folder: Path, out: Path, *, grid: str = "transformers", texts: Sequence[str] | None = None
) -> Import:
    """Make the new model directory `out` from a checkpoint.

    The two grids are compared on the first 50 of `texts`, or on random tokens without texts.
    Raises ValueError, in one sentence, for a checkpoint that cannot be imported.
    """
    if grid not in GRIDS:
        raise ValueError(f"grid={grid}: one of {', '.join(GRIDS)}")
    if out.exists():
        raise ValueError(f"{out} is there already: name a new folder")
    raw = _read_settings(folder)
    config = _translate_settings(folder, raw, grid)
    tokenizers, rows = _read_tokens(folder, raw)
    config = config.changed(text={"vocabulary": max(300, len(tokenizers.target)), "shared": False})
    network = build_model(config, tokenizers).eval()
    assert isinstance(network, Transformer)
    network.load_state_dict(rename(*read_weights(folder), rows, network))
    sources = choose_by_parity(tokenizers.source, config.model.positions.max_positions, texts)[
        :MOST
    ]
    found = _compare_grids(network, config, tokenizers, sources, grid)
    with prepare_beside(out) as scratch:
        whole = scratch / "model"
        save_model(whole, config, tokenizers, network.state_dict())
        write_text(whole / CARD, _CARD.format(name=folder.resolve().name, grid=grid))
        whole.rename(out)
    return found


_CARD = """# Model card

Imported from {name}, a MarianMT checkpoint, with the positional grid "{grid}".
Its licence, its data and its scores are those of that model; nothing was trained or measured here.
"""


def _read_settings(folder: Path) -> dict[str, Any]:
    """Return the settings of config.json.

    Raises ValueError that says what the folder is if it is no MarianMT checkpoint.
    """
    path = folder / "config.json"
    raw = read_typed(path, dict[str, Any]) if path.is_file() else {}
    if raw.get("model_type") != "marian" or (folder / "model.bin").is_file():
        said = f"{folder} is no MarianMT checkpoint: it has no {path.name} of the kind marian"
        raise ValueError(recognise(folder) or said)
    return raw


def _translate_settings(folder: Path, raw: Mapping[str, Any], grid: str) -> Config:
    path = folder / "config.json"
    wanted = {
        "normalize_before": False,
        "normalize_embedding": False,
        "add_final_layer_norm": False,
        "static_position_embeddings": True,
        "scale_embedding": True,
        "decoder_attention_heads": raw.get("encoder_attention_heads"),
        "decoder_ffn_dim": raw.get("encoder_ffn_dim"),
    }
    for key, value in wanted.items():
        if raw.get(key, value) != value:
            raise ValueError(f"{path}: {key}={raw[key]}: only models with {value} can be imported")
    activation = raw.get("activation_function")
    if activation not in ACTIVATIONS:
        known = ", ".join(ACTIVATIONS)
        raise ValueError(f"{path}: activation_function={activation}: known are {known}")
    shared = raw.get("share_encoder_decoder_embeddings", True)
    tied = raw.get("tie_word_embeddings", True)
    search = raw
    if (folder / "generation_config.json").is_file():
        search = {**raw, **read_typed(folder / "generation_config.json", dict[str, Any])}
    try:
        model = {
            "d_model": raw["d_model"],
            "d_ff": raw["encoder_ffn_dim"],
            "heads": raw["encoder_attention_heads"],
            "encoder_layers": raw["encoder_layers"],
            "decoder_layers": raw["decoder_layers"],
            "dropout": raw.get("dropout", 0.1),
            "activation": ACTIVATIONS[activation],
            "tie": "none" if not tied else "three-way" if shared else "two-way",
            "output_bias": True,
            "positions": {
                "layout": "concatenated",
                "grid": GRIDS[grid],
                "max_positions": raw["max_position_embeddings"],
            },
        }
    except KeyError as error:
        raise ValueError(f"{path}: {error.args[0]} is missing") from None
    beam, alpha = search.get("num_beams") or 1, search.get("length_penalty") or 1.0
    decode = {"search": "beam", "beam": beam, "length_penalty": "power", "alpha": alpha}
    languages = _read_languages(folder / "tokenizer_config.json")
    return Config.read({"model": model, "decode": decode, "data": languages}, name=str(path))


def _read_languages(path: Path) -> dict[str, str]:
    """Return the languages that are codes; a multilingual model has names like "ROMANCE"."""
    raw = read_typed(path, dict[str, Any]) if path.is_file() else {}
    found = {side: raw.get(side) for side in ("source_lang", "target_lang")}
    return {
        side: code
        for side, code in found.items()
        if isinstance(code, str) and re.fullmatch("[a-z]{2,3}", code)
    }


def _read_tokens(folder: Path, raw: Mapping[str, Any]) -> tuple[Tokenizers, list[list[int]]]:
    """Return both tokenizers, and for each side the row of its table for each of our ids."""
    names = ["vocab.json", "vocab.json"]
    if (folder / "target_vocab.json").is_file():
        names[1] = "target_vocab.json"
    start = raw.get("decoder_start_token_id", raw.get("pad_token_id"))
    tokenizers, rows = [], []
    for side, name in zip(("source", "target"), names, strict=True):
        ids = read_typed(folder / name, dict[str, Any])
        if sorted(ids.values()) != list(range(len(ids))) or start not in ids.values():
            raise ValueError(f"{folder / name}: its ids are not the numbers from 0 on")
        for token in (CONTROLS[0], CONTROLS[2], UNKNOWN):
            if token not in ids:
                raise ValueError(f"{folder / name}: it has no {token}")
        others = sorted(ids.keys() - set(CONTROLS), key=ids.__getitem__)
        rows.append([ids[CONTROLS[0]], start, ids[CONTROLS[2]], *map(ids.__getitem__, others)])
        tokens = Sentencepiece.read(folder / f"{side}.spm")
        tokenizers.append(tokens.to_tokenizer([*CONTROLS, *others]))
    return Tokenizers(*tokenizers), rows


def _compare_grids(
    network: Transformer,
    config: Config,
    tokenizers: Tokenizers,
    sources: list[list[int]],
    grid: str,
) -> Import:
    """Score the greedy translations under both grids, and return the difference."""
    (other,) = GRIDS.keys() - {grid}
    positions = {**config.model.positions.model_dump(), "grid": GRIDS[other]}
    twin = build_model(config.changed(model={"positions": positions}), tokenizers).eval()
    twin.load_state_dict(network.state_dict())
    targets = translate_with(network, sources, "greedy")
    both = (score_tokens(each, sources, targets) for each in (network, twin))
    apart = [abs(a - b) for pair in zip(*both, strict=True) for a, b in zip(*pair, strict=True)]
    return Import(
        grid=grid,
        parameters=sum(p.numel() for p in network.parameters()),
        sentences=len(sources),
        mean_difference=sum(apart) / len(apart),
        largest_difference=max(apart),
    )
