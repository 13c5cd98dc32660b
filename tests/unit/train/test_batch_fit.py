"""A batch is doubled as long as it fits into memory and an epoch gets faster, once for all."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from glassformer.config import Config, Model
from glassformer.foundation.progress import Reporter
from glassformer.model.files.directory import CONFIG, RUN
from glassformer.train.plan.preparation import prepare_run
from glassformer.train.plan.run_folder import open_run
from glassformer.train.run import batch_fit
from glassformer.train.run.distributed import ALONE
from glassformer.train.run.settle import settle
from glassformer.train.run.setup import Setup
from glassformer.train.run.updates import Updater

START = 32
Measure = Callable[[int], float]  # seconds of an update with so many batch_tokens


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Setup]:
    """A function that settles a training whose updates take what `measure` says."""
    lines = [" ".join(["word"] * (1 + n % 9)) for n in range(400)]
    for lang in ("en", "de"):
        (tmp_path / f"train.{lang}").write_text("\n".join(lines) + "\n", encoding="utf-8")

    def make(measure: Measure, summed: int = 1, name: str = "out") -> Setup:
        def time_updates(updater: Updater, *rest: Any) -> float:
            return measure(updater.train.batch_tokens) * updater.train.gradient_accumulation

        monkeypatch.setattr(batch_fit, "time_updates", time_updates)
        train = {"steps": 4, "batch_tokens": START, "gradient_accumulation": summed}
        config = Config(
            model=Model(d_model=16, d_ff=32, heads=2, encoder_layers=1, decoder_layers=1),
            data={"source_lang": "en", "target_lang": "de"},
            text={"vocabulary": 300},
            train={**train, "fit_batch": True},
        )
        out = tmp_path / name
        if not out.exists():
            open_run(out, config, [tmp_path / "train"], None)
        report = Reporter(quiet=True)
        prepared = prepare_run(out, report)
        return settle(out, prepared, torch.device("cpu"), ALONE, report, 0.0)[0]

    return make


def test_it_grows_while_it_pays(make: Callable[..., Setup], tmp_path: Path) -> None:
    """A constant cost for each update is saved by larger ones, up to 256 tokens."""
    setup = make(lambda tokens: 1 + max(tokens, 256) / 100)
    found = setup.config.train
    assert (found.batch_tokens, found.fit_batch) == (256, False)
    assert Config.load(tmp_path / "out" / RUN / CONFIG) == setup.config
    again = make(lambda tokens: 1 / tokens)  # resumed: nothing is measured again
    assert again.config == setup.config
    assert again.batches.count(0) == setup.batches.count(0)


def test_it_stays_where_nothing_is_gained(make: Callable[..., Setup]) -> None:
    """What padding a larger batch saves, which depends on the machine, is paid for."""
    assert make(lambda tokens: tokens**2 / 100).config.train.batch_tokens == START


def test_memory_ends_it(make: Callable[..., Setup], monkeypatch: pytest.MonkeyPatch) -> None:
    probe = Updater.probe

    def run_out(updater: Updater, batches: Any) -> None:
        probe(updater, batches)
        if updater.train.batch_tokens > 64:
            updater.micro_batching.shrink(batches[0])

    monkeypatch.setattr(Updater, "probe", run_out)
    assert make(lambda tokens: 1.0).config.train.batch_tokens == 64
    monkeypatch.setattr(batch_fit, "has_memory_to_double", lambda: False)
    assert make(lambda tokens: 1.0, name="other").config.train.batch_tokens == START


def test_an_epoch_keeps_some_batches(make: Callable[..., Setup]) -> None:
    setup = make(lambda tokens: 1.0)
    assert batch_fit.LEAST <= setup.batches.count(0) < 3 * batch_fit.LEAST


@pytest.mark.parametrize(("summed", "wanted"), [(4, (128, 1)), (6, (64, 3))])
def test_an_update_of_several_stays_as_large(
    make: Callable[..., Setup], summed: int, wanted: tuple[int, int]
) -> None:
    found = make(lambda tokens: 1.0, summed).config.train
    assert (found.batch_tokens, found.gradient_accumulation) == wanted


def test_free_memory_is_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("resource")
    if not Path("/proc/meminfo").is_file():
        pytest.skip("only Linux says how much memory is free")
    read = Path.read_text
    for free, wanted in ((1 << 40, True), (1 << 10, False)):
        said = f"MemTotal: 1 kB\nMemAvailable: {free} kB\n"
        monkeypatch.setattr(
            Path,
            "read_text",
            lambda path, *how, said=said, **more: (
                said if str(path) == "/proc/meminfo" else read(path, *how, **more)
            ),
        )
        assert batch_fit.has_memory_to_double() is wanted
