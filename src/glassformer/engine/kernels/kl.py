"""The symmetric KL divergence of R-Drop, which never holds all logits at once.

It is KL(p, q) + KL(q, p) of two next-token distributions: of the same positions with other dropout
(Liang et al., 2021). As in `cross_entropy`, the gradient is computed in the forward pass, one chunk
of rows at a time.

Letters: N positions; C positions of one chunk; D model width; V vocabulary.
"""

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import log_softmax, pad

from .cross_entropy import CELLS, ROWS
from .precision import working_dtype


def divergence(one_ND: Tensor, other_ND: Tensor, table_VD: Tensor) -> Tensor:
    """Return KL(p, q) + KL(q, p) summed over all N positions, in nats, in fp32.

    The logits of p are one_ND @ table_VD.T, those of q are other_ND @ table_VD.T.
    """
    result: Tensor = _Divergence.apply(one_ND, other_ND, table_VD)  # type: ignore[no-untyped-call]
    return result


class _Divergence(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, one_ND: Tensor, other_ND: Tensor, table_VD: Tensor) -> Tensor:
        dtype, vocabulary = working_dtype(one_ND), len(table_VD)
        table = table_VD.to(dtype)
        grads_2ND = torch.empty(2, *one_ND.shape, device=one_ND.device, dtype=one_ND.dtype)
        grad_VD = torch.zeros_like(table_VD, dtype=torch.float32)
        total = torch.zeros((), device=one_ND.device)
        rows = max(CELLS // 4 // vocabulary // ROWS, 1) * ROWS  # four such tensors are held
        for start in range(0, len(one_ND), rows):
            here = slice(start, start + rows)
            real = len(one_ND[here])
            y_2CD = torch.stack((one_ND[here], other_ND[here])).to(dtype)
            y_2CD = pad(y_2CD, (0, 0, 0, -real % ROWS, 0, 0))  # rows of zeros have divergence 0
            apart, grad_2CV = _compare((y_2CD @ table.T).float())
            total += apart
            grad_2CV = grad_2CV.to(dtype)
            grads_2ND[:, here] = (grad_2CV @ table)[:, :real].to(one_ND.dtype)
            grad_VD += grad_2CV.flatten(0, 1).T @ y_2CD.flatten(0, 1)
        ctx.save_for_backward(grads_2ND, grad_VD)
        return total

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        grads_2ND, grad_VD = ctx.saved_tensors
        return grads_2ND[0] * grads[0], grads_2ND[1] * grads[0], grad_VD * grads[0]


def _compare(logits_2CV: Tensor) -> tuple[Tensor, Tensor]:
    """Return the sum of (p - q) (log p - log q), and its gradient by the logits of p and of q."""
    log_2CV = log_softmax(logits_2CV, -1)
    probabilities_2CV = log_2CV.exp()
    apart_CV = log_2CV[0] - log_2CV[1]
    more_CV = probabilities_2CV[0] - probabilities_2CV[1]
    total = torch.dot(more_CV.flatten(), apart_CV.flatten())
    gradients = []
    for sign, p_CV in zip((1, -1), probabilities_2CV, strict=True):
        mean_C1 = (p_CV * apart_CV).sum(-1, keepdim=True)
        gradients.append(p_CV.mul_(apart_CV - mean_C1).add_(more_CV).mul_(sign))
    return total, torch.stack(gradients)
