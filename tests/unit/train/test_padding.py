"""What lengths in a batch are padded to: chosen once for a training, then written down."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from glassformer.config import Config, Model
from glassformer.directory import CONFIG
from glassformer.train import padding
from glassformer.train.distributed import ALONE
from glassformer.train.log import Reporter
from glassformer.train.loop import Loop
from glassformer.train.padding import choose_padding
from glassformer.train.preparation import RUN, open_run, prepare_run

RELU, CPU = Model(d_model=16, d_ff=32, heads=2), torch.device("cpu")


@pytest.mark.parametrize("has_tiles", [True, False])
def test_where_any_shape_will_do(monkeypatch: pytest.MonkeyPatch, has_tiles: bool) -> None:
    monkeypatch.setattr(padding, "has_tiles", lambda: has_tiles)
    monkeypatch.setattr(torch.backends.mkl, "is_available", lambda: has_tiles)
    assert choose_padding(RELU, CPU, "bf16") == (1 if has_tiles else 4)
    assert choose_padding(RELU, CPU, "fp32") == (1 if has_tiles else 4)
    assert choose_padding(RELU, torch.device("cuda"), "bf16") == 4
    gelu = RELU.model_copy(update={"activation": "gelu"})
    assert choose_padding(gelu, CPU, "bf16") == 4  # its feed-forward is not in C


@pytest.fixture
def run(tmp_path: Path) -> Path:
    lines = [" ".join(["word"] * (1 + n % 9)) for n in range(60)]
    for lang in ("en", "de"):
        (tmp_path / f"train.{lang}").write_text("\n".join(lines) + "\n", encoding="utf-8")
    config = Config(
        model=RELU,
        data={"source_lang": "en", "target_lang": "de"},
        text={"vocabulary": 300},
        train={"steps": 4, "batch_tokens": 64},
    )
    open_run(tmp_path / "out", config, [tmp_path / "train"], None)
    return tmp_path / "out"


def open_loop(run: Path) -> Loop:
    report = Reporter(quiet=True)
    return Loop(run, prepare_run(run, report), report, "cpu", ALONE)


@pytest.mark.parametrize("wanted", [1, 4])
def test_the_choice_is_kept(monkeypatch: pytest.MonkeyPatch, run: Path, wanted: int) -> None:
    """Resumed where the kernels are others, a training has the same batches."""
    monkeypatch.setattr("glassformer.train.padding.choose_padding", lambda *_: wanted)
    first = open_loop(run)
    assert f"pad_to = {wanted}\n" in (run / RUN / CONFIG).read_text(encoding="utf-8")
    monkeypatch.setattr("glassformer.train.padding.choose_padding", lambda *_: 7)
    again = open_loop(run)
    for index in range(first.batches.count(0)):
        one, other = (loop.batches.batch(0, index) for loop in (first, again))
        assert one.source_BS.tolist() == other.source_BS.tolist()
        assert one.source_BS.shape[1] % wanted == 0
