"""The seam, on a network small enough to see through."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from glassformer.foundation.tap import Watchable, each_position, tap
from glassformer.foundation.tap import record as watch


class Half(Watchable):
    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(0.5))
        self.dropout = nn.Dropout(0.9)

    def forward(self, x: Tensor) -> Tensor:
        return self.dropout(tap(self, "half", x * self.scale))


class Net(Watchable):
    """Two halves in a list, the second also under a name of its own; and one window at the top."""

    def __init__(self) -> None:
        super().__init__()
        self.halves = nn.ModuleList([Half(), Half()])
        self.again = self.halves[1]
        self.register_buffer("shift", torch.tensor(1.0))

    def forward(self, x: Tensor) -> Tensor:
        for half in (*self.halves, self.again):
            x = half(x)
        return tap(self, "out", x + self.shift)


@pytest.fixture
def net() -> Net:
    return Net().eval()


def numbers(values: list[Tensor]) -> list[float]:
    return [value.item() for value in values]


def test_names_are_paths_and_calls_are_counted(net: Net) -> None:
    """A module that is there twice has its first name, and a value for each call."""
    with watch(net) as (view, trace):
        assert view(torch.tensor(8.0)).item() == 2
    assert {name: numbers(values) for name, values in trace.items()} == {
        "halves.0.half": [4],
        "halves.1.half": [2, 1],
        "out": [2],
    }


def test_outside_a_recording_nothing_is_seen(net: Net) -> None:
    with watch(net) as (_, trace):
        net(torch.tensor(8.0))
    assert not trace
    x = torch.tensor(8.0)
    assert tap(net, "out", x) is x


def test_a_view_has_the_same_parameters_and_another_mode(net: Net) -> None:
    net.train()
    with watch(net) as (view, _):
        assert not any(module.training for module in view.modules())
        for own, seen in zip(net.parameters(), view.parameters(), strict=True):
            assert own is seen
        assert view.shift is net.shift
        assert view.again is view.halves[1], "what is shared stays shared"
        assert not set(view.modules()) & set(net.modules())
    assert all(module.training for module in net.modules())


def test_a_view_sees_what_training_does_meanwhile(net: Net) -> None:
    with watch(net) as (view, trace):
        with torch.no_grad():
            net.halves[0].scale.fill_(2.0)
        view(torch.tensor(1.0))
    assert numbers(trace["halves.0.half"]) == [2.0]


def test_keep_chooses_by_name(net: Net) -> None:
    with watch(net, keep=lambda name: name.endswith("1.half")) as (view, trace):
        view(torch.tensor(8.0))
    assert list(trace) == ["halves.1.half"]


def test_an_edit_takes_the_values_place_and_is_what_is_kept(net: Net) -> None:
    with watch(net, edit={"halves.0.half": lambda x: x + 100}) as (view, trace):
        assert view(torch.tensor(8.0)).item() == 27
    assert numbers(trace["halves.0.half"]) == [104]
    assert net(torch.tensor(8.0)).item() == 2


def test_edits_work_where_nothing_is_kept(net: Net) -> None:
    with watch(net, keep=lambda name: False, edit={"out": torch.neg}) as (view, trace):
        assert view(torch.tensor(8.0)).item() == -2
    assert not trace


def test_what_was_recorded_stays_as_it_was(net: Net) -> None:
    """A copy, without a history of gradients; the value itself keeps its own."""
    with watch(net) as (view, trace):
        out = view(torch.tensor(8.0))
        assert out.requires_grad
        out.detach().zero_()
    assert numbers(trace["out"]) == [2] and not trace["out"][0].requires_grad


def test_gradients_flow_through_a_view(net: Net) -> None:
    with watch(net) as (view, _):
        view(torch.tensor(8.0)).backward()
    assert net.halves[0].scale.grad is not None
    assert net.halves[0].scale.grad.item() == 2.0


class Running(Watchable):
    """A running sum over the positions, forwards or backwards."""

    def forward(self, x_BLD: Tensor, order: range) -> Tensor:
        total = torch.zeros_like(x_BLD[:, :1])
        for position in each_position(self, order):
            for _ in each_position(self, range(1)):  # a recurrence inside: the same position
                total = tap(self, "total", total + x_BLD[:, position, None])
        return total


@pytest.mark.parametrize(("order", "sums"), [(range(3), [1, 3, 6]), (range(3)[::-1], [6, 5, 3])])
def test_what_passes_position_by_position_is_joined(order: range, sums: list[int]) -> None:
    """In the order of the sentence, whatever the order of reading; outside, nothing changes."""
    net, x_BLD = Running(), torch.tensor([[[1.0], [2], [3]]])
    with watch(net) as (view, trace):
        assert view(x_BLD, order).item() == net(x_BLD, order).item() == 6
        view(x_BLD, order)
    assert [values.flatten().tolist() for values in trace["total"]] == [sums, sums]


def test_an_edit_of_one_position_of_a_recurrence() -> None:
    """It is given as many rows as there are positions; what comes after it follows from it."""

    def edit(x_BLD: Tensor) -> Tensor:
        assert x_BLD.shape == (1, 3, 1)
        changed = x_BLD.clone()
        changed[:, 1] = 10
        return changed

    with watch(Running(), edit={"total": edit}) as (view, trace):
        assert view(torch.tensor([[[1.0], [2], [3]]]), range(3)).item() == 13
    assert trace["total"][0].flatten().tolist() == [1, 10, 13]
