"""Hugging Face's `generate`.

MODEL holds model.json and weights.safetensors in Hugging Face's names: of MarianMT for post-norm,
of M2M100 for pre-norm, with the position table of the original model.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import nn
from transformers import (
    GenerationConfig,
    M2M100Config,
    M2M100ForConditionalGeneration,
    MarianConfig,
    MarianMTModel,
)

from .translating import Rows, imported, read_sentences, serve
from .turns import Turns

PAD, BOS, EOS = 0, 1, 2
BATCHES = (16, 32, 64)


def load(folder: Path) -> Any:
    described = json.loads((folder / "model.json").read_text(encoding="utf-8"))
    weights = load_file(folder / "weights.safetensors")
    places = weights.pop("places")
    ids = {"pad_token_id": PAD, "bos_token_id": BOS, "eos_token_id": EOS}
    is_pre = described.pop("norm") == "pre"
    kind, settings = (
        (M2M100ForConditionalGeneration, M2M100Config) if is_pre else (MarianMTModel, MarianConfig)
    )
    network = kind(settings(**described, **ids, decoder_start_token_id=BOS)).eval()
    tables = {name: weights.pop(name) for name in ("source", "target", "output")}
    missing, unknown = network.load_state_dict(weights, strict=False)
    left = [name for name in missing if "embed" not in name and "shared" not in name]
    if unknown or set(left) - {"lm_head.weight", "final_logits_bias"}:
        raise ValueError(f"the weights do not fit: {left} {unknown}")
    parts = network.model.encoder, network.model.decoder
    for part, name in zip(parts, ("source", "target"), strict=True):
        part.embed_tokens.weight = nn.Parameter(tables[name])
        if is_pre:  # positions count from the number after that of padding
            part.embed_positions.weights = torch.cat((places[:1] * 0, places))
        else:
            part.embed_positions.weight = nn.Parameter(places, requires_grad=False)
    network.lm_head.weight = nn.Parameter(tables["output"])
    return network


def main() -> None:
    turns, bare = Turns(), imported()
    folder, sentences, precision = read_sentences()
    network = load(folder)
    facts = {**bare, "vectors": torch.backends.cpu.get_cpu_capability()}
    lower = torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16")

    def translate(rows: Sequence[int], settings: dict[str, Any]) -> Rows:
        order = sorted(rows, key=lambda row: -len(sentences.ids[row]))
        how = GenerationConfig(
            num_beams=settings["beam"],
            length_penalty=settings["alpha"],
            early_stopping=settings["beam"] > 1,
            do_sample=False,
            max_new_tokens=settings["longest"],
            pad_token_id=PAD,
            bos_token_id=BOS,
            eos_token_id=EOS,
            decoder_start_token_id=BOS,
            suppress_tokens=[PAD, BOS],
        )
        found: dict[int, list[str]] = {}
        batch = settings.get("batch", 32)
        for start in range(0, len(order), batch):
            some = order[start : start + batch]
            ids = [torch.tensor(sentences.ids[row]) for row in some]
            source = nn.utils.rnn.pad_sequence(ids, batch_first=True, padding_value=PAD)
            out = network.generate(
                input_ids=source, attention_mask=(source != PAD).long(), generation_config=how
            )
            for row, answer in zip(some, out.tolist(), strict=True):
                tokens = answer[1:]
                end = tokens.index(EOS) if EOS in tokens else len(tokens)
                found[row] = [sentences.vocabulary[id] for id in tokens[:end]]
        return [found[row] for row in rows]

    with torch.inference_mode(), lower if precision == "bf16" else contextlib.nullcontext():
        serve(turns, sentences, translate, facts, [{"batch": batch} for batch in BATCHES])


if __name__ == "__main__":
    main()
