"""What is written for Marian computes the same by Marian's conventions, done here in NumPy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from benchmarks import as_marian
from benchmarks.translate import write_zero_start
from glassformer.config import BOS, EOS, Config
from glassformer.model.files.directory import Tokenizers, build_model, save_model
from glassformer.text.kinds import train_tokenizer

D, HEADS = 16, 2
SHAPE = {"d_model": D, "d_ff": 24, "heads": HEADS, "encoder_layers": 2, "decoder_layers": 1}
MODEL = {
    **SHAPE,
    "norm": "post",
    "output_bias": True,
    "positions": {"layout": "concatenated", "grid": "tensor2tensor"},
}


def make(folder: Path, settings: dict[str, Any], start: float = 0.0) -> torch.nn.Module:
    torch.manual_seed(1)
    tokenizer = train_tokenizer(["a few words of text", "and a few more"], 300)
    config, tokenizers = Config.read({"model": settings}), Tokenizers(tokenizer, tokenizer)
    network = build_model(config, tokenizers).eval()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
        network.target_embedding.table.weight[BOS] = start
    save_model(folder, config, tokenizers, network.state_dict())
    return network


def test_it_computes_the_same(tmp_path: Path) -> None:
    network = make(tmp_path / "model", MODEL)
    as_marian.write(tmp_path / "model", tmp_path / "theirs")
    words = read_yaml((tmp_path / "theirs" / "words.yml").read_bytes())
    weights = dict(np.load(tmp_path / "theirs" / "model.npz"))
    told = read_yaml(bytes(weights["special:model.yml"]).rstrip(b"\0"))
    assert told["dim-vocabs"] == [len(words)] * 2 and told["enc-depth"] == 2
    source, target = [9, 8, 7, EOS], [5, 6, 17]
    with torch.inference_mode():
        wanted = network(torch.tensor([source]), torch.tensor([[BOS, *target]]))[0].numpy()
    theirs = [words["</s>" if id == EOS else str(id)] for id in (*source, *target)]
    found = Marian(weights).run(theirs[:4], theirs[4:])
    ids = [EOS, 0, *range(3, wanted.shape[1])]
    np.testing.assert_allclose(found, wanted[:, ids], rtol=0, atol=1e-4 * np.abs(wanted).max())


def read_yaml(text: bytes) -> dict[str, Any]:
    """As plain as it is written here: a name and a value in JSON on each line."""
    pairs = (line.partition(": ") for line in text.decode().splitlines())
    return {name.strip('"'): json.loads(value) for name, _, value in pairs}


class Marian:
    """Its transformer: names of weights, layout and order of operations are Marian's."""

    def __init__(self, weights: dict[str, Any]):
        self.weights = weights

    def run(self, source: list[int], target: list[int]) -> Any:
        table = self.weights["Wemb"]
        memory = self.place(table[source])
        for layer in (1, 2):
            memory = self.attend(f"encoder_l{layer}_self", memory, memory)
            memory = self.feed(f"encoder_l{layer}_ffn", memory)
        y = self.place(np.concatenate((np.zeros((1, D)), table[target])))
        y = self.attend("decoder_l1_self", y, y, np.tri(len(y), dtype=bool))
        y = self.attend("decoder_l1_context", y, memory)
        return self.feed("decoder_l1_ffn", y) @ table.T + self.weights["decoder_ff_logit_out_b"]

    def place(self, x: Any) -> Any:
        turns = np.exp(np.arange(D // 2) * -np.log(10000) / (D // 2 - 1))
        angles = np.arange(len(x))[:, None] * turns
        return x * D**0.5 + np.concatenate((np.sin(angles), np.cos(angles)), 1)

    def attend(self, name: str, x: Any, memory: Any, mask: Any = True) -> Any:
        q, k, v = (
            self.linear(f"{name}_{{}}{part}", y).reshape(len(y), HEADS, -1).swapaxes(0, 1)
            for part, y in (("q", x), ("k", memory), ("v", memory))
        )
        scores = np.where(mask, q @ k.swapaxes(1, 2) / (D // HEADS) ** 0.5, -np.inf)
        odds = np.exp(scores - scores.max(-1, keepdims=True))
        mixed = (odds / odds.sum(-1, keepdims=True) @ v).swapaxes(0, 1).reshape(len(x), D)
        return self.norm(f"{name}_Wo_ln", x + self.linear(f"{name}_{{}}o", mixed))

    def feed(self, name: str, x: Any) -> Any:
        inner = np.maximum(self.linear(f"{name}_{{}}1", x), 0)
        return self.norm(f"{name}_ffn_ln", x + self.linear(f"{name}_{{}}2", inner))

    def linear(self, name: str, x: Any) -> Any:
        return x @ self.weights[name.format("W")] + self.weights[name.format("b")]

    def norm(self, name: str, x: Any) -> Any:
        x = (x - x.mean(1, keepdims=True)) / (x.var(1, keepdims=True) + 1e-9) ** 0.5
        return x * self.weights[f"{name}_scale"] + self.weights[f"{name}_bias"]


@pytest.mark.parametrize(
    ("changes", "start", "said"),
    [
        ({"norm": "pre"}, 0.0, "norm=pre, only post"),
        ({"positions": {"layout": "concatenated"}}, 0.0, "positions.grid=paper"),
        ({"tie": "none"}, 0.0, "tie=none"),
        ({}, 0.1, "begins with a vector of zeros"),
    ],
)
def test_what_it_has_not_is_said(
    tmp_path: Path, changes: dict[str, Any], start: float, said: str
) -> None:
    make(tmp_path / "model", {**MODEL, **changes}, start)
    with pytest.raises(ValueError, match=said):
        as_marian.write(tmp_path / "model", tmp_path / "theirs")
    assert not (tmp_path / "theirs").exists()


def test_a_copy_that_begins_with_zeros_can_be_compared(tmp_path: Path) -> None:
    make(tmp_path / "model", MODEL, 0.1)
    copy = write_zero_start(tmp_path / "model", tmp_path / "copy")
    as_marian.write(copy, tmp_path / "theirs")
    assert (tmp_path / "theirs" / "model.npz").is_file()
