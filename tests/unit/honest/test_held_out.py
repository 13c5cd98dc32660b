"""A published model says what it does with a test text, and what it cannot do."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from glassformer.cli import main
from glassformer.extensions.lab.robustness import RobustnessRow
from glassformer.extensions.publish.hub_readme import README
from glassformer.extensions.publish.limits import list_limits
from glassformer.extensions.publish.looks import LOOKS
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
        "On text with CAPITALS it loses 31 % of its BLEU.",
        "In lines with a planted name it repeats that in 50 %.",
        "It translates 90 % of 200 short inputs soundly.",
    ]
    assert "It met 785 different words" in limits[2]
    thai = config.changed(data={"source_lang": "th"})
    limits = [*list_limits(SHIPPED / "demo", thai, rows)]
    assert "It met 785 different characters and words in training" in limits[2]
    nothing = (RobustnessRow("as it is", 0.021, None, None),)
    said = [*list_limits(SHIPPED / "demo", config, nothing)]
    assert said[-1] == "It has learned next to nothing: its BLEU on the test lines is 0.02."
