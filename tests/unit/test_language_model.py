"""Language models as they are used: data, masks, training, and beginning with one another."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch

from glassformer.cli import main
from glassformer.config import BOS, EOS, MASK, PAD, Config
from glassformer.data.corpus import find_sentences, find_text, has_labels
from glassformer.data.holdout import hold_out
from glassformer.data.labels import Labels, find_labels
from glassformer.data.masking import mask_tokens
from glassformer.model.files.directory import load_model
from glassformer.train import train
from glassformer.translate.language_model import LanguageModel
from glassformer.translator import Translator

LINES = [
    f"the {a} {b} runs {c}" for a in ("red", "old", "big") for b in ("cat", "dog") for c in "xyz"
]
SHAPE = {"d_model": 16, "d_ff": 32, "heads": 2, "dropout": 0.0, "norm": "pre", "tie": "two-way"}
STEPS = {"steps": 60, "batch_tokens": 128, "learning_rate": 0.02, "warmup": 5, "watch": 0}


def make_config(network: str, steps: int = 60) -> Config:
    sides = {"transformer": ("encoder_layers", "decoder_layers")}.get(
        network, (f"{network}_layers",)
    )
    return Config.read(
        {
            "model": {"network": network, **SHAPE, **dict.fromkeys(sides, 1)},
            "text": {"vocabulary": 320},
            "train": {**STEPS, "steps": steps},
        }
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A writer, a filler with the same tokens, and their text."""
    place = tmp_path_factory.mktemp("models")
    (place / "text.en").write_text("\n".join(LINES) + "\n", encoding="utf-8")
    labelled = "".join(f"{'red' if 'red' in line else 'other'}\t{line}\n" for line in LINES)
    (place / "labelled.tsv").write_text(labelled, encoding="utf-8")
    data = [place / "text.en"]
    train(make_config("decoder"), data, place / "writer", valid=data, quiet=True)
    begun = [place / "writer"]
    how = {"valid": data, "init_from": begun, "quiet": True}
    train(make_config("encoder"), data, place / "filler", **how)
    return place


def test_masks_are_of_fifteen_percent() -> None:
    ids_BS = np.random.default_rng(1).integers(300, 400, (400, 100))
    ids_BS[:, 0], ids_BS[:, 80], ids_BS[:, 81:] = BOS, EOS, PAD
    masked_BS, wanted_BS = mask_tokens(ids_BS, 400, (3, 4))
    chosen_BS = wanted_BS != PAD
    assert (chosen_BS[:, 1:80].sum(1) == round(0.15 * 79)).all()
    assert not chosen_BS[:, 0].any() and not chosen_BS[:, 80:].any()
    assert (wanted_BS[chosen_BS] == ids_BS[chosen_BS]).all()
    assert (masked_BS[~chosen_BS] == ids_BS[~chosen_BS]).all()
    shares = [(masked_BS[chosen_BS] == MASK).mean(), (masked_BS == ids_BS)[chosen_BS].mean()]
    assert shares == pytest.approx([0.8, 0.1], abs=0.03)
    again_BS, _ = mask_tokens(ids_BS, 400, (3, 4))
    other_BS, _ = mask_tokens(ids_BS, 400, (3, 5))
    assert (again_BS == masked_BS).all() and (other_BS != masked_BS).any()
    _, short_BS = mask_tokens(np.array([[BOS, 300, EOS]]), 400, (1,))
    assert (short_BS == [[PAD, 300, PAD]]).all()


def test_texts_and_labelled_sentences(folder: Path) -> None:
    assert next(iter(find_text(folder / "text", "en").train)) == (LINES[0], LINES[0])
    assert has_labels(folder / "labelled.tsv") and not has_labels(folder / "text.en")
    found = find_sentences(folder / "labelled.tsv").train
    assert next(iter(found)) == (LINES[0], "red")
    rest, held = hold_out(found, 1)  # although all share their label with others
    assert len(list(rest)) + len(list(held)) == len(LINES)
    labels = Labels(find_labels(label for _, label in found))
    assert labels.encode_many(["red", "other"]) == [[2], [1]] and len(labels) == 3
    with pytest.raises(ValueError, match="no label 'blue'"):
        labels.encode_many(["blue"])
    with pytest.raises(ValueError, match="is a table"):
        find_text(folder / "labelled.tsv")


def test_a_writer_learns_its_text(folder: Path) -> None:
    writer = LanguageModel.load(folder / "writer", device="cpu")
    greedy = {"search": "greedy"}
    assert writer.complete("the red cat runs", decode=greedy) in LINES
    scored = writer.score(["the red cat runs x", "x runs cat red the"])
    assert scored[0].log_prob > scored[1].log_prob + 5
    (best,) = writer.search("the red", decode=greedy)
    assert best.text == "the red" + best.added
    assert best.log_prob == pytest.approx(sum(best.token_log_probs))
    whole = writer.score(best.text).token_log_probs
    assert whole[-len(best.token_log_probs) :] == pytest.approx(best.token_log_probs, abs=1e-4)
    least = {**greedy, "min_length": 9, "max_extra": 12}
    assert 9 <= len(writer.search("the red", decode=least)[0].tokens) <= 12
    drawn = writer.search("the", decode={"search": "sample"}, n_best=4, seed=3)
    assert len({each.text for each in drawn}) > 1
    assert drawn == writer.search("the", decode={"search": "sample"}, n_best=4, seed=3)
    with pytest.raises(ValueError, match="to fill, train one with --network encoder"):
        writer.fill("the [MASK]")


def test_a_filler_fills_and_a_teller_tells(folder: Path) -> None:
    filler = LanguageModel.load(folder / "filler", device="cpu")
    ids = filler.encode_masked("the [MASK] cat [MASK].")
    assert ids.count(MASK) == 2 and ids[:1] == [BOS] and ids[-1:] == [EOS]
    (guesses,) = filler.fill("the red cat [MASK] x", top=400)
    assert sum(each.probability for each in guesses) == pytest.approx(1, abs=1e-4)
    assert guesses[0].token == " runs"
    assert len(filler.score("the cat").token_log_probs) == len(filler.score("the cat").tokens)
    begun = [folder / "filler"]
    data = [folder / "labelled.tsv"]
    train(make_config("encoder"), data, folder / "teller", init_from=begun, valid=data, quiet=True)
    teller = LanguageModel.load(folder / "teller", device="cpu")
    found = teller.classify(["the red dog runs x", "the old dog runs x"])
    assert [each.label for each in found] == ["red", "other"]
    assert math.fsum(found[0].probabilities.values()) == pytest.approx(1, abs=1e-5)


def test_a_translation_model_begins_with_both(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.de").write_text("\n".join(LINES) + "\n", encoding="utf-8")
    data = [folder / "text.en", tmp_path / "a.de"]
    begun = [folder / "filler", folder / "writer"]
    config = make_config("transformer", steps=1).changed(train={"learning_rate": 1e-12})
    train(config, data, tmp_path / "begun", init_from=begun, valid=data)
    said = capsys.readouterr()
    assert "drawn as usual: decoder.cross_attention" in said.out + said.err
    found = load_model(tmp_path / "begun")[2].state_dict()
    for model, side in (("filler", "encoder"), ("writer", "decoder")):
        wanted = load_model(folder / model)[2].state_dict()
        names = [name for name in wanted if name.startswith(side)]
        assert names
        assert all(torch.allclose(found[name], wanted[name], atol=1e-6) for name in names)
    other = config.changed(model={"d_ff": 64})
    with pytest.raises(ValueError, match="d_ff=64 does not fit"):
        train(other, data, tmp_path / "other", init_from=begun, quiet=True)


def test_each_verb_at_the_command_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    writer, filler, text = (str(folder / name) for name in ("writer", "filler", "text.en"))
    assert main(["complete", writer, "the red", "--search", "greedy"]) == 0
    assert capsys.readouterr().out.startswith("the red")
    assert main(["fill", filler, "the [MASK] cat", "--top", "2"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2
    assert main(["evaluate", writer, text]) == 0
    assert "perplexity" in capsys.readouterr().out
    assert main(["evaluate", filler, text]) == 0
    assert "accuracy" in capsys.readouterr().out
    assert main(["score", writer, text]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(LINES)
    assert main(["see", filler, "the [MASK] cat"]) == 0
    assert "what fits there" in capsys.readouterr().out
    assert main(["see", filler, "the cat", "--target", "x"]) == 2
    assert main(["evaluate", writer, text, "--beam", "3"]) == 2
    assert main(["doctor", writer]) == 0


def test_a_language_model_translates_nothing(folder: Path) -> None:
    with pytest.raises(ValueError, match="language model"):
        Translator.load(folder / "writer")


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ({"network": "decoder", "encoder_layers": 2}, "encoder_layers=2 has no effect"),
        ({"network": "encoder", "encoder_layers": 0}, "has at least 1"),
        ({"labels": ["a", "b"]}, "has no effect with network=transformer"),
        ({"decoder_layers": 0}, "has at least 1"),
    ],
)
def test_settings_without_effect(model: dict[str, object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Config.read({"model": model})


@pytest.mark.parametrize("text", ["", " \n"])
def test_there_is_nothing_to_see_in_a_blank_text(text: str) -> None:
    with pytest.raises(ValueError, match="there is no text to look into"):
        LanguageModel.load("demo-lm", device="cpu").see(text)
