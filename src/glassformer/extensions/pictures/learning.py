"""Figures of a model that learns, on one sentence of its training (V84-V87)."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np

from .parts import grammar as g
from .parts import style
from .parts.selection import pick
from .runs import WIDEST, RunSnapshots, read_watched

Place = Path | str | None
SQUARES, LEARNT = 9, 16  # snapshots drawn; the update at which the toy is half-way
SURE = 0.5


class Lesson:
    """One sentence of a watched training, and the words of its figure."""

    def __init__(self, plan: g.Outline, watch: Place, sentence: int):
        self.plan, self.run = plan, read_watched(watch)
        self.sentence = pick(sentence, len(self.run.sentences), "sentence")
        self.columns = self.run.columns(self.sentence)
        self.wanted = self.run.wanted(self.sentence)
        self.names = self.run.names(self.sentence)
        self.rows = [self.names[self.columns.index(id)] for id in self.wanted]
        each = self.run.sentences[self.sentence]
        source = plan.say("toy" if watch is None else "own")
        self.origin = f"{source} · {each.source} → {each.reference}"

    def find(self, step: int) -> int:
        """Return the snapshot nearest to an update."""
        return int(np.abs(np.array(self.run.steps) - step).argmin())

    def choose_columns(self, snapshot: int, row: int) -> list[int]:
        """Return the ids to draw of one row: all, or the wanted one and the most probable."""
        if len(self.run.vocabulary) <= WIDEST:
            return self.columns
        best = self.run.rank(snapshot, self.sentence)[row].tolist()
        return list(dict.fromkeys([self.wanted[row], *best]))[:WIDEST]

    def draw(self, name: str, values: g.Array, *, digits: int | None, width: float) -> g.Matrix:
        """Return a row for each token of the reference, a column for each possible token."""
        wide = min(width, 540 / values.shape[1])
        result, gone = self.plan.give(name, np.nan_to_num(values)), np.isnan(values)
        high = 22.0 if len(values) <= 14 else 16.0
        size = {"width": wide * values.shape[1], "height": high * len(values)}
        fits = digits is not None and wide >= 10 + 6.5 * digits
        digits = digits if fits and not gone.any() else None  # where none was kept is no number
        panel = g.Panel(
            result, digits=digits, **size, scale="share", limit=1.0, hidden=gone, size=style.TINY
        )
        sums = [self.plan.of(f"sum[j] {name}[{i},j]") for i in range(len(values))]
        shown = sums if not gone.any() and len(self.run.vocabulary) == len(self.names) else ()
        return g.Matrix(panel, rows=self.rows, columns=self.names, sums=shown)


def make_target(run: RunSnapshots, sentence: int, smoothing: float) -> g.Array:
    """Return the target distributions: all on the right token, but for `smoothing`.

    That share is spread evenly over all tokens of the vocabulary.
    """
    columns, target = run.columns(sentence), run.wanted(sentence)
    hit = np.array([[float(id == column) for column in columns] for id in target])
    return (1 - smoothing) * hit + smoothing / len(run.vocabulary)


def tell_percents(*shares: float) -> list[str]:
    """Return percentages, with more digits where some would be 0 or look alike."""
    texts = list[str]()
    for digits in range(5):
        texts = [f"{100 * share:.{digits}f}" for share in shares]
        if len({*texts}) == len({*shares}) and all(map(float, texts)):
            break
    return texts


def count_digits(values: g.Array) -> int:
    """Return how many digits after the point make printed rows add up to their sums.

    It is two, more where rounding many small numbers would spoil the sum, and at most five.
    """
    sums = values.sum(1)
    for digits in range(2, 5):
        printed = [sum(float(f"{value:.{digits}f}") for value in row) for row in values.tolist()]
        if np.allclose(printed, sums, rtol=0, atol=0.1**digits / 2):
            return digits
    return 5


@g.figure("untrained")
def draw_untrained(
    plan: g.Outline, *, watch: Place = None, sentence: int = 0, row: int = 0
) -> g.Scene:
    """Show one prediction of a model that is yet to learn beside what is wanted (V84)."""
    lesson = Lesson(plan, watch, sentence)
    row = pick(row, len(lesson.rows), "row")
    columns = lesson.choose_columns(0, row)
    names, place = lesson.run.spell(columns), columns.index(lesson.wanted[row])
    share = lesson.run.share(0, lesson.sentence, columns)[row]
    predicted = plan.give("said", share)
    expected = plan.give("wanted", np.arange(len(columns)) == place)
    digits = 3 if share.max() >= 0.01 else 5
    heads = (plan.small(key, style.INK, bold=True) for key in ("says", "wants"))
    rows: list[list[g.Part]] = [[None, *heads]]
    for j, name in enumerate(names):
        ink = style.LIT if j == place else style.FAINT
        bar = g.Bar(predicted[j], 1.0, ink, width=170, digits=digits)
        label = g.Label(name, ink=ink if j == place else style.INK, bold=j == place)
        goal = g.Bar(expected[j], 1.0, "heads", width=170, digits=0)
        rows.append([label, bar.named(f"said {j}"), goal])
    loss = plan.give("loss", [-np.log(share[place])])[0]
    formula = g.Across(
        g.Label(f"$− ln P$ ( {names[place]} ) =", style.HEADING),
        g.Numeral(loss, style.HEADING, digits=3, bold=True),
    )
    table = g.Columns(rows, gap=(14, 5), align="rl")
    best, is_new = int(share.argmax()), not (lesson.run.steps[0] or lesson.run.origins)
    own, most = tell_percents(share[place], share[best])
    return plan.compose(
        g.middle(table, formula, gap=style.APART),
        title=plan.say(
            "title" if best != place else "title_lucky" if is_new else "title_right",
            model=_tell_start(plan, lesson.run),
            word=names[place],
            other=names[best],
            share=own,
            most=most,
        ),
        left=(len(columns), len(lesson.run.vocabulary)),
        origin=lesson.origin,
        callouts=[g.Callout(f"said {place}", "grow", "right", 90)],
    )


def _tell_start(plan: g.Outline, run: RunSnapshots) -> str:
    """Return what the model of the first snapshot is."""
    if run.steps[0]:
        return plan.say("later", n=run.steps[0])
    return plan.say("started", name=", ".join(run.origins)) if run.origins else plan.say("new")


@g.figure("targets")
def draw_targets(
    plan: g.Outline, *, watch: Place = None, sentence: int = -1, smoothing: float = 0.1
) -> g.Scene:
    """Show the target distributions, plain and smoothed (V85)."""
    lesson = Lesson(plan, watch, sentence)
    parts: list[g.Node] = []
    for key, amount in (("plain", 0.0), ("smooth", smoothing)):
        values = make_target(lesson.run, lesson.sentence, amount)
        of = plan.of(f"{amount:.9f}") if amount else None
        name = g.Label(plan.say(key, n=f"{amount:g}"), bold=True, of=of)
        matrix = lesson.draw(key, values, digits=count_digits(values), width=48)
        parts.append(g.Down(name, matrix.named(key), gap=6))
    hidden = len(lesson.run.vocabulary) - len(lesson.names)
    even = np.format_float_positional(
        smoothing / len(lesson.run.vocabulary), precision=3, fractional=False, trim="-"
    )
    text = plan.say("even", n=len(lesson.run.vocabulary), each=even)
    return plan.compose(
        g.Down(*parts, gap=style.APART),
        title="title" if smoothing else "title_plain",
        note=plan.say("others", n=hidden) if hidden else "note",
        origin=lesson.origin,
        callouts=[g.Callout("smooth", text, "below", 260)] if smoothing else [],
        asked=f"{1 - smoothing + smoothing / len(lesson.run.vocabulary):.4g}",
    )


@g.figure("trained")
def draw_trained(
    plan: g.Outline, *, watch: Place = None, sentence: int = -1, update: int | None = None
) -> g.Scene:
    """Show the predictions of a model in training, of a sentence's every position (V86).

    update: the nearest snapshot is drawn; by default one at which the toy has learnt some, or the
    last of a training.
    """
    lesson = Lesson(plan, watch, sentence)
    chosen = (LEARNT if watch is None else lesson.run.steps[-1]) if update is None else update
    number = lesson.find(chosen)
    values = lesson.run.share(number, lesson.sentence)
    own = np.exp(lesson.run.own_logs(number, lesson.sentence))
    sure = int((own >= SURE).sum())
    worst = int(own.argmin())
    texts = plan.say("worst", word=lesson.rows[worst], share=f"{100 * own[worst]:.0f}")
    matrix = lesson.draw("share", values, digits=2, width=48).named("grid")
    return plan.compose(
        matrix,
        note=plan.say("note") + (plan.say("hatched") if np.isnan(values).any() else ""),
        origin=lesson.origin,
        callouts=[g.Callout(matrix.find_row(worst), texts, "right", 90)],
        step=lesson.run.steps[number],
        n=sure,
        all=len(own),
    )


@g.figure("learning")
def draw_learning(plan: g.Outline, *, watch: Place = None, sentence: int = -1) -> g.Scene:
    """Show the predictions from the first snapshot to the last, and the loss (V87)."""
    lesson = Lesson(plan, watch, sentence)
    run, count = lesson.run, len(lesson.run.steps)
    losses = plan.give("loss", [run.loss(n, lesson.sentence) for n in range(count)])
    shown = sorted({round(n) for n in np.linspace(0, count - 1, min(SQUARES, count))})
    wide = min(14.0, 130 / len(lesson.names))
    squares: list[g.Node] = []
    for place, n in enumerate(shown, 1):
        values = np.nan_to_num(run.share(n, lesson.sentence))
        panel = g.Panel(
            plan.give(f"share_{n}", values),
            width=wide * values.shape[1],
            height=wide * values.shape[0],
            scale="share",
            limit=1.0,
            edge=style.FAINT,
        )
        names = lesson.rows if (place - 1) % 3 == 0 and wide >= 10 else ()
        heads = lesson.names if place <= 3 and wide >= 10 else ()
        head = g.Across(
            g.Label(plan.say("update", n=run.steps[n]), style.SMALL, bold=True),
            g.Numeral(losses[n], style.SMALL, style.SOFT),
            gap=10,
        )
        square = g.Matrix(panel, rows=names, columns=heads, head=head, fit=50).named(f"at {n}")
        squares.append(square.at(place, (-40, 0)))
    lines = [squares[n : n + 3] for n in range(0, len(squares), 3)]
    steps = list(map(float, run.steps))
    curves: list[g.Curve] = []
    for step, (last, n) in enumerate(pairwise([0, *shown]), 1):  # up to each square, and its dot
        part = slice(last, n + 1)
        curves.append(g.Curve(steps[part], losses.values[part].tolist(), "softmax", 2.2, step=step))
        at = [steps[n]], [float(losses[n])]
        curves.append(g.Curve(*at, "softmax", dots=True, step=step))
    top = float(losses.values.max()) * 1.05
    plot = plan.plot(curves, "updates", "loss", width=190, height=170, x=(0, steps[-1]), y=(0, top))
    captions = [plan.say("caption", n=run.steps[n], loss=f"{float(losses[n]):.2f}") for n in shown]
    first, last = (f"{float(losses[n]):.2f}" for n in (0, count - 1))
    best, targets = run.guesses(count - 1, lesson.sentence), lesson.wanted
    is_diagonal = best == targets == lesson.columns[: len(targets)]
    key = "title" if is_diagonal and float(last) < float(first) else "title_none"
    diagonal = g.Callout(f"at {shown[-1]}", "diagonal", "below", 160, len(shown))
    return plan.compose(
        g.Across(g.Columns(lines, gap=(16, 14), align="r"), plot, gap=30),
        title=key,
        origin=lesson.origin,
        callouts=[diagonal] if key == "title" else [],
        captions=captions,
        n=run.steps[-1],
        first=first,
        last=last,
    )
