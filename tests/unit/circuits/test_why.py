"""`glassformer why` and `trace.why`: what is asked, what is refused, and what `demo` answers."""

from __future__ import annotations

import json
import re
import shutil
from html import unescape
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from glassformer.cli import main
from glassformer.extensions.circuits.report import spell_word
from glassformer.extensions.circuits.words import ask_word
from glassformer.model.files.directory import GOLDEN, locate
from glassformer.see import Trace
from glassformer.translator import Translator

WIDE = "The animal didn't cross the street because it was too wide."
TIRED = WIDE.replace("wide", "tired")


PAGES = [Path(__file__).parents[3] / "docs" / name for name in ("why.md", "why.zh.md")]
DOG = "The dog didn't cross the road because it was too {}."
CHIEN = "Le chien n'a pas traversé la route parce qu'{} était trop {}."
PAIRS = "source\tright\twrong\tcounterpart\n" + "".join(
    f"{DOG.format(own)}\t{CHIEN.format(*right)}\t{CHIEN.format(*wrong)}\t{DOG.format(other)}\n"
    for own, other, right, wrong in (
        ("wide", "tired", ("elle", "large"), ("il", "large")),
        ("tired", "wide", ("il", "fatigué"), ("elle", "fatiguée")),
        ("wide", "very very tired", ("elle", "large"), ("il", "large")),
    )
)


def check_page(said: str, found: dict[str, Any]) -> None:
    """Hold the guide to what the command says; another processor may find a circuit like it."""
    texts = [page.read_text(encoding="utf-8") for page in PAGES]
    blocks = [re.findall(r"^```.*?^```", text, re.MULTILINE | re.DOTALL) for text in texts]
    assert blocks[0] == blocks[1]
    _, first, circuit, *_ = blocks[0]
    words = dict(found["inputs"]["source"]) | dict(found["inputs"]["target"])
    told = re.findall(r"(\S+) ([+-]\d+\.\d\d)(?=  |$)", first, re.MULTILINE)
    assert len(told) > 10
    words |= {"positions:": found["positions"], "biases:": found["biases"]}
    for word, value in told:
        assert words[word] == pytest.approx(float(value), abs=0.011), word
    assert f"by {found['lead']:+.3f}" in first
    for name in ("as it is", "held"):
        shown = found["hidden"][name] - (found["lead"] if name == "held" else 0)
        assert all(f"{shown:.2f}" in text for text in texts)
    size, of, kept = re.findall(r"([\d,]+) of ([\d,]+) edges keep ([\d.]+)%", circuit)[0]
    own = found["circuits"][0]
    assert own["of"] == int(of.replace(",", ""))
    assert own["size"] == pytest.approx(int(size), rel=0.2)
    assert 100 * own["kept"] == pytest.approx(float(kept), abs=2)
    assert re.search(r"where: \d+ at wide, \d+ after parce$", said, re.MULTILINE)


@pytest.fixture(scope="module")
def trace() -> Trace:
    return Translator.load("demo", device="cpu", precision="fp32").see(WIDE, level="attention")


@pytest.mark.thorough
def test_the_command_answers(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    asked = ["why", "demo", WIDE, "--word", "elle", "--rival", "il", "--counterpart", TIRED]
    (tmp_path / "pairs.tsv").write_text(PAIRS, encoding="utf-8")
    asked += ["--pairs", str(tmp_path / "pairs.tsv"), "-o", str(tmp_path / "why.json")]
    asked += ["--picture", str(tmp_path / "why.svg")]
    assert main(asked) == 0
    said = capsys.readouterr().out
    assert "qu'elle leads qu'il by +8.3" in said and "On 2 other sentences (1 left out)" in said
    found = json.loads((tmp_path / "why.json").read_text(encoding="utf-8"))
    check_page(said, found)
    size, of = (f"{found['circuits'][0][name]:,}".replace(",", "\u202f") for name in ("size", "of"))
    drawn = unescape((tmp_path / "why.svg").read_text(encoding="utf-8"))
    assert f"not “qu'il”: {size} of {of} edges, all at “wide” and after “parce”" in drawn
    transfer = found["transfer"]
    assert transfer["kept"] > 0.2 > max(transfer["random"])
    assert found["gap"] < 1e-4
    of_words = sum(value for side in found["inputs"].values() for _, value in side)
    assert of_words + found["positions"] + found["biases"] == pytest.approx(found["lead"], abs=1e-4)
    for circuit in found["circuits"]:
        assert circuit["kept"] >= 0.9 > circuit["dearest"]
        assert circuit["size"] <= 0.05 * circuit["of"]
        assert max(circuit["random"]) < 0.2
        assert len(circuit["losses"]) == circuit["size"]
        assert min(circuit["losses"]) == pytest.approx(circuit["kept"] - circuit["dearest"])
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


def test_a_rival_of_several_tokens_parts_at_the_first_that_differs(trace: Trace) -> None:
    whole = [each.id for each in trace.predicted]
    rows = [n for n, each in enumerate(trace.predicted) if "large" in each.text]
    other = [*whole[: rows[0]], 77, 78, *whole[rows[0] + 1 :]]
    asked = ask_word(trace, "large", "anything", tokenize=lambda text: other)
    assert (asked.row, asked.contrast.answers[1]) == (rows[0], 77)
    said: list[str] = []

    def tokenize(text: str) -> list[int]:
        said.append(text)
        return whole[:2]

    with pytest.raises(ValueError, match="not one token"):
        ask_word(trace, "large", "xyzzy", tokenize=tokenize)
    assert said == ["L'animal n'a pas traversé la rue parce qu'elle était trop xyzzy."]


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


@pytest.mark.thorough
def test_a_model_without_examples_says_what_a_circuit_needs(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    demo = locate("demo")
    folder = tmp_path / "bare"
    shutil.copytree(demo, folder, ignore=shutil.ignore_patterns(GOLDEN))
    assert main(["why", str(folder), "The cat is small.", "--word", "chat"]) == 0
    assert "Give one with --counterpart" in (said := capsys.readouterr().out)
    assert "as much as before" not in said


def test_a_token_that_cannot_be_seen_has_a_name() -> None:
    tokens = [SimpleNamespace(text=text) for text in ("\u200b", " cat")]
    why: Any = SimpleNamespace(trace=SimpleNamespace(source=tokens, target=tokens))
    assert spell_word(why, "encoder.0", 0) == "at U+200B"
    assert spell_word(why, "decoder.0", 1) == "after cat"
