"""Measure how much of each token a decoder row holds: value zeroing and ALTI+.

Both say for each layer what share each position has in another, and multiply the layers
(rollout). In the decoder a row is shared among the source and the translation before it, so that
together they have 1.

Value zeroing (Mohebbi et al. 2023, "Quantifying Context Mixing in Transformers") takes a position's
value vectors away in one layer, and measures by the cosine how far the layer's output moves. ALTI
(Ferrando et al. 2022, "Measuring the Mixing of Contextual Information in the Transformer") splits
the output of an attention, with its residual connection and the norm's scale as it is, into a
vector for each position, and measures by the L1 norm how near each is to the whole; ALTI+ (Ferrando
et al. 2022, "Towards Opening the Black Box of Neural Machine Translation") takes in the decoder.

Letters: B copies; H heads; S source, T target, L positions of either; Q queries; M keys; N parts;
K width of a head; D model width.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import cosine_similarity

from glassformer.foundation.tap import Edit, record
from glassformer.model.encoder_decoder import EncoderDecoder

from .edges import WordContrast

Kept = Mapping[str, list[Tensor]]


class LayerShares(NamedTuple):
    """The shares of one layer's rows; those of a decoder's row sum to 1 together."""

    own: Tensor  # of the positions of the same side, L L
    source: Tensor | None = None  # of the encoder's output, T S


class MixedRow(NamedTuple):
    """The shares that tokens have in the last row of the decoder; together 1."""

    source_S: Tensor
    target_T: Tensor


def roll_out_shares(encoder: list[LayerShares], decoder: list[LayerShares]) -> MixedRow:
    """Return the shares of the last row after all layers: the product of the layers' shares."""
    rows_TN, source = roll_out_rows(encoder, decoder), len(encoder[0].own)
    return MixedRow(rows_TN[-1, :source], rows_TN[-1, source:])


def roll_out_rows(encoder: list[LayerShares], decoder: list[LayerShares]) -> Tensor:
    """Return the shares that the source, then the target, has in each row, T by S + T."""
    x_SS = torch.eye(len(encoder[0].own), dtype=encoder[0].own.dtype)
    for layer in encoder:
        x_SS = layer.own @ x_SS
    source, target = len(x_SS), len(decoder[0].own)
    memory = torch.cat((x_SS, x_SS.new_zeros(source, target)), 1)
    rows = torch.cat((x_SS.new_zeros(target, source), torch.eye(target).to(x_SS)), 1)
    for layer in decoder:
        assert layer.source is not None
        rows = layer.own @ rows + layer.source @ memory
    return rows


def keep_windows(network: EncoderDecoder, contrast: WordContrast) -> dict[str, list[Tensor]]:
    """Return what passed all windows in one pass, each 1 L D or 1 H Q M."""
    with torch.no_grad(), record(network) as (view, kept):
        view(torch.tensor([contrast.source]), torch.tensor([contrast.given]))
        return dict(kept)


def list_alti(network: EncoderDecoder, kept: Kept) -> tuple[list[LayerShares], list[LayerShares]]:
    """Return ALTI's shares of each layer of the encoder, and ALTI+'s of the decoder.

    Feed-forward networks mix no positions, and are left out, as in the papers.
    """
    settings = network.settings
    encoder = [
        LayerShares(share_self(network, kept, f"encoder.{n}.self_attention"))
        for n in range(settings.encoder_layers)
    ]
    decoder = []
    for n in range(settings.decoder_layers):
        own_TT = share_self(network, kept, f"decoder.{n}.self_attention")
        name = f"decoder.{n}.cross_attention"
        parts_QMD, rest_QD, whole_QD = split_attention(network, kept, name)
        shares_TN = share_nearness(torch.cat((parts_QMD, rest_QD[:, None]), 1), whole_QD)
        decoder.append(LayerShares(shares_TN[:, -1:] * own_TT, shares_TN[:, :-1]))
    return encoder, decoder


def share_self(network: EncoderDecoder, kept: Kept, block: str) -> Tensor:
    """Return ALTI's shares for a self-attention, L L; the residual is the row's own position."""
    parts_QMD, rest_QD, whole_QD = split_attention(network, kept, block)
    at = torch.arange(len(parts_QMD))
    parts_QMD[at, at] += rest_QD
    return share_nearness(parts_QMD, whole_QD)


def share_nearness(parts_QND: Tensor, whole_QD: Tensor) -> Tensor:
    """Return how near each part is to the whole, Q N: max(0, |y| - |y - part|), as shares of 1.

    If no part is nearer than nothing, all have the same share.
    """
    far_QN = (whole_QD[:, None] - parts_QND).abs().sum(-1)
    near_QN = (whole_QD.abs().sum(-1, keepdim=True) - far_QN).clamp(min=0)
    return normalize_rows(near_QN)


def normalize_rows(x_QN: Tensor) -> Tensor:
    """Return rows that sum to 1; a row of zeros becomes one of equal shares."""
    sum_Q1 = x_QN.sum(-1, keepdim=True)
    return torch.where(sum_Q1 > 0, x_QN / sum_Q1.clamp(min=1e-300), 1 / x_QN.size(-1))


def split_attention(
    network: EncoderDecoder, kept: Kept, block: str
) -> tuple[Tensor, Tensor, Tensor]:
    """Return what an attention's output is made of: parts Q M D, the residual Q D, the whole Q D.

    The parts and the residual, with what biases add, sum to the whole. In a post-norm network all
    of them are behind the norm.
    """
    attention: Any = network.get_submodule(block)
    residual: Any = network.get_submodule(f"{block}_residual")
    value_HMK, weights_HQM = (kept[f"{block}.{each}"][0][0] for each in ("value", "weights"))
    output_DHK = attention.to_output.weight.unflatten(1, (len(value_HMK), -1))
    moved_HMD = torch.einsum("hmk,dhk->hmd", value_HMK, output_DHK)
    parts_QMD = torch.einsum("hqm,hmd->qmd", weights_HQM, moved_HMD)
    sum_QD = kept[f"{block}_residual.sum"][0][0]
    rest_QD = sum_QD - kept[f"{block}.output"][0][0]
    if not residual.post:
        return parts_QMD, rest_QD, sum_QD
    parts_QMD = scale_as_norm(residual.norm, parts_QMD, sum_QD[:, None])
    rest_QD = scale_as_norm(residual.norm, rest_QD, sum_QD)
    return parts_QMD, rest_QD, kept[f"{block}_residual.normed"][0][0]


def scale_as_norm(norm: nn.Module, part: Tensor, whole: Tensor) -> Tensor:
    """Return what a norm makes of a part of its input `whole`, with its scale held; no bias."""
    if isinstance(norm, nn.RMSNorm):
        scale = (whole.square().mean(-1, keepdim=True) + (norm.eps or 0)).sqrt()
        return part / scale * norm.weight
    assert isinstance(norm, nn.LayerNorm)
    scale = (whole.var(-1, unbiased=False, keepdim=True) + norm.eps).sqrt()
    return (part - part.mean(-1, keepdim=True)) / scale * norm.weight


def list_zeroed(
    network: EncoderDecoder, contrast: WordContrast
) -> tuple[list[LayerShares], list[LayerShares]]:
    """Return the shares of each layer of the encoder and the decoder by value zeroing."""
    settings, source, target = network.settings, len(contrast.source), len(contrast.given)
    encoder = []
    for n in range(settings.encoder_layers):
        moved_SS = zero_values(network, contrast, f"encoder.{n}", {"self_attention": source})
        encoder.append(LayerShares(normalize_rows(moved_SS)))
    decoder = []
    blocks = {"self_attention": target, "cross_attention": source}
    for n in range(settings.decoder_layers):
        moved_TN = zero_values(network, contrast, f"decoder.{n}", blocks)
        shares_TN = normalize_rows(moved_TN)
        decoder.append(LayerShares(shares_TN[:, :target], shares_TN[:, target:]))
    return encoder, decoder


def zero_values(
    network: EncoderDecoder,
    contrast: WordContrast,
    layer: str,
    blocks: Mapping[str, int],
    window: str | None = None,
) -> Tensor:
    """Return how far each row of a layer's output moves without each position's values, L N.

    blocks: how many positions each attention of the layer reads. window: where else the rows are
    measured than at the layer's output. All are measured in one pass; copy 0 has nothing zeroed.
    """
    output = "normed" if network.settings.norm == "post" else "sum"
    name = window or f"{layer}.feed_forward_residual.{output}"
    edits, copies = {}, 1
    for block, positions in blocks.items():
        edits[f"{layer}.{block}.value"] = _zero_own(copies, positions)
        copies += positions
    sides = (torch.tensor([ids]).expand(copies, -1) for ids in (contrast.source, contrast.given))
    with torch.no_grad(), record(network, lambda each: each == name, edits) as (view, kept):
        view(*sides)
    x_BLD = kept[name][0]
    return (1 - cosine_similarity(x_BLD[1:], x_BLD[:1], dim=-1)).clamp(min=0).T


def _zero_own(first: int, positions: int) -> Edit:
    """Return an edit that zeroes the values of position p in copy first + p."""

    def edit(value_BHMK: Tensor) -> Tensor:
        changed, at = value_BHMK.clone(), torch.arange(positions)
        changed[first + at, :, at] = 0
        return changed

    return edit
