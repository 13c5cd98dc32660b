"""The fast view computes what `model/` says, and what it has no twin for as it is written."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from glassformer.config import Model
from glassformer.engine.kernels.dropout import Dropout
from glassformer.engine.kernels.fast import SAME, TWINS, KernelState, fast, find_difference
from glassformer.engine.kernels.local import TWINS as VARIED
from glassformer.extensions.rnn.recurrent import TWINS as RECURRENT
from glassformer.model.attention import MultiHeadAttention
from glassformer.model.feed_forward import FeedForward
from glassformer.model.residual import Residual
from glassformer.model.transformer import Transformer

PRECISIONS = pytest.mark.parametrize("precision", SAME)
IDS = torch.tensor([[5, 6, 7]])


def make(**settings: Any) -> Transformer:
    torch.manual_seed(4)
    shape = {"d_model": 64, "d_ff": 96, "heads": 2, "dropout": 0.3, **settings}
    return Transformer(Model(**shape), 50, 50)


def change(model: Transformer, kind: type, changed: type) -> None:
    for module in model.modules():
        if type(module) is kind:
            module.__class__ = changed


def count_twins(view: Transformer) -> dict[str, int]:
    kinds = [type(module).__name__ for module in view.modules()]
    return {
        kind.__name__: kinds.count(kind.__name__)
        for kind in TWINS.values()
        if kind not in (*RECURRENT.values(), *VARIED.values())
    }


@PRECISIONS
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_an_unchanged_network_gets_every_twin(norm: str, precision: str) -> None:
    model, said = make(norm=norm), []
    before = {name: type(module) for name, module in model.named_modules()}
    view = fast(model, precision=precision, say=said.append)
    found = find_difference(model, precision)
    assert said == [] and all(x < most for x, most in zip(found, SAME[precision], strict=True))
    assert count_twins(view) == {
        "FastAttention": 18,
        "FastFeedForward": 12,
        "FastResidual": 30,
        "FastSSRU": 0,
        "FastTransformer": 1,
    }
    assert {name: type(module) for name, module in model.named_modules()} == before
    assert [*model.state_dict()] == [*view.state_dict()]
    assert all(a is b for a, b in zip(model.parameters(), view.parameters(), strict=True))
    assert {module.p for module in view.modules() if isinstance(module, Dropout)} == {0.0, 0.3}


class Cosine(MultiHeadAttention):
    def attend(self, q_BHQK: Tensor, k_BHMK: Tensor, v_BHMK: Tensor, mask: Tensor) -> Tensor:
        q, k = (nn.functional.normalize(x, dim=-1) for x in (q_BHQK, k_BHMK))
        return super().attend(q, k, v_BHMK, mask)


class Squared(FeedForward):
    def forward(self, x_BLD: Tensor) -> Tensor:
        return self.outer(self.dropout(self.inner(x_BLD).relu().square()))


@pytest.mark.parametrize("changed", [Cosine, Squared])
def test_a_changed_class_is_computed_as_it_is_written(changed: type) -> None:
    model, said = make(), []
    kind = changed.__mro__[1]
    twins = count_twins(fast(model, precision="fp32"))
    change(model, kind, changed)
    view = fast(model, precision="fp32", say=said.append)
    assert said == [f"{changed.__name__}: no fast twin, so computed as written, slower"]
    assert count_twins(view) == twins | {TWINS[kind].__name__: 0}
    torch.testing.assert_close(view.eval()(IDS, IDS), model.eval()(IDS, IDS))


class Root(nn.Module):
    """A norm of somebody's own."""

    def __init__(self, width: int):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(width))

    def forward(self, x_BLD: Tensor) -> Tensor:
        return x_BLD * torch.rsqrt(x_BLD.square().mean(-1, keepdim=True)) * self.gain


def test_a_norm_of_ones_own_keeps_the_other_twins() -> None:
    model, said = make(norm="pre"), []
    for module in model.modules():
        if isinstance(module, Residual):
            module.norm = Root(64)
    view = fast(model, precision="fp32", say=said.append)
    assert said == ["Residual with Root: no fast twin, so computed as written, slower"]
    assert (count_twins(view)["FastResidual"], count_twins(view)["FastFeedForward"]) == (0, 12)
    view.train()(IDS, IDS).sum().backward()
    assert all(p.grad is not None for p in model.parameters())


@pytest.mark.parametrize("name", ["self_attention.to_key", "feed_forward.dropout"])
def test_hooks_on_a_part_are_called(name: str) -> None:
    model, calls = make(), []
    part = model.encoder[2].get_submodule(name)
    part.register_forward_hook(lambda *given: calls.append(1))
    view = fast(model, precision="bf16").train()
    calls.clear()
    with torch.autocast("cpu", torch.bfloat16):
        view(IDS, IDS)
    assert len(calls) == 1


@PRECISIONS
@pytest.mark.parametrize("written", [lambda q: 2 * q, torch.detach], ids=["result", "gradient"])
def test_changed_code_of_the_model_turns_all_twins_off(
    written: Any, precision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What somebody writes into model/ itself: the class stays, what it computes does not."""
    model, said = make(encoder_layers=1, decoder_layers=1), []
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.3)
    attend = MultiHeadAttention.attend
    monkeypatch.setattr(
        MultiHeadAttention, "attend", lambda self, q, *rest: attend(self, written(q), *rest)
    )
    view = fast(model, precision=precision, say=said.append)
    assert said == ["model/: no fast twin, so computed as written, slower"]
    assert not any(count_twins(view).values())
    torch.testing.assert_close(view.eval()(IDS, IDS), model.eval()(IDS, IDS))


def test_dropout_draws_from_the_views_stream_with_twins_or_without() -> None:
    for changed in (False, True):
        model, state = make(activation="gelu"), KernelState()
        if changed:
            change(model, MultiHeadAttention, Cosine)
        view = fast(model, state, precision="fp32").train()
        found = []
        for key in (1, 1, 2):
            state.dropout.seed(key)
            found.append(view(IDS, IDS))
        assert torch.equal(found[0], found[1]) and not torch.equal(found[0], found[2])


def test_the_modes_of_model_and_view_are_apart() -> None:
    model = make()
    view = fast(model, precision="fp32").train()
    model.eval()
    assert all(module.training for module in view.modules())
    assert not any(module.training for module in model.modules())


def test_a_view_for_translating_steps_as_the_model_does() -> None:
    model = make(norm="pre").eval()
    view = fast(model, precision="fp32")
    with torch.inference_mode():
        torch.testing.assert_close(
            view.step(IDS, view.start(IDS)), model(IDS, IDS), rtol=1e-4, atol=1e-4
        )
