"""What is decided before a training: once, then written down."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from glassformer.config import Config, Model
from glassformer.foundation.disk import write_json
from glassformer.foundation.progress import Reporter
from glassformer.model.files.directory import CONFIG, RECORD, RUN
from glassformer.train import train
from glassformer.train.plan.preparation import prepare_run
from glassformer.train.plan.run_folder import open_run, read_record
from glassformer.train.run import settle as settling
from glassformer.train.run.distributed import ALONE
from glassformer.train.run.resuming import look_before
from glassformer.train.run.settle import choose_padding, settle
from glassformer.train.run.setup import Setup

RELU, CPU = Model(d_model=16, d_ff=32, heads=2), torch.device("cpu")


@pytest.mark.parametrize("has_tiles", [True, False])
def test_where_any_shape_will_do(monkeypatch: pytest.MonkeyPatch, has_tiles: bool) -> None:
    monkeypatch.setattr(settling, "has_tiles", lambda: has_tiles)
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


def set_up(run: Path) -> Setup:
    report = Reporter(quiet=True)
    return settle(run, prepare_run(run, report), CPU, ALONE, report, 0.0)[0]


@pytest.mark.parametrize("wanted", [1, 4])
def test_the_choice_is_kept(monkeypatch: pytest.MonkeyPatch, run: Path, wanted: int) -> None:
    """Resumed where the kernels are others, a training has the same batches."""
    monkeypatch.setattr("glassformer.train.run.settle.choose_padding", lambda *_: wanted)
    first = set_up(run)
    assert f"pad_to = {wanted}\n" in (run / RUN / CONFIG).read_text(encoding="utf-8")
    monkeypatch.setattr("glassformer.train.run.settle.choose_padding", lambda *_: 7)
    again = set_up(run)
    for index in range(first.batches.count(0)):
        one, other = (setup.batches.batch(0, index) for setup in (first, again))
        assert one.source_BS.tolist() == other.source_BS.tolist()
        assert one.source_BS.shape[1] % wanted == 0


@pytest.mark.parametrize("network", ["transformer", "encoder", "decoder"])
def test_padded_lengths_fit_into_the_positions(tmp_path: Path, network: str) -> None:
    lines = [" ".join(["word"] * (1 + n)) for n in range(40)]
    data = [tmp_path / name for name in ("a.en", "a.de")][: 1 + (network == "transformer")]
    for path in data:
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    shape = {"d_model": 16, "d_ff": 32, "heads": 2, "positions": {"max_positions": 31}}
    how = {"steps": 1, "pad_to": 4, "batch_tokens": 64}
    raw = {"model": {"network": network, **shape}, "text": {"vocabulary": 300}, "train": how}
    assert train(Config.read(raw), data, tmp_path / "m", valid=data, quiet=True).is_finished


def test_settings_are_written_once(run: Path) -> None:
    """Nothing is written before all is decided, and a resumed training decides nothing."""
    path = run / RUN / CONFIG
    prepare_run(run, Reporter(quiet=True))
    assert not path.exists()
    setup = set_up(run)
    written = path.stat().st_ino  # a file that is written again is another one
    assert Config.load(path) == setup.config and setup.config.train.pad_to
    assert set_up(run).config == setup.config and path.stat().st_ino == written


def test_settings_change_where_they_are_kept(run: Path) -> None:
    """In run.json before all is decided, and in config.toml from then on."""
    for decided in (False, True):
        look_before(run, Reporter(quiet=True), ["train.keep=3" if decided else "train.seed=7"])
        assert (run / RUN / CONFIG).exists() == decided
        config = set_up(run).config
        assert (config.train.seed, config.train.keep) == (7, 3 if decided else 1)


def test_a_run_that_an_earlier_version_began_goes_on(run: Path) -> None:
    """It had its settings in config.toml from the beginning."""
    record = read_record(run)
    config = Config.read(record.pop("settings"))
    write_json(run / RUN / RECORD, record)
    (run / RUN / CONFIG).write_text(config.to_toml(), encoding="utf-8")
    assert set_up(run).config.train.batch_tokens == 64
    assert Config.load(run / RUN / CONFIG).train.pad_to
