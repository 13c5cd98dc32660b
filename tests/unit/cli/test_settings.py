"""Options that are made from the settings, and the table of those that have no effect."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from typer import Context
from typer.main import get_command

from glassformer.cli import main
from glassformer.cli.effects import NO_EFFECT, list_refused
from glassformer.cli.settings import Setting, read_settings, write_changes
from glassformer.cli.verb import SEVERAL, find_typed, repeat_options
from glassformer.cli.verbs import app
from glassformer.config import Config

COMMANDS: dict[str, Any] = get_command(app).commands  # type: ignore[attr-defined]
SETTINGS = read_settings()


def parse(verb: str, *words: object) -> dict[str, Any]:
    """What the user typed, by the names of the parameters."""
    with COMMANDS[verb].make_context(verb, [*map(str, words)]) as context:
        return find_typed(context)


def choose_value(setting: Setting) -> Any:
    """A value that is allowed and is not the default."""
    if setting.values:
        return next(each for each in setting.values if each != setting.field.default)
    others = {"betas": [0.8, 0.9], "freeze": ["encoder"], "head_width": 64, "d_model": 64}
    others |= {"tag": "<fr>", "target_tag": "<fr>", "corpus_temperature": 5.0, "key_value_heads": 2}
    others |= {"ablate": ["norm"], "labels": ["yes"], "context": 2, "copies": 5}
    others |= {"teacher_best": 4, "teacher_mbr": 8}
    if setting.name in others:
        return others[setting.name]
    if setting.kind is bool:
        return not setting.field.default
    return {int: 301, float: 0.75, str: "fr"}[setting.kind]


NEEDS = {  # what else must be set
    "train.cycles": ["train.schedule=cosine"],
    "train.final_rate": ["train.schedule=linear"],
    "train.plateau_patience": ["train.schedule=plateau"],
    "text.sampling_alpha": ["text.tokenizer=unigram"],
    "train.lora_alpha": ["train.lora_rank=4"],
    "train.alignment_layer": ["train.alignment_weight=1"],
    "train.alignment_head": ["train.alignment_weight=1"],
    "train.prior_temperature": ["train.prior_weight=1"],
    "train.risk_samples": ["train.risk_weight=1"],
    "train.risk_sharpness": ["train.risk_weight=1"],
    "train.risk_utility": ["train.risk_weight=1"],
    "train.plateau_factor": ["train.schedule=plateau"],
    "model.labels": ["model.network=encoder"],
    "model.positions.reach": ["model.positions.layout=relative"],
    "model.attention.width": ["model.attention.pattern=local"],
    "model.attention.stride": ["model.attention.pattern=strided"],
    "model.attention.globals": ["model.attention.pattern=global+local"],
}


@pytest.mark.parametrize("key", [key for key in SETTINGS if not key.startswith("decode.")])
def test_each_setting_of_a_training_is_an_option(key: str) -> None:
    setting = SETTINGS[key]
    value = choose_value(setting)
    if setting.name in ("positions_max_positions", "heads", "pad_to"):
        value = 32
    words = [setting.option, value]
    if setting.kind is bool:
        words = [setting.option if value else f"--no-{setting.option[2:]}"]
    elif isinstance(value, list):
        words = [setting.option, *value]
    also = NEEDS.get(key, [])
    if key.startswith("model.rnn."):
        also = ["model.network=rnn"]
    if key == "model.rnn.input_feeding":
        also = [*also, "model.rnn.attention=dot"]
    changes = write_changes(parse("train", *words))
    assert [change.split("=")[0] for change in changes] == [key]
    found: Any = Config.read({}, [*changes, *also]).model_dump(mode="json")
    for name in key.split("."):
        found = found[name]
    assert found == value


@pytest.mark.parametrize("verb", ["translate", "evaluate", "see"])
def test_each_setting_of_the_search_is_an_option(verb: str) -> None:
    for key, setting in SETTINGS.items():
        if key.startswith("decode."):
            value = choose_value(setting)
            assert parse(verb, "demo", setting.option, value).pop(setting.name) == value


def test_an_option_says_what_the_setting_says() -> None:
    for verb, tables in {"train": ("model", "text", "data", "train"), "see": ("decode",)}.items():
        command = COMMANDS[verb]
        said = {param.name: param.help for param in command.get_params(Context(command))}
        for key, setting in SETTINGS.items():
            if key.split(".")[0] in tables:
                assert said[setting.name] == setting.field.description


def test_every_setting_says_what_it_is() -> None:
    for key, setting in SETTINGS.items():
        assert re.fullmatch(r"[A-Z].*[^.]\.", setting.field.description or ""), key
    names = [setting.name for setting in SETTINGS.values()]
    assert len(names) == len(set(names))


def test_the_values_of_a_setting_can_be_completed() -> None:
    command = COMMANDS["translate"]
    context = Context(command)
    (search,) = (each for each in command.get_params(context) if each.name == "search")
    found = [each.value for each in search.shell_complete(context, "")]
    assert found == ["beam", "greedy", "sample"]
    assert [each.value for each in search.shell_complete(context, "g")] == ["greedy"]


def test_the_table_of_effects_has_options_that_there_are() -> None:
    for verb, conditions in NO_EFFECT.items():
        command = COMMANDS[verb]
        options = {option for each in command.get_params(Context(command)) for option in each.opts}
        for where in conditions:
            named = {word for word in where.split() if word.startswith("--")}
            assert {*list_refused(verb, where), *named} <= options, (verb, where)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("train . --out x --d-model 7", "d_model=7 must be even"),
        ("train . --out x --optimizer adamw", r"train.optimizer: .*did you mean adam\?"),
        ("train . --out x --steps 0", "train.steps: must be at least 1"),
        ("train . --out x --steps 5 --minutes 1", "--minutes and --steps both say when to stop"),
        ("train --resume m --dropout 0.3", "--resume takes everything from the run itself"),
        ("translate demo x --shard-lines 5", "--shard-lines has no effect without --engine ray"),
        ("serve demo --log-text", "--log-text has no effect without --log"),
        ("serve --train-minutes 5", "--train-minutes has no effect without --train"),
    ],
)
def test_what_is_wrong_is_one_sentence(
    command: str, said: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(command.split()) == 2
    out, err = capfd.readouterr()
    assert out == "" and re.search(said, err) and err.count("\n") == 1


def test_an_option_takes_several_values_but_no_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "corpus").mkdir()
    (tmp_path / "text.en").touch()
    for typed, meant in (
        ("--freeze encoder embedding --out x y", "--freeze encoder --freeze embedding --out x y"),
        ("--freeze encoder corpus", "--freeze encoder corpus"),
        ("--freeze encoder text --freeze a b", "--freeze encoder text --freeze a --freeze b"),
        ("a b --out c d", "a b --out c d"),
    ):
        assert [*repeat_options(typed.split(), SEVERAL)] == meant.split()
