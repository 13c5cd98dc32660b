"""Who changes a formula of the model trains what it says, not what a kernel does instead."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from glassformer.config import Model
from glassformer.kernels.dropout import Dropout
from glassformer.model import Transformer
from glassformer.model.attention import MultiHeadAttention
from glassformer.model.feed_forward import FeedForward
from glassformer.tap import tap
from glassformer.train.equivalence import SAME, check_shortcuts, compare_paths

CPU = torch.device("cpu")


def make(norm: str = "post") -> Transformer:
    torch.manual_seed(4)
    return Transformer(Model(d_model=64, d_ff=96, heads=2, norm=norm, dropout=0.3), 50, 50)


@pytest.mark.parametrize("precision", SAME)
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_what_is_unchanged_keeps_its_shortcuts(norm: str, precision: str) -> None:
    model, said = make(norm), []
    check_shortcuts(model, CPU, precision, said.append)
    assert said == [] and model.training and compare_paths(model, precision) < SAME[precision]
    assert all(module.recorder is None for module in model.modules() if hasattr(module, "recorder"))
    assert {module.p for module in model.modules() if isinstance(module, Dropout)} >= {0.3}


class Cosine(MultiHeadAttention):
    def attend(self, q_BHQK: Tensor, k_BHMK: Tensor, v_BHMK: Tensor, mask: Tensor) -> Tensor:
        q, k = (torch.nn.functional.normalize(x, dim=-1) for x in (q_BHQK, k_BHMK))
        return super().attend(q, k, v_BHMK, mask)


class Squared(FeedForward):
    def forward(self, x_BLD: Tensor) -> Tensor:
        if self.recorder is None and self.training:  # as the shortcut would be taken
            return super().forward(x_BLD)
        inner = tap(self, "inner", self.inner(x_BLD))
        return tap(self, "output", self.outer(tap(self, "hidden", inner.relu().square() * 9)))


@pytest.mark.parametrize("precision", SAME)
@pytest.mark.parametrize("changed", [Cosine, Squared])
def test_what_was_changed_goes_without(changed: type, precision: str) -> None:
    model, said = make(), []
    for module in model.modules():
        if type(module) is changed.__mro__[1]:
            module.__class__ = changed
            if changed is Cosine:
                module.to_query.weight.data.mul_(9)
    check_shortcuts(model, CPU, precision, said.append)
    assert len(said) == 1 and compare_paths(model, precision) < SAME[precision]
    ids = torch.tensor([[5, 6, 7]])
    model.train().read(ids, ids).sum().backward()
    assert all(p.grad is not None for p in model.decoder.parameters())
