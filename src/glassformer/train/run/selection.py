"""Which model of a training is kept (by default the best by its scores), and early stopping."""

from collections.abc import Mapping

from ...config import Train
from .progress import Progress, RankedModel
from .validation import NAMED, Validation

ENOUGH_TO_CHOOSE = 100  # sentences of the validation text: with fewer, chance would choose
CLEAR = 5.0  # chrF2, which no sample of so many sentences shows by chance


class ModelSelection:
    """The rules by which a validated model is kept; what they need to know is in the progress."""

    def __init__(self, train: Train, valid: int, has_parent: bool):
        """`valid` is the number of pairs to validate on; `has_parent` means an initial model."""
        self.train, self.valid, self.has_parent = train, valid, has_parent
        self.can_choose = valid >= ENOUGH_TO_CHOOSE

    def consider(self, progress: Progress, validation: Validation) -> tuple[bool, bool]:
        """Take a validation into account; return whether it is the best, and whether to keep it."""
        is_best = self._is_best(progress, validation)
        return is_best, is_best if self.can_choose else self._is_worth_keeping(
            progress, validation.loss
        )

    def rank(self, progress: Progress, validation: Validation) -> bool:
        """Return whether a model is one of the `train.keep_best` best, and note it if it is.

        Scores of other numbers of sentences do not compare: those of fewer are dropped.
        """
        if progress.detector.is_blown_up or validation.sentences < progress.best_sentences:
            return False
        score = validation.by(self.train.best_by if self.can_choose else "loss")
        this = RankedModel(score, progress.step, validation.sentences)
        others = [
            each
            for each in progress.kept_best
            if each.sentences == this.sentences and each.step != this.step
        ]
        progress.kept_best = sorted([this, *others], reverse=True)[: self.train.keep_best]
        return this in progress.kept_best

    def should_stop_early(self, progress: Progress) -> bool:
        """Return whether `train.patience` validations in a row were not better than the best."""
        patience = self.train.patience
        return patience is not None and progress.validations_since_best >= patience

    def tell(self, validation: Validation, is_best: bool) -> str:
        """Return the end of the line that reports a validation."""
        is_part = validation.sentences < self.valid
        of = f" on {validation.sentences:,} of {self.valid:,} pairs" if is_part else ""
        if not (is_best and self.can_choose):
            return of
        name = NAMED.get(self.train.best_by, "")
        if validation.scores.get(name) == 0:
            name = NAMED["chrf"]
        best = f"highest {name}" if name in validation.scores else "lowest loss"
        among = " on as many pairs" if self.train.steps is None else ""  # else always on all
        return f"{of}, {best} so far{among}"

    def _is_best(self, progress: Progress, validation: Validation) -> bool:
        """Return whether a model is the best so far, and count the validations since the best.

        A score of more sentences replaces all before it, but no better one of the initial model;
        one of fewer cannot be compared, unless it is clearly better than that of the initial model.
        A model whose loss is far above that of a uniform distribution is worse at any score.
        Equal scores are decided by chrF2: BLEU stays 0 while no four words in a row are right, and
        for good where targets have fewer than four.
        """
        former = progress.best_sentences or validation.sentences  # unknown in old checkpoints
        if progress.best is not None and validation.sentences < former:
            gain = _get_chrf(validation.scores) - _get_chrf(progress.scores)
            if progress.best_step or not self.has_parent or gain < CLEAR:
                return False
        score = validation.by(self.train.best_by if self.can_choose else "loss")
        is_best = not progress.detector.is_blown_up
        if self.has_parent and not progress.step:
            progress.initial = RankedModel(score, 0, validation.sentences)
        elif progress.initial and progress.initial.sentences == validation.sentences:
            is_best = is_best and score >= progress.initial.score
        if progress.best is not None and validation.sentences == former:
            ceiling = progress.detector.ceiling
            best = progress.scores["loss"] <= ceiling, progress.best, _get_chrf(progress.scores)
            is_best = (
                is_best and (validation.loss <= ceiling, score, _get_chrf(validation.scores)) > best
            )
        if is_best:
            progress.best, progress.validations_since_best = score, 0
            progress.best_sentences = validation.sentences
        else:
            progress.validations_since_best += 1
        return is_best

    def _is_worth_keeping(self, progress: Progress, loss: float) -> bool:
        """Return whether to keep a model where none is chosen: if the initial one is not better."""
        if progress.detector.is_blown_up:
            return False
        if self.has_parent and not progress.step:
            progress.parent_loss = loss
            return True
        return progress.parent_loss is None or loss < progress.parent_loss


def _get_chrf(scores: Mapping[str, float]) -> float:
    """Return chrF2, or 0 where nothing is translated."""
    return scores.get(NAMED["chrf"], 0.0)
