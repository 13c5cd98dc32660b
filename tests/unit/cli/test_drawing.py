"""`glassformer see --picture` and `--gallery`: what is drawn, and what is refused."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

from glassformer.cli import main
from glassformer.extensions.pictures import PICTURES
from glassformer.extensions.pictures.chapters import spell_command
from glassformer.extensions.pictures.cli.drawing import spell_recording
from glassformer.extensions.pictures.parts.fonts import find_family

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


def test_a_gallery_that_cannot_be_drawn_says_why(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a machine without a font that has Chinese characters."""
    monkeypatch.setattr(
        "glassformer.extensions.pictures.parts.fonts.find_family", lambda character: None
    )
    assert see("--gallery", tmp_path / "all", "--lang", "zh") == 2
    told = capfd.readouterr().err
    assert "no font on this machine has Chinese characters" in told and "others" in told
    assert "files and" not in told and not (tmp_path / "all").exists()


def test_what_a_gallery_leaves_out_is_told(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    few = [PICTURES[id] for id in ("V01", "V49", "V82")]
    gallery = import_module("glassformer.extensions.pictures.gallery")
    monkeypatch.setattr(gallery, "list_pictures", lambda network: few)
    assert see("--target", "Le chat", "--gallery", tmp_path) == 0
    told = " ".join(capfd.readouterr().err.split())
    assert "2 files and" in told
    assert "1 of 3 pictures are left out: V82: this recording was given its translation" in told


def test_a_picture_has_further_options(tmp_path: Path) -> None:
    out = tmp_path / "loss.svg"
    assert see("--picture", "V67", "--option", "subject=loss", "-o", out) == 0
    assert "descent takes" in out.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("subject=nonsense", "subject=nonsense: one of vectors, loss"),
        ("subject", "V67 has the options lang, side, subject"),
        ("tokens=3", "V67 has the options lang, side, subject"),
    ],
)
def test_an_odd_option_is_refused(given: str, told: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert see("--picture", "V67", "--option", given) == 2
    assert told in capfd.readouterr().err


def test_an_odd_query_is_refused(capfd: pytest.CaptureFixture[str]) -> None:
    assert see("--picture", "V49", "--query", "") == 2
    assert "query=“”: a token of the sentence, or its number" in capfd.readouterr().err


@pytest.mark.parametrize("id", ["v67", "67"])
def test_a_picture_in_other_letters_has_the_same_options(
    id: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert see("--picture", id, "--option", "foo=1") == 2
    assert "V67 has the options lang, side, subject" in capfd.readouterr().err


def test_a_command_records_the_same_again() -> None:
    typed = {"text": "a $5 dog", "search": "beam", "beam": 2, "hypothesis": 1, "edit": ["cut:dog"]}
    others = {"gallery": Path("g"), "level": "everything", "min_length": None, "shortlist": False}
    spelled = spell_recording(typed | others)
    options = "--search beam --beam 2 --hypothesis 1 --edit cut:dog --no-shortlist"
    assert spelled == ["a $5 dog", *options.split()]
    assert spell_recording({"text": None}) == []  # of a saved trace
    command = spell_command("V49", "my model", spelled[:3], "zh")
    assert command == (
        "glassformer see \"my model\" 'a $5 dog' --search beam --picture V49 --lang zh"
    )
