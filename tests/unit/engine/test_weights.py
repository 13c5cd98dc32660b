"""Which engine computes: the one in C where it can, else PyTorch, else nobody, in one sentence."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from glassformer.config import Model, Positions
from glassformer.engine import fingerprint, weights
from glassformer.engine.native_engine import NativeEngine
from glassformer.engine.native_model import KNOWN, explain_settings
from glassformer.engine.torch_engine import TorchEngine
from glassformer.foundation.shared_library import load_library
from glassformer.translator import Translator

SENTENCE = "The cat is on the mat."


@pytest.fixture(autouse=True)
def nothing_is_said_yet() -> Iterator[None]:
    said = weights.say_once, fingerprint.is_model_unchanged
    for each in said:
        each.cache_clear()
    yield
    for each in said:
        each.cache_clear()


def load(**how: Any) -> Translator:
    return Translator.load("demo", device="cpu", **how)


@pytest.mark.skipif(load_library("engine") is None, reason="no library here")
@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_on_a_processor_it_is_c(precision: str) -> None:
    translator = load(precision=precision)
    assert isinstance(translator.weights.get_engine(precision), NativeEngine)
    assert translator.precision == precision


def test_without_a_library_it_is_pytorch(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    expected = load(precision="fp32").translate(SENTENCE)
    monkeypatch.setattr(weights, "load_library", lambda name: None)
    monkeypatch.setattr(weights, "explain_library", lambda name: "no C compiler was found")
    for precision in ("int8", "fp32"):
        translator = load(precision=precision)
        assert translator.translate(SENTENCE) == expected and translator.precision == "fp32"
        assert isinstance(translator.weights.get_engine("fp32"), TorchEngine)
    assert capsys.readouterr().err.count("no C compiler was found): PyTorch computes") == 1
    monkeypatch.setattr(weights, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"no C compiler was found\): pip install .*train"):
        load().translate(SENTENCE)


def test_whoever_changes_the_model_gets_it_as_changed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(weights, "load_library", lambda name: object())
    monkeypatch.setattr(fingerprint, "FINGERPRINT", "another")
    for _ in range(2):
        assert isinstance(load().weights.get_engine("fp32"), TorchEngine)
    assert capsys.readouterr().err.count("the code in model/ was changed") == 1


class Rotary(Positions):
    base: float = 10_000.0


class Newer(Model):
    """Settings that the engine in C has never heard of."""

    sharpness: float = 1.0
    positions: Positions = Rotary()


UNKNOWN = {
    "network=rnn": Model(network="rnn"),
    "positions.layout=rotary": Model(positions=Positions(layout="rotary")),
    "sharpness=2.0": Newer(sharpness=2),
    "positions.base=5.0": Newer(positions=Rotary(base=5)),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_unknown_settings_are_not_for_c(name: str) -> None:
    assert explain_settings(UNKNOWN[name]) == f"the engine in C does not compute {name}"


@pytest.mark.parametrize("settings", [Model(), Newer(), Newer(d_ff=7, activation="gelu")])
def test_known_settings_are_for_c(settings: Model) -> None:
    assert explain_settings(settings) == ""


@pytest.mark.parametrize("name", UNKNOWN)
def test_unknown_settings_are_variations(name: str) -> None:
    """What knows the paper's network alone, such as Marian, refuses them."""
    assert name in UNKNOWN[name].list_variations()


def test_an_unknown_activation_is_a_variation() -> None:
    settings = Model().model_copy(update={"activation": "squared_relu"})
    assert settings.list_variations() == ["activation=squared_relu"]
    assert Newer(d_ff=7, activation="gelu", head_width=3).list_variations() == []


def test_every_setting_is_known_by_name() -> None:
    """Whoever adds one that the engine in C computes adds it to `KNOWN`, and nothing else."""
    for name in KNOWN:
        found: Any = Model()
        for part in name.split("."):
            assert part in type(found).model_fields
            found = getattr(found, part)


def test_a_new_setting_falls_back_to_pytorch(capsys: pytest.CaptureFixture[str]) -> None:
    read = load(precision="fp32")
    settings = Newer(**read.config.model.model_dump(exclude={"positions"}), sharpness=2)
    config = read.config.model_copy(update={"model": settings})
    made = Translator(config, read.tokenizers, read.model, device="cpu")
    assert made.translate(SENTENCE) == read.translate(SENTENCE)
    assert isinstance(made.weights.get_engine("fp32"), TorchEngine)
    assert "does not compute sharpness=2.0: PyTorch computes, slower" in capsys.readouterr().err
    with pytest.raises(ValueError, match="precision=int8: the engine in C does not compute sharp"):
        Translator(config, read.tokenizers, read.model, precision="int8", device="cpu")
    with pytest.raises(ValueError, match="does not compute sharpness"):
        NativeEngine.open(settings, read.weights._store())


def test_a_part_of_another_kind_is_not_for_c(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    class Doubled(torch.nn.Linear):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return 2 * super().forward(x)

    monkeypatch.setattr(weights, "load_library", lambda name: object())
    read = load(precision="fp32")
    for is_native in (True, False):
        made = Translator(read.config, read.tokenizers, read.model, device="cpu")
        assert made.weights.is_native == is_native
        outer = read.model.encoder[0].feed_forward.outer
        other = Doubled(outer.in_features, outer.out_features)
        other.load_state_dict(outer.state_dict())
        read.model.encoder[0].feed_forward.outer = other


@pytest.mark.parametrize(
    ("how", "sentences", "wanted"),
    [
        ({}, 0, 1),
        ({}, 1, 1),
        ({}, 100, 3),
        ({"threads": 2}, 100, 2),
        ({"threads": 64}, 100, 4),  # no more than cores
        ({"threads": 4}, 2, 2),
        ({"workers": 5}, 100, 5),
        ({"workers": 5}, 3, 3),
        ({"workers": 2, "threads": 4}, 100, 8),
    ],
)
@pytest.mark.skipif(load_library("engine") is None, reason="no library here")
def test_a_worker_is_a_thread(
    monkeypatch: pytest.MonkeyPatch, how: dict[str, int], sentences: int, wanted: int
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.setattr(weights, "count_cores", lambda: 4)
    assert load(**how).weights.count_workers(sentences) == wanted
