"""Read a layer that is not the last as if it were: tuned lens and encoder lens.

The logit lens reads what a decoder layer writes as if it were the last (nostalgebraist 2020). The
tuned lens first maps it, by an affine map of its own for each layer, to what the last layer
will make of it (Belrose et al. 2023, "Eliciting Latent Predictions from Transformers with the Tuned
Lens"). They train it by the divergence of the distributions; here it is the ridge regression that
foretells what the later layers add, so that without data it is the logit lens.

The encoder lens lets the decoder read the encoder after an earlier layer (Langedijk et al. 2023,
"DecoderLens"): of the whole source, or of one word.

Letters: B copies; S source; T target, L positions of either; R rows; D model width; V vocabulary.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from glassformer.foundation.tap import Edit, record
from glassformer.model.encoder_decoder import EncoderDecoder

from .edges import WordContrast
from .mixing import Kept, keep_windows

RIDGE = 0.01  # of the mean variance of a dimension, added to each
HELD_OUT = 5  # every so many sentences one is kept to measure by
LEAST = 10  # sentences


class AffineMap(NamedTuple):
    """A map of states of one layer to what the last layer makes of them."""

    weight_DD: Tensor
    bias_D: Tensor

    def apply(self, x: Tensor) -> Tensor:
        """Return the states, mapped."""
        return x @ self.weight_DD + self.bias_D


@dataclass(frozen=True)
class TunedLens:
    """A map for each decoder layer, and how far each lens is from the end on other sentences."""

    maps: tuple[AffineMap, ...]
    sentences: int  # that it was fitted on
    rows: int
    held_out: int
    tuned: tuple[float, ...]  # by layer: mean KL divergence in nats from the final distribution
    logit: tuple[float, ...]  # the same of the logit lens

    def map_all(self, states: Sequence[Tensor]) -> list[Tensor]:
        """Return the states of all layers, each mapped."""
        return [one.apply(x) for one, x in zip(self.maps, states, strict=True)]

    def to_json(self) -> dict[str, Any]:
        """Return what was measured of it."""
        return {name: value for name, value in vars(self).items() if name != "maps"}


def fit_lens(network: EncoderDecoder, sentences: Sequence[WordContrast]) -> TunedLens:
    """Return the tuned lens of sentences, measured on every fifth, which it is not fitted on.

    Each sentence is read with its whole translation. Raises ValueError for too few.
    """
    if len(sentences) < LEAST:
        raise ValueError(f"the tuned lens needs {LEAST} sentences at least, not {len(sentences)}")
    states = [read_states(network, each) for each in sentences]
    held_out = states[::HELD_OUT]
    own = [each for n, each in enumerate(states) if n % HELD_OUT]
    layers = range(network.settings.decoder_layers)
    own_RD = [torch.cat([each[n] for each in own]) for n in layers]
    other_RD = [torch.cat([each[n] for each in held_out]) for n in layers]
    maps = [_regress(x_RD, own_RD[-1]) for x_RD in own_RD]
    final_RV = read_final(network, other_RD[-1])
    mapped_RD = [one.apply(x_RD) for one, x_RD in zip(maps, other_RD, strict=True)]
    tuned, logit = (
        tuple(_diverge(final_RV, read_final(network, x_RD)) for x_RD in each)
        for each in (mapped_RD, other_RD)
    )
    return TunedLens((*maps,), len(own), len(own_RD[0]), len(held_out), tuned, logit)


def read_states(network: EncoderDecoder, contrast: WordContrast) -> list[Tensor]:
    """Return what each decoder layer gives at each step of a translation, L D each."""
    return list_states(network, keep_windows(network, contrast))


def list_states(network: EncoderDecoder, kept: Kept) -> list[Tensor]:
    """Return what each decoder layer gave, L D each."""
    window = "normed" if network.settings.norm == "post" else "sum"
    return [
        kept[f"decoder.{n}.feed_forward_residual.{window}"][0][0]
        for n in range(network.settings.decoder_layers)
    ]


def read_final(network: EncoderDecoder, x_RD: Tensor) -> Tensor:
    """Return the log-probabilities that states have as those of the last layer, R V."""
    if network.settings.norm == "pre":
        x_RD = network.get_submodule("decoder_norm")(x_RD)
    return network.logits(x_RD).log_softmax(-1)


def _regress(x_RD: Tensor, y_RD: Tensor) -> AffineMap:
    """Return the map from x to y: x itself, and a ridge regression of what is missing."""
    mean_D, missing_RD = x_RD.mean(0), y_RD - x_RD
    centred_RD = x_RD - mean_D
    covariance_DD = centred_RD.T @ centred_RD
    ridge = RIDGE * covariance_DD.diagonal().mean()
    eye_DD = torch.eye(len(mean_D), dtype=x_RD.dtype)
    change_DD = torch.linalg.solve(
        covariance_DD + ridge * eye_DD, centred_RD.T @ (missing_RD - missing_RD.mean(0))
    )
    return AffineMap(eye_DD + change_DD, missing_RD.mean(0) - mean_D @ change_DD)


def _diverge(final_RV: Tensor, seen_RV: Tensor) -> float:
    """Return the mean KL divergence of what a lens shows from the final distribution, in nats."""
    return float((final_RV.exp() * (final_RV - seen_RV)).sum(-1).mean())


def find_first(seen: Sequence[Tensor], word: int) -> int | None:
    """Return from which layer on, from 0, a word is the likeliest; None if it is not at last.

    seen: for each layer a row of the vocabulary, V.
    """
    first = None
    for n, row_V in enumerate(seen):
        is_word = int(row_V.argmax()) == word
        first = (n if first is None else first) if is_word else None
    return first


def list_memories(network: EncoderDecoder, kept: Kept) -> list[Tensor]:
    """Return what the decoder would read after 0, 1, ... layers of the encoder, S D each."""
    window = "normed" if network.settings.norm == "post" else "sum"
    embedded = "normed" if "source_embedding.normed" in kept else "sum"
    names = [f"source_embedding.{embedded}"] + [
        f"encoder.{n}.feed_forward_residual.{window}"
        for n in range(network.settings.encoder_layers)
    ]
    norm: Any = network.get_submodule("encoder_norm")
    return [norm(kept[name][0][0]) for name in names]


def run_with_memories(
    network: EncoderDecoder, contrast: WordContrast, memory_BSD: Tensor
) -> Tensor:
    """Return the log-probabilities of the step, B V, where the decoder reads these memories."""
    edits: dict[str, Edit] = {"memory": lambda _: memory_BSD}
    sides = (
        torch.tensor([ids]).expand(len(memory_BSD), -1) for ids in (contrast.source, contrast.given)
    )
    with torch.no_grad(), record(network, lambda name: False, edits) as (view, _):
        logits_BV: Tensor = view(*sides)[:, -1]
    return logits_BV.log_softmax(-1)


def ask_encoder(
    network: EncoderDecoder,
    contrast: WordContrast,
    kept: Kept,
    words: Sequence[Sequence[int]],
) -> tuple[tuple[float, ...], int | None]:
    """Return by how much ln p(word) falls with each source word unread, and a layer.

    A source word is unread where the decoder reads it as it was before the encoder's first layer.
    From that layer on, from 0, the word is the likeliest if the decoder reads all as it was then;
    None if it is not even after the last.
    """
    memories, word = list_memories(network, kept), contrast.answers[0]
    memory_BSD = memories[-1].expand(len(words), -1, -1).clone()
    for copy, group in enumerate(words):
        memory_BSD[copy, list(group)] = memories[0][list(group)]
    unread_BV = run_with_memories(network, contrast, memory_BSD)
    early_BV = run_with_memories(network, contrast, torch.stack(memories[1:]))
    return tuple((early_BV[-1, word] - unread_BV[:, word]).tolist()), find_first([*early_BV], word)
