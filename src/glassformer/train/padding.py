"""The choice of the multiple that lengths in a batch are padded to."""

from __future__ import annotations

from pathlib import Path

import torch

from ..config import Config, Model, Train
from ..data.batches import FEW_SHAPES, Batches
from ..data.store import Store
from ..directory import CONFIG, write_text
from ..kernels.tiles import has_tiles
from .distributed import ProcessGroup


def choose_padding(model: Model, device: torch.device, precision: str) -> int:
    """Return the multiple: 1 if matrix products are not prepared for each shape, else FEW_SHAPES.

    They are not with our kernels in C on tiles, and in fp32 with MKL.
    """
    if device.type != "cpu":
        return FEW_SHAPES
    is_in_c = precision == "bf16" and has_tiles() and model.activation == "relu"
    is_by_mkl = precision == "fp32" and torch.backends.mkl.is_available()
    return 1 if is_in_c or is_by_mkl else FEW_SHAPES


def settle_padding(
    folder: Path, config: Config, device: torch.device, precision: str, group: ProcessGroup
) -> Config:
    """Return the settings with `pad_to` chosen, and write them to the run's folder.

    So a resumed training has the same batches. The first process of a group chooses for all.
    """
    if config.train.pad_to is not None:
        return config
    own = choose_padding(config.model, device, precision) if group.is_first else 0
    config = config.changed(train={"pad_to": int(group.sum(own)[0])})
    if group.is_first:
        write_text(folder / CONFIG, config.to_toml())
    return config


def make_batches(train: Train, store: Store) -> Batches:
    """Return the batches for these settings, in which `pad_to` must be set."""
    assert train.pad_to is not None
    return Batches(store, batch_tokens=train.batch_tokens, seed=train.seed, pad_to=train.pad_to)
