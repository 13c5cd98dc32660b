"""The picture of properties of the positional encoding (V26)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from . import theme, waves
from .canvas import Page, Rect
from .cells import matrix
from .charts import Chart

Array = NDArray[Any]
LENGTHS = Path(__file__).with_name("lengths.json")


def _axes(
    page: Page,
    x: float,
    y: float,
    wide: float,
    tall: float,
    levels: list[float],
    most: float,
    label: str,
) -> None:
    """Draw a frame for a curve from 0 to `most` on the x axis, with levels marked on the y axis."""
    low, high = min(levels), max(levels)
    for level in levels:
        line = y + tall * (high - level) / (high - low)
        page.line([(x, line), (x + wide, line)], color="#e6e9ed", width=0.8, layer=1)
        page.text(
            x - 5,
            line,
            f"{level:g}".replace("-", "−"),
            size=theme.TINY,
            color=theme.SOFT,
            ha="right",
            gid="scale",
        )
    for share in (0, 0.5, 1):
        page.text(
            x + wide * share,
            y + tall + 9,
            f"{most * share:g}",
            size=theme.TINY,
            color=theme.SOFT,
            ha="center",
        )
    page.text(x + wide / 2, y + tall + 22, label, size=theme.SMALL, color=theme.SOFT, ha="center")


def draw_properties(trace: Any, *, lang: str = "en", shift: int = 5) -> Figure:
    """Draw the properties of the encoding: similarity, rotation, wavelengths, lengths (V26).

    shift: the shift of positions whose rotation is drawn.
    """
    page = Page(lang)
    d_model, wide, tall = 512, 300.0, 170.0
    table = waves.encode_waves(np.arange(101), d_model)
    cosine = table @ table[0] / (d_model / 2)
    assert np.allclose(cosine[[1, 2, 10, 50]], [0.973, 0.905, 0.679, 0.512], atol=6e-4)
    page.text(0, -16, page.say("1  neighbours are alike", "1  相邻位置相似"), bold=True)
    _axes(
        page,
        0,
        0,
        wide,
        tall,
        [0.25, 0.5, 0.75, 1.0],
        100,
        page.say("distance between two positions", "两个位置的距离"),
    )
    page.line(
        [(i * wide / 100, tall * (1 - v) / 0.75) for i, v in enumerate(cosine)],
        color=theme.role("positions").ink,
        width=2,
    )
    for i, dx, dy in ((1, 8, 2), (2, 8, 4), (10, 8, -8), (50, 0, -8)):
        x, y = i * wide / 100, tall * (1 - float(cosine[i])) / 0.75
        page.box(
            x - 2.5, y - 2.5, 5, 5, round=2.5, fill=theme.role("positions").ink, edge=None, layer=6
        )
        page.number(
            x + dx,
            y + dy,
            float(cosine[i]),
            "worked",
            digits=3,
            ha="left",
            before=f"{i}: ",
        )
    _draw_rotation(page, 400, shift)
    _draw_paces(page, 0, 260)
    _draw_lengths(page, Rect(430, 268, 300, 150))
    return page.finish(
        page.say("What sine and cosine are good for", "正弦和余弦的好处"),
        page.say(
            "1 to 3: d = 512, the paper's layout; similarity is the cosine. Every position has its "
            "own code. The code is defined at any length, which does not mean that a model works "
            "there: 4 is SCAN's length split, a small model of ours, held-out commands on both "
            "sides of the line.",
            "1 至 3：d = 512，论文的排列；相似度为余弦。每个位置的编码各不相同。任意长度都有定义，"
            "但这不表示模型在那里好用：4 是 SCAN 的 length 划分，我们的小模型，线两侧都是未训练过的"
            "命令。",
        ),
    )


def _draw_rotation(page: Page, x: float, shift: int) -> None:
    """Draw PE(p + k) = R PE(p), which has the same R for every p, for one pair of dimensions."""
    rate = waves.wave_rates(512)[40]
    c, s = np.cos(shift * rate), np.sin(shift * rate)
    rotation = np.array([[c, s], [-s, c]])
    pair = waves.encode_waves([7, 7 + shift], 512)[:, 80:82]
    assert np.allclose(rotation @ pair[0], pair[1])
    page.text(
        x,
        -16,
        page.say(
            f"2  a shift by {shift} is a rotation, the same everywhere",
            f"2  平移 {shift} 位就是旋转，处处相同",
        ),
        bold=True,
    )
    y = 42.0
    matrix(page, x, y, rotation, "linear", "worked", cell=(54, 30), digits=3)
    page.text(x + 124, y + 30, "×", size=14, color=theme.SOFT, ha="center")
    matrix(page, x + 140, y, pair[0][:, None], "positions", "worked", cell=(54, 30), digits=3)
    page.text(x + 210, y + 30, "=", size=14, color=theme.SOFT, ha="center")
    matrix(page, x + 226, y, pair[1][:, None], "positions", "worked", cell=(54, 30), digits=3)
    page.formula(x + 54, y - 14, rf"R_{{{shift}}}", color=theme.role("linear").ink)
    page.formula(x + 167, y - 14, r"\mathrm{PE}(7)", size=11, color=theme.role("positions").ink)
    page.formula(
        x + 253, y - 14, rf"\mathrm{{PE}}({7 + shift})", size=11, color=theme.role("positions").ink
    )
    page.text(
        x,
        y + 86,
        page.say("the pair of dimensions 80 and 81", "第 80、81 维这一对"),
        size=theme.SMALL,
        color=theme.SOFT,
    )
    page.formula(
        x,
        y + 114,
        r"R_k=\left(\cos k\omega,\ \sin k\omega;\ -\sin k\omega,\ \cos k\omega\right)",
        size=11,
        ha="left",
    )


def _draw_paces(page: Page, x: float, y: float) -> None:
    """Draw waves: the first pairs distinguish neighbours, the last ones regions."""
    page.text(
        x,
        y - 16,
        page.say("3  low dimensions are local, high ones global", "3  低维看局部，高维看全局"),
        bold=True,
    )
    for row, i in enumerate((0, 32, 96, 160)):
        length = 2 * np.pi / waves.wave_rates(512)[i]
        top = y + row * 44
        values = np.sin(np.linspace(0, 100, 700) * waves.wave_rates(512)[i])
        page.text(
            x + 62,
            top + 16,
            page.say(f"dimension {2 * i}", f"第 {2 * i} 维"),
            size=theme.SMALL,
            ha="right",
        )
        page.line(
            [(x + 74 + p * 210 / 700, top + 16 - 14 * v) for p, v in enumerate(values)],
            color=theme.HEADS[row],
            width=1.4,
        )
        page.number(
            x + 292,
            top + 16,
            float(length),
            "worked",
            digits=1,
            ha="left",
            before=page.say("wavelength ", "波长 "),
        )
    page.text(
        x + 179,
        y + 184,
        page.say("positions 0 to 100", "位置 0 到 100"),
        size=theme.SMALL,
        color=theme.SOFT,
        ha="center",
    )


def read_lengths() -> Any:
    """Return the results of `benchmarks/lengths.py`; None if the file is not there."""
    return json.loads(LENGTHS.read_text(encoding="utf-8")) if LENGTHS.is_file() else None


def _draw_lengths(page: Page, rect: Rect) -> None:
    """Draw the share of exact answers by length, and the longest length in training."""
    found = read_lengths()
    if found is None:
        return
    page.text(
        rect.x - 20,
        rect.y - 24,
        page.say("4  beyond the lengths of training", "4  超出训练的长度"),
        bold=True,
    )
    lengths = [int(length) for length in found["lengths"]]
    chart = Chart(
        page,
        rect,
        (0, max(lengths)),
        (0, 100),
        x_ticks=(0, 10, 20, 30, 40),
        across=page.say("length of the answer, in words", "答案的长度（词）"),
        up=page.say("% exactly right", "完全正确的百分比"),
    )
    edge = chart.at(found["seen"] + 0.5, 0)[0]
    page.line([(edge, rect.y), (edge, rect.bottom)], color="#b03030", dashed=True)
    page.text(
        edge + 5,
        rect.y + 8,
        page.say(f"longest in training: {found['seen']}", f"训练中最长：{found['seen']}"),
        size=theme.SMALL,
        color="#b03030",
    )
    for right, asked, length in ((*found["lengths"][str(n)], n) for n in lengths):
        x, y = chart.at(length, 100 * right / asked)
        page.box(
            x - 2.5, y - 2.5, 5, 5, round=2.5, fill=theme.role("positions").ink, edge=None, layer=6
        )
    near, far = (
        np.sum([found["lengths"][str(n)] for n in lengths if (n > found["seen"]) == beyond], 0)
        for beyond in (False, True)
    )
    for (right, asked), x in ((near, rect.x + 60), (far, edge + 60)):
        page.number(
            x,
            rect.y + 82,
            100 * right / asked,
            "measured",
            digits=1,
            size=13,
            bold=True,
            color=theme.role("positions").ink,
        )
        page.text(
            x,
            rect.y + 96,
            page.say(f"% of {asked:,}", f"%，共 {asked:,} 条"),
            ha="center",
            size=theme.SMALL,
            color=theme.SOFT,
        )
