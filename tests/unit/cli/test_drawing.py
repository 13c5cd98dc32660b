"""`glassformer see --picture` and `--gallery`: what is drawn, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from glassformer.cli import main
from glassformer.see.draw.fonts import find_family

SEE = ("see", "demo", "The cat is on the mat.")


def see(*more: object) -> int:
    return main([*SEE, *map(str, more)])


def test_a_picture_goes_where_it_is_wanted(tmp_path: Path) -> None:
    out = tmp_path / "attention.svg"
    assert see("--picture", "V49", "--layer", -1, "--head", 1, "--query", "mat", "-o", out) == 0
    assert "<svg" in out.read_text(encoding="utf-8")


@pytest.mark.skipif(find_family("图") is None, reason="no font with Chinese characters")
def test_its_language_is_chosen(tmp_path: Path) -> None:
    for lang in ("en", "zh"):
        assert see("--picture", "V44", "--lang", lang, "-o", tmp_path / f"{lang}.png") == 0
    drawn = {(tmp_path / f"{lang}.png").read_bytes() for lang in ("en", "zh")}
    assert len(drawn) == 2


@pytest.mark.parametrize(
    ("option", "value", "needed"),
    [
        ("--query", "cat", "--picture"),
        ("--output", "cat.svg", "--picture"),
        ("--lang", "zh", "--picture or --gallery"),
    ],
)
def test_an_option_in_vain_is_refused(
    capfd: pytest.CaptureFixture[str], option: str, value: str, needed: str
) -> None:
    assert see(option, value) == 2
    assert f"{option} has no effect without {needed}" in capfd.readouterr().err


def test_an_unknown_picture_is_refused(capfd: pytest.CaptureFixture[str]) -> None:
    assert see("--picture", "V999") == 2
    assert "V999" in capfd.readouterr().err
