"""A model exported to Marian computes the same, in Marian and after its import."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from glassformer.cli import main
from glassformer.config import BOS, EOS, Config, Model, Positions
from glassformer.extensions.bridge.importing import import_model
from glassformer.extensions.bridge.marian_export import export_marian
from glassformer.extensions.bridge.parity import translate_with
from glassformer.model.files.directory import Tokenizers, build_model, load_model, save_model
from glassformer.text.kinds import train_tokenizer
from glassformer.text.layout import FIRST_BYTE

LINES = ["the cat sat on the mat", "the dog did not sit", "so it is said, or sung, of it", "a mat!"]
SHAPES: dict[str, dict[str, Any]] = {
    "three-way": {"activation": "relu", "output_bias": True},
    "two-way": {"activation": "silu", "output_bias": True},
    "none": {"activation": "relu", "output_bias": True},
}


def make(folder: Path, tie: str, layout: str = "interleaved", **changes: Any) -> Path:
    """Write a model directory with random weights, none of them at its first value."""
    torch.manual_seed(1)
    positions = Positions(layout=layout, grid="tensor2tensor", max_positions=64)
    shape: dict[str, Any] = {
        "d_model": 24,
        "heads": 3,
        "d_ff": 13,
        "encoder_layers": 2,
        "decoder_layers": 3,
    }
    shape |= {"tie": tie, "positions": positions, **SHAPES[tie]}
    config = Config(model=Model(**{**shape, **changes}))
    source, other = train_tokenizer(LINES * 3, 320), train_tokenizer(LINES[::-1] * 3, 300)
    tokenizers = Tokenizers(source, source if tie == "three-way" else other)
    network = build_model(config, tokenizers)
    for name, parameter in network.named_parameters():
        is_gain = name.endswith("norm.weight")
        torch.nn.init.normal_(parameter, float(is_gain), 0.5)
    with torch.no_grad():  # Marian never says the bytes of control characters
        network.get_parameter("output_bias")[FIRST_BYTE : FIRST_BYTE + 32] = -100.0
    save_model(folder / "ours", config, tokenizers, network.state_dict())
    return folder / "ours"


@pytest.mark.parametrize("layout", ["interleaved", "concatenated"])
@pytest.mark.parametrize("tie", SHAPES)
def test_what_is_exported_is_imported(tie: str, layout: str, tmp_path: Path) -> None:
    folder = make(tmp_path, tie, layout)
    export_marian(folder, tmp_path / "marian")
    import_model(tmp_path / "marian", tmp_path / "back")
    _, tokenizers, ours = load_model(folder)
    _, others, back = load_model(tmp_path / "back")
    names = others.target.vocabulary
    shared = [
        (id, names.index(token.replace(" ", "▁")))
        for id, token in enumerate(tokenizers.target.vocabulary)
        if id >= EOS and token.replace(" ", "▁") in names
    ]
    own, theirs = (torch.tensor(column) for column in zip(*shared, strict=True))
    assert len(own) > 250
    row, target = tokenizers.source.encode(LINES[2]), [int(id) for id in own[40:46]]
    mine = [int(theirs[40 + place]) for place in range(6)]
    assert tokenizers.source.decode(row) == others.source.decode(others.source.encode(LINES[2]))
    with torch.inference_mode():
        wanted = ours(torch.tensor([[*row, EOS]]), torch.tensor([[BOS, *target]]))[0]
        source = torch.tensor([[*others.source.encode(LINES[2]), EOS]])
        found = back(source, torch.tensor([[BOS, *mine]]))[0]
    apart = found[:, theirs].log_softmax(-1) - wanted[:, own].log_softmax(-1)
    assert apart.abs().max() <= 2e-4 * wanted.abs().max()


@pytest.mark.parametrize("tie", SHAPES)
def test_marian_translates_as_we_do(tie: str, tmp_path: Path) -> None:
    pymarian = pytest.importorskip("pymarian", reason="pymarian is not installed")
    folder = make(tmp_path, tie)
    export_marian(folder, tmp_path / "marian")
    _, tokenizers, network = load_model(folder)
    rows = translate_with(network, tokenizers.source.encode_many(LINES), "greedy")
    options = "--beam-size 1 --normalize 0 --max-length-factor 60 --cpu-threads 1 --quiet"
    theirs = pymarian.Translator(f"-c {tmp_path / 'marian' / 'decoder.yml'} {options}")
    found = theirs.translate("\n".join(LINES)).split("\n")
    wanted = tokenizers.target.decode_many(rows)
    assert [x.strip()[:60] for x in found] == [x.strip()[:60] for x in wanted]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"norm": "pre"}, "model.norm=pre: Marian computes post"),
        ({"activation": "gelu"}, "model.activation=gelu: Marian computes relu or silu"),
        ({"positions": Positions(max_positions=64)}, "grid=paper: Marian computes tensor2tensor"),
        (
            {"norm": "pre", "positions": Positions(max_positions=64)},
            "model.norm=pre and model.positions.grid=paper: Marian computes post and "
            "tensor2tensor; train another with --norm post --positions-grid tensor2tensor, or "
            "export this one with --format ctranslate2 or onnx",
        ),
        ({"head_width": 4}, "model.head_width=4: Marian computes 8; train another with "),
        ({"positions": Positions(layout="learned", max_positions=64)}, "has learned positions"),
    ],
)
def test_what_marian_computes_otherwise(
    changes: dict[str, Any], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = make(tmp_path, "three-way", **changes)
    command = ["export", str(folder), "--format", "marian", "--out", str(tmp_path / "marian")]
    assert main(command) == 2
    assert sentence in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "marian").exists()


def test_what_is_advised_are_options_of_train(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """These are options of `train`."""
    options = ["--norm", "post", "--positions-grid", "tensor2tensor"]
    assert main(["train", str(tmp_path / "none"), *options, "--out", str(tmp_path / "m")]) == 2
    said = capsys.readouterr().err
    assert "none" in said and "--norm" not in said and "--positions-grid" not in said


def test_the_command_writes_the_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = make(tmp_path, "three-way")
    out = tmp_path / "marian"
    assert main(["export", str(folder), "--format", "marian", "--out", str(out)]) == 0
    assert "model.npz with" in capsys.readouterr().out
    assert {path.name for path in out.iterdir()} == {"model.npz", "vocab.spm", "decoder.yml"}
