"""Which pairs taught a word: against steps of training, and on a text with a planted fault."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from glassformer.cli import main
from glassformer.config import BOS, EOS, Model
from glassformer.extensions.circuits.edges import WordContrast
from glassformer.extensions.circuits.teaching import (
    DAMPING,
    TokenPair,
    copy_weights,
    estimate_fisher,
    find_nearest,
    measure_losses,
    score_teachers,
)
from glassformer.model.networks import build_network

V = 20
CONTRAST = WordContrast((5, 9, EOS), (BOS, 8), (14, 17))
PAIRS = [
    TokenPair((5, 9, EOS), (8, 14, EOS)),
    TokenPair((5, 9, EOS), (8, 17, EOS)),
    TokenPair((6, 7, 10, EOS), (11, 12, 13, 14, EOS)),
    TokenPair((7, EOS), (9, EOS)),
]


@pytest.fixture
def network() -> Any:
    torch.manual_seed(8)
    settings = {"d_model": 16, "heads": 2, "d_ff": 12, "encoder_layers": 1, "decoder_layers": 1}
    made = build_network(Model.model_validate(settings | {"norm": "pre"}), V, V)
    return made.double().eval().requires_grad_(False)


def read_lead(network: Any, weights: Any) -> float:
    source, given = torch.tensor([CONTRAST.source]), torch.tensor([CONTRAST.given])
    logits_V = torch.func.functional_call(network, weights, (source, given))[0, -1]
    return float(logits_V[14] - logits_V[17])


def test_a_step_on_a_pair_moves_the_lead_as_its_number_says(network: Any) -> None:
    weights = copy_weights(network)
    fisher = estimate_fisher(network, weights, PAIRS)
    floor = sum(x.mean() for x in fisher.values()) / len(fisher)
    found = score_teachers(network, CONTRAST, PAIRS)
    before, step = read_lead(network, weights), 1e-6
    for pair, score in zip(PAIRS, found.tolist(), strict=True):
        own = {name: x.clone().requires_grad_() for name, x in weights.items()}
        loss = measure_losses(network, own, [pair]).sum()
        grads = torch.autograd.grad(loss, [*own.values()])
        moved = {
            name: x - step * grad / (fisher[name] + DAMPING * floor)
            for (name, x), grad in zip(weights.items(), grads, strict=True)
        }
        moved_by = (read_lead(network, moved) - before) / step
        assert score == pytest.approx(moved_by, rel=1e-3, abs=1e-3)
    assert found[0] > 0 > found[1]


def test_the_fisher_information_is_of_squared_gradients(network: Any) -> None:
    weights = copy_weights(network)
    own = {name: x.clone().requires_grad_() for name, x in weights.items()}
    loss = measure_losses(network, own, PAIRS[:1]).sum()
    grads = torch.autograd.grad(loss, [*own.values()])
    found = estimate_fisher(network, weights, PAIRS[:1])
    for name, grad in zip(own, grads, strict=True):
        assert torch.allclose(found[name], grad.square())


def test_losses_do_not_depend_on_padding(network: Any) -> None:
    weights = copy_weights(network)
    together = measure_losses(network, weights, PAIRS)
    apart = torch.cat([measure_losses(network, weights, [pair]) for pair in PAIRS])
    assert torch.allclose(together, apart)


def test_the_nearest_state_is_the_same_sentence(network: Any) -> None:
    found = find_nearest(network, CONTRAST, PAIRS)
    assert found[0].item() == pytest.approx(1) and found[1].item() == pytest.approx(-1)
    assert 0 <= found[2] < 1 and found[3] == 0


def test_the_command_lists_lines(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    lines = [
        "The animal didn't cross the road because it was wide.\t"
        "L'animal n'a pas traversé la route parce qu'elle était large.",
        "The dog is small.\tLe chien est petit.",
        "The animal didn’t cross the street because it was tired.\t"
        "L’animal n’a pas traversé la rue parce qu’il était fatigué.",
        "The cat is on the mat.\tLe chat est sur le tapis.",
        "\t",
    ]
    (tmp_path / "pairs.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    text = "The animal didn't cross the street because it was too wide."
    command = ["taught", "demo", text, "--word", "elle", "--rival", "il", "--json"]
    assert main([*command, "--data", str(tmp_path / "pairs.tsv")]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["pairs"] == 4
    by_line = {row["line"]: row for row in found["for"]}
    assert found["for"][0]["line"] == 1 and found["for"] == found["against"][::-1]
    assert by_line[1]["nearest"] > 0 > by_line[3]["nearest"], "whatever the apostrophe"
    assert by_line[2]["nearest"] == by_line[4]["nearest"] == 0


def test_a_text_without_pairs_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "empty.tsv").write_text("", encoding="utf-8")
    command = ["taught", "demo", "The cat is small.", "--word", "chat", "--data"]
    assert main([*command, str(tmp_path / "empty.tsv")]) == 2
    assert "there is no pair" in capsys.readouterr().err
