"""Minimum risk training (Shen et al. 2016): the expected loss of whole translations.

The candidates for a sentence are samples of the network and the reference, each once. Their
probabilities, sharpened and normalized over the candidates, weight their risks, 1 minus chrF or
BLEU of the sentence; the sum is the loss. It is for a model that translates already.

Letters: B sentences; S source positions; L positions of a candidate; R candidates of all sentences,
as rows; N their tokens; D model width; V vocabulary.
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import linear, log_softmax
from torch.utils.checkpoint import checkpoint

from glassformer.config import BOS, EOS, PAD, Config, Train
from glassformer.data.batches import Batch
from glassformer.decode.mbr import load_utility
from glassformer.engine.kernels.fast import KernelState
from glassformer.model.encoder_decoder import EncoderDecoder
from glassformer.model.files.directory import Tokenizers
from glassformer.train.plan.hooks import Loss
from glassformer.train.plan.ideas import Idea

from .weights import check_network

CELLS = 1 << 22  # logits held at once
LONGER = (1.5, 10)  # a sample ends at 1.5 times the tokens of the longest reference, and 10


class MinimumRiskIdea(Idea):
    """Minimum risk in a training that starts from a model."""

    def check(self, given: Mapping[str, Any], config: Config, *, has_parent: bool) -> None:
        if not has_parent:
            message = "train.risk_weight needs a model that translates already: --from MODEL"
            raise ValueError(message)
        check_network("risk_weight", config)

    def extend_loss(
        self, loss: Loss, run: Path, tokenizers: Tokenizers, device: torch.device
    ) -> Loss:
        return MinimumRisk(loss, tokenizers)


class MinimumRisk:
    """A loss that mixes the risk of sampled translations with another loss."""

    def __init__(self, loss: Loss, tokenizers: Tokenizers):
        self.loss, self.tokenizer = loss, tokenizers.target

    def __call__(
        self, network: EncoderDecoder, batch: Batch, train: Train, kernels: KernelState
    ) -> Tensor:
        device, share = network.output_table.weight.device, train.risk_weight
        source_BS = torch.from_numpy(batch.source_BS).to(device)
        references = [[id for id in row if id > EOS] for row in batch.target_BT.tolist()]
        network.eval()
        begin = [id for id in references[0][:1] if id in self.tokenizer.tags.values()]
        longest = _limit(batch, network)
        samples = sample_targets(network, source_BS, train.risk_samples, longest, begin)
        network.train()
        several = [unique([own, *drawn]) for own, drawn in zip(references, samples, strict=True)]
        with kernels.dropout.for_other_rows():
            log_prob_R = self.score(network, source_BS, several)
        score, loss = load_utility(train.risk_utility), torch.zeros((), device=device)
        for own, rows, log_probs in zip(
            references, several, log_prob_R.split([*map(len, several)]), strict=True
        ):
            texts = self.tokenizer.decode_many(rows)
            risks = [1 - score(text, self.tokenizer.decode(own)) / 100 for text in texts]
            weights = torch.softmax(train.risk_sharpness * log_probs, 0)
            # By the tokens of the reference, as every loss: the updater divides by their number.
            loss = loss + (len(own) + 1) * (weights * torch.tensor(risks, device=device)).sum()
        if share == 1:
            return loss
        return share * loss + (1 - share) * self.loss(network, batch, train, kernels)

    def score(
        self, network: EncoderDecoder, source_BS: Tensor, several: Sequence[Sequence[list[int]]]
    ) -> Tensor:
        """Return the log-probabilities of the candidates of all sentences, R."""
        rows = [row for each in several for row in each]
        longest = max(map(len, rows)) + 2
        target_RL = torch.tensor(
            [[BOS, *row, EOS, *[PAD] * (longest - len(row) - 2)] for row in rows],
            device=source_BS.device,
        )
        counts = torch.tensor([len(each) for each in several], device=source_BS.device)
        y_RLD = network.read(source_BS.repeat_interleave(counts, 0), target_RL[:, :-1])
        wanted_RL = target_RL[:, 1:]
        is_text = wanted_RL != PAD
        y_ND, wanted_N = y_RLD[is_text], wanted_RL[is_text]
        table_VD, bias_V = network.output_table.weight, network.output_bias
        size = max(1, CELLS // len(table_VD))
        parts = [
            checkpoint(_log_probs, y, table_VD, bias_V, target_N, use_reentrant=False)
            for y, target_N in zip(y_ND.split(size), wanted_N.split(size), strict=True)
        ]
        row_N = is_text.nonzero()[:, 0]
        return y_RLD.new_zeros(len(rows), dtype=torch.float32).index_add(0, row_N, torch.cat(parts))


def _log_probs(y_ND: Tensor, table_VD: Tensor, bias_V: Tensor | None, wanted_N: Tensor) -> Tensor:
    logits_NV = linear(y_ND.to(table_VD.dtype), table_VD, bias_V).float()
    return log_softmax(logits_NV, -1).gather(1, wanted_N[:, None]).squeeze(1)


@torch.no_grad()
def sample_targets(
    network: EncoderDecoder,
    source_BS: Tensor,
    count: int,
    longest: int,
    begin: Sequence[int] = (),
) -> list[list[list[int]]]:
    """Return `count` samples of each sentence's translation, by PyTorch's own generator.

    begin: the tokens with which all translations begin.
    """
    state, device = network.start(source_BS), source_BS.device
    network.keep(torch.arange(len(source_BS), device=device).repeat_interleave(count), state)
    token_R1 = torch.full((len(source_BS) * count, 1), BOS, device=device)
    drawn, is_done_R1 = list[Tensor](), torch.zeros_like(token_R1, dtype=torch.bool)
    for place in range(longest):
        logits_RV = network.step(token_R1, state)[:, -1]
        logits_RV[:, [PAD, BOS]] = -math.inf
        token_R1 = torch.multinomial(logits_RV.softmax(-1), 1).masked_fill(is_done_R1, EOS)
        if place < len(begin):
            token_R1 = torch.full_like(token_R1, begin[place])
        is_done_R1 |= token_R1 == EOS
        drawn.append(token_R1)
        if is_done_R1.all():
            break
    rows = torch.cat(drawn, 1).tolist()
    texts = [row[: row.index(EOS)] if EOS in row else row for row in rows]
    return [texts[start : start + count] for start in range(0, len(texts), count)]


def unique(rows: Sequence[list[int]]) -> list[list[int]]:
    return [list(row) for row in dict.fromkeys(map(tuple, rows))]


def _limit(batch: Batch, network: EncoderDecoder) -> int:
    times, more = LONGER
    most = network.settings.positions.max_positions - 1
    return min(most, int(times * batch.target_BT.shape[1]) + more)
