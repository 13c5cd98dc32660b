"""The scores and flags of the single sentences of a test set, and which are the worst. No torch."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from .quality import build_bleu, build_metric, choose_tokenizer, list_metrics
from .references import References, clean_lines

BY_SENTENCE = ("chrF2", "BLEU", "TER")


@dataclass(frozen=True)
class SystemSentence:
    """A system's translation of one sentence, with its scores in percent, and flags.

    flags: kinds of problems, as `quality_check.CAPS` names them, with a sentence about each.
    """

    system: str
    translation: str
    scores: dict[str, float]  # by metric of BY_SENTENCE
    confidence: float | None = None  # of the model, 0 to 1
    flags: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class SentenceResult:
    """A sentence of a test set with its references and each system's translation."""

    line: int  # from 1
    source: str | None
    references: tuple[str, ...]
    systems: tuple[SystemSentence, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the sentence for `json.dumps`, with all digits."""
        systems = [vars(each) for each in self.systems]
        return {**vars(self), "references": list(self.references), "systems": systems}


def score_each(
    hypotheses: Sequence[str],
    references: References,
    *,
    target_lang: str | None = None,
    tokenize: str | None = None,
    metrics: Sequence[str] = BY_SENTENCE,
) -> list[dict[str, float]]:
    """Return the scores of each sentence by itself, as `sacrebleu --sentence-level` prints them.

    BLEU of a sentence counts only the n-grams that a sentence so short can have. The arguments and
    errors are those of `score_quality`.
    """
    hypotheses, references = clean_lines(hypotheses, references, target_lang)
    results: list[dict[str, float]] = [{} for _ in hypotheses]
    for name in list_metrics(metrics, target_lang):
        metric = build_metric(name, target_lang=target_lang, tokenize=tokenize)
        if name == "BLEU":
            metric = build_bleu(tokenize or choose_tokenizer(target_lang), effective_order=True)
        for scores, hypothesis, *lines in zip(results, hypotheses, *references, strict=True):
            known = [line for line in lines if line is not None]
            scores[name] = metric.sentence_score(hypothesis, known).score
    return results


def find_worst(
    results: Sequence[SentenceResult], number: int | None = None
) -> list[SentenceResult]:
    """Return the sentences with the lowest chrF2 of the first system, the lowest first.

    Of equals, the one with the lower confidence is first. number: at most so many; None: all.
    """

    def rank(result: SentenceResult) -> tuple[float, float, int]:
        first = result.systems[0]
        confidence = 1.0 if first.confidence is None else first.confidence
        return first.scores["chrF2"], confidence, result.line

    return sorted(results, key=rank)[:number]
