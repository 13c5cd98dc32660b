"""Each variant against its paper's equation in a slow loop, and against another implementation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from tests.equal.variants import VARIANTS
from torch import Tensor

from glassformer.config import Model
from glassformer.engine.kernels.fast import fast
from glassformer.engine.kernels.local import NearAttention
from glassformer.engine.kernels.ssru import FastSSRU, scan_cells
from glassformer.model.networks import build_network
from glassformer.model.residual import make_norm
from glassformer.model.transformer import Transformer
from glassformer.model.variants import make_feed_forward, make_self_attention
from glassformer.model.variants.attention import VariedSelfAttention
from glassformer.model.variants.distances import penalties, rotate
from glassformer.model.variants.ssru import SSRU

SHAPE: dict[str, Any] = {"d_model": 24, "heads": 4, "head_width": 6, "d_ff": 20}


def make_settings(**changes: Any) -> Model:
    return Model.model_validate(SHAPE | changes)


def make_attention(is_causal: bool = False, **changes: Any) -> VariedSelfAttention:
    torch.manual_seed(3)
    made = make_self_attention(make_settings(**changes), is_causal=is_causal)
    assert isinstance(made, VariedSelfAttention)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.normal_(std=0.5)
    return made.double().eval()


def attend_slowly(made: VariedSelfAttention, x_LD: Tensor, seen: Any) -> np.ndarray:
    """The output of the attention, one number after the other, from the papers' equations."""
    linear = {
        name: (x_LD @ getattr(made, f"to_{name}").weight.T + getattr(made, f"to_{name}").bias)
        .detach()
        .numpy()
        for name in ("query", "key", "value")
    }
    length, heads, width, share = len(x_LD), made.heads, made.head_width, made.share
    context = np.zeros((length, heads * width))
    for h in range(heads):
        own, group = slice(h * width, (h + 1) * width), h // share
        of_group = slice(group * width, (group + 1) * width)
        for q in range(length):
            keys = [m for m in range(length) if seen(q, m)]
            scores, values = [], []
            for m in keys:
                query, key = linear["query"][q, own], linear["key"][m, of_group]
                value = linear["value"][m, of_group]
                if made.is_rotary:
                    query, key = turn(query, q), turn(key, m)
                if made.relative is not None:
                    kind = min(max(m - q, -made.relative.reach), made.relative.reach)
                    kind += made.relative.reach
                    key = key + made.relative.key_CK[kind].detach().numpy()
                    value = value + made.relative.value_CK[kind].detach().numpy()
                score = sum(a * b for a, b in zip(query, key, strict=True)) / math.sqrt(width)
                if made.penalties_H is not None:
                    score -= 2.0 ** (-8 * (h + 1) / heads) * abs(q - m)
                scores.append(score)
                values.append(value)
            powers = [math.exp(score) for score in scores]
            context[q, own] = sum(p / sum(powers) * v for p, v in zip(powers, values, strict=True))
    output = made.to_output
    return context @ output.weight.detach().numpy().T + output.bias.detach().numpy()


def turn(x_K: np.ndarray, position: int) -> np.ndarray:
    """Pairs as complex numbers times e^(i m θ): equation 16 of RoFormer."""
    pairs = x_K[::2] + 1j * x_K[1::2]
    turned = [
        pair * np.exp(1j * position * 10000 ** (-2 * i / len(x_K))) for i, pair in enumerate(pairs)
    ]
    return np.array([part for each in turned for part in (each.real, each.imag)])


PATTERNS = {
    "full": lambda q, m: True,
    "local": lambda q, m: abs(q - m) <= 2,
    "strided": lambda q, m: abs(q - m) <= 2 or (q - m) % 4 == 0,
    "global+local": lambda q, m: abs(q - m) <= 2 or q < 3 or m < 3,
}
DETAILS: dict[str, dict[str, int]] = {
    "full": {},
    "local": {"width": 2},
    "strided": {"width": 2, "stride": 4},
    "global+local": {"width": 2, "globals": 3},
}


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("layout", ["rotary", "alibi", "relative"])
@pytest.mark.parametrize("shared", [None, 2, 1])
def test_it_is_what_the_equations_say(
    layout: str, pattern: str, shared: int | None, is_causal: bool
) -> None:
    positions = {"layout": layout, **({"reach": 3} if layout == "relative" else {})}
    made = make_attention(
        is_causal,
        positions=positions,
        key_value_heads=shared,
        attention={"pattern": pattern, **DETAILS[pattern]},
    )
    x_LD = torch.randn(11, 24, dtype=torch.float64)
    mask = torch.ones(1, 1, 11, 11, dtype=torch.bool)
    if is_causal and pattern == "full":
        mask = mask.tril()
    elif pattern == "local":
        mask = mask[:, :, :1]
    wanted = attend_slowly(
        made, x_LD, lambda q, m: PATTERNS[pattern](q, m) and (m <= q or not is_causal)
    )
    found = made(x_LD[None], x_LD[None], mask)[0].detach().numpy()
    np.testing.assert_allclose(found, wanted, atol=1e-10)


@pytest.mark.parametrize("name", [each for each in VARIANTS if each.startswith("local")])
@pytest.mark.parametrize("is_causal", [False, True])
def test_blocks_have_the_gradients_of_the_masked_matrix(name: str, is_causal: bool) -> None:
    """With padding, of which whole windows consist, in one of the two sentences."""
    changes = VARIANTS[name] | {"head_width": 6}
    made = make_attention(is_causal, **changes)
    x_BLD = torch.randn(2, 13, 24, dtype=torch.float64, requires_grad=True)
    mask = torch.ones(2, 1, 1, 13, dtype=torch.bool)
    mask[1, ..., 5:] = False
    near = NearAttention(make_settings(**changes), is_causal=is_causal).double().eval()
    near.load_state_dict(made.state_dict())
    by_blocks, wanted = near(x_BLD, x_BLD, mask), made(x_BLD, x_BLD, mask)
    torch.testing.assert_close(by_blocks, wanted, atol=1e-10, rtol=0)
    weights = torch.randn_like(wanted)
    for found, expected in zip(
        torch.autograd.grad((by_blocks * weights).sum(), [x_BLD, *near.parameters()]),
        torch.autograd.grad((wanted * weights).sum(), [x_BLD, *made.parameters()]),
        strict=True,
    ):
        assert found.isfinite().all()
        torch.testing.assert_close(found, expected, atol=1e-9, rtol=0)


def test_rotary_is_that_of_llama() -> None:
    """Transformers pairs i with i + K/2 instead of neighbours: the same in another order."""
    llama = pytest.importorskip("transformers.models.llama.modeling_llama")
    config = pytest.importorskip("transformers").LlamaConfig(
        hidden_size=24, num_attention_heads=2, head_dim=12
    )
    q, k = torch.randn(2, 3, 2, 9, 12).unbind()
    positions = torch.arange(9)[None].expand(3, -1)
    cos, sin = llama.LlamaRotaryEmbedding(config)(q, positions)
    halves = torch.cat((torch.arange(0, 12, 2), torch.arange(1, 12, 2)))
    wanted = llama.apply_rotary_pos_emb(q[..., halves], k[..., halves], cos, sin)
    for found, expected in zip((q, k), wanted, strict=True):
        torch.testing.assert_close(rotate(found, positions)[..., halves], expected)


@pytest.mark.parametrize("heads", [1, 2, 3, 6, 8, 12, 16])
def test_alibi_has_the_penalties_of_bloom(heads: int) -> None:
    bloom = pytest.importorskip("transformers.models.bloom.modeling_bloom")
    mask = torch.ones(1, 5, dtype=torch.long)
    wanted = bloom.build_alibi_tensor(mask, heads, torch.float32)[:, 0, 1]  # at position 1
    torch.testing.assert_close(penalties(heads).float(), wanted)


def test_alibi_of_eight_heads() -> None:
    """The numbers of section 3 of its paper."""
    assert penalties(8).tolist() == [2.0**-n for n in range(1, 9)]


def test_rms_norm_is_that_of_llama() -> None:
    llama = pytest.importorskip("transformers.models.llama.modeling_llama")
    norm, x = make_norm(make_settings(normalization="rms")), torch.randn(2, 5, 24)
    other = llama.LlamaRMSNorm(24, eps=1e-5)
    with torch.no_grad():
        norm.weight.normal_()
        other.weight.copy_(norm.weight)
    torch.testing.assert_close(norm(x), other(x))


@pytest.mark.parametrize("activation", ["relu", "silu", "gelu"])
def test_a_gated_network_in_a_loop(activation: str) -> None:
    made = make_feed_forward(make_settings(gated=True, activation=activation)).double()
    x_D = torch.randn(24, dtype=torch.float64)
    function = {
        "relu": lambda x: max(0.0, x),
        "silu": lambda x: x / (1 + math.exp(-x)),
        "gelu": lambda x: x * (1 + math.erf(x / math.sqrt(2))) / 2,
    }[activation]
    inner, gate = ((m.weight @ x_D + m.bias).tolist() for m in (made.inner, made.gate))
    hidden = [function(a) * b for a, b in zip(inner, gate, strict=True)]
    wanted = made.outer.weight @ torch.tensor(hidden, dtype=torch.float64) + made.outer.bias
    torch.testing.assert_close(made(x_D[None])[0], wanted)


def test_a_gated_network_is_that_of_llama() -> None:
    llama = pytest.importorskip("transformers.models.llama.modeling_llama")
    config = pytest.importorskip("transformers").LlamaConfig(
        hidden_size=24, num_attention_heads=2, intermediate_size=20, mlp_bias=True
    )
    made, other = make_feed_forward(make_settings(gated=True, activation="silu")), llama.LlamaMLP
    wanted = other(config)
    pairs = ("inner", "gate_proj"), ("gate", "up_proj"), ("outer", "down_proj")
    for ours, theirs in pairs:
        getattr(wanted, theirs).load_state_dict(getattr(made, ours).state_dict())
    x = torch.randn(2, 5, 24)
    torch.testing.assert_close(made(x), wanted(x))


def test_an_ssru_in_a_loop() -> None:
    """Number by number, as in section 3.1 of its paper; and its twin, with gradients."""
    torch.manual_seed(3)
    made = SSRU(make_settings()).double()
    x_TD = torch.randn(7, 24, dtype=torch.float64)
    w_f, b_f = made.to_forget.weight.tolist(), made.to_forget.bias.tolist()
    w, cell, wanted = made.to_candidate.weight.tolist(), [0.0] * 24, []
    for x in x_TD.tolist():
        for d in range(24):
            gate = sum(a * b for a, b in zip(w_f[d], x, strict=True)) + b_f[d]
            forget = 1 / (1 + math.exp(-gate))
            taken = sum(a * b for a, b in zip(w[d], x, strict=True))
            cell[d] = forget * cell[d] + (1 - forget) * taken
        wanted.append([max(0.0, c) for c in cell])
    torch.testing.assert_close(made(x_TD[None])[0], torch.tensor(wanted, dtype=torch.float64))


def test_the_gradients_of_a_scan() -> None:
    """By finite differences, in float64."""
    forget = torch.rand(2, 5, 3, dtype=torch.float64, requires_grad=True)
    candidate = torch.randn(2, 5, 3, dtype=torch.float64, requires_grad=True)
    start = torch.randn(2, 1, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(scan_cells, (forget, candidate, start))


@pytest.mark.parametrize("length", [1, 2, 9])
def test_the_scan_of_an_ssru_is_its_loop(length: int) -> None:
    torch.manual_seed(3)
    made = SSRU(make_settings())
    view = FastSSRU(make_settings())
    view.load_state_dict(made.state_dict())
    x_BTD = torch.randn(3, length, 24, requires_grad=True)
    weights_BTD = torch.randn(3, length, 24)
    results = [each(x_BTD) for each in (view, made)]
    torch.testing.assert_close(*results)
    grads = [
        torch.autograd.grad((y * weights_BTD).sum(), [x_BTD, *each.parameters()])
        for y, each in zip(results, (view, made), strict=True)
    ]
    for found, wanted_grad in zip(*grads, strict=True):
        torch.testing.assert_close(found, wanted_grad)


@pytest.mark.parametrize("name", [each for each in VARIANTS if "ssru" not in each])
def test_a_language_model_writes_as_it_reads(name: str) -> None:
    """One side alone, on the same layers: step by step as all at once."""
    torch.manual_seed(3)
    one_side = {"network": "decoder", "encoder_layers": 0, "decoder_layers": 2, "dropout": 0.0}
    network = build_network(make_settings(**{**VARIANTS[name], **one_side}), 30, 30).eval()
    source, target = torch.zeros(2, 0, dtype=torch.long), torch.randint(3, 30, (2, 12))
    with torch.inference_mode():
        whole, state = network(source, target), network.start(source)
        steps = torch.cat([network.step(part, state) for part in target.split(3, dim=1)], 1)
    most = float(whole.abs().max())
    torch.testing.assert_close(steps, whole, atol=1e-5 * max(1.0, most), rtol=1e-5)


def test_shared_heads_have_smaller_caches() -> None:
    network = Transformer(make_settings(key_value_heads=2), 20, 20).eval()
    network = fast(network, precision="fp32")
    with torch.inference_mode():
        state = network.start(torch.tensor([[5, 6, 2]]))
        network.step(torch.tensor([[1]]), state)
    for layer in state.layers:
        assert [x.size(1) for x in (*layer.source, *layer.own)] == [2, 2, 2, 2]


@pytest.mark.parametrize("name", VARIANTS)
def test_what_the_kernels_do_not_know_is_computed_as_written(name: str) -> None:
    torch.manual_seed(2)
    network = Transformer(make_settings(**{**VARIANTS[name], "dropout": 0.0}), 30, 30)
    source, target = torch.randint(3, 30, (2, 2, 14)).unbind()
    wanted = network(source, target)
    view = fast(network, precision="fp32")
    found = view(source, target)
    most = float(wanted.detach().abs().max())  # without norms, numbers are large
    torch.testing.assert_close(found, wanted, atol=1e-4 * max(1.0, most), rtol=1e-5)
    grads = [
        torch.autograd.grad(
            each.logsumexp(-1).sum(), [*network.parameters()], materialize_grads=True
        )
        for each in (found, wanted)
    ]
    one, other = (torch.cat([x.flatten() for x in each]) for each in grads)
    bound = 1e-2 if name == "bare" else 1e-3  # without norms, rounding grows from layer to layer
    assert float((one - other).norm()) <= bound * float(other.norm())


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"ablate": ["heart"]}, "ablate=heart: one of residual, norm"),
        ({"key_value_heads": 3}, "cannot share key_value_heads=3"),
        ({"positions": {"layout": "rotary"}, "head_width": 5}, "turns pairs"),
        ({"positions": {"layout": "alibi", "amplitude": 2.0}}, "amplitude=.* has no effect"),
        ({"positions": {"layout": "none", "combine": "multiply"}}, "combine=.* has no effect"),
        ({"positions": {"reach": 3}}, "reach=3 has no effect with layout=interleaved"),
        ({"positions": {"layout": "sine", "grid": "tensor2tensor"}}, "grid=.* has no effect"),
        ({"attention": {"width": 3}}, "width=.* has no effect with pattern=full"),
        ({"attention": {"pattern": "local", "stride": 3}}, "stride=.* has no effect"),
        ({"normalization": "rms", "ablate": ["norm"]}, "has no effect with ablate=norm"),
        ({"gated": True, "ablate": ["feed_forward"]}, "gated=true has no effect"),
        ({"embedding_norm": True, "positions": {"layout": "rotary"}}, "needs position vectors"),
        ({"network": "rnn", "heads": 1, "gated": True}, "has no effect with network=rnn"),
        ({"network": "decoder", "decoder": "ssru"}, "decoder=ssru has no effect with network="),
    ],
)
def test_settings_without_an_effect_are_refused(changes: dict[str, Any], said: str) -> None:
    shape = {} if changes.get("network") else SHAPE
    with pytest.raises(ValueError, match=said):
        Model.model_validate({**shape, **changes})
