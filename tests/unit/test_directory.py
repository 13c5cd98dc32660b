import json

import pytest
import torch
from safetensors import safe_open

from glassformer.config import Config
from glassformer.directory import Tokenizers, build, load_model, load_tensors, save_model
from glassformer.text import Tokenizer

SMALL = {"d_model": 16, "d_ff": 24, "heads": 2, "encoder_layers": 1, "decoder_layers": 1}


def make(folder, tie="three-way"):
    config = Config.read({"model": {**SMALL, "tie": tie}})
    tokenizer = Tokenizer.train(["the cat", "le chat"], 300)
    other = Tokenizer.train(["un deux trois quatre"], 300)
    tokenizers = Tokenizers(tokenizer, tokenizer if tie == "three-way" else other)
    model = build(config, tokenizers)
    save_model(folder, config, tokenizers, model.state_dict())
    return config, model


@pytest.mark.parametrize("tie", ["three-way", "two-way", "none"])
def test_comes_back_as_it_was(tmp_path, tie):
    config, model = make(tmp_path, tie)
    again, tokenizers, loaded = load_model(tmp_path)
    assert again == config
    assert (tokenizers.source is tokenizers.target) == (tie == "three-way")
    for name, tensor in model.state_dict().items():
        assert torch.equal(tensor, loaded.state_dict()[name]), name
    assert not loaded.training


def test_a_tied_matrix_is_stored_once(tmp_path):
    _, model = make(tmp_path)
    with safe_open(tmp_path / "model.safetensors", "pt") as file:
        names = list(file.keys())
    assert sum("table" in name for name in names) == 1
    assert len(names) == len(list(model.parameters()))


def damage(path, how):
    raw = path.read_bytes()
    path.write_bytes({"cut": raw[: len(raw) // 2], "empty": b"", "other": b"x" * 100}[how])


@pytest.mark.parametrize("how", ["cut", "empty", "other"])
@pytest.mark.parametrize("name", ["model.safetensors", "config.toml", "tokenizer.json"])
def test_damage_is_one_sentence_that_names_the_file(tmp_path, name, how):
    make(tmp_path)
    damage(tmp_path / name, how)
    with pytest.raises(ValueError, match=name) as error:
        load_model(tmp_path)
    assert "\n" not in str(error.value).rstrip()


def test_what_is_no_model_directory(tmp_path):
    with pytest.raises(ValueError, match="no model directory"):
        load_model(tmp_path / "nowhere")


def test_weights_that_do_not_fit_the_settings(tmp_path):
    config, _ = make(tmp_path)
    (tmp_path / "config.toml").write_text(
        config.changed(model={"d_ff": 32}).to_toml(), encoding="utf-8"
    )
    with pytest.raises(ValueError, match=r"feed_forward.*\[24\].*\[32\]"):
        load_model(tmp_path)
    (tmp_path / "config.toml").write_text(
        config.changed(model={"encoder_layers": 2}).to_toml(), encoding="utf-8"
    )
    with pytest.raises(ValueError, match=r"encoder\.1.* missing"):
        load_model(tmp_path)


def test_an_alias_to_nothing(tmp_path):
    from safetensors.torch import save_file

    save_file({"a": torch.ones(2)}, tmp_path / "x", {"aliases": json.dumps({"b": "c"})})
    with pytest.raises(ValueError, match="damaged"):
        load_tensors(tmp_path / "x")
