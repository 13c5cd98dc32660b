"""The nearest training source, near twins and scores by distance, against brute force."""

from __future__ import annotations

from random import Random

import pytest

from glassformer.evaluate.quality import score_quality
from glassformer.extensions.check_data.near_twins import measure_distance
from glassformer.extensions.check_data.words import gather_words
from glassformer.extensions.honest.comparison import (
    compare_with_training,
    find_twins,
    score_part,
)
from glassformer.extensions.honest.translation_memory import TranslationMemory

TEXT = """red green old young big small cat dog bird house tree river moon friend song road
apple market window garden letter winter summer teacher doctor street bridge morning"""
WORDS = TEXT.split()


def write_lines(count: int, seed: int, length: int = 8) -> list[str]:
    draw = Random(seed)
    return [" ".join(draw.choices(WORDS, k=length)) for _ in range(count)]


def change(line: str, words: int, draw: Random) -> str:
    split = line.split()
    for place in draw.sample(range(len(split)), words):
        split[place] = "somebody"
    return " ".join(split)


@pytest.mark.parametrize("changed", [0, 1, 3])
def test_the_nearest_source_is_found(changed: int) -> None:
    known, draw = write_lines(300, 1), Random(2)
    memory = TranslationMemory(known)
    for number in range(0, 300, 10):
        line = change(known[number], changed, draw)
        best = max(1 - measure_distance(line, each) / max(len(line), len(each)) for each in known)
        [words] = gather_words([line])
        match = memory.find(words)
        assert match and match.similarity == pytest.approx(best)


def test_a_line_without_known_words_has_no_match() -> None:
    assert TranslationMemory(["a cat", "a dog"]).find(["xyz"]) is None
    assert TranslationMemory([]).find(["cat"]) is None
    assert TranslationMemory(["a cat"]).find([]) is None


def write_thai(count: int, seed: int) -> list[list[str]]:
    """Return lines of words of few letters, to be written without spaces."""
    draw = Random(seed)
    words = ["".join(draw.choices("กขคงจชดตถทนบปพมยรลวสหอ", k=3)) for _ in range(400)]
    return [draw.choices(words, k=8) for _ in range(count)]


def test_text_without_spaces_has_matches() -> None:
    """Each letter stands in more lines than a frequent word."""
    lines, draw = write_thai(1_500, 1), Random(2)
    memory = TranslationMemory(["".join(line) for line in lines])
    for number in range(0, 1_500, 100):
        for line in (
            lines[number],
            [*lines[number][:3], draw.choice(lines)[0], *lines[number][4:]],
        ):
            [words] = gather_words(["".join(line)])
            match = memory.find(words)
            assert match and match.line == number
            assert match.similarity == 1 if line is lines[number] else match.similarity > 0.75


def test_frequent_words_find_what_rare_ones_do_not() -> None:
    memory = TranslationMemory([f"this is {word}" for word in WORDS] * 20 + ["is this"])
    match = memory.find(["this", "is"])
    assert match and match.similarity > 0.5


def test_twins_on_either_side_are_counted() -> None:
    training = [
        ("the old cat sleeps in the garden", "x"),
        ("y", "die alte Katze schläft im Garten"),
    ]
    sources = ["The old cat sleeps in the garden!", "the old cat slept in the garden", "no", "q"]
    references = [["a", "b", "c", "Die alte Katze schlief im Garten."]]
    assert find_twins(training, sources, references) == [True, True, False, True]


def test_scores_are_those_of_the_lines_apart() -> None:
    draw = Random(3)
    training = [(line, line.upper()) for line in write_lines(200, 4)]
    near = [change(source, 1, draw) for source, _ in training[:30]]
    far = write_lines(30, 5, 14)
    sources = [*near, *far]
    references = [[line.upper() for line in sources]]
    made = [*references[0][:30], *("nothing right at all here" for _ in far)]
    found = compare_with_training(training, sources, references, made, "de")
    assert found.twins == 30 and found.without_twins.lines == 30
    assert found.without_twins.scores["BLEU"] < 5
    assert found.by_similarity[0].lines >= 25 and found.by_similarity[0].scores["BLEU"] > 99
    targets = [
        max(training, key=lambda pair, line=line: -measure_distance(line, pair[0]))[1]
        for line in near
    ]
    own = score_quality(targets, [references[0][:30]], target_lang="de", metrics=("chrF++",))
    part = [True] * 30 + [False] * 30
    memory = score_part("memory", part, [*targets, *far], references, "de")
    assert memory.scores["chrF++"] == pytest.approx(own["chrF++"].value)
    assert "30 test lines" in str(found) and found.to_json()["training_pairs"] == 200


def test_few_lines_have_no_score() -> None:
    part = score_part("few", [True] * 3, ["a"] * 3, [["a"] * 3], "de")
    assert part.scores == {} and str(part) == "3 lines"
