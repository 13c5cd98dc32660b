"""The end of a night: its model is published, scored once on the test text, and reported on."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glassformer.evaluate.quality import score_quality
from glassformer.evaluate.resampling import SAMPLES
from glassformer.foundation.disk import write_text
from glassformer.model.files.directory import SHORTLIST
from glassformer.train.publish.card import read_facts, write_card
from glassformer.train.publish.markdown import escape_markdown
from glassformer.translator import Translator

from ..honest.comparison import TrainingComparison, compare_with_training
from ..publish.looks import count_look, name_text
from ..publish.publishing import publish_model
from ..short_list.shortlisting import make_shortlist
from .trainings import METRICS, score_models

if TYPE_CHECKING:
    from .night import Night

SAME = 0.95  # of the lines that a short-list must not change
LOSS = 0.2  # chrF++ that int8 may cost on the validation text
REPORT = "report.md"


def finish(night: Night) -> Path:
    """Publish the chosen model, score it, and write the report; return the model's folder."""
    out, best = night.folder / "model", night.place(night.state.chosen)
    if night.state.published != night.state.chosen:
        test, compared = score_test(best, night)
        facts = read_facts(best)
        write_card(best, {**facts, "test": {name: value[0] for name, value in test.items()}})
        night.say(
            "on the test text, which nothing was chosen on: "
            + ", ".join(f"{name} {value:.2f} ± {half:.2f}" for name, (value, half) in test.items())
        )
        for line in str(compared).splitlines():
            night.say(" ".join(line.split()))
        add_shortlist(night, best)
        publish(night, best, out)
        night.state.published = night.state.chosen
        night.keep()
    write_text(night.folder / REPORT, render_report(night))
    return out


def score_test(model: Path, night: Night) -> tuple[dict[str, Any], TrainingComparison]:
    """Return each score on the test text, with half the width of its interval, and what it hides.

    This look at the test text is counted.
    """
    translator, pairs = Translator.load(model), night.texts.read("test")
    result, references = translator.translate(pairs[0]), [[*pairs[1]]]
    lang = translator.config.data.target_lang
    quality = score_quality(result, references, target_lang=lang, metrics=METRICS, samples=SAMPLES)
    scores = {name: quality[name] for name in METRICS}
    count_look(model, name_text(pairs[0], references))
    training = list(zip(*night.texts.read("train"), strict=True))
    return {
        name: (each.value, each.interval.half_width if each.interval else 0.0)
        for name, each in scores.items()
    }, compare_with_training(training, pairs[0], references, result, lang)


def add_shortlist(night: Night, model: Path) -> None:
    """Put a short-list beside the weights, for `translate --shortlist`, where one can be."""
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


def publish(night: Night, model: Path, out: Path) -> None:
    """Publish a model in int8, if that costs next to nothing on the validation text."""
    shutil.rmtree(out, ignore_errors=True)
    valid = night.texts.read("valid")
    before = score_models([model], valid)["chrF++"]
    publish_model(model, out, int8=True)
    loss = before - score_models([out], valid)["chrF++"]
    if loss > LOSS:
        shutil.rmtree(out)
        publish_model(model, out)
        night.say(f"published as it is, since int8 costs {loss:.2f} chrF++ on the validation text")
    else:
        night.say(f"published in int8, which changes chrF++ by {-loss:+.2f} on the validation text")


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
