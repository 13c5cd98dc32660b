"""Recordings and pictures show themselves in a notebook, and the notebook in docs runs."""

from __future__ import annotations

import json
import re
from html import escape, unescape
from pathlib import Path
from typing import Any

import pytest

from benchmarks.notebook import run
from glassformer.see import Trace
from glassformer.see.catalogue import look_up, read_derived
from glassformer.translator import Translator

ROOT = Path(__file__).parents[3]
PNG = b"\x89PNG\r\n"


@pytest.fixture(scope="module")
def ran() -> list[dict[str, Any]]:
    notebook = json.loads((ROOT / "docs" / "see.ipynb").read_text(encoding="utf-8"))
    cells: list[dict[str, Any]] = run(notebook)["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code"]


def test_the_notebook_in_docs_runs(ran: list[dict[str, Any]]) -> None:
    assert all(cell["outputs"] for cell in ran)
    stored = json.loads((ROOT / "docs" / "see.ipynb").read_text(encoding="utf-8"))["cells"]
    kept = [cell for cell in stored if cell["cell_type"] == "code"]
    for now, then in zip(ran, kept, strict=True):
        kinds = [sorted(out.get("data", {"text": 0})) for out in now["outputs"]]
        assert kinds == [sorted(out.get("data", {"text": 0})) for out in then["outputs"]]


def test_it_shows_a_trace_an_explanation_and_pictures(ran: list[dict[str, Any]]) -> None:
    kinds = {kind for cell in ran for out in cell["outputs"] for kind in out.get("data", {})}
    assert kinds == {"text/plain", "text/html", "text/latex", "image/png"}
    said = "".join(ran[-1]["outputs"][0]["text"])
    assert "il était trop fatigué" in said and "elle était trop large" in said


def test_a_trace_as_html_needs_nothing_from_elsewhere(trace: Trace) -> None:
    html = trace._repr_html_()
    assert not re.search(r"(?:src|href)=['\"](?!data:)|<script|https?:", html)
    assert html.count("<tr>") == 1 + len(trace.predicted)


def test_each_word_can_be_cut(translator: Translator) -> None:
    """The frame has a panel for each word, with what the model says without it."""
    trace = translator.see("The cat is on the mat.")
    page = re.search(r'srcdoc="([^"]*)"', trace._repr_html_())
    assert page
    frame = unescape(page[1])
    panels = dict(re.findall(r'for="c(\d+)">✂ ([^<]*)<', frame))
    assert list(panels.values()) == ["The", "cat", "is", "on", "the", "mat"]
    for number, word in panels.items():
        edits = [{"do": "cut", "word": word, "occurrence": 0}]
        said = translator.see("The cat is on the mat.", edits=edits).translation
        assert f'class="p{number}"><p><b>{escape(said)}</b>' in frame
        assert len(re.findall(f'class="cut">{word}<', frame)) == 1


def test_a_trace_without_its_model_shows_threads(trace: Trace, tmp_path: Path) -> None:
    trace.save(tmp_path / "kept")
    html = Trace.load(tmp_path / "kept")._repr_html_()
    assert "&lt;svg" in html and "✂" not in html


def test_what_a_notebook_shows_of_a_translation(translator: Translator) -> None:
    found = translator.search("The cat is on the mat.")[0]
    assert repr(found).startswith(f"<Translation {found.text!r}: {len(found.tokens)} tokens,")
    assert len(repr(found)) < 120 and f"{found.log_prob:.3f}" in repr(found)
    assert f"{translator.weights.parameters:,} parameters" in repr(translator)


def test_markup_in_a_text_stays_text(translator: Translator) -> None:
    html = translator.see("<b>a</b> & <script>")._repr_html_()
    assert "&lt;script&gt;" in html and "<script" not in html


def test_a_picture_shows_and_saves_itself(trace: Trace, tmp_path: Path) -> None:
    for id in ("V54", "V33"):  # still and animated
        drawn = trace.picture(id)
        assert drawn._repr_png_().startswith(PNG)
        drawn.save(tmp_path / f"{id}.png")
        assert (tmp_path / f"{id}.png").read_bytes().startswith(PNG)


def test_what_is_derived_has_a_sentence_in_both_languages(trace: Trace) -> None:
    derived = [look_up(op.name) for op in trace.graph.values() if op.derived]
    assert None not in derived
    of_variants = (".turn", ".penalty")  # of rotary positions, and of ALiBi
    entries = read_derived().items()
    assert all(entry in derived for name, entry in entries if not name.endswith(of_variants))
    for entry in read_derived().values():
        assert entry.en.endswith(".") and entry.zh.endswith("。")
        module, name, function = re.fullmatch(r"(.+)\.(\w+)\.(\w+)", entry.source).groups()  # type: ignore[union-attr]
        assert callable(getattr(getattr(__import__(module, fromlist=[name]), name), function))
