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
