"""Pictures of the waves that make up positional encodings (V23-V25, V27)."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from . import theme, waves
from .canvas import Page
from .cells import heat, legend, matrix
from .waves import WORKED, encode_waves, wave_rates


def draw_waves(trace: Any, *, lang: str = "en") -> Figure:
    """Draw dimensions 4 to 7 of 20, over a hundred positions (V23)."""
    page = Page(lang)
    d_model, wide, tall = 20, 560.0, 220.0
    values = encode_waves(np.arange(0, 100, 0.25), d_model)
    lengths = 2 * np.pi / wave_rates(d_model)[[2, 3]]
    assert np.allclose(lengths, [39.6, 99.6], atol=0.1)
    for level in (-1, 0, 1):
        page.line(
            [(0, tall / 2 * (1 - level)), (wide, tall / 2 * (1 - level))],
            color="#e4e7eb",
            width=0.8,
            layer=1,
        )
        page.text(
            -6,
            tall / 2 * (1 - level),
            str(level).replace("-", "−"),
            size=theme.SMALL,
            color=theme.SOFT,
            ha="right",
        )
    colours = (theme.HEADS[0], theme.HEADS[1], theme.HEADS[2], theme.HEADS[3])
    for place, (dimension, colour) in enumerate(zip(range(4, 8), colours, strict=True)):
        wave = values[:, dimension]
        points = [(p * wide / len(wave), tall / 2 * (1 - v)) for p, v in enumerate(wave)]
        page.line(points, color=colour, width=2.0, dashed=bool(dimension % 2))
        wave_name = "cos" if dimension % 2 else "sin"
        name = page.say(f"dimension {dimension}: {wave_name}", f"第 {dimension} 维：{wave_name}")
        y = 24 + place * 44.0
        page.line(
            [(wide + 16, y), (wide + 44, y)], color=colour, width=2.0, dashed=bool(dimension % 2)
        )
        page.text(wide + 50, y, name, color=colour)
        page.number(
            wide + 50,
            y + 14,
            float(lengths[place // 2]),
            "worked",
            digits=1,
            ha="left",
            before=page.say("wavelength ", "波长 "),
            color=theme.SOFT,
        )
    for position in range(0, 101, 20):
        page.text(
            position * wide / 100,
            tall + 12,
            str(position),
            size=theme.SMALL,
            color=theme.SOFT,
            ha="center",
        )
    page.text(
        wide / 2,
        tall + 28,
        page.say("position", "位置"),
        size=theme.SMALL,
        color=theme.SOFT,
        ha="center",
    )
    return page.finish(
        page.say("Four dimensions of the positional encoding", "位置编码的四个维度"),
        page.say(
            "d_model = 20, the paper's layout. Each pair shares a frequency; the next pair is "
            "slower.",
            "d_model = 20，论文的排列。每一对共用一个频率；下一对更慢。",
        ),
    )


def draw_one_word(trace: Any, *, lang: str = "en") -> Figure:
    """Draw the encoding of "love" in "I love AI", number by number, at width 4 (V24)."""
    page = Page(lang)
    heads = ("i", r"2i/d", r"10000^{2i/d}", r"pos / 10000^{2i/d}", r"\sin,\ \cos")
    columns = (40.0, 120.0, 220.0, 350.0, 480.0)
    for x, head in zip(columns, heads, strict=True):
        page.formula(x, 0, head, size=11, color=theme.role("positions").ink)
    values = encode_waves([1], 4)[0]
    assert np.allclose(values, WORKED["interleaved"][1], atol=6e-5)
    for dimension, value in enumerate(values):
        i, y = dimension // 2, 34 + dimension * 30.0
        scale = 10000 ** (2 * i / 4)
        page.text(
            -46,
            y,
            page.say(f"dimension {dimension}", f"第 {dimension} 维"),
            size=theme.SMALL,
            color=theme.SOFT,
            ha="left",
        )
        for x, number, digits in (
            (columns[0], i, 0),
            (columns[1], 2 * i / 4, 1),
            (columns[2], scale, 0),
            (columns[3], 1 / scale, 2),
        ):
            page.number(x, y, float(number), "worked", digits=digits, size=theme.TEXT)
        name = "cos" if dimension % 2 else "sin"
        page.number(
            columns[4],
            y,
            float(value),
            "worked",
            digits=4,
            size=theme.TEXT,
            before=f"{name} = ",
            bold=True,
        )
    page.text(
        -46,
        -42,
        page.say("I   love   AI:  “love” is position 1", "I   love   AI：“love”是位置 1"),
        size=11,
        mono=True,
    )
    matrix(page, 560, 48, values[None], "positions", "worked", digits=4, cell=(52, 30), size=9)
    page.text(
        664,
        30,
        page.say("the encoding of “love”", "“love”的位置编码"),
        size=theme.SMALL,
        color=theme.role("positions").ink,
        ha="center",
    )
    return page.finish(
        page.say("One positional encoding, step by step", "一步步算出一个位置编码"),
        page.say(
            "d = 4. Positions count from 0; sine and cosine of a pair share the exponent 2i/d.",
            "d = 4。位置从 0 开始计数；同一对的正弦与余弦共用指数 2i/d。",
        ),
    )


def draw_position_0(trace: Any, *, lang: str = "en") -> Figure:
    """Draw position 0: every sine is 0, every cosine is 1 (V25)."""
    page = Page(lang)
    values = encode_waves([0], 512)[0]
    page.text(8 * 46 + 22, 17, "…", size=16, color=theme.SOFT, ha="center")
    role = theme.role("positions")
    for place, i in [*enumerate(range(8)), (9, 510), (10, 511)]:
        x = place * 46.0
        page.formula(x + 23, -12, r"\cos 0" if i % 2 else r"\sin 0", size=10, color=role.ink)
        page.box(x, 0, 46, 34, fill=role.fill, edge=role.ink, round=0, line=0.8)
        page.number(x + 23, 17, float(values[i]), "worked", digits=0, size=12)
        page.text(x + 23, 44, str(i), size=theme.TINY, color=theme.SOFT, ha="center")
    return page.finish(
        page.say("Position 0", "位置 0"),
        page.say(
            "d = 512: 256 pairs, i = 0 to 255. Not zero: each cosine is 1, so its length is √256 "
            "= 16.",
            "d = 512：256 对，i 从 0 到 255。它并非零向量：余弦皆为 1，长度为 √256 = 16。",
        ),
    )


def draw_wave_code(
    trace: Any, *, lang: str = "en", positions: int = 20, d_model: int = 64
) -> Figure:
    """Draw the code that makes the table of encodings, beside the table (V27)."""
    page = Page(lang)
    parts = (inspect.getsource(waves.wave_rates), "\n", inspect.getsource(waves.encode_waves))
    lines = "".join(parts).splitlines()
    ink = theme.role("positions")
    page.box(0, -10, 520, len(lines) * 14 + 20, fill="#fafbfc", edge=theme.FAINT, round=6)
    for place, line in enumerate(lines):
        page.text(12, place * 14.0 + 8, line, mono=True, size=7.5)
    x, wide, tall = 600.0, 330.0, len(lines) * 7.0 - 40
    for row, (layout, name) in enumerate(
        (("interleaved", page.say("the paper", "论文")), ("concatenated", "Tensor2Tensor"))
    ):
        y = 14 + row * (tall + 62)
        page.text(x, y - 12, name, bold=True, color=ink.ink)
        heat(
            page,
            x,
            y,
            waves.encode_waves(np.arange(positions), d_model, layout),
            wide,
            tall,
            role="positions",
            scale="wave",
            limit=1.0,
        )
        page.text(x - 6, y + 4, "0", size=theme.TINY, color=theme.SOFT, ha="right")
        page.text(
            x - 6, y + tall - 4, str(positions - 1), size=theme.TINY, color=theme.SOFT, ha="right"
        )
        last = waves.wave_rates(d_model, "paper" if row == 0 else "tensor2tensor")[-1]
        page.number(
            x + wide,
            y + tall + 12,
            float(1 / last),
            "worked",
            digits=0,
            ha="right",
            color=theme.SOFT,
            before=page.say("slowest wave: 1 radian in ", "最慢的波：每弧度位置数 "),
        )
    legend(page, x, 14 + 2 * (tall + 62) - 10, "wave", 1.0, digits=0)
    return page.finish(
        page.say("The code and its picture", "代码与它画出的图"),
        page.say(
            f"{positions} positions × {d_model} dimensions. Positions go down, dimensions across.",
            f"{positions} 个位置 × {d_model} 维。位置自上而下，维度自左而右。",
        ),
    )
