"""How far a training has come, as its checkpoints keep it."""

from dataclasses import dataclass, field

from ..plan.schedule import Plateau
from .divergence import DivergenceDetector


@dataclass(frozen=True, order=True)
class RankedModel:
    """One of the best validated models, in a folder called as its step."""

    score: float
    step: int
    sentences: int  # that the score is of


@dataclass
class Progress:
    """The state of a training without its tensors."""

    step: int = 0  # updates done
    best: float | None = None  # of the score that `train.best_by` names; larger is better
    best_step: int = 0
    validations_since_best: int = 0
    skipped: int = 0  # latest updates in a row without a finite gradient: they are left out
    skipped_in_all: int = 0
    rate_factor: float = 1.0  # on the learning rate: below 1 after a divergence
    goings_back: int = 0  # returns to a checkpoint since a later checkpoint was written
    trouble_step: int = 0  # the update of the latest divergence
    most_cells: int | None = None  # of a micro-batch that fits into memory; None: of any size
    source_tokens: int = 0  # seen in training, padding not counted, eos counted
    target_tokens: int = 0
    cpu_seconds: float = 0.0
    seconds: float = 0.0  # of updates
    spent: float = 0.0  # seconds of the whole training, without the time while it was stopped
    best_sentences: int = 0  # sentences of the best score; 0: there is none, or it is unknown
    scored_sentences: int = 0  # sentences of `scores`
    parent_loss: float | None = None  # of the initial model, if it must be beaten to keep another
    initial: RankedModel | None = None  # the initial model, by its score
    scores: dict[str, float] = field(default_factory=dict)  # of the best validation
    signature: str = ""  # of its BLEU
    plateau: Plateau = field(default_factory=Plateau)
    kept_best: list[RankedModel] = field(default_factory=list)  # in run/best, the best first
    loss_scale: dict[str, float] = field(default_factory=dict)  # of fp16
    detector: DivergenceDetector = field(default_factory=DivergenceDetector)

    def troubles(self) -> dict[str, float]:
        """Return the traces of divergence and of lack of memory so far, for the metrics."""
        facts = {"skipped": self.skipped_in_all, "most_cells": self.most_cells or 0}
        lower = {"rate_factor": self.rate_factor} if self.rate_factor != 1 else {}
        return {name: value for name, value in facts.items() if value} | lower
