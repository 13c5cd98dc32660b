"""The end of a night: its model is published, scored once on the test text, and reported on."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from glassformer.foundation.disk import write_text
from glassformer.model.files.directory import SHORTLIST
from glassformer.train.publish.markdown import escape_markdown

from ..honest.held_out import HeldOutReport, HeldOutText
from ..publish.publishing import publish_model
from ..short_list.shortlisting import make_shortlist
from .trainings import score_models

if TYPE_CHECKING:
    from .night import Night

SAME = 0.95  # of the lines that a short-list must not change
LOSS = 0.2  # chrF++ that int8 may cost on the validation text
REPORT = "report.md"


def finish(night: Night) -> Path:
    """Publish the chosen model, score it, and write the report; return the model's folder."""
    out, best = night.folder / "model", night.place(night.state.chosen)
    if night.state.published != night.state.chosen:
        add_shortlist(night, best)
        report = publish(night, best, out)
        night.say(
            "on the test text, which nothing was chosen on: "
            + ", ".join(
                f"{name} {value:.2f} ± {half:.2f}" for name, (value, half) in report.scores.items()
            )
        )
        for name, message in report.comparison.list_rows() if report.comparison else ():
            if "%" in name:
                name = f"lines with a training source {name.removesuffix(' alike')} alike"
            night.say(f"{name}: {message}")
        night.state.published = night.state.chosen
        night.keep()
    write_text(night.folder / REPORT, render_report(night))
    return out


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


def publish(night: Night, model: Path, out: Path) -> HeldOutReport:
    """Publish a model with what it does on the test text, and return that.

    It is published in int8, if that costs next to nothing on the validation text. The look at the
    test text is counted.
    """
    valid = night.texts.read("valid")
    before, trial = score_models([model], valid)["chrF++"], out.with_name(f"{out.name}-int8")
    for folder in (trial, out):
        shutil.rmtree(folder, ignore_errors=True)
    publish_model(model, trial, int8=True)
    loss = before - score_models([trial], valid)["chrF++"]
    shutil.rmtree(trial)
    sources, targets = night.texts.read("test")
    training = list(zip(*night.texts.read("train"), strict=True))
    test = HeldOutText(model, sources, [[*targets]], training)
    result = publish_model(model, out, int8=loss <= LOSS, test=test.examine)
    if loss > LOSS:
        night.say(f"published as it is, since int8 costs {loss:.2f} chrF++ on the validation text")
    else:
        night.say(f"published in int8, which changes chrF++ by {-loss:+.2f} on the validation text")
    report: HeldOutReport = result.report
    return report


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
