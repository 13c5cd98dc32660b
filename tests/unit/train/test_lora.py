"""LoRA against the same with factors as parameters of their own; frozen parts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.utils import parametrize

from glassformer.config import Config, Train
from glassformer.model.files.directory import load_model
from glassformer.model.files.tensors import load_tensors
from glassformer.train import resume, train
from glassformer.train.plan.init_from import inherit
from glassformer.train.run.lora import adapt
from glassformer.train.run.updates import Updater

from .conftest import Settings
from .test_updates import make_batch, make_updater

RANK, ALPHA = 2, 6.0


class Product(nn.Module):
    """W0 + alpha / r · B A, as the paper has it."""

    def __init__(self, a: torch.Tensor, rows: int):
        super().__init__()
        self.a, self.b = nn.Parameter(a.clone()), nn.Parameter(torch.zeros(rows, RANK))

    def forward(self, weight: torch.Tensor) -> torch.Tensor:
        return weight + ALPHA / RANK * self.b @ self.a


def test_it_is_the_papers_lora() -> None:
    settings = Train(lora_rank=RANK, lora_alpha=ALPHA, max_grad_norm=None, label_smoothing=0.0)
    ours = make_updater().model
    theirs = make_updater().model
    adapt(ours)
    updater = Updater(ours, settings, torch.device("cpu"), "fp32")
    updater.update(1, 0.0, [make_batch(0)])  # rate 0: the factors are made
    for p in updater.optimizer.param_groups[0]["params"]:  # and nothing is remembered
        for name, each in updater.optimizer.state[p].items():
            if name not in ("lora_a", "lora_b"):
                each.zero_()
    factors = dict(ours.named_parameters())
    for name, module in theirs.named_modules():
        if isinstance(module, nn.Linear):
            a = updater.optimizer.state[factors[f"{name}.weight"]]["lora_a"]
            parametrize.register_parametrization(module, "weight", Product(a, module.out_features))
    learned = [p for name, p in theirs.named_parameters() if name.endswith((".0.a", ".0.b"))]
    adam = torch.optim.Adam(learned, lr=0.01, betas=settings.betas, eps=settings.epsilon)
    for step in range(3):
        batch = make_batch(step)
        updater.update(step + 2, 0.01, [batch])
        source, target = torch.from_numpy(batch.source_BS), torch.from_numpy(batch.target_BT)
        logits = theirs(source, target[:, :-1]).flatten(0, 1)
        loss = nn.functional.cross_entropy(logits, target[:, 1:].flatten(), ignore_index=0)
        adam.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        adam.step()
    for name, module in theirs.named_modules():
        if isinstance(module, nn.Linear):
            found = factors[f"{name}.weight"]
            torch.testing.assert_close(found.detach(), module.weight.detach(), rtol=1e-3, atol=2e-5)


def test_only_changes_of_the_rank_are_learned(
    tmp_path: Path, corpus: list[Path], parent: Path
) -> None:
    """The model directory is an ordinary one; all but the layers' matrices are the parent's."""
    config = inherit(
        parent, [f"train.lora_rank={RANK}", "train.steps=5", "train.learning_rate=0.02"]
    )
    config = config.changed(train={"ema": None, "freeze": ["encoder.0"]})
    train(config, corpus, tmp_path / "m", parent=parent, quiet=True)
    before, after = (load_tensors(path / "model.safetensors") for path in (parent, tmp_path / "m"))
    before = load_model(parent)[2].state_dict()
    after = load_tensors(max((tmp_path / "m/run/checkpoints").iterdir()) / "weights.safetensors")
    assert before.keys() == after.keys()
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert changed and all(before[name].dim() == 2 for name in changed)
    assert all(name.startswith(("encoder.1.", "decoder.0.")) for name in changed)
    for name in changed:
        values = torch.linalg.svdvals(after[name].double() - before[name].double())
        assert values[RANK:].max() < 1e-5 < values[0], name
    assert load_model(tmp_path / "m")[0].train.lora_rank == RANK
    assert inherit(tmp_path / "m").train.lora_rank is None


def test_a_kill_changes_nothing(
    tmp_path: Path, corpus: list[Path], settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = settings(steps=8, checkpoint_every=3, lora_rank=3)
    train(config, corpus, tmp_path / "whole", quiet=True)
    update = Updater.update

    def dies(self: Updater, step: int, *rest: Any) -> Any:
        if step == 5:
            raise KeyboardInterrupt
        return update(self, step, *rest)

    monkeypatch.setattr(Updater, "update", dies)
    with pytest.raises(KeyboardInterrupt):
        train(config, corpus, tmp_path / "broken", quiet=True)
    monkeypatch.undo()
    resume(tmp_path / "broken", quiet=True)
    one, other = (
        max((tmp_path / name / "run/checkpoints").iterdir()) for name in ("whole", "broken")
    )
    for name in ("weights", "averaged", "optimizer"):
        a, b = (load_tensors(path / f"{name}.safetensors") for path in (one, other))
        assert a.keys() == b.keys()
        apart = {key: (a[key] - b[key]).abs().max() for key in a if not torch.equal(a[key], b[key])}
        assert not apart, name


def test_embeddings_are_frozen_by_one_name(
    tmp_path: Path, corpus: list[Path], settings: Settings, parent: Path
) -> None:
    config = inherit(parent, ["train.steps=3", "train.ema=0.5"]).changed(
        train={"freeze": ["embedding", "encoder"]}
    )
    train(config, corpus, tmp_path / "m", parent=parent, quiet=True)
    before = load_model(parent)[2].state_dict()
    after = load_tensors(max((tmp_path / "m/run/checkpoints").iterdir()) / "weights.safetensors")
    for name in before:
        is_frozen = name.startswith(
            ("source_embedding", "target_embedding", "output_table", "encoder")
        )
        assert torch.equal(before[name], after[name]) == is_frozen, name


def test_any_seed_will_do() -> None:
    settings = Train(lora_rank=RANK, seed=2**63 - 1)
    model = make_updater().model
    adapt(model)
    updater = Updater(model, settings, torch.device("cpu"), "fp32")
    assert updater.update(1, 0.0, [make_batch(0)]).is_finite


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"optimizer": "muon", "lora_rank": 2}, "optimizer=muon is not possible with lora_rank"),
        ({"lora_alpha": 2.0}, "lora_alpha=2.0 has no effect without lora_rank"),
    ],
)
def test_refused(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Config.read({"train": changes})
    config = {"train": {"lora_rank": 2, "freeze": ["encoder", "decoder"]}}
    with pytest.raises(ValueError, match="nothing is left to train"):
        model = make_updater().model
        for name, p in model.named_parameters():
            p.requires_grad_(not name.startswith(("encoder", "decoder")))
        adapt(model)
    assert Config.read(config).train.lora_rank == 2
