"""The benchmark of processors: a run with the toy model, the page, and the results of others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import benchmarks
from benchmarks.__main__ import main
from benchmarks.cpu_page import draw, find_lost, find_pareto, read_results
from glassformer.model.files.directory import locate


def run(folder: Path, **changes: str) -> dict[str, Any]:
    """Measure the toy model with our engine, and with one that cannot read it."""
    words = {"models": str(locate("demo")), "engines": "glassformer,fxtranslate", "cores": "1"}
    words |= {"sets": "native", "beams": "1", "count": "6", "rounds": "1"}
    words |= {"work": str(folder / "work"), "output": str(folder / "results" / "a.json"), **changes}
    (folder / "results").mkdir(exist_ok=True)
    assert main(["cpu", *(x for name, word in words.items() for x in (f"--{name}", word))]) == 0
    found: dict[str, Any] = json.loads(Path(words["output"]).read_text(encoding="utf-8"))
    return found


def test_a_run_goes_on_and_is_drawn(tmp_path: Path) -> None:
    first = run(tmp_path)
    measured = [row for row in first["rows"] if "refused" not in row]
    assert {(row["engine"], row["batch"]) for row in measured} == {
        (f"glassformer {precision}", batch) for precision in ("int8", "fp32") for batch in (1, 32)
    }
    assert all(row["words_per_second"] > 0 and row["start_ms"] > 0 for row in measured)
    assert all(row["bleu"] > 50 and row["disk_mb"] > 1 for row in measured), "it knows this text"
    (refused,) = (row for row in first["rows"] if "refused" in row)
    assert refused["engine"] == "fxtranslate int8"
    assert run(tmp_path)["rows"] == first["rows"], "what is done is not measured again"
    assert len(run(tmp_path, beams="1,2")["rows"]) > len(first["rows"])
    page = tmp_path / "page.html"
    words = ["cpu", "--page", str(tmp_path / "results"), "-o", str(page)]
    assert main(words) == 0
    text = page.read_text(encoding="utf-8")
    assert text.count("<svg") == 4 and "students of browsers" in text and "http" not in text


def make_row(engine: str, speed: float, quality: float | None = 30.0) -> dict[str, Any]:
    group = {"model": "m", "cores": 1, "set": "native", "beam": 1, "batch": 1}
    return {**group, "engine": engine, "words_per_second": speed, "bleu": quality}


def test_lost_groups_come_first_and_names_are_escaped() -> None:
    won = [make_row("glassformer int8", 9), make_row("<b>", 8)]
    lost = [row | {"batch": 32} for row in (make_row("glassformer int8", 7), make_row("<b>", 8))]
    assert not find_lost(won) and [row["engine"] for row in find_lost(lost)] == ["<b>"]
    result = {
        "command": "<i>",
        "date": "<u>",
        "machine": {"processor": "<p1>", "cores": 2, "memory": None, "flags": ["<f>"]},
        "texts": {"m": {"name": "<t>", "sentences": 3}},
        "versions": {"<v>": "<w>"},
        "rows": [*won, *lost, {"model": "<m>", "engine": "", "refused": "<r>"}],
    }
    page = draw([result])
    assert page.index("batches of 32") < page.index("one at a time")
    assert not any(
        f"<{name}>" in page for name in ("i", "u", "p1", "f", "t", "v", "w", "m", "r", "b")
    )


def test_the_line_joins_what_no_other_beats() -> None:
    points = [(1.0, 40.0), (2.0, 39.0), (1.5, 38.0), (3.0, 20.0)]
    assert find_pareto(points) == [(1.0, 40.0), (2.0, 39.0), (3.0, 20.0)]


def test_results_of_other_machines_are_read_and_drawn(tmp_path: Path) -> None:
    kept = Path(benchmarks.__file__).with_name("results")
    results = read_results(kept)
    assert draw(results).count("<h2>") == len(results) == len([*kept.glob("*.json")])
    (tmp_path / "x.json").write_text("{}", encoding="utf-8")
    with pytest.raises(ValueError, match=r"x\.json: not a result"):
        read_results(tmp_path)
