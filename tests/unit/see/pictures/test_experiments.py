"""Pictures of what was measured (V107-V111, V114), and of language models (V115, V116)."""

from __future__ import annotations

import json
import re
from itertools import zip_longest
from pathlib import Path
from statistics import mean

import numpy as np
import pytest
import torch

from benchmarks.questions import gather_runs, read_rows
from glassformer.config import Config
from glassformer.extensions.pictures import PICTURES, local, questions
from glassformer.extensions.pictures.parts import style
from glassformer.extensions.pictures.parts.scene import BoxMark, PathMark
from glassformer.extensions.pictures.pictures import list_pictures, make_scene
from glassformer.model.files.directory import Tokenizers, build_model
from glassformer.see import Trace
from glassformer.text import train_tokenizer
from glassformer.translate.language_model import LanguageModel

DOCS = Path(__file__).parents[4] / "docs"
QUESTIONS = ("V107", "V108", "V109", "V110", "V111")


def test_what_is_drawn_of_the_questions_is_what_was_measured() -> None:
    assert json.loads(questions.MEASURED.read_text(encoding="utf-8")) == gather_runs(read_rows())


@pytest.mark.parametrize("id", QUESTIONS)
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_bars_and_title_have_the_means(id: str, lang: str, trace: Trace) -> None:
    scene = make_scene(trace, id, lang=lang)
    rows = gather_runs(read_rows())[id]
    wanted = [mean(row[task]) for task in ("reverse", "scan") for row in rows if task in row]
    printed = [m.value for m in scene.texts if m.of.startswith("sum") or "/" in m.of]
    assert sorted(printed) == pytest.approx(sorted(each / 100 for each in wanted))
    shares = re.findall(r"(\d+\.\d)\u00a0%", scene.title)
    assert (shares or id == "V108") and {*shares} <= {f"{each:.1f}" for each in wanted}


@pytest.mark.parametrize(("id", "rows"), [("V109", (7, 8)), ("V111", (4, 5))])
def test_what_the_title_is_about_is_coloured(id: str, rows: tuple[int, ...], trace: Trace) -> None:
    """All else is grey; a broken line marks what is usual, and no setting is a bare letter."""
    scene = make_scene(trace, id)
    bars = [m for m in scene.marks if isinstance(m, BoxMark) and m.height > 10 and m.layer == 2]
    high = sorted({round(bar.y) for bar in bars})
    inks = {style.role(ink).ink for ink in questions.INKS.values()}
    assert {high.index(round(bar.y)) for bar in bars if bar.fill in inks} == {*rows}
    assert {bar.fill for bar in bars} <= {*inks, style.FAINT}
    words = " ".join(mark.text for mark in scene.texts)
    assert "usual" in words and "d_" not in words
    assert any(isinstance(m, PathMark) and m.dashed for m in scene.marks)


def test_what_is_said_of_seeds_and_weights_is_what_was_measured(trace: Trace) -> None:
    rows = [row for row in read_rows() if row["task"] == "reverse"]
    weights = {json.dumps(row["settings"]): row["parameters"] for row in rows}
    joined = weights[json.dumps({"positions": {"combine": "concatenate"}})]
    assert f"{questions.MORE} % more weights" in make_scene(trace, "V107").description
    assert round(100 * joined / weights["{}"] - 100) == questions.MORE
    one, two = (row["reverse"] for row in gather_runs(read_rows())["V108"])
    overlap = max(two) >= min(one) and max(one) >= min(two)
    told = " ".join(mark.text for mark in make_scene(trace, "V108").texts)
    assert ("seeds do not overlap" not in told) == ("seeds overlap" in told) == overlap


def test_two_layers_match_one_only_where_they_do(
    trace: Trace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = json.loads(questions.MEASURED.read_text(encoding="utf-8"))
    assert "alone match one" in make_scene(trace, "V110").title
    rows["V110"][2]["reverse"] = [50.0, 60.0, 97.0]
    monkeypatch.setattr(questions, "MEASURED", tmp_path / "questions.json")
    questions.MEASURED.write_text(json.dumps(rows), encoding="utf-8")
    assert "less well on average" in make_scene(trace, "V110").title


def test_a_shift_is_a_matrix_only_with_cosines(trace: Trace) -> None:
    errors = questions.measure_shifts()
    assert errors["both"].max() < 1e-9 and errors["sines"].max() > 0.5
    scene = make_scene(trace, "V108")
    assert scene.title.endswith(f"off by up to {errors['sines'].max():.1f}")
    curves = [mark for mark in scene.marks if isinstance(mark, PathMark) and len(mark.points) == 95]
    flat, wild = (np.ptp([y for _, y in curve.points]) for curve in curves)
    assert flat == pytest.approx(0, abs=1e-6) and wild > 50


def test_local_attention_is_drawn_as_the_guide_has_it(trace: Trace) -> None:
    page = (DOCS / "attention.md").read_text(encoding="utf-8")
    table = re.findall(r"^\| ([\d,]+) \| (.*) \|$", page, re.M)
    told = [[x.replace(",", "") for x in (n, *row.split(" | "))] for n, row in table]
    found = json.loads(local.MEASURED.read_text(encoding="utf-8"))
    columns = [found["lengths"]]
    columns += [found[what][name] for what in ("milliseconds", "mebibytes") for name in local.INKS]
    assert [float(x) for row in told for x in row if x.strip()] == [
        x for row in zip_longest(*columns) for x in row if x is not None
    ]
    assert local.find_meeting([1, 10, 100], [1.0, 4.0, 64.0], [3.0, 8.0, 16.0]) == (10, 100)
    scene = PICTURES["V114"].scene(trace)
    assert "between 128 and 256" in scene.description and "6\u202f150 MiB" in scene.title


@pytest.fixture(scope="module", params=["decoder", "encoder"])
def read(request: pytest.FixtureRequest) -> Trace:
    """A recording of a small random language model."""
    torch.manual_seed(1)
    network = request.param
    shape = {"d_model": 16, "d_ff": 32, "heads": 2, f"{network}_layers": 2, "tie": "two-way"}
    config = Config.read({"model": {"network": network, **shape}})
    tokenizer = train_tokenizer(["the red cat runs home", "an old dog sleeps"] * 4, 330)
    tokenizers = Tokenizers(tokenizer, tokenizer)
    reader = LanguageModel(config, tokenizers, build_model(config, tokenizers), device="cpu")
    return reader.see("the red [MASK] runs" if network == "encoder" else "the red cat runs")


@pytest.mark.thorough
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_every_picture_of_one_side_is_drawn(read: Trace, lang: str) -> None:
    pictures = list_pictures(read.settings.network)
    assert len(pictures) > 30
    for picture in pictures:
        assert make_scene(read, picture.id, lang=lang).texts, picture.id
    with pytest.raises(ValueError, match="a Transformer, but this is"):
        make_scene(read, "V54")


def test_surprise_is_in_bits(read: Trace) -> None:
    if read.settings.network == "encoder":
        pytest.skip("of a decoder")
    scene = make_scene(read, "V115")
    bits = [-each.log_prob / np.log(2) for each in read.predictions]
    assert [m.value for m in scene.texts if m.of.startswith("bits")] == pytest.approx(bits)
    assert f"perplexity {2 ** mean(bits):.1f}" in scene.description


def test_what_is_hidden_is_guessed(read: Trace) -> None:
    if read.settings.network == "decoder":
        pytest.skip("of an encoder")
    scene = make_scene(read, "V116")
    at = [token.text for token in read.source].index(" [MASK]".strip())
    logits = read["logits"][at].astype(float)
    wanted = np.exp(logits - np.logaddexp.reduce(logits))
    shares = [m.value for m in scene.texts if m.of.startswith("probabilities")]
    assert shares == pytest.approx(sorted(wanted, reverse=True)[: len(shares)], rel=1e-4)
    assert any(isinstance(mark, PathMark) and mark.curved for mark in scene.marks)
