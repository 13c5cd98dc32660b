"""A look at one sentence of an imported model: does it translate, or is it noise?

A model whose tokens have the wrong ids translates without an error. But it reads any sentence as
random tokens, so that it is nearly as unsure of what it says as for random tokens themselves.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Any

from glassformer.config import EOS, Config
from glassformer.engine.conventions import ConventionEngine
from glassformer.engine.torch_engine import TorchEngine
from glassformer.model.files.directory import Tokenizers
from glassformer.model.transformer import Transformer
from glassformer.text import Tokenizer

from .parity import SEARCHES

SENTENCES = Path(__file__).with_name("sentences.json")
NOISE = 0.55  # of ln p with random tokens: a sentence that is understood is far above it
SAMPLES = 8  # sentences of random tokens


@dataclass(frozen=True)
class Plausibility:
    """How a model translates one sentence.

    log_prob: ln p of a token of its translation, on average. random: the same for sentences of as
    many random tokens.
    """

    sentence: str
    translation: str
    log_prob: float
    random: float

    @property
    def is_noise(self) -> bool:
        """Return whether the sentence is hardly more probable to it than random tokens."""
        return self.log_prob <= NOISE * self.random

    def __str__(self) -> str:
        shown = f'"{self.sentence}" becomes "{self.translation}"'
        if not self.is_noise:
            return f"{shown} (ln p of a token {self.log_prob:.2f})"
        return (
            f"{shown}; this looks like noise: ln p of a token is {self.log_prob:.2f}, and "
            f"{self.random:.2f} with random tokens: are these the vocabularies of the model?"
        )

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "is_noise": self.is_noise}


def choose_sample(config: Config, tokenizer: Tokenizer, texts: Sequence[str]) -> str | None:
    """Return a sentence to look at: of the user's text, or in the language of the sources.

    A model that does not say its language gets the sentence with the fewest tokens a character;
    None if it knows none of them.
    """
    if first := next(filter(None, map(str.strip, texts)), None):
        return first
    sentences: dict[str, str] = json.loads(SENTENCES.read_text("utf-8"))
    code = (config.data.source_lang or "")[:2]
    if code in sentences:
        return sentences[code]
    known = [text for text in sentences.values() if not tokenizer.find_unknown(text)]
    return min(known, key=lambda text: len(tokenizer.encode(text)) / len(text), default=None)


def look_at(
    network: Transformer, config: Config, tokenizers: Tokenizers, sentence: str
) -> Plausibility | None:
    """Return how the model translates a sentence; None if it cannot be told."""
    source, target = tokenizers.source, tokenizers.target
    begin = source.find_tags([config.data.tag]) if config.data.tag else []
    row, longest = source.encode(sentence), config.model.positions.max_positions - 1
    others = [id for id in range(3, len(source)) if id not in source.tags.values()]
    if not row or len(others) < 2 or len(row) + len(begin) > longest:
        return None
    draw = Random(1)
    noise = (draw.choices(others, k=len(row)) for _ in range(SAMPLES))
    rows = [[*begin, *own, EOS] for own in (row, *noise)]
    tags = target.find_tags([config.data.target_tag] if config.data.target_tag else [])
    plain = TorchEngine(network, network, "fp32", "cpu")
    engine = ConventionEngine(plain, tags, config.text.source_eos)
    ranked = engine.search(rows, SEARCHES["greedy"], longest=longest)
    translations = [best.tokens for (best,) in ranked]
    scored = [each.log_probs for each in engine.score(rows, translations)]
    means = [sum(log_probs) / len(log_probs) if log_probs else 0.0 for log_probs in scored]
    text = target.decode(translations[0]).strip()
    return Plausibility(sentence, text, means[0], sum(means[1:]) / SAMPLES)
