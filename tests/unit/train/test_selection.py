"""What the line of a validation says of the best model."""

import pytest

from glassformer.config import Train
from glassformer.train.run.progress import Progress
from glassformer.train.run.selection import ModelSelection
from glassformer.train.run.validation import Validation

BLEU = {"BLEU": 12.0, "chrF2": 30.0}


@pytest.mark.parametrize(
    ("best_by", "scores", "best"),
    [
        ("bleu", BLEU, "highest BLEU"),
        ("chrf", BLEU, "highest chrF2"),
        ("loss", BLEU, "lowest loss"),
        ("bleu", {"BLEU": 0.0, "chrF2": 30.0}, "highest chrF2"),  # targets of one word, say
        ("bleu", {"perplexity": 9.0}, "lowest loss"),  # nothing is translated
    ],
)
def test_the_score_that_chooses_is_named(best_by: str, scores: dict[str, float], best: str) -> None:
    found = Validation(scores, 2.0, {}, "", 200)
    whole = ModelSelection(Train(best_by=best_by, steps=9), 200, False)
    assert whole.tell(found, True) == f", {best} so far"
    assert whole.tell(found, False) == ""
    part = ModelSelection(Train(best_by=best_by, minutes=9.0), 900, False)
    among = f" on 200 of 900 pairs, {best} so far on as many pairs"
    assert part.tell(found, True) == among, "scores of more pairs do not compare"


def test_with_few_pairs_there_is_no_best() -> None:
    found = Validation(BLEU, 2.0, {}, "", 99)
    assert ModelSelection(Train(steps=9), 99, False).tell(found, True) == ""


def test_a_bleu_of_zero_does_not_keep_the_first_model() -> None:
    """Targets of one word have no four words in a row: BLEU is 0 however good they are."""
    selection, progress = ModelSelection(Train(steps=9), 200, False), Progress()
    for chrf, is_better in ((0.0, True), (17.0, True), (16.0, False), (40.0, True)):
        found = Validation({"BLEU": 0.0, "chrF2": chrf}, 2.0, {}, "", 200)
        assert selection.consider(progress, found) == (is_better, is_better)
        if is_better:
            progress.scores = found.values()
    assert progress.validations_since_best == 0


def test_a_few_sentences_tell_that_an_initial_model_is_beaten() -> None:
    """It was scored on 900 pairs, as are the late models; the early ones are on 100."""
    selection, progress = ModelSelection(Train(minutes=9.0), 900, True), Progress()
    course = [  # the update, BLEU, chrF2, sentences, and whether it is the best
        (0, 4.0, 20.0, 900, True),
        (5, 6.0, 24.0, 100, False),
        (10, 9.0, 26.0, 100, True),
        (15, 8.0, 30.0, 100, False),
        (20, 3.0, 30.0, 900, False),  # worse than the initial one
        (25, 7.0, 25.0, 900, True),
        (30, 6.5, 40.0, 900, False),
    ]
    for step, bleu, chrf, sentences, is_better in course:
        progress.step = step
        validation = Validation({"BLEU": bleu, "chrF2": chrf}, 2.0, {}, "", sentences)
        assert selection.consider(progress, validation) == (is_better, is_better), step
        if is_better:
            progress.best_step, progress.scores = step, validation.values()
