"""The display of a recording in a notebook: plain HTML without scripts or downloads."""

from __future__ import annotations

import math
from base64 import b64encode
from html import escape

from .summary import tell_sentence
from .trace import Trace

COLUMNS = ("reads", "writes", "which had", "or else")


def show_in_notebook(trace: Trace, k: int = 3) -> str:
    """Return HTML: the translation, alternatives at each step, and a Transformer's attention."""
    rows = "".join(_show_step(trace, step, k) for step in range(len(trace.predicted)))
    head = "".join(f'<th style="text-align:left">{name}</th>' for name in COLUMNS)
    drawn = "" if trace.settings.network != "transformer" else _show_attention(trace)
    whole = ""
    if told := tell_sentence(trace):
        whole = f"<p><bdi>{escape(trace.whole_translation)}</bdi></p><p>{escape(told)}</p>"
    return (
        f"{whole}<p><bdi>{escape(trace.text)}</bdi> "
        f"→ <b><bdi>{escape(trace.translation)}</bdi></b></p>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{drawn}"
    )


def _show_attention(trace: Trace) -> str:
    png = b64encode(trace.picture("V54")._repr_png_()).decode("ascii")
    return (
        f'<img alt="Which source word each target word reads" style="max-width:30rem" '
        f'src="data:image/png;base64,{png}">'
    )


def _show_step(trace: Trace, step: int, k: int) -> str:
    written = trace.predicted[step]
    others = [each for each in trace.top(step, k + 1) if each.id != written.id][:k]
    told = ", ".join(f"{each.text.strip()} {math.exp(each.log_prob):.1%}" for each in others)
    own = f"{math.exp(trace.predictions[step].log_prob):.1%}"
    cells = (trace.target[step].text.strip(), written.text.strip(), own, told)
    columns = "".join(f'<td style="text-align:left">{escape(each)}</td>' for each in cells)
    return f"<tr>{columns}</tr>"
