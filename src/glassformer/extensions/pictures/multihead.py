"""Figures of several heads: their weights, what each reads, how they are mixed (V42-V47)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from .attention import choose_row, find_two_heads
from .head import PROJECTIONS, Head
from .parts import grammar as g
from .parts import style
from .parts.kinds import read_kinds
from .parts.selection import find_input, pick_heads

FEW, LOOKS, MOST_STEPS = 10, 5, 8  # tokens that are listed; bars of a head; steps to show all
DRAWN = 8  # heads of the recap
NAMED, WEAK = 16, 0.3  # tokens whose names are written; share of the weight, of a weak habit
NEIGHBOURS = ("before", "after")  # habits
LARGE, OTHERS = 216.0, 324.0  # the side of the weights of one head; the width of all others


@g.figure("two_heads")
def draw_two_heads(
    plan: g.Outline, *, layer: int = 0, heads: Sequence[int] | None = None
) -> g.Scene:
    """Show heads beside each other: own projections of one X, own glances of one token (V42).

    By default, the head with the largest weight and the one that differs most from it.
    """
    trace, attention = plan.trace, plan.attention("encoder", layer)
    row, weights = choose_row(trace, attention, None), trace[f"{attention.name}.weights"]
    both = find_two_heads(attention, weights, row)
    chosen = pick_heads(trace, both if heads is None else heads)[:3]
    x = plan.of(f"{find_input(trace, 'encoder', attention.layer, 'self_attention')}[q,d]")
    limit = float(weights[chosen, row].max())
    cards, tops = [], []
    for h in chosen:
        head = Head(plan, attention, h)
        learned = [head.show_learned(p, unit=1.1, most=70) for p in PROJECTIONS]
        best = np.argsort(-weights[h, row], kind="stable")[:LOOKS].tolist()
        tops.append(attention.keys[best[0]])
        seen, looks = head.of("weights", f"{row},m"), []
        for m in best:
            name = g.Slot(g.Label(attention.keys[m], bold=m == best[0], fit=70), 50, "end")
            looks.append([name, g.Bar(seen[m], limit, head.ink, width=90, height=12)])
        if rest := len(attention.keys) - len(best):
            left = " - ".join([f"sum[m] {seen.source}", *(seen[m].source for m in best)])
            text = g.Slot(g.small(plan.say("others", n=rest)), 50, "end")
            looks.append([text, plan.bar(left, limit, style.FAINT, width=90, height=12)])
        reads = g.small(plan.say("reads", word=attention.queries[row]))
        right = g.Down(reads, g.Columns(looks, gap=(8, 4), align="rl"), gap=8)
        inside = g.Across(g.Across(*learned, gap=12), right, gap=22)
        whole = g.middle(head.name(fit=300), inside, gap=10)
        card = g.Card(whole, edge=head.ink, fill=style.PAPER, pad=14)
        cards.append(card.named(f"head {h}"))
    input_grid = g.tensor(x, "$X$", "sum", unit=min(4.0, 60 / len(x)), most=110).named("input")
    return plan.compose(
        g.middle(input_grid, g.Across(*cards, gap=24), gap=34),
        title="apart" if len({*tops}) > 1 else "title",
        links=[g.Link("input", f"head {h}", "ribbon", style.head_ink(h), 1.8) for h in chosen],
        callouts=[g.Callout("input", "whole", "right", 150)],
        word=attention.queries[row],
        first=chosen[0],
        last=chosen[-1],
        one=tops[0],
        two=tops[-1],
    )


class Portrait(NamedTuple):
    """A key of the table that a head looks at more than chance would, its share, and chance.

    key is "word" if it is one token of the sentence, `word`.
    """

    key: str
    share: float
    chance: float
    word: str = ""

    @property
    def excess(self) -> float:
        return self.share - self.chance

    def describe(self, plan: g.Outline, head: int) -> dict[str, Any]:
        """Return what fills in a sentence about it."""
        shares = {"share": g.percent(self.share), "chance": g.percent(self.chance)}
        return {"head": head, "at": plan.say(self.key, word=self.word), **shares}


LEAST = 0.08  # share of the weight, above chance, that makes a habit
SHIFTS = {"before_2": -2, "before": -1, "itself": 0, "after": 1, "after_2": 2}


def portray_heads(weights: g.Array, texts: Sequence[str]) -> list[Portrait]:
    """Return for each head what it looks at most, compared with heads that look everywhere alike.

    weights: H Q M, of self-attention without a mask.
    """
    n, at = len(texts), np.arange(len(texts))
    kinds = [read_kinds().get(text.lower(), ("", ""))[0] for text in texts]
    masks = {key: at[None] - at[:, None] == shift for key, shift in SHIFTS.items()}
    for key in ("adjective", "verb"):
        masks[key] = np.broadcast_to(np.isin(kinds, [key]), (n, n))
    masks["noun"] = np.broadcast_to(np.isin(kinds, ["animal", "person", "place"]), (n, n))
    results = []
    for own in weights:
        seen = [
            Portrait(key, float((own * mask).sum() / n), float(mask.mean()))
            for key, mask in masks.items()
        ]
        word = int(own.sum(0).argmax())
        seen.append(Portrait("word", float(own[:, word].mean()), 1 / n, texts[word]))
        best = max(seen, key=lambda each: each.excess)
        results.append(best if best.excess > LEAST else Portrait("anywhere", 1.0, 1.0))
    return results


def find_layer(plan: g.Outline) -> int:
    """Return the encoder layer whose heads have the most marked habits."""
    texts = plan.source
    names = [f"encoder.{n}.self_attention.weights" for n in range(plan.settings.encoder_layers)]
    layer = [portray_heads(plan.trace[name], texts) for name in names]
    return int(np.argmax([sum(each.excess for each in portraits) for portraits in layer]))


@g.figure("heads")
def draw_all_heads(plan: g.Outline, *, layer: int | None = None, moving: bool = False) -> g.Scene:
    """Show what each head looks at and has read, the most marked one large (V43); in turn (V46)."""
    is_chosen = layer is None and plan.settings.encoder_layers > 1
    attention = plan.attention("encoder", find_layer(plan) if layer is None else layer)
    weights, count = plan.of(f"{attention.name}.weights[h,q,m]"), plan.settings.heads
    portraits = portray_heads(weights.values, attention.keys)
    best = max(range(count), key=lambda h: portraits[h].excess)
    order = sorted(range(count), key=lambda h: -portraits[h].excess if moving else h != best)
    together = -(-count // MOST_STEPS)  # heads that appear in one step
    captions, cards = [""] * -(-count // together), list[g.Node]()
    read_by = [Head(plan, attention, h).of("context") for h in range(count)]
    limits = float(weights.values.max()), g.find_largest(read_by)
    in_line = min(count, 2 if count <= 5 else 3 if count <= 10 else 4)
    for place, h in enumerate(order):
        text, head, step = (
            portraits[h].describe(plan, h),
            Head(plan, attention, h),
            place // together,
        )
        habit, is_best = portraits[h].key != "anywhere", h == best
        captions[step] += " " + plan.say("told" if habit else "told_anywhere", **text)
        wide = LARGE if is_best else OTHERS / in_line - 32
        panel = g.Panel(
            weights[h], width=wide, height=wide, edge=head.ink, limit=limits[0], scale="share"
        )
        texts = attention.keys if is_best and len(attention.keys) <= NAMED else ()
        seen = g.Matrix(panel, rows=texts, columns=texts, fit=52)
        read = g.Panel(read_by[h], width=wide / 6, height=wide, edge="heads", limit=limits[1])
        result = g.middle(g.Label(f"$Z_{{{h}}}$", ink="heads") if is_best else None, read, gap=2)
        name = head.name(style.HEADING if is_best else style.BODY)
        share = g.small(text["share"], style.INK) if habit else None
        title = g.Across(name, share, gap=6).named(f"head {h}")
        at = g.small(text["at"], style.INK, fit=wide + 24)
        card = g.Down(
            g.Down(title, at, gap=0), g.Across(seen, result, gap=4, align="bottom"), gap=4
        )
        cards.append(card.at(step + 1, (0, 30)) if moving else card)
    held = [g.Slot(card, OTHERS / in_line, "start") for card in cards[1:]]
    others = g.wrap_across(held, OTHERS + 1, 0, 14)
    habits = {(each.key, each.word) for each in portraits if each.key != "anywhere"}
    marked = sum(each.key != "anywhere" for each in portraits)
    weak = "weak" if portraits[best].share < WEAK else "several"
    in_turn = "sorted_all" if marked == count else "sorted"
    near = sum(each.key in NEIGHBOURS for each in portraits)
    in_turn = "neighbours" if near > 1 and portraits[best].key in NEIGHBOURS else in_turn
    several = in_turn if moving else weak if len(habits) > 1 else "shared"
    callout = g.Callout(f"head {best}", "marked", "right", 130, int(moving))
    return plan.compose(
        g.Across(cards[0], others if count > 1 else None, gap=style.APART, align="top"),
        title=several if marked > 1 else "lone" if marked else "none",
        callouts=[callout] if marked else [],
        captions=[caption.strip() for caption in captions] if moving else [],
        n=count,
        layer=attention.layer,
        note=plan.say("note", **plan.facts)
        + (plan.say("no_kind") if marked < count else "")
        + (plan.say("rule") if is_chosen else ""),
        near=near,
        k=len(habits),
        marked=marked,
        **portraits[best].describe(plan, best),
    )


@g.figure("concatenated_heads")
def draw_concatenation(plan: g.Outline, *, layer: int = 0) -> g.Scene:
    """Show the heads side by side times W_O; and the same as a sum over heads (V44)."""
    trace, attention = plan.trace, plan.attention("encoder", layer)
    z, stored, output, bias = (
        trace[f"{attention.name}.{window}"]
        for window in ("context", "to_output.weight", "output", "to_output.bias")
    )
    count, width = len(z), z.shape[-1]
    parts = np.einsum("hnk,dhk->hnd", z, stored.reshape(-1, count, width))
    assert np.allclose(parts.sum(0) + bias, output, atol=1e-4 * max(1, np.abs(output).max()))
    block = min(150.0, max(110.0, 2.0 * count * width))
    show = partial(g.tensor, unit=block / (count * width), most=150.0)
    joined = show(_join(z), "$Concat ( Z_0 , … )$", "heads")
    whole = g.equation(
        g.middle(joined, _show_bands(count, block), gap=2, stands_on=0),
        "×",
        show(stored.T, "$W_O$", "linear"),
        "=",
        show(plan.of(f"{attention.name}.output[q,d]"), "$Z$", "heads"),
        gap=12,
    )
    added, limit = plan.give("added", parts), float(np.abs(parts).max())
    sizes = plan.give("size", np.linalg.norm(parts, axis=-1).mean(1))
    most, wide = int(sizes.values.argmax()), min(66.0, 560 / count - 8)
    names, panels, pillars = list[g.Node](), list[g.Node](), list[g.Node]()
    for h in range(count):
        ink = style.head_ink(h)
        names.append(g.small(f"$Z_{{{h}}} W_{{O,{h}}}$" if count <= 8 else str(h), ink))
        panels.append(g.Panel(added[h], width=wide, height=52, limit=limit, edge=ink))
        pillar = g.Pillar(sizes[h], float(sizes[most]), ink, width=22, height=46)
        pillars.append(g.Slot(pillar.named(f"size {h}"), wide))
    return plan.compose(
        g.middle(
            whole,
            plan.label("sum", bold=True),
            g.Columns([names, panels], gap=(8, 5), align="m"),
            g.Across(*pillars, gap=8, align="bottom"),
            gap=14,
        ),
        title="title" if count > 1 else "title_one",
        callouts=[g.Callout(f"size {most}", "loudest", "below", 110)],
        n=count,
        long=g.spell(float(sizes[most])),
        head=most,
        share=g.percent(float(sizes[most]) / float(sizes.values.sum()), 1),
        even=g.percent(1 / count, 1),
    )


def _join(z_HLK: g.Array) -> g.Array:
    """Return the heads beside each other, one row for each token."""
    return np.asarray(z_HLK.transpose(1, 0, 2).reshape(z_HLK.shape[1], -1))


def _show_bands(count: int, width: float) -> g.Node:
    """Return a coloured line with its number for each head, all together so wide."""
    wide = width / count
    inks = map(style.head_ink, range(count))
    bands = (
        g.middle(g.Line(wide - 2, ink, 3), g.tiny(str(h), ink, bold=True), gap=1)
        for h, ink in enumerate(inks)
    )
    return g.Across(*(g.Slot(band, wide) for band in bands), gap=0)


@g.figure("recap")
def draw_recap(plan: g.Outline, *, layer: int = 0) -> g.Scene:
    """Show the five steps of multi-head attention, with the real tensors (V45)."""
    trace, attention = plan.trace, plan.attention("encoder", layer)
    name, texts, count = attention.name, plan.source, trace.settings.heads
    shown = list(range(min(count, DRAWN)))
    listed = texts if len(texts) <= FEW else [*texts[: FEW - 2], "…", texts[-1]]
    sentence = g.Down(*(g.small(text, style.INK, fit=62) for text in listed), gap=0).named("text")
    inputs = find_input(trace, "encoder", attention.layer, "self_attention")
    show = partial(g.tensor, unit=1.2, most=76)
    first = show(plan.of(f"{inputs}[q,d]"), "$X$", "sum")
    row = choose_row(trace, attention, None)
    cards = [_show_way(Head(plan, attention, h), row, h == 0) for h in shown]
    if len(shown) < count:
        cards.append(g.small(plan.say("more", n=count - len(shown))))
    times, equals = (g.Label(sign, style.HEADING, style.SOFT) for sign in "×=")
    joined = show(_join(trace[f"{name}.context"]), "$Concat$", "heads")
    mixer = show(trace[f"{name}.to_output.weight"].T, "$W_O$", "linear")
    mixed = show(plan.of(f"{name}.output[q,d]"), "$Z$", "heads")
    mixing = g.middle(joined, times, mixer, equals, mixed, gap=3)
    steps = ("step_1", "step_2", "step_3", "step_5")
    titles = [plan.small(key, style.INK, bold=True) for key in steps]
    places = {int(own.argmax()) for own in trace[f"{name}.weights"][shown, row]}
    ways = [pair for h in shown for pair in (("$X$", f"head {h}", h), (f"head {h}", "$Concat$", h))]
    return plan.compose(
        g.Columns(
            [titles, [sentence, first, g.middle(*cards, gap=4), mixing]],
            gap=(20, 14),
            align="lmlm",
        ),
        title="title" if len(shown) == count > 1 else "title_one" if count == 1 else "title_some",
        links=[g.Link("text", "$X$")]
        + [g.Link(a, b, "ribbon", style.head_ink(h), sides=("right", "left")) for a, b, h in ways],
        callouts=[g.Callout("name of $X$", "whole", "above", 84)],
        n=len(shown),
        all=count,
        k=len(places),
        word=texts[row],
        key=texts[next(iter(places))],
    )


def _show_way(head: Head, row: int, named: bool) -> g.Node:
    """Return what one head makes: its weights, then Q, K and V, then Z, on a card.

    Beside its name stands what a row looks at most. named: its tensors have their names above.
    """
    parts: list[g.Node] = []
    show = partial(g.Panel, height=24)
    for p in PROJECTIONS:
        learned = show(head.learned(p), width=14, edge=p)
        parts.append(_name_above(f"$W_{p[0].upper()}$", p, learned, named))
    parts.append(g.small("→"))
    for p in PROJECTIONS:
        panel = show(head.of(p), width=20, edge=p)
        parts.append(_name_above(f"${p[0].upper()}$", p, panel, named))
    parts.append(g.small("→"))
    read = show(head.of("context"), width=20, edge="heads")
    parts.append(_name_above("$Z_h$", "heads", read, named))
    seen, keys = head.of("weights", f"{row},m"), head.attention.keys
    best = int(seen.values.argmax())
    looks = g.small(f"{keys[row]} → {keys[best]}", style.INK, fit=80)
    text = g.Across(looks, g.Numeral(seen[best], style.SMALL), gap=5)
    name = g.Slot(g.Down(head.name(style.SMALL, 100), text, gap=0), 100, "start")
    card = g.Card(g.Across(name, *parts, gap=6), edge=head.ink, fill=style.PAPER, pad=5)
    return card.named(f"head {head.number}")


def _name_above(name: str, role: str, panel: g.Node, named: bool) -> g.Node:
    """Return a panel, with its name above if it is to have one."""
    return g.middle(g.Label(name, ink=role) if named else None, panel, gap=1, stands_on=int(named))


@g.figure("split")
def draw_split(plan: g.Outline, *, layer: int = 0) -> g.Scene:
    """Show the queries of all heads as one product, cut into heads: L d to h L d_k (V47)."""
    attention = plan.attention("encoder", layer)
    query = plan.of(f"{attention.name}.query[h,q,k]")
    count, n, width = query.shape
    wide, tall, gap = 600.0, min(110.0, max(30.0, 7.0 * n)), 34.0
    show = partial(g.Panel, height=tall, limit=float(np.abs(query.values).max()))
    columns = min(count, 8)
    own, cells = wide / columns, list[g.Node]()
    for h in range(count):
        down = gap + 24 + tall + (tall + 44) * (h // columns)
        start = (h * wide / count - (h % columns) * own - 5, -down)
        ink = style.head_ink(h)
        cut = g.middle(
            g.Label(f"$Q_{{{h}}}$", ink=ink).at(3),
            show(query[h], width=own - 10, edge=ink).at(3, start),
            g.tiny(f"{n} × {width}").at(3),
            gap=3,
        )
        cells.append(g.Slot(cut.named(f"block {h}"), own))
    whole = show(_join(query.values), width=wide).at(1)
    return plan.compose(
        g.middle(
            g.Label(f"$X W_Q$ : {n} × {count * width}", style.HEADING, "query"),
            g.Down(whole, _show_bands(count, wide).at(2), gap=3),
            g.Spacer(0, gap - 24),
            g.wrap_across(cells, wide, gap=0, between=12),
            gap=12,
        ),
        callouts=[g.Callout(f"block {count - 1}", "columns", "below", 150, 3)],
        captions=[plan.say(f"caption_{step}", n=count, width=width) for step in (1, 2, 3)],
        n=count,
        width=width,
        all=count * width,
        first=(count - 1) * width,
        last=count * width - 1,
    )
