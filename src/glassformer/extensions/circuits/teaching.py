"""Which pairs of the training text made a word likelier, and which spoke against it.

A pair teaches by its gradient: training on it moves the weights against the gradient of its loss,
and the lead of a word over its rival changes by how far that goes along the lead's own gradient
(influence functions: Koh and Liang 2017; TracIn: Pruthi et al. 2020). Weights differ in how far
training moves them, and the Fisher information says how strongly pairs hold each where it is: the
lead's gradient is divided by its diagonal. Then one number a pair is needed, the derivative of its
loss along one direction, which forward differentiation gives for a batch of pairs in one pass: no
pair's gradient is ever stored, and nothing has to be remembered while training.

The simple rival is the nearest state: pairs in which the decoder was in nearly the same state, by
its cosine, before the same word or the rival.

Letters: B pairs; S source; T target positions; N steps; D model width.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple
from warnings import catch_warnings, simplefilter

import torch
from torch import Tensor
from torch.func import functional_call, jvp

from glassformer.config import BOS, EOS, PAD
from glassformer.decode.score import padded
from glassformer.model.encoder_decoder import EncoderDecoder

from .edges import WordContrast

BATCH, FISHER = 64, 16  # pairs in a pass; in a batch of which a gradient is squared
SAMPLE = 2048  # pairs from which the Fisher information is estimated, at most
DAMPING = 0.1  # of its mean, added to it
Tick = Callable[[int], object]
Weights = dict[str, Tensor]


class TokenPair(NamedTuple):
    """A pair of the training text as ids, without BOS and with EOS where the network has one."""

    source: tuple[int, ...]
    target: tuple[int, ...]


def score_teachers(
    network: EncoderDecoder,
    contrast: WordContrast,
    pairs: Sequence[TokenPair],
    tick: Tick = lambda done: None,
) -> Tensor:
    """Return by how much each pair taught the lead, B: above 0 for it, below 0 against it.

    The unit is arbitrary: numbers compare the pairs of one word. `network` needs gradients.
    """
    weights = copy_weights(network)
    direction = differentiate_lead(network, weights, contrast)
    fisher = estimate_fisher(network, weights, pairs, tick)
    scale = {name: x.mean() for name, x in fisher.items()}
    floor = sum(scale.values()) / len(scale)
    way = {name: x / (fisher[name] + DAMPING * floor) for name, x in direction.items()}
    teachers = torch.zeros(len(pairs))
    for places, batch in _list_batches(pairs, BATCH):
        teachers[places] = -differentiate_losses(network, weights, way, batch).float()
        tick(len(batch))
    return teachers


def copy_weights(network: EncoderDecoder) -> Weights:
    """Return the weights that training moves, each once."""
    return {name: parameter.detach().clone() for name, parameter in network.named_parameters()}


def differentiate_lead(
    network: EncoderDecoder, weights: Weights, contrast: WordContrast
) -> Weights:
    """Return the gradient of the lead by each weight."""
    own = {name: x.clone().requires_grad_() for name, x in weights.items()}
    source_BS, given_BT = (torch.tensor([ids]) for ids in (contrast.source, contrast.given))
    with torch.enable_grad():
        logits_V = functional_call(network, own, (source_BS, given_BT))[0, -1]
        lead = logits_V[contrast.answers[0]] - logits_V[contrast.answers[1]]
        grads = torch.autograd.grad(lead, [*own.values()])
    return dict(zip(own, grads, strict=True))


def estimate_fisher(
    network: EncoderDecoder,
    weights: Weights,
    pairs: Sequence[TokenPair],
    tick: Tick = lambda done: None,
) -> Weights:
    """Return the mean squared gradient of the loss of a pair, from gradients of small batches.

    The gradient of the sum of B losses has B times the square of one, if pairs do not agree.
    """
    own = {name: x.clone().requires_grad_() for name, x in weights.items()}
    fisher = {name: torch.zeros_like(x) for name, x in weights.items()}
    generator = torch.Generator().manual_seed(0)
    drawn = torch.randperm(len(pairs), generator=generator)[:SAMPLE].tolist()
    for _, batch in _list_batches([pairs[n] for n in drawn], FISHER):
        with torch.enable_grad():
            loss = measure_losses(network, own, batch).sum()
            grads = torch.autograd.grad(loss, [*own.values()])
        for name, grad in zip(own, grads, strict=True):
            fisher[name] += grad.square() / len(drawn)
        tick(len(batch))
    return fisher


def measure_losses(network: EncoderDecoder, weights: Weights, pairs: Sequence[TokenPair]) -> Tensor:
    """Return -ln p of each pair's translation, B, with these weights."""
    source_BS = padded([pair.source for pair in pairs], "cpu")
    given_BT = padded([(BOS, *pair.target[:-1]) for pair in pairs], "cpu")
    wanted_BT = padded([pair.target for pair in pairs], "cpu")
    logits_BTV = functional_call(network, weights, (source_BS, given_BT))
    log_prob_BT = logits_BTV.log_softmax(-1).gather(-1, wanted_BT[..., None])[..., 0]
    return -log_prob_BT.where(wanted_BT != PAD, 0.0).sum(-1)


def differentiate_losses(
    network: EncoderDecoder, weights: Weights, way: Weights, pairs: Sequence[TokenPair]
) -> Tensor:
    """Return the derivative of each pair's loss along a direction of the weights, B."""
    with catch_warnings():  # PyTorch's forward derivatives use what it calls deprecated itself
        simplefilter("ignore", DeprecationWarning)
        result = jvp(lambda own: measure_losses(network, own, pairs), (weights,), (way,))
    derivative_B: Tensor = result[1]
    return derivative_B


def find_nearest(
    network: EncoderDecoder, contrast: WordContrast, pairs: Sequence[TokenPair]
) -> Tensor:
    """Return how near the nearest state of each pair is, B: a cosine, 0 if it has neither word.

    It is above 0 where the word followed that state, and below where its rival did.
    """
    nearest = torch.zeros(len(pairs))
    with torch.no_grad():
        own_D = network.read(torch.tensor([contrast.source]), torch.tensor([contrast.given]))[0, -1]
        for places, batch in _list_batches(pairs, BATCH):
            source_BS = padded([pair.source for pair in batch], "cpu")
            given_BT = padded([(BOS, *pair.target[:-1]) for pair in batch], "cpu")
            wanted_BT = padded([pair.target for pair in batch], "cpu")
            state_BTD = network.read(source_BS, given_BT)
            near_BT = torch.cosine_similarity(state_BTD, own_D, -1).clamp(min=0)
            right_BT, wrong_BT = (near_BT * (wanted_BT == id) for id in contrast.answers)
            best_B, worst_B = right_BT.amax(1), wrong_BT.amax(1)
            nearest[places] = torch.where(best_B >= worst_B, best_B, -worst_B).float()
    return nearest


def _list_batches(
    pairs: Sequence[TokenPair], size: int
) -> Iterator[tuple[list[int], list[TokenPair]]]:
    """Yield batches of pairs of similar length, and where they stand."""
    order = sorted(range(len(pairs)), key=lambda n: len(pairs[n].source) + len(pairs[n].target))
    for start in range(0, len(order), size):
        places = order[start : start + size]
        yield places, [pairs[n] for n in places]


def add_end(ids: Sequence[int], has_end: bool = True) -> tuple[int, ...]:
    """Return ids with EOS behind them, if the network reads one."""
    return (*ids, EOS) if has_end else (*ids,)
