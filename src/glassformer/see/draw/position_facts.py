"""What is true of positional encodings (V26-V29)."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from . import theme, waves
from .canvas import Page
from .cells import matrix
from .selection import show_pieces

Array = NDArray[Any]


def _axes(
    page: Page, x: float, y: float, wide: float, tall: float, levels: list[float], most: float,
    label: str,
) -> None:  # fmt: skip
    """A frame for a curve from 0 to `most` across, and the levels marked upwards."""
    low, high = min(levels), max(levels)
    for level in levels:
        line = y + tall * (high - level) / (high - low)
        page.line([(x, line), (x + wide, line)], color="#e6e9ed", width=0.8, layer=1)
        page.text(
            x - 5, line, f"{level:g}".replace("-", "−"), size=theme.TINY, color=theme.SOFT,
            ha="right", gid="scale",
        )  # fmt: skip
    for share in (0, 0.5, 1):
        page.text(
            x + wide * share, y + tall + 9, f"{most * share:g}", size=theme.TINY, color=theme.SOFT,
            ha="center",
        )  # fmt: skip
    page.text(x + wide / 2, y + tall + 22, label, size=theme.SMALL, color=theme.SOFT, ha="center")


def draw_properties(trace: Any, *, lang: str = "en", shift: int = 5) -> Figure:
    """Near places are alike; a shift is a rotation; each pair has its own pace."""
    page = Page(lang)
    d_model, wide, tall = 512, 300.0, 170.0
    table = waves.encode(np.arange(101), d_model)
    cosine = table @ table[0] / (d_model / 2)
    assert np.allclose(cosine[[1, 2, 10, 50]], [0.973, 0.905, 0.679, 0.512], atol=6e-4)
    page.text(0, -16, page.say("1  neighbours are alike", "1  相邻位置相似"), bold=True)
    _axes(
        page, 0, 0, wide, tall, [0.25, 0.5, 0.75, 1.0], 100,
        page.say("distance between two positions", "两个位置的距离"),
    )  # fmt: skip
    page.line(
        [(i * wide / 100, tall * (1 - v) / 0.75) for i, v in enumerate(cosine)],
        color=theme.role("places").ink, width=2,
    )  # fmt: skip
    for i, dx in ((1, 8), (2, 8), (10, 8), (50, 0)):
        x, y = i * wide / 100, tall * (1 - float(cosine[i])) / 0.75
        page.box(
            x - 2.5, y - 2.5, 5, 5, round=2.5, fill=theme.role("places").ink, edge=None, layer=6
        )  # fmt: skip
        page.number(
            x + dx, y - 8 if i != 2 else y, float(cosine[i]), "worked", digits=3, ha="left",
            before=f"{i}: ",
        )  # fmt: skip
    _draw_rotation(page, 380, shift)
    _draw_paces(page, 0, 260)
    return page.finish(
        page.say("What sine and cosine are good for", "正弦和余弦的好处"),
        page.say(
            "d = 512, the paper's layout; similarity is the cosine. Every position has its own "
            "code. The code is defined at any "
            "length, which does not mean that a model trained on short sentences works there.",
            "d = 512，论文的排列；相似度为余弦。每个位置的编码各不相同。任意长度都有定义，但这不表"
            "示用短句训练的模型在长句上也好用。",
        ),
    )  # fmt: skip


def _draw_rotation(page: Page, x: float, shift: int) -> None:
    """PE(p + k) = R PE(p), the same R for every p."""
    rate = waves.rates(512)[40]
    c, s = np.cos(shift * rate), np.sin(shift * rate)
    rotation = np.array([[c, s], [-s, c]])
    pair = waves.encode([7, 7 + shift], 512)[:, 80:82]
    assert np.allclose(rotation @ pair[0], pair[1])
    page.text(
        x, -16,
        page.say(
            f"2  a shift by {shift} is a rotation, the same everywhere",
            f"2  平移 {shift} 位就是旋转，处处相同",
        ),
        bold=True,
    )  # fmt: skip
    y = 42.0
    matrix(page, x, y, rotation, "linear", "worked", cell=(54, 30), digits=3)
    page.text(x + 124, y + 30, "×", size=14, color=theme.SOFT, ha="center")
    matrix(page, x + 140, y, pair[0][:, None], "places", "worked", cell=(54, 30), digits=3)
    page.text(x + 210, y + 30, "=", size=14, color=theme.SOFT, ha="center")
    matrix(page, x + 226, y, pair[1][:, None], "places", "worked", cell=(54, 30), digits=3)
    page.formula(x + 54, y - 14, rf"R_{{{shift}}}", color=theme.role("linear").ink)
    page.formula(x + 167, y - 14, r"\mathrm{PE}(7)", size=11, color=theme.role("places").ink)
    page.formula(
        x + 253, y - 14, rf"\mathrm{{PE}}({7 + shift})", size=11, color=theme.role("places").ink
    )  # fmt: skip
    page.text(
        x, y + 86, page.say("the pair of dimensions 80 and 81", "第 80、81 维这一对"),
        size=theme.SMALL, color=theme.SOFT,
    )  # fmt: skip
    page.formula(
        x, y + 114, r"R_k=\left(\cos k\omega,\ \sin k\omega;\ -\sin k\omega,\ \cos k\omega\right)",
        size=11, ha="left",
    )  # fmt: skip


def _draw_paces(page: Page, x: float, y: float) -> None:
    """The first pairs tell neighbours apart, the last ones regions."""
    page.text(
        x, y - 16,
        page.say("3  low dimensions are local, high ones global", "3  低维看局部，高维看全局"),
        bold=True,
    )  # fmt: skip
    for row, i in enumerate((0, 32, 96, 160)):
        length = 2 * np.pi / waves.rates(512)[i]
        top = y + row * 44
        values = np.sin(np.linspace(0, 100, 700) * waves.rates(512)[i])
        page.text(
            x + 62, top + 16, page.say(f"dimension {2 * i}", f"第 {2 * i} 维"), size=theme.SMALL,
            ha="right",
        )  # fmt: skip
        page.line(
            [(x + 74 + p * 420 / 700, top + 16 - 14 * v) for p, v in enumerate(values)],
            color=theme.HEADS[row], width=1.4,
        )  # fmt: skip
        page.number(
            x + 506, top + 16, float(length), "worked", digits=1, ha="left",
            before=page.say("wavelength ", "波长 "),
        )  # fmt: skip
    page.text(
        x + 284, y + 184, page.say("positions 0 to 100", "位置 0 到 100"), size=theme.SMALL,
        color=theme.SOFT, ha="center",
    )  # fmt: skip


def draw_amplitude(trace: Any, *, lang: str = "en") -> Figure:
    """How long the vectors of word and place are, piece by piece."""
    page = Page(lang)
    texts, d = show_pieces(trace.source), trace.settings.d_model
    shown = list(range(len(texts))) if len(texts) <= 24 else [*range(23), len(texts) - 1]
    names = {"words": ("word, times √d", "词 × √d"), "places": ("place", "位置")}
    lengths = {name: np.linalg.norm(trace[f"source_embedding.{name}"], axis=1) for name in names}
    unit = 300 / max(float(values.max()) for values in lengths.values())
    for row, i in enumerate(shown):
        page.text(84, row * 26.0 + 9, texts[i], mono=True, ha="right", width=84)
        for part, name in enumerate(names):
            ink, value, y = theme.role(name), float(lengths[name][i]), row * 26.0 + part * 10
            of = f"derived:np.linalg.norm(trace['source_embedding.{name}'][{i}])"
            page.box(94, y, unit * value, 8.5, fill=ink.fill, edge=ink.ink, round=0, line=0.7)
            x = 100 + unit * value
            page.number(x, y + 4, value, of, ha="left", size=theme.TINY, color=ink.ink)
    for part, (name, words) in enumerate(names.items()):
        ink, y = theme.role(name), part * 20.0
        page.box(470, y, 14, 10, fill=ink.fill, edge=ink.ink, round=0)
        page.text(490, y + 5, page.say(*words), color=ink.ink)
    _draw_examples(page, 470, 60)
    hidden = len(texts) - len(shown)
    more = page.say(f" {hidden} pieces are left out.", f"省略 {hidden} 个词元。") if hidden else ""
    amplitude = f"{trace.settings.positions.amplitude:g}"
    return page.finish(
        page.say("How loud is the place beside the word?", "相比词，位置的声音有多大？"),
        page.say(
            f"Lengths of the vectors that are added, d = {d}, amplitude {amplitude}.{more}",
            f"相加的两个向量的长度，d = {d}，幅度 {amplitude}。{more}",
        ),
    )


def _draw_examples(page: Page, x: float, y: float) -> None:
    """What the lengths are in a fresh network of the paper's width."""
    title = page.say("for comparison, d = 512:", "作为参照，d = 512：")
    page.text(x, y, title, size=theme.SMALL, bold=True)
    rows = (
        (np.linalg.norm(waves.encode([7], 512)), "place", "位置"),
        (np.sqrt(512.0), "word, N(0, 1/d) at the start", "词，初始 N(0, 1/d)"),
        (512 * np.sqrt(2 / (32000 + 512)), "word, Xavier, V = 32,000", "词，Xavier，V = 32000"),
    )
    for row, (value, en, zh) in enumerate(rows):
        page.number(x + 30, y + 18 + row * 15, float(value), "worked", digits=1, ha="right")
        label = page.say(en, zh)
        page.text(x + 36, y + 18 + row * 15, label, size=theme.SMALL, color=theme.SOFT)
