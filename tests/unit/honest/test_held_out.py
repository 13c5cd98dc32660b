"""A published model says what it does with a test text, and what it cannot do."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from glassformer.cli import main
from glassformer.extensions.honest.comparison import compare_with_training
from glassformer.extensions.honest.held_out import HeldOutReport
from glassformer.extensions.lab.robustness import RobustnessRow
from glassformer.extensions.publish.hub_readme import README
from glassformer.extensions.publish.languages import counts_characters
from glassformer.extensions.publish.limits import judge_scores, list_limits
from glassformer.extensions.publish.looks import LOOKS
from glassformer.extensions.publish.publishing import publish_model
from glassformer.model.files.directory import CARD, SHIPPED, open_model
from glassformer.train.publish.card import read_facts
from tools.demo_corpus.files import write_pairs


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("texts") / "pairs"
    write_pairs(folder, "en", "fr", {"train": 300, "test": 40})
    return folder


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return Path(shutil.copytree(SHIPPED / "demo", tmp_path / "my-model"))


def publish(model: Path, pairs: Path, *more: str) -> tuple[int, Path]:
    out = model.parent / "out"
    test = ["--test", str(pairs / "test.en"), "--reference", str(pairs / "test.fr")]
    return main(["publish", str(model), "--out", str(out), *test, *more]), out


def test_a_card_has_what_was_measured(
    model: Path, pairs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out = publish(model, pairs, "--training", str(pairs / "train"), "--json")
    told = json.loads(capsys.readouterr().out)["test"]
    text = (out / README).read_text("utf-8")
    assert code == 0 and told["lines"] == 40 and told["looks"] == 1
    bleu, half = told["scores"]["BLEU"]
    assert bleu > 80 and f"| BLEU | {bleu:.2f} | ± {half:.2f} |" in text
    assert read_facts(out)["test"]["BLEU"] == bleu
    assert f"{told['training']['twins']} of 40 lines stand, or nearly stand, in the 300" in text
    without = told["training"]["without_twins"]
    assert f"| without these | {without['lines']} |" in text
    assert re.search(r"\| typing errors \| \d+\.\d \| \d+\.\d % \|", text)
    assert "than that of the translations of the text as it is, changed alike" in text
    assert "It translates English to French; text in another language" in text
    assert '{"type": "text", "name": "test text"}' in text
    assert "## Exam\n" in (out / CARD).read_text("utf-8")


def test_looks_are_counted_in_the_folder_that_is_published(model: Path, pairs: Path) -> None:
    for looks in (1, 2, 3):
        code, out = publish(model, pairs)
        assert code == 0 and [*json.loads((model / LOOKS).read_text()).values()] == [looks]
        text = (out / README).read_text("utf-8")
        assert ("this text was looked at 3 times" in text) == (looks == 3)
        assert "nearest training source" not in text  # whose training text is not there
        assert not (out / LOOKS).exists()
        shutil.rmtree(out)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--test", "few.en"], "few.en needs its translations, too: --reference FILE"),
        (["--reference", "few.fr"], "--reference goes with --test"),
        (["--test", "few.en", "--reference", "few.fr"], "at least 10 lines, not 3"),
        (["--test", "test.en", "--reference", "few.fr"], "the numbers of lines differ"),
        (["--test", "none.en", "--reference", "few.fr"], "none.en"),
    ],
)
def test_a_test_text_that_does_not_fit_publishes_nothing(
    model: Path,
    pairs: Path,
    options: list[str],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(model.parent)
    for lang in ("en", "fr"):
        Path(f"few.{lang}").write_text("one\ntwo\nthree\n", encoding="utf-8")
        shutil.copyfile(pairs / f"test.{lang}", f"test.{lang}")
    assert main(["publish", str(model), "--out", "out", *options]) == 2
    assert said in capsys.readouterr().err
    assert not Path("out").exists() and not (model / LOOKS).exists()


def test_a_language_model_translates_no_test_text(
    pairs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lm = Path(shutil.copytree(SHIPPED / "demo-lm", tmp_path / "lm"))
    code, out = publish(lm, pairs)
    assert code == 2 and not out.exists()
    assert "language model" in capsys.readouterr().err


def test_what_a_model_is_bad_at_is_said() -> None:
    rows = (
        RobustnessRow("CAPITALS", 30.0, 0.31, None),
        RobustnessRow("a tab", 30.0, 0.19, None),
        RobustnessRow("a planted name", 30.0, 0.1, 0.5),
        RobustnessRow("a planted number", 30.0, 0.1, 0.96),
        RobustnessRow("200 short inputs", None, None, 0.9),
    )
    config = open_model(SHIPPED / "demo")[0]
    limits = [*list_limits(SHIPPED / "demo", config, rows)]
    assert limits[-3:] == [
        "On text with CAPITALS it loses 31 % of the BLEU that its translations of the text as it "
        "is, changed alike, have.",
        "In lines with a planted name it repeats that in 50 %.",
        "In 10 % of 200 short inputs it doubles a word, writes nothing or far too much, or changes "
        "a number or an emoji.",
    ]
    assert "It met 785 different words" in limits[2]
    thai = config.changed(data={"source_lang": "th"})
    limits = [*list_limits(SHIPPED / "demo", thai, rows)]
    assert "It met 785 different characters and words in training" in limits[2]
    nothing = (RobustnessRow("as it is", 0.021, None, None), rows[-1])  # no word of short inputs
    said = [*list_limits(SHIPPED / "demo", config, nothing)]
    assert said[-1] == "It has learned next to nothing: its BLEU on the test lines is 0.02."


@pytest.mark.parametrize(
    ("scores", "memory", "lang", "said"),
    [
        ((1.82, 13.14), 17.89, "chr", ["next to nothing", "no look-up"]),
        ((19.85, 14.94), 28.0, "my", ["next to nothing", "no look-up"]),
        ((16.95, 34.92), 36.81, "nqo", ["no look-up"]),
        ((16.95, 34.92), 30.0, "nqo", []),
        ((0.5, 34.92), None, "nqo", ["next to nothing"]),
        ((9.0, 14.94), None, "my", []),
    ],
)
def test_a_model_that_is_no_better_than_the_memory_is_said_to_be_so(
    scores: tuple[float, float], memory: float | None, lang: str, said: list[str]
) -> None:
    by_metric = {"BLEU": (scores[0], 1.0), "chrF++": (scores[1], 4.0)}
    messages = [*judge_scores(by_metric, memory, counts_characters(lang))]
    assert len(messages) == len(said)
    if "no look-up" in said:
        assert f"its chrF++ is {scores[1]:.2f} ± 4.00" in messages[-1]
        assert f"sources have {memory:.2f}; more pairs, more time" in messages[-1]
    if "next to nothing" in said:
        bleu = "BLEU of characters" if lang == "my" else "BLEU"
        assert f"nothing: its {bleu} on the test lines is {scores[0]:.2f}" in messages[0]


def test_bleu_of_characters_is_called_so() -> None:
    lines = [f"line {number} of it" for number in range(12)]
    compared = compare_with_training([*zip(lines, lines, strict=True)], lines, [lines], lines, "my")
    report = HeldOutReport(12, {"BLEU": (20.0, 2.0)}, compared, None, 1, by_characters=True)
    assert report.list_scores() == [("BLEU of characters", "20.00 ± 2.00")]
    assert "| BLEU of characters | 20.00 |" in str(report)
    assert "| test lines | number | BLEU of characters | chrF++ |" in str(report)
    assert all("BLEU of characters 100.00" in text for name, text in compared.list_rows()[2:4])


def test_remarks_on_the_data_stand_on_the_card(model: Path) -> None:
    publish_model(model, model.parent / "out", remarks=["more.my is not used"])
    text = (model.parent / "out" / README).read_text("utf-8")
    assert "\n\nmore.my is not used\n\n## Scores" in text
