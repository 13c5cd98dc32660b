"""How good the model is now: real decoding, through the one scoring path."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

from ..config import Config, Decode
from ..directory import Tokenizers
from ..evaluate.quality import score
from ..memory import is_out_of_memory
from ..model import Transformer
from ..translator import Progress, Translator
from .distributed import ALONE, Team
from .room import free_memory

T = TypeVar("T")

METRICS = ("BLEU", "chrF2")
GREEDY = Decode(search="greedy")


@dataclass(frozen=True)
class Validation:
    """Scores on the validation text, greedy."""

    bleu: float
    chrf: float
    loss: float  # nats a target piece, end mark included, without smoothing
    sample: tuple[str, str, str]  # a source, its reference, its translation
    signature: str

    def by(self, name: str) -> float:
        """The score of that name, turned so that larger is better."""
        return {"bleu": self.bleu, "chrf": self.chrf, "loss": -self.loss}[name]

    def values(self) -> dict[str, float]:
        return {"BLEU": self.bleu, "chrF2": self.chrf, "loss": self.loss}

    def describe(self, step: int, is_best: bool) -> str:
        source, reference, translation = self.sample
        return (
            f"update {step:,}: valid BLEU {self.bleu:.2f}, chrF2 {self.chrf:.2f}, "
            f"loss {self.loss:.3f}{', best so far' if is_best else ''}\n"
            f"  source       {source}\n  reference    {reference}\n  translation  {translation}"
        )


class Thrifty(Translator):
    """With less at work at once: memory ran out."""

    share = 1

    @property
    def budget(self) -> int:
        return max(1, super().budget // self.share)


def validate(
    model: Transformer,
    config: Config,
    tokenizers: Tokenizers,
    valid: tuple[list[str], list[str]],
    *,
    device: str,
    precision: str,
    turn: int,
    progress: Progress | None = None,
    team: Team = ALONE,
) -> Validation:
    """Translate and score the validation text; `turn` chooses the sample that is shown.

    The processes of a team share the sentences, but where the model itself is spread over them:
    then each step needs all, and all do the same.
    """
    sources, references = valid
    is_spread = config.train.shard and team.size > 1
    workers = 1 if is_spread else None  # one thread at a time can ask the others for their parts
    how: dict[str, Any] = {"device": device, "precision": precision, "workers": workers}
    translator = Thrifty(config, tokenizers, model, **how)
    if is_spread:  # it cannot be moved, nor packed for speed
        translator.weights.network = model.eval()
        translator.weights._packed = model
    ours = slice(None) if is_spread else slice(team.rank, None, team.size)
    found, scored = _examine(translator, sources[ours], references[ours], progress)
    if not is_spread:
        found, scored = _merge(team.gather(found)), _merge(team.gather(scored))
    quality = score(found, [references], target_lang=config.data.target_lang, metrics=METRICS)
    shown = turn * 7919 % len(sources)
    return Validation(
        bleu=quality["BLEU"].value,
        chrf=quality["chrF2"].value,
        loss=-sum(log_prob for log_prob, _ in scored) / sum(pieces for _, pieces in scored),
        sample=(sources[shown], references[shown], found[shown]),
        signature=quality["BLEU"].signature,
    )


def _examine(
    translator: Thrifty, sources: list[str], references: list[str], progress: Progress | None
) -> tuple[list[str], list[tuple[float, int]]]:
    """Translations; and of each reference its log-probability and its pieces."""
    while True:
        try:
            found = translator.translate(sources, decode=GREEDY, split=False, progress=progress)
            scored = translator.score(sources, references)
            return found, [(each.log_prob, len(each.piece_log_probs)) for each in scored]
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error) or translator.budget == 1:
                raise
        translator.share *= 2
        free_memory()


def _merge(dealt: list[list[T]]) -> list[T]:
    """What was dealt out in turns, in order again."""
    merged: list[T | None] = [None] * sum(map(len, dealt))
    for rank, each in enumerate(dealt):
        merged[rank :: len(dealt)] = each
    return merged  # type: ignore[return-value]
