"""What a training leaves beside its model: said at its end, not published, removed when asked."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.unit.circuits.test_replay import PAIRS, run_training

from glassformer.cli import main
from glassformer.extensions.circuits.forget import forget_training
from glassformer.extensions.circuits.replay import find_obstacle
from glassformer.extensions.publish.publishing import publish_model
from glassformer.model.files.directory import WEIGHTS
from glassformer.train.publish.leftovers import measure_run, tell_size
from glassformer.train.run.process import hold_lock
from glassformer.translator import Translator

LONG = 20  # letters: shorter sentences may be in an example by chance


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_training(tmp_path_factory.mktemp("forget") / "m")


@pytest.fixture
def model(trained: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(trained, tmp_path / "m"))


def test_the_end_of_a_training_says_what_it_keeps(
    model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", "--resume", str(model), "--quiet"]) == 0
    contents = measure_run(model)
    assert contents and contents.training_text > 0
    said = capsys.readouterr().out
    assert f"{model / 'run'} has " in said
    assert f"training text {tell_size(contents.training_text)}" in said
    assert f"glassformer forget {model}" in said


def test_a_training_forgets_at_its_end_if_asked(
    model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", "--resume", str(model), "--quiet", "--forget"]) == 0
    assert f"{model / 'run'} is removed: it had " in capsys.readouterr().err
    assert not (model / "run").exists() and (model / WEIGHTS).is_file()
    assert Translator.load(model, device="cpu").translate(PAIRS[0][0])


def test_what_is_published_has_no_training_text(model: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    left = publish_model(model, copy).run
    assert left and left.training_text > 0
    assert not (copy / "run").exists()
    published = "\n".join(
        path.read_bytes().decode("utf-8", "replace") for path in copy.rglob("*") if path.is_file()
    )
    texts = [text for pair in PAIRS for text in pair if len(text) >= LONG]
    assert texts and not [text for text in texts if text in published]


def test_a_model_without_its_training_says_what_to_do(
    model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = Translator.load(model, device="cpu", precision="fp32").translate("The cat is small.")
    assert not find_obstacle(model)
    contents = measure_run(model)
    assert main(["forget", str(model)]) == 0
    assert f"Removed {model / 'run'} with {contents}" in capsys.readouterr().out
    assert not (model / "run").exists() and (model / WEIGHTS).is_file()
    after = Translator.load(model, device="cpu", precision="fp32").translate("The cat is small.")
    assert str(after) == str(before)
    command = ["taught", str(model), PAIRS[0][0], "--word", "le", "--target", "le chat"]
    assert main(command) == 2
    said = capsys.readouterr().err
    assert "--data is missing" in said and "does not remember" in said
    assert main(["train", "--resume", str(model)]) == 2
    assert main(["forget", str(model)]) == 2
    assert "remembers no training" in capsys.readouterr().err


def test_what_is_needed_is_not_removed(model: Path) -> None:
    with hold_lock(model / "run"), pytest.raises(ValueError, match="being trained"):
        forget_training(model)
    (model / WEIGHTS).unlink()
    with pytest.raises(ValueError, match="no model yet"):
        forget_training(model)
    assert not find_obstacle(model)
