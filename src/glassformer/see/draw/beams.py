"""Pictures of a search: the greedy path (V81) and the tree of beam search (V82)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from graphlib import TopologicalSorter
from typing import Any, NamedTuple

from matplotlib.axes import Axes

from . import theme
from .animate import Animation
from .canvas import Page
from .fonts import measure_width
from .selection import elide, show_token

WIDE, HIGH = 80.0, 34.0  # width of a candidate; its height, with the gap below it
GAP, LANE = 24.0, 6.0  # least gap between columns; between vertical lines within a gap
MOST = 14  # steps drawn one by one
LOOKS = {  # fill, frame, dashed; by the fate of a candidate
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


class BeamTree(NamedTuple):
    """A search to draw, and the expression by which the numbers of the picture name it."""

    search: Any
    name: str


class ParentBox(NamedTuple):
    """The right end of a hypothesis that goes on, and whether it belongs to the chosen one."""

    x: float
    y: float
    best: bool


def find_tree(trace: Any) -> BeamTree:
    """Return the recorded search, or a beam search if that kept one hypothesis only.

    Raise ValueError if the translation was given and not searched for.
    """
    if trace.search is None:
        raise ValueError("this recording was given its translation: nothing was searched for")
    if is_beam(trace.search) or trace.beam_search is None:
        return BeamTree(trace.search, "trace.search")
    return BeamTree(trace.beam_search, "trace.beam_search")


def is_beam(search: Any) -> bool:
    """Return whether a search kept several hypotheses."""
    return search.settings.search == "beam" and search.settings.beam > 1


def find_branch(search: Any) -> list[int]:
    """Return the index of the chosen hypothesis among the candidates of each step."""
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
    """Return the indices of the candidates to draw in one step.

    These are all that were not outranked, the chosen one, and the `losers` best outranked ones.
    """
    outranked = [i for i, each in enumerate(step) if each.fate == "OUTRANKED"]
    out = set(outranked[losers:]) - {chosen}
    return [i for i in range(len(step)) if i not in out]


def order_lanes(families: Mapping[int, tuple[float, Sequence[float]]]) -> list[int]:
    """Return the parents in the order of their vertical lines, from left to right.

    families: for each parent, its height and those of its children. If the vertical line of
    another parent passes the height of a parent, that parent's own line comes first. So no line
    runs along another.
    """
    sorter: TopologicalSorter[int] = TopologicalSorter()
    for row, (y, children) in families.items():
        low, high = min(y, *children), max(y, *children)
        within = (r for r, (at, _) in families.items() if r != row and low <= at <= high)
        sorter.add(row, *within)
    return [*sorter.static_order()]


def draw_beam_tree(
    trace: Any,
    *,
    lang: str = "en",
    ax: Axes | None = None,
    losers: int = 2,
    steps: int | None = None,
) -> Animation:
    """Draw the tree of beam search (V82).

    losers: outranked candidates drawn at each step; steps: how many steps are drawn (by default,
    up to the end of the chosen translation). If the translation was found by a search that keeps
    one hypothesis, a beam search is made for the picture, unless the recording was read from disk.
    """
    page, tree = Page(lang, ax), find_tree(trace)
    search, path, role = tree.search, find_branch(tree.search), theme.role("decoder")
    steps = min(steps or len(path) or len(search.steps), len(search.steps))
    places = elide(steps, MOST, 4)
    root = page.box(-84, -13, 64, 26, fill=role.fill, edge=role.ink, label="<s>", bold=True)
    parents = {0: ParentBox(root.right, root.centre[1], True)}
    for place, number in enumerate(places):
        if number is None:
            parents = _skip(page, tree, path, (places[place - 1] or 0, places[place + 1] or 0))
            continue
        step, chosen = search.steps[number], path[number] if number < len(path) else None
        kept = sum(each.fate == "KEPT" for each in step)
        page.step(
            f"Step {number + 1}: of {len(step)} ways to go on, {kept} live on.",
            f"第 {number + 1} 步：{len(step)} 种延续中保留 {kept} 种。",
        )
        shown = choose_shown(step, chosen, losers)
        parents = _draw_step(page, tree, number, chosen, shown, parents)
    bottom = page.bottom + 24
    _draw_key(page, {each.fate for step in search.steps for each in step}, bottom)
    _draw_endings(page, tree, bottom + 44)
    settings = search.settings
    penalty = {"gnmt": f"((5+n)/6)^{settings.alpha}", "power": f"n^{settings.alpha}", "none": "1"}[
        settings.length_penalty
    ]
    cut = len(search.steps) - steps
    more = page.say(f" {cut} later steps are left out.", f"略去后面 {cut} 步。") if cut > 0 else ""
    name = _name_search(page, settings)
    return page.animate(
        page.say(f"The search, step by step ({name})", f"逐步搜索（{name}）"),
        _say_how(page, trace, tree)
        + page.say(
            "Under each token: the log-probability of everything so far. A line leads from each "
            "hypothesis to what continues it; the thick one is the translation that was chosen. "
            f"Of those outranked, the best {losers} of each step are shown. "
            f"Score: log-probability / {penalty}.{more}",
            "每个词元下面是到此为止的对数概率。连线从每个假设引向它的延续；粗线是选中的译文。"
            f"被淘汰者每步只显示最好的 {losers} 个。得分 = 对数概率 / {penalty}。{more}",
        ),
    )


def _name_search(page: Page, settings: Any) -> str:
    """Return the name of a search, such as "beam 4"."""
    if settings.search == "beam":
        return page.say(f"beam {settings.beam}", f"束宽 {settings.beam}")
    return page.say(*{"greedy": ("greedy", "贪婪"), "sample": ("sample", "采样")}[settings.search])


def _say_how(page: Page, trace: Any, tree: BeamTree) -> str:
    """Return a note if the tree is not that of the recorded search, or has one branch only."""
    name = _name_search(page, trace.search.settings)
    if tree.search is not trace.search:
        return page.say(
            f"The translation was found by another search ({name}), which keeps one hypothesis; "
            "the beam search was made for this picture. ",
            f"译文由另一种搜索（{name}）得到，它只保留一个假设；此处的束搜索专为本图而做。",
        )
    if is_beam(tree.search):
        return ""
    return page.say(
        "This search keeps one hypothesis; a recording of a beam search has a tree. ",
        "这种搜索只保留一个假设；束搜索的记录才有树。",
    )


def _skip(
    page: Page, tree: BeamTree, path: list[int], around: tuple[int, int]
) -> dict[int, ParentBox]:
    """Skip steps, draw what is kept in the last of them, and return where its rows go on.

    around: the last step drawn before the gap and the first one after it.
    """
    number, hidden = around[1] - 1, around[1] - around[0] - 2
    page.step(f"{hidden} steps later.", f"{hidden} 步之后。")
    step = tree.search.steps[number]
    kept = [i for i, each in enumerate(step) if each.row is not None]
    found = _draw_step(page, tree, number, path[number] if number < len(path) else None, kept, {})
    left, top = page.right - WIDE, min(parent.y for parent in found.values()) - 13
    label = page.say(f"{hidden} steps later", f"{hidden} 步之后")
    page.text(left, top - 8, label, size=theme.SMALL, color=theme.SOFT, width=WIDE)
    return found


def _draw_step(
    page: Page,
    tree: BeamTree,
    number: int,
    chosen: int | None,
    shown: list[int],
    parents: Mapping[int, ParentBox],
) -> dict[int, ParentBox]:
    """Draw one column of the tree, and lines from the parents that are drawn.

    Return the box from which each row goes on.
    """
    step, found = tree.search.steps[number], {}
    order = sorted(shown, key=lambda i: (parents[step[i].parent].y if parents else 0, i))
    top = -(len(order) - 1) / 2 * HIGH
    heights = {i: top + line * HIGH for line, i in enumerate(order)}
    x = _draw_lines(page, step, chosen, heights, parents) if parents else page.right + GAP
    for i, y in heights.items():
        _draw_candidate(page, tree, (number, i), (x, y), i == chosen)
        if step[i].row is not None:
            found[step[i].row] = ParentBox(x + WIDE, y, i == chosen)
    return found


def _draw_lines(
    page: Page,
    step: Any,
    chosen: int | None,
    heights: Mapping[int, float],
    parents: Mapping[int, ParentBox],
) -> float:
    """Join each candidate to its parent by a vertical line of that parent.

    Return the x at which the column of candidates begins.
    """
    families: dict[int, list[float]] = {}
    for i, y in heights.items():
        families.setdefault(step[i].parent, []).append(y)
    lanes = order_lanes({row: (parents[row].y, ys) for row, ys in families.items()})
    left = max(parent.x for parent in parents.values())
    gap = max(GAP, LANE * (len(lanes) + 1))
    for i, y in heights.items():
        row = step[i].parent
        start, lane = parents[row], left + gap * (1 + lanes.index(row)) / (len(lanes) + 1)
        strong = i == chosen and start.best
        page.line(
            [(start.x, start.y), (lane, start.y), (lane, y), (left + gap, y)],
            layer=3 if strong else 1,
            color=theme.INK if strong else theme.HEADS[row % len(theme.HEADS)],
            width=2.4 if strong else 1.1,
        )
    return left + gap


def _draw_candidate(
    page: Page, tree: BeamTree, which: tuple[int, int], place: tuple[float, float], best: bool
) -> None:
    """Draw the box of one candidate: its token and the log-probability so far."""
    (number, i), (x, y) = which, place
    each = tree.search.steps[number][i]
    fill, edge, dashed = LOOKS[each.fate]
    page.box(x, y - 13, WIDE, 26, fill=fill, edge=edge, line=2.2 if best else 1, dashed=dashed)
    page.text(
        x + WIDE / 2,
        y - 5,
        show_token(each.text),
        size=theme.SMALL,
        mono=True,
        ha="center",
        bold=best,
        color=theme.SOFT if each.fate == "OUTRANKED" else theme.INK,
        width=WIDE - 6,
    )
    page.number(
        x + WIDE / 2,
        y + 7,
        each.log_prob,
        f"derived:{tree.name}.steps[{number}][{i}].log_prob",
        size=theme.TINY,
        color=theme.SOFT,
    )


def _draw_key(page: Page, fates: set[str], y: float) -> None:
    """Draw the legend: what each kind of box means."""
    x = 0.0
    for fate, words in FATES.items():
        if fate in fates:
            fill, edge, dashed = LOOKS[fate]
            page.box(x, y, 14, 12, fill=fill, edge=edge, dashed=dashed, round=3)
            label = page.say(*words)
            page.text(x + 19, y + 6, label, size=theme.SMALL, color=theme.SOFT)
            x += 40 + measure_width(label, theme.SMALL)


def _draw_endings(page: Page, tree: BeamTree, y: float) -> None:
    """List the finished hypotheses, best first: score, log-probability, text."""
    search = tree.search
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
                f"derived:{tree.name}.hypotheses[{n}].{name}",
                ha="right",
                bold=best,
            )
        page.text(
            150, line, found.text, bold=best, color=theme.INK if best else theme.SOFT, width=900
        )
