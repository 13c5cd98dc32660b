"""What is called otherwise elsewhere is answered with our name for it."""

from __future__ import annotations

import re
from typing import Any

import pytest
from typer import Context
from typer.main import get_command

from glassformer.cli import main
from glassformer.cli.verbs import app
from glassformer.config import Config
from glassformer.foundation.compatibility.other_names import _read_names, _read_table, _read_values
from glassformer.foundation.validation_errors import find_settings, list_settings

COMMANDS: dict[str, Any] = get_command(app).commands  # type: ignore[attr-defined]
PARAMS = [param for each in COMMANDS.values() for param in each.get_params(Context(each))]
OPTIONS = {option for param in PARAMS for option in param.opts}
SETTINGS = list_settings(Config)


def test_each_right_side_exists() -> None:
    ours = {name for row in _read_names().values() for name in row.names}
    assert ours <= {*SETTINGS, *OPTIONS, "size"}
    assert {setting for setting, _ in _read_values()} <= {*SETTINGS}


def test_each_left_side_is_another_name_and_stands_once() -> None:
    """Else a row is never looked at, or hides one."""
    rows = [name for row in _read_table()["name"] for name in row["theirs"].split()]
    assert len(rows) == len(set(rows)) and len(rows) > 200
    assert not [name for name in rows if find_settings(name, SETTINGS)]
    assert not [name for name in rows if name != name.casefold() or "_" in name]


@pytest.mark.parametrize(("setting", "theirs"), _read_values())
def test_each_value_leads_to_one_that_is_taken(setting: str, theirs: str) -> None:
    (ours,) = _read_values()[setting, theirs].names
    Config.read({}, [f"{setting}={ours}"])
    with pytest.raises(ValueError, match=rf"did you mean {ours}\?"):
        Config.read({}, [f"{setting}={theirs}"])


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("lr", "train.learning_rate"),
        ("learning-rate", "train.learning_rate"),
        ("max-epoch", "train.epochs"),
        ("src-lang", "data.source_lang"),
        ("tgt_lang", "data.target_lang"),
        ("lenpen", "decode.alpha"),
        ("beam-size", "decode.beam"),
        ("batch_size", "train.batch_tokens"),
        ("max-tokens", "train.batch_tokens"),
        ("warmup_steps", "train.warmup"),
        ("update-freq", "train.gradient_accumulation"),
        ("fp16", "train.precision or --precision"),
        ("dropout", "model.dropout"),
        ("label-smoothing", "train.label_smoothing"),
        ("patience", "train.patience"),
        ("hidden_size", "model.d_model"),
        ("num_layers", "model.encoder_layers or model.decoder_layers"),
        ("FFN_dim", "model.d_ff"),
    ],
)
def test_a_setting_of_another_name_is_answered(theirs: str, ours: str) -> None:
    for place in ("", "model." if ours.startswith("train") else "train."):
        if f"{place}{theirs}" in SETTINGS:
            continue
        with pytest.raises(ValueError, match=rf"unknown setting .*did you mean {ours}\?"):
            Config.read({}, [f"{place}{theirs}=3"])


@pytest.mark.parametrize(
    ("command", "ours"),
    [
        ("train --max-epochs 3", "--epochs"),
        ("train --src-lang en", "--source-lang"),
        ("train --lr=0.1", "--learning-rate"),
        ("train -lr 0.1", "--learning-rate"),
        ("train --beam-size 4", "--set decode.beam=VALUE"),
        ("translate demo --lenpen 1", "--alpha"),
        ("translate demo -b 5", "--beam"),
        ("translate demo -b5", "--beam"),
        ("translate demo --beam-size=5", "--beam"),
        ("evaluate -i out.de", "--hypothesis"),
        ("serve demo --gpus 1", "--device"),
    ],
)
def test_an_option_of_another_name_is_answered(
    command: str, ours: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(command.split()) == 2
    said = capsys.readouterr().err
    assert re.search(rf"^glassformer: there is no -\S+; did you mean {ours}\?", said)
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("command", "answer"),
    [
        ("translate demo --hokus 1", "there is no --hokus: glassformer translate --help lists"),
        ("translate demo --steps 3", "there is no --steps: glassformer translate --help lists"),
        ("translate demo --baem=3", "there is no --baem; did you mean --beam?"),
        ("translate demo --vresion", "there is no --vresion; did you mean glassformer --version?"),
        ("--vresion", "there is no --vresion; did you mean --version?"),
        ("--hokus", "there is no --hokus: glassformer --help lists the options"),
        ("train --workspace 4000", "there is no --workspace; did you mean --fit-batch?"),
        ("serve --load-only en,fr", "there is no --load-only. A server has the models that are"),
    ],
)
def test_any_other_option_is_answered_in_one_line(
    command: str, answer: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also one that is known, but that this verb has no use for."""
    assert main(command.split()) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"glassformer: {answer}") and said.count("\n") == 1
