"""A night from its pairs to its published model, with kills in between."""

from __future__ import annotations

import json
import re
import shutil
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from itertools import count, product
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any
from unicodedata import normalize

import pytest

from glassformer.cli import main
from glassformer.cli.terminal import INTERRUPTED
from glassformer.extensions.cluster.ray_calls import Cluster
from glassformer.extensions.honest.diagnostics import find_run_folder
from glassformer.extensions.night import night as module
from glassformer.extensions.night import publishing, trainings
from glassformer.extensions.night.cli.night import find_languages, print_outcome
from glassformer.extensions.night.ending import KeptTranslations
from glassformer.extensions.night.night import Night
from glassformer.extensions.night.parents import choose_dropout, choose_parent
from glassformer.extensions.night.planning import StepResult
from glassformer.extensions.night.state import (
    NightRequest,
    begin_state,
    count_left,
    read_clock,
    read_state,
    write_state,
)
from glassformer.extensions.night.texts import gather_text, read_pairs_of, write_parts
from glassformer.extensions.night.trainings import TrainingJob
from glassformer.foundation.disk import write_text
from glassformer.foundation.extensions import find_addition
from glassformer.foundation.progress import Reporter
from glassformer.model.files.directory import SHIPPED, open_model
from glassformer.train.plan import preparation
from glassformer.train.plan.auto import measure_corpus
from glassformer.train.publish.health import examine_model
from glassformer.train.run import meter
from glassformer.train.run.loop import Loop
from glassformer.translator import Translator
from tools.demo_corpus.files import write_pairs

Run = Callable[..., tuple[int, str]]


class Killed(BaseException):
    """The end of the process, at a point of a night."""


@pytest.fixture
def pairs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "pairs"
    write_pairs(folder, "en", "fr", {"train": 600, "valid": 120, "test": 60})
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def run(pairs: Path, capfd: pytest.CaptureFixture[str]) -> Run:
    """Run `night` on the pairs, and return its exit code and all that it said."""

    def run(*more: str) -> tuple[int, str]:
        capfd.readouterr()
        given = ["train.en", "train.fr", "--out", "made", "--valid", "valid", "--test", "test"]
        given += ["--from", "none"]
        code = main(["night", *given, *more])
        return code, "".join(capfd.readouterr())

    return run


def estimate(monkeypatch: pytest.MonkeyPatch, minutes: float, pairs: int = 30_000) -> None:
    """Pretend that auto takes so many minutes for these pairs."""

    def tell(night: Night) -> None:
        night.state.usual, night.state.pairs = minutes, pairs

    monkeypatch.setattr(Night, "estimate_usual", tell)


@pytest.fixture
def pretended(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Pretend trainings and scores: what a night decides of them is the subject here."""
    told: dict[str, Any] = {"scores": {}, "made": [], "kill": "", "copied": 0.0, "soups": []}
    told["layers"] = {}  # of the models whose size is not that of auto

    def train(job: Any, device: str) -> Any:
        told["made"].append(job)
        if job.out.name == told["kill"]:
            told["kill"] = ""
            raise Killed
        progress = SimpleNamespace(spent=60 * job.minutes)
        return SimpleNamespace(is_finished=True, progress=progress)

    def score(models: Any, pairs: Any) -> dict[str, float]:
        name = "ensemble" if len(models) > 1 else models[0].name
        return {"chrF++": told["scores"].get(name, 20.0), "BLEU": 1.0}

    def translate(
        models: Any, kind: str, text: Path, out: Path, report: Any, progress: Callable[[int], None]
    ) -> None:
        progress(500)
        if out.stem == told["kill"]:
            told["kill"] = ""
            raise Killed
        write_text(out, "".join(f"{line}\t{line}\n" for line in text.read_text().splitlines()))

    monkeypatch.setattr(module, "run_training", train)
    monkeypatch.setattr(module, "score_models", score)
    monkeypatch.setattr(module, "make_corpus", translate)
    monkeypatch.setattr(module, "make_soup", lambda models, out: told["soups"].append([*models]))
    monkeypatch.setattr(module, "measure_copies", lambda model, pairs: told["copied"])
    monkeypatch.setattr(module, "read_layers", lambda model: told["layers"].get(model.name))
    monkeypatch.setattr(module, "finish", lambda night: night.folder / "model")
    monkeypatch.setattr(module, "time_sentence", lambda *_: 0.001)
    estimate(monkeypatch, 4.5)
    return told


def list_made(told: dict[str, Any]) -> list[str]:
    return [each.out.name for each in told["made"]]


def begin(folder: Path, minutes: float, parent: str | None = "none", **given: Any) -> Night:
    """Return a night on the pairs in a folder."""
    own: dict[str, Any] = {name: [str(folder / name)] for name in ("valid", "test")}
    data = [str(folder / f"train.{lang}") for lang in ("en", "fr")]
    request = NightRequest(data, "en", "fr", **own, parent=parent, **given)
    out = folder / "made"
    out.mkdir(exist_ok=True)
    return Night(out, begin_state(out, request, minutes, None), Reporter(quiet=True))


def test_a_short_night_starts_from_a_shipped_model(pairs: Path, pretended: dict[str, Any]) -> None:
    night = begin(pairs, 20, parent=None)
    night.run()
    (job,) = pretended["made"]
    assert job.out.name == night.state.chosen == "parent"
    assert job.parent == Path("everyday-en-fr") and job.has_new_tokens
    assert job.changes == ["model.dropout=0.3"]
    assert any("everyday-en-fr is there to start from" in each for each in night.state.said)
    again = begin(
        pairs, 200, parent=None
    )  # with more time, it is compared with a start from nothing
    again.run()
    assert list_made(pretended)[1] == "auto" and list_made(pretended).count("parent") == 1


@pytest.mark.parametrize(
    ("minutes", "given"),
    [
        (3, {}),  # too little for a model of that size
        (20, {"parent": "none"}),
        (20, {"size": "tiny"}),
        (20, {"changes": ["model.d_model=32"]}),
    ],
)
def test_a_short_night_may_start_from_nothing(
    pairs: Path, pretended: dict[str, Any], minutes: float, given: dict[str, Any]
) -> None:
    begin(pairs, minutes, **({"parent": None} | given)).run()
    (job,) = pretended["made"]
    assert job.out.name == "auto" and job.parent is None


@pytest.mark.parametrize(
    ("langs", "texts", "name"),
    [
        (("en", "hau"), ("The sun.", "Rana ce ƙwarai."), "everyday-en-fr"),
        (("en-GB", "de-AT"), ("The sun.", "Die Sonne."), "everyday-en-de"),
        (("az", "en"), ("Günəş.", "The sun."), "everyday-fr-en"),
        (("fr", "wol"), ("Le soleil.", "Jant bi."), "everyday-fr-en"),
        (("fr", "en"), ("Le soleil.", "The sun."), "everyday-fr-en"),
        (("en", "zh"), ("The sun.", "太阳。"), ""),
        (("am", "en"), ("ፀሐይ።", "The sun."), ""),
        (("yor", "ibo"), ("Oòrùn.", "Anyanwụ."), ""),
        (("en", "xx"), ("12", ""), ""),
    ],
)
def test_a_parent_has_a_language_and_the_script_of_the_pairs(
    langs: tuple[str, str], texts: tuple[str, str], name: str
) -> None:
    assert choose_parent(langs, ([texts[0]], [texts[1]])) == name
    assert choose_parent(langs, ([texts[0]] * 50_000, [texts[1]])) == ""


def test_the_dropout_of_a_parent_grows_with_the_passes() -> None:
    found = [choose_dropout(minutes, 10) for minutes in (5, 15, 60)]
    assert found == [f"model.dropout={each}" for each in (0.1, 0.2, 0.3)]


def test_a_longer_night_measures_how_fast_trainings_are(
    pairs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = []

    def measure(job: Any, device: str) -> float:
        assert all(len(Path(path).read_text().splitlines()) == 2 for path in job.valid)
        jobs.append(job)
        return 5_000.0 if job.parent else 15_000.0

    monkeypatch.setattr(module, "measure_speed", measure)
    night = begin(pairs, 240, parent=None)
    night.prepare()
    assert [each.parent for each in jobs] == [None, Path("everyday-en-fr")]
    state, stats = night.state, measure_corpus(zip(*night.texts.read("train"), strict=True))
    assert state.usual == max(2.0, 60 * 2 * stats.tokens / 15_000 / 60) and state.cost == 3.0
    assert not (night.folder / "speed").exists()


def test_a_few_updates_show_the_speed_of_a_training(
    pairs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for each in (trainings, meter):
        monkeypatch.setattr(each, "ENOUGH", 0.1)
    job = TrainingJob(
        tmp_path / "speed",
        ("en", "fr"),
        [(["train.en", "train.fr"], None)],
        ["valid.en", "valid.fr"],
        60,
        1,
        changes=["model.d_model=16", "model.d_ff=16"],
    )
    began = time.perf_counter()
    assert 100 < trainings.measure_speed(job, "cpu") < 10**7
    assert time.perf_counter() - began < 120


def test_a_night_can_be_stopped_while_it_measures(
    pairs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped = SimpleNamespace(is_finished=False)
    monkeypatch.setattr(trainings, "begin_training", lambda *_, **__: stopped)
    night = begin(pairs, 240)
    with pytest.raises(module.StoppedNight, match="goes on"):
        night.run()
    assert not night.state.usual


@pytest.mark.parametrize("killed", ["auto", "reverse", "turned", "member-1", "taught", "student"])
def test_a_killed_night_goes_on_where_it_was(
    pairs: Path, pretended: dict[str, Any], killed: str
) -> None:
    scores = {"auto": 20.0, "member-1": 21.0, "ensemble": 23.0, "student": 22.5}
    pretended |= {"scores": scores, "kill": killed}
    with pytest.raises(Killed):
        begin(pairs, 120).run()
    night = begin(pairs, 120)
    night.run()
    names = [each.name for each in night.state.steps]
    assert names == [*dict.fromkeys(names)] and names[0] == "auto"
    assert {"reverse", "made", "member-2", "ensemble", "taught", "student"} <= {*names}
    assert list_made(pretended).count(killed) in (0, 2)  # a translation is no training
    assert night.state.chosen == "student" and read_state(night.folder) == night.state


def test_the_time_of_translations_before_a_kill_counts(
    pairs: Path, pretended: dict[str, Any]
) -> None:
    pretended["kill"] = "forward"

    def run() -> Night:
        night = begin(pairs, 120)
        clock = count(step=60.0)  # each look at it is a minute later
        night.clock = lambda: float(next(clock))
        night.latest = 0.0
        night.run()
        return night

    with pytest.raises(Killed):
        run()
    killed = read_state(pairs / "made")
    assert killed and killed.begun[0].name == "made" and killed.under_way >= 60
    night = run()
    (minutes,) = [each.minutes for each in night.state.steps if each.name == "made"]
    assert minutes > killed.under_way / 60 and night.state.under_way == 0
    total = sum(each.minutes for each in night.state.steps)
    assert total <= night.state.spent / 60 <= total + 5


def test_what_was_begun_goes_first_with_the_minutes_that_are_left(
    pairs: Path, pretended: dict[str, Any]
) -> None:
    pretended["kill"] = "auto"
    with pytest.raises(Killed):
        begin(pairs, 120).run()
    (planned,) = [each.minutes for each in pretended["made"]]
    assert planned > 10
    night = begin(pairs, 10)  # enough for one training, but another than the plan's first
    assert [each.name for each in night.plan()] == ["auto"]
    night.run()
    assert list_made(pretended) == ["auto", "auto"]
    assert pretended["made"][1].minutes == pytest.approx(10, abs=0.5)
    assert not night.state.begun


def test_a_training_that_was_begun_ends_earlier_if_told_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = list[list[str]]()

    def resume(out: Path, *, changes: list[str], **_: Any) -> None:
        made.append(changes)

    monkeypatch.setattr(trainings, "resume", resume)
    (tmp_path / "run").mkdir()
    record: dict[str, Any] = {"data": ["a"], "valid": None, "machine": {}}
    write_text(tmp_path / "run" / "run.json", json.dumps(record))
    write_text(tmp_path / "run" / "config.toml", "[train]\nminutes = 30.0\n")
    for minutes in (12.5, 30.0, 50.0):
        job = trainings.TrainingJob(tmp_path, ("en", "fr"), [], [], minutes, 1)
        trainings.run_training(job)
    assert made == [["train.minutes=12.500"], [], []]
    assert trainings.read_spent(tmp_path) == 0.0


def kill(*_: Any, **__: Any) -> None:
    raise Killed


def save_and_kill(loop: Loop, save: Callable[[Loop], None] = Loop._save) -> None:
    save(loop)
    raise Killed


@pytest.mark.parametrize(
    ("place", "name", "end"),
    [(preparation, "encode_corpus", kill), (Loop, "_save", save_and_kill)],
)
def test_a_training_goes_on_after_two_kills(
    pairs: Path, monkeypatch: pytest.MonkeyPatch, place: Any, name: str, end: Any
) -> None:
    """The second is after fewer minutes were written down, and before a checkpoint has them."""
    corpora = [([str(pairs / f"train.{lang}") for lang in ("en", "fr")], None)]
    valid = [str(pairs / "valid")]
    job = trainings.TrainingJob(
        pairs / "m", ("en", "fr"), corpora, valid, minutes=0.1, seed=1, changes=SMALL
    )
    for minutes, points in ((0.1, (place, name, end)), (0.05, (Loop, "_begin", kill))):
        with monkeypatch.context() as patch, pytest.raises(Killed):
            patch.setattr(*points)
            trainings.run_training(replace(job, minutes=minutes))
    assert trainings.run_training(replace(job, minutes=0.05)).is_finished


def test_a_time_of_day_that_has_passed_stays_the_end(tmp_path: Path) -> None:
    request = NightRequest(["a", "b"], "en", "fr")
    noon = datetime(2026, 3, 4, 12).timestamp()
    state = begin_state(tmp_path, request, None, "12:30", lambda: noon)
    write_state(tmp_path, state)
    later = begin_state(tmp_path, request, None, "12:30", lambda: noon + 3600)
    assert later.until == state.until and count_left(later, lambda: noon + 3600) == -30
    other = begin_state(tmp_path, request, None, "13:30", lambda: noon + 3600)
    assert count_left(other, lambda: noon + 3600) == 30


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="the clock cannot be set here")
def test_a_passed_time_of_day_stays_the_end_when_clocks_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = NightRequest(["a", "b"], "en", "fr")
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
        time.tzset()
        morning = datetime(2026, 3, 28, 6).timestamp()  # a day before the clocks change
        state = begin_state(tmp_path, request, None, "07:00", lambda: morning)
        write_state(tmp_path, state)
        later = begin_state(tmp_path, request, None, "07:00", lambda: morning + 7200)
    time.tzset()
    assert state.until == later.until == morning + 3600


def test_a_night_without_its_steps_only_says_what_came_of_it(
    pairs: Path, pretended: dict[str, Any]
) -> None:
    night = begin(pairs, 20)
    night.run()
    module.drop_steps(night.folder, night.state)
    assert not (night.folder / "steps").exists()
    begin(pairs, 20).run()
    assert list_made(pretended) == ["auto"]
    with pytest.raises(ValueError, match="steps of this night were removed"):
        begin(pairs, 200)


def test_few_pairs_leave_ten_lines_to_test_on(tmp_path: Path) -> None:
    words = [*map("".join, product("bdfgk", "aeiou", "lmnpr"))]
    for lang in ("en", "fr"):
        lines = (f"{one} {two} {lang}" for one, two in zip(words, reversed(words), strict=True))
        write_text(tmp_path / f"a.{lang}", "".join(f"{line}\n" for line in lines))
    data = [str(tmp_path / "a.en"), str(tmp_path / "a.fr")]
    texts, _ = write_parts(tmp_path / "data", data, [], [], ("en", "fr"), 1)
    assert [len(texts.read(part)[0]) for part in ("valid", "test")] == [10, 10]
    write_pairs(tmp_path / "few", "en", "fr", {"test": 6})
    test = [str(tmp_path / "few" / "test")]
    with pytest.raises(ValueError, match="at least 10 lines, not 6"):
        write_parts(tmp_path / "data2", data, [], test, ("en", "fr"), 1)


def test_a_file_without_made_pairs_is_left_out(pairs: Path, pretended: dict[str, Any]) -> None:
    night = begin(pairs, 120)
    (night.folder / "made").mkdir()
    for name, text in (("turned", "a\tb\n"), ("forward", "")):
        write_text(night.made(name), f"en\tfr\tconfidence\n{text}")
    made = [names for names, _ in night.list_corpora(("turned", None), ("forward", None))[1:]]
    assert made == [[str(night.made("turned"))]]


def test_pairs_known_by_heart_are_not_made_again(pairs: Path, pretended: dict[str, Any]) -> None:
    """What it makes of its pairs are the pairs: the first model goes on with other seeds."""
    pretended |= {"copied": 0.97, "scores": {"auto": 20.5}}
    night = begin(pairs, 36)
    night.run()
    first, *others = pretended["made"]
    assert list_made(pretended) == ["auto", *(f"member-{number}" for number in range(1, 5))]
    assert all([*job.corpora] == [*first.corpora] and job.pace == 1 for job in others)
    assert all(job.parent == night.place("auto") and not job.has_new_tokens for job in others)
    assert [job.seed for job in (first, *others)] == [1, 2, 3, 4, 5]
    assert [[each.name for each in soup] for soup in pretended["soups"]] == [
        list_made(pretended)[1:]
    ]
    assert "of its own pairs, the first model repeats 97 %" in night.state.said
    short = begin(pairs, 30)
    assert short.state.copied == 0.97  # it goes on, and is not measured again


def test_a_kill_while_copies_are_counted_changes_no_plan(
    pairs: Path, pretended: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(module, "measure_copies", kill)
        begin(pairs, 60).run()
    pretended["copied"] = 0.97
    begin(pairs, 60).run()
    assert list_made(pretended)[:2] == ["auto", "member-1"] and "reverse" not in list_made(
        pretended
    )


def test_models_of_a_parent_that_know_their_pairs_become_a_soup(
    pairs: Path, pretended: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mean of the weights is of the best three, and of others nearly as good as the best."""
    scores = {"parent": 25.0, "member-1": 25.9, "member-2": 27.1, "soup": 27.7}
    scores |= {"member-3": 26.05, "member-4": 25.8}
    pretended |= {"copied": 0.9, "scores": scores}
    estimate(monkeypatch, 4.5, pairs=600)
    night = begin(pairs, 36, parent="demo")
    night.run()
    first, *others = pretended["made"]
    assert list_made(pretended) == ["parent", *(f"member-{number}" for number in range(1, 5))]
    assert first.seed == 1 and [job.seed for job in others] == [2, 3, 4, 5]
    assert all(job.changes == ["model.dropout=0.3"] for job in others)
    assert all([*job.corpora] == [*first.corpora] and job.parent == Path("demo") for job in others)
    assert [[each.name for each in soup] for soup in pretended["soups"]] == [
        ["member-2", "member-3", "member-1"]
    ]
    assert night.state.chosen == "soup"


def test_members_without_a_start_in_common_are_no_soup(
    pairs: Path, pretended: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(models: list[Path], out: Path) -> None:
        raise ValueError("b has other tokens than a")

    monkeypatch.setattr(module, "make_soup", refuse)
    pretended["copied"] = 0.9
    estimate(monkeypatch, 4.5, pairs=600)
    night = begin(pairs, 36, parent="demo")
    night.run()
    assert night.state.steps[-1].name == "soup" and night.state.steps[-1].score is None
    assert "no soup: b has other tokens than a" in night.state.said
    assert night.state.chosen == "parent"


@pytest.mark.parametrize(("model", "beam"), [("demo", trainings.BEAM), ("everyday-en-fr", 5)])
def test_what_will_run_is_timed(
    pairs: Path, monkeypatch: pytest.MonkeyPatch, model: str, beam: int
) -> None:
    """Here a model takes a second for each hypothesis, and the first sentence a minute more."""
    night, passed = begin(pairs, 60), [0.0]

    def load(models: list[Path]) -> Any:
        def translate(texts: str | list[str], *, decode: Any) -> None:
            count = 1 if isinstance(texts, str) else len(texts)
            passed[0] += len(models) * decode.beam * count + 60 * (not passed[0])

        return SimpleNamespace(translate=translate)

    monkeypatch.setattr(Translator, "load", load)
    monkeypatch.setattr(module, "make_corpus", lambda *_: None)
    night.clock = lambda: passed[0]
    night.translate("taught", [SHIPPED / model] * 3, "forward", str(pairs / "train.en"), 10)
    part = night.made("taught").with_suffix(".forward").read_text(encoding="utf-8")
    assert len(part.splitlines()) == 10 * 60 // (3 * beam)


def test_pairs_that_do_not_help_are_left_out(pairs: Path, pretended: dict[str, Any]) -> None:
    pretended["scores"] = {"auto": 20.0, "member-1": 18.0, "ensemble": 20.1, "polish": 19.0}
    night = begin(pairs, 120)
    night.run()
    first, second = (
        next(job for job in pretended["made"] if job.out.name == f"member-{number}")
        for number in (1, 2)
    )
    assert len(first.corpora) == 3 and len(second.corpora) == 1  # with made pairs, and without
    assert "student" not in list_made(pretended) and night.state.chosen == "auto"
    assert first.seed == 1 and second.seed == 2


def test_text_in_one_language_is_tagged_and_not_of_the_test(
    pairs: Path, pretended: dict[str, Any]
) -> None:
    tested = (pairs / "test.fr").read_text(encoding="utf-8").splitlines()
    more = [*tested, "Une phrase.", "", "Une  phrase.", tested[0].upper(), "Encore une."]
    write_text(pairs / "more.fr", "".join(f"{line}\n" for line in more))
    night = begin(pairs, 120, mono_target=str(pairs / "more.fr"))
    night.run()
    back = (night.folder / "made" / "mono-back.back").read_text(encoding="utf-8")
    assert back == "Une phrase.\nEncore une.\n"
    job = next(job for job in pretended["made"] if job.out.name == "member-1")
    assert [tag for _, tag in job.corpora].count("bt") == 1


def test_the_size_that_was_asked_for_is_that_of_the_result(
    pairs: Path, pretended: dict[str, Any]
) -> None:
    pretended["scores"] = {"member-1": 30.0, "ensemble": 31.0, "student": 25.0, "auto": 20.0}
    pretended["layers"] = {"member-1": "more", "member-2": "more", "member-3": "more"}
    night = begin(pairs, 300, size="tiny")
    night.run()
    sizes = {job.out.name: job.size for job in pretended["made"]}
    assert sizes["auto"] == sizes["student"] == "tiny" and sizes["member-1"] is None
    assert night.state.chosen == "student"
    assert "student is the result, the best model of the size tiny on" in night.state.said[-1]


def test_a_model_of_the_size_that_was_asked_for_may_be_a_member(
    pairs: Path, pretended: dict[str, Any]
) -> None:
    pretended["scores"] = {"member-2": 30.0, "ensemble": 31.0, "student": 25.0, "polish": 29.0}
    night = begin(pairs, 300, size="tiny")
    night.run()
    assert night.state.chosen == "member-2"
    assert "member-2 is the result, the best model on the validation text" in night.state.said[-1]
    polish = next(job for job in pretended["made"] if job.out.name == "polish")
    assert polish.parent == night.place("member-2")


def test_more_minutes_go_on(pairs: Path, pretended: dict[str, Any]) -> None:
    begin(pairs, 20).run()
    assert list_made(pretended) == ["auto"]
    begin(pairs, 200).run()
    assert "member-1" in list_made(pretended) and list_made(pretended).count("auto") == 1


def test_another_request_is_refused(pairs: Path, pretended: dict[str, Any]) -> None:
    begin(pairs, 20).run()
    with pytest.raises(ValueError, match="began with another seed"):
        begin(pairs, 20, seed=2)
    out = pairs / "made"
    with pytest.raises(ValueError, match="began with another mono target, size"):
        begin_state(out, NightRequest([], "", "", mono_target="a", size="tiny"), None, None)
    assert begin_state(out, NightRequest([], "", ""), None, None).minutes == 20


def test_a_request_may_change_until_something_is_trained(
    pairs: Path, pretended: dict[str, Any]
) -> None:
    night = begin(pairs, 20, mono_target=str(pairs / "none.fr"))
    write_state(night.folder, night.state)
    with pytest.raises(OSError, match=r"none\.fr"):
        night.run()
    (night.folder / "data").mkdir()  # of this request
    night = begin(pairs, 20, size="tiny")
    assert night.request.size == "tiny" and not (night.folder / "data").exists()
    night.run()
    assert list_made(pretended) == ["auto"]


def test_languages_are_those_of_the_texts(run: Run, pairs: Path) -> None:
    for side, lang in (("src", "en"), ("tgt", "fr")):
        write_text(pairs / f"a.{side}", (pairs / f"train.{lang}").read_text(encoding="utf-8"))
    rest = ["--out", "other", "--minutes", "1", "--from", "none"]
    with pytest.raises(ValueError, match="by their codes"):
        find_languages(["a.src", "a.tgt"], None, None)
    assert find_languages(["a.src", "a.tgt"], "chr", "en") == ("chr", "en")
    texts = ["a.tgt", "a.src", "--source-lang", "en", "--target-lang", "fr"]
    assert main(["night", *texts, *rest]) == 2
    assert not (pairs / "other" / "steps").exists()


@pytest.mark.parametrize(
    ("files", "langs", "said"),
    [
        ("c.en d.en", ("en", "en"), "both languages are en: name two"),
        ("c.en d.eng", (None, None), "both languages are en and eng: name two"),
        ("c.en ./c.en", ("en", "fr"), "c.en is named twice: name the file of each language"),
        ("c.en c.xx", (None, None), ".xx is no language code that we know; say"),
        ("a/EN_people a/FR_people", (None, None), "say the two languages by their codes: --so"),
        ("c.tsv", (None, None), "say the two languages by their codes: --source-lang"),
    ],
)
def test_languages_that_cannot_be_are_said_each_with_its_reason(
    files: str, langs: tuple[str | None, str | None], said: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(said)) as error:
        find_languages(files.split(), *langs)
    assert "people" not in str(error.value)


def test_a_code_that_nobody_knows_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert find_languages(["c.en", "c.chr"], "en-GB", None) == ("en-GB", "chr")
    assert not capsys.readouterr().err
    assert find_languages(["c.en", "c.chr"], None, "xx") == ("en", "xx")
    assert "--target-lang xx is no code that we know" in capsys.readouterr().err


def test_the_clock_says_when_it_is_over() -> None:
    noon = 1_700_000_000 - 1_700_000_000 % 86_400 + 12 * 3600
    in_time = read_clock("23:30", noon)
    assert 0 < in_time - noon <= 86_400 and in_time % 60 == 0
    for wrong in ("7 o'clock", "²:00", "24:00", "12:60", "", "-1:00"):
        with pytest.raises(ValueError, match="time of day"):
            read_clock(wrong, noon)


def test_what_cannot_be_is_said(run: Run, pairs: Path) -> None:
    assert "--minutes 480, or --until 07:00" in run()[1]
    assert "give one of them" in run("--minutes", "1", "--until", "07:00")[1]
    assert main(["night", "--out", "other", "--minutes", "1"]) == 2
    assert not (pairs / "other").exists()
    write_text(pairs / "one.txt", "A.\n")
    write_text(pairs / "two.txt", "B.\n")
    given = ["one.txt", "two.txt", "-o", "few", "--minutes", "1", "--source-lang", "en"]
    assert main(["night", *given]) == 2
    assert main(["night", *given, "--target-lang", "de"]) == 2


def test_gathered_text_is_of_different_lines(tmp_path: Path) -> None:
    write_text(tmp_path / "a", "one\n\n one \ntwo\nthree\nfour\n")
    assert gather_text(str(tmp_path / "a"), 2, ["two"], []) == ["one", "three"]


def test_gathered_text_is_unlike_what_is_held_out(tmp_path: Path) -> None:
    held_out = ["I have 4 cats.", "He bought twelve apples at the market.", "Go!"]
    alike = ["I have 17 cats!", "HE BOUGHT TWELVE PEARS AT THE MARKET", "go"]
    other = ["I have dogs and 4 cats.", "He bought bread and milk at the market.", "Go on!", "..."]
    write_text(tmp_path / "a", "".join(f"{line}\n" for line in [*alike, *other]))
    assert gather_text(str(tmp_path / "a"), 10, [], held_out) == other
    assert gather_text(str(tmp_path / "a"), 10, other, held_out) == []


def test_lines_of_a_given_text_that_are_learned_are_counted(tmp_path: Path) -> None:
    words = [*map("".join, product("bdfgk", "aeiou", "lmnpr"))]
    lines = [f"{one} {two} so" for one, two in zip(words, reversed(words), strict=True)]
    texts = {"train": lines[12:], "valid": [*lines[:9], *lines[12:15]], "test": lines[:12]}
    for (name, part), lang in product(texts.items(), ("en", "fr")):
        write_text(tmp_path / f"{name}.{lang}", "".join(f"{line} {lang}\n" for line in part))
    data, valid, test = (
        [str(tmp_path / f"{name}.{lang}") for lang in ("en", "fr")] for name in texts
    )
    _, remark = write_parts(tmp_path / "both", data, valid, test, ("en", "fr"), 1)
    assert remark.endswith("(3 of valid in train, or nearly; 0 of test in train, or nearly)")
    _, remark = write_parts(tmp_path / "one", data, [], test, ("en", "fr"), 1)
    none = "no near twin of what was held out is in train"
    assert remark.endswith(f"(0 of test in train, or nearly; {none})")
    assert write_parts(tmp_path / "no", data, [], [], ("en", "fr"), 1)[1].endswith(f"({none})")


def test_a_stopped_end_says_how_to_go_on(
    run: Run, pretended: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "finish", lambda night: signal.raise_signal(signal.SIGTERM))
    former = signal.getsignal(signal.SIGTERM)
    code, said = run("--minutes", "20")
    assert code == INTERRUPTED and "Stopped. The same command" in said
    assert signal.getsignal(signal.SIGTERM) == former


@pytest.fixture
def ending(pairs: Path, pretended: dict[str, Any]) -> Night:
    """Return a night that has its model, and only the end to come."""
    night = begin(pairs, 60, mono_target=str(pairs / "train.fr"))
    night.prepare()
    night.state.steps = [StepResult("auto", 1.0, 90.0)]
    night.state.chosen = "auto"
    shutil.copytree(SHIPPED / "demo", night.place("auto"))
    return night


def test_a_killed_end_goes_on_where_it_was(ending: Night, monkeypatch: pytest.MonkeyPatch) -> None:
    parts, add = list[list[str]](), KeptTranslations._add

    def add_and_kill(kept: KeptTranslations, sources: list[str], texts: list[str]) -> None:
        add(kept, sources, texts)
        parts.append(sources)
        if len(parts) == 21:
            raise Killed

    monkeypatch.setattr(KeptTranslations, "_add", add_and_kill)
    with pytest.raises(Killed):
        publishing.finish(ending)
    killed = read_state(ending.folder)
    assert killed and {"int8", "changed"} <= {*killed.ended} and killed.spent > 0
    night = Night(ending.folder, killed, Reporter(quiet=True))
    publishing.finish(night)
    before, after = (
        {line for part in some for line in part} for some in (parts[12:21], parts[21:])
    )
    assert before and after and not before & after  # but for searches, and int8 with other weights
    assert not (night.folder / "end").exists() and night.state.published == "auto"
    assert night.state.outcome[0].startswith("on the test text")
    text = (night.folder / "model" / "README.md").read_text(encoding="utf-8")
    assert "60 lines of it, changed:" in text
    assert "train.fr not used: the models that learned from it are no better" in text
    assert json.loads((night.place("auto") / "looks.json").read_text()).popitem()[1] == 1


def test_the_end_is_cut_to_the_time_that_is_left(
    ending: Night, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights = ending.weights
    few = weights.short + 12.5 * weights.changed
    for left, said in ((-1.0, "Not measured: no time was left"), (few, "12 lines of it, as many")):
        monkeypatch.setattr(publishing, "read_left", lambda night, left=left: left)
        ending.state.published, ending.state.ended = "", {}
        publishing.finish(ending)
        text = (ending.folder / "model" / "README.md").read_text(encoding="utf-8")
        assert said in text and "## On 60 test lines" in text
    assert "no short-list: the time that is left is for the test text" in ending.state.said
    assert publishing.NOT_MEASURED in ending.state.said


def test_a_search_without_repetitions_is_published_where_it_is_better(
    ending: Night, monkeypatch: pytest.MonkeyPatch
) -> None:
    scores, score = {0: 30.0, 3: 30.6, 4: 30.4}, publishing.score_kept

    def pretend(night: Night, model: Path, pairs: Any, search: Any = None) -> float:
        if search:
            return scores[search["no_repeat_ngram_size"]] + 0 * score(night, model, pairs, search)
        return 30.0

    monkeypatch.setattr(publishing, "score_kept", pretend)
    for best, size in ((30.6, 3), (30.05, 0)):
        scores |= {3: best, 4: 30.05}
        ending.state.published, ending.state.ended = "", {}
        out = publishing.finish(ending)
        assert open_model(out)[0].decode.no_repeat_ngram_size == size
        assert not [each for each in examine_model(out) if each.is_wrong]
        rule = "no sequence of 3 tokens is repeated" if size else "repetitions are allowed"
        tried = f"{rule}: chrF++ by no_repeat_ngram_size: 0 30.00, 3 {best:.2f}, 4 30.05"
        assert tried in ending.state.said
    assert open_model(ending.place("auto"))[0].decode.no_repeat_ngram_size == 0


def test_the_time_of_the_end_is_known(pairs: Path, pretended: dict[str, Any]) -> None:
    """Before a model of the pairs is there, by a shipped one; then by its validation."""
    night = begin(pairs, 20)
    night.prepare()
    assert night.state.pace > 0
    night.state.pace = 60 / night.weights.total
    at = night.circumstances
    share = night.weights.test / night.weights.total
    assert at.end == pytest.approx(1.3) and at.test == pytest.approx(1.3 * share) and share > 0.03
    clock = count(step=8.0)
    night.clock = lambda: next(clock)
    night.score([night.place("auto")])
    sources = night.texts.read("valid")[0]
    assert night.state.pace == pytest.approx(8 / sum(len(each) + 10 for each in sources))


def test_text_in_one_language_that_is_not_used_is_said(
    pairs: Path, pretended: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    write_text(pairs / "more.fr", "Une phrase.\n")
    night = begin(pairs, 20, mono_target=str(pairs / "more.fr"))
    night.run()
    said = "more.fr not used: to translate it, a night of these pairs needs about"
    assert night.state.unused.startswith(said) and night.state.unused in night.state.said
    print_outcome(night.folder, night.state, night.folder / "model", as_json=False)
    assert said in capsys.readouterr().out
    longer = begin(pairs, 120, mono_target=str(pairs / "more.fr"))
    longer.run()
    assert not longer.state.unused and "made" in [each.name for each in longer.state.steps]


def test_text_without_a_new_line_is_said(pairs: Path, pretended: dict[str, Any]) -> None:
    night = begin(pairs, 120, mono_target=str(pairs / "train.fr"))
    night.run()
    assert night.state.unused == "train.fr not used: no line of it is new"


def test_steps_that_are_dropped_are_said(pairs: Path, pretended: dict[str, Any]) -> None:
    pretended["scores"] = {"auto": 20.0, "ensemble": 18.0}
    night = begin(pairs, 120)
    night.run()
    (said,) = [each for each in night.state.said if " left out: " in each]
    assert said.startswith("taught, student left out: together, the models are at -2.0 chrF++")


def test_a_training_checks_no_pairs_that_a_night_has_checked(
    pairs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its warnings would name lines of a file that only the night knows."""
    seen = []
    look = lambda *_, **__: seen.append(find_addition("examine_corpus"))  # noqa: E731
    monkeypatch.setattr(trainings, "train", look)
    files = ["train.en", "train.fr"]
    job = TrainingJob(pairs / "m", ("en", "fr"), [(files, None)], ["valid.en", "valid.fr"], 1, 1)
    trainings.run_training(job)
    assert seen == [None] and find_addition("examine_corpus")


def test_the_training_of_what_was_published_is_that_of_its_step(
    pairs: Path, pretended: dict[str, Any]
) -> None:
    night = begin(pairs, 20)
    night.run()
    model = night.folder / "model"
    model.mkdir()
    for name in ("auto", "member-1"):
        (night.place(name) / "run").mkdir(parents=True)
        write_text(night.place(name) / "run" / "run.json", "{}")
    with pytest.raises(ValueError, match="has no training in it"):
        find_run_folder(model)  # not published yet
    night.state.published = "auto"
    write_state(night.folder, night.state)
    assert find_run_folder(model) == night.place("auto") == find_run_folder(night.place("auto"))
    night.place("soup").mkdir()
    night.state.published = "soup"
    write_state(night.folder, night.state)
    with pytest.raises(ValueError, match=r"is the soup of several models: name one of .*auto"):
        find_run_folder(model)
    module.drop_steps(night.folder, night.state)
    with pytest.raises(ValueError, match="trainings of its night were removed"):
        find_run_folder(model)


SMALL = ("model.d_model=32", "model.d_ff=64", "text.vocabulary=400", "train.batch_tokens=512")
SETS = [word for each in SMALL for word in ("--set", each)]


def test_an_interrupted_cluster_says_how_to_go_on(
    run: Run, pretended: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def call(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Cluster, "call", call)
    code, said = run("--minutes", "100", "--workers", "2")
    assert code == INTERRUPTED and "Stopped. The same command" in said
    state = read_state(Path("made"))
    assert state and not state.steps and not pretended["made"]


def begin_on_cluster(pairs: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Kill a night while a cluster trains for it; return the names of the steps it has begun."""
    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(Cluster, "call", kill)
        night = begin(pairs, 100)
        night.cluster = Cluster(2)
        night.run()
    return [each.name for each in night.state.begun]


def test_a_night_of_a_cluster_goes_on_without_it(
    pairs: Path, pretended: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert begin_on_cluster(pairs, monkeypatch) == ["auto", "reverse"]
    pretended |= {"kill": "reverse", "copied": 0.97}
    with pytest.raises(Killed):
        begin(pairs, 100).run()
    killed = read_state(pairs / "made")
    assert killed and killed.copied is None  # other models may still be better than auto
    assert [[each.name for each in steps] for steps in (killed.steps, killed.begun)] == [
        ["auto"],
        ["reverse"],
    ]
    night = begin(pairs, 100)
    night.run()
    names = [each.name for each in night.state.steps]
    assert names[:2] == ["auto", "reverse"] and names == [*dict.fromkeys(names)]
    assert list_made(pretended)[:3] == ["auto", "reverse", "reverse"]
    assert night.state.copied == 0.97 and not night.state.begun


def test_what_was_begun_together_shares_the_time(
    pairs: Path, pretended: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    begin_on_cluster(pairs, monkeypatch)
    night = begin(pairs, 100)
    long, *_ = planned = night.state.begun
    night.state.until = time.time() + 60 * long.minutes
    (step,) = night.plan()
    assert step.name == "auto" and step.minutes == pytest.approx(long.minutes / 2, rel=0.01)
    night.state.begun = [planned[1]]
    (step,) = night.plan()
    assert step.name == "reverse" and step.minutes == pytest.approx(long.minutes, rel=0.01)
    night.state.begun, night.cluster = [*planned, replace(long, name="parent")], Cluster(2)
    assert [each.name for each in night.plan()] == ["auto", "reverse"]


def test_what_was_trained_at_a_time_before_a_kill_is_counted_once(
    pairs: Path, pretended: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = begin_on_cluster(pairs, monkeypatch)
    minutes = {"auto": 4.0, "reverse": 3.0}
    monkeypatch.setattr(module, "read_spent", lambda place: minutes.get(place.name, 0.0))
    pretended["kill"] = begun[0]
    with pytest.raises(Killed):
        begin(pairs, 100).run()
    killed = read_state(pairs / "made")
    assert killed and killed.counted == minutes and 4 <= killed.spent / 60 < 4.5
    minutes["auto"] = 6.0
    night = begin(pairs, 100)
    night.run()
    total = sum(each.minutes for each in night.state.steps)
    assert total - night.state.spent / 60 == pytest.approx(3, abs=0.5)
    assert not night.state.counted


def test_a_night_goes_on_with_a_cluster(
    pairs: Path, pretended: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    pretended["kill"] = "auto"
    with pytest.raises(Killed):
        begin(pairs, 200).run()
    together = list[list[str]]()

    def call(cluster: Cluster, function: Callable[..., Any], calls: list[Any]) -> list[Any]:
        together.append([job.out.name for job, _ in calls])
        return [function(*each) for each in calls]

    monkeypatch.setattr(Cluster, "call", call)
    night = begin(pairs, 200)
    night.cluster = Cluster(2)
    night.run()
    assert list_made(pretended)[:3] == ["auto", "auto", "reverse"]
    assert together == [["member-2", "member-3"]]


def test_a_night_of_an_earlier_version_goes_on(pairs: Path, pretended: dict[str, Any]) -> None:
    """It had a step that there is no more, and noted less."""
    night = begin(pairs, 100)
    night.run()
    path = night.folder / "night.json"
    state = json.loads(path.read_text(encoding="utf-8"))
    again = {"name": "again", "minutes": 3.0, "why": "no more"}
    state = {name: state[name] for name in ("request", "usual", "spent", "said")}
    state |= {"minutes": 100.0, "begun": [again], "removed": [1]}
    state["steps"] = [{"name": "auto", "minutes": 3.0, "score": 20.0}, {**again, "score": 19.0}]
    path.write_text(json.dumps(state), encoding="utf-8")
    later = begin(pairs, 200)
    later.run()
    assert later.state.pairs and later.state.steps[2].name == "reverse"
    path.write_text(json.dumps(state | {"published": "auto"}), encoding="utf-8")  # and removed
    with pytest.raises(ValueError, match="steps of this night were removed"):
        begin(pairs, 300)


def test_pairs_are_spelled_as_models_write_them(tmp_path: Path) -> None:
    for side in ("en", "fr"):
        write_text(tmp_path / f"a.{side}", normalize("NFD", "où  ça ?\n"))
    paths = [str(tmp_path / "a.en"), str(tmp_path / "a.fr")]
    assert read_pairs_of(paths, ("en", "fr")) == [("où ça ?", "où ça ?")]


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore")  # Ray warns of itself
def test_two_models_train_at_a_time(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ray", reason="ray is not installed")
    estimate(monkeypatch, 0.05)
    code, said = run("--minutes", "1.2", "--workers", "2", *SETS)
    assert code == 0, said
    assert "2 trainings at a time" in said
    state = read_state(Path("made"))
    assert state and [each.name for each in state.steps[:2]] == ["auto", "reverse"]
    spent = {each.name: each.minutes for each in state.steps}
    assert spent["auto"] == spent["reverse"] and state.spent < 60 * sum(spent.values())
    assert (Path("made") / "model" / "README.md").is_file()


@pytest.mark.thorough
def test_a_night_makes_a_model_that_translates(
    run: Run, pairs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    estimate(monkeypatch, 0.02)
    lines = (pairs / "train.fr").read_text(encoding="utf-8").splitlines()
    Random(1).shuffle(lines)
    write_text(pairs / "more.fr", "".join(f"{line} {line}\n" for line in lines[:100]))
    code, said = run("--minutes", "0.6", "--mono-target", "more.fr", *SETS)
    assert code == 0, said
    state = read_state(Path("made"))
    assert state and state.steps[0].name == "auto" and state.published == state.chosen
    assert main(["translate", "made/model", "test.en", "-o", "out.fr"]) == 0
    assert len(Path("out.fr").read_text(encoding="utf-8").splitlines()) == 60
    assert "| auto |" in Path("made/report.md").read_text(encoding="utf-8")
    assert "| test | BLEU |" in Path("made/model/README.md").read_text(encoding="utf-8")
    before = json.loads(Path("made/night.json").read_text(encoding="utf-8"))
    monkeypatch.setattr(publishing, "publish", None)  # nothing is made again
    assert run("--minutes", "0.6", "--mono-target", "more.fr", *SETS)[0] == 0
    assert len(json.loads(Path("made/night.json").read_text())["steps"]) == len(before["steps"])
