import json
from pathlib import Path

import pytest
import torch
from safetensors import safe_open

from glassformer.config import Config
from glassformer.model.files import directory
from glassformer.model.files.directory import (
    SHIPPED,
    Tokenizers,
    build_model,
    load_model,
    locate,
    open_model,
    save_model,
)
from glassformer.model.files.tensors import load_tensors
from glassformer.model.files.weights_file import WeightsFile
from glassformer.text.kinds import load_tokenizer, train_tokenizer

SMALL = {"d_model": 16, "d_ff": 24, "heads": 2, "encoder_layers": 1, "decoder_layers": 1}


def make(folder, tie="three-way"):
    config = Config.read({"model": {**SMALL, "tie": tie}})
    tokenizer = train_tokenizer(["the cat", "le chat"], 300)
    other = train_tokenizer(["un deux trois quatre"], 300)
    tokenizers = Tokenizers(tokenizer, tokenizer if tie == "three-way" else other)
    model = build_model(config, tokenizers)
    save_model(folder, config, tokenizers, model.state_dict())
    return config, model


def test_a_model_keeps_which_characters_its_training_met(tmp_path):
    config, model = make(tmp_path / "one")
    plain = open_model(tmp_path / "one")[1]
    assert not (tmp_path / "one" / "characters.json").exists()
    counts = {"source": {"\u2019": 9}, "target": {"'": 9}}
    known = Tokenizers.load(tmp_path / "one").know_characters(config, counts)
    save_model(tmp_path / "two", config, known, model.state_dict())
    both = open_model(tmp_path / "two")[1]
    assert both.is_shared and not (tmp_path / "two" / "tokenizer.source.json").exists()
    spelled = [
        [each.spell("it's it\u2019s") for each in tokenizers] for tokenizers in (plain, both)
    ]
    assert spelled == [["it's it's"] * 2, ["it\u2019s it\u2019s", "it's it's"]]
    (tmp_path / "two" / "characters.json").write_text('{"source": {}}')
    with pytest.raises(ValueError, match="counts of source and target"):
        open_model(tmp_path / "two")


@pytest.mark.parametrize("tie", ["three-way", "two-way", "none"])
def test_comes_back_as_it_was(tmp_path, tie):
    config, model = make(tmp_path, tie)
    again, tokenizers, loaded = load_model(tmp_path)
    assert again == config
    assert tokenizers.is_shared == (tie == "three-way")
    for name, tensor in model.state_dict().items():
        assert torch.equal(tensor, loaded.state_dict()[name]), name
    assert not loaded.training


def test_a_file_that_is_replaced_gives_no_mixture(tmp_path):
    """What was opened is read to its end."""
    _, model = make(tmp_path)
    path = tmp_path / "model.safetensors"
    file = WeightsFile(path)
    name = "encoder.0.feed_forward.inner.weight"
    other = tmp_path / "other"
    other.write_bytes(b"x" * path.stat().st_size)
    other.replace(path)
    assert torch.equal(torch.from_numpy(file[name].to_fp32()), model.state_dict()[name])
    with pytest.raises(ValueError, match="damaged"):
        WeightsFile(path)


def test_weights_share_one_mapping(tmp_path):
    """One for each would take as much of the address space again and again."""
    _, model = make(tmp_path)
    file, weights = WeightsFile(tmp_path / "model.safetensors"), model.state_dict()
    held = {name: torch.from_numpy(file[name].to_fp32()) for name in weights}
    assert all(torch.equal(held[name], weights[name]) for name in weights)
    maps = Path("/proc/self/maps")
    if not maps.is_file():
        pytest.skip("what is mapped cannot be seen on this system")
    assert maps.read_text(encoding="utf-8").count(f"{tmp_path}/model.safetensors") == 1
    with pytest.raises(ValueError, match="damaged"):
        file["no.such.weight"]


def test_a_tied_matrix_is_stored_once(tmp_path):
    _, model = make(tmp_path)
    with safe_open(tmp_path / "model.safetensors", "pt") as file:
        names = list(file.keys())
    assert sum("table" in name for name in names) == 1
    assert len(names) == len(list(model.parameters()))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("heads = 2", "heads = 4", "heads is 4, but the weights were made with 2"),
        ('"relu"', '"gelu"', "activation is gelu, but the weights were made with relu"),
        ("offset = 0", "offset = 1", "offset is 1, but the weights were made with 0"),
    ],
)
def test_settings_that_no_shape_shows_are_compared(tmp_path, old, new, said):
    make(tmp_path)
    settings = (tmp_path / "config.toml").read_text(encoding="utf-8")
    assert old in settings
    (tmp_path / "config.toml").write_text(settings.replace(old, new), encoding="utf-8")
    with pytest.raises(ValueError, match=said):
        load_model(tmp_path)


@pytest.mark.parametrize("change", [("dropout = 0.1", "dropout = 0.2"), ("1024", "2048")])
def test_what_changes_no_output_may_change(tmp_path, change):
    make(tmp_path)
    settings = (tmp_path / "config.toml").read_text(encoding="utf-8")
    assert change[0] in settings
    (tmp_path / "config.toml").write_text(settings.replace(*change), encoding="utf-8")
    load_model(tmp_path)


def test_a_tokenizer_as_large_of_another_model_is_refused(tmp_path):
    """It would translate, and say nothing but nonsense."""
    make(tmp_path)
    train_tokenizer(["the cut", "lu chut"], 300).save(tmp_path / "other.json")
    assert len(load_tokenizer(tmp_path / "other.json")) == len(load_model(tmp_path)[1].source)
    (tmp_path / "other.json").replace(tmp_path / "tokenizer.json")
    with pytest.raises(ValueError, match=r"tokenizer is \w+, but the weights were made with \w+"):
        load_model(tmp_path)


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
    with pytest.raises(ValueError, match="nowhere: no such folder"):
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


def test_the_same_model_is_the_same_file(tmp_path):
    """To the byte, whatever the order in which entries are written."""
    config, model = make(tmp_path / "first")
    tokenizers = load_model(tmp_path / "first")[1]
    for number in range(8):
        save_model(tmp_path / f"{number}", config, tokenizers, model.state_dict())
    files = {path.read_bytes() for path in tmp_path.glob("*/model.safetensors")}
    assert len(files) == 1


def test_an_alias_to_nothing(tmp_path):
    from safetensors.torch import save_file

    save_file({"a": torch.ones(2)}, tmp_path / "x", {"aliases": json.dumps({"b": "c"})})
    with pytest.raises(ValueError, match="damaged"):
        load_tensors(tmp_path / "x")


@pytest.mark.parametrize("tie", ["three-way", "none"])
def test_half_the_bytes_come_back_as_whole_numbers(tmp_path, tie):
    config, model = make(tmp_path / "whole", tie)
    tokenizers = load_model(tmp_path / "whole")[1]
    save_model(tmp_path / "half", config, tokenizers, model.state_dict(), half=True)
    _, _, loaded = load_model(tmp_path / "half")
    for name, tensor in model.state_dict().items():
        found = loaded.state_dict()[name]
        assert found.dtype == torch.float32
        assert torch.equal(found, tensor.half().float()), name
    sizes = [(tmp_path / each / "model.safetensors").stat().st_size for each in ("whole", "half")]
    saved = 2 * sum(p.numel() for p in model.parameters())
    assert sizes[0] - sizes[1] == pytest.approx(saved, rel=0.01)


def test_a_shipped_model_goes_by_its_name(tmp_path, monkeypatch):
    shipped, here = tmp_path / "shipped", tmp_path / "here"
    make(shipped / "demo")
    here.mkdir()
    monkeypatch.setattr(directory, "SHIPPED", shipped)
    monkeypatch.chdir(here)
    assert locate("demo") == locate(Path("demo")) == shipped / "demo"
    assert locate("demi") == Path("demi") and locate("./x/demo") == Path("x/demo")
    assert load_model("demo")[0] == load_model(shipped / "demo")[0]
    with pytest.raises(ValueError, match=r"demmo: no such folder.*did you mean demo\?"):
        load_model("demmo")
    (here / "demo").mkdir()
    assert locate("demo") == shipped / "demo", "a folder here that is no model does not hide it"
    make(here / "demo")
    assert locate("demo") == Path("demo"), "a model here goes first"
    (here / "demo/config.toml").unlink()
    with pytest.raises(ValueError, match=r"demo is no model directory: it has no config\.toml$"):
        load_model("demo")


@pytest.mark.parametrize("name", ["demo", "demo-fr-en", "demo-en-zh"])
def test_shipped_weights_say_what_they_were_made_with(name):
    folder = SHIPPED / name
    config, _, _ = open_model(folder)
    origin = WeightsFile(folder / "model.safetensors").notes["origin"]
    assert origin["heads"] == config.model.heads == 8
