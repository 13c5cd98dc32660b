"""A training that is asked to stop before its first update makes one and saves itself."""

import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from glassformer.config import Config
from glassformer.train import Event, Hooks, resume, train
from glassformer.train.run.divergence import DivergenceDetector
from glassformer.train.run.loop import Loop


def test_a_signal_before_the_first_update(
    tmp_path: Path,
    corpus: list[Path],
    settings: Callable[..., Config],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out, begin = tmp_path / "out", Loop._begin

    def begin_interrupted(loop: Loop) -> None:
        signal.raise_signal(signal.SIGINT)
        begin(loop)

    with monkeypatch.context() as patched:
        patched.setattr(Loop, "_begin", begin_interrupted)
        assert not train(settings(), corpus, out, device="cpu", quiet=True).is_finished
    assert [each.name for each in (out / "run" / "checkpoints").iterdir()]
    assert resume(out, device="cpu").is_finished
    assert "No update is left" not in capsys.readouterr().err
    assert resume(out, device="cpu").is_finished
    assert "No update is left" in capsys.readouterr().err


def test_a_callback_may_end_it_before_the_first_validation(
    tmp_path: Path, corpus: list[Path], settings: Callable[..., Config]
) -> None:
    hooks = Hooks(callback=lambda event: event.kind == "update", name="ends")
    summary = train(settings(), corpus, tmp_path / "m", device="cpu", quiet=True, hooks=hooks)
    assert summary.is_finished and summary.progress.best_step == summary.progress.step == 1
    assert (tmp_path / "m" / "model.safetensors").is_file()


def test_resumed_with_no_update_left_it_has_a_model(
    tmp_path: Path, corpus: list[Path], settings: Callable[..., Config]
) -> None:
    def stop(event: Event) -> None:
        if event.kind == "update":
            signal.raise_signal(signal.SIGINT)

    out, how = tmp_path / "m", {"device": "cpu", "quiet": True, "hooks": Hooks(callback=stop)}
    assert not train(settings(), corpus, out, **how).is_finished
    assert not (out / "model.safetensors").exists()
    changes = ["train.steps=1"]
    assert resume(out, changes=changes, accept_changed_settings=True, **how).is_finished
    assert (out / "model.safetensors").is_file()


def test_without_a_model_worth_keeping_it_says_so(
    tmp_path: Path,
    corpus: list[Path],
    settings: Callable[..., Config],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(DivergenceDetector, "is_blown_up", True)
    hooks = Hooks(callback=lambda event: event.kind == "update", name="ends")
    with pytest.raises(ValueError, match=r"update 1: no model is worth keeping .* try train"):
        train(settings(), corpus, tmp_path / "m", device="cpu", quiet=True, hooks=hooks)
