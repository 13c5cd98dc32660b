"""Sampling: the right distribution, from a stream that nothing else disturbs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from glassformer.config import Decode
from glassformer.decode import search
from glassformer.decode.sample import draw_token, gumbel, make_keys
from glassformer.engine.native import search_in_c

LOGITS = torch.tensor([[0.0, 1.0, 2.0, -1.0, -4.0, 0.5, 1.9]])


def counts(temperature: float = 1.0, top_k: int = 0, top_p: float = 1.0) -> tuple[Tensor, int]:
    keys_R1 = make_keys(3, range(500), 100).reshape(-1, 1)
    drawn = draw_token(LOGITS.expand(len(keys_R1), -1), keys_R1, temperature, top_k, top_p)
    return torch.bincount(drawn[:, 0], minlength=LOGITS.size(1)).double(), len(keys_R1)


def chi_square(found: Tensor, expected: Tensor) -> float:
    return float(((found - expected) ** 2 / expected).sum())


def test_draws_follow_the_softmax() -> None:
    found, number = counts()
    assert (
        chi_square(found, LOGITS[0].double().softmax(0) * number) < 27.9
    )  # 1 in 10,000; 6 degrees


def test_temperature_sharpens() -> None:
    found, number = counts(temperature=0.5)
    assert chi_square(found, (2 * LOGITS[0].double()).softmax(0) * number) < 27.9


def test_top_p_counts_what_temperature_left() -> None:
    found, _ = counts(temperature=4.0, top_p=0.5)  # 0.21 + 0.21 + 0.17 reaches 0.5
    assert found.nonzero().flatten().tolist() == [1, 2, 6]


@pytest.mark.parametrize(
    ("top_k", "top_p", "left"),
    [
        (3, 1.0, [1, 2, 6]),
        (99, 1.0, [0, 1, 2, 3, 4, 5, 6]),
        (0, 0.5, [2, 6]),  # 0.38 + 0.34 reaches 0.5
        (0, 0.3, [2]),
        (2, 0.5, [2]),  # of the best two alone, the first has 0.52
        (1, 1.0, [2]),
    ],
)
def test_the_unlikely_are_left_out_and_the_rest_share(
    top_k: int, top_p: float, left: list[int]
) -> None:
    found, number = counts(top_k=top_k, top_p=top_p)
    assert found.nonzero().flatten().tolist() == left
    expected = LOGITS[0, left].double().softmax(0) * number
    assert chi_square(found[left], expected) < 27.9


def test_noise_is_gumbel_and_independent() -> None:
    """Mean, variance, shape, and correlations, even between keys that are neighbours."""
    keys_R1 = torch.arange(400, dtype=torch.int32)[:, None]
    noise = gumbel(keys_R1, torch.arange(2000)[None]).double()
    assert noise.isfinite().all()
    assert noise.mean().item() == pytest.approx(np.euler_gamma, abs=0.006)
    assert noise.var().item() == pytest.approx(np.pi**2 / 6, abs=0.02)
    uniform = (-(-noise).exp()).exp()
    histogram = torch.histc(uniform, 100, 0, 1)
    assert chi_square(histogram, torch.full((100,), noise.numel() / 100)) < 160
    for one, other in ((uniform[1:], uniform[:-1]), (uniform[:, 1:], uniform[:, :-1])):
        pairs = torch.stack((one.flatten(), other.flatten()))
        assert abs(torch.corrcoef(pairs)[0, 1].item()) < 0.006


def test_a_key_belongs_to_seed_line_and_position() -> None:
    whole = make_keys(7, range(10), 20)
    assert torch.equal(make_keys(7, [8, 3], 12), whole[[8, 3], :12])
    assert not torch.equal(make_keys(8, range(10), 20), whole)
    assert len(whole.unique()) == whole.numel()


def test_the_stream_is_keyed_by_line_not_by_place(oracle: Any, sources: list[list[int]]) -> None:
    network, settings = oracle(eos=-1.0), Decode(search="sample")
    whole = search(network, sources, settings, seed=4)
    part = search(network, sources[10:14], settings, seed=4, lines=range(10, 14))
    assert part == whole[10:14]
    assert whole != search(network, sources, settings, seed=5)
    assert whole[0][0].tokens != whole[-1][0].tokens  # the same source, another line


@pytest.mark.parametrize("seed", [-1, 1 << 64])
def test_a_seed_beyond_64_bits_is_refused(oracle: Any, seed: int) -> None:
    settings = Decode(search="sample")
    with pytest.raises(ValueError, match=f"seed={seed}: from 0 to 18446744073709551615"):
        search(oracle(), [[3, 2]], settings, seed=seed)
    with pytest.raises(ValueError, match=f"seed={seed}: from 0"):  # before it needs the library
        search_in_c(None, [[3, 2]], settings, seed=seed)  # type: ignore[arg-type]


def test_log_probs_are_the_networks_own(oracle: Any) -> None:
    network = oracle()
    [[found]] = search(network, [[3, 2]], Decode(search="sample", temperature=5, top_k=2))
    whole = [*found.tokens, 2]
    expected = [network.log_probs([3, 2], (1, *whole[:n]))[p] for n, p in enumerate(whole)]
    assert found.token_log_probs == pytest.approx(expected, abs=1e-5)
