"""The cells of an SSRU at all positions, and their gradients, without a graph of single steps.

The plain twin is `model/variants/ssru.py`. A step is one call here, forwards and backwards; what
needs no cell is computed for all positions at once.

Letters: B sentences; T positions; D model width.
"""

from typing import Any

import torch
from torch import Tensor, nn

from ...model.variants.ssru import SSRU


class FastSSRU(SSRU):
    """An SSRU whose recurrence is one function with a gradient of its own."""

    def run(self, forget_BTD: Tensor, candidate_BTD: Tensor, cell_B1D: Tensor) -> Tensor:
        return scan_cells(forget_BTD.float(), candidate_BTD.float(), cell_B1D.float())


TWINS: dict[type[nn.Module], type[nn.Module]] = {SSRU: FastSSRU}


def scan_cells(forget_BTD: Tensor, candidate_BTD: Tensor, cell_B1D: Tensor) -> Tensor:
    """Return the cell after each position, B T D, from the one before the first."""
    cell_BTD: Tensor = _Scan.apply(forget_BTD, candidate_BTD, cell_B1D)  # type: ignore[no-untyped-call]
    return cell_BTD


class _Scan(torch.autograd.Function):
    """The recurrence c = f ⊙ c' + (1 - f) ⊙ x."""

    @staticmethod
    def forward(ctx: Any, forget_BTD: Tensor, candidate_BTD: Tensor, start_B1D: Tensor) -> Tensor:
        kept, taken = (
            forget_BTD.unbind(1),
            torch.addcmul(candidate_BTD, forget_BTD, candidate_BTD, value=-1),
        )
        cells, cell_BD = [start_B1D[:, 0]], start_B1D[:, 0]
        for forget_BD, taken_BD in zip(kept, taken.unbind(1), strict=True):
            cell_BD = torch.addcmul(taken_BD, forget_BD, cell_BD)
            cells.append(cell_BD)
        cell_BCD = torch.stack(cells, 1)
        ctx.save_for_backward(forget_BTD, candidate_BTD, cell_BCD)
        return cell_BCD[:, 1:]

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        forget_BTD, candidate_BTD, cell_BCD = ctx.saved_tensors
        steps = list(zip(grads[0].unbind(1), forget_BTD.unbind(1), strict=True))
        grad_BD, reached = torch.zeros_like(cell_BCD[:, 0]), []
        for output_BD, forget_BD in reversed(steps):
            reached.append(grad_BD + output_BD)
            grad_BD = reached[-1] * forget_BD
        grad_BTD = torch.stack(reached[::-1], 1)
        grad_forget_BTD = grad_BTD * (cell_BCD[:, :-1] - candidate_BTD)
        return grad_forget_BTD, grad_BTD * (1 - forget_BTD), grad_BD[:, None]
