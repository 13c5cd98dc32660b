"""Ideas of other papers that a training follows. Each is an addition `idea.NAME` of an extension.

A setting of `train`, the weight of the idea in the loss, turns it on, or what `train` is given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...config import Config
from ...data.sources import Corpora
from ...data.store import Store
from ...foundation.extensions import need_addition
from ...foundation.progress import Reporter
from ...model.files.directory import Tokenizers
from ...text import Tokenizer
from .hooks import Loss

if TYPE_CHECKING:
    import torch

# The name of each, which is that of its weight if it has one: by which arguments of `train` it is
# given something, and by which fields of run.json. In this order they extend the loss.
IDEAS = {
    "risk_weight": (),
    "alignment_weight": ("alignments",),
    "prior_weight": ("lm_prior", "prior"),
    "teachers": ("teachers",),
}


class Idea:
    """An idea in the course of a training; its class defines what it does there.

    `run` is the folder of the training, `given` are the arguments of `train` that IDEAS names.
    """

    def check(self, given: Mapping[str, Any], config: Config, *, has_parent: bool) -> None:
        """Raise ValueError if the idea lacks something, or does not fit the network."""

    def keep(self, given: Mapping[str, Any], config: Config, run: Path) -> dict[str, Any]:
        """Keep in the folder what the training needs; return the fields of run.json."""
        return {}

    def choose_targets(
        self, run: Path, text: Corpora, record: Mapping[str, Any], report: Reporter
    ) -> Corpora:
        """Return the training text with the targets to learn; it is about to be encoded."""
        return text

    def find_target_tokens(self, run: Path) -> Tokenizer | None:
        """Return the tokenizer that the targets need, if it is to be a certain one."""
        return None

    def prepare(
        self,
        run: Path,
        record: Mapping[str, Any],
        open_text: Callable[[], Corpora],
        store: Store,
        tokenizers: Tokenizers,
    ) -> None:
        """Make what the loss needs and is not there yet; the text is encoded."""

    def extend_loss(
        self, loss: Loss, run: Path, tokenizers: Tokenizers, device: torch.device
    ) -> Loss:
        """Return the loss with what the idea adds to it."""
        return loss


def find_ideas(config: Config, given: Mapping[str, Any]) -> list[Idea]:
    """Return the ideas of a training, in the order of IDEAS.

    given: arguments of `train`, or the fields of run.json. ValueError if no extension has one.
    """
    return [
        need_addition(f"idea.{name}", f"a training with {name}")()
        for name, fields in IDEAS.items()
        if getattr(config.train, name, 0) or any(given.get(field) for field in fields)
    ]
