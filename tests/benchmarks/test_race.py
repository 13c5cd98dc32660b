"""The race: what is run, kept and told; and a rival that learns."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks import race
from benchmarks.__main__ import main
from benchmarks.engines import learn_marian
from benchmarks.engines.learning import read_settings, read_text, write_result
from benchmarks.installing import ENGINES
from benchmarks.race import Heat, RaceCorpus
from glassformer.foundation.disk import write_text


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    for part in ("train", "dev", "test"):
        write_text(tmp_path / "data" / f"{part}.az", f"bir iki {part}\n" * 4)
        write_text(tmp_path / "data" / f"{part}.en", f"one two {part} now\n" * 4)
    return tmp_path / "data"


def test_each_is_run_once_and_a_failure_is_said(
    corpus: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    made = list[tuple[str, float, int]]()

    def learn(heat: Heat, work: Path | None = None) -> Any:
        made.append((heat.system, heat.minutes, heat.seed))
        if heat.system == "joeynmt":
            raise ValueError("joeynmt could not be installed: no network")
        heat.folder.mkdir(parents=True)
        right = heat.system == "night"
        return {
            "cpu": 30.0 * heat.minutes,
            "said": ["one two test now" if right else "one two"] * 4,
        }

    monkeypatch.setattr(race, "learn_here", learn)
    monkeypatch.setattr(race, "learn_elsewhere", learn)
    given = ["race", "--corpus", "mine", str(corpus), "az", "en", "--minutes", "1", "2"]
    given += ["--systems", "auto", "night", "joeynmt", "--seeds", "1", "2"]
    out = tmp_path / "runs"
    assert main([*given, "--out", str(out)]) == 0
    assert len(made) == 9  # 2 systems, 2 times, 2 seeds; the third failed at once
    told = capsys.readouterr().out
    assert "left out: joeynmt: joeynmt could not be installed" in told
    found = json.loads((out / "race.json").read_text(encoding="utf-8"))["results"]
    best = [each["BLEU"] for each in found if each["system"] == "night"]
    assert len(best) == 4 and min(best) == pytest.approx(100)
    kept = out / "mine" / "2-minutes" / "night" / "seed-2" / "said.en"
    assert kept.read_text(encoding="utf-8") == "one two test now\n" * 4
    assert "| night | 100.0 ± 0.0 / 100.0 ± 0.0; 0.5 |" in told
    made.clear()
    assert main([*given, "--out", str(out)]) == 0
    assert {system for system, *_ in made} == {"joeynmt"}


def test_a_corpus_without_a_part_is_refused(corpus: Path) -> None:
    found = RaceCorpus("mine", corpus, ("az", "en"))
    assert [path.name for path in found.find("valid")] == ["dev.az", "dev.en"]
    (corpus / "test.en").unlink()
    with pytest.raises(ValueError, match="no test in az and en"):
        found.find("test")


@pytest.mark.parametrize("system", race.ENGINES)
def test_another_toolkit_gets_its_text_and_tokens(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, system: str
) -> None:
    """A stand-in for the toolkit says the test's source again, in tokens or in words."""
    assert system in ENGINES
    monkeypatch.setattr(race, "install", lambda name, work: Path(sys.executable))

    def echo(command: list[str], **_: Any) -> None:
        module, folder, seconds = command[2], Path(command[3]), float(command[4])
        assert (
            Path(race.__file__).parent / f"{module.partition('.')[2].replace('.', '/')}.py"
        ).is_file()
        task, chosen = read_settings(folder)
        assert task["model"]["dropout"] == race.DROPOUT and chosen["seed"] == 7
        parts = [read_text(chosen, part) for part in ("train", "valid", "test")]
        assert [[lines[0] for lines in sides] for sides in parts] == [
            ["bir iki train", "one two train now"],
            ["bir iki dev", "one two dev now"],
            ["bir iki test"],
        ]
        tokens = (folder / "test.source").read_text(encoding="utf-8").splitlines()
        said = parts[2][0] if system in race.OWN_TOKENS else tokens
        write_result(folder / f"{system}.jsonl", seconds, 3, 50, said)

    monkeypatch.setattr(race, "subprocess", SimpleNamespace(run=echo))
    heat = Heat(RaceCorpus("mine", corpus, ("az", "en")), 0.5, system, 7, tmp_path / "runs")
    found = race.learn_elsewhere(heat, tmp_path / "work")
    assert found == {"cpu": 30.0, "updates": 3, "said": ["bir iki test"] * 4}


def start_python(code: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", code]
    return subprocess.Popen(command, stderr=subprocess.PIPE, encoding="utf-8")


@pytest.mark.skipif(os.name == "nt", reason="there is no ps")
def test_marian_is_stopped_by_the_seconds_that_it_used() -> None:
    """A stand-in for its trainer computes until SIGTERM, and saves before it ends."""
    told = {"00:00:07": 7, "1:02:03": 3723, "2-01:00:00": 176400, " 1:02.50\n": 62.5}
    assert {text: learn_marian.read_seconds(text) for text in told} == told
    code = """
import signal, sys, time
from itertools import count
ends = []
signal.signal(signal.SIGTERM, lambda *_: ends.append(1))
say = lambda line: print("[2026-01-01 00:00:00]", line, file=sys.stderr, flush=True)
say("Training started")
for update in count(1):
    begun = time.process_time()
    while time.process_time() - begun < 0.1:
        pass
    say(f"Ep. {update // 10 + 1} : Up. {update:,} : Sen. {update % 10} : Cost 2.5 : Time 0.1s")
    if ends:
        say("Saving")
        break
"""
    with start_python(code) as child:
        cpu, updates, epochs = learn_marian.watch(child, 2.0, 10)
    assert child.returncode == 0
    assert 2.0 <= cpu < 10 and updates > 10 and epochs == pytest.approx(updates / 10)


def test_marian_that_ends_before_its_time_is_no_result() -> None:
    with (
        start_python("raise SystemExit(3)") as child,
        pytest.raises(SystemExit, match="before its time"),
    ):
        learn_marian.watch(child, 2.0, 10)


def test_marian_has_the_chosen_schedule(tmp_path: Path) -> None:
    model = {"norm": "pre", "activation": "relu", "d_model": 8, "d_ff": 16, "heads": 2}
    model |= {"encoder_layers": 1, "decoder_layers": 2, "dropout": 0.1}
    task = {"model": model, "label_smoothing": 0.1, "max_grad_norm": 1.0, "epsilon": 1e-9}
    task |= {"betas": [0.9, 0.98], "batch_tokens": 256}
    chosen = {"rate": 0.005, "warmup": 400, "dropout": 0.1, "seed": 3}
    options = learn_marian.describe_learning(tmp_path, task, chosen)
    for name, value in {"learn-rate": "0.005", "lr-warmup": "400", "seed": "3"}.items():
        assert options.count(f"--{name}") == 1
        assert options[options.index(f"--{name}") + 1] == value
    assert options[options.index("--sigterm") + 1] == "save-and-exit"
    assert options[options.index("--transformer-postprocess-top") + 1] == "n"


@pytest.mark.thorough
def test_transformers_learn_in_seconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It learns to copy, from scratch."""
    pytest.importorskip("transformers")
    from benchmarks.engines.learn_transformers import compute_loss, learn, make_batches

    draw = Random(1)
    rows = [[draw.randint(4, 11) for _ in range(draw.randint(2, 5))] for _ in range(400)]
    text = "".join(" ".join(map(str, row)) + "\n" for row in rows)
    for name in ("train.source", "train.target", "test.source"):
        write_text(tmp_path / name, text if name != "test.source" else text[:200])
    sizes = {"encoder_layers": 1, "decoder_layers": 1, "heads": 2, "d_ff": 32, "d_model": 16}
    task = {"model": {**sizes, "activation": "relu"}, "vocabulary": 12, "batch_tokens": 256}
    task |= {"betas": [0.9, 0.98], "label_smoothing": 0.0, "max_grad_norm": 1.0}
    (tmp_path / "task.json").write_text(json.dumps(task), encoding="utf-8")
    chosen = {"rate": 0.01, "warmup": 5, "dropout": 0.0, "seed": 2}
    (tmp_path / "learning.json").write_text(json.dumps(chosen), encoding="utf-8")
    losses = list[float]()

    def watch(*given: Any) -> Any:
        loss = compute_loss(*given)
        losses.append(float(loss.detach()))
        return loss

    monkeypatch.setattr("benchmarks.engines.learn_transformers.compute_loss", watch)
    learn(tmp_path, [0.0, 2.0])
    first, last = map(json.loads, (tmp_path / "transformers.jsonl").read_text().splitlines())
    assert first["updates"] == 0 and last["updates"] == len(losses) > 5
    assert last["cpu"] >= 2.0 and last["tokens"] > first["tokens"]
    assert sum(losses[-3:]) < 0.9 * sum(losses[:3])
    assert len(last["said"]) == len(text[:200].splitlines())
    batch = next(make_batches(rows, rows, 64, 1))
    assert batch[0].shape[0] == batch[1].shape[0] and batch[1].numel() <= 64 + len(batch[1])
