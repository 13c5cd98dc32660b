"""Pictures of decoding, step by step (V74-V76), and parts of V78."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from . import theme
from .animate import Animation
from .canvas import Page, Rect
from .cells import find_limit, heat, legend, tokens
from .fonts import measure_width
from .selection import (
    Array,
    balance,
    elide,
    find_attention,
    pick,
    show_token,
    show_tokens,
    tell_left_out,
)

MOST = 8  # layers drawn one by one
MOST_ROWS = 48  # rows of a matrix


def choose_layers(count: int) -> list[int | None]:
    """Return all layers, or the first and last few; None stands for those between."""
    return elide(count, MOST)


def join_heads(values: Array) -> Array:
    """Return the heads side by side: H L K -> L H*K."""
    return values.transpose(1, 0, 2).reshape(values.shape[1], -1)


def draw_first_word(trace: Any, *, lang: str = "en", ax: Axes | None = None) -> Animation:
    """Draw the encoder, the keys and values of each decoder layer, and the first word (V74)."""
    page, settings = Page(lang, ax), trace.settings
    page.step("The source, in tokens.", "源句，切成词元。")
    texts = show_tokens(trace.source)
    shown = texts if len(texts) <= 9 else [*texts[:7], "…", texts[-1]]
    high = (
        27.0
        * max(
            settings.encoder_layers if settings.encoder_layers <= MOST else MOST,
            min(settings.decoder_layers, MOST),
        )
        + 10
    )
    tokens(page, 0, high + 70, shown, size=theme.SMALL, role="embedded", widest=60)
    page.step(
        f"The {settings.encoder_layers} encoder layers read all of it at once.",
        f"编码器的 {settings.encoder_layers} 层一次读完全句。",
    )
    box = Rect(0, 0, 170, high + 34)
    draw_decoder_layers(
        page, box, "encoder", settings.encoder_layers, page.say("ENCODER", "编码器")
    )
    page.arrow((85, high + 66), (85, high + 38), width=1.8)
    page.step(
        "What comes out at its top is the memory: one vector a token.",
        "顶部输出的是记忆：每个词元一个向量。",
    )
    limit = find_limit(trace["memory"])
    memory = heat(page, 206, high / 2 - 34, trace["memory"], 110, 88, role="memory", limit=limit)
    page.arrow((174, memory.centre[1]), (202, memory.centre[1]), width=1.8)
    page.text(
        memory.centre[0],
        memory.y - 12,
        page.say("memory", "记忆"),
        bold=True,
        ha="center",
        color=theme.role("memory").ink,
    )
    legend(page, 206, memory.bottom + 8, "signed", limit)
    page.step(
        "Each decoder layer has its own W_K and W_V, and makes its own keys and values of it.",
        "解码器每一层都有自己的 W_K 和 W_V，各自由记忆生成键和值。",
    )
    right = Rect(500, 0, 170, high + 34)
    fan_out(page, trace, memory, right)
    page.step(
        "The begin mark goes in, and the first word comes out.", "输入句首标记，输出第一个词。"
    )
    draw_decoder_layers(
        page, right, "decoder", settings.decoder_layers, page.say("DECODER", "解码器")
    )
    begin = trace.target[0].text
    x = right.centre[0] - measure_width(begin, theme.SMALL, mono=True) / 2 - 4
    place = tokens(page, x, high + 70, [begin], role="decoder")[0]
    page.arrow((right.centre[0], place.y - 2), (right.centre[0], right.bottom + 4), width=1.8)
    _draw_output(page, trace, right)
    return page.animate(
        page.say("The encoder is done; the first word comes out", "编码完成，输出第一个词"),
        page.say(
            "Pictures of keys and values: rows are source tokens, columns the numbers of all "
            "heads; each picture has its own scale, symmetric about 0.",
            "键与值的图：行是源词元，列是所有头的数；每张小图各有以 0 为中心的色标。",
        )
        + tell_last_norm(page, trace),
    )


def tell_last_norm(page: Page, trace: Any) -> str:
    """Return a note on the LayerNorm after the last layer, which pre-norm models have."""
    if trace.settings.norm == "post":
        return ""
    return page.say(
        " Behind the last layer of each stack stands one LayerNorm more (pre-norm), not drawn.",
        "每摞的最后一层之后还有一个 LayerNorm（pre-norm），此处未画。",
    )


def draw_decoder_layers(page: Page, box: Rect, side: str, count: int, label: str) -> None:
    role = theme.role(side)
    page.box(*box, fill=role.fill, edge=role.ink, line=1.8, round=10, layer=1)
    page.text(box.centre[0], box.y + 13, label, bold=True, ha="center", color=role.ink)
    for n, layer in enumerate(reversed(choose_layers(count))):
        y = box.y + 28 + n * 27
        text = page.say(f"layer {layer}", f"第 {layer} 层") if layer is not None else "…"
        page.box(
            box.x + 14,
            y,
            box.width - 28,
            22,
            fill=theme.PAPER,
            edge=role.ink if layer is not None else None,
            label=text,
            size=theme.SMALL,
            color=role.ink,
        )


def fan_out(page: Page, trace: Any, memory: Rect, right: Rect) -> None:
    """Draw the keys and values that each decoder layer makes of the memory, beside the layer."""
    for n, layer in enumerate(reversed(choose_layers(trace.settings.decoder_layers))):
        if layer is None:
            continue
        y = right.y + 28 + n * 27
        for window, role, x in (("key", "key", 392.0), ("value", "value", 448.0)):
            values = join_heads(trace[f"decoder.{layer}.cross_attention.{window}"])
            heat(page, x, y, values, 48, 22, role=role)
            if not n:
                page.text(
                    x + 24,
                    y - 11,
                    "K" if role == "key" else "V",
                    bold=True,
                    ha="center",
                    color=theme.role(role).ink,
                )
        page.line(
            [
                (memory.right + 4, memory.centre[1]),
                (356, memory.centre[1]),
                (364, y + 11),
                (388, y + 11),
            ],
            color=theme.role("memory").ink,
            width=1.1,
            head=True,
        )
        page.arrow((498, y + 11), (513, y + 11), color=theme.role("memory").ink)


def _draw_output(page: Page, trace: Any, right: Rect) -> None:
    """Draw linear map, softmax and the first token above the decoder."""
    x, y = right.centre[0], right.y
    for n, (role, label) in enumerate(
        (("linear", page.say("Linear", "线性")), ("softmax", "Softmax"))
    ):
        look = theme.role(role)
        page.box(
            x - 45,
            y - 38 - 32 * n,
            90,
            22,
            fill=look.fill,
            edge=look.ink,
            label=label,
            size=theme.SMALL,
            bold=True,
        )
        page.arrow((x, y - 2 - 37 * n), (x, y - 14 - 33 * n))
    page.arrow((x, y - 72), (x, y - 86))
    place = tokens(
        page, x - 26, y - 106, [show_token(trace.predicted[0].text)], role="decoder", lit=[0]
    )[0]
    page.number(
        place.right + 8,
        place.centre[1],
        float(np.exp(trace.predictions[0].log_prob)),
        "derived:np.exp(trace.predictions[0].log_prob)",
        ha="left",
        before="p = ",
    )


def draw_following_words(
    trace: Any,
    *,
    lang: str = "en",
    ax: Axes | None = None,
    columns: int = 12,
) -> Animation:
    """Draw each step of decoding: what came out goes in again, until the end mark (V75)."""
    page, wide, high = Page(lang, ax), 68.0, 158.0
    role, total = theme.role("decoder"), len(trace.predicted)
    shown = elide(total, 4 * columns, 8)
    columns = balance(len(shown), columns)
    for place, t in enumerate(shown):
        row, column = divmod(place, columns)
        x, y = column * wide, row * high
        if t is None:
            page.step("And so on.", "如此继续。")
            page.text(x + wide / 2 - 3, y + 59, "…", size=14, ha="center", color=theme.SOFT)
            continue
        given, out = show_token(trace.target[t].text), show_token(trace.predicted[t].text)
        last = trace.predicted[t].start == trace.predicted[t].end and t == total - 1
        page.step(
            f"Step {t + 1}: “{given}” goes in at position {t}, “{out}” comes out."
            + (" The end." if last else ""),
            f"第 {t + 1} 步：“{given}”在位置 {t} 输入，输出“{out}”。" + ("结束。" if last else ""),
        )
        page.box(
            x,
            y + 36,
            wide - 6,
            46,
            fill=role.fill,
            edge=role.ink,
            line=1.2,
            label=str(t),
            bold=True,
            size=theme.SMALL,
        )
        for text, top, lit in ((out, y, True), (given, y + 100, False)):
            page.box(
                x,
                top,
                wide - 6,
                20,
                fill=role.fill if lit else theme.role("embedded").fill,
                edge=role.ink if lit else theme.role("embedded").ink,
                line=2 if lit else 0.8,
                round=3,
            )
            page.text(
                x + wide / 2 - 3,
                top + 10,
                text,
                size=theme.SMALL,
                mono=True,
                ha="center",
                bold=lit,
                width=wide - 10,
            )
        page.arrow((x + wide / 2 - 3, y + 99), (x + wide / 2 - 3, y + 83))
        page.arrow((x + wide / 2 - 3, y + 35), (x + wide / 2 - 3, y + 21))
        page.number(
            x + wide / 2 - 3,
            y - 8,
            float(np.exp(trace.predictions[t].log_prob)),
            f"derived:np.exp(trace.predictions[{t}].log_prob)",
            size=theme.TINY,
        )
        if t and column and shown[place - 1] is not None:
            page.line(
                [(x - 8, y + 22), (x - 3, y + 26), (x - 3, y + 110), (x, y + 110)],
                color=role.ink,
                dashed=True,
                width=0.9,
                alpha=0.6,
            )
    return page.animate(
        page.say("Each word that comes out goes in again", "输出的每个词再次输入"),
        page.say(
            "Below: what goes in; in the box: its position; above: what comes out and how probable "
            "it was. The keys and "
            "values of earlier positions are kept; nothing is computed twice.",
            "下：输入；框内：位置；上：输出及其概率。先前位置的键和值都被保留，不会重复计算。",
        )
        + tell_left_out(page, len([t for t in shown if t is not None]), total),
    )


def draw_growing_mask(
    trace: Any,
    *,
    lang: str = "en",
    ax: Axes | None = None,
    layer: int = -1,
    head: int = 0,
) -> Animation:
    """Draw masked self-attention, which grows by a row at each step (V76)."""
    page, attention = Page(lang, ax), find_attention(trace, "decoder", layer)
    every = len(attention.keys)
    head = pick(head, trace.settings.heads, "head")
    weights = trace[f"{attention.name}.weights"][head, :MOST_ROWS, :MOST_ROWS]
    cell = 26.0 if len(weights) <= 20 else 17.0
    for j, text in enumerate(attention.keys[:MOST_ROWS]):
        page.text(
            (j + 0.5) * cell + 2,
            -6,
            text,
            size=theme.SMALL if cell > 20 else theme.TINY,
            mono=True,
            rotation=90,
            width=80,
        )
    page.text(
        -8,
        -12,
        page.say("reads ↓   is read →", "读取者 ↓  被读者 →"),
        ha="right",
        size=theme.SMALL,
        color=theme.SOFT,
    )
    for t, row in enumerate(weights):
        reach = (
            page.say("itself alone", "只能看自己")
            if not t
            else page.say(f"itself and {t} before it", f"自己和之前 {t} 个")
        )
        page.step(f"“{attention.keys[t]}” sees {reach}.", f"“{attention.keys[t]}”：{reach}。")
        hidden = (np.arange(len(row)) > t)[None]
        heat(
            page,
            0,
            t * cell,
            row[None],
            len(row) * cell,
            cell,
            role="weights",
            scale="share",
            limit=1,
            masked=hidden,
        )
        page.text(
            -8,
            (t + 0.5) * cell,
            attention.queries[t],
            size=theme.SMALL if cell > 20 else theme.TINY,
            mono=True,
            ha="right",
            width=150,
        )
        for j in range(t + 1) if cell > 20 else ():
            page.number(
                (j + 0.5) * cell,
                (t + 0.5) * cell,
                float(row[j]),
                (f"{attention.name}.weights", (head, t, j)),
                size=theme.TINY,
                color=theme.ink_on(theme.SHARE(float(row[j]))),
            )
        page.number(
            len(row) * cell + 16,
            (t + 0.5) * cell,
            float(row.sum()),
            f'derived:trace["{attention.name}.weights"][{head},{t}].sum()',
            size=theme.TINY,
            color=theme.SOFT,
        )
    page.text(len(weights) * cell + 16, -8, "Σ", ha="center", bold=True)
    legend(
        page,
        0,
        len(weights) * cell + 14,
        "share",
        1,
        label=page.say("weight; hatched: not there yet", "权重；阴影：尚未写出"),
    )
    return page.animate(
        page.say(
            "Masked self-attention grows by a row at each step", "带掩码的自注意力每步增加一行"
        ),
        (
            f"{attention.title(lang)}, head {head}.".capitalize()
            if lang == "en"
            else f"{attention.title(lang)}，头 {head}。"
        )
        + tell_left_out(page, len(weights), every),
    )
