"""Weights in int8: what is written, who reads it, and what is refused."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import load, save

from glassformer.config import EOS, Config
from glassformer.engine.native_engine import NativeEngine
from glassformer.extensions.publish.int8 import quantize, save_int8
from glassformer.extensions.publish.publishing import publish_model
from glassformer.foundation.disk import read_json
from glassformer.foundation.shared_library import load_library
from glassformer.model.files.directory import (
    GOLDEN,
    SHIPPED,
    WEIGHTS,
    Tokenizers,
    build_model,
    load_model,
    locate,
    open_model,
    save_model,
)
from glassformer.train.publish.card import hash_file, read_facts
from glassformer.train.publish.golden import check_golden, write_golden
from glassformer.translator import Translator

NAME = "encoder.0.feed_forward.inner.weight"


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("published") / "small"
    publish_model("demo", folder, int8=True)
    return folder


def test_a_row_comes_back_within_half_a_step() -> None:
    rows = np.random.default_rng(1).normal(size=(5, 9)).astype(np.float32)
    rows[3] = 0
    numbers, scale = quantize(rows)
    assert numbers.dtype == np.int8 and scale.dtype == np.float32
    assert np.abs(numbers[[0, 1, 2, 4]]).max(axis=1).tolist() == [127] * 4
    assert np.abs(numbers * scale[:, None] - rows).max() <= scale.max() / 2 + 1e-7
    assert not numbers[3].any() and scale[3] == 1


def test_the_copy_is_a_quarter_and_is_found_healthy(published: Path, tmp_path: Path) -> None:
    _, _, network = load_model("demo")
    whole = sum(weight.numel() * 4 for weight in network.parameters())
    assert (published / WEIGHTS).stat().st_size < 0.29 * whole
    assert read_facts(published)["sha256"][WEIGHTS] == hash_file(published / WEIGHTS)
    assert check_golden(published) == []
    again = tmp_path / "again"
    publish_model(published, again, int8=True)  # nothing is lost a second time
    assert (again / WEIGHTS).read_bytes() == (published / WEIGHTS).read_bytes()


def test_the_languages_of_the_golden_translations_stay(tmp_path: Path) -> None:
    shutil.copytree(SHIPPED / "demo", tmp_path / "m")
    write_golden(tmp_path / "m", ["I am a student."], "en-fr")
    publish_model(tmp_path / "m", tmp_path / "small", int8=True)
    assert read_json(tmp_path / "small" / GOLDEN)["pair"] == "en-fr"


def test_pytorch_reads_it(published: Path) -> None:
    config, _, network = load_model(published)
    _, _, exact = load_model("demo")
    assert config.model.tie == "three-way"
    assert network.output_table.weight is network.source_embedding.table.weight
    for (name, weight), wanted in zip(network.named_parameters(), exact.parameters(), strict=True):
        step = wanted.abs().max() / 127 if wanted.ndim == 2 else torch.tensor(0.0)
        assert (weight - wanted).abs().max() <= step / 2 * 1.001, name


@pytest.mark.skipif(load_library("engine") is None, reason="no library here")
def test_the_engine_finds_the_same_in_the_rounded_weights(published: Path, tmp_path: Path) -> None:
    """Int8 numbers as a file has them give what their values in fp32 give."""
    config, tokenizers, weights = open_model(published)
    _, _, network = load_model(published)
    save_model(tmp_path / "wide", config, tokenizers, network.state_dict())
    wide = open_model(tmp_path / "wide")[2]
    sources = [
        [*row, EOS] for row in tokenizers.source.encode_many(["the dog sees a cat .", "yes ."])
    ]
    # In int8, embeddings are rounded to bf16, whose last bit a product rounded otherwise may turn.
    for precision, tolerance in (("int8", 0.05), ("fp32", 1e-4)):
        found, wanted = (
            NativeEngine.open(config.model, each.tensors, precision).search(sources, config.decode)
            for each in (weights, wide)
        )
        for one, other in zip(found, wanted, strict=True):
            assert one[0].tokens == other[0].tokens
            assert one[0].score == pytest.approx(other[0].score, abs=tolerance)


def test_it_translates(published: Path) -> None:
    text = "the children play in the garden ."
    assert Translator.load(published).translate([text]) == Translator.load("demo").translate([text])


def test_weights_that_are_not_tied(tmp_path: Path) -> None:
    """Every name comes back, whichever names share a tensor."""
    _, tokenizers, _ = load_model("demo")
    tokenizers = Tokenizers(tokenizers.source, tokenizers.source)
    for tie in ("two-way", "none"):
        config = Config.read({"model": {"d_model": 8, "d_ff": 8, "heads": 2, "tie": tie}})
        folder = tmp_path / tie
        save_model(folder, config, tokenizers, build_model(config, tokenizers).state_dict())
        weights = open_model(folder)[2]
        save_int8(weights, folder / WEIGHTS)
        assert open_model(folder)[2].shapes == weights.shapes


@pytest.mark.parametrize("shift", [1, 2, 3, 4, 7])
def test_a_header_need_not_be_padded(published: Path, tmp_path: Path, shift: int) -> None:
    """safetensors pads it with spaces, other writers do not: then no scale is aligned."""
    folder = tmp_path / "shifted"
    shutil.copytree(published, folder)
    raw = (folder / WEIGHTS).read_bytes()
    size = int.from_bytes(raw[:8], "little")
    header = raw[8 : 8 + size].rstrip(b" ")
    header += b" " * ((shift - len(header)) % 8)
    (folder / WEIGHTS).write_bytes(len(header).to_bytes(8, "little") + header + raw[8 + size :])
    text = "the children play in the garden ."
    assert Translator.load(folder).translate(text) == Translator.load(published).translate(text)


LIES = {
    "scales of another length": (lambda x: x[:-1], "is no scale of each row"),
    "scales in fp16": (lambda x: x.astype(np.float16), "is no scale of each row"),
    "a scale of zero": (lambda x: x * (np.arange(len(x)) > 0), "not positive and finite"),
    "a scale that is not finite": (lambda x: x * np.float32(np.nan), "not positive and finite"),
    "no scales": (lambda x: None, "is of I8, not fp32, fp16, or int8 with scales"),
}


@pytest.mark.parametrize("lie", LIES)
def test_scales_that_cannot_be_are_refused(published: Path, tmp_path: Path, lie: str) -> None:
    change, said = LIES[lie]
    raw = (published / WEIGHTS).read_bytes()
    metadata = json.loads(raw[8 : 8 + int.from_bytes(raw[:8], "little")])["__metadata__"]
    tensors = dict(load(raw))
    changed = change(tensors.pop(f"{NAME}.scale"))
    if changed is not None:
        tensors[f"{NAME}.scale"] = changed
    for path in published.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / WEIGHTS).write_bytes(save(tensors, metadata))
    with pytest.raises(ValueError, match=said) as raised:
        open_model(tmp_path)
    assert "\n" not in str(raised.value) and NAME in str(raised.value)


def test_a_model_in_fp16_is_read_as_before() -> None:
    kinds = {each.type for each in open_model(locate("demo"))[2].stored.values()}
    assert kinds == {"F16"}
