"""A training followed in the browser while it runs."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from opening import ROOT, SENTENCE, Server


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A training as it lies on the disk: two snapshots of one sentence."""
    from safetensors.numpy import save_file

    folder = tmp_path_factory.mktemp("runs") / "mine" / "run"
    watch = folder / "watch"
    watch.mkdir(parents=True)
    shutil.copy(ROOT / "src/glassformer/models/demo/tokenizer.json", folder)
    lines = [{"step": step, "loss": 5 / step} for step in (1, 2, 4)]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (watch / "gradients.jsonl").write_text(json.dumps({"step": 1, "total": 1, "encoder.0": 1}))
    tokens = {"source_tokens": ["▁a", "</s>"], "reference_tokens": [" la", "</s>"]}
    sentence = {"source": "a", "reference": "la", **tokens}
    (watch / "sentences.json").write_text(json.dumps([sentence]))
    for step, share in ((0, 0.5), (4, 0.9)):
        weights = np.array([[[share, 1 - share], [1 - share, share]]], np.float32)
        log = np.full((2, 2000), np.log(1 / 2000), np.float32)
        tensors = {"0.decoder.0.cross_attention.weights": weights, "0.log_probabilities": log}
        save_file(tensors, watch / f"{step:08d}.safetensors")
        told = {"step": step, "translations": [f"after {step}"]}
        (watch / f"{step:08d}.json").write_text(json.dumps(told))
    return folder


@pytest.fixture(scope="module")
def training(runs: Path, serve: Callable[..., AbstractContextManager[Server]]) -> Iterator[Server]:
    with serve("--runs", str(runs.parent.parent)) as running:
        running.ask("trace", {"text": SENTENCE})  # the model is loaded
        yield running


@pytest.mark.thorough
def test_a_training_is_followed_while_it_runs(page: Any, training: Server, runs: Path) -> None:
    page.goto(training.url("training", text=SENTENCE))
    curve = page.locator("figcaption", has_text="loss")
    curve.wait_for()
    assert "1.25" in curve.inner_text()
    with (runs / "metrics.jsonl").open("a") as file:
        file.write(json.dumps({"step": 8, "loss": 0.625}) + "\n")
    page.get_by_text("8", exact=True).wait_for()
    with (runs / "metrics.jsonl").open("a") as file:
        for step in (8, 16):
            file.write(json.dumps({"step": step, "valid BLEU": step}) + "\n")
    page.locator("figcaption", has_text="valid BLEU").wait_for()  # it has two points
    page.get_by_text("Sample translations", exact=True).click()
    page.get_by_text("after 4", exact=True).wait_for()
    page.get_by_label("Update", exact=True).press("ArrowLeft")
    page.get_by_text("after 0", exact=True).wait_for()
    page.get_by_text("Attention", exact=True).last.click()
    page.get_by_role("button", name="head 0: 0.69").wait_for()
    page.get_by_text("Targets and outputs", exact=True).click()
    page.get_by_text("Mean: 7.6").wait_for()  # ln 2000
