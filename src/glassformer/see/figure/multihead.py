"""Figures of several heads: their weights, what each reads, how they are mixed (V42-V47)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from . import style
from .attention import choose_row, find_sharpest
from .kinds import read_kinds
from .links import Callout, Link
from .nodes import (
    Across,
    Card,
    Columns,
    Down,
    Held,
    Label,
    Line,
    Node,
    Panel,
    Pillar,
    Spacer,
    percent,
)
from .plan import Outline, figure
from .products import show_tensor
from .quantity import Array
from .scene import Scene
from .selection import find_attention, find_input, pick_heads, show_tokens
from .steps import PROJECTIONS

FEW, MOST_STEPS = 10, 8  # tokens that are listed; steps of an animation


def _ink(head: int) -> str:
    return style.HEADS[head % len(style.HEADS)]


def _name(plan: Outline, head: int, size: float = style.BODY) -> Node:
    return Label(plan.say("number", head=head), size, _ink(head), bold=True)


def _weight(plan: Outline, name: str, projection: str, head: int) -> Array:
    """Return the paper's W for one head, D K; the stored matrix is its transpose, for all heads."""
    k = plan.trace.settings.width
    stored: Array = plan.trace[f"{name}.to_{projection}.weight"]
    return np.asarray(stored[head * k : (head + 1) * k]).T


@figure("two_heads")
def draw_two_heads(plan: Outline, *, layer: int = 0, heads: Sequence[int] | None = None) -> Scene:
    """Show heads side by side, each with its own projections of X and its own weights (V42).

    By default, the head with the largest weight and the one that differs most from it.
    """
    trace = plan.trace
    attention = find_attention(trace, "encoder", layer)
    name, row = attention.name, choose_row(trace, attention, None)
    weights = trace[f"{name}.weights"]
    first = find_sharpest(attention, weights, row)
    other = int(np.abs(weights - weights[first]).sum((1, 2)).argmax())
    chosen = pick_heads(trace, (first, other) if heads is None else heads)[:3]
    x = plan.of(f"{find_input(trace, 'encoder', attention.layer, 'self_attention')}[q,d]")
    n = len(x)
    unit = min(4.0, 60 / n)
    cards = []
    for h in chosen:
        columns: list[Node] = []
        for projection in PROJECTIONS:
            letter = projection[0].upper()
            made = plan.of(f"{name}.{projection}[{h},q,k]")
            stack = (
                show_tensor(
                    _weight(plan, name, projection, h),
                    f"$W_{letter}$",
                    projection,
                    unit=1.1,
                    most=66,
                ),
                show_tensor(made, f"${letter}$", projection, unit=unit, most=66),
            )
            columns.append(Down(*stack, gap=10, align="middle"))
        share = plan.of(f"{name}.weights[{h},q,m]")
        looks = Panel(share, width=112, height=112, scale="share", edge=_ink(h))
        where = Down(
            Label("$softmax ( Q K^T / √d_k )$", style.SMALL, style.role("weights").ink),
            looks,
            gap=4,
            align="middle",
        )
        inside = Down(
            _name(plan, h), Across(*columns, where, gap=16, align="top"), gap=8, align="middle"
        )
        cards.append(Card(inside, edge=_ink(h), fill=style.PAPER, pad=14).named(f"head {h}"))
    left = show_tensor(x, "$X$", "sum", unit=unit, most=110)
    tops = [attention.keys[int(weights[h, row].argmax())] for h in chosen]
    key = "apart" if len({*tops}) > 1 else "title"
    told = {"word": attention.queries[row], "one": tops[0], "two": tops[-1]}
    left.named("input")
    links = [Link("input", f"head {h}", "ribbon", ink=_ink(h), line=1.8) for h in chosen]
    return plan.compose(
        Down(left, Across(*cards, gap=30), gap=34, align="middle"),
        title=plan.say(key, **told),
        note=plan.say("note", where=attention.title(plan.lang)),
        links=links,
        callouts=[Callout("input", plan.say("whole"), "right", 150)],
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


LEAST = 0.08  # share of the weight, above chance, that makes a habit
SHIFTS = {"before_2": -2, "before": -1, "itself": 0, "after": 1, "after_2": 2}


def portray_heads(weights: Array, texts: Sequence[str]) -> list[Portrait]:
    """Return for each head what it looks at most, compared with heads that look everywhere alike.

    weights: H Q M, of self-attention without a mask.
    """
    n, at = len(texts), np.arange(len(texts))
    kinds = [read_kinds().get(text.lower(), ("", ""))[0] for text in texts]
    masks = {key: at[None] - at[:, None] == shift for key, shift in SHIFTS.items()}
    for key in ("adjective", "verb"):
        masks[key] = np.broadcast_to(np.isin(kinds, [key]), (n, n))
    masks["noun"] = np.broadcast_to(np.isin(kinds, ["animal", "person", "place"]), (n, n))
    found = []
    for own in weights:
        seen = [
            Portrait(key, float((own * mask).sum() / n), float(mask.mean()))
            for key, mask in masks.items()
        ]
        word = int(own.sum(0).argmax())
        seen.append(Portrait("word", float(own[:, word].mean()), 1 / n, texts[word]))
        best = max(seen, key=lambda each: each.excess)
        found.append(best if best.excess > LEAST else Portrait("anywhere", 1.0, 1.0))
    return found


def find_layer(plan: Outline) -> int:
    """Return the encoder layer whose heads have the most marked habits."""
    texts = show_tokens(plan.trace.source)
    marked = [
        sum(
            each.excess
            for each in portray_heads(plan.trace[f"encoder.{n}.self_attention.weights"], texts)
        )
        for n in range(plan.trace.settings.encoder_layers)
    ]
    return int(np.argmax(marked))


@figure("heads")
def draw_all_heads(plan: Outline, *, layer: int | None = None) -> Scene:
    """Show the weights of all heads, what each looks at, and what each has read (V43)."""
    return _show_portraits(plan, layer, moving=False)


@figure("heads")
def draw_portraits(plan: Outline, *, layer: int | None = None) -> Scene:
    """Show one head after the other, with what it looks at (V46)."""
    return _show_portraits(plan, layer, moving=True)


def _show_portraits(plan: Outline, layer: int | None, moving: bool) -> Scene:
    attention = find_attention(plan.trace, "encoder", find_layer(plan) if layer is None else layer)
    weights = plan.of(f"{attention.name}.weights[h,q,m]")
    context = plan.of(f"{attention.name}.context[h,q,k]")
    portraits = portray_heads(weights.values, attention.keys)
    count, side = len(portraits), 112.0
    together = -(-count // MOST_STEPS)  # heads that appear in one step
    cards: list[Node] = []
    captions: dict[int, str] = {}
    for h, each in enumerate(portraits):
        told = {"head": h, "at": plan.say(each.key, word=each.word)}
        told |= {"share": percent(each.share), "chance": percent(each.chance)}
        is_any = each.key == "anywhere"
        line = f"{told['at']}" if is_any else f"{told['at']}: {told['share']}"
        parts: list[Node] = [
            _name(plan, h),
            Label(line, style.SMALL, fit=side + 30),
            Panel(weights[h], width=side, height=side, scale="share", edge=_ink(h)),
        ]
        if not moving:
            own = Panel(context[h], width=40, height=44, edge=style.role("heads").ink)
            letter = Label(f"$Z_{{{h}}}$", style.BODY, style.role("heads").ink)
            parts.append(Across(letter, own, gap=6))
        card, step = Held(Down(*parts, gap=5, align="middle"), side + 34), h // together + 1
        card.named(f"head {h}")
        cards.append(card.at(step, (0, 30)) if moving else card)
        caption = plan.say("told_anywhere" if is_any else "told", **told)
        captions[step] = f"{captions[step]} {caption}" if step in captions else caption
    rows = [Across(*cards[n : n + 4], gap=8, align="top") for n in range(0, count, 4)]
    habits = {(each.key, each.word) for each in portraits if each.key != "anywhere"}
    best = max(range(count), key=lambda h: portraits[h].excess)
    told = {"head": best, "at": plan.say(portraits[best].key, word=portraits[best].word)}
    told |= {"share": percent(portraits[best].share), "chance": percent(portraits[best].chance)}
    key = "one" if habits and moving else "several" if habits else "none"
    callout = Callout(
        f"head {best}",
        plan.say("marked"),
        "above" if best < 4 else "below",
        150,
        best // together + 1 if moving else 0,
    )
    is_seen = bool(habits) and (best < 4 or best >= count - 4)
    return plan.compose(
        Down(*rows, gap=20),
        title=plan.say(key, n=count, k=len(habits), **told),
        note=plan.say("note", where=attention.title(plan.lang)),
        callouts=[callout] if is_seen else [],
        captions=list(captions.values()) if moving else [],
    )


@figure("concatenated_heads")
def draw_concatenation(plan: Outline, *, layer: int = 0) -> Scene:
    """Show the heads side by side times W_O; and the same as a sum over heads (V44)."""
    trace = plan.trace
    attention = find_attention(trace, "encoder", layer)
    z, stored = trace[f"{attention.name}.context"], trace[f"{attention.name}.to_output.weight"]
    output, bias = trace[f"{attention.name}.output"], trace[f"{attention.name}.to_output.bias"]
    count, n, width = z.shape
    parts = np.einsum("hnk,dhk->hnd", z, stored.reshape(-1, count, width))
    assert np.allclose(parts.sum(0) + bias, output, atol=1e-4 * max(1, np.abs(output).max()))
    block = min(150.0, max(110.0, 2.0 * count * width))
    unit, most = block / (count * width), 150.0
    joined = z.transpose(1, 0, 2).reshape(n, -1)
    bands = Across(*(_band(h, block / count) for h in range(count)), gap=0)
    concat = show_tensor(joined, "$Concat ( Z_0 , … )$", "heads", unit=unit, most=most)
    times, equals = (Label(sign, style.TITLE, style.SOFT) for sign in "×=")
    whole = Across(
        Down(concat, bands, gap=2, align="middle", stands_on=0),
        times,
        show_tensor(stored.T, "$W_O$", "linear", unit=unit, most=most),
        equals,
        show_tensor(plan.of(f"{attention.name}.output[q,d]"), "$Z$", "heads", unit=unit, most=most),
        gap=12,
    )
    added = plan.give("added", parts)
    sizes = plan.give("size", np.linalg.norm(parts, axis=-1).mean(1))
    limit = float(np.abs(parts).max())
    columns: list[list[Node]] = [[], [], []]
    wide = min(66.0, 560 / count - 8)
    for h in range(count):
        columns[0].append(
            Label(f"$Z_{{{h}}} W_{{O,{h}}}$" if count <= 8 else str(h), style.SMALL, _ink(h))
        )
        columns[1].append(Panel(added[h], width=wide, height=52, limit=limit, edge=_ink(h)))
        columns[2].append(
            Pillar(sizes[h], float(sizes.values.max()), _ink(h), width=22, height=46).named(
                f"size {h}"
            )
        )
    most_head = int(sizes.values.argmax())
    share = float(sizes[most_head]) / float(sizes.values.sum())
    return plan.compose(
        Down(
            whole,
            Label(plan.say("sum"), style.BODY, bold=True),
            Columns(columns[:2], gap=(8, 5), align="middle"),
            Across(*(Held(each, wide) for each in columns[2]), gap=8, align="bottom"),
            gap=14,
            align="middle",
        ),
        title=plan.say("title", head=most_head, share=percent(share)),
        note=plan.say("note", where=attention.title(plan.lang)),
        callouts=[Callout(f"size {most_head}", plan.say("loudest"), "below", 150)],
    )


def _band(head: int, width: float) -> Node:
    """Return a coloured line with the number of a head below it."""
    number = Label(str(head), style.TINY, _ink(head), bold=True)
    return Held(Down(Line(width - 2, _ink(head), 3), number, gap=1, align="middle"), width)


@figure("recap")
def draw_recap(plan: Outline, *, layer: int = 0) -> Scene:
    """Show the five steps of multi-head attention, with the real tensors (V45)."""
    trace = plan.trace
    attention = find_attention(trace, "encoder", layer)
    name, texts, count = attention.name, show_tokens(trace.source), trace.settings.heads
    shown = list(range(count)) if count <= 4 else [0, 1, count - 1]
    listed = texts if len(texts) <= FEW else [*texts[: FEW - 2], "…", texts[-1]]
    sentence = Down(*(Label(text, style.SMALL, fit=62) for text in listed), gap=0).named("text")
    tensor = find_input(trace, "encoder", attention.layer, "self_attention")
    x = plan.of(f"{tensor}[q,d]")
    first = show_tensor(x, "$X$", "sum", unit=1.2, most=76)
    heads: list[Node] = []
    links = [Link("text", "$X$")]
    for h in shown:
        learned = [
            show_tensor(
                _weight(plan, name, p, h), f"$W_{p[0].upper()}$", p, unit=0.9, most=52, shape=False
            )
            for p in PROJECTIONS
        ]
        made = [
            show_tensor(
                plan.of(f"{name}.{p}[{h},q,k]"),
                f"${p[0].upper()}$",
                p,
                unit=2.0,
                most=52,
                shape=False,
            )
            for p in PROJECTIONS
        ]
        read = show_tensor(
            plan.of(f"{name}.context[{h},q,k]"),
            f"$Z_{{{h}}}$",
            "heads",
            unit=2.0,
            most=52,
            shape=False,
        )
        arrows = [Label("→", style.HEADING, style.SOFT) for _ in range(2)]
        line = Across(*learned, arrows[0], *made, arrows[1], read, gap=7)
        heads.append(
            Card(
                Down(_name(plan, h, style.SMALL), line, gap=2),
                edge=_ink(h),
                fill=style.PAPER,
                pad=8,
            ).named(f"head {h}")
        )
        links.append(Link("$X$", f"head {h}", "ribbon", ink=_ink(h), sides=("right", "left")))
        links.append(Link(f"head {h}", "$Concat$", "ribbon", ink=_ink(h), sides=("right", "left")))
    if len(shown) < count:
        heads.insert(2, Label(plan.say("more", n=count - 3), style.SMALL, style.SOFT))
    z = trace[f"{name}.context"]
    joined = z.transpose(1, 0, 2).reshape(z.shape[1], -1)
    mixing = Down(
        show_tensor(joined, "$Concat$", "heads", unit=1.2, most=76),
        Label("×", style.HEADING, style.SOFT),
        show_tensor(trace[f"{name}.to_output.weight"].T, "$W_O$", "linear", unit=1.2, most=76),
        Label("=", style.HEADING, style.SOFT),
        show_tensor(plan.of(f"{name}.output[q,d]"), "$Z$", "heads", unit=1.2, most=76),
        gap=3,
        align="middle",
    )
    titles: list[Node] = [
        Label(plan.say(f"step_{n}"), style.SMALL, bold=True, width=wide)
        for n, wide in ((1, 60), (2, 76), (3, 130), (5, 90))
    ]
    middle = Down(*heads, gap=10, align="middle")
    row = choose_row(trace, attention, None)
    places = {int(own.argmax()) for own in trace[f"{name}.weights"][:, row]}
    return plan.compose(
        Columns(
            [titles, [sentence, first, middle, mixing]],
            gap=(28, 14),
            align=["start", "middle", "start", "middle"],
        ),
        title=plan.say("title", n=count, k=len(places), word=texts[row]),
        note=plan.say("note", where=attention.title(plan.lang)),
        links=links,
        callouts=[Callout("$X$", plan.say("whole"), "below", 84)],
    )


@figure("split")
def draw_split(plan: Outline, *, layer: int = 0) -> Scene:
    """Show the queries of all heads as one product, cut into heads: L d to h L d_k (V47)."""
    attention = find_attention(plan.trace, "encoder", layer)
    query = plan.of(f"{attention.name}.query[h,q,k]")
    count, n, width = query.shape
    wide, tall = 600.0, min(110.0, max(30.0, 7.0 * n))
    limit = float(np.abs(query.values).max())
    joined = query.values.transpose(1, 0, 2).reshape(n, -1)
    whole = Panel(joined, width=wide, height=tall, limit=limit).at(1)
    ink = style.role("query").ink
    block = wide / count
    bands = Across(*(_band(h, block) for h in range(count)), gap=0).at(2)
    columns = min(count, 8)
    own = wide / columns
    rows, gap = [], 34.0
    for first in range(0, count, columns):
        cells: list[Node] = []
        for h in range(first, min(first + columns, count)):
            down = gap + 24 + tall + (tall + 44) * (first // columns)
            panel = Panel(query[h], width=own - 10, height=tall, limit=limit, edge=_ink(h))
            start = (h * block - (h % columns) * own - 5, -down)
            name = Label(f"$Q_{{{h}}}$", style.BODY, _ink(h))
            size = Label(f"{n} × {width}", style.TINY, style.SOFT)
            parts = (name.at(3), panel.at(3, start), size.at(3))
            cut = Down(*parts, gap=3, align="middle").named(f"block {h}")
            cells.append(Held(cut, own))
        rows.append(Across(*cells, gap=0))
    label = Label(f"$X W_Q$ : {n} × {count * width}", style.HEADING, ink)
    told = plan.say("columns", first=(count - 1) * width, last=count * width - 1)
    return plan.compose(
        Down(label, Down(whole, bands, gap=3), Spacer(0, gap - 24), *rows, gap=12, align="middle"),
        title=plan.say("title", n=count, width=width, all=count * width),
        note=plan.say("note", where=attention.title(plan.lang)),
        callouts=[Callout(f"block {count - 1}", told, "below", 150, 3)],
        captions=[plan.say(f"caption_{step}", n=count, width=width) for step in (1, 2, 3)],
    )
