"""A language model as prior (Baziotis et al. 2020), where there is little parallel text.

The loss gets weight · τ² · KL(p_LM, p_TM), both softened by a temperature τ, for each target token;
so computes the authors' code. The language model, a decoder alone with the target's tokens, stays
as it is, and is needed in training alone. `run/prior` has a copy of it.

Letters: B sentences; T target positions; N of them that are not padding; D model width;
V vocabulary.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import kl_div, linear, log_softmax

from glassformer.config import PAD, Config, Train
from glassformer.data.batches import Batch
from glassformer.engine.kernels.fast import KernelState
from glassformer.model.encoder_decoder import EncoderDecoder
from glassformer.model.files.directory import WEIGHTS, Tokenizers, load_model, locate, save_model
from glassformer.text import Tokenizer
from glassformer.train.plan.hooks import Loss
from glassformer.train.plan.ideas import Idea
from glassformer.train.publish.card import hash_file

from .capture import capture_calls
from .weights import check_company

PRIOR = "prior"  # the copy in the run's folder


class LanguagePriorIdea(Idea):
    """A prior in a training that was given a language model; the targets have its tokens."""

    def check(self, given: Mapping[str, Any], config: Config, *, has_parent: bool) -> None:
        check_company("prior_weight", "--lm-prior MODEL", given.get("lm_prior"), config)

    def keep(self, given: Mapping[str, Any], config: Config, run: Path) -> dict[str, Any]:
        return {"prior": copy_prior(given["lm_prior"], run)}

    def find_target_tokens(self, run: Path) -> Tokenizer:
        return Tokenizers.load(run / PRIOR).target

    def extend_loss(
        self, loss: Loss, run: Path, tokenizers: Tokenizers, device: torch.device
    ) -> Loss:
        return LanguagePrior(loss, run / PRIOR, device)


class LanguagePrior:
    """A loss that adds the divergence from a language model to another loss."""

    def __init__(self, loss: Loss, folder: Path, device: torch.device):
        self.loss, self.device = loss, device
        self.network = load_model(folder)[2].to(device).eval().requires_grad_(False)

    def __call__(
        self, network: EncoderDecoder, batch: Batch, train: Train, kernels: KernelState
    ) -> Tensor:
        with capture_calls(network, "read") as calls:
            loss = self.loss(network, batch, train, kernels)
        target_BT = torch.from_numpy(batch.target_BT).to(self.device)
        place_N = (target_BT[:, 1:] != PAD).flatten().nonzero().squeeze(1)
        with torch.no_grad():
            known_BTD = self.network.read(target_BT[:, :0], target_BT[:, :-1])
            prior_NV = self._soften(self.network, known_BTD, place_N, train)
        for _, y_BTD in calls:  # R-Drop has two passes
            ours_NV = self._soften(network, y_BTD, place_N, train)
            apart = kl_div(ours_NV, prior_NV, reduction="sum", log_target=True)
            weight = train.prior_weight * train.prior_temperature**2 / len(calls)
            loss = loss + weight * apart
        return loss

    def _soften(
        self, network: EncoderDecoder, y_BTD: Tensor, place_N: Tensor, train: Train
    ) -> Tensor:
        """Return the log-probabilities at the places, softened by the temperature, N V, in fp32."""
        y_ND = y_BTD.flatten(0, 1).index_select(0, place_N)
        logits_NV = linear(
            y_ND.to(network.output_table.weight.dtype),
            network.output_table.weight,
            network.output_bias,
        )
        return log_softmax(logits_NV.float() / train.prior_temperature, -1)


def copy_prior(model: Path | str, run: Path) -> dict[str, Any]:
    """Copy a language model into the run's folder; return its name and digest.

    ValueError if it is none.
    """
    folder = locate(model)
    known, tokenizers, network = load_model(model)
    if known.model.network != "decoder":
        raise ValueError(
            f"{model} is no language model of network=decoder, but network={known.model.network}"
        )
    save_model(run / PRIOR, known, tokenizers, network.state_dict())
    return {"name": folder.resolve().name, "sha256": hash_file(folder / WEIGHTS), "tokens": "kept"}
