"""Figures of self-attention on vectors, on one stage from step to step (V32-V38)."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from .attention import Query, choose_row, find_sharpest
from .head import PROJECTIONS, find_projection
from .parts import grammar as g
from .parts import style
from .parts.selection import find_input, keep_largest, pick

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
    told: str  # how many keys are left out, as a sentence

    def cell(self, window: str, m: int) -> str:
        """Return the cell of a tensor Q M for this query and one key."""
        return f"{self.name}.{window}[{self.head},{self.row},{m}]"

    def value(self, m: int) -> str:
        """Return the value of a key times its weight, as an expression."""
        return f"{self.cell('weights', m)} {self.name}.value[{self.head},{m},k]"

    @property
    def sum(self) -> str:
        """Return what the head has read, the sum of all values by weight, as an expression."""
        return f"{self.name}.context[{self.head},{self.row},k]"

    @property
    def rest(self) -> str:
        """Return what the keys that are not drawn weigh together, as an expression."""
        everything = f"sum[m] {self.name}.weights[{self.head},{self.row},m]"
        return " - ".join([everything, *(self.cell("weights", m) for m in self.shown)])

    def list_terms(self, trace: Any) -> g.Array:
        """Return the value of every key times its weight: what the head adds up."""
        weights, values = (trace[f"{self.name}.{w}"][self.head] for w in ("weights", "value"))
        terms: g.Array = weights[self.row, :, None] * values
        return terms

    def unscaled(self, m: int) -> str:
        """Return the share of a key if the scores were not scaled, as an expression."""
        return f"1 / (sum[j] exp(sum[k] {self.product('j')} - (sum[k] {self.product(m)})))"

    def product(self, m: int | str, at: str = "k") -> str:
        """Return the product of query and key at one place, as an expression."""
        query = f"{self.name}.query[{self.head},{self.row},{at}]"
        return f"{query} {self.name}.key[{self.head},{m},{at}]"


def choose_glance(plan: g.Outline, layer: int | None, head: int | None, query: Query) -> Glance:
    """Return a query and its keys; by default of the head that looks most at one other word.

    Without a layer, it is the one with the sharpest head of all.
    """
    count = plan.settings.encoder_layers
    results = []
    for n in range(count) if layer is None else (layer,):
        attention = plan.attention("encoder", n)
        row = choose_row(plan.trace, attention, query)
        weights = plan.trace[f"{attention.name}.weights"]
        own = find_sharpest(attention, weights, row) if head is None else head
        own = pick(own, len(weights), "head")
        words = [m for m, key in enumerate(attention.keys) if key.isalpha() and m != row]
        results.append((weights[own, row, words].max(initial=0.0), -n, attention, weights, own))
    _, _, attention, weights, head = max(results, key=lambda each: each[:2])
    seen = weights[head, row].copy()
    shown = keep_largest(seen, MOST, (row,))
    seen[row] = -1
    best, keys = int(seen.argmax()), attention.keys
    plan.block = attention.name
    where = f"{attention.title(plan.lang)}{plan.say('head', head=head)}"
    rest = len(keys) - len(shown)
    plan.facts |= {"where": where, "word": keys[row], "key": keys[best], "n": rest}
    text = plan.say("rest", **plan.facts) if rest and plan.has("rest") else ""
    return Glance(attention.name, head, row, keys, shown, best, text)


@g.figure("step_1")
def draw_products(
    plan: g.Outline,
    *,
    whole: bool = False,
    layer: int | None = None,
    head: int | None = None,
    query: Query = None,
) -> g.Scene:
    """Show x times W_Q, W_K and W_V of one head (V32); if `whole`, of all tokens (V39)."""
    look, n = choose_glance(plan, layer, head, query), len(plan.source)
    d, k, wide = plan.settings.d_model, plan.settings.width, min(120.0, max(24.0, 8.0 * n))
    inputs = find_input(plan.trace, "encoder", int(look.name.split(".")[1]), "self_attention")
    tall, row = (wide, "q") if whole else (18.0, str(look.row))
    lit = [(look.row, None)] if whole else []
    name = plan.say("rows", n=n) if whole else f"“{look.keys[look.row]}”"
    left = g.middle(
        g.Label(f"${'X' if whole else 'x'}$  {name}", ink="sum", fit=170),
        plan.panel(f"{inputs}[{row},d]", width=170, height=tall, edge="sum", lit=lit).named("x"),
        g.tiny(f"{n if whole else 1} × {d}"),
        gap=3,
        stands_on=1,
    )
    rows: list[list[g.Part]] = []
    links = []
    for step, role in enumerate(PROJECTIONS, 1):
        letter, result = role[0], plan.of(f"{look.name}.{role}[{look.head},{row},k]")
        learned = find_projection(plan.trace, look.name, role, look.head)
        column = [(None, 0)] if step == 1 and not whole else []  # of the number that is explained
        panel = g.Panel(learned, width=44, height=88, edge=role, lit=column).named(f"W {role}")
        shape = g.small(f"$W_{letter.upper()}$  {d} × {k}", role)
        shown = (
            g.Panel(result, width=44, height=tall, edge=role, lit=lit)
            if whole
            else g.Strip(result, role, lit=[0] if step == 1 else []).named(f"{role} numbers")
        )
        title = g.Label(f"${letter.upper() if whole else letter}$", style.HEADING, role)
        at = 0 if whole else step
        size = g.tiny(f"{n} × {k}") if whole else None
        out = g.Across(title, g.middle(shown, size, gap=2, stands_on=0), gap=6)
        out.at(at, (-110, 0)).named(role)
        rows.append([g.middle(panel, shape, gap=2, stands_on=0), out])
        links += [
            g.Link("x", f"W {role}", "ribbon", line=1.6, sides=("right", "left")),
            g.Link(f"W {role}", role, ink=role, line=1.6, step=at),
        ]
    return plan.compose(
        g.Across(left, g.Columns(rows, gap=(46, 20)), gap=64),
        title="title_whole" if whole else "title",
        links=links,
        callouts=[] if whole else [_show_sum(plan, look, inputs)],
        captions=[] if whole else [plan.say(f"caption_{p}") for p in PROJECTIONS],
        note=plan.say("note", **plan.facts)
        + plan.say("framed_row" if whole else "framed", **plan.facts),
        n=n,
        k=k,
        size=g.spell(3 * d * k, 0),
    )


def _show_sum(plan: g.Outline, look: Glance, inputs: str) -> g.Callout:
    """Return a callout with the sum behind the first number of the query."""
    first, weight = look.head * plan.settings.width, f"{look.name}.to_query.weight"
    products = plan.of(f"{inputs}[{look.row},d] {weight}[{first},d]")
    largest = sorted(np.argsort(-np.abs(products.values), kind="stable")[:2].tolist())
    terms = [products[i] for i in largest]
    result = plan.of(f"{look.name}.query[{look.head},{look.row},0]")
    spelled = plan.say("and").join(g.spell(float(term)) for term in terms)
    facts = {"n": plan.settings.d_model, "terms": spelled, "result": g.spell(float(result))}
    return g.Callout(
        "query numbers, lit", plan.say("sum", **facts), "below", 170, step=1, of=result
    )


@g.figure("step_2")
def draw_score(
    plan: g.Outline, *, layer: int | None = None, head: int | None = None, query: Query = None
) -> g.Scene:
    """Show one score in full, product by product, and the scores of the other keys (V33)."""
    look, width = choose_glance(plan, layer, head, query), plan.settings.width
    m, (wide, high) = look.best, style.CELL
    count = width if width <= CELLS else CELLS - 1  # the last cell has the sum of the others
    rows: list[list[g.Part]] = []
    for place, role in ((look.row, "query"), (m, "key")):
        text = g.Label(plan.say(role, word=look.keys[place]), ink=role, bold=True)
        vector = f"{look.name}.{role}[{look.head},{place},k]"
        rows.append([text, plan.strip(vector, role, shown=count)])
    result = plan.of(look.product(m))
    products = [
        g.Panel(
            result,
            digits=2,
            only=([0], [n]),
            width=wide,
            height=high,
            limit=g.find_largest([result.values[:count]]),
        ).at(1, (0, -60), n)
        for n in range(count)
    ]
    running: list[g.Node] = []
    for n in range(count):
        total = plan.of(" + ".join(look.product(m, str(i)) for i in range(n + 1)))
        running.append(g.Numeral(total, ink=style.SOFT))
    every, others = plan.of(f"sum[k] {look.product(m)}"), None
    if count < width:
        few = (look.product(m, str(i)) for i in range(count))
        others = g.Slot(plan.of(" - ".join([every.source, *few])), wide).at(1, (0, -60), count)
        running.append(g.Spacer())
    running[-1] = g.Numeral(every, ink=style.LIT, bold=True)
    running = [g.Slot(each, wide) for each in running]
    running[-1].named("sum")
    rows += [
        [plan.say("times"), g.Across(*products, others, gap=0)],
        [plan.say("running"), g.Across(*(r.at(2, turn=n) for n, r in enumerate(running)), gap=0)],
    ]
    scores = {i: plan.of(f"sum[k] {look.product(i)}") for i in look.shown}
    limit, least = g.find_largest([*scores.values()]), min(map(float, scores.values()))
    bars = []
    for i in sorted(scores, key=lambda i: -float(scores[i])):
        ink = style.LIT if i == m else "scores"
        bar = g.Bar(scores[i], limit, ink, width=110, height=11, signed=least < 0)
        bars.append([g.Label(look.keys[i], bold=i == m, fit=90), bar.at(3, (0, -30))])
    pointed = plan.say("score", word=look.keys[m])
    return plan.compose(
        g.middle(
            g.Columns(rows, gap=(style.NEAR, 8), align="rl"),
            g.Spacer(0, 18),
            plan.small("every"),
            g.Columns(bars, gap=(style.NEAR, 3), align="rl"),
            gap=10,
        ),
        note=plan.say("note", **{**plan.facts, "n": width}) + look.told,
        callouts=[g.Callout("sum", pointed, "below", 160, step=2)],
        captions=[plan.say(f"caption_{n}", n=width) for n in (1, 2, 3)],
        n=width,
        result=g.spell(float(every)),
    )


BAR, SMALL_CELL = {3: 120.0, 4: 260.0}, (37.0, 20.0)  # of a share, else 70; of a value
COLUMNS = (  # name, role and formula of each, after the keys
    ("raw", "scores", "$q · k$"),
    ("scaled", "scores", "$÷ √d_k$"),
    ("share", "weights", "$α = softmax$"),
    ("value", "value", "$v$"),
    ("read", "value", "$α · v$"),
)


@g.figure("steps")
def draw_table(
    plan: g.Outline,
    *,
    stage: int = 6,
    layer: int | None = None,
    head: int | None = None,
    query: Query = None,
) -> g.Scene:
    """Show scores scaled (V34), shares (V35), values by share (V36) and their sum (V37).

    All four have one layout, of which each shows one column more: what is new is the only change.
    """
    look = choose_glance(plan, layer, head, query)
    weights = plan.of(f"{look.name}.weights[{look.head},{look.row},m]")
    heads: list[g.Part] = [None]
    shown = COLUMNS[: stage - 1 + (stage > 4)]
    for name, role, formula in shown:
        word = plan.small(name, role, bold=stage < 6 and name == shown[-1][0])
        heads.append(g.middle(word, g.Label(formula, ink=role), gap=0))
    if stage == 3:
        heads += [
            g.middle(plan.small(f"with_{key}", "weights"), "$softmax$", gap=0)
            for key in ("scale", "none")
        ]
    limit = max(0.3, float(weights.values.max()), float(plan.of(look.rest)))
    rows = [heads]
    for n, m in enumerate(look.shown):
        rows.append(_draw_key(plan, look, m, stage, limit, 1 if n == 0 else 2))
    bar = partial(plan.bar, width=BAR.get(stage, 70.0), height=11)
    if left := len(look.keys) - len(look.shown):
        bars = [bar(look.rest, limit, style.FAINT)]
        if stage == 3:
            alone = " - ".join(["1", *map(look.unscaled, look.shown)])
            bars.append(bar(alone, limit, style.FAINT))
        inputs = " - ".join([look.sum, *map(look.value, look.shown)])
        values = plan.strip(inputs, "value", cell=SMALL_CELL).faded(0.5).at(2)
        label = g.small(plan.say("others", n=left))
        last = [None, values] if stage > 4 else []
        rows.append(
            [label, None, None, *(bar.at(min(stage, 2 + (stage == 3))) for bar in bars), *last]
        )
    if stage < 5:
        total = plan.of(f"sum[m] ({weights.source})")
        sums = [g.Numeral(total, bold=True).at(2 + (stage == 3)) for _ in range(1 + (stage == 3))]
        rows.append([plan.small("sum"), None, None, *sums])
    table = g.Columns(rows, gap=(18, 7), align="rmml")
    body: g.Node = table
    if stage == 3:
        body = g.Down(table, _show_saturation(plan).at(3), gap=style.APART)
    if stage == 6:
        z = plan.strip(look.sum, "heads", terms=look.list_terms(plan.trace)).named("z")
        read = g.Across(g.Label("$z =$", style.HEADING, "heads"), z.at(3, (0, -40)))
        body = g.Down(table, g.Line(table.width), g.Slot(read, table.width, "end"), gap=style.NEAR)
    text = range(1, 4 if stage in (3, 6) else 3)
    return plan.compose(
        body,
        title=f"title_{stage}",
        note=plan.say("note" if stage > 4 else "note_numbers", **plan.facts),
        callouts=[g.Callout("z", "sum_of_all", "below", 190, step=3)] if stage == 6 else [],
        captions=[plan.say(f"caption_{stage}_{n}") for n in text],
        k=plan.settings.width,
        share=g.percent(float(weights[look.best])),
        alone=g.percent(float(plan.of(look.unscaled(look.best)))),
    )


def _draw_key(
    plan: g.Outline, look: Glance, m: int, stage: int, limit: float, step: int
) -> list[g.Part]:
    """Return the row of a key up to the column of a stage, which arrives at a step."""
    weight = plan.of(look.cell("weights", m))
    faded = min(1.0, 0.45 + float(weight) / limit)
    bar = partial(g.Bar, width=BAR.get(stage, 70.0), height=11)
    values: list[g.Node] = [
        plan.number(f"sum[k] {look.product(m)}", style.BODY, "scores"),
        plan.number(look.cell("scores", m), style.BODY, "scores"),
        bar(weight, limit, "weights"),
        plan.strip(f"{look.name}.value[{look.head},{m},k]", "plain", cell=SMALL_CELL),
        plan.strip(look.value(m), "value", cell=SMALL_CELL).faded(faded),
    ]
    if stage == 3:
        ink = style.LIT if m == look.best else "weights"
        values[2:] = [
            bar(weight, limit, ink),
            bar(plan.of(look.unscaled(m)), limit, ink),
        ]
        for each in values[2:]:
            each.at(3)
    values[stage - 2 + (stage == 5) if stage < 6 else 4].at(step if stage < 6 else 1, (-60, 0))
    last = len(values) if stage in (3, 5, 6) else stage - 1
    return [g.Label(look.keys[m], bold=m == look.best, fit=100), *values[:last]]


def _show_saturation(plan: g.Outline) -> g.Node:
    """Return the worked example of the notes: the softmax of two large scores, scaled or not."""
    plan.give("worked", PAIR)
    columns = (
        ("$q · k$", "worked[{i}]", 0, style.INK),
        ("$÷ 8$", "worked[{i}] / 8", 0, style.INK),
        ("$softmax$", "exp(worked[{i}] / 8) / (sum[j] exp(worked[j] / 8))", 2, style.INK),
        (plan.say("unscaled"), "exp(worked[{i}]) / (sum[j] exp(worked[j]))", 7, style.LIT),
    )
    rows: list[list[g.Part]] = [[g.small(text) for text, *_ in columns]]
    rows += [
        [
            plan.number(of.format(i=i), style.BODY, ink, digits=digits)
            for _, of, digits, ink in columns
        ]
        for i in range(2)
    ]
    table = g.Columns(rows, gap=(26, 2), align="r")
    texts = plan.small("saturates", style.LIT, width=120)
    both = g.Across(table, texts, gap=18)
    return g.Card(g.Down(plan.small("worked", bold=True), both, gap=4), pad=10)


@g.figure("average")
def draw_mean(
    plan: g.Outline, *, layer: int | None = None, head: int | None = None, query: Query = None
) -> g.Scene:
    """Show attention as an expected value: weights, values, and their weighted mean (V38)."""
    look = choose_glance(plan, layer, head, query)
    weights = plan.of(f"{look.name}.weights[{look.head},{look.row},m]")
    values = plan.of(f"{look.name}.value[{look.head},m,k]")
    limit, largest = g.find_largest([values]), max(0.3, float(weights.values.max()))
    roles = {"weight": "weights", "value": "value"}
    rows: list[list[g.Part]] = [[None, *(plan.small(*each, bold=True) for each in roles.items())]]
    for m in look.shown:
        bar = g.Bar(weights[m], largest, "weights", width=110)
        name = g.Label(look.keys[m], bold=m == look.best, fit=100)
        rows.append([name, bar, g.Panel(values[m], width=180, height=16, limit=limit)])
    mean = plan.of(look.sum)
    panel = g.Panel(mean, width=180, height=24, limit=limit, edge="heads").named("mean")
    rows.append([None, plan.label("mean", bold=True), panel])
    formula = "$z_i = Σ_j α_{ij} v_j ,    α_{ij} = softmax( q_i · k_j / √d_k )$"
    return plan.compose(
        g.middle(
            g.Label(formula, style.HEADING),
            g.Columns(rows, gap=(18, 7), align="rl"),
            gap=style.APART,
        ),
        note=plan.say("note", **plan.facts) + look.told,
        callouts=[g.Callout("mean", "expected", "below", 220)],
    )
