"""The benchmark of processors: a run with the toy model, the page, and the results of others."""

from __future__ import annotations

import argparse
import json
import re
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import benchmarks
from benchmarks import cpu
from benchmarks.__main__ import main
from benchmarks.cpu_page import draw, find_lost, find_pareto, find_worse
from benchmarks.cpu_results import Group, note_load, note_version, read_results, retry_engines
from benchmarks.cpu_texts import Task, Text, read_text
from benchmarks.installing import FAILED
from benchmarks.processes import Process
from glassformer.foundation.shared_library.instruction_sets import list_sets
from glassformer.foundation.version import __version__
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
    assert first["texts"]["demo"]["sentences"] == 6 and "glassformer" in first["versions"]
    assert {"processor", "system", "python", "flags"} <= set(first["machine"]) and first["command"]
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
    refused = {"model": "<m>", "engine": "", "refused": "<r>"}
    result = make_result([*won, *lost, refused])
    page = draw([result])
    assert page.rindex("<h3>m: 1 core, native, greedy, batches of 32") < page.rindex(
        "one at a time"
    )
    assert not any(
        f"<{name}>" in page for name in ("i", "u", "p1", "f", "t", "v", "w", "m", "r", "b")
    )


def test_the_line_joins_what_no_other_beats() -> None:
    points = [(1.0, 40.0), (2.0, 39.0), (1.5, 38.0), (3.0, 20.0)]
    assert find_pareto(points) == [(1.0, 40.0), (2.0, 39.0), (3.0, 20.0)]


def test_results_of_other_machines_are_read_and_drawn(tmp_path: Path) -> None:
    kept = Path(benchmarks.__file__).with_name("results")
    results = read_results(kept)
    machines = draw(results).count("<summary>Processor flags")
    assert machines == len(results) == len([*kept.glob("*.json")])
    row = make_row("x", 1) | {"model": "m"}
    result = make_result([row]) | {"texts": {}}
    for text, why in (
        ("{}", r"x\.json: not a result"),
        ('{"schema": 1, ', r"x\.json is damaged"),
        (json.dumps(make_result([]) | {"schema": 0}), r"x\.json has schema 0"),
        (json.dumps(make_result([{"engine": "a", "model": "b"}])), r"a row has no batch, beam"),
        (json.dumps(result), "the text of m is not described"),
    ):
        (tmp_path / "x.json").write_text(text, encoding="utf-8")
        with pytest.raises(ValueError, match=why):
            read_results(tmp_path)
    with pytest.raises(ValueError, match="no such folder"):
        read_results(tmp_path / "nowhere")


def make_result(rows: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "schema": 1,
        "command": "<i>",
        "date": "<u>",
        "machine": {"processor": "<p1>", "cores": 2, "memory": None, "flags": ["<f>"]},
        "texts": {"m": {"name": "<t>", "sentences": 3}},
        "versions": {"<v>": "<w>"},
        "rows": rows,
    }


def test_a_row_is_lost_to_an_engine_of_the_same_precision() -> None:
    rows = [
        make_row("glassformer int8", 9),
        make_row("glassformer fp32", 3),
        make_row("marian packed8", 8),
        make_row("marian float32", 4),
        make_row("other fp32", 2),
    ]
    assert [row["engine"] for row in find_lost(rows)] == ["marian float32"]
    assert [row["engine"] for row in find_lost(rows[2:])] == [row["engine"] for row in rows[2:]]
    machines = [make_result(rows), make_result([rows[0]]), make_result([rows[0], rows[3]])]
    machines[2]["machine"] = machines[2]["machine"] | {"processor": "third"}
    page = draw(machines)
    summary = page[: page.index("All rows")]
    assert summary.count("<tr class=lost>") == 1, "of all machines, before any of them"
    assert "<td>4<td>3<td>1.33" in summary and "third" not in summary


def test_names_stay_in_the_picture() -> None:
    """Also those of ten engines that are as good and as fast as one another, above or below one."""
    for quality in (20.0, 40.0):
        rows = [make_row(f"engine{n} int8", 9) for n in range(10)]
        page = draw([make_result([*rows, make_row("glassformer int8", 5, quality)])])
        found = re.findall(r'<text x="[\d.]+" y="(-?[\d.]+)">(?:engine|glass)', page)
        places = sorted(map(float, found))
        assert len(places) == 11 and places[0] > 0 and places[-1] < 280
        engines = [y for y, after in pairwise(places) if after - y < 13.9]
        assert len(engines) <= 1, "no name covers another, but ours may stand beside one"


def test_a_busy_machine_is_seen(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    result = make_result([])
    for load, warns in ((2.25, True), (0.1, False)):
        monkeypatch.setattr("os.getloadavg", lambda load=load: (load, 9.0, 9.0))
        note_load(result)
        assert ("are busy" in capsys.readouterr().err) == warns
    assert result["machine"]["load"] == 2.25, "the most of its parts"
    assert "at its start: 2.2." in draw([result])
    text = Text(["a b c"], None, "t")
    task = Task("m", Path(), None, text)
    turns = [{"seconds": seconds, "joules": None} for seconds in (1.0, 2.0, 4.0)]
    row = cpu.measure_row(task, turns, ["x"])
    assert (row["words_per_second"], row["spread"]) == (1.5, 1.5)


def test_columns_in_which_another_engine_is_best_are_counted() -> None:
    rows = [make_row("glassformer int8", 9, 30.0), make_row("marian packed8", 8, 31.0)]
    rows[0] |= {"start_ms": 5.0, "resident_mib": 7.0}
    rows[1] |= {"start_ms": 4.0, "resident_mib": 7.0}
    assert {*find_worse(rows)} == {"start_ms", "bleu"}
    page = draw([make_result(rows)])
    assert "<li>BLEU: 1 of 1 groups" in page and "MiB resident: " not in page


def test_the_text_has_as_many_references(tmp_path: Path) -> None:
    """As NTREX has it: lines end with CR LF; one with a BOM has the same text."""
    one, other = tmp_path / "src.txt", tmp_path / "ref.txt"
    one.write_bytes("\ufeffOne.\r\n\r\nThree.\r\n".encode())
    other.write_bytes(b"Um.\r\nDois.\r\nTres.\r\n")
    text = read_text([one, other], 2, "t")
    assert text.sources == ["One.", "Three."] and text.references == ["Um.", "Tres."]
    other.write_bytes(b"Um.\r\n")
    with pytest.raises(ValueError, match="do not belong together"):
        read_text([one, other], 2, "t")
    one.write_bytes(b"\n")
    with pytest.raises(ValueError, match="has no sentence"):
        read_text([one, other], 2, "t")


def fail(folder: Path, capsys: pytest.CaptureFixture[str], **changes: str) -> str:
    """Return what a run says that is refused."""
    with pytest.raises(AssertionError):
        run(folder, **changes)
    return capsys.readouterr().err


def test_what_cannot_be_measured_is_said_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "--models nowhere" in fail(tmp_path, capsys, models="nowhere")
    assert "whole numbers" in fail(tmp_path, capsys, cores="two")
    assert "no folder" in fail(tmp_path, capsys, output=str(tmp_path / "none" / "a.json"))
    words = ["cpu", "--models", str(locate("demo")), "--text", "fr-en", "a", "b", "-o", "x.json"]
    assert main(words) == 2
    assert "--text fr-en: the models translate en-fr" in capsys.readouterr().err
    assert not (tmp_path / "work").exists()


def test_an_engine_without_what_writes_its_models_is_named_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a stranger's result would lack the main rivals, which is seen after an hour."""
    monkeypatch.setattr(cpu, "find_spec", lambda name: None)
    said = fail(tmp_path, capsys, engines="ctranslate2,fxtranslate,onnxruntime")
    assert "ctranslate2 and onnxruntime" in said and "pip install -e '.[bridge,onnx]'" in said


def test_a_result_goes_on_only_where_it_was_begun(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    engines, path = "fxtranslate", tmp_path / "results" / "a.json"
    first = run(tmp_path, engines=engines)
    for change, why in (
        ({"machine": first["machine"] | {"processor": "another"}}, "of another machine"),
        ({"command": "another"}, "of another command"),
        ({"texts": {"demo": {"name": "another", "sentences": 6}}}, "of another text"),
    ):
        path.write_text(json.dumps(first | change), encoding="utf-8")
        assert why in fail(tmp_path, capsys, engines=engines)
    path.write_text('{"schema": 1', encoding="utf-8")
    assert "a.json is damaged" in fail(tmp_path, capsys, engines=engines)


def test_rows_of_another_version_are_not_mixed() -> None:
    found = make_result([])
    note_version(found, "marian", "1")
    note_version(found, "marian", "1")
    with pytest.raises(ValueError, match="rows of marian are of version 1, now it is 2"):
        note_version(found, "marian", "2")
    note_version(found, "glassformer", None)
    assert found["versions"]["glassformer"].startswith(__version__)


def test_an_engine_that_ends_takes_no_other_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    turn = cpu.turn

    def end(name: str, process: Process, *more: Any) -> dict[str, Any]:
        if name == "glassformer fp32":
            process.child.kill()
        return turn(name, process, *more)

    monkeypatch.setattr(cpu, "turn", end)
    rows = run(tmp_path, engines="glassformer")["rows"]
    assert "before its time" in rows[0]["refused"] and rows[0]["engine"] == "glassformer fp32"
    assert [row["engine"] for row in rows[1:]] == ["glassformer int8"] * 2


def test_an_engine_that_cannot_be_installed_is_tried_once_and_when_it_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries, can = list[str](), [False]

    def install(name: str, work: Path) -> Path:
        tries.append(name)
        if not can[0]:
            raise ValueError(f"{name} {FAILED}: no wheel for this machine")
        return Path(sys.executable)

    for module in ("processes", "cpu_results"):
        monkeypatch.setattr(f"benchmarks.{module}.install", install)
    engines = "glassformer,ctranslate2"
    rows = run(tmp_path, engines=engines, beams="1,2")["rows"]
    assert tries == ["ctranslate2"], "not again for each precision and group"
    refused = [row for row in rows if "refused" in row]
    assert len(refused) == 4 and all("no wheel" in row["refused"] for row in refused)
    assert run(tmp_path, engines=engines, beams="1,2")["rows"] == rows
    can[0] = True
    result = make_result(rows)
    retry_engines(result, tmp_path)
    assert result["rows"] == [], "all turns are taken again"


def test_what_the_machine_lacks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    sets = tuple(each for each in list_sets(None) if each.name != "amx")
    monkeypatch.setattr(cpu, "list_sets", lambda probe: sets)
    monkeypatch.setattr(cpu, "count_cores", lambda: 1)
    assert cpu.find_lack(Group("m", 1, "amx", 1)) == "the processor has no amx"
    assert cpu.find_lack(Group("m", 1, "native", 1)) == ""
    assert cpu.find_lack(Group("m", 2, "native", 1)) == "the machine has 1 cores"
    for number, siblings in enumerate(("0-1", "0-1", "2-3", "2-3")):
        folder = tmp_path / f"cpu{number}" / "topology"
        folder.mkdir(parents=True)
        (folder / "thread_siblings_list").write_text(siblings, encoding="ascii")
    monkeypatch.setattr(cpu, "TOPOLOGY", tmp_path)
    assert cpu.choose_cores({0, 1, 2, 3}, 2) == [0, 2], "two cores, not two threads of one"
    assert cpu.choose_cores({0, 1}, 2) == [0, 1]
    assert cpu.choose_cores({5}, 2) == [5]


def test_energy_is_that_of_all_packages_or_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(cpu, "ENERGY", tmp_path)
    assert cpu.read_energy() is None
    for name, count in (("0", 1_000_000), ("1", 2_500_000), ("0:0", 9_000_000)):
        folder = tmp_path / f"intel-rapl:{name}"
        folder.mkdir()
        (folder / "energy_uj").write_text(f"{count}\n", encoding="ascii")
    assert cpu.read_energy() == 3.5, "a part of a package is counted in it"
    file = tmp_path / "intel-rapl:1" / "energy_uj"
    file.unlink()
    file.mkdir()  # cannot be read, as for users other than root
    assert cpu.read_energy() is None


def test_what_is_given_beside_quick_has_an_effect() -> None:
    parser = argparse.ArgumentParser()
    cpu.add_options(parser)
    options = parser.parse_args(["--quick", "--count", "7", "-o", "x"])
    cpu.choose_options(options)
    assert (options.count, options.rounds, options.cores) == (7, 2, "1")
    assert "transformers" not in options.engines
    options = parser.parse_args(["--engines", "transformers", "-o", "x"])
    cpu.choose_options(options)
    assert (options.count, options.cores, options.engines) == (500, "1,2", "transformers")
