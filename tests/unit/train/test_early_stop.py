"""A training that is asked to stop before its first update makes one and saves itself."""

import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from glassformer.config import Config
from glassformer.train import resume, train
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
