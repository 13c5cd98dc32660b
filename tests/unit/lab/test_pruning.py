"""A pruned model is the whole one with what was taken out silenced, and an ordinary model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from glassformer.cli import main
from glassformer.extensions.lab import pruning
from glassformer.extensions.lab.heads import read_batches
from glassformer.extensions.lab.pruning import prune
from glassformer.model.files.directory import load_model, save_model
from glassformer.train.publish.card import read_facts
from glassformer.translate.align.choose_head import choose_guided
from glassformer.translator import Translator

TEXTS = ("The animal did not cross the street because it was too tired.", "The cat is here.")


@pytest.fixture(scope="module")
def demo() -> Translator:
    return Translator.load("demo", device="cpu", precision="fp32")


def silence_all_but(kept: dict[str, list[int]], end: str) -> dict[str, Any]:
    """Return edits that set the heads or neurons to zero that are not kept."""

    def make(places: list[int]) -> Any:
        def edit(x: Tensor) -> Tensor:
            changed = torch.zeros_like(x)
            if end == ".context":
                changed[:, places] = x[:, places]
            else:
                changed[..., places] = x[..., places]
            return changed

        return edit

    return {f"{block}{end}": make(places) for block, places in kept.items()}


@pytest.mark.parametrize(
    ("left", "end", "count"), [({"heads": 3}, ".context", 3), ({"d_ff": 40}, ".hidden", 40)]
)
def test_it_is_the_whole_model_with_the_rest_silenced(
    demo: Translator, tmp_path: Path, left: dict[str, int], end: str, count: int
) -> None:
    told: list[tuple[int, int]] = []
    made = prune(
        "demo", TEXTS, tmp_path / "small", **left, progress=lambda *each: told.append(each)
    )
    total = told[0][1]
    assert told == [(done, total) for done in range(total)], "the time left is known"
    small = Translator.load(tmp_path / "small", device="cpu", precision="fp32")
    assert {len(each) for each in made.kept.values()} == {count}
    (batch,) = read_batches(demo, TEXTS)
    wanted = batch.run(silence_all_but(made.kept, end), None)[1]
    whole_loss = batch.loss(batch.run({}, None)[1]) / int(batch.is_token_BT.sum())
    batch.translator = small
    found = batch.run({}, None)[1]
    assert torch.allclose(found, wanted, atol=1e-4)
    assert made.loss[0] == pytest.approx(whole_loss, abs=1e-5)
    assert made.loss[1] == pytest.approx(batch.loss(found) / int(batch.is_token_BT.sum()), abs=1e-5)


def test_neurons_that_add_nothing_go_first(tmp_path: Path) -> None:
    config, tokenizers, model = load_model("demo")
    state = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    busy = [3, 50, 101]
    for name in state:
        if name.endswith("outer.weight"):
            column_F = torch.zeros(config.model.d_ff)
            column_F[busy] = 1
            state[name] *= column_F
    save_model(tmp_path / "idle", config, tokenizers, state)
    made = prune(tmp_path / "idle", TEXTS, tmp_path / "small", d_ff=len(busy))
    assert made.loss[1] == pytest.approx(made.loss[0], abs=1e-5)


@pytest.mark.parametrize(("head", "place"), [(5, 1), (0, None)])
def test_a_guided_head_has_its_new_number_or_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, head: int, place: int | None
) -> None:
    config, tokenizers, model = load_model("demo")
    guided = {"alignment_weight": 0.1, "alignment_layer": 2, "alignment_head": head}
    save_model(tmp_path / "guided", config.changed(train=guided), tokenizers, model.state_dict())
    rises = [{"loss": float(number in (3, 5))} for number in range(config.model.heads)]
    blocks = {
        name: {"heads": rises} for name, _ in model.named_modules() if name.endswith("_attention")
    }
    monkeypatch.setattr(pruning, "measure_portraits", lambda *_, **__: {"blocks": blocks})
    pruning.prune(tmp_path / "guided", TEXTS, tmp_path / "small", heads=2)
    choice = choose_guided(load_model(tmp_path / "small")[0])
    assert (choice and (choice.layer, choice.head)) == (None if place is None else (2, place))


def test_lines_that_are_too_long_are_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    long, text = "the cat " * 400, tmp_path / "text"
    text.write_text(f"\n{long}\n{TEXTS[1]}\n", encoding="utf-8")
    out = ["--out", str(tmp_path / "small"), "--d-ff", "100"]
    assert main(["prune", "demo", str(text), *out]) == 0
    assert f"{text}: line 2 is too long for this model: left out" in capsys.readouterr().err
    assert main(["heads", "demo", str(text), "--sentences", "1"]) == 2
    assert "line 2 is too long for this model" in capsys.readouterr().err
    for command in (["prune", "demo", str(text), *out], ["heads", "demo", str(text)]):
        assert main([*command, "--sentences", "0"]) == 2
        assert "--sentences" in capsys.readouterr().err


def test_the_command_writes_a_model_that_doctor_accepts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "text").write_text("\n".join(TEXTS) + "\n", encoding="utf-8")
    command = ["prune", "demo", str(tmp_path / "text"), "--out", str(tmp_path / "small")]
    assert main([*command, "--heads", "2", "--d-ff", "100"]) == 0
    assert "parameters" in capsys.readouterr().out
    assert main(["doctor", str(tmp_path / "small")]) == 0
    assert main(["info", str(tmp_path / "small")]) == 0
    facts = read_facts(tmp_path / "small")
    assert facts["data"] and "scores" not in facts
    capsys.readouterr()
    assert main([*command, "--heads", "2"]) == 2
    assert "holds a model already" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("model", "left", "said"),
    [
        ("demo", {}, "heads or d_ff"),
        ("demo", {"heads": 8}, "the model has"),
        ("demo", {"d_ff": 0}, "the model has"),
        ("demo-rnn", {"heads": 1}, "network=rnn"),
    ],
)
def test_what_cannot_be_is_refused(
    tmp_path: Path, model: str, left: dict[str, int], said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        prune(model, TEXTS, tmp_path / "small", **left)
    assert not (tmp_path / "small").exists()
