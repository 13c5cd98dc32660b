"""Portraits of heads: what `heads.json` says is what recordings and silenced heads say."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from torch import Tensor

from glassformer.cli import main
from glassformer.extensions.demo.corpus import read_corpus
from glassformer.extensions.lab import heads
from glassformer.extensions.lab.contributions import score_copies
from glassformer.extensions.lab.heads import CROSS, OWN, measure_portraits
from glassformer.foundation.tap import Edit
from glassformer.model.files.directory import HEADS, locate, read_findings
from glassformer.translator import Translator

TEXTS = ("The animal did not cross the street because it was too tired.", "The cat is here.")
BLOCK, HEAD = "encoder.0.self_attention", 3


@pytest.fixture(scope="module")
def translator() -> Translator:
    return Translator.load("demo", device="cpu", precision="fp32")


def test_shares_are_those_of_the_recordings(translator: Translator) -> None:
    found = measure_portraits(translator, TEXTS, silenced=())
    traces = [translator.see(text, decode={"search": "greedy"}) for text in TEXTS]
    assert found["tokens"] == sum(len(trace.predicted) for trace in traces)
    rows = [trace[f"{BLOCK}.weights"][HEAD] for trace in traces]
    reads = found["blocks"][BLOCK]["heads"][HEAD]["reads"]
    for kind, offset in (("itself", 0), ("previous", -1)):
        shares = [
            [row[q, q + offset] if 0 <= q + offset < len(row) - 1 else 0 for q in range(len(row))]
            for row in rows
        ]
        mean = np.concatenate(shares).mean()
        assert reads[OWN.index(kind)] == pytest.approx(mean, abs=2e-4)
    assert sum(reads) == pytest.approx(1, abs=1e-3)


def test_aligned_is_what_all_heads_of_the_crossing_read(translator: Translator) -> None:
    found = measure_portraits(translator, TEXTS[:1], silenced=())
    trace = translator.see(TEXTS[0], decode={"search": "greedy"})
    names = [name for name in trace.names() if name.endswith("cross_attention.weights")]
    aligned = sum(trace[name].mean(0) for name in names).argmax(-1)
    end = len(trace.source) - 1
    weights = trace["decoder.5.cross_attention.weights"][2]
    mean = np.mean([row[m] if m != end else 0 for row, m in zip(weights, aligned, strict=True)])
    reads = found["blocks"]["decoder.5.cross_attention"]["heads"][2]["reads"]
    assert reads[CROSS.index("aligned")] == pytest.approx(mean, abs=2e-4)


def test_the_loss_without_a_head_is_that_of_one_sentence(translator: Translator) -> None:
    found = measure_portraits(translator, TEXTS[:1], silenced=(BLOCK,))
    trace = translator.see(TEXTS[0], decode={"search": "greedy"})

    def silence(x: Tensor) -> Tensor:
        x = x.clone()
        x[:, HEAD] = 0
        return x

    rows = np.arange(len(trace.predicted))
    wanted = [token.id for token in trace.predicted]
    changes: tuple[dict[str, Edit], ...] = ({}, {f"{BLOCK}.context": silence})
    losses = [
        -score_copies(translator, trace, functions, 1)[0, rows, wanted].mean()
        for functions in changes
    ]
    rise = found["blocks"][BLOCK]["heads"][HEAD]["loss"]
    assert rise == pytest.approx(float(losses[1] - losses[0]), abs=2e-5)


@pytest.mark.thorough
def test_the_shipped_file_is_what_is_measured_again(translator: Translator) -> None:
    corpus = read_corpus()
    texts = [*corpus.questions["test"], *corpus.riddles["test"]][::3][:300]
    shipped = read_findings(locate("demo"), HEADS)
    assert shipped is not None
    found = measure_portraits(translator, texts, silenced=(BLOCK,))
    assert found["tokens"] == shipped["tokens"]
    for name, block in found["blocks"].items():
        told = shipped["blocks"][name]
        for one, other in zip(block["heads"], told["heads"], strict=True):
            assert one["reads"] == pytest.approx(other["reads"], abs=1e-3)
    again, told = (each["blocks"][BLOCK]["heads"] for each in (found, shipped))
    assert [each["without"] for each in again] == pytest.approx(
        [each["without"] for each in told], abs=1
    )
    assert [each["loss"] for each in again] == pytest.approx(
        [each["loss"] for each in told], abs=1e-4
    )


def test_a_folder_without_the_file_has_no_portraits(tmp_path: Path) -> None:
    assert read_findings(tmp_path, HEADS) is None


def test_a_recurrent_network_has_no_heads() -> None:
    with pytest.raises(ValueError, match="no heads to portray"):
        measure_portraits(Translator.load("demo-rnn", device="cpu", precision="fp32"), TEXTS)


def test_the_command_leaves_the_models_of_the_package_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = {
        "blocks": {BLOCK: {"heads": [{"loss": 0.5, "reads": [1.0] + [0.0] * 5}], "even": [0.2] * 6}}
    }
    monkeypatch.setattr(heads, "measure_portraits", lambda *_, **__: found)
    shipped = (locate("demo") / HEADS).read_bytes()
    (tmp_path / "text.en").write_text("\n".join(TEXTS))
    kept = tmp_path / "portraits.json"
    for end in ([], ["-o", str(kept)]):
        assert main(["heads", "demo", str(tmp_path / "text.en"), *end]) == 0
        assert "+0.500" in capsys.readouterr().out
    assert (locate("demo") / HEADS).read_bytes() == shipped and json.loads(
        kept.read_text()
    ) == found
