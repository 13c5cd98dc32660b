"""Pictures of text that becomes numbers: tokens, lookup, word vectors (V10, V14, V15, V17)."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

from . import theme
from .canvas import Page
from .cells import find_limit, heat, legend, span, strip
from .fonts import measure_width, wrap_most
from .merging import choose_word, draw_merges
from .selection import find_query, show_tokens, tell_left_out

ACROSS = 760.0  # width of a line of tokens
MOST, LINES = 120, 8  # tokens that are shown, and lines of their text


def draw_tokens(trace: Any, *, lang: str = "en", query: int | str | None = None) -> Figure:
    """Draw the text, its tokens with their spans and ids, and the merges of one word (V10)."""
    page = Page(lang)
    ink = theme.role("embedded")
    page.text(0, 0, page.say("text", "文本"), color=theme.SOFT)
    lines = wrap_most(trace.text, ACROSS, 11, LINES).split("\n")
    for line, text in enumerate(lines):
        page.text(60, line * 16.0, text, size=11)
    top = 12.0 + 16 * len(lines)
    x, y = 60.0, top
    for token in trace.source[:MOST]:
        marked = token.text.replace(" ", "▁")
        mark = token.start == token.end
        width = max(30.0, measure_width(marked, 10, mono=True) + 12)
        if x + width > ACROSS + 60:
            x, y = 60.0, y + 78
        page.box(
            x,
            y,
            width,
            24,
            fill=theme.ROLES["plain"].fill if mark else ink.fill,
            edge=theme.SOFT if mark else ink.ink,
            dashed=mark,
            round=3,
            line=1,
        )
        page.text(x + width / 2, y + 12, marked, mono=True, size=10, ha="center")
        page.text(
            x + width / 2,
            y + 36,
            str(token.id),
            size=theme.SMALL,
            bold=True,
            ha="center",
            color=ink.ink,
        )
        span_of = page.say("mark", "标记") if mark else f"{token.start}–{token.end}"
        page.text(x + width / 2, y + 50, span_of, size=theme.TINY, color=theme.SOFT, ha="center")
        x += width + 5
    for offset, words in ((12, ("tokens", "词元")), (36, ("ids", "编号")), (50, ("place", "位置"))):
        page.text(0, top + offset, page.say(*words), color=theme.SOFT)
    merges = ""
    if any(word.merges for word in trace.document.words):
        number = choose_word(trace, query)
        draw_merges(page, trace.document.words[number], number, 96, y + 84)
        merges = page.say(
            " Below, one word: of all neighbours that training joined, those that it joined first "
            "become one (the lowest number), until none are left.",
            "下面是一个词：在训练中合并过的相邻符号里，先合并最早学到的（序号最小），直到没有可合并的。",
        )
    return page.finish(
        page.say("Text becomes tokens, tokens become numbers", "文本变成词元，词元变成编号"),
        page.say(
            f"{len(trace.source)} tokens of a vocabulary of {trace.document.source_vocabulary}. ▁ "
            "is a space; place: characters of the text. "
            f"A mark stands for no characters: it says where the sentence ends.{merges}",
            f"共 {len(trace.source)} 个词元，词表大小 {trace.document.source_vocabulary}。▁ 表示空"
            f"格；位置：文本中的字符。标记不对应任何字符：表示句子结束。{merges}",
        )
        + tell_left_out(page, MOST, len(trace.source)),
    )


def draw_lookup(trace: Any, *, lang: str = "en", query: int | str | None = None) -> Figure:
    """Draw a one-hot vector times the embedding matrix, which is one row of it (V14)."""
    page = Page(lang)
    place = find_query(show_tokens(trace.source), query)
    token = trace.source[place]
    name = "source_embedding.table.weight"
    table = trace[name]
    around = 7
    first = max(0, min(token.id - around // 2, len(table) - around))
    rows = table[first : first + around]
    limit, wide = find_limit(rows), max(200.0, span(table.shape[1]))
    _draw_one_hot(page, 106, 24 + around * 10, first, around, token.id)
    page.text(130, 24 + around * 10, "×", size=16, ha="center", color=theme.SOFT)
    for row in range(around):
        lit = first + row == token.id
        color, y = theme.INK if lit else theme.SOFT, 34 + row * 20.0
        page.text(163, y, str(first + row), size=theme.TINY, ha="right", bold=lit, color=color)
    heat(page, 168, 24, rows, wide, around * 20, role="embedded", limit=limit, learned=True)
    page.formula(168 + wide / 2, 10, "E", color=theme.role("embedded").ink)
    page.text(
        168 + wide / 2,
        24 + around * 20 + 10,
        f"{len(table)} × {table.shape[1]}",
        size=theme.TINY,
        ha="center",
        color=theme.role("embedded").ink,
    )
    own = 24 + (token.id - first) * 20.0
    page.box(165, own - 1, wide + 6, 22, fill="none", edge="#d03030", line=2, round=2, layer=7)
    page.text(168 + wide + 26, 24 + around * 10, "=", size=16, ha="center", color=theme.SOFT)
    strip(
        page,
        168 + wide + 50,
        14 + around * 10,
        table[token.id],
        "embedded",
        (name, (token.id,)),
        digits=3,
        cell=(40, 22),
    )
    page.text(168 + wide + 50, around * 10, show_tokens([token])[0], mono=True, bold=True)
    legend(page, 168, 24 + around * 20 + 28, "signed", limit)
    return page.finish(
        page.say("Embedding is looking up a row", "嵌入就是查一行"),
        page.say(
            f"Rows {first} to {first + around - 1} of the matrix, and the numbers of the one-hot "
            "row that meet them. A one-hot row times E is one row of E; nobody multiplies, it is "
            "looked up.",
            f"矩阵的第 {first} 到 {first + around - 1} 行，以及独热行向量中与之对应的数。独热行向量"
            "乘以 E 得到 E 的一行；实际上并不相乘，而是直接查表。",
        ),
    )


def _draw_one_hot(
    page: Page, right: float, middle: float, first: int, count: int, own: int
) -> None:
    """Draw the numbers of the one-hot row that meet the rows drawn, each below its id."""
    ink, wide = theme.role("embedded"), 24.0
    left = right - count * wide
    label = page.say("one-hot, a row", "独热行向量")
    page.text((left + right) / 2, middle - 32, label, size=theme.SMALL, color=ink.ink, ha="center")
    for column in range(count):
        x, lit = left + column * wide, first + column == own
        fill = ink.fill if lit else theme.PAPER
        page.box(x, middle - 10, wide, 20, fill=fill, edge=ink.ink, round=0, line=0.8)
        page.number(x + wide / 2, middle, float(lit), "worked", digits=0, bold=lit)
        color, id = theme.INK if lit else theme.SOFT, str(first + column)
        page.text(
            x + wide / 2, middle - 17, id, size=theme.TINY, ha="center", bold=lit, color=color
        )
    for x in (left - 10, right + 6):
        page.text(x, middle, "…", size=11, ha="center", color=theme.SOFT)


def draw_word_vectors(trace: Any, *, lang: str = "en") -> Figure:
    """Draw each token as a vector of numbers (V15)."""
    page = Page(lang)
    texts = show_tokens(trace.source)
    shown = min(6, len(texts))
    tensor = "source_embedding.embedded"
    for i in range(shown):
        page.text(84, i * 34.0 + 10, texts[i], mono=True, ha="right", width=84, bold=True)
        page.arrow((90, i * 34.0 + 10), (112, i * 34.0 + 10))
        rect = strip(
            page, 140, i * 34.0, trace[tensor][i], "embedded", (tensor, (i,)), cell=(40, 22)
        )
        page.formula(127, i * 34.0 + 11, f"x_{{{i}}}", color=theme.role("embedded").ink)
        heat(
            page,
            rect.right + 44,
            i * 34.0,
            trace[tensor][i : i + 1],
            330,
            22,
            role="embedded",
            limit=find_limit(trace[tensor]),
        )
    page.text(
        140 + 80,
        -14,
        page.say("the first four numbers", "前四个数"),
        size=theme.SMALL,
        color=theme.SOFT,
        ha="center",
    )
    page.text(
        344 + 165,
        -14,
        page.say(f"all {trace.settings.d_model}", f"全部 {trace.settings.d_model} 个"),
        size=theme.SMALL,
        color=theme.SOFT,
        ha="center",
    )
    legend(page, 344, shown * 34 + 4, "signed", find_limit(trace[tensor]))
    hidden = len(texts) - shown
    more = (
        page.say(f" {hidden} more tokens are left out.", f"其余 {hidden} 个词元从略。")
        if hidden
        else ""
    )
    return page.finish(
        page.say("Each word becomes a vector", "每个词变成一个向量"),
        page.say(
            f"Rows of the embedding matrix, times √d.{more}", f"嵌入矩阵的行，乘以 √d。{more}"
        ),
    )


def draw_sentence_matrix(trace: Any, *, lang: str = "en") -> Figure:
    """Draw all word vectors below each other: the matrix X (V17)."""
    page = Page(lang)
    texts, name = show_tokens(trace.source)[:MOST], "source_embedding.embedded"
    values = trace[name][:MOST]
    step = max(7.0, min(18.0, 480 / len(texts)))
    wide = max(260.0, span(values.shape[1]) * 1.6)
    heat(page, 0, 0, values, wide, len(texts) * step, role="embedded")
    for i, text in enumerate(texts):
        page.text(
            -6,
            (i + 0.5) * step,
            text,
            mono=True,
            size=min(theme.TEXT, step * 0.8),
            ha="right",
            width=90,
        )
    page.brace(0, wide, len(texts) * step + 4, f"d_model = {values.shape[1]}")
    rows = page.say(f"{len(values)} tokens", f"{len(values)} 个词元")
    page.text(wide + 12, len(texts) * step / 2, rows, color=theme.SOFT)
    legend(page, 0, len(texts) * step + 34, "signed", find_limit(values))
    return page.finish(
        page.say("The sentence as a matrix X", "句子成为矩阵 X"),
        page.say(
            "One row for each token; the mark at the end has one, too.",
            "每个词元一行；句末标记也有一行。",
        )
        + tell_left_out(page, MOST, len(trace.source)),
    )
