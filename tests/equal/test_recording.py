"""Looking changes nothing: the recorded pass equals the fast one, for everybody at once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest
import torch
from torch import Tensor

from glassformer.foundation.tap import Trace, Watchable
from glassformer.foundation.tap import record as watch
from glassformer.model.transformer import Transformer

Batch = tuple[Tensor, Tensor]
Check = Callable[..., None]

pytestmark = pytest.mark.usefixtures("no_gradients")


@pytest.fixture
def no_gradients() -> Iterator[None]:
    with torch.inference_mode():
        yield


def test_recorded_equals_fast(network: Transformer, batch: Batch, equal: Check) -> None:
    with watch(network) as (view, trace):
        equal(view(*batch), network(*batch))
    equal(trace["logits"][0], network(*batch))


def test_recorded_steps_equal_fast_steps(network: Transformer, batch: Batch, equal: Check) -> None:
    source_BS, target_BT = batch
    with watch(network) as (view, trace):
        watched, plain = view.start(source_BS), network.start(source_BS)
        for tokens_RQ in target_BT.split(3, dim=1):
            equal(view.step(tokens_RQ, watched), network.step(tokens_RQ, plain))
    assert len(trace["logits"]) == 3


def test_recording_in_training_is_in_eval_mode(
    network: Transformer, batch: Batch, equal: Check
) -> None:
    expected = network(*batch)
    network.train()
    with watch(network) as (view, _):
        equal(view(*batch), expected)
    assert all(module.training for module in network.modules())
    assert not torch.equal(network(*batch), network(*batch)), "its own dropout stays on"


@pytest.mark.parametrize("settings", ["post", "pre", "local", "strided"], indirect=True)
def test_two_threads(network: Transformer, batch: Batch) -> None:
    """One records, edits and all; the other translates: bit for bit as if alone."""
    expected = network(*batch)
    wrong: list[int] = []
    recording, done = threading.Event(), threading.Event()

    def look() -> None:
        with torch.inference_mode():
            while not done.is_set():
                with watch(network, edit={"memory": torch.zeros_like}) as (view, _):
                    view(*batch)
                    recording.set()
                    view(*batch)

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        assert recording.wait(30)
        wrong += [i for i in range(100) if not torch.equal(network(*batch), expected)]
    finally:
        done.set()
        watcher.join(30)
    assert not wrong


def test_recordings_nest(network: Transformer, batch: Batch) -> None:
    """Each sees its own run and its own edits, whether it began at the model or at a view."""
    zero = {"memory": torch.zeros_like}
    with watch(network) as (outer, outer_trace):
        expected = outer(*batch)
        with (
            watch(network, edit=zero) as (inner, inner_trace),
            watch(outer, edit=zero) as (of_view, of_view_trace),
        ):
            assert torch.equal(inner(*batch), of_view(*batch))
            assert torch.equal(outer(*batch), expected)
    assert not torch.equal(inner_trace["logits"][0], expected)
    assert torch.equal(inner_trace["logits"][0], of_view_trace["logits"][0])
    assert [len(t["logits"]) for t in (outer_trace, inner_trace, of_view_trace)] == [2, 1, 1]
    assert all(m.recorder is None for m in network.modules() if isinstance(m, Watchable))


def run_edited(network: Transformer, batch: Batch, name: str, edit: object) -> Trace:
    with watch(network, edit={name: edit}) as (view, trace):
        view(*batch)
    return trace


def test_an_edit_without_change_changes_no_bit(network: Transformer, batch: Batch) -> None:
    """Of each tensor by itself; what is edited is seen, so that a wrong place shows at once."""
    with watch(network) as (view, plain):
        view(*batch)
    met: list[str] = []

    def note(name: str) -> Callable[[Tensor], Tensor]:
        return lambda tensor: met.append(name) or tensor.clone()

    with watch(network, edit={name: note(name) for name in plain}) as (view, edited):
        view(*batch)
    assert (
        list(dict.fromkeys(met)) == list(edited) == list(plain)
    )  # in a recurrence, at each position
    wrong = [name for name in plain if not torch.equal(edited[name][0], plain[name][0])]
    assert not wrong


def test_an_edit_reaches_what_comes_after_and_nothing_before(
    network: Transformer, batch: Batch
) -> None:
    with watch(network) as (view, plain):
        view(*batch)
    names = list(plain)  # in the order of computation
    name = "decoder.1.cross_attention.weights"
    edited = run_edited(network, batch, name, lambda weights: weights.roll(1, -1))
    changed = [key for key in names if not torch.equal(edited[key][0], plain[key][0])]
    after = set(names[names.index(name) :])
    # Layer 2 asks memory for keys and values, which layer 1 did not touch.
    blind = {f"decoder.2.cross_attention.{kind}" for kind in ("key", "value", "mask")}
    blind |= {f"decoder.2.self_attention.{kind}" for kind in ("mask", "pattern")}
    assert set(changed) == after - blind


def test_an_edit_equals_the_same_change_of_the_weights(
    network: Transformer, batch: Batch, equal: Check
) -> None:
    """Silencing head 1 is the same as clearing its columns of W_O."""

    def silence(heads_BHQK: Tensor) -> Tensor:
        return heads_BHQK.index_fill(1, torch.tensor(1), 0.0)

    edited = run_edited(network, batch, "encoder.0.self_attention.context", silence)
    attention = network.encoder[0].self_attention
    width = attention.to_output.in_features // attention.heads
    attention.to_output.weight[:, width : 2 * width] = 0.0
    equal(edited["logits"][0], network(*batch))
