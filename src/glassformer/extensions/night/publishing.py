"""The end of a night: its model is published, scored once on the test text, and reported on.

It has parts, each of which is said, fits into the time that is left, and is not done again after a
stop: the search, the short-list, the trial of int8, the test text, and text as people write it.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glassformer.config import Decode
from glassformer.evaluate.quality import score_quality
from glassformer.foundation.disk import write_text
from glassformer.model.files.directory import SHORTLIST, WEIGHTS, open_model
from glassformer.train.publish.card import hash_file
from glassformer.train.publish.markdown import escape_markdown
from glassformer.translator import Translator

from ..honest.held_out import LEAST, HeldOutReport, HeldOutText, spread_evenly
from ..lab.robustness import Translate
from ..publish.limits import judge_scores
from ..publish.publishing import publish_model
from ..short_list.shortlisting import make_shortlist
from .ending import MARGIN, NO_REPEATS, TRIED, KeptTranslations
from .state import ENDING, count_left

if TYPE_CHECKING:
    from .night import Night

SAME = 0.95  # of the lines that a short-list must not change
LOSS = 0.2  # chrF++ that int8 may cost on the validation text
GAIN = 0.1  # chrF++ that the validation text must gain by another search
NO_REPEAT = "no_repeat_ngram_size"
REPORT = "report.md"
FEW = 50  # lines that int8 is tried on in any case
NOT_MEASURED = "text as people write it is not measured, since no time is left"


def finish(night: Night) -> Path:
    """Publish the chosen model, score it, and write the report; return the model's folder."""
    out, best = night.folder / "model", night.place(night.state.chosen)
    if night.state.published != night.state.chosen:
        tune_search(night, best)
        add_shortlist(night, best)
        if night.texts_in_one and not night.state.unused and best.name in ("auto", "parent"):
            why = "the models that learned from it are no better on the validation text"
            night.leave_out(night.texts_in_one, why)
        report = publish(night, best, out)
        night.state.outcome = tell_outcome(report)
        for message in night.state.outcome:
            night.say(message)
        for name, message in report.comparison.list_rows() if report.comparison else ():
            if "%" in name:
                name = f"lines with a training source {name.removesuffix(' alike')} alike"
            night.say(f"{name}: {message}")
        night.state.published = night.state.chosen
        night.keep()
        shutil.rmtree(night.folder / ENDING, ignore_errors=True)
    write_text(night.folder / REPORT, render_report(night))
    return out


def tell_outcome(report: HeldOutReport) -> list[str]:
    """Return the scores, and what is to be said of them, in sentences."""
    scores = ", ".join(" ".join(each) for each in report.list_scores())
    little = judge_scores(report.scores, report.memory, report.by_characters)
    return [f"on the test text, which nothing was chosen on: {scores}", *little]


def read_left(night: Night) -> float:
    """Return the characters that can be translated in the time that is left; less than 0: late."""
    night.count_shard(0)
    return 60 * count_left(night.state) / (MARGIN * max(1e-9, night.state.pace))


def end_part(night: Night, name: str, result: float = 0.0) -> None:
    """Note that a part of the end is over, so that it is not done again after a stop."""
    night.state.ended[name] = result
    night.count_shard(0)


def tune_search(night: Night, model: Path) -> None:
    """Forbid the search to repeat sequences of tokens, where the validation text gains by it."""
    if NO_REPEAT in night.state.ended or open_model(model)[0].decode.no_repeat_ngram_size:
        return
    best = 0
    if read_left(night) < night.weights.search + night.weights.test:
        night.say("no search is tried without repetitions: the time that is left is for the test")
    else:
        pairs = spread_evenly(list(zip(*night.texts.read("valid"), strict=True)), TRIED)
        night.report.say(f"\nSearches without repetitions are tried on {len(pairs):,} lines")
        scores = {n: score_kept(night, model, pairs, {NO_REPEAT: n}) for n in (0, *NO_REPEATS)}
        best = max(scores, key=scores.__getitem__)
        if scores[best] < scores[0] + GAIN:
            best = 0
        tried = ", ".join(f"{n} {score:.2f}" for n, score in scores.items())
        rule = f"no sequence of {best} tokens is repeated" if best else "repetitions are allowed"
        night.say(f"{rule}: chrF++ by {NO_REPEAT}: {tried}")
    end_part(night, NO_REPEAT, best)


def read_tuned(night: Night) -> dict[str, int]:
    """Return the settings of the search that the validation text was better with."""
    size = int(night.state.ended.get(NO_REPEAT, 0))
    return {NO_REPEAT: size} if size else {}


def add_shortlist(night: Night, model: Path) -> None:
    """Put a short-list beside the weights, for `translate --shortlist`, where one can be."""
    if SHORTLIST not in night.state.ended:
        if read_left(night) < night.weights.shortlist + night.weights.test:
            night.say("no short-list: the time that is left is for the test text")
        else:
            night.report.say("\nA short-list is made, and tried on some lines")
            try_shortlist(night, model)
        end_part(night, SHORTLIST)


def try_shortlist(night: Night, model: Path) -> None:
    """Make a short-list; keep it if it changes next to no translation."""
    try:
        result = make_shortlist(model, list(zip(*night.texts.read("train"), strict=True)))
    except ValueError as error:
        night.say(f"no short-list: {error}")
        return
    if result.same < SAME * result.lines:
        (model / SHORTLIST).unlink()
        night.say(f"no short-list: it changes {result.lines - result.same} of {result.lines} lines")
        return
    night.say(
        f"a short-list of {result.candidates:,.0f} tokens a sentence: {result.same} of "
        f"{result.lines} lines are translated as without"
    )


def publish(night: Night, model: Path, out: Path) -> HeldOutReport:
    """Publish a model with what it does on the test text, and return that.

    It is published in int8, if that costs next to nothing on the validation text. The look at the
    test text is counted.
    """
    if "int8" not in night.state.ended:
        end_part(night, "int8", try_int8(night, model, out.with_name(f"{out.name}-int8")))
    loss = night.state.ended["int8"]
    sources, targets = night.texts.read("test")
    training = list(zip(*night.texts.read("train"), strict=True))
    night.report.say(f"\nThe test text of {len(sources):,} lines is translated")
    kept: KeptTranslations

    def watch(copy: Path, translate: Translate) -> Translate:
        nonlocal kept
        kept = keep_translations(night, copy, translate, open_model(copy)[0].decode)
        return kept

    def count_lines() -> int:
        return count_changed(night, kept)

    test = HeldOutText(model, sources, [[*targets]], training, watch, count_lines)
    shutil.rmtree(out, ignore_errors=True)
    remarks = [*filter(None, [night.state.unused])]
    options: dict[str, Any] = {"int8": loss <= LOSS, "decode": read_tuned(night)}
    result = publish_model(model, out, test=test.examine, remarks=remarks, **options)
    report: HeldOutReport = result.report
    return report


def try_int8(night: Night, model: Path, trial: Path) -> float:
    """Return how much chrF++ int8 costs on the validation text, or on as much as there is time for.

    The score of the whole text without int8 is known, unless the search was changed.
    """
    pairs, search = list(zip(*night.texts.read("valid"), strict=True)), read_tuned(night)
    left = read_left(night) - night.weights.test
    both = 2 * night.weights.valid / len(pairs)  # of a line, in both arithmetics
    if search or left < night.weights.valid:
        pairs = spread_evenly(pairs, max(FEW, int(left / both)))
        before = None
    else:
        before = night.scores[night.state.chosen]
    night.report.say(f"\nint8 is tried on {len(pairs):,} lines of the validation text")
    if before is None:
        before = score_kept(night, model, pairs, search)
    shutil.rmtree(trial, ignore_errors=True)
    publish_model(model, trial, int8=True, decode=search)
    loss = before - score_kept(night, trial, pairs)
    shutil.rmtree(trial)
    if loss > LOSS:
        night.say(f"published as it is, since int8 costs {loss:.2f} chrF++ on the validation text")
    else:
        night.say(f"published in int8, which changes chrF++ by {-loss:+.2f} on the validation text")
    return loss


def score_kept(
    night: Night, model: Path, pairs: Sequence[tuple[str, str]], search: Mapping[str, int] = {}
) -> float:
    """Return the chrF++ of a model on pairs; its translations are kept.

    search: settings other than its own.
    """
    sources, targets = zip(*pairs, strict=True)
    translator = Translator.load(model)
    decode = translator.config.decode.override(search)
    translate = partial(translator.translate, decode=decode)
    result = keep_translations(night, model, translate, decode)(sources)
    return score_quality(result, [targets], target_lang=night.langs[1], metrics=["chrF++"])[
        "chrF++"
    ].value


def keep_translations(
    night: Night, model: Path, translate: Translate, decode: Decode
) -> KeptTranslations:
    name = f"{hash_file(model / WEIGHTS)[:16]}-{decode.no_repeat_ngram_size}.jsonl"
    path = night.folder / ENDING / name
    return KeptTranslations(path, translate, night.report, night.count_shard, night.clock)


def count_changed(night: Night, kept: KeptTranslations) -> int:
    """Return how many lines text as people write it is measured on; 0: there is no time for it.

    After a stop they are as many as before it.
    """
    if kept.pace:
        night.state.pace = kept.pace
    if "changed" not in night.state.ended:
        lines = int((read_left(night) - night.weights.short) / night.weights.changed)
        lines = min(night.weights.lines, lines)
        end_part(night, "changed", lines if lines >= LEAST else 0)
    lines = int(night.state.ended["changed"])
    if lines:
        night.report.say(f"\n{lines} lines of it are changed in many ways, and translated")
    else:
        night.say(NOT_MEASURED)
    return lines


def tell_score(score: float | None) -> str:
    return "" if score is None else f"{score:.2f}"


def render_report(night: Night) -> str:
    """Return the report: what was decided and why, in order, and a table of the steps."""
    rows = [
        f"| {each.name} | {each.minutes:.1f} | {tell_score(each.score)} |"
        for each in night.state.steps
    ]
    message = [f"- {escape_markdown(each)}" for each in night.state.said]
    table = ["| step | minutes | chrF++ on the validation text |", "|---|---:|---:|", *rows]
    head = f"# A night: {'-'.join(night.langs)}"
    return "\n".join([head, "", *table, "", "## What was decided, and why", "", *message, ""])
