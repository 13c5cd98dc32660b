"""The command `lesson`: its numbers are the model's, and its pages hold together."""

from __future__ import annotations

import math
import re
from html import unescape
from pathlib import Path
from statistics import median

import pytest

from glassformer.cli import main
from glassformer.extensions.lesson.facts import MOST, LessonFacts, collect_facts
from glassformer.extensions.lesson.pages import LONG, NAMES, ORDERS, SHORT, write_lesson
from glassformer.extensions.lesson.parts import (
    LIVE,
    Say,
    tell_all_shares,
    tell_doubt,
    tell_limits,
    write_percent,
)
from glassformer.extensions.lesson.slides import list_slides
from glassformer.translator import Translator

SENTENCE = "The animal didn't cross the street because it was too wide."
HAN = re.compile(r"[\u3400-\u9fff]")


@pytest.fixture(scope="module")
def facts() -> LessonFacts:
    return collect_facts("demo", SENTENCE)


def test_the_numbers_are_the_models(facts: LessonFacts) -> None:
    translator = Translator.load("demo", device="cpu", precision="fp32")
    assert facts.translation == translator.translate(SENTENCE)
    assert [each.word for each in facts.cuts] == [*dict.fromkeys(facts.words)]
    changed = {each.word: each.changed for each in facts.cuts}
    assert "qu'elle" in changed["wide"] and changed["because"] == ()
    assert all(0 < each.share <= 1 and 0 < each.probability <= 1 for each in facts.readings)
    score = translator.score(SENTENCE, facts.translation)
    words = sum(math.log(each.probability) for each in facts.readings)
    assert words > score.log_prob - 1e-3  # the full stop and the end are no words


def test_the_softmax_is_that_of_the_scores(facts: LessonFacts) -> None:
    powers = [math.e**score for _, score in facts.scores]
    assert 0.4 < facts.weigh()[0] < 0.9, "nothing to compute by hand, if one has all"
    assert facts.weigh() == pytest.approx([each / sum(powers) for each in powers])
    assert [score for _, score in facts.scores] == sorted(
        (score for _, score in facts.scores), reverse=True
    )


def test_what_is_read_and_what_is_needed(facts: LessonFacts) -> None:
    useless, needed = facts.list_useless(), facts.list_needed()
    middle = median(each.share for each in facts.cuts)
    assert [each.word for each in useless] == ["because"]
    assert "too" in {each.word for each in needed} and "wide" not in {each.word for each in needed}
    assert all(each.share > middle and not each.changed for each in useless)
    assert all(each.share < middle and each.changed for each in needed)
    assert needed == sorted(needed, key=lambda each: each.share)
    assert sum(each.share for each in facts.cuts) < 1  # a stop and the end are read, too
    assert facts.smoothing == pytest.approx(0.1)
    assert useless[0].word in tell_limits(facts, TellAll("en"))
    assert "none" in tell_limits(facts._replace(cuts=facts.cuts[:1]), TellAll("en"))


def test_all_shares_are_those_of_the_readings(facts: LessonFacts) -> None:
    assert len(facts.shares) == len(facts.readings)
    for reading, shares in zip(facts.readings, facts.shares, strict=True):
        assert max(shares) == pytest.approx(reading.share) and sum(shares) <= 1 + 1e-6
        assert facts.words[shares.index(max(shares))] == reading.read
    means = [sum(column) / len(column) for column in zip(*facts.shares, strict=True)]
    assert means == pytest.approx([each.share for each in facts.cuts])
    assert tell_all_shares(facts, Say("en")).count("<td") == len(facts.words) * len(facts.readings)


def test_the_picture_of_the_pronoun_is_shown_for_a_riddle_alone(facts: LessonFacts) -> None:
    titles = [each.title for each in list_slides(facts, Say("en"))]
    other = collect_facts("demo", "The cat is on the mat.")
    assert "What the pronoun hangs on" in titles
    assert len(list_slides(other, Say("en"))) == len(titles) - 1


def test_a_doubt_is_named_where_there_is_one(facts: LessonFacts) -> None:
    first = facts.readings[0]._replace(probability=0.4, rival="chien", rival_probability=0.3)
    doubtful = facts._replace(readings=(first, *facts.readings[1:]))
    assert f"word={first.word}" in (told := tell_doubt(doubtful, TellAll("en")))
    assert "percent=40 %" in told and "rival=chien" in told and "rival_percent=30 %" in told
    assert "word=" not in tell_doubt(facts, TellAll("en"))
    assert "part=10 %" in told
    sure = facts._replace(readings=(facts.readings[0]._replace(probability=0.99), first))
    assert "part=" not in tell_doubt(sure, TellAll("en"))  # it is surer than smoothed labels are
    assert "part=" not in tell_doubt(facts._replace(smoothing=0.0), TellAll("en"))


@pytest.mark.parametrize(
    ("share", "text"), [(0, "0 %"), (0.0014, "0.1 %"), (0.104, "10 %"), (0.9999, ">99 %")]
)
def test_a_share_in_percent(share: float, text: str) -> None:
    assert write_percent(share) == text


class TellAll(Say):
    """Says what a page would fill in."""

    def __call__(self, key: str, **fill: object) -> str:
        return " ".join([key, *(f"{name}={value}" for name, value in fill.items())])


def test_the_minutes_add_up() -> None:
    assert (sum(SHORT.values()), sum(LONG.values())) == (45, 90)
    assert all(sorted(each) == [0, 1, 2] for each in ORDERS)


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_pages(lang: str, tmp_path: Path) -> None:
    paths, warnings = write_lesson("demo", "The cat is on the mat.", tmp_path, lang)
    assert warnings == []
    assert [path.name for path in paths] == [f"{name}.html" for name in (*NAMES, LIVE)]
    texts = {path.stem: path.read_text(encoding="utf-8") for path in paths[:-1]}
    for text in texts.values():
        assert "Le chat est sur le tapis." in text or "mat" in text
        assert (
            not re.search(r"(?:src|href)=\"https?:", text)
            and "{" not in text.split("<main")[1].split("<script>")[0]
        )
        plain = re.sub(r"<style>.*?</style>|<script>.*?</script>|<[^>]+>", "", text, flags=re.S)
        assert bool(HAN.search(plain)) == (lang == "zh")
    assert texts["sheet"].count('class="page"') == 2
    assert texts["questions"].count("<output>") == 2 * 4 * 3


def test_the_search_is_the_models_own() -> None:
    """As in the app: a greedy search says "Passez-vous" here."""
    text = "Do you spend a lot of time with your friends?"
    translator = Translator.load("everyday-en-fr", device="cpu", precision="fp32")
    facts = collect_facts("everyday-en-fr", text)
    assert facts.translation == translator.translate(text)
    assert facts.translation != translator.translate(text, decode={"search": "greedy"})


def test_a_guess_is_called_one(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    text = "The trophy did not fit in the suitcase because it was too wide."
    assert main(["lesson", "demo", text, "-o", str(tmp_path)]) == 0
    told = capfd.readouterr().err
    assert "never met trophy" in told and "less sure" in told
    for name in ("plan", "answers", "slides"):
        page = (tmp_path / f"{name}.html").read_text(encoding="utf-8")
        assert page.count('class="warning"') == 2 and "never met trophy" in page
        assert "by the model everyday-fr-en:" in page


def test_a_moved_word_counts_as_changed(facts: LessonFacts) -> None:
    """As in the app: what is in no longest common part of both translations."""
    for each in facts.cuts:
        words = re.findall(r"[\w'’]+", facts.translation)
        kept = [word for word in words if word not in each.changed]
        others = iter(re.findall(r"[\w'’]+", each.translation))
        assert all(word in others for word in kept), "what is kept stands in the same order"


def test_a_sentence_is_escaped(tmp_path: Path) -> None:
    write_lesson("demo", "The <b>cat</b> is small & old.", tmp_path, "en")
    text = (tmp_path / "sheet.html").read_text(encoding="utf-8")
    assert "<b>cat" not in text and "<b>cat</b>" in unescape(text)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["   ", "-o", "x"], "empty"),
        (["cat", "-o", "x"], "1 words"),
        (["the cat " * MOST, "-o", "x"], f"2 to {MOST}"),
        (["The cat is small.", "-o", "x", "--lang", "fr"], "lang=fr"),
    ],
)
def test_what_is_refused(
    words: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["lesson", "demo", *words]) == 2
    assert said in capfd.readouterr().err and not (tmp_path / "x").exists()


def test_a_network_without_views_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="network=rnn"):
        write_lesson("demo-rnn", "The cat is on the mat.", tmp_path / "new", "en")
    assert not (tmp_path / "new").exists()
