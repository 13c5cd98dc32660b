"""The table of sizes: what it computes of what both engines report."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.sizes import HEADS, SETS, SOURCES, list_cells, list_ratios, write_sources
from glassformer.config import EOS
from glassformer.model.files.directory import locate

OURS = {
    "tokens/s": [20.0, 30.0, 40.0],
    "alone": [1.0, 2.0, 3.0],
    "peak": [50.0],
    "start": [1.0],
}
THEIRS = {"tokens/s": [10.0] * 3, "alone": [4.0] * 3, "peak": [25.0], "start": [0.5]}
ROW = {"size": "tiny", "set": "avx2", "beam": 5, "ours": OURS, "theirs": THEIRS}


def test_more_is_better_for_ours_in_every_column() -> None:
    assert list_ratios(ROW) == {"tokens/s": 3.0, "alone": 2.0, "peak": 0.5, "start": 0.5}
    cells = list_cells(ROW)
    assert len(cells) == len(HEADS)
    assert cells[:6] == ["tiny", "beam 5", "avx2", "30", "10", "3.00x"]


def test_each_set_holds_both_engines() -> None:
    for name, environment in SETS.items():
        assert environment["GLASSFORMER_ISA"] == name
        assert name == "amx" or len(environment) > 1


def test_sources_are_the_same_each_time(tmp_path: Path) -> None:
    path = write_sources(locate("demo"), 20, tmp_path)
    text = path.read_text(encoding="utf-8")
    assert write_sources(locate("demo"), 20, tmp_path).read_text(encoding="utf-8") == text
    found = json.loads(text)
    for ids, tokens in zip(found["ids"], found["tokens"], strict=True):
        assert ids[-1] == EOS and min(ids[:-1]) > EOS
        assert SOURCES[0] <= len(tokens) == len(ids) - 1 <= SOURCES[1]
        assert [found["vocabulary"][each] for each in ids[:-1]] == tokens
