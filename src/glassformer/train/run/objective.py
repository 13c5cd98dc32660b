"""The objective of a training: the loss, and what the settings add to it."""

from pathlib import Path

import torch

from ...config import Config
from ...model.files.directory import Tokenizers
from ..ideas.guided_alignment import ALIGNMENTS, GuidedAlignment, WordLinks
from ..ideas.hooks import Hooks, Loss
from ..ideas.language_prior import PRIOR, LanguagePrior
from ..ideas.minimum_risk import MinimumRisk
from .loss import batch_loss

# What a weight needs beside it on the command line.
NEEDS = {"alignment_weight": "--alignments FILE", "prior_weight": "--lm-prior MODEL"}


def choose_loss(
    config: Config, hooks: Hooks, run: Path, tokenizers: Tokenizers, device: torch.device
) -> Loss:
    """Return the loss of a run: ours or that of a plugin, with what the settings add to it."""
    train = config.train
    loss: Loss = hooks.loss or batch_loss
    if train.risk_weight:
        loss = MinimumRisk(loss, tokenizers)
    if train.alignment_weight:
        loss = GuidedAlignment(loss, WordLinks.load(run / ALIGNMENTS), tokenizers)
    if train.prior_weight:
        loss = LanguagePrior(loss, run / PRIOR, device)
    return loss


def check_objective(config: Config, *, has_parent: bool, **given: object) -> None:
    """Raise ValueError if the settings of an objective lack something, or do not fit the network.

    `given` are what NEEDS names, by the names of their weights.
    """
    train, network = config.train, config.model.network
    for name, option in NEEDS.items():
        if getattr(train, name) and not given[name]:
            raise ValueError(f"train.{name} needs {option}")
        if given[name] and not getattr(train, name):
            raise ValueError(f"{option} has no effect without a weight: set train.{name}")
    if train.risk_weight and not has_parent:
        raise ValueError("train.risk_weight needs a model that translates already: --from MODEL")
    weights = [name for name in ("risk_weight", *NEEDS) if getattr(train, name)]
    if weights and config.model.is_language_model:
        raise ValueError(f"train.{weights[0]} has no effect with network={network}")
    if train.alignment_weight and network != "transformer":
        raise ValueError(f"train.alignment_weight needs network=transformer, not {network}")
