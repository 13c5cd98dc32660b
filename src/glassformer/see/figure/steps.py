"""Figures of self-attention on vectors, on one stage from step to step (V32-V38)."""

from __future__ import annotations

from typing import NamedTuple

from . import style
from .attention import Query, choose_row, find_sharpest
from .links import Callout, Link
from .nodes import (
    Across,
    Bar,
    Card,
    Columns,
    Down,
    Held,
    Label,
    Line,
    Node,
    Numeral,
    Panel,
    Spacer,
    Strip,
    find_largest,
    spell,
)
from .plan import Outline, figure
from .quantity import Array, Quantity
from .scene import Scene
from .selection import find_attention, find_input, keep_largest, pick

MOST = 6  # keys with a row of their own
CELLS = 8  # of a vector whose products are shown
PAIR = (112.0, 96.0)  # two scores of the note, for a head of 64


class Glance(NamedTuple):
    """One query of one head of the encoder, and the keys that are drawn."""

    name: str
    head: int
    row: int
    keys: list[str]
    shown: list[int]
    best: int  # the key, other than the query, with the largest weight
    where: str

    def cell(self, window: str, m: int) -> str:
        """Return the cell of a tensor Q M for this query and one key."""
        return f"{self.name}.{window}[{self.head},{self.row},{m}]"

    @property
    def rest(self) -> str:
        """Return what the keys that are not drawn weigh together, as an expression."""
        everything = f"sum[m] {self.name}.weights[{self.head},{self.row},m]"
        return " - ".join([everything, *(self.cell("weights", m) for m in self.shown)])

    def product(self, m: int, at: str = "k") -> str:
        """Return the product of query and key at one place, as an expression."""
        query = f"{self.name}.query[{self.head},{self.row},{at}]"
        return f"{query} {self.name}.key[{self.head},{m},{at}]"


def choose_keys(plan: Outline, layer: int | None, head: int | None, query: Query) -> Glance:
    """Return a query and its keys; by default of the head that looks most at one other word.

    Without a layer, it is the one with the sharpest head of all.
    """
    count = plan.trace.settings.encoder_layers
    found = []
    for n in range(count) if layer is None else (layer,):
        attention = find_attention(plan.trace, "encoder", n)
        row = choose_row(plan.trace, attention, query)
        weights = plan.trace[f"{attention.name}.weights"]
        own = find_sharpest(attention, weights, row) if head is None else head
        own = pick(own, len(weights), "head")
        words = [m for m, key in enumerate(attention.keys) if key.isalpha() and m != row]
        found.append((weights[own, row, words].max(initial=0.0), -n, attention, weights, own))
    _, _, attention, weights, head = max(found, key=lambda each: each[:2])
    seen = weights[head, row].copy()
    shown = keep_largest(seen, MOST, (row,))
    seen[row] = -1
    where = f"{attention.title(plan.lang)}{plan.say('head', head=head)}"
    return Glance(attention.name, head, row, attention.keys, shown, int(seen.argmax()), where)


PROJECTIONS = ("query", "key", "value")


@figure("step_1")
def draw_products(
    plan: Outline,
    *,
    whole: bool = False,
    layer: int | None = None,
    head: int | None = None,
    query: Query = None,
) -> Scene:
    """Show x times W_Q, W_K and W_V of one head (V32); if `whole`, of all tokens (V39)."""
    look, settings = choose_keys(plan, layer, head, query), plan.trace.settings
    d, k, n = settings.d_model, settings.width, len(plan.trace.source)
    layer = int(look.name.split(".")[1])
    tensor = find_input(plan.trace, "encoder", layer, "self_attention")
    x = plan.of(f"{tensor}[q,d]") if whole else plan.of(f"{tensor}[{look.row},d]")
    tall = min(120.0, max(24.0, 8.0 * n)) if whole else 18.0
    name = plan.say("rows", n=n) if whole else f"“{look.keys[look.row]}”"
    letter = "X" if whole else "x"
    left = Down(
        Label(f"${letter}$  {name}", style.BODY, style.role("sum").ink, fit=170),
        Panel(x, width=170, height=tall, edge=style.role("sum").ink).named("x"),
        Label(f"{n if whole else 1} × {d}", style.TINY, style.SOFT),
        gap=3,
        align="middle",
        stands_on=1,
    )
    rows: list[list[Node]] = []
    links = []
    for step, projection in enumerate(PROJECTIONS, 1):
        role, letter = style.role(projection), projection[0]
        weight = plan.of(f"{look.name}.to_{projection}.weight[r,d]").values
        own: Array = weight[look.head * k : (look.head + 1) * k].T
        panel = Panel(own, width=44, height=88, edge=role.ink).named(f"W {projection}")
        size = Label(f"$W_{letter.upper()}$  {d} × {k}", style.SMALL, role.ink)
        at = f"{look.name}.{projection}[{look.head},"
        made: Node = Strip(plan.of(f"{at}{look.row},k]"), projection, lit=[0] if step == 1 else [])
        if whole:
            made = Panel(plan.of(f"{at}q,k]"), width=44, height=tall, edge=role.ink)
        title = Label(f"${letter.upper() if whole else letter}$", style.HEADING, role.ink)
        step = 0 if whole else step
        out = Across(title, made, gap=6).at(step, (-110, 0)).named(projection)
        rows.append([Down(panel, size, gap=2, align="middle", stands_on=0), out])
        links += [
            Link("x", f"W {projection}", "ribbon", line=1.6, sides=("right", "left")),
            Link(f"W {projection}", projection, ink=role.ink, line=1.6, step=step),
        ]
    return plan.compose(
        Across(left, Columns(rows, gap=(46, 20)), gap=64),
        title=plan.say("title_whole" if whole else "title", word=look.keys[look.row], n=n),
        note=plan.say("note", where=look.where),
        links=links,
        callouts=[] if whole else [_tell_sum(plan, look, tensor)],
        captions=[] if whole else [plan.say(f"caption_{p}") for p in PROJECTIONS],
    )


def _tell_sum(plan: Outline, look: Glance, tensor: str) -> Callout:
    """Return a callout with the sum behind the first number of the query."""
    width, d = plan.trace.settings.width, plan.trace.settings.d_model
    terms = [
        plan.of(f"{tensor}[{look.row},{i}] {look.name}.to_query.weight[{look.head * width},{i}]")
        for i in range(2)
    ]
    made = plan.of(f"{look.name}.query[{look.head},{look.row},0]")
    spelled = " + ".join(spell(float(term)) for term in terms).replace("+ −", "− ")
    told = plan.say("sum", n=d, terms=spelled, result=spell(float(made)))
    return Callout("query", told, "below", 170, step=1, of=made)


@figure("step_2")
def draw_score(
    plan: Outline, *, layer: int | None = None, head: int | None = None, query: Query = None
) -> Scene:
    """Show one score in full, product by product, and the scores of the other keys (V33)."""
    look, width = choose_keys(plan, layer, head, query), plan.trace.settings.width
    count, m = min(CELLS, width), look.best
    names = [(look.row, "query", "q"), (m, "key", "k")]
    rows: list[list[Node]] = []
    for place, projection, letter in names:
        ink = style.role(projection).ink
        vector = plan.of(f"{look.name}.{projection}[{look.head},{place},k]")
        told = plan.say(projection, word=look.keys[place])
        rows.append(
            [
                Label(told, style.BODY, ink, bold=True),
                Strip(vector, projection, shown=count).named(letter),
            ]
        )
    wide, high = style.CELL
    products = Panel(
        plan.of(look.product(m)), width=wide * count, height=high, digits=2, shown=count
    )
    rows.append([Label(plan.say("times"), style.BODY), products.at(1, (0, -60))])
    sums = [
        plan.of(" + ".join(look.product(m, str(i)) for i in range(n + 1))) for n in range(count)
    ]
    running: list[Node] = []
    for n, each in enumerate(sums):
        is_last = n == width - 1
        ink = style.LIT if is_last else style.SOFT
        number = Numeral(each, style.SMALL, ink, bold=is_last, align="middle")
        box = Held(number, wide)
        running.append(box.named("sum") if is_last else box)
    rows.append([Label(plan.say("running"), style.BODY), Across(*running, gap=0).at(2)])
    callouts = []
    if count == width:
        callouts = [Callout("sum", plan.say("score", word=look.keys[m]), "below", 160, step=2)]
    scores = {i: plan.of(f"sum[k] {look.product(i)}") for i in look.shown}
    others = _list_scores(plan, look, scores)
    body = Down(
        Columns(rows, gap=(style.NEAR, 8), align=["end", "start"]),
        Spacer(0, 18 if callouts else 0),
        Label(plan.say("every"), style.SMALL, style.SOFT),
        others,
        gap=10,
        align="middle",
    )
    result = spell(float(plan.of(f"sum[k] {look.product(m)}")))
    return plan.compose(
        body,
        title=plan.say("title", word=look.keys[look.row], key=look.keys[m], n=width, result=result),
        note=plan.say("note", where=look.where, n=width) + _tell_rest(plan, look),
        callouts=callouts,
        captions=[plan.say("caption_1", n=width), plan.say("caption_2"), plan.say("caption_3")],
    )


def _list_scores(plan: Outline, look: Glance, scores: dict[int, Quantity]) -> Node:
    limit = find_largest([score.values for score in scores.values()])
    order = sorted(scores, key=lambda i: -float(scores[i]))
    signed = float(scores[order[-1]]) < 0
    ink = style.role("scores").ink
    rows: list[list[Node]] = []
    for i in order:
        is_best = i == look.best
        name = Label(look.keys[i], style.BODY, bold=is_best, fit=90)
        bar = Bar(
            scores[i], limit, style.LIT if is_best else ink, width=110, height=11, signed=signed
        )
        rows.append([name, bar.at(3, (0, -30))])
    return Columns(rows, gap=(style.NEAR, 3), align=["end", "start"])


def _tell_rest(plan: Outline, look: Glance) -> str:
    rest = len(look.keys) - len(look.shown)
    return plan.say("rest", n=rest) if rest > 0 else ""


COLUMNS = (  # name, role and formula of each, after the keys
    ("raw", "scores", "$q · k$"),
    ("scaled", "scores", "$÷ √d_k$"),
    ("share", "weights", "$softmax$"),
    ("read", "value", "$× v$"),
)


@figure("steps")
def draw_table(
    plan: Outline,
    *,
    stage: int = 6,
    layer: int | None = None,
    head: int | None = None,
    query: Query = None,
) -> Scene:
    """Show scores scaled (V34), shares (V35), values by share (V36) and their sum (V37).

    All four have one layout, of which each shows one column more: what is new is the only change.
    """
    look, k = choose_keys(plan, layer, head, query), plan.trace.settings.width
    weights = plan.of(f"{look.name}.weights[{look.head},{look.row},m]")
    heads: list[Node] = [Spacer()]
    for n, (name, role, formula) in enumerate(COLUMNS, 2):
        if n <= stage:
            ink = style.role(role).ink
            word = Label(plan.say(name), style.SMALL, ink, bold=n == stage)
            heads.append(Down(word, Label(formula, style.BODY, ink), gap=0, align="middle"))
    if stage == 4:  # the next column has its place already
        heads.append(Spacer(168.0))
    rows = [heads]
    limit = max(0.3, float(weights.values.max()))
    for n, m in enumerate(look.shown):
        rows.append(_draw_key(plan, look, m, stage, limit, 1 if n == 0 else 2))
    if stage >= 4 and len(look.keys) > len(look.shown):
        rows.append(_draw_rest(plan, look, limit))
    table = Columns(rows, gap=(20, 7), align=["end", "middle", "middle", "start", "start"])
    body: Node = table
    callouts, captions = [], [plan.say(f"caption_{stage}_1"), plan.say(f"caption_{stage}_2")]
    if stage == 3:
        body = Across(table, _show_saturation(plan).at(3), gap=style.FAR)
        captions.append(plan.say("caption_3_3"))
    if stage == 6:
        z = plan.of(f"{look.name}.context[{look.head},{look.row},k]")
        letter = Label("$z =$", style.HEADING, style.role("heads").ink)
        read = Across(letter, Strip(z, "heads").named("z").at(3, (0, -40)))
        body = Down(table, Line(table.width), Held(read, table.width, "end"), gap=style.NEAR)
        callouts.append(Callout("z", plan.say("sum_of_all"), "below", 190, step=3))
        captions.append(plan.say("caption_6_3"))
    key = look.keys[look.best]
    return plan.compose(
        body,
        title=plan.say(f"title_{stage}", word=look.keys[look.row], key=key, k=k),
        note=plan.say("note", where=look.where) + (_tell_rest(plan, look) if stage < 4 else ""),
        callouts=callouts,
        captions=captions,
    )


def _draw_key(
    plan: Outline, look: Glance, m: int, stage: int, limit: float, step: int
) -> list[Node]:
    """Return the row of a key up to the column of a stage, which arrives at a step."""
    score, share = style.role("scores"), style.role("weights")
    row: list[Node] = [Label(look.keys[m], style.BODY, bold=m == look.best, fit=100)]
    values: list[Node] = [
        Numeral(plan.of(f"sum[k] {look.product(m)}"), style.BODY, score.ink),
        Numeral(plan.of(look.cell("scores", m)), style.BODY, score.ink),
        Bar(plan.of(look.cell("weights", m)), limit, share.ink, width=96, height=11),
    ]
    weight = float(plan.of(look.cell("weights", m)))
    value = plan.of(f"{look.cell('weights', m)} {look.name}.value[{look.head},{m},k]")
    faded = min(1.0, 0.45 + weight / limit)
    values.append(Strip(value, "value", cell=(38.0, 20.0)).faded(faded))
    for n, node in enumerate(values, 2):
        if n <= stage and n < 6:
            row.append(node.at(step, (-60, 0)) if n == stage else node)
    return row


def _draw_rest(plan: Outline, look: Glance, limit: float) -> list[Node]:
    """Return a row for the keys that are not drawn: what is left of the weights."""
    count = len(look.keys) - len(look.shown)
    name = Label(plan.say("others", n=count), style.SMALL, style.SOFT)
    bar = Bar(plan.of(look.rest), limit, style.FAINT, width=96, height=11)
    return [name, Spacer(), Spacer(), bar.at(2)]


def _show_saturation(plan: Outline) -> Node:
    """Return the worked example of the notes: the softmax of two large scores, scaled or not."""
    plan.give("worked", PAIR)
    columns = (
        ("$q · k$", "worked[{i}]", 0),
        ("$÷ 8$", "worked[{i}] / 8", 0),
        ("$softmax$", "exp(worked[{i}] / 8) / (sum[j] exp(worked[j] / 8))", 2),
        ("unscaled", "exp(worked[{i}]) / (sum[j] exp(worked[j]))", 7),
    )
    heads: list[Node] = []
    for text, _, _ in columns:
        text = text if text.startswith("$") else plan.say(text)
        heads.append(Label(text, style.SMALL, style.SOFT))
    rows = [heads]
    for i in range(2):
        row: list[Node] = []
        for _, expression, digits in columns:
            number = plan.of(expression.format(i=i))
            ink = style.LIT if digits == 7 else style.INK
            row.append(Numeral(number, style.BODY, ink, digits=digits))
        rows.append(row)
    table = Columns(rows, gap=(26, 2), align="end")
    told = Label(plan.say("saturates"), style.SMALL, style.LIT, width=120)
    name = Label(plan.say("worked"), style.SMALL, style.SOFT, bold=True)
    return Card(Down(name, Across(table, told, gap=18), gap=4), pad=10)


@figure("average")
def draw_mean(
    plan: Outline, *, layer: int | None = None, head: int | None = None, query: Query = None
) -> Scene:
    """Show attention as an expected value: weights, values, and their weighted mean (V38)."""
    look = choose_keys(plan, layer, head, query)
    weights = plan.of(f"{look.name}.weights[{look.head},{look.row},m]")
    values = plan.of(f"{look.name}.value[{look.head},m,k]")
    limit, largest = find_largest([values]), max(0.3, float(weights.values.max()))
    wide, ink = 180.0, style.role("weights").ink
    heads: list[Node] = [Spacer(), Label(plan.say("weight"), style.SMALL, ink, bold=True)]
    heads.append(Label(plan.say("value"), style.SMALL, style.role("value").ink, bold=True))
    rows = [heads]
    for m in look.shown:
        bar = Bar(weights[m], largest, ink, width=110)
        name = Label(look.keys[m], style.BODY, bold=m == look.best, fit=100)
        rows.append([name, bar, Panel(values[m], width=wide, height=16, limit=limit)])
    mean = plan.of(f"{look.name}.context[{look.head},{look.row},k]")
    panel = Panel(mean, width=wide, height=24, limit=limit, edge=style.role("heads").ink)
    rows.append([Spacer(), Label(plan.say("mean"), style.BODY, bold=True), panel.named("mean")])
    spelled = "$z_i = Σ_j α_{ij} v_j ,    α_{ij} = softmax( q_i · k_j / √d_k )$"
    formula = Label(spelled, style.HEADING)
    table = Columns(rows, gap=(18, 7), align=["end", "start", "start"])
    return plan.compose(
        Down(formula, table, gap=style.APART, align="middle"),
        title=plan.say("title"),
        note=plan.say("note", where=look.where, word=look.keys[look.row]) + _tell_rest(plan, look),
        callouts=[Callout("mean", plan.say("expected"), "below", 220)],
    )
