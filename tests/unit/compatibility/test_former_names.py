"""What earlier versions wrote is read all the same, under today's names."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from glassformer.config import Config
from glassformer.foundation.compatibility.former_names import (
    KEYS,
    SETTINGS,
    rename_settings,
    rename_tensor,
)
from glassformer.foundation.validation_errors import list_settings
from glassformer.model.files.directory import SHIPPED
from glassformer.see import Trace
from glassformer.translator import Translator

OLD_TENSORS = {
    "encoder.0.self_attention_road.norm.weight": "encoder.0.self_attention_residual.norm.weight",
    "decoder.2.feed_forward_road.sum": "decoder.2.feed_forward_residual.sum",
    "exp_avg.decoder.0.cross_attention_road.norm.bias": (
        "exp_avg.decoder.0.cross_attention_residual.norm.bias"
    ),
    "source_embedding.words": "source_embedding.embedded",
    "target_embedding.places": "target_embedding.positions",
    "source_embedding.places_LD": "source_embedding.positions_LD",
    "decoder.1.cross_attention.heads": "decoder.1.cross_attention.context",
    "encoder.0.self_attention.to_key.weight": "encoder.0.self_attention.to_key.weight",
}


def test_every_former_setting_is_one_of_today() -> None:
    assert set(SETTINGS.values()) <= set(list_settings(Config))
    assert not set(SETTINGS) & set(list_settings(Config))


def test_settings_are_read_under_both_names() -> None:
    old = {
        "model": {"hidden_dropout": 0.1, "positions": {"longest": 64}},
        "train": {"accumulate": 2, "clip": 0.5, "consistency": 1.0, "embedding_rate": 3.0},
        "decode": {"no_repeat": 2, "penalty": "paper"},
    }
    config = Config.read(old)
    assert config.model.activation_dropout == 0.1 and config.model.positions.max_positions == 64
    assert (config.train.gradient_accumulation, config.train.max_grad_norm) == (2, 0.5)
    assert (config.train.rdrop_alpha, config.train.embedding_lr_scale) == (1.0, 3.0)
    assert (config.decode.no_repeat_ngram_size, config.decode.length_penalty) == (2, "gnmt")
    assert Config.read({}, ["train.clip=0.25"]).train.max_grad_norm == 0.25
    assert Config.read(rename_settings(config.model_dump(exclude_none=True))) == config
    with pytest.raises(ValueError, match=r"unknown setting train\.clip"):
        Config.read({"train": {"clip": 1.0, "max_grad_norm": 2.0}})


@pytest.mark.parametrize(("old", "new"), OLD_TENSORS.items())
def test_tensors_are_read_under_both_names(old: str, new: str) -> None:
    assert rename_tensor(old) == new == rename_tensor(new)


def test_a_trace_of_the_first_version(tmp_path: Path) -> None:
    trace = Translator.load(SHIPPED / "demo", device="cpu").see("The cat is on the mat.")
    trace.save(tmp_path / "new")
    found = age(json.loads((tmp_path / "new" / "trace.json").read_text(encoding="utf-8")))
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "trace.json").write_text(json.dumps(found), encoding="utf-8")
    for file in (tmp_path / "new").glob("*.safetensors"):
        tensors = {make_old(name): tensor for name, tensor in load_file(file).items()}
        save_file(tensors, tmp_path / "old" / file.name)
    (tmp_path / "old" / "vocabulary.json").write_bytes(
        (tmp_path / "new" / "vocabulary.json").read_bytes()
    )
    old = Trace.load(tmp_path / "old")
    assert {*old.names()} == {*trace.names()} and old.predictions == trace.predictions
    assert old.settings == trace.settings and old.search == trace.search
    name = "decoder.0.cross_attention.context"
    assert np.array_equal(old[name], trace[name])
    assert np.array_equal(old["decoder.0.cross_attention.heads"], trace[name])


def age(value: Any) -> Any:
    """Return what trace.json of version 1 says."""
    value["schema_version"] = 1
    del value["wiring"]
    value["tensors"] = {make_old(name): each for name, each in value["tensors"].items()}
    text = json.dumps(value, ensure_ascii=False)
    for old, new in KEYS.items():
        text = text.replace(f'"{new}":', f'"{old}":')
    for old, new in SETTINGS.items():
        was, now = old.rpartition(".")[2], new.rpartition(".")[2]
        text = text.replace(f'"{now}":', f'"{was}":')
    return json.loads(text.replace('"gnmt"', '"paper"'))


def make_old(name: str) -> str:
    name = re.sub(r"_residual(?=\.)", "_road", name)
    name = re.sub(r"_embedding\.embedded$", "_embedding.words", name)
    name = re.sub(r"_embedding\.positions$", "_embedding.places", name)
    return re.sub(r"_attention\.context$", "_attention.heads", name)
