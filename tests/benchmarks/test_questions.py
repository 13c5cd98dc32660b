"""The pages of questions say what was measured, and a small training is measured as they say."""

from __future__ import annotations

import argparse
import json
import random
from pathlib import Path

import pytest

from benchmarks import question_multi30k, questions, small_tasks
from glassformer.config import Config


def test_the_tables_are_what_was_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pages = {language: tmp_path / page.name for language, page in questions.PAGES.items()}
    for language, page in questions.PAGES.items():
        pages[language].write_text(page.read_text(encoding="utf-8"), encoding="utf-8")
    monkeypatch.setattr(questions, "PAGES", pages)
    before = {language: page.read_text(encoding="utf-8") for language, page in pages.items()}
    questions.write_pages(questions.read_rows())
    assert before == {
        language: page.read_text(encoding="utf-8") for language, page in pages.items()
    }


CHEAP = {"encoder_layers": 2}


def test_every_setting_of_a_question_is_one_of_a_model() -> None:
    for settings in (each for rows in questions.QUESTIONS.values() for *_, each in rows):
        Config.read({"model": {**small_tasks.SHAPE, **settings}})


def test_translation_asks_the_same_questions_of_a_larger_network() -> None:
    assert question_multi30k.TRANSLATION.keys() == questions.QUESTIONS.keys()
    for settings in (each for rows in question_multi30k.TRANSLATION.values() for *_, each in rows):
        config = question_multi30k.make_config(settings, steps=300, seed=1)
        assert config.model.d_model == 128 and config.train.steps == 300


def test_what_is_measured_is_kept_and_not_measured_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(questions, "FOUND", tmp_path / "questions.json")
    short = small_tasks.make_sequences(lambda words: words, 2)
    monkeypatch.setitem(questions.TASKS, "copy", lambda: short)
    parser = argparse.ArgumentParser()
    questions.add_options(parser)
    options = parser.parse_args(["V108", "--task", "copy", "--seeds", "1"])
    questions.main(options)
    kept = json.loads(questions.FOUND.read_text(encoding="utf-8"))
    assert len(kept) == 2 and all(0 <= row["tokens"] <= 100 for row in kept)
    monkeypatch.setattr(questions, "measure_task", None)
    questions.main(options)


def test_equal_time_gives_a_cheaper_network_more_updates() -> None:
    told = [({}, 1, 100.0), ({}, 2, 300.0), (CHEAP, 1, 50.0), (CHEAP, 2, 150.0), (CHEAP, 3, 400.0)]
    rows = [
        {"task": "multi30k", "settings": each, "seed": seed, "milliseconds": cost, "loss": 3.0}
        for each, seed, cost in told
    ]
    assert questions.find_equal_steps(rows, CHEAP, 300) == 600
    with pytest.raises(ValueError, match="has measured"):
        questions.find_equal_steps(rows, {"heads": 1}, 300)


def test_pairs_are_what_the_task_says() -> None:
    source, target = small_tasks.TASKS["reverse"]().draw(random.Random(1))
    assert target == source[::-1] and 1 <= len(source) <= small_tasks.LONGEST
