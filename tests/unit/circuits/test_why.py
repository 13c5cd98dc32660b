"""`glassformer why` and `trace.why`: what is asked, what is refused, and what `demo` answers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from glassformer.cli import main
from glassformer.extensions.circuits.words import ask_word
from glassformer.see import Trace
from glassformer.translator import Translator

WIDE = "The animal didn't cross the street because it was too wide."
TIRED = WIDE.replace("wide", "tired")


@pytest.fixture(scope="module")
def trace() -> Trace:
    return Translator.load("demo", device="cpu", precision="fp32").see(WIDE, level="attention")


def test_the_command_answers(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    asked = ["why", "demo", WIDE, "--word", "elle", "--rival", "il", "--counterpart", TIRED]
    assert main([*asked, "-o", str(tmp_path / "why.json")]) == 0
    said = capsys.readouterr().out
    assert "qu'elle leads qu'il by +15" in said or "qu'elle leads qu'il by +" in said
    found = json.loads((tmp_path / "why.json").read_text(encoding="utf-8"))
    assert found["gap"] < 1e-4
    of_words = sum(value for side in found["inputs"].values() for _, value in side)
    assert of_words + found["positions"] + found["biases"] == pytest.approx(found["lead"], abs=1e-4)
    for circuit in found["circuits"]:
        assert circuit["kept"] >= 0.9 > circuit["dearest"]
        assert circuit["size"] <= 0.05 * circuit["of"]
        assert max(circuit["random"]) < 0.2
    by_counterpart = found["circuits"][0]
    assert by_counterpart["elsewhere"] == "counterpart"
    at_source = {edge["position"] for edge in by_counterpart["edges"] if edge["side"] == "source"}
    assert len(at_source) == 1, "only the adjective differs, and no other word has to know"


def test_a_recording_answers_even_from_disk(trace: Trace, tmp_path: Path) -> None:
    trace.save(tmp_path / "saved", parameters=True)
    again = Trace.load(tmp_path / "saved")
    leads = [each.why("large").lead for each in (trace, again)]
    assert leads[0] == pytest.approx(leads[1], abs=1e-5)
    best = trace.top(ask_word(trace, "large").row, 2)
    assert leads[0] == pytest.approx(best[0].log_prob - best[1].log_prob, abs=1e-4)


@pytest.mark.parametrize(
    ("word", "rival", "said"),
    [
        ("girafe", None, "there is no word 'girafe'"),
        ("elle", "elle", "is the word itself"),
        ("elle", "xyzzy", "not one token of this model; likely there"),
    ],
)
def test_what_cannot_be_asked(trace: Trace, word: str, rival: str | None, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        ask_word(trace, word, rival)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["why", "demo", WIDE, "--word", "elle", "--counterpart", "A cat."], "positions can be"),
        (["why", "demo", WIDE, "--word", "elle", "--counterpart", WIDE], "the sentence itself"),
        (["why", "demo", WIDE, "--word", "elle", "--counterpart", ""], "has no words"),
        (["why", "demo", "", "--word", "elle"], "no text"),
        (["why", "demo", WIDE, "--word", "elle", "--by", "layer"], "block, head"),
        (["why", "demo-rnn", "The cat is small.", "--word", "chat"], "residual stream"),
        (["why", "demo", WIDE, "--word", "elle", "--sentences", "/dev/null"], "is no file"),
    ],
)
def test_the_command_refuses(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert said in capsys.readouterr().err
