"""How a translation was searched for: the tree of beam search (V82)."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from . import theme
from .animate import Animation
from .canvas import Page
from .fonts import measure
from .selection import balance, elide, show_piece, tell_left_out

WIDE, HIGH = 104.0, 34.0
MOST = 14  # steps drawn one by one
LOOKS = {  # fill, frame, dashed; by what became of it
    "KEPT": ("#eef0ff", "#2946d8", False),
    "FINISHED": ("#e6f7bf", "#557300", False),
    "CUT": ("#fcf3bd", "#806800", False),
    "STOPPED": ("#f6f7f9", "#68717d", True),
    "OUTRANKED": ("#ffffff", "#c9ced6", False),
    "REPEATS": ("#ffffff", "#b03030", True),
    "TOO_SHORT": ("#ffffff", "#b03030", True),
}
FATES = {
    "KEPT": ("lives on", "继续"),
    "FINISHED": ("ended", "已结束"),
    "CUT": ("cut: too long", "过长截断"),
    "STOPPED": ("its sentence is done", "句子已完成"),
    "OUTRANKED": ("others were better", "被更好的淘汰"),
    "REPEATS": ("would repeat", "会重复"),
    "TOO_SHORT": ("would end too early", "过早结束"),
}


def get_search(trace: Any) -> Any:
    if trace.search is None:
        raise ValueError("this recording was given its translation: nothing was searched for")
    return trace.search


def find_path(search: Any) -> list[int]:
    """The place of the chosen hypothesis among what each step considered."""
    if search.chosen is None:
        return []
    ids = search.hypotheses[search.chosen].ids[search.prefix :]
    row: int | None = 0
    path = []
    for number, step in enumerate(search.steps):
        found = next(
            (
                i
                for i, each in enumerate(step)
                if each.parent == row
                and (each.id == ids[number] if number < len(ids) else each.fate == "FINISHED")
            ),
            None,
        )
        if found is None:
            break
        path.append(found)
        row = step[found].row
        if row is None:
            break
    return path


def choose_shown(step: Any, chosen: int | None, losers: int) -> list[int]:
    """All that were not outranked, the chosen one, and the best few of the others."""
    outranked = [i for i, each in enumerate(step) if each.fate == "OUTRANKED"]
    out = set(outranked[losers:]) - {chosen}
    return [i for i in range(len(step)) if i not in out]


def draw_beam_tree(
    trace: Any,
    *,
    lang: str = "en",
    ax: Axes | None = None,
    losers: int = 2,
    steps: int | None = None,
) -> Animation:
    """V82. losers: outranked candidates drawn at each step; steps: how many are drawn, if unset as
    far as where the chosen translation ends."""
    page, search = Page(lang, ax), get_search(trace)
    path = find_path(search)
    steps = steps or len(path) or len(search.steps)
    places = elide(steps, MOST, 4)
    root = page.box(
        -WIDE + 20,
        -13,
        64,
        26,
        fill=theme.role("decoder").fill,
        edge=theme.role("decoder").ink,
        label="<s>",
        bold=True,
    )
    parents = {0: (root.right, root.centre[1], True)}
    for place, number in enumerate(places):
        if number is None:
            parents = _skip(page, place, search, path, places)
            continue
        step, chosen = search.steps[number], path[number] if number < len(path) else None
        kept = sum(each.fate == "KEPT" for each in step)
        page.step(
            f"Step {number + 1}: of {len(step)} ways to go on, {kept} live on.",
            f"第 {number + 1} 步：{len(step)} 种延续中保留 {kept} 种。",
        )
        parents = _draw_step(
            page, place, number, step, chosen, choose_shown(step, chosen, losers), parents
        )
    bottom = page.bottom + 24
    _draw_key(page, {each.fate for step in search.steps for each in step}, bottom)
    _draw_endings(page, search, bottom + 44)
    settings = search.settings
    penalty = {"paper": f"((5+n)/6)^{settings.alpha}", "power": f"n^{settings.alpha}", "none": "1"}[
        settings.penalty
    ]
    cut = len(search.steps) - steps
    more = page.say(f" {cut} later steps are left out.", f"略去后面 {cut} 步。") if cut > 0 else ""
    name = settings.search
    if name == "beam":
        name = page.say(f"beam {settings.beam}", f"束宽 {settings.beam}")
    return page.animate(
        page.say(f"The search, step by step ({name})", f"逐步搜索（{name}）"),
        page.say(
            "Under each piece: the log-probability of everything so far. The thick line is the "
            "translation "
            f"that was chosen; of those outranked, the best {losers} of each step are shown. "
            f"Score: log-probability / {penalty}.{more}",
            "每个词元下面是到此为止的对数概率。粗线是选中的译文；被淘汰者每步只显示最好的 "
            f"{losers} 个。"
            f"得分 = 对数概率 / {penalty}。{more}",
        ),
    )


def _skip(
    page: Page, place: int, search: Any, path: list[int], places: list[int | None]
) -> dict[int, tuple[float, float, bool]]:
    """Steps that are not drawn, as one box; gives what goes on from it."""
    before, after = places[place - 1] or 0, places[place + 1] or 0
    page.step(f"{after - before - 1} steps go the same way.", f"其后 {after - before - 1} 步同理。")
    box = page.box(
        place * WIDE,
        -13,
        WIDE - 24,
        26,
        fill=theme.PAPER,
        edge=theme.FAINT,
        dashed=True,
        size=theme.SMALL,
        color=theme.SOFT,
        label=page.say(f"{after - before - 1} steps", f"{after - before - 1} 步"),
    )
    step = search.steps[after - 1]
    best = step[path[after - 1]].row if after - 1 < len(path) else None
    page.arrow((box.x - 22, 0), (box.x - 2, 0), color=theme.FAINT)
    return {each.row: (box.right, 0.0, each.row == best) for each in step if each.row is not None}


def _draw_step(
    page: Page,
    place: int,
    number: int,
    step: Any,
    chosen: int | None,
    shown: list[int],
    parents: dict[int, tuple[float, float, bool]],
) -> dict[int, tuple[float, float, bool]]:
    """One column of the tree; gives where each row goes on, and whether it is the chosen one."""
    x, found = place * WIDE, {}
    top = -(len(shown) - 1) / 2 * HIGH
    for line, i in enumerate(
        sorted(shown, key=lambda i: (parents.get(step[i].parent, (0, 0))[1], i))
    ):
        each, y = step[i], top + line * HIGH
        fill, edge, dashed = LOOKS[each.fate]
        best, faint = i == chosen, each.fate == "OUTRANKED"
        start = parents.get(each.parent)
        if start is not None:
            middle = (start[0] + x) / 2
            strong = best and start[2]
            page.line(
                [(start[0], start[1]), (middle, start[1]), (middle, y), (x, y)],
                layer=3 if strong else 1,
                color=theme.INK if strong else theme.FAINT,
                width=2.4 if strong else 0.9,
            )
        page.box(
            x, y - 13, WIDE - 24, 26, fill=fill, edge=edge, line=2.2 if best else 1, dashed=dashed
        )
        ink = theme.SOFT if faint else theme.INK
        page.text(
            x + WIDE / 2 - 12,
            y - 5,
            show_piece(each.text),
            size=theme.SMALL,
            mono=True,
            ha="center",
            bold=best,
            color=ink,
            width=WIDE - 30,
        )
        page.number(
            x + WIDE / 2 - 12,
            y + 7,
            each.log_prob,
            f"derived:trace.search.steps[{number}][{i}].log_prob",
            size=theme.TINY,
            color=theme.SOFT,
        )
        if each.row is not None:
            found[each.row] = (x + WIDE - 24, y, best)
    return found


def _draw_key(page: Page, fates: set[str], y: float) -> None:
    """What each kind of box means."""
    x = 0.0
    for fate, words in FATES.items():
        if fate in fates:
            fill, edge, dashed = LOOKS[fate]
            page.box(x, y, 14, 12, fill=fill, edge=edge, dashed=dashed, round=3)
            label = page.say(*words)
            page.text(x + 19, y + 6, label, size=theme.SMALL, color=theme.SOFT)
            x += 40 + measure(label, theme.SMALL)


def _draw_endings(page: Page, search: Any, y: float) -> None:
    """The hypotheses that ended, best first: score, log-probability, text."""
    heads = (
        page.say("score", "得分"),
        page.say("log-probability", "对数概率"),
        page.say("ended", "已结束的假设"),
    )
    for x, text, ha in zip((44, 124, 150), heads, ("right", "right", "left"), strict=True):
        page.text(x, y, text, size=theme.SMALL, ha=ha, color=theme.SOFT)
    for n, found in enumerate(search.hypotheses[:5]):
        line, best = y + 17 * (n + 1), n == search.chosen
        for x, name in ((44, "score"), (124, "log_prob")):
            page.number(
                x,
                line,
                getattr(found, name),
                f"derived:trace.search.hypotheses[{n}].{name}",
                ha="right",
                bold=best,
            )
        page.text(
            150, line, found.text, bold=best, color=theme.INK if best else theme.SOFT, width=900
        )


def draw_greedy_path(
    trace: Any,
    *,
    lang: str = "en",
    ax: Axes | None = None,
    k: int = 4,
    columns: int = 8,
) -> Figure:
    """V81: at each step the most probable pieces; the one that was written is lit."""
    page, role = Page(lang, ax), theme.role("softmax")
    high, wide = 22 * k + 66.0, 92.0
    shown = elide(len(trace.predicted), 6 * columns, 5)
    columns = balance(len(shown), columns)
    for place, t in enumerate(shown):
        row, column = divmod(place, columns)
        x, y = column * wide, row * high
        if t is None:
            page.text(x + 40, y + high / 2 - 20, "…", size=14, ha="center", color=theme.SOFT)
            continue
        page.text(
            x + 40,
            y - 8,
            show_piece(trace.target[t].text),
            size=theme.SMALL,
            mono=True,
            ha="center",
            color=theme.SOFT,
            width=80,
        )
        page.arrow((x + 40, y + 1), (x + 40, y + 13))
        for n, (text, share, of, taken) in enumerate(_list_choices(trace, t, k)):
            top = y + 16 + n * 22
            page.box(
                x,
                top,
                80,
                19,
                fill=theme.PAPER,
                edge=role.ink if taken else theme.FAINT,
                line=2 if taken else 0.7,
            )
            page.box(
                x + 1,
                top + 1,
                max(78 * share, 0.01),
                17,
                fill=role.fill,
                edge=None,
                layer=2.2,
                round=2,
            )
            page.text(
                x + 4,
                top + 9.5,
                show_piece(text),
                size=theme.SMALL,
                mono=True,
                width=46,
                bold=taken,
            )
            page.number(x + 77, top + 9.5, share, of, ha="right", size=theme.TINY, bold=taken)
    best = sum(prediction.rank == 0 for prediction in trace.predictions)
    return page.finish(
        page.say("Greedy decoding takes the best piece at each step", "贪婪解码：每一步取最优词元"),
        page.say(
            "Above: what goes in; below: the most probable pieces that come out, the written one "
            f"framed. In {best} of "
            f"{len(trace.predicted)} steps it was the most probable.",
            f"上：输入；下：最可能输出的词元，写下的加框。{len(trace.predicted)} 步中有 {best} 步是"
            "最可能的一个。",
        )
        + tell_left_out(page, len([t for t in shown if t is not None]), len(trace.predicted)),
    )


def _list_choices(trace: Any, t: int, k: int) -> list[tuple[str, float, str, bool]]:
    """Text, probability, its tag, and whether it was written; what was written is last if it is
    not among the best."""
    piece, tag = trace.predicted[t], f"derived:np.exp(trace.top({t}, {k})[{{}}].log_prob)"
    found = [
        (choice.text, float(np.exp(choice.log_prob)), tag.format(n), choice.id == piece.id)
        for n, choice in enumerate(trace.top(t, k))
    ]
    if not any(taken for *_, taken in found):
        own = float(np.exp(trace.predictions[t].log_prob))
        of = f"derived:np.exp(trace.predictions[{t}].log_prob)"
        found[-1:] = [(piece.text, own, of, True)]
    return found
