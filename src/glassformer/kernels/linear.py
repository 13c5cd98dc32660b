"""The last linear map (paper 3.4): onto every piece of the vocabulary."""

from torch import Tensor
from torch.nn.functional import linear


def project(y_BTD: Tensor, table_VD: Tensor) -> Tensor:
    """y Wᵀ, B T V."""
    return linear(y_BTD, table_VD)
