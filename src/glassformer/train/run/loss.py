"""The loss: cross-entropy with label smoothing (paper 5.4), and R-Drop's (Liang et al., 2021).

`label_smoothing` is the definition, and `batch_loss` is what training computes: the same from the
states before the last linear map, so that the logits of a batch are never held all at once.

Letters: B sentences; T target positions; N target positions that are not padding; D model width;
V vocabulary.
"""

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn.functional import log_softmax, pad

from ...config import PAD, Train
from ...data.batches import Batch
from ...engine.kernels.cross_entropy import smoothed_cross_entropy
from ...engine.kernels.fast import KernelState
from ...engine.kernels.kl import divergence
from ...model.encoder_decoder import EncoderDecoder


def label_smoothing(logits_NV: Tensor, target_N: Tensor, smoothing: float) -> Tensor:
    """Return the sum over N of -Σ q(v) ln p(v): q has 1 - e on the right token, e / V on all."""
    log_NV = log_softmax(logits_NV, -1)
    right_N = log_NV.gather(1, target_N[:, None]).squeeze(1)
    return -((1 - smoothing) * right_N + smoothing * log_NV.mean(1)).sum()


def batch_loss(network: EncoderDecoder, batch: Batch, train: Train, kernels: KernelState) -> Tensor:
    """Return the summed loss of a batch.

    With `rdrop_alpha` it is the mean loss of two forward passes with other dropout, plus alpha / 4
    times KL(p, q) + KL(q, p) of their distributions.
    """
    expected = batch.target_BT[:, 1:].ravel()
    places = np.flatnonzero(expected != PAD)  # indices: on CPUs the backward of masks is slow
    device = network.output_table.weight.device
    sides = batch.source_BS, batch.target_BT, places, expected[places]
    source_BS, target_BT, place_N, target_N = (_send(side, device) for side in sides)

    def read() -> tuple[Tensor, Tensor]:
        y_BTD = network.read(source_BS, target_BT[:, :-1])
        return _factor_logits(network, y_BTD.flatten(0, 1).index_select(0, place_N))

    def measure(y_ND: Tensor) -> Tensor:
        smoothing, packed = train.label_smoothing, kernels.packed
        return smoothed_cross_entropy(y_ND, table_VD, target_N, smoothing, packed)

    y_ND, table_VD = read()
    if not len(y_ND):  # weightless, but every parameter gets a gradient
        return 0 * (y_ND.sum() + table_VD.sum())
    loss = measure(y_ND)
    if not train.rdrop_alpha:
        return loss
    again_ND, _ = read()
    loss = loss + measure(again_ND)
    return (loss + train.rdrop_alpha / 2 * divergence(y_ND, again_ND, table_VD)) / 2


def _factor_logits(network: EncoderDecoder, y_ND: Tensor) -> tuple[Tensor, Tensor]:
    """Return the two factors of the logits, with the output bias as one more column."""
    table_VD, bias_V = network.output_table.weight, network.output_bias
    if bias_V is None:
        return y_ND, table_VD
    return pad(y_ND, (0, 1), value=1.0), torch.cat((table_VD, bias_V[:, None]), dim=1)


def _send(ids: npt.NDArray[np.int64], device: torch.device) -> Tensor:
    """Return ids as a tensor on the device, without waiting for the copy to a GPU."""
    here = torch.from_numpy(ids)
    if device.type != "cuda":
        return here.to(device)
    return here.pin_memory().to(device, non_blocking=True)
