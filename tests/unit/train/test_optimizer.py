"""Muon against singular value decomposition and against torch's own; Adam for the rest."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch
from torch import nn

from glassformer.config import Config, Train
from glassformer.model.transformer import Transformer
from glassformer.train.run.optimizer import make_optimizer, make_orthogonal, set_rate

SHAPE = {"d_model": 16, "d_ff": 24, "heads": 2, "encoder_layers": 2, "decoder_layers": 1}


def make_model() -> Transformer:
    torch.manual_seed(3)
    return Transformer(Config.read({"model": SHAPE}).model, 40, 40)


def give_gradients(model: nn.Module, seed: int) -> None:
    torch.manual_seed(seed)
    for parameter in model.parameters():
        parameter.grad = torch.randn_like(parameter)


def run(model: nn.Module, optimizer: torch.optim.Optimizer, steps: int = 3) -> None:
    for step in range(steps):
        give_gradients(model, step)
        for group in optimizer.param_groups:
            group["lr"] = 0.01
        optimizer.step()


@pytest.mark.parametrize("shape", [(3, 8, 8), (2, 4, 9), (2, 9, 4), (2, 256, 260), (2, 270, 256)])
def test_orthogonal_keeps_directions_and_evens_out_sizes(shape: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    x_NOI = torch.randn(shape)
    u, s, vh = torch.linalg.svd(x_NOI, full_matrices=False)
    found = u.mT @ make_orthogonal(x_NOI) @ vh.mT  # diagonal, where the directions are kept
    sizes = found.diagonal(dim1=1, dim2=2)
    assert (found - torch.diag_embed(sizes)).abs().max() < 1e-4
    large = s / s.norm(dim=1, keepdim=True) > 0.05  # tiny ones need more rounds
    assert sizes[large].min() > 0.6 and sizes.max() < 1.3


def test_a_matrix_of_zeros_stays() -> None:
    assert not make_orthogonal(torch.zeros(1, 4, 4)).any()


def test_matrices_step_like_torchs_muon() -> None:
    ours, theirs = make_model(), make_model()
    run(ours, make_optimizer(ours, Train(optimizer="muon"), "bf16"))
    matrices = {n: p for n, p in theirs.named_parameters() if p.dim() == 2 and "coder." in n}
    authority = torch.optim.Muon(
        matrices.values(), lr=0.01, weight_decay=0, momentum=0.95, adjust_lr_fn="match_rms_adamw"
    )
    run(theirs, authority)
    start, found = dict(make_model().named_parameters()), dict(ours.named_parameters())
    for name, expected in matrices.items():
        moved, wanted = found[name] - start[name], expected - start[name]
        assert (moved - wanted).norm() < 0.05 * wanted.norm(), name  # both in bf16


def test_the_rest_steps_like_adam() -> None:
    ours, theirs = make_model(), make_model()
    train = Train(optimizer="muon", weight_decay=0.1)
    run(ours, make_optimizer(ours, train, "fp32"))
    run(theirs, make_optimizer(theirs, train.model_copy(update={"optimizer": "adam"}), "fp32"))
    expected = dict(theirs.named_parameters())
    for name, found in ours.named_parameters():
        is_matrix = found.dim() == 2 and "coder." in name
        assert torch.equal(found, expected[name]) != is_matrix, name


@pytest.mark.parametrize("kind", ["adam", "muon"])
@pytest.mark.parametrize("tie", ["three-way", "none"])
def test_embeddings_may_have_a_rate_of_their_own(kind: str, tie: str) -> None:
    """In the first step Adam moves every number by the rate, whatever the gradient."""
    settings = Config.read({"model": {**SHAPE, "tie": tie}}).model
    moved = []
    for factor in (1.0, 0.25):
        torch.manual_seed(3)
        model = Transformer(settings, 40, 40)
        before = {name: p.clone() for name, p in model.named_parameters()}
        train = Train(optimizer=kind, embedding_lr_scale=factor)
        optimizer = make_optimizer(model, train, "fp32")
        give_gradients(model, 1)
        set_rate(optimizer, 0.01)
        optimizer.step()
        moved.append({name: (p - before[name]).abs() for name, p in model.named_parameters()})
    whole, part = moved
    for name in whole:
        wanted = whole[name] * (0.25 if name.endswith("table.weight") else 1)
        torch.testing.assert_close(part[name], wanted, atol=1e-6, rtol=1e-3)


def test_what_is_frozen_is_left_alone() -> None:
    model = make_model()
    for parameter in model.encoder.parameters():
        parameter.requires_grad_(False)
    optimizer = make_optimizer(model, Train(optimizer="muon"), "fp32")
    there = {id(p) for group in optimizer.param_groups for p in group["params"]}
    assert there == {id(p) for p in model.parameters() if p.requires_grad}


@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_steps_like_torchs_adam(decay: float) -> None:
    ours, theirs = make_model(), make_model()
    run(ours, make_optimizer(ours, Train(optimizer="adam", weight_decay=decay), "fp32"))
    betas, epsilon = Train().betas, Train().epsilon
    adam = torch.optim.AdamW(theirs.parameters(), betas=betas, eps=epsilon, weight_decay=decay)
    run(theirs, adam)
    for found, expected in zip(ours.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(found, expected)


@pytest.mark.thorough
@pytest.mark.parametrize("optimizer", ["adam", "muon"])
def test_torchs_compiler_is_not_imported(optimizer: str) -> None:
    """It would take as long as the import of torch."""
    code = (
        "import sys, torch\n"
        "from glassformer.config import Train\n"
        "from glassformer.train.run.optimizer import make_optimizer\n"
        "model = torch.nn.Linear(2, 2)\n"
        f"made = make_optimizer(model, Train(optimizer={optimizer!r}), 'fp32')\n"
        "model(torch.ones(2)).sum().backward()\n"
        "made.step(), made.zero_grad(), made.load_state_dict(made.state_dict())\n"
        "assert 'torch._dynamo' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
