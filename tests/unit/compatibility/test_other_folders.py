"""A checkpoint of another toolkit is told by its files, wherever a model is wanted."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from glassformer.cli import main
from glassformer.extensions.bridge.other_folders import find_toolkit, recognise
from glassformer.model.files.directory import SHIPPED, open_model

# The files that each toolkit writes, and what is said of the folder.
LAYOUTS = [
    ("config.yaml best.ckpt latest.ckpt src_vocab.txt trg_vocab.txt train.log", "JoeyNMT"),
    ("avg5.ckpt config.yaml sp.model validations.txt", "JoeyNMT"),
    ("checkpoint_best.pt checkpoint_last.pt", "fairseq"),
    ("model.pt dict.en.txt dict.de.txt bpecodes", "fairseq"),
    ("wmt19.en-de.joined-dict.ensemble/ dict.en.txt dict.de.txt model1.pt model2.pt", "fairseq"),
    ("model_step_10000.pt vocab.src", "OpenNMT-py"),
    ("checkpoint ckpt-5000.index ckpt-5000.data-00000-of-00001", "OpenNMT-tf"),
    ("config.json model.00.safetensors vocab.json optimizer.pt", "Eole"),
    ("model.npz model.npz.yml model.npz.decoder.yml vocab.spm", "Marian's own files"),
    ("opus.model1.npz.best-perplexity.npz decoder.yml source.spm target.spm", "Marian's own files"),
    ("params.best vocab.src.0.json vocab.trg.0.json args.yaml config version", "Sockeye"),
    ("model.bin config.json shared_vocabulary.json", "CTranslate2"),
    ("model.bin config.json source_vocabulary.json target_vocabulary.json", "CTranslate2"),
    ("metadata.json model/ sentencepiece.model stanza/", "Argos Translate"),
]


def lay_out(folder: Path, names: str) -> Path:
    folder.mkdir()
    for name in names.split():
        if name.endswith("/"):
            (folder / name).mkdir()
        else:
            (folder / name).write_text("{}", encoding="utf-8")
    return folder


IMPORTED = ("JoeyNMT", "fairseq", "OpenNMT-py", "Eole", "Marian's own files")


@pytest.mark.parametrize(("names", "toolkit"), LAYOUTS)
def test_what_can_be_imported_is_told_with_the_command(
    names: str, toolkit: str, tmp_path: Path
) -> None:
    folder = lay_out(tmp_path / "theirs", names)
    said = recognise(folder) or ""
    assert (f"glassformer import {folder} --out my-model" in said) == (toolkit in IMPORTED)
    assert bool(find_toolkit(folder)) == (toolkit in IMPORTED)


@pytest.mark.parametrize(("names", "toolkit"), [x for x in LAYOUTS if x[1] not in IMPORTED])
def test_another_toolkit_is_named(
    names: str, toolkit: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = lay_out(tmp_path / "theirs", names)
    assert main(["import", str(folder), "--out", str(tmp_path / "new")]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"glassformer: {folder} is ") and toolkit in said
    assert "import" in said and said.count("\n") == 1
    with pytest.raises(ValueError, match=toolkit):
        open_model(folder)


@pytest.mark.parametrize(
    "name", ["best.ckpt", "checkpoint_best.pt", "model.npz", "model_step_500.pt", "m.argosmodel"]
)
def test_one_file_of_a_checkpoint_is_told_too(name: str, tmp_path: Path) -> None:
    folder = lay_out(tmp_path / "theirs", f"{name} config.yaml src_vocab.txt")
    said = recognise(folder / name)
    assert said and said.startswith(f"{folder / name} is a ") and "import" in said.lower()


def test_a_name_of_the_hub_is_told_how_to_fetch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for verb in ("import", "translate", "info", "serve"):
        out = ["--out", "new"] if verb == "import" else []
        assert main([verb, "Helsinki-NLP/opus-mt-en-de", *out]) == 2
        said = capsys.readouterr().err
        assert "hf download Helsinki-NLP/opus-mt-en-de --local-dir opus-mt-en-de" in said
    (tmp_path / "models").mkdir()
    assert recognise(Path("models/typo")) is None


def test_a_marian_checkpoint_is_to_be_imported(tmp_path: Path) -> None:
    folder = lay_out(tmp_path / "opus", "model.safetensors vocab.json source.spm target.spm")
    (folder / "config.json").write_text(json.dumps({"model_type": "marian"}), encoding="utf-8")
    with pytest.raises(ValueError, match=f"glassformer import {folder} --out my-model"):
        open_model(folder)
    (folder / "config.json").write_text(json.dumps({"model_type": "t5"}), encoding="utf-8")
    with pytest.raises(ValueError, match="of the kind t5: only MarianMT"):
        open_model(folder)


@pytest.mark.parametrize("name", ["model.safetensors", "pytorch_model.bin"])
def test_a_file_that_git_did_not_fetch_is_named(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = lay_out(tmp_path / "opus", "vocab.json")
    (folder / "config.json").write_text(json.dumps({"model_type": "marian"}), encoding="utf-8")
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 298763941\n"
    (folder / name).write_text(pointer, encoding="utf-8")
    with pytest.raises(ValueError, match=f"{name} is what git leaves .* git lfs pull"):
        open_model(folder)


def test_what_is_ours_is_known(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = tmp_path / "m"
    shutil.copytree(SHIPPED / "demo", model)
    assert main(["import", str(model), "--out", str(tmp_path / "new")]) == 2
    assert "is a model of glassformer already" in capsys.readouterr().err
    lay_out(tmp_path / "begun", "run/")
    (tmp_path / "begun/run/run.json").write_text("{}", encoding="utf-8")
    for place, said in (
        (tmp_path / "begun", f"glassformer train --resume {tmp_path / 'begun'} goes on"),
        (tmp_path / "begun/run", f"the model is {tmp_path / 'begun'}"),
        (model / "model.safetensors", f"name its folder, {model}"),
    ):
        assert said in (recognise(place) or "")


def test_an_export_is_no_model(tmp_path: Path) -> None:
    pytest.importorskip("ctranslate2")
    from glassformer.extensions.bridge.ctranslate2 import export_ctranslate2

    export_ctranslate2(SHIPPED / "demo-fr-en", tmp_path / "ct2", texts=["le chat"])
    with pytest.raises(ValueError, match="is an export for CTranslate2"):
        open_model(tmp_path / "ct2")
    (tmp_path / "ct2/config.toml").unlink()
    with pytest.raises(ValueError, match="is a CTranslate2 model"):
        open_model(tmp_path / "ct2")


def test_nothing_is_claimed_of_what_nobody_knows(tmp_path: Path) -> None:
    for number, names in enumerate(("", "train.en train.de", "config.json", "a.pt", "data.npz")):
        assert recognise(lay_out(tmp_path / str(number), names)) is None
