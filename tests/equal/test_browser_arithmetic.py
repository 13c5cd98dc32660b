"""The arithmetic of browsers' int8, in NumPy: token for token what Mozilla's engine translates.

`fxtranslate` multiplies bytes as AVX2 does: a factor, multiplied by its alpha and rounded, is
shifted to 0..254; the products of two neighbours are added in 16 bits, which hold 32,767 at most,
although two products can be 64,516. The rest is fp32, with sums from the first number to the last.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from glassformer.extensions.bridge.marian_bin import read_marian_bin

from .test_marian_bin import STUDENTS, needs_students

Array = np.ndarray[Any, Any]
f4 = np.float32
HEADS, ENCODERS, DECODERS = 8, 6, 2
SHORT = (
    "I'd better call you back.",
    "What about this dress?",
    "The boy jumps onto his soccer player brother.",
    "I know this is difficult for you.",
    "",
    "2 + 2 = 5?",
)


def add_up(x: Array, axis: int = -1) -> Array:
    """Return sums from the first number to the last, each rounded to fp32."""
    return np.add.accumulate(x, axis=axis, dtype=f4).take(-1, axis=axis)


def exp(x: Array) -> Array:
    return np.exp(x.astype(float)).astype(f4)


def add_pairs(shifted: Array, weights: Array) -> Array:
    """Return sums over bytes, outputs by rows, as vpmaddubsw and vpmaddwd make them."""
    a, w = shifted.astype(np.int32), weights.astype(np.int32)
    rows = [
        np.clip(each[::2] * w[:, ::2] + each[1::2] * w[:, 1::2], -32768, 32767).sum(1) for each in a
    ]
    return np.array(rows)


class Engine:
    """A student as `fxtranslate` computes it."""

    def __init__(self, path: Path):
        file = read_marian_bin(path)
        self.plain = {name: each.reshape(-1) for name, each in file.plain.items()}
        self.quantized = file.quantized
        self.table = file.quantized["Wemb"].values
        self.step = f4(1) / f4(file.quantized["Wemb"].multiplier)
        self.d = self.table.shape[1]
        place, half = np.arange(self.d), self.d // 2
        exponents = (place % half).astype(f4) / f4(half - 1)
        self.rates = np.power(float(f4(1e-4)), exponents.astype(float)).astype(f4)
        self.turns = (place // half).astype(f4) * f4(np.pi / 2)

    def affine(self, x: Array, name: str, bias: str = "") -> Array:
        matrix = self.quantized[name]
        weights = matrix.values if name == "Wemb" else matrix.values.T
        alpha = f4(matrix.alpha)
        back = f4(1) / (alpha * f4(matrix.multiplier))
        shifted = np.clip(np.rint(x * alpha), -127, 127) + 127
        added = f4(0) - f4(127) * back * weights.sum(1, dtype=np.int32).astype(f4)
        if bias:
            added = added + self.plain[bias]
        return back * add_pairs(shifted, weights).astype(f4) + added

    def add_norm(self, y: Array, x: Array, name: str) -> Array:
        z = y + x
        z = z - (add_up(z) / f4(self.d))[:, None]
        deviation = np.sqrt(add_up(z * z) / f4(self.d) + f4(1e-6))[:, None]
        return self.plain[f"{name}_ln_scale"] * (z / deviation) + self.plain[f"{name}_ln_bias"]

    def embed(self, ids: list[int], first: int, *, is_start: bool = False) -> Array:
        words = self.table[ids].astype(f4) * self.step * f4(not is_start)
        places = np.arange(first, first + len(ids)).astype(f4)[:, None] * self.rates + self.turns
        return f4(np.sqrt(self.d)) * words + np.sin(places.astype(float)).astype(f4)

    def project(self, x: Array, name: str, part: str) -> Array:
        found = self.affine(x, f"{name}_W{part}", f"{name}_b{part}")
        return found.reshape(len(x), HEADS, -1).swapaxes(0, 1)

    def attend(self, x: Array, keys: Array, values: Array, name: str) -> Array:
        queries = self.project(x, name, "q")
        scale = f4(1) / np.sqrt(f4(queries.shape[-1]))
        scores = add_up(queries[:, :, None] * keys[:, None]) * scale
        powers = exp(scores - scores.max(-1, keepdims=True))
        weights = powers / add_up(powers)[..., None]
        heads = add_up(weights[..., None] * values[:, None], axis=2)
        return self.affine(heads.swapaxes(0, 1).reshape(len(x), -1), f"{name}_Wo", f"{name}_bo")

    def feed(self, x: Array, name: str) -> Array:
        hidden = np.maximum(self.affine(x, f"{name}_W1", f"{name}_b1"), f4(0))
        return self.add_norm(self.affine(hidden, f"{name}_W2", f"{name}_b2"), x, f"{name}_ffn")

    def encode(self, ids: list[int]) -> Array:
        x = self.embed(ids, 0)
        for layer in (f"encoder_l{n}" for n in range(1, ENCODERS + 1)):
            kv = (self.project(x, f"{layer}_self", part) for part in "kv")
            x = self.add_norm(self.attend(x, *kv, f"{layer}_self"), x, f"{layer}_self_Wo")
            x = self.feed(x, f"{layer}_ffn")
        return x

    def step_layer(self, x: Array, layer: str, cell: Array, kv: tuple[Array, Array]) -> Array:
        """Return the output of a decoder layer; the cell becomes the one after this token."""
        candidate = self.affine(x, f"{layer}_rnn_W")
        gate = f4(1) / (f4(1) + exp(-self.affine(x, f"{layer}_rnn_Wf", f"{layer}_rnn_bf")))
        cell[:] = gate * cell + (f4(1) - gate) * candidate
        x = self.add_norm(np.maximum(cell, f4(0)), x, f"{layer}_rnn_ffn")
        x = self.add_norm(self.attend(x, *kv, f"{layer}_context"), x, f"{layer}_context_Wo")
        return self.feed(x, f"{layer}_ffn")

    def translate(self, ids: list[int]) -> list[int]:
        """Return the greedy translation of ids that end with 0, the id of the end."""
        memory, previous, found = self.encode(ids), 0, list[int]()
        layers = [f"decoder_l{n}" for n in range(1, DECODERS + 1)]
        cells = [np.zeros((1, self.d), f4) for _ in layers]
        kv = [tuple(self.project(memory, f"{x}_context", part) for part in "kv") for x in layers]
        while len(found) < min(2 * len(ids) + 4, 256):
            x = self.embed([previous], len(found), is_start=not found)
            for layer, cell, pair in zip(layers, cells, kv, strict=True):
                x = self.step_layer(x, layer, cell, pair)
            previous = int(self.affine(x, "Wemb", "decoder_ff_logit_out_b").argmax())
            if previous == 0:
                break
            found.append(previous)
        return found


def test_pairs_saturate() -> None:
    """Two products of 254 and 127 are cut to 32,767; two of one sign each cancel exactly."""
    shifted, weights = (
        np.array([[254, 254, 254, 254]]),
        np.array([[127, 127, 1, 1], [127, -127, 1, 0]]),
    )
    assert add_pairs(shifted, weights).tolist() == [[32767 + 508, 254]]


@needs_students
def test_mozillas_engine_translates_the_same() -> None:
    fxtranslate = pytest.importorskip("fxtranslate", reason="fxtranslate is not installed")
    sentencepiece = pytest.importorskip("sentencepiece")
    assert STUDENTS is not None
    (folder,) = STUDENTS.glob("enpt-*")
    model, vocabulary = folder / "model.enpt.intgemm.alphas.bin", folder / "vocab.enpt.spm"
    spm = sentencepiece.SentencePieceProcessor(model_file=str(vocabulary))
    read = vocabulary.read_bytes()
    theirs, ours = fxtranslate.Translator(model.read_bytes(), read, read), Engine(model)
    for text in SHORT:
        found = spm.decode(ours.translate([*spm.encode(text), 0]))
        assert found.strip() == theirs.translate(text).strip()
