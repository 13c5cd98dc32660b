"""Pictures of vectors in an encoder layer (V30-V32), and of attention as a mean (V38)."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from . import theme
from .animate import Animation
from .bars import draw_weights
from .canvas import Page
from .cells import find_limit, heat, legend, strip
from .selection import Look, choose_look, find_input, find_output, pick, show_tokens, weight_of_head

Query = int | str | None
PROJECTIONS = ("query", "key", "value")
STEP = 178.0  # distance from one path to the next


def _draw_paths(page: Page, trace: Any, count: int, layer: int) -> float:
    """Draw a column of vectors for each token, through self-attention and feed-forward.

    Attention joins the columns; the feed-forward network does not. Return the right end.
    """
    name = f"encoder.{layer}"
    wide, texts = STEP, show_tokens(trace.source)
    stages = (
        (0, "embedded", "x", find_input(trace, "encoder", layer, "self_attention")),
        (110, "heads", "z", f"{name}.self_attention.output"),
        (220, "residual", "r", find_output(trace, "encoder", layer)),
    )
    right = count * wide - 50
    ink = theme.role("attention")
    page.box(
        -8,
        -76,
        right + 4,
        36,
        fill=ink.fill,
        edge=ink.ink,
        line=1.6,
        bold=True,
        label=page.say("Self-Attention", "自注意力"),
    )
    for i in range(count):
        x = i * wide
        page.text(x + 60, 40, texts[i], mono=True, bold=True, ha="center", width=130)
        page.arrow((x + 60, 30), (x + 60, 22), head=False)
        for up, role, letter, tensor in stages:
            strip(page, x, -up - 0.0, trace[tensor][i], role, (tensor, (i,)), letter=letter)
        page.arrow((x + 60, -2), (x + 60, -38))
        page.arrow((x + 60, -78), (x + 60, -89))
        page.arrow((x + 60, -112), (x + 60, -148))
        feed = theme.role("feed_forward")
        page.box(
            x,
            -186,
            120,
            36,
            fill=feed.fill,
            edge=feed.ink,
            line=1.4,
            bold=True,
            label=page.say("Feed Forward", "前馈网络"),
        )
        page.arrow((x + 60, -188), (x + 60, -199))
    return right


def draw_flow(trace: Any, *, lang: str = "en", layer: int = 0) -> Figure:
    """Draw three tokens on their paths through one encoder layer (V30)."""
    page = Page(lang)
    layer = pick(layer, trace.settings.encoder_layers, "layer")
    count = min(3, len(trace.source))
    right = _draw_paths(page, trace, count, layer)
    page.text(
        right + 24,
        -58,
        page.say("here paths meet", "路径在此交汇"),
        color=theme.role("attention").ink,
    )
    page.text(
        right + 24,
        -168,
        page.say("here each goes alone,\nwith the same weights", "在此各走各的，\n权重相同"),
        color=theme.role("feed_forward").ink,
    )
    page.text(right + 24, -210, page.say("to the next layer", "去往下一层"), color=theme.SOFT)
    return page.finish(
        page.say("The flow through one encoder layer", "穿过一个编码器层"),
        page.say(
            f"Encoder, layer {layer}, the first {count} tokens. x: what self-attention reads; z: "
            "what it gives; r: the layer's output, with both residual sums (norms and residual "
            "residuals are not drawn: V65, V66). The first 4 numbers of each vector.",
            f"编码器第 {layer} 层，前 {count} 个词元。x：自注意力读入；z：其输出；r：本层输出，已"
            "含两次残差相加（归一与残差路未画：V65、V66）。每个向量画前 4 个数。",
        ),
    )


def draw_two_words(trace: Any, *, lang: str = "en") -> Figure:
    """Draw two tokens through encoder layer 0, up to layer 1 (V31).

    Both go through the same feed-forward network, each by itself.
    """
    page = Page(lang)
    count = min(2, len(trace.source))
    right = _draw_paths(page, trace, count, 0)
    ink = theme.role("encoder")
    page.box(-30, -230, right + 60, 262, fill=ink.fill, edge=ink.ink, line=1.6, round=10, layer=0)
    page.text(right + 44, -100, page.say("ENCODER 0", "编码器 0"), bold=True, color=ink.ink)
    for i in range(count):
        page.arrow((i * STEP + 60, -222), (i * STEP + 60, -256))
    if trace.settings.encoder_layers > 1:
        page.box(
            -30,
            -296,
            right + 60,
            38,
            fill=ink.fill,
            edge=ink.ink,
            line=1.6,
            round=10,
            bold=True,
            label=page.say("ENCODER 1", "编码器 1"),
        )
    page.text(
        right + 44,
        -168,
        page.say("the same weights\nfor every position", "所有位置权重相同"),
        size=theme.SMALL,
        color=theme.role("feed_forward").ink,
    )
    return page.finish(
        page.say("Two words on their way to the next layer", "两个词走向下一层"),
        page.say(
            "The first 4 numbers of each vector, from this model.",
            "来自本模型，每个向量画前 4 个数。",
        ),
    )


def _choose_two(trace: Any, look: Look) -> list[int]:
    """Return the query, and the key to which it attends most besides itself."""
    weights = np.array(trace[f"{look.name}.weights"][look.head, look.query])
    weights[look.query] = -1
    return list(dict.fromkeys([look.query, int(weights.argmax())]))


def draw_step_1(
    trace: Any, *, lang: str = "en", layer: int = 0, head: int = 0, query: Query = None
) -> Animation:
    """Draw x times W_Q, W_K and W_V of one head, for two tokens (V32)."""
    page = Page(lang)
    look = choose_look(trace, layer, head, query, lang)
    tensor = find_input(trace, "encoder", look.layer, "self_attention")
    chosen = _choose_two(trace, look)
    for column, i in enumerate(chosen):
        x = column * 190.0
        page.text(x + 60, -34, look.keys[i], mono=True, bold=True, ha="center", width=150)
        strip(page, x, -14, trace[tensor][i], "embedded", (tensor, (i,)), letter="x")
    told = (
        ("The query: x times W_Q.", "查询：x 乘以 W_Q。"),
        ("The key: x times W_K.", "键：x 乘以 W_K。"),
        ("The value: x times W_V.", "值：x 乘以 W_V。"),
    )
    for row, projection in enumerate(PROJECTIONS):
        page.step(*told[row])
        _draw_projection(page, trace, look, projection, chosen, 40.0 + row * 88)
    page.rest()
    largest = page.say("of the largest in each matrix", "相对于每个矩阵中最大的绝对值")
    legend(page, 0, 306, "signed", 1.0, digits=0, label=largest)
    first = min(4, trace.settings.width)
    return page.animate(
        page.say("Step 1: a query, a key and a value for each token", "第一步：求查询、键和值"),
        page.say(
            f"{look.title}. The first {first} numbers of each vector; biases are added too, which "
            "the paper leaves out.",
            f"{look.title}。每个向量画前 {first} 个数；另加偏置（论文未写）。",
        ),
    )


def _draw_projection(
    page: Page, trace: Any, look: Look, projection: str, chosen: list[int], y: float
) -> None:
    """Draw x W = q for each chosen token, with the matrix to the right."""
    ink, letter = theme.role(projection).ink, projection[0].upper()
    name = f"{look.name}.{projection}"
    for column, i in enumerate(chosen):
        x, vector = column * 190.0, trace[name][look.head, i]
        page.formula(x + 60, y + 8, rf"x\,W^{letter} =", size=10, color=ink)
        of = name, (look.head, i)
        strip(page, x, y + 20, vector, projection, of, letter=projection[0])
    weight = weight_of_head(trace, look.name, projection, look.head)
    x, shape = len(chosen) * 190 + 30.0, f"{weight.shape[0]} × {weight.shape[1]}"
    heat(page, x, y - 6, weight, 44, 72, role=projection, learned=True)
    page.formula(x + 62, y + 20, f"W^{letter}_{{{look.head}}}", color=ink, ha="left")
    page.text(x + 62, y + 42, shape, size=theme.SMALL, color=ink)


def draw_average(
    trace: Any, *, lang: str = "en", layer: int = 0, head: int = 0, query: Query = None
) -> Figure:
    """Draw attention as an expected value: weights, values, and their weighted mean (V38)."""
    page = Page(lang)
    look = choose_look(trace, layer, head, query, lang)
    mean = r"\mathrm{out}_i=\sum_j \alpha_{ij}\,v_j=\mathbb{E}_{j\sim\alpha_i}[v_j]"
    share = r"\alpha_{ij}=\frac{\exp f(q_i,k_j)}{\sum_m\exp f(q_i,k_m)}"
    fit = r"f(q,k)=\frac{q\cdot k}{\sqrt{d_k}}"
    page.formula(0, -6, rf"{mean}\qquad{share}\qquad{fit}", size=13, ha="left")
    values = trace[f"{look.name}.value"][look.head]
    limit, wide = find_limit(values), 180.0
    for row, i in enumerate(look.shown):
        y = 39 + row * 30.0
        heat(page, 310, y, values[i : i + 1], wide, 18, role="value", limit=limit)
    place, weights = (look.head, look.query), f"{look.name}.weights"
    y = draw_weights(page, 84, 48, trace, weights, place, look.keys, look.shown, 30)
    ink = theme.role("heads").ink
    page.text(94, 26, page.say("weight", "权重"), size=theme.SMALL, color=theme.role("weights").ink)
    page.text(310, 26, page.say("value", "值"), size=theme.SMALL, color=theme.role("value").ink)
    page.line([(310, y - 14), (310 + wide, y - 14)], color=theme.INK)
    read = trace[f"{look.name}.context"][look.head, look.query : look.query + 1]
    heat(page, 310, y - 6, read, wide, 22, role="heads", limit=limit)
    page.text(300, y + 5, page.say("mean =", "平均 ="), ha="right", color=ink, bold=True)
    legend(page, 310, y + 34, "signed", limit)
    word = look.keys[look.query]
    return page.finish(
        page.say("Attention is a weighted average", "注意力就是加权平均"),
        page.say(
            f"{look.title}, query “{word}”. The weights are a probability over keys, the result "
            "the expected value.",
            f"{look.title}，查询“{word}”。权重是键上的概率分布，结果即期望值。",
        ),
    )
