"""The race: what is run, kept and told; and a rival that learns."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from benchmarks import race
from benchmarks.__main__ import main
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
