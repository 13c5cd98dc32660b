"""Pictures of a model that learns, on one sentence of its training (V84-V87)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from . import theme
from .animate import Animation
from .canvas import Page, Rect
from .cells import heat, legend
from .charts import Chart
from .runs import RunSnapshots, read_watched
from .selection import Array, pick

Place = Path | str | None


def _open(watch: Place, sentence: int) -> tuple[RunSnapshots, int]:
    run = read_watched(watch)
    return run, pick(sentence, len(run.sentences), "sentence")


def _say_where(page: Page, watch: Place, run: RunSnapshots, sentence: int) -> str:
    each = run.sentences[sentence]
    own = page.say(
        "A model of five words and three marks, trained for these pictures",
        "为这些图训练的模型（五个词、三个标记）",
    )
    where = own if watch is None else page.say("A training of yours", "你的一次训练")
    return f"{where}: {each.source} → {each.reference}. "


def draw_grid(
    page: Page,
    run: RunSnapshots,
    values: Array,
    sentence: int,
    x: float,
    y: float,
    expression: str,
    *,
    cell: tuple[float, float] = (48, 26),
    digits: int = 2,
) -> Rect:
    """Draw a row for each token of the reference and a column for each possible token."""
    rows, columns = run.sentences[sentence].reference_tokens, run.names(sentence)
    wide, high = cell
    rect = heat(
        page,
        x,
        y,
        np.nan_to_num(values),
        wide * values.shape[1],
        high * len(values),
        role="softmax",
        scale="share",
        limit=1,
        masked=np.isnan(values) if np.isnan(values).any() else None,
    )
    for j, text in enumerate(columns):
        page.text(
            x + (j + 0.5) * wide + 1,
            y - 6,
            text,
            size=theme.SMALL,
            mono=True,
            rotation=40,
            width=60,
        )
    page.reach(x, y - 44)
    for i, text in enumerate(rows):
        page.text(
            x - 6,
            y + (i + 0.5) * high,
            text.strip(" ") or "▁",
            size=theme.SMALL,
            mono=True,
            ha="right",
            width=80,
        )
        for j, value in enumerate(values[i].tolist()):
            if not np.isnan(value) and wide >= 13 * digits - (digits > 2) * 8:
                page.number(
                    x + (j + 0.5) * wide,
                    y + (i + 0.5) * high,
                    value,
                    f"derived:{expression}[{i},{j}]",
                    digits=digits,
                    size=theme.TINY + 0.5,
                    color=theme.ink_on(theme.SHARE(value)),
                )
    return rect


def fit_grid(run: RunSnapshots, sentence: int) -> tuple[float, float]:
    wide = min(48.0, 560 / len(run.columns(sentence)))
    return wide, 26.0 if len(run.sentences[sentence].reference_tokens) <= 14 else 18.0


def make_target(run: RunSnapshots, sentence: int, smoothing: float) -> Array:
    """Return the target distributions: all on the right token, but for `smoothing`.

    That share is spread evenly over all tokens of the vocabulary.
    """
    columns, wanted = run.columns(sentence), run.wanted(sentence)
    hit = np.array([[float(id == column) for column in columns] for id in wanted])
    return (1 - smoothing) * hit + smoothing / len(run.vocabulary)


def count_digits(values: Array) -> int:
    """Return how many digits after the point make printed rows add up to their sums.

    It is two, more where rounding many small numbers would spoil the sum, and at most five.
    """
    sums = values.sum(1)
    for digits in range(2, 5):
        printed = [sum(float(f"{value:.{digits}f}") for value in row) for row in values.tolist()]
        if np.allclose(printed, sums, rtol=0, atol=0.1**digits / 2):
            return digits
    return 5


def draw_untrained(
    trace: Any = None,
    *,
    lang: str = "en",
    ax: Axes | None = None,
    watch: Place = None,
    sentence: int = 0,
    row: int = 0,
) -> Figure:
    """Draw the first prediction of an untrained model, and its target (V84)."""
    page = Page(lang, ax)
    run, sentence = _open(watch, sentence)
    row = pick(row, len(run.sentences[sentence].reference_tokens), "row")
    share, target = run.share(0, sentence)[row], make_target(run, sentence, 0.0)[row]
    sides = (
        (
            page.say("what the untrained model says", "未训练的模型所说"),
            share,
            "softmax",
            f"watch.share(0, {sentence})[{row}]",
        ),
        (
            page.say("what is wanted", "想要的"),
            target,
            "heads",
            f"make_target(watch, {sentence}, 0.0)[{row}]",
        ),
    )
    for n, (label, values, name, expression) in enumerate(sides):
        x, role = n * 300.0, theme.role(name)
        page.text(x + 60, -14, label, bold=True, color=role.ink)
        for j, (text, value) in enumerate(zip(run.names(sentence), values.tolist(), strict=True)):
            y = j * 24.0
            page.text(x + 52, y + 10, text, mono=True, ha="right", width=90)
            if np.isnan(value):
                page.text(
                    x + 62,
                    y + 10,
                    page.say("not kept", "未保留"),
                    size=theme.TINY,
                    color=theme.SOFT,
                )
                continue
            page.box(
                x + 60,
                y,
                max(130 * value, 0.6),
                20,
                fill=role.fill,
                edge=role.ink,
                line=0.8,
                round=2,
            )
            page.number(
                x + 66 + 130 * value,
                y + 10,
                value,
                f"derived:{expression}[{j}]",
                ha="left",
                digits=3,
            )
    place = int(target.argmax())
    page.number(
        60,
        page.bottom + 16,
        -float(np.log(share[place])),
        before="−ln P = ",
        ha="left",
        of=f"derived:-np.log(watch.share(0, {sentence})[{row},{place}])",
        digits=3,
        size=theme.TEXT,
        bold=True,
    )
    wanted = run.names(sentence)[place]
    return page.finish(
        page.say(f"Before training: wanted is “{wanted}”", f"训练之前：想要的是“{wanted}”"),
        _say_where(page, watch, run, sentence)
        + page.say(
            "The difference is measured by −ln P of the wanted token, not by subtraction.",
            "差距用想要词元的 −ln P 衡量，而不是相减。",
        ),
    )


def draw_targets(
    trace: Any = None,
    *,
    lang: str = "en",
    ax: Axes | None = None,
    watch: Place = None,
    sentence: int = -1,
    smoothing: float = 0.1,
) -> Figure:
    """Draw the target distributions, plain and smoothed (V85)."""
    page = Page(lang, ax)
    run, sentence = _open(watch, sentence)
    cell = fit_grid(run, sentence)
    y = 0.0
    for amount, label in (
        (0.0, page.say("all on the right token", "全部给正确词元")),
        (smoothing, page.say(f"smoothed by {smoothing:g}", f"平滑 {smoothing:g}")),
    ):
        values = make_target(run, sentence, amount)
        page.text(0, y - 56, label, bold=True)
        rect = draw_grid(
            page,
            run,
            values,
            sentence,
            0,
            y,
            f"make_target(watch, {sentence}, {amount})",
            cell=cell,
            digits=count_digits(values),
        )
        y = rect.bottom + 92
    legend(page, 0, y - 78, "share", 1, label=page.say("probability", "概率"))
    hidden = len(run.vocabulary) - len(run.columns(sentence))
    return page.finish(
        page.say("What training asks for", "训练所要求的"),
        _say_where(page, watch, run, sentence)
        + page.say(
            "Rows: positions of the reference; columns: tokens.", "行：参考译文的位置；列：词元。"
        )
        + (
            page.say(
                f" The {hidden} other tokens of the vocabulary have what is missing to 1.",
                f"词表中其余 {hidden} 个词元占去与 1 的差额。",
            )
            if hidden
            else ""
        ),
    )


def draw_trained(
    trace: Any = None,
    *,
    lang: str = "en",
    ax: Axes | None = None,
    watch: Place = None,
    sentence: int = -1,
) -> Figure:
    """Draw the predictions of the trained model; a row sums to 1 over the vocabulary (V86)."""
    page = Page(lang, ax)
    run, sentence = _open(watch, sentence)
    last = len(run.steps) - 1
    rect = draw_grid(
        page,
        run,
        run.share(last, sentence),
        sentence,
        0,
        0,
        f"watch.share({last}, {sentence})",
        cell=fit_grid(run, sentence),
    )
    legend(page, 0, rect.bottom + 14, "share", 1, label=page.say("probability", "概率"))
    sums = run.share(last, sentence).sum(1).tolist()
    high = rect.height / len(sums)
    for i, total in enumerate(sums):
        if not np.isnan(total):
            page.number(
                rect.right + 20,
                rect.y + (i + 0.5) * high,
                total,
                f"derived:watch.share({last}, {sentence})[{i}].sum()",
                size=theme.TINY,
                before="Σ ",
                color=theme.SOFT,
            )
    more = (
        page.say(" Hatched: not among the tokens that were kept.", "阴影：不在保留的词元之中。")
        if np.isnan(run.share(last, sentence)).any()
        else ""
    )
    return page.finish(
        page.say(f"After {run.steps[last]} updates", f"{run.steps[last]} 次更新之后"),
        _say_where(page, watch, run, sentence)
        + page.say("Each row is one prediction.", "每行是一次预测。")
        + more,
    )


def draw_learning(
    trace: Any = None,
    *,
    lang: str = "en",
    ax: Axes | None = None,
    watch: Place = None,
    sentence: int = -1,
) -> Animation:
    """Draw the predictions from the first snapshot to the last, with the loss (V87)."""
    page = Page(lang, ax)
    run, sentence = _open(watch, sentence)
    losses = [run.loss(n, sentence) for n in range(len(run.steps))]
    shown = sorted({round(n) for n in np.linspace(0, len(run.steps) - 1, min(9, len(run.steps)))})
    wide = min(20.0, 190 / len(run.columns(sentence)))
    high = min(20.0, 190 / len(run.sentences[sentence].reference_tokens))
    across, down = (
        wide * len(run.columns(sentence)) + 26,
        high * len(run.sentences[sentence].reference_tokens) + 34,
    )
    chart = Chart(
        page,
        Rect(0, 0, 3 * across - 26, 130),
        (0, run.steps[-1]),
        (0, max(losses) * 1.05),
        log=True,
        x_ticks=[run.steps[n] for n in shown],
        across=page.say("updates", "更新次数"),
        up=page.say("mean −ln P of the reference", "参考译文的平均 −ln P"),
    )
    chart.curve(run.steps, losses, theme.role("softmax").ink, width=2)
    for place, n in enumerate(shown):
        step = run.steps[n]
        page.step(
            f"After {step} updates the loss is {losses[n]:.2f}.",
            f"{step} 次更新后，损失为 {losses[n]:.2f}。",
        )
        x, y = chart.at(step, losses[n])
        page.box(
            x - 4, y - 4, 8, 8, fill=theme.role("softmax").ink, edge=theme.PAPER, round=4, layer=5
        )
        left, top = place % 3 * across, 200 + place // 3 * down
        page.text(
            left, top - 10, page.say(f"step {step}", f"第 {step} 步"), size=theme.SMALL, bold=True
        )
        values = run.share(n, sentence)
        heat(
            page,
            left,
            top,
            np.nan_to_num(values),
            across - 26,
            down - 34,
            role="softmax",
            scale="share",
            limit=1,
        )
        if not place % 3:
            _name_rows(page, run, sentence, left, top, high)
        if place >= len(shown) - 3:
            _name_columns(page, run, sentence, left, top + down - 34, wide)
        page.number(
            left + across - 28,
            top - 10,
            losses[n],
            f"derived:watch.loss({n}, {sentence})",
            ha="right",
            size=theme.SMALL,
        )
    legend(
        page,
        0,
        page.bottom + 16,
        "share",
        1,
        label=page.say(
            "probability; a row for each token of the reference, a column for each "
            "token that could come",
            "概率；行：参考译文的词元，列：可能输出的词元",
        ),
    )
    return page.animate(
        page.say("Learning, from the first step to the last", "学习：从第一步到最后一步"),
        _say_where(page, watch, run, sentence),
    )


def _name_rows(
    page: Page, run: RunSnapshots, sentence: int, x: float, y: float, high: float
) -> None:
    for i, text in enumerate(run.sentences[sentence].reference_tokens):
        page.text(
            x - 5,
            y + (i + 0.5) * high,
            text.strip(" ") or "▁",
            size=theme.TINY,
            mono=True,
            ha="right",
            width=60,
        )


def _name_columns(
    page: Page, run: RunSnapshots, sentence: int, x: float, y: float, wide: float
) -> None:
    for j, text in enumerate(run.names(sentence) if wide >= 9 else ()):
        page.text(
            x + (j + 0.5) * wide + 1,
            y + 5,
            text,
            size=theme.TINY,
            mono=True,
            rotation=-90,
            width=60,
        )
