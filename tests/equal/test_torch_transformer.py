"""The network equals `torch.nn.Transformer` with the same weights, gradients and all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from glassformer.config import Model
from glassformer.model.attention import MultiHeadAttention
from glassformer.model.transformer import Transformer

D, H, F = 42, 7, 13  # here heads are as wide as D / H: torch has no other


def pair_parameters(ours: Transformer, theirs: nn.Transformer) -> Iterator[tuple[Tensor, Tensor]]:
    """Every tensor of `theirs` beside the one of `ours`; three linear maps of ours are one."""

    def attention(own: MultiHeadAttention, other: nn.MultiheadAttention) -> None:
        maps = own.to_query, own.to_key, own.to_value
        pairs.append((torch.cat([m.weight for m in maps]), other.in_proj_weight))
        pairs.append((torch.cat([m.bias for m in maps]), other.in_proj_bias))
        alike(own.to_output, other.out_proj)

    def alike(own: nn.Module, other: nn.Module) -> None:
        pairs.extend(zip(own.parameters(), other.parameters(), strict=True))

    pairs: list[tuple[Tensor, Tensor]] = []
    for own, other in zip(
        [*ours.encoder, *ours.decoder],
        [*theirs.encoder.layers, *theirs.decoder.layers],
        strict=True,
    ):
        attention(own.self_attention, other.self_attn)
        residuals = [own.self_attention_residual, own.feed_forward_residual]
        if hasattr(own, "cross_attention"):
            attention(own.cross_attention, other.multihead_attn)
            residuals.insert(1, own.cross_attention_residual)
        for number, residual in enumerate(residuals, start=1):
            alike(residual.norm, getattr(other, f"norm{number}"))
        alike(own.feed_forward.inner, other.linear1)
        alike(own.feed_forward.outer, other.linear2)
    if theirs.encoder.norm is not None:
        alike(ours.encoder_norm, theirs.encoder.norm)
        alike(ours.decoder_norm, theirs.decoder.norm)
    yield from pairs


def make_reference(ours: Transformer) -> nn.Transformer:
    settings = ours.settings
    first = settings.norm == "pre"
    shape: Any = (settings.d_model, settings.heads, settings.d_ff, 0.0, settings.activation)
    options = {"batch_first": True, "norm_first": first}

    def norm() -> nn.LayerNorm | None:
        return nn.LayerNorm(settings.d_model) if first else None

    theirs = nn.Transformer(
        settings.d_model,
        settings.heads,
        custom_encoder=nn.TransformerEncoder(
            nn.TransformerEncoderLayer(*shape, **options),
            settings.encoder_layers,
            norm(),
            enable_nested_tensor=False,
        ),
        custom_decoder=nn.TransformerDecoder(
            nn.TransformerDecoderLayer(*shape, **options), settings.decoder_layers, norm()
        ),
        batch_first=True,
    )
    with torch.no_grad():
        pairs = list(pair_parameters(ours, theirs))
        assert {id(p) for p in theirs.parameters()} == {id(other) for _, other in pairs}
        for own, other in pairs:
            other.copy_(own)
    return theirs


def run_reference(theirs: nn.Transformer, ours: Transformer, batch: tuple[Tensor, ...]) -> Tensor:
    source_BS, target_BT = batch
    future = torch.ones(target_BT.size(1), target_BT.size(1), dtype=torch.bool).triu(1)
    y_BTD = theirs(
        ours.source_embedding(source_BS),
        ours.target_embedding(target_BT),
        tgt_mask=future,
        src_key_padding_mask=source_BS == 0,
        tgt_key_padding_mask=target_BT == 0,
        memory_key_padding_mask=source_BS == 0,
    )
    return y_BTD @ ours.output_table.weight.T


@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("norm", ["post", "pre"])
def test_equal_to_torch(
    norm: Any,
    activation: Any,
    batch: tuple[Tensor, Tensor],
    build: Callable[[Model], Transformer],
    equal: Callable[..., None],
) -> None:
    """Logits and the gradient of every parameter, in training mode, padding on both sides."""
    ours = build(
        Model(
            d_model=D,
            heads=H,
            d_ff=F,
            encoder_layers=3,
            decoder_layers=2,
            dropout=0.0,
            norm=norm,
            activation=activation,
        )
    ).train()
    theirs = make_reference(ours)
    logits_BTV = ours(*batch)
    expected_BTV = run_reference(theirs, ours, batch)
    equal(logits_BTV, expected_BTV)

    grad_BTV = torch.randn(logits_BTV.shape)
    (logits_BTV * grad_BTV).sum().backward()
    slopes = deepcopy(ours)  # a network whose parameters are gradients
    for slope, parameter in zip(slopes.parameters(), ours.parameters(), strict=True):
        assert parameter.grad is not None
        slope.data, parameter.grad = parameter.grad, None
    (expected_BTV * grad_BTV).sum().backward()
    for own, other in pair_parameters(slopes, theirs):
        assert other.grad is not None
        equal(own, other.grad)
    table = ours.output_table.weight  # theirs read and wrote with it as well
    assert table.grad is not None
    equal(slopes.output_table.weight, table.grad)
