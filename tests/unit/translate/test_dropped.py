"""Words that a translation drops are seen by the head that aligns words, and searched for."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from tests.checked import translate_checked

from glassformer.extensions.coverage.dropped import LEAST, CoverageRule, cover_words
from glassformer.extensions.coverage.lists import read_list_rule
from glassformer.extensions.lab.doubt import calibrate_doubt
from glassformer.extensions.lab.unsaid import find_unsaid, list_unsaid
from glassformer.model.files.directory import DOUBT, SHIPPED, write_text
from glassformer.translator import Translator
from tools.demo_corpus import pairs

DROPPED = "John works in Paris with Anna every day."


@pytest.fixture(scope="module")
def everyday() -> Translator:
    return Translator.load("everyday-en-fr", device="cpu")


def find_dropped(translator: Translator, source: str, target: str) -> list[str]:
    """Return the words of a source that a given translation drops."""
    check = translator.checker.dropped
    rule = check.rule
    assert rule
    text = translator.reader.prepare(source).text
    ids = translator.searcher.tokenize_target(source, target).ids
    ((_, covered),) = check.measure(rule, [text], [ids])
    return rule.list_dropped(covered)


@pytest.mark.parametrize(
    ("source", "target", "words"),
    [
        (DROPPED, "John travaille à Paris avec Anna tous les jours.", []),
        (DROPPED, "John travaille à Paris tous les jours.", ["Anna"]),
        (DROPPED, "Anna travaille à Paris avec John tous les jours.", []),
        ("I bought bread and cheese.", "J'ai acheté du pain et du fromage.", []),
        ("I bought bread and cheese.", "J'ai acheté du pain.", ["cheese"]),
        ("Do you know my sister?", "Connais-tu ma sœur ?", []),
    ],
)
def test_a_word_without_attention_is_dropped(
    everyday: Translator, source: str, target: str, words: list[str]
) -> None:
    assert find_dropped(everyday, source, target) == words


def test_what_was_dropped_is_searched_for_again(everyday: Translator) -> None:
    first = everyday.search(DROPPED)[0].text
    assert find_dropped(everyday, DROPPED, first) == ["Anna"]
    (checked,) = translate_checked(everyday, [DROPPED])
    assert "Anna" in checked.best[0].text and checked.retried and not checked.problems
    assert everyday.translate(DROPPED) == checked.best[0].text
    assert everyday.translate(DROPPED, again=False) == first


def test_what_stays_dropped_is_named(everyday: Translator) -> None:
    (checked,) = translate_checked(everyday, [DROPPED], again=False)
    (problem,) = checked.problems
    assert problem.kind == "dropped" and problem.said == "left out, it seems: Anna"
    assert checked.confidence <= 0.6


@pytest.mark.parametrize(
    ("languages", "source", "target", "items"),
    [
        (
            "en-fr",
            "I need eggs, milk, bread, and butter.",
            "Des œufs, du lait, du pain, du beurre.",
            "",
        ),
        (
            "en-fr",
            "I need eggs, milk, bread, and butter.",
            "Des œufs, du pain et du beurre.",
            "eggs",
        ),
        ("en-de", "I like dogs, cats and a cup of tea.", "Ich mag Hunde, Katzen sowie Tee.", ""),
        ("en-de", "I like dogs, cats and a cup of tea.", "Ich mag Hunde und Tee.", "dogs"),
        (
            "en-fr",
            "We saw Rome, Paris and Berlin.",
            "Nous avons vu Paris, Paris et Berlin.",
            "Rome",
        ),
        ("fr-en", "Il a un chien, un chat et une oie.", "He has a dog, and a goose.", "chien"),
        ("fr-en", "Je me souviens de toi, tôt ou tard.", "I'll remember you.", ""),
        ("en-fr", "In Japan, men and women work.", "Au Japon hommes et femmes travaillent.", ""),
        ("en-fr", "Do you like tea, milk or wine?", "Aimes-tu le thé ou le vin ?", ""),
        ("en-fr", "He is tall, and I am small.", "Il est grand et moi petit.", ""),
        ("de-en", "Ich glaube, Tom und Maria lügen.", "I think Tom and Mary lie.", ""),
    ],
)
def test_a_list_that_loses_an_item_is_seen(
    languages: str, source: str, target: str, items: str
) -> None:
    rule = read_list_rule(*languages.split("-"))
    assert rule
    lost = [*rule.find_lost(source, target)]
    assert [each.split(" / ")[0] for each in lost] == items.split()
    assert read_list_rule("en", "zh") is None


def test_a_lost_item_is_searched_for_again(everyday: Translator) -> None:
    text = "I'm free on Monday, Tuesday and Friday."
    first, again = (translate_checked(everyday, [text], again=each)[0] for each in (False, True))
    assert "mardi" not in first.best[0].text and "mardi" in again.best[0].text
    assert [each.said for each in first.problems] == [
        "left out, it seems: Monday / Tuesday / Friday"
    ]
    assert again.retried and not again.problems


def test_several_sentences_are_checked_at_once(everyday: Translator) -> None:
    texts = ["", "12", DROPPED, f"Good morning. {DROPPED}", "I love you."]
    alone = [translate_checked(everyday, [each])[0] for each in texts]
    assert [each.to_json() for each in translate_checked(everyday, texts)] == [
        each.to_json() for each in alone
    ]


def test_a_word_has_the_coverage_of_its_best_token() -> None:
    spans = [(0, 3), (3, 9), (9, 10), (10, 15), (15, 16)]
    covered = [*cover_words("The Xantén's a 12.", spans, [0.9, 0.2, 0.7, 0.1, 0.0])]
    assert covered == [("The", 0.9), ("Xantén's", 0.7)]
    rule = CoverageRule(0, 0, 0, frozenset({"the"}))
    assert rule.list_dropped([("The", 0.0), ("cat", LEAST / 2), ("sat", LEAST)]) == ["cat"]


def test_words_that_right_translations_leave_unsaid_are_listed() -> None:
    texts = [[("Does", 0.01), ("Tom", 0.9)], [("Tom", 1.1), ("does", 0.8), ("go", 2.1 * LEAST)]]
    assert list_unsaid(texts) == {"does"}


def test_a_head_that_says_too_little_makes_no_rule(tmp_path: Path) -> None:
    sources, targets = (list(side) for side in zip(*pairs("en", "fr", 240, 7, "test"), strict=True))
    swapped = targets[1:] + targets[:1]  # the translations of other sentences
    everyday = Translator.load("everyday-en-fr", device="cpu")
    assert find_unsaid(everyday, sources, [swapped]) is None
    demo = Translator.load("demo", device="cpu")
    found = calibrate_doubt(demo, sources, [targets])
    assert ("dropped" in found.to_json()) == (found.unsaid is not None)


@pytest.mark.parametrize(
    "damaged",
    [
        None,
        [],
        {"head": [0]},
        {"head": [0, 0, 0], "ratio": 2},
        {"head": [0, 0, 0], "unsaid": [], "ratio": "wide"},
        {"head": 1, "unsaid": [], "ratio": 2},
        {"head": [99, 0, 0], "unsaid": [], "ratio": 2},
        {"head": [1, 99, 0], "unsaid": [], "ratio": 2},
        {"head": [1, "0", 0], "unsaid": [], "ratio": 2},
    ],
)
def test_a_damaged_rule_is_none(damaged: object, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    shutil.copytree(SHIPPED / "everyday-en-fr", folder)
    stored = json.loads((folder / DOUBT).read_text(encoding="utf-8")) | {"dropped": damaged}
    write_text(folder / DOUBT, json.dumps(stored))
    translator = Translator.load(folder, device="cpu")
    assert translator.checker.dropped.rule is None
    assert "Anna" not in translator.translate(DROPPED)
