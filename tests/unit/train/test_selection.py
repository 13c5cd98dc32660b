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
