"""How good the model is now: real decoding, through the one scoring path."""

from __future__ import annotations

from dataclasses import dataclass

from ..config import Config, Decode
from ..directory import Tokenizers
from ..evaluate.quality import score
from ..model import Transformer
from ..translator import Progress, Translator

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
) -> Validation:
    """Translate and score the validation text; `turn` chooses the sample that is shown."""
    sources, references = valid
    translator = Translator(config, tokenizers, model, device=device, precision=precision)
    found = translator.translate(sources, decode=GREEDY, split=False, progress=progress)
    quality = score(found, [references], target_lang=config.data.target_lang, metrics=METRICS)
    scored = translator.score(sources, references)
    pieces = sum(len(each.piece_log_probs) for each in scored)
    shown = turn * 7919 % len(sources)
    return Validation(
        bleu=quality["BLEU"].value,
        chrf=quality["chrF2"].value,
        loss=-sum(each.log_prob for each in scored) / pieces,
        sample=(sources[shown], references[shown], found[shown]),
        signature=quality["BLEU"].signature,
    )
