"""Exports to ONNX, Argos Translate and transformers say what the model says."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
import torch
from safetensors import safe_open

from glassformer.cli import main
from glassformer.config import BOS, EOS, Config, Data, Model, Positions
from glassformer.extensions.bridge import exporting
from glassformer.extensions.bridge.importing import import_model
from glassformer.extensions.bridge.transformers import export_transformers
from glassformer.extensions.foreign_tokenizers.sentencepiece_writer import write_sentencepiece
from glassformer.model.files.directory import (
    SHIPPED,
    Tokenizers,
    build_model,
    load_model,
    save_model,
)
from glassformer.text.kinds import train_tokenizer
from glassformer.translator import Translator

LINES = ["the cat sat on the mat", "the dog did not sit", "so it is said, or sung, of it", "a mat!"]
DOCS = Path(__file__).parents[2] / "docs" / "bridge.md"
SHAPE: dict[str, Any] = {
    "d_model": 24,
    "heads": 3,
    "d_ff": 13,
    "encoder_layers": 2,
    "decoder_layers": 3,
}
CHANGES: dict[str, dict[str, Any]] = {
    "post": {"positions": Positions(max_positions=24)},
    "pre": {"norm": "pre", "activation": "gelu", "positions": Positions(max_positions=24)},
    "untied": {
        "activation": "silu",
        "tie": "none",
        "output_bias": True,
        "positions": Positions(layout="concatenated", max_positions=24),
    },
    "learned": {"norm": "pre", "positions": Positions(layout="learned", max_positions=24)},
}


PAIRS = [{"name": "one", "target_lang": "de"}, {"name": "two", "target_lang": "fr"}]
# What makes sources begin with <2de>, and what is written after the name of such a model.
TAGGED: dict[str, tuple[dict[str, Any], str]] = {
    "one": ({"source_lang": "en", "target_lang": "de", "tag": "<2de>"}, ""),
    "several": ({"source_lang": "en", "corpus": PAIRS}, "@de"),
}


def make(folder: Path, name: str, data: dict[str, Any] | None = None) -> Path:
    """Write a model directory with random weights, none of them at its first value."""
    torch.manual_seed(1)
    changes = CHANGES[name]
    config = Config(model=Model(**{**SHAPE, **changes}), data=Data.model_validate(data or {}))
    both = train_tokenizer(LINES * 3, 320), train_tokenizer(reversed("".join(LINES) * 3), 300)
    both = both[0].with_tags(config.data.list_tags()), both[1]
    tokenizers = Tokenizers(both[0], both[name == "untied"])
    network = build_model(config, tokenizers)
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, 0.5 if parameter.dim() == 1 else 0, 0.5)
    save_model(folder / name, config, tokenizers, network.state_dict())
    return folder / name


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "source.txt"
    path.write_text("\n".join(LINES), encoding="utf-8")
    return path


@pytest.mark.parametrize("name", CHANGES)
def test_onnx_gives_the_same_log_probabilities(name: str, source: Path, tmp_path: Path) -> None:
    pytest.importorskip("onnx", reason="the extra glassformer[onnx] is absent")
    pytest.importorskip("onnxruntime", reason="the extra glassformer[onnx] is absent")
    folder, out = make(tmp_path, name), tmp_path / "onnx"
    command = ["export", str(folder), "--format", "onnx", "--out", str(out)]
    assert main([*command, "--source", str(source)]) == 0
    parity = json.loads((out / "parity.json").read_text())
    assert parity["sentences"] == len(LINES) and parity["tokens"] > len(LINES)
    assert parity["largest_difference"] <= parity["allowed"] and parity["different"] == {
        "greedy": 0
    }


def test_the_program_in_the_docs_translates_with_onnxruntime_alone(
    source: Path, tmp_path: Path
) -> None:
    pytest.importorskip("onnxruntime", reason="the extra glassformer[onnx] is absent")
    command = ["export", "demo", "--format", "onnx", "--out", str(tmp_path / "my-model-onnx")]
    assert main([*command, "--source", str(source)]) == 0
    (program,) = re.findall(r"```python\n(import numpy.*?)```", DOCS.read_text("utf-8"), re.DOTALL)
    assert len(program.splitlines()) <= 25
    found = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    translator = Translator.load("demo", device="cpu", precision="fp32")
    text = "The cat is on the mat."
    assert found.stdout.strip() == translator.translate(text, decode={"search": "greedy"})


@pytest.mark.thorough
def test_a_package_of_argos(source: Path, tmp_path: Path) -> None:
    """It has what Argos Translate opens, and its tokens and translations are the model's."""
    ctranslate2 = pytest.importorskip("ctranslate2", reason="glassformer[bridge] is absent")
    sentencepiece = pytest.importorskip("sentencepiece", reason="sentencepiece is absent")
    out = tmp_path / "en-fr.argosmodel"
    command = ["export", "everyday-en-fr", "--format", "argos", "--out", str(out)]
    assert main([*command, "--quantization", "float32", "--source", str(source)]) == 0
    with ZipFile(out) as archive:
        archive.extractall(tmp_path)
    (folder,) = tmp_path.glob("translate-*")
    told = json.loads((folder / "metadata.json").read_text())
    assert (told["from_code"], told["to_name"], told["type"]) == ("en", "French", "translate")
    cut = sentencepiece.SentencePieceProcessor(str(folder / "sentencepiece.model"))
    engine = ctranslate2.Translator(str(folder / "model"), compute_type="float32")
    texts = ["The cat is on the mat.", "I don't know — 12 of them?", "My \u01ffld friend is here."]
    rows = [cut.encode(text, out_type=str) for text in texts]
    found = engine.translate_batch(rows, beam_size=1, suppress_sequences=[["<pad>"], ["<s>"]])
    wanted = Translator.load("everyday-en-fr", device="cpu", precision="fp32").search(
        texts, decode={"search": "greedy"}, split=False
    )
    for each, (best,) in zip(found, wanted, strict=True):
        assert cut.decode_pieces(each.hypotheses[0]) == best.text


@pytest.mark.parametrize(
    ("model", "out", "sentence"),
    [
        ("post", "a.zip", "the name of a package ends with .argosmodel"),
        ("post", "a.argosmodel", "does not say its languages"),
    ],
)
def test_what_no_package_can_be(
    model: str, out: str, sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["export", str(make(tmp_path, model)), "--format", "argos"]
    assert main([*command, "--out", str(tmp_path / out)]) == 2
    assert sentence in capsys.readouterr().err and not (tmp_path / out).exists()


def test_tokens_that_sentencepiece_writes_are_ours(data: Path, tmp_path: Path) -> None:
    """A byte-pair model written for SentencePiece cuts nearly every line as we do."""
    sentencepiece = pytest.importorskip("sentencepiece", reason="sentencepiece is absent")
    tokenizer = load_model(SHIPPED / "everyday-en-fr")[1].source
    write_sentencepiece(tokenizer, tmp_path / "ours.model")
    model = sentencepiece.SentencePieceProcessor(str(tmp_path / "ours.model"))
    lines = (data / "multi30k" / "train.en").read_text("utf-8").split("\n")[:3000]
    ours, theirs = tokenizer.encode_many(lines), model.encode(lines)
    assert sum(a != b for a, b in zip(ours, theirs, strict=True)) <= 15
    assert [model.decode(row) for row in ours] == [tokenizer.decode(row) for row in ours]


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("name", ["post", "pre", "untied"])
def test_logits_of_transformers(name: str, source: Path, tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    folder, out = make(tmp_path, name), tmp_path / "hf"
    command = ["export", str(folder), "--format", "transformers", "--out", str(out)]
    assert main([*command, "--source", str(source)]) == 0
    theirs = transformers.AutoModelForSeq2SeqLM.from_pretrained(out).eval()
    assert type(theirs).__name__.startswith("Pegasus" if name == "pre" else "Marian")
    cut = transformers.AutoTokenizer.from_pretrained(out)
    _, tokenizers, ours = load_model(folder)
    row = tokenizers.source.encode(LINES[0])
    assert cut(LINES[0]).input_ids == [*row, EOS]
    target = [BOS, 270, 261, 280]
    with torch.inference_mode():
        wanted = ours(torch.tensor([[*row, EOS]]), torch.tensor([target]))
        found = theirs(torch.tensor([[*row, EOS]]), decoder_input_ids=torch.tensor([target])).logits
    assert (found - wanted).abs().max() <= 1e-4 * wanted.abs().max()


@pytest.mark.parametrize("name", ["post", "pre", "untied"])
def test_what_is_exported_to_transformers_is_imported(name: str, tmp_path: Path) -> None:
    folder = make(tmp_path, name)
    export_transformers(folder, tmp_path / "hf")
    with safe_open(tmp_path / "hf" / "model.safetensors", "pt") as file:
        assert file.metadata() == {"format": "pt"}, "transformers 4 asks for it"
    import_model(tmp_path / "hf", tmp_path / "back")
    _, tokenizers, ours = load_model(folder)
    _, others, back = load_model(tmp_path / "back")
    row, target = tokenizers.source.encode(LINES[0]), [BOS, 270, 261, 280]
    assert others.source.encode_many(LINES) == tokenizers.source.encode_many(LINES)
    assert others.target.vocabulary == tokenizers.target.vocabulary
    with torch.inference_mode():
        logits = [x(torch.tensor([[*row, EOS]]), torch.tensor([target])) for x in (ours, back)]
    assert (logits[0] - logits[1]).abs().max() <= 1e-5 * logits[0].abs().max()


@pytest.mark.filterwarnings("default")
def test_transformers_computes_no_learned_positions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["export", str(make(tmp_path, "learned")), "--format", "transformers"]
    assert main([*command, "--out", str(tmp_path / "hf")]) == 2
    assert "has learned positions" in capsys.readouterr().err and not (tmp_path / "hf").exists()


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("data", TAGGED)
def test_transformers_puts_the_tag_before_a_source(data: str, tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is not installed")
    settings, pair = TAGGED[data]
    folder, out = make(tmp_path, "post", settings), tmp_path / "hf"
    export_transformers(f"{folder}{pair}", out)
    ours = load_model(folder)[1].source
    row = [*ours.find_tags(["<2de>"]), *ours.encode(LINES[0]), EOS]
    assert tokenizers.Tokenizer.from_file(str(out / "tokenizer.json")).encode(LINES[0]).ids == row
    import_model(out, tmp_path / "back")
    assert Config.load(tmp_path / "back" / "config.toml").data.tag == "<2de>"


@pytest.mark.parametrize("data", TAGGED)
@pytest.mark.parametrize("form", ["ctranslate2", "onnx"])
def test_an_export_says_with_which_tag_a_source_begins(
    form: str, data: str, source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip(form, reason=f"{form} is not installed")
    settings, pair = TAGGED[data]
    command = ["export", f"{make(tmp_path, 'post', settings)}{pair}", "--source", str(source)]
    assert main([*command, "--format", form, "--out", str(tmp_path / "out")]) == 0
    assert "Put <2de> before the tokens of each source" in capsys.readouterr().out
    assert json.loads((tmp_path / "out" / "parity.json").read_text())["tag"] == "<2de>"
    assert Config.load(tmp_path / "out" / "config.toml").data.tag == "<2de>"


@pytest.mark.parametrize("data", TAGGED)
@pytest.mark.parametrize("form", ["argos", "marian", "marian-bin"])
def test_what_cannot_add_the_tag_is_not_written(
    form: str, data: str, source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings, pair = TAGGED[data]
    command = ["export", f"{make(tmp_path, 'post', settings)}{pair}", "--source", str(source)]
    out = tmp_path / "out.argosmodel"
    assert main([*command, "--format", form, "--out", str(out)]) == 2
    assert "reads <2de> before each source, which" in capsys.readouterr().err
    assert not out.exists()


@pytest.mark.parametrize(
    "form", ["argos", "ctranslate2", "marian", "marian-bin", "onnx", "transformers"]
)
def test_of_several_languages_one_has_to_be_named(
    form: str, source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["export", str(make(tmp_path, "post", TAGGED["several"][0])), "--source", str(source)]
    out = tmp_path / "out.argosmodel"
    assert main([*command, "--format", form, "--out", str(out)]) == 2
    assert "en-de, en-fr: name one, as in MODEL@de" in " ".join(capsys.readouterr().err.split())
    assert not out.exists()


def test_a_package_is_of_one_source_language(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same model is a package for each pair, since English needs no tag."""
    pytest.importorskip("ctranslate2", reason="glassformer[bridge] is absent")
    pairs = [{"name": x, "source_lang": x, "target_lang": "en"} for x in ("de", "fr")]
    folder, out = make(tmp_path, "post", {"corpus": pairs}), tmp_path / "a.argosmodel"
    command = ["--format", "argos", "--quantization", "float32", "--out", str(out)]
    assert main(["export", str(folder), *command]) == 2
    assert f"name one pair, as in {folder}@de-en" in " ".join(capsys.readouterr().err.split())
    assert main(["export", f"{folder}@fr-en", *command]) == 0
    with ZipFile(out) as archive:
        told = json.loads(archive.read("translate-fr_en/metadata.json"))
    assert (told["from_code"], told["to_code"]) == ("fr", "en")


def test_a_weight_that_no_format_has_is_not_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config, tokenizers, network = load_model(make(tmp_path, "post"))
    network.decoder[0].temperature = torch.nn.Parameter(torch.ones(3))
    monkeypatch.setattr(exporting, "load_model", lambda model: (config, tokenizers, network))
    with pytest.raises(ValueError, match=r"the weight decoder\.0\.temperature, which Marian does"):
        exporting.open_plain("post", "Marian")
