"""Memory runs out, for real and by appointment: the update stays the same, or one sentence ends it.

What a processor's allocator says is raised where a real one would raise it; the last tests have the
system refuse memory.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from damage.ledger import Ledger

from glassformer.config import BOS, EOS, PAD, Config, Model, Train
from glassformer.data.batches import Batch
from glassformer.engine import weights
from glassformer.engine.kernels.dropout import Dropout, DropoutStream
from glassformer.foundation.machine.out_of_memory import is_out_of_memory
from glassformer.model.transformer import Transformer
from glassformer.train import resume, train
from glassformer.train.run.micro_batching import MicroBatching
from glassformer.train.run.updates import Updater
from glassformer.train.run.validation import validate
from glassformer.translator import Translator

TABLE = "Memory"
VOCABULARY = 40
REFUSED = (
    "[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: "
    "you tried to allocate 268435456 bytes. Error code 12 (Cannot allocate memory)"
)
LINES = [f"{a} {b} {c}" for a in ("red", "old", "big") for b in ("cat", "dog") for c in "uvwxyz"]


def make_updater(micro_batching: MicroBatching | None = None, **train_settings: Any) -> Updater:
    torch.manual_seed(1)
    shape = Model(
        d_model=16,
        d_ff=24,
        heads=2,
        encoder_layers=2,
        decoder_layers=2,
        dropout=0.3,
        attention_dropout=0.2,
        activation_dropout=0.1,
    )
    network = Transformer(shape, VOCABULARY, VOCABULARY)
    settings = Train(max_grad_norm=None, **train_settings)
    return Updater(network, settings, torch.device("cpu"), "fp32", micro_batching=micro_batching)


def make_batch(seed: int, rows: int = 7) -> Batch:
    random = np.random.default_rng(seed)
    source = random.integers(3, VOCABULARY, (rows, 9))
    target = random.integers(3, VOCABULARY, (rows, 7))
    target[:, 0], target[:, -1], source[:, -1] = BOS, EOS, EOS
    target[0, 3:], source[1, 4:] = (EOS, PAD, PAD, PAD), (EOS, PAD, PAD, PAD, PAD)
    return Batch(source, target, np.arange(rows), number=seed)


def collect(updater: Updater) -> dict[str, torch.Tensor]:
    return {n: p.grad.clone() for n, p in updater.model.named_parameters() if p.grad is not None}


def refuse_above(monkeypatch: pytest.MonkeyPatch, cells: int) -> list[int]:
    """Batches with more cells run out of memory when half of their gradient is there."""
    refused: list[int] = []
    backward = Updater.backward

    def run_out(self: Updater, batch: Batch, targets: int) -> torch.Tensor:
        share = backward(self, batch, targets)
        if batch.cells > cells:
            refused.append(batch.cells)
            raise RuntimeError(REFUSED)
        return share

    monkeypatch.setattr(Updater, "backward", run_out)
    return refused


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError(REFUSED),
        MemoryError(),
        RuntimeError("std::bad_alloc"),
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB"),
        OSError(12, "Cannot allocate memory"),
        ImportError("_rust.abi3.so: failed to map segment from shared object"),
        SystemError("<function _find_and_load at 0x1> returned NULL without setting an exception"),
        SystemError("error return without exception set"),
    ],
)
def test_it_is_recognised(error: Exception) -> None:
    assert is_out_of_memory(error)


def test_other_errors_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*rest: object) -> None:
        raise RuntimeError("mat1 and mat2 shapes cannot be multiplied")

    monkeypatch.setattr(Updater, "backward", fail)
    with pytest.raises(RuntimeError, match="shapes"):
        make_updater().update(1, 1e-3, [make_batch(0)])


@pytest.mark.parametrize("shape", [(7, 5, 3), (4, 2, 3, 3), (5, 1)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
def test_a_row_loses_the_same_values_alone(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    """Two dropouts in turn, as in a network: the second finds the stream where it should be."""
    x, drop = torch.randn(shape).to(dtype), Dropout(0.3, DropoutStream())
    drop.stream.seed(1, 2)
    first, second = drop(x), drop(x.flip(0))
    for start in range(len(x)):
        for stop in range(start + 1, len(x) + 1):
            drop.stream.seed(1, 2, part=(start, len(x)))
            torch.testing.assert_close(drop(x[start:stop]), first[start:stop])
            torch.testing.assert_close(drop(x.flip(0)[start:stop]), second[start:stop])


@pytest.mark.parametrize("cells", [120, 64, 16])
def test_a_batch_in_parts_has_the_same_gradient(cells: int) -> None:
    whole, parts = make_updater(), make_updater(MicroBatching(cells))
    batches = [make_batch(0), make_batch(1)]
    assert all(each.cells <= cells for batch in batches for each in parts.micro_batching.fit(batch))
    one = whole._forward_backward(3, batches, 50)
    two = parts._forward_backward(3, batches, 50)
    assert one.item() == pytest.approx(two.item(), rel=1e-6)
    expected = collect(whole)
    for name, gradient in collect(parts).items():
        torch.testing.assert_close(gradient, expected[name], rtol=1e-4, atol=1e-6, msg=name)


def test_an_update_that_runs_out_is_done_again_in_parts(
    monkeypatch: pytest.MonkeyPatch, ledger: Ledger
) -> None:
    """The second batch fails after the first has left its gradient, and half its own."""
    batches = [make_batch(0, rows=2), make_batch(1)]
    undisturbed = make_updater()
    wanted = undisturbed.update(1, 1e-3, batches)
    refused = refuse_above(monkeypatch, cells=40)
    updater = make_updater()
    found = updater.update(1, 1e-3, batches)
    assert len(refused) == 2, "it fits after two halvings"
    assert updater.micro_batching.most_cells == 16
    assert found.loss == pytest.approx(wanted.loss, rel=1e-6)
    assert found.gradient_norm == pytest.approx(wanted.gradient_norm, rel=1e-5)
    expected = dict(undisturbed.model.named_parameters())
    for name, p in updater.model.named_parameters():
        if not name.endswith("to_key.bias"):  # its gradient is 0: Adam makes steps of what is noise
            torch.testing.assert_close(p, expected[name], rtol=1e-4, atol=1e-5, msg=name)
    refused.clear()
    updater.update(2, 1e-3, batches)
    assert not refused, "it knows now"
    happened = "cut by rows and done again; the same update up to rounding, and it is remembered"
    ledger.note(TABLE, "an update has no room", happened)


def test_a_single_pair_without_room_ends_it_in_one_sentence(
    monkeypatch: pytest.MonkeyPatch, ledger: Ledger
) -> None:
    refuse_above(monkeypatch, cells=10)
    with pytest.raises(ValueError, match=r"a single pair of 9 tokens: set data\.max_length lower"):
        make_updater().update(1, 1e-3, [make_batch(0)])
    lost = "the work since the last checkpoint"
    ledger.note(TABLE, "a single pair has no room", "one sentence that says what to set", lost)


def test_the_probe_has_room_for_what_the_optimizer_will_remember(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    updater, made = make_updater(), []
    imitate = Updater._imitate_optimizer
    monkeypatch.setattr(
        Updater, "_imitate_optimizer", lambda self: made.extend(imitate(self)) or made
    )
    updater.probe([make_batch(0)])
    assert sum(each.numel() for each in made) == 2 * sum(
        p.numel() for p in updater.model.parameters()
    )
    assert all(p.grad is None for p in updater.model.parameters())
    updater.update(1, 1e-3, [make_batch(0)])
    made.clear()
    updater.probe([make_batch(0)])
    assert not made, "it is there already"


@pytest.fixture
def corpus(tmp_path: Path) -> list[Path]:
    for side, lines in (("en", LINES), ("xx", [line[::-1] for line in LINES])):
        (tmp_path / f"a.{side}").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return [tmp_path / "a.en", tmp_path / "a.xx"]


def make_config(**changes: Any) -> Config:
    return Config.read(
        {
            "model": {
                "d_model": 16,
                "d_ff": 32,
                "heads": 2,
                "encoder_layers": 1,
                "decoder_layers": 1,
            },
            "text": {"vocabulary": 320},
            "train": {
                "steps": 20,
                "batch_tokens": 128,
                "validate_every": 20,
                "checkpoint_every": 10,
                "precision": "fp32",
                "learning_rate": 0.003,
                **changes,
            },
            "decode": {"max_extra": 5},
        }
    )


def read_losses(out: Path) -> list[float]:
    lines = (out / "run/metrics.jsonl").read_text(encoding="utf-8").splitlines()
    return [told["loss"] for line in lines if "loss" in (told := json.loads(line))]


def test_a_training_goes_on_with_less_and_remembers(
    tmp_path: Path,
    corpus: list[Path],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    ledger: Ledger,
) -> None:
    train(make_config(), corpus, tmp_path / "whole", quiet=True)
    capsys.readouterr()
    refuse_above(monkeypatch, cells=100)
    out = tmp_path / "parts"
    train(make_config(), corpus, out)
    assert capsys.readouterr().err.count("Not enough memory for a whole batch") == 1
    assert read_losses(out) == pytest.approx(read_losses(tmp_path / "whole"), rel=1e-4)
    last = json.loads((out / "run/metrics.jsonl").read_text(encoding="utf-8").splitlines()[0])
    kept = json.loads((out / "run/checkpoints/00000020/progress.json").read_text(encoding="utf-8"))
    assert 0 < last["most_cells"] == kept["most_cells"] <= 100
    (out / "run/config.toml").write_text(
        (out / "run/config.toml").read_text(encoding="utf-8").replace("steps = 20", "steps = 30"),
        encoding="utf-8",
    )
    monkeypatch.undo()  # the first limit would raise before this one counts
    refused = refuse_above(monkeypatch, cells=kept["most_cells"])
    resume(out, quiet=True, accept_changed_settings=True)
    assert not refused
    ledger.note(TABLE, "no room for whole batches in a training", "told once; the same losses")


def test_validation_takes_less_at_a_time(
    tmp_path: Path, corpus: list[Path], monkeypatch: pytest.MonkeyPatch, ledger: Ledger
) -> None:
    train(make_config(), corpus, tmp_path / "out", quiet=True)
    translator = Translator.load(tmp_path / "out")
    how: dict[str, Any] = {"device": "cpu", "precision": "fp32", "turn": 0}
    parts = (translator.model, translator.config, translator.tokenizers, (LINES, LINES))
    expected = validate(*parts, **how)
    refused = []

    def limit(name: str, module: Any) -> None:
        read = getattr(module, name)

        def run_out(self: Any, source_BS: torch.Tensor, *rest: Any) -> Any:
            if source_BS.numel() > 100:
                refused.append(source_BS.shape)
                raise RuntimeError(REFUSED)
            return read(self, source_BS, *rest)

        monkeypatch.setattr(module, name, run_out)

    limit("start", Transformer)
    monkeypatch.setattr(weights, "load_library", lambda name: None)  # PyTorch validates
    found = validate(*parts, **how)
    assert refused
    assert found.scores == expected.scores and found.loss == pytest.approx(expected.loss, rel=1e-6)
    ledger.note(TABLE, "a validation has no room", "less at a time; the same scores")


@pytest.fixture
def limited(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """The command line in a process that gets so many MiB of address space and not a byte more."""
    resource = pytest.importorskip("resource", reason="limits are set the POSIX way")

    def run(mebibytes: int, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        most = mebibytes << 20
        return subprocess.run(
            [sys.executable, "-m", "glassformer", *map(str, arguments)],
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (most, most)),
            capture_output=True,
            encoding="utf-8",
            check=False,
            timeout=600,
        )

    return run


@pytest.mark.slow
@pytest.mark.parametrize("limit", [600, 700, 800, 1024, 2048])
def test_with_little_memory_it_works_or_says_so(
    tmp_path: Path,
    corpus: list[Path],
    limited: Callable[..., Any],
    limit: int,
    ledger: Ledger,
) -> None:
    """Batches of 16,384 tokens take some 2.5 GiB, Python and torch themselves 0.7."""
    long = [" ".join(LINES[n:] + LINES[:n]) for n in range(len(LINES))] * 20
    for path in corpus:
        path.write_text("\n".join(long) + "\n", encoding="utf-8")
    out = tmp_path / "out"
    changes = {
        "text.vocabulary": 320,
        "train.batch_tokens": 16384,
        "train.steps": 1,
        "train.precision": "fp32",
        "decode.max_extra": 5,
        "train.watch": 0,
    }
    settings = [f"--set={name}={value}" for name, value in changes.items()]
    valid = tmp_path / "valid.tsv"
    valid.write_text("red cat\ttac der\nold dog\tgod dlo\n", encoding="utf-8")
    data = ["--data", corpus[0], "--data", corpus[1], "--valid", valid]
    done = limited(limit, "train", "tiny", *data, "--out", out, *settings)
    if done.returncode == 0:
        assert (out / "model.safetensors").is_file()
    else:
        assert done.returncode == 2, done.stderr
        last = done.stderr.strip().splitlines()[-1]
        assert last.startswith("glassformer: ") and "memory" in last and "Traceback" not in last
    if limit >= 2048:
        assert done.returncode == 0, done.stderr
        assert "Not enough memory for a whole batch" in done.stderr
    happened = "trained with smaller batches, or ended with one sentence, exit 2"
    detail = f"{limit} MiB {'enough' if done.returncode == 0 else 'too little'}"
    fault = "a limit on memory (ulimit -v), batches that take 2.5 GiB"
    ledger.note(TABLE, fault, happened, detail=detail)


@pytest.mark.thorough
def test_what_is_not_there_is_refused_and_kills_nobody(ledger: Ledger) -> None:
    """As in a control group of 1 GiB: its limit becomes this process's own."""
    if sys.platform != "linux":
        pytest.skip("limits of this kind are Linux's")
    program = (
        "import torch; from glassformer.train.run import process\n"
        "from glassformer.foundation.machine.out_of_memory import *\n"
        "process.measure_memory = lambda: 2.0\n"
        "with process.limit_memory(torch.device('cpu'), 2):\n"
        "    kept = torch.ones(100 << 20, dtype=torch.uint8)\n"
        "    try: torch.ones(1 << 30, dtype=torch.uint8)\n"
        "    except RuntimeError as error: assert is_out_of_memory(error), error\n"
        "    else: raise SystemExit('there was more than the limit')\n"
        "torch.ones(1 << 30, dtype=torch.uint8)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    ledger.note(TABLE, "more asked for than a control group has", "refused, not killed")
