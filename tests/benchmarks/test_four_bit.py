"""The table of 4 bits: the weights that it translates with come near those of int8."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks import four_bit
from benchmarks.__main__ import main
from glassformer.extensions.publish.int8 import quantize_file
from glassformer.extensions.site import four_bits
from glassformer.model.files.directory import WEIGHTS, Tokenizers, locate
from glassformer.model.files.weights_file import WeightsFile
from glassformer.translator import Translator


def test_numbers_of_4_bits_become_int8_in_plain_loops() -> None:
    folder = locate("demo")
    stored, _ = quantize_file(WeightsFile(folder / WEIGHTS))
    short = four_bits.shorten(stored, Tokenizers.load(folder))
    found = four_bit.lengthen(short)
    assert {*found} == {*stored}
    name = next(name for name in short if f"factors.{name}" in short)
    numbers, factors = short[name], short[f"factors.{name}"]
    assert 0 < np.abs(numbers).max() <= 7
    for row in range(3):
        for column in range(numbers.shape[1]):
            product = int(numbers[row, column]) * int(factors[row, column // 64]) / 4
            assert found[name][row, column] - product in (-0.25, 0, 0.25, 0.5)
    apart = np.abs(found[name].astype(int) - stored[name]).max()
    assert 0 < apart < 20, "near the numbers of int8, but others"


def test_a_page_of_4_bits_is_smaller(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = ["the cat sleeps on the old mat.", "the little dog sees the big tree."]
    own = Translator.load("demo").translate(texts, decode={"search": "greedy"}, split=False)
    (tmp_path / "a").write_text("\n".join(texts), encoding="utf-8")
    (tmp_path / "b").write_text("\n".join(own), encoding="utf-8")
    words = ["four-bit", "demo", str(tmp_path / "a"), str(tmp_path / "b")]
    assert main(words) == 0
    lines = capsys.readouterr().out.splitlines()
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if "MB" in line]
    sizes = [float(row[3].removesuffix(" MB")) for row in cells]
    assert [row[0] for row in cells] == list(four_bit.ROWS) and cells[0][1] == "100.00"
    assert sizes[1] < sizes[0] and sizes[1] <= sizes[2] <= sizes[0]
    (tmp_path / "b").write_text(own[0], encoding="utf-8")
    assert main(words) == 2
    assert "1 lines" in capsys.readouterr().err
