"""A validation says when there is nothing but repetition in it."""

from __future__ import annotations

import pytest

from glassformer.train.run.validation import Validation, is_repetition


@pytest.mark.parametrize(
    ("text", "repeats"),
    [
        ("Mann Mann Mann Mann Mann Mann Mann", True),
        ("a man in a man in a man in a man", True),
        ("enenenenenenenenenenenenenenenenenen", True),
        ("A man in a blue shirt is standing on a ladder cleaning a window.", False),
        ("no no", False),
        ("", False),
    ],
)
def test_repetition(text: str, repeats: bool) -> None:
    assert is_repetition(text) == repeats


def test_a_validation_says_so() -> None:
    for share, is_said in ((1.0, True), (0.1, False)):
        found = Validation({"BLEU": 0.0}, 5.0, {}, "", 9, repeating=share)
        assert ("the same words again and again" in found.tell(3, "", 9)) == is_said


def test_it_says_until_when_this_is_usual() -> None:
    found = Validation({"BLEU": 0.0}, 5.0, {}, "", 9, repeating=1.0)
    for step, steps, said in (
        (0, 2001, "usual at first; if it is still so at update 1,001, half of"),
        (1000, 2001, "usual at first; if it is still so at update 1,001, half of"),
        (1001, 2001, "no longer usual after half"),
        (1, 1, "no longer usual after half"),
        (0, 0, "no longer usual after half"),
    ):
        assert said in found.tell(step, "", steps)
