"""The last linear map (paper 3.4): onto every token of the vocabulary."""

from torch import Tensor
from torch.nn.functional import linear


def project(y_BTD: Tensor, table_VD: Tensor, bias_V: Tensor | None = None) -> Tensor:
    """y Wᵀ, B T V; the paper has no bias here."""
    return linear(y_BTD, table_VD, bias_V)
