"""A recording in brief, for a terminal and, as HTML without scripts, for a notebook."""

from __future__ import annotations

import math
import shutil
from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING

import numpy as np
from rich.cells import cell_len

from ..config import SIDE_OF
from ..foundation.extensions import find_addition
from ..text.clause_marks import find_clauses
from .derive import mean_over_heads
from .explain import Explanation
from .habits import tell_habit
from .recorded import Array, RecordedTensors, check_place
from .tokens import name_invisible

if TYPE_CHECKING:
    from .whatif import EditEffect

SHADES = " ▁▂▃▄▅▆▇█"  # each stands for an eighth of the attention
ENDINGS = 5  # hypotheses that are listed
SENTENCES = 12  # sentences of a longer text that are listed
HEIGHT = 12  # characters of a source token that are shown
ENDLESS = 1 << 20  # columns if the output is no terminal
COLUMNS = ("reads", "writes", "which had", "or else")


def summarise(
    trace: RecordedTensors, k: int = 3, layer: int | None = None, head: int | None = None
) -> str:
    """Return the translation, `k` alternatives at each step, and the cross-attention, as text."""
    tokens = trace.predicted or trace.source  # an encoder alone predicts what it reads
    if trace.settings.labels:  # or the class of the text
        best = trace.top(0, 1)[0]
        tokens = (tokens[0].model_copy(update={"text": best.text, "id": best.id}),)
    shown = [_tell_token(token.text) for token in tokens]
    widest = max(map(cell_len, shown))
    doubts = [f"looks wrong: {each.said}" for each in trace.document.problems]
    texts = dict.fromkeys((trace.whole_text, trace.whole_translation))  # one, if none is translated
    lines = [*texts, *doubts, *_list_sentences(trace)]
    lines += ["", "what came, and what could have come:" if trace.predicted else "what fits there:"]
    for row, (token, expected) in enumerate(zip(tokens, trace.predictions, strict=False)):
        others = "  ".join(
            f"{_tell_token(choice.text)} {_percent(choice.log_prob)}"
            for choice in [each for each in trace.top(row, k + 1) if each.id != token.id][:k]
        )
        own = f"{_pad(shown[row], widest)} {_percent(expected.log_prob):>6}"
        lines.append(f"  {row:3} {own}   {others}".rstrip())
    lines += [*_list_endings(trace), ""]
    if not (trace.settings.attending_layers or trace.settings.is_language_model):
        return "\n".join([*lines, "no attention: the decoder knows the source by one vector alone"])
    return "\n".join([*lines, *_draw_attention(trace, layer, head)])


def tell_sentence(trace: RecordedTensors) -> str:
    """Return one line that says which sentence of a text was recorded; "" if it has only one.

    A long sentence is translated in parts, of which one was recorded.
    """
    if len(trace.sentences) == 1:
        return ""
    many, spans = len(trace.sentences), [each.source for each in trace.sentences]
    count = many - sum(find_clauses(trace.whole_text, spans))
    counted = f"{count} sentence{'s' * (count > 1)}" + (f" in {many} parts" if count < many else "")
    return f"{counted}; inside: {trace.sentence} {trace.text}"


def _list_sentences(trace: RecordedTensors) -> Iterator[str]:
    """Yield the sentences of a longer text as lines; the recorded one is marked."""
    if len(trace.sentences) == 1:
        return
    yield from ("", tell_sentence(trace))
    for number, sentence in enumerate(trace.sentences):
        if number < SENTENCES or number == trace.sentence:
            mark = "*" if number == trace.sentence else " "
            yield f"  {number:3}{mark} {trace.whole_text[slice(*sentence.source)]}"
    if len(trace.sentences) > SENTENCES:
        yield f"  ... --sentence N: 0 to {len(trace.sentences) - 1}"


def _list_endings(trace: RecordedTensors) -> Iterator[str]:
    """Yield the final hypotheses as lines, if there are several; the recorded one is marked."""
    search = trace.search
    if search is None or len(search.hypotheses) == 1:
        return
    yield from ("", "what ended, by its score:")
    for number, endings in enumerate(search.hypotheses):
        if number < ENDINGS or number == search.chosen:
            mark = "*" if number == search.chosen else " "
            yield f"  {number:3}{mark} {endings.score:.3f}   {endings.text}"


def _draw_attention(trace: RecordedTensors, layer: int | None, head: int | None) -> Iterator[str]:
    weights, which = _choose(trace, layer, head)
    rows = [_tell_token(token.text) for token in trace.predicted or trace.source]
    keys = [_stack(_tell_token(token.text)) for token in trace.source or trace.target]
    widest = max(map(cell_len, rows))
    kind = "self-attention" if trace.settings.is_language_model else "cross-attention"
    yield f"{kind}, {which}: what each token reads{' while it is chosen' if trace.target else ''}"
    room = shutil.get_terminal_size((ENDLESS, 0)).columns - widest - 3
    for block in _fit(keys, room):
        yield from _draw_block(rows, widest, keys[block], weights[:, block])


def _stack(text: str) -> list[str]:
    """Return the characters of a text, each with its zero-width marks, to be written downwards."""
    letters: list[str] = []
    for character in text:
        if letters and not cell_len(character):
            letters[-1] += character
        else:
            letters.append(character)
    return letters[:HEIGHT]


def _fit(keys: Sequence[list[str]], room: int) -> Iterator[slice]:
    """Yield slices of the keys: as many columns at a time as fit beside each other."""
    start, taken = 0, 0
    for place, key in enumerate(keys):
        wide = max(map(cell_len, key), default=0) + 1
        if taken and taken + wide > room:
            yield slice(start, place)
            start, taken = place, 0
        taken += wide
    yield slice(start, len(keys))


def _draw_block(
    rows: Sequence[str], widest: int, keys: Sequence[list[str]], weights: Array
) -> Iterator[str]:
    """Yield the lines of one block: source tokens written downwards, shades of attention below."""
    tallest = max(map(len, keys))
    wide = [max(map(cell_len, key), default=0) for key in keys]
    upright = [[""] * (tallest - len(key)) + key for key in keys]
    eighths = np.nan_to_num(weights).clip(0, 1) * 8  # a damaged recording may have any number
    shades = ([SHADES[round(float(eighth))] for eighth in row] for row in eighths)
    named = [("", line) for line in zip(*upright, strict=True)]
    for name, cells in (*named, *zip(rows, shades, strict=True)):
        drawn = " ".join(map(_pad, cells, wide))
        yield f"  {_pad(name, widest)}  {drawn}".rstrip()


def _choose(trace: RecordedTensors, layer: int | None, head: int | None) -> tuple[Array, str]:
    """Return the weights of one head, or a mean of several, and their description."""
    layers, name = trace.settings.attending_layers, "decoder.{}.cross_attention.weights"
    if side := SIDE_OF.get(trace.settings.network):
        layers, name = (
            range(getattr(trace.settings, side)),
            f"{side[:7]}.{{}}.self_attention.weights",
        )
    if layer is not None:
        layer = check_place(layer, len(layers), "layer")
        layers = layers[layer : layer + 1]
    blocks = [trace[name.format(number)] for number in layers]
    place = f"layer {layers[0]}" if layer is not None else "the mean of all layers"
    if head is None:
        mean = np.mean([mean_over_heads(block) for block in blocks], 0)
        return mean, f"{place} and all heads (derived)"
    head = check_place(head, len(blocks[0]), "head")
    own = "" if layer is None else name.format(layers[0]).removesuffix(".weights")
    habit = tell_habit(trace.document.habits, own, head)
    place += f", head {head}" + (f": {habit}" if habit else "")
    return np.mean([block[head] for block in blocks], 0), place


def tell_comparison(effect: EditEffect, k: int = 12) -> str:
    """Return as text what an edit changed.

    It has both translations, the probability of each token before and after, and the `k` tensors
    that changed most.
    """
    lines = [f"before  {effect.before.translation}", f"after   {effect.after.translation}", ""]
    lines += _tell_readings(effect)
    lines.append("the translation before, token by token: probability before and after")
    for change in effect.changes:
        instead = f"   now {_tell_token(change.instead)}" if change.instead != change.token else ""
        shares = f"{change.before:7.2%} -> {change.after:7.2%}"
        lines.append(f"  {_pad(_tell_token(change.token), 12)} {shares}{instead}")
    moved = [(name, size) for name, size in effect.differences.items() if size]
    lines += ["", f"{len(moved)} of {len(effect.differences)} tensors moved; the most:"]
    moved.sort(key=lambda pair: -pair[1])
    return "\n".join([*lines, *(f"  {name} by {size:.4g}" for name, size in moved[:k])])


def _tell_readings(effect: EditEffect) -> Iterator[str]:
    """Yield for each word that was cut: who read it most, and what is read instead."""
    readings = effect.readings
    if readings and effect.before.translation == effect.after.translation:
        yield "the translation is the same: the network did not need what was cut"
    for each in readings:
        share, now = f"{each.share:.0%} of its attention", f"{each.instead_after:.0%}"
        yield f"cut {each.cut!r}: {each.word!r} read it most, with {share};"
        yield f"  {each.instead!r} now has {now}, before {each.instead_before:.0%}"
        yield f"  p({each.word!r}) {each.before:.2%} -> {each.after:.2%}"
    if readings:
        yield ""


def tell_cell(explanation: Explanation) -> str:
    """Return the explanation of a number, and the chain from it down to a token or a position."""
    way = [
        f"  {step.name}[{','.join(map(str, step.index))}] = {step.value:.6g}"
        for step in explanation.chain[1:]
    ]
    down = ["", "by its largest terms it goes back to", *way] if way else []
    return "\n".join([explanation.to_text(), *down])


def _tell_token(text: str) -> str:
    """Return a token with its leading space, and what else cannot be seen, made visible."""
    return name_invisible(text.replace(" ", "▁", 1) if text.startswith(" ") else text)


def _pad(text: str, width: int) -> str:
    """Return a text padded to `width` columns of a terminal; a Chinese character takes two."""
    return text + " " * (width - cell_len(text))


def _percent(log_prob: float) -> str:
    return f"{math.exp(log_prob):.1%}"


def tell_in_html(trace: RecordedTensors, k: int = 3) -> str:
    """Return HTML: the translation, alternatives at each step, and a Transformer's attention."""
    rows = "".join(_tell_step(trace, step, k) for step in range(len(trace.predicted)))
    head = "".join(f'<th style="text-align:left">{name}</th>' for name in COLUMNS)
    drawn = "" if trace.settings.network != "transformer" else _tell_attention(trace)
    whole = ""
    if sentence := tell_sentence(trace):
        whole = f"<p><bdi>{escape(trace.whole_translation)}</bdi></p><p>{escape(sentence)}</p>"
    return (
        f"{whole}<p><bdi>{escape(trace.text)}</bdi> "
        f"→ <b><bdi>{escape(trace.translation)}</bdi></b></p>"
        f"{drawn}<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    )


def _tell_attention(trace: RecordedTensors) -> str:
    draw = find_addition("frame_threads")
    return str(draw(trace)) if draw else ""


def _tell_step(trace: RecordedTensors, step: int, k: int) -> str:
    written = trace.predicted[step]
    others = [each for each in trace.top(step, k + 1) if each.id != written.id][:k]
    text = ", ".join(f"{each.text.strip()} {math.exp(each.log_prob):.1%}" for each in others)
    own = f"{math.exp(trace.predictions[step].log_prob):.1%}"
    cells = (trace.target[step].text.strip(), written.text.strip(), own, text)
    shown = map(escape, map(name_invisible, cells))
    columns = "".join(f'<td style="text-align:left">{each}</td>' for each in shown)
    return f"<tr>{columns}</tr>"
