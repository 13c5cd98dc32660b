"""The size auto: it follows the corpus and the machine, and gives way to whoever knows better."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from glassformer.cli.train import read_recipe
from glassformer.config import SIZES, Config
from glassformer.data.corpus import find_data
from glassformer.foundation.machine.properties import Machine
from glassformer.train import train
from glassformer.train.plan.auto import (
    CorpusStats,
    choose_again,
    choose_settings,
    estimate_speed,
    find_parent,
    measure_corpus,
    render_choices,
    suggest_parent,
)

LAPTOP = Machine("a processor", 2, 2, "AVX512", True, True, "cpu", (), 16.0, 100.0, False)
NO_AMX = replace(LAPTOP, has_amx=False)
OLD = replace(LAPTOP, vectors="AVX2", has_amx=False, has_bf16=False)
GPU = replace(LAPTOP, device="cuda", gpus=("a GPU, 80 GiB",))
CORPORA = [5000, 29_000, 50_000, 160_000, 10**6, 10**7]
MINUTES = 9.5  # of the recipe's updates
KEYS = {
    "size",
    "text.vocabulary",
    "model.norm",
    "model.dropout",
    "train.minutes",
    "train.batch_tokens",
    "train.learning_rate",
    "train.warmup",
    "train.schedule",
    "train.label_smoothing",
    "train.ema",
    "train.optimizer",
}


def ask(pairs: int, machine: Machine = LAPTOP, **given: Any) -> tuple[Config, dict[str, str]]:
    stats = CorpusStats(pairs, pairs * 16, 150)
    config, choices = choose_settings(Config.read({"size": "auto", **given}), stats, machine)
    assert {each.key for each in choices} | {"train.minutes"} == KEYS
    return config, {each.key: each.why for each in choices}


def test_the_measured_point_is_met() -> None:
    """recipes/multi30k-en-de.toml, or near it."""
    config, _ = ask(29_000)
    recipe = Config.load(Path(__file__).parents[3] / "recipes" / "multi30k-en-de.toml")
    assert config.model == recipe.model and config.size == recipe.size
    assert config.text.vocabulary == recipe.text.vocabulary
    ours, theirs = config.train, recipe.train
    for name in ("batch_tokens", "schedule", "optimizer"):
        assert getattr(ours, name) == getattr(theirs, name), name
    assert config.train.minutes == pytest.approx(MINUTES, rel=0.4)
    for name in ("learning_rate", "warmup"):
        assert math.isclose(getattr(ours, name), getattr(theirs, name), rel_tol=0.4), name
    assert ours.ema == pytest.approx(theirs.ema, abs=1e-3)


@pytest.mark.parametrize(
    ("size", "machine", "measured"),
    [
        ("tiny", LAPTOP, 61_000),
        ("small", LAPTOP, 35_000),
        ("base", LAPTOP, 7800),
        ("tiny", NO_AMX, 22_600),
        ("tiny", replace(NO_AMX, threads=1), 14_200),
        ("tiny", OLD, 17_000),
    ],
)
def test_the_speed_is_about_right(size: str, machine: Machine, measured: float) -> None:
    """Tokens a second of docs/benchmarks.md."""
    assert estimate_speed(SIZES[size], 8000, machine) == pytest.approx(measured, rel=0.15)


@pytest.mark.parametrize(
    "machine", [LAPTOP, NO_AMX, OLD, GPU], ids=["laptop", "no AMX", "old", "gpu"]
)
def test_more_pairs_never_ask_for_less(machine: Machine) -> None:
    found = [ask(pairs, machine)[0] for pairs in CORPORA]
    sizes = [list(SIZES).index(config.size or "") for config in found]
    vocabularies = [config.text.vocabulary for config in found]
    assert sizes == sorted(sizes) and vocabularies == sorted(vocabularies)
    dropouts = [config.model.dropout for config in found]
    assert dropouts == sorted(dropouts, reverse=True)
    assert all(2 <= (config.train.minutes or 0) <= 240 for config in found)


def test_a_faster_machine_takes_more_on() -> None:
    few, many = ask(10**6, OLD)[0], ask(10**6, GPU)[0]
    assert few.model.d_model < many.model.d_model
    assert few.train.batch_tokens < many.train.batch_tokens
    by_size = [estimate_speed(shape, 8000, LAPTOP) for shape in SIZES.values()]
    assert by_size == sorted(by_size, reverse=True)
    assert all(
        estimate_speed(SIZES[size], 8000, OLD) < speed
        for size, speed in zip(SIZES, by_size, strict=True)
    )


def test_minutes_decide_with_the_pairs() -> None:
    hurried, patient = (ask(160_000, train={"minutes": minutes})[0] for minutes in (1.0, 60.0))
    assert (hurried.size, patient.size) == ("tiny", "small")
    assert (hurried.train.minutes, patient.train.minutes) == (1, 60)


def test_long_trainings_of_few_pairs_have_larger_batches() -> None:
    """An update costs something whatever its batch, and some 1,500 are enough."""
    few = [ask(2000, train={"minutes": minutes})[0] for minutes in (0.5, 2.0, 10.0, 60.0)]
    assert [each.train.batch_tokens for each in few] == [1024, 2048, 4096, 4096]
    counted = [ask(2000, train={"steps": steps})[0] for steps in (100, 100_000)]
    assert [each.train.batch_tokens for each in counted] == [1024, 1024]


@pytest.mark.parametrize("pairs", CORPORA)
def test_a_size_by_hand_keeps_the_recipe(pairs: int) -> None:
    """The size that auto takes gives what auto gives; another one what it gives at that size."""
    free, why = ask(pairs)
    assert why["size"] != "yours"
    stats = CorpusStats(pairs, pairs * 16, 150)
    given = read_recipe(None, [], size=free.size)
    assert given == read_recipe(free.size, [])
    found, choices = choose_settings(given, stats, LAPTOP)
    assert found == free
    assert [each.key for each in choices if each.is_yours] == ["size"]
    other = "base" if free.size != "base" else "tiny"
    config, _ = choose_settings(read_recipe(None, [], size=other), stats, LAPTOP)
    assert config.size == other and not config.is_open
    assert all(getattr(config.model, name) == value for name, value in SIZES[other].items())
    assert (config.model.norm, config.train.optimizer, config.train.schedule) == (
        "pre",
        "muon",
        "cosine",
    )


def test_the_papers_recipe_has_a_name() -> None:
    paper = read_recipe("paper", [], size="tiny")
    assert not paper.is_open and (paper.model.norm, paper.train.optimizer) == ("post", "adam")
    assert paper.model.d_model == SIZES["tiny"]["d_model"]
    assert read_recipe("paper", []).model == Config().model


def test_what_hangs_on_the_number_of_updates_is_chosen_again() -> None:
    config, _ = ask(29_000, train={"minutes": 1})
    few = choose_again(config, 38, ["train.warmup", "train.ema"])
    assert few.train.warmup and few.train.warmup < 38 / 3 < (config.train.warmup or 0)
    by_hand = choose_again(config, 38, [])
    assert by_hand == config


@pytest.mark.parametrize(
    ("table", "name", "value"),
    [
        ("text", "vocabulary", 1234),
        ("model", "dropout", 0.37),
        ("model", "norm", "post"),
        ("model", "d_model", 192),
        ("train", "learning_rate", 0.01),
        ("train", "minutes", 7.0),
        ("train", "steps", 77),
        ("train", "label_smoothing", 0.0),
        ("decode", "beam", 3),
        ("train", "batch_tokens", 1000),
        ("train", "schedule", "linear"),
        ("train", "ema", 0.5),
    ],
)
def test_what_is_set_by_hand_stands(table: str, name: str, value: object) -> None:
    config, why = ask(29_000, **{table: {name: value}})
    assert getattr(getattr(config, table), name) == value
    assert why.get(f"{table}.{name}", "yours") == "yours"
    assert [key for key, reason in why.items() if reason == "yours"] in ([f"{table}.{name}"], [])


def test_what_follows_from_a_setting_follows_the_one_by_hand() -> None:
    plain, wide = ask(29_000)[0], ask(29_000, model={"d_model": 256})[0]
    assert wide.train.learning_rate == pytest.approx((plain.train.learning_rate or 0) / 2, 0.05)
    short = ask(29_000, train={"steps": 1000})[0]
    assert (short.train.minutes, short.train.warmup, short.model.dropout) == (None, 50, 0.1)


def test_chosen_settings_survive_their_file(tmp_path: Path) -> None:
    for pairs in CORPORA:
        config = ask(pairs)[0]
        (tmp_path / "c.toml").write_text(config.to_toml(), encoding="utf-8")
        assert Config.load(tmp_path / "c.toml") == config
        assert config.size in SIZES


def test_left_open_it_stays_open_in_its_file(tmp_path: Path) -> None:
    config = Config.read({"size": "auto"}, ["train.steps=9"]).changed(data={"source_lang": "en"})
    (tmp_path / "c.toml").write_text(config.to_toml(), encoding="utf-8")
    again = Config.load(tmp_path / "c.toml")
    raw = again.model_dump(exclude_unset=True)
    assert raw == {"size": "auto", "train": {"steps": 9}, "data": {"source_lang": "en"}}


def test_the_extent_is_about_right(data: Path) -> None:
    """Against the tokens that tokenizers made: 29,000 pairs hold some 450,000 a side."""
    stats = measure_corpus(find_data([data / "multi30k" / "train"], "en", "de").train)
    assert stats.pairs == 29_000 and 80 < stats.alphabet < 250
    assert 350_000 < stats.tokens < 600_000
    chinese = measure_corpus(
        islice(find_data([data / "tatoeba_en_zh" / "train"], "en", "zh").train, 99)
    )
    assert 99 * 5 < chinese.tokens < 99 * 12


def test_every_character_finds_room() -> None:
    config, _ = choose_settings(
        Config.read({"size": "auto"}), CorpusStats(5000, 50_000, 6000), LAPTOP
    )
    assert config.text.vocabulary >= 256 + 3 + 6000 + 1000


def test_the_table_says_why() -> None:
    stats = CorpusStats(29_000, 450_000, 100)
    config, choices = choose_settings(
        Config.read({"size": "auto", "train": {"minutes": 8 / 3}}), stats, LAPTOP
    )
    head, *rows = render_choices(choices, stats, LAPTOP).splitlines()
    assert "29,000 pairs" in head and "2 cores" in head and "bf16" in head and "--set" in head
    assert len(rows) == len(choices) and all(len(row.split()) > 2 for row in rows[:2])
    minutes = next(row for row in rows if "train.minutes" in row)
    assert minutes.split() == ["train.minutes", "2.667", "yours"]
    assert config.train.minutes == 8 / 3


@pytest.mark.parametrize(
    ("source", "size", "pairs", "text", "is_said"),
    [
        ("en", "auto", 5000, "Əlvida, dostum!", True),
        ("eng", "auto", 5000, "Tạm biệt nhé, bạn của tôi!", True),
        ("en", "auto", 5000, "再见，我的朋友！", False),
        ("en", "auto", 5000, "ნახვამდის, ჩემო მეგობარო!", False),
        ("en", "auto", 5000, "ᏙᎾᏓᎪᎲᎢ, ᎣᎩᎾᎵᎢ!", False),
        ("en", "auto", 50_000, "Auf Wiedersehen, mein Freund!", False),
        ("en", "tiny", 5000, "Auf Wiedersehen, mein Freund!", False),
        ("de", "auto", 5000, "Goodbye, my friend!", False),
    ],
)
def test_little_data_may_start_from_a_shipped_model(
    source: str, size: str, pairs: int, text: str, is_said: bool
) -> None:
    raw = {"recipe": "auto", "size": size, "data": {"source_lang": source, "target_lang": "xx"}}
    stats = measure_corpus([("Goodbye, my friend!", text)] * pairs)
    assert ("everyday-en-fr" in suggest_parent(Config.read(raw), stats)) == is_said
    in_a_night = Config.read(raw).changed(data={"corpus": [{"name": "made", "paths": ["a", "b"]}]})
    assert not suggest_parent(in_a_night, stats)


@pytest.mark.parametrize(
    ("langs", "name"),
    [
        (("fr", "wol"), "everyday-fr-en"),
        (("az", "en-GB"), "everyday-fr-en"),
        (("en", "de"), "everyday-en-de"),
        (("xx", "de"), "everyday-en-de"),
        (("de", "fr"), "everyday-en-fr"),
        (("de", "xx"), ""),
        ((None, None), ""),
    ],
)
def test_a_parent_has_a_language_on_the_same_side(
    langs: tuple[str | None, str | None], name: str
) -> None:
    assert find_parent(langs) == name


@pytest.fixture
def small_shape(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    tiny = {**SIZES["tiny"], "d_model": 16, "d_ff": 16, "encoder_layers": 1, "decoder_layers": 1}
    monkeypatch.setitem(SIZES, "tiny", tiny)
    yield


def test_a_training_settles_its_settings(
    tmp_path: Path, corpus: list[Path], small_shape: None, capfd: pytest.CaptureFixture[str]
) -> None:
    changes = ["train.steps=2", "model.dropout=0.4"]
    train(Config.read({"size": "auto"}, changes), corpus, tmp_path / "m")
    said = capfd.readouterr().err
    assert "Chosen for 17 pairs" in said and "0.4  yours" in said
    config = Config.load(tmp_path / "m" / "config.toml")
    assert (config.size, config.model.dropout, config.train.steps) == ("tiny", 0.4, 2)
    assert config.model.norm == "pre" and config.train.schedule == "cosine"
    assert os.path.getsize(tmp_path / "m" / "model.safetensors") > 0
