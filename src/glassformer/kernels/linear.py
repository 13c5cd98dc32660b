"""The last linear map (paper 3.4), which gives each token of the vocabulary a logit."""

from torch import Tensor
from torch.nn.functional import linear


def project(y_BTD: Tensor, table_VD: Tensor, bias_V: Tensor | None = None) -> Tensor:
    """Return the logits y Wᵀ + b, B T V; the paper has no bias here."""
    return linear(y_BTD, table_VD, bias_V)
