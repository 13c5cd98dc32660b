"""Threads of a recording that can be cut in a notebook: HTML without scripts, in a frame.

What each cut gives is computed when the frame is made, so that it works without a connection and
without Python.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from html import escape
from typing import NamedTuple

from glassformer.see.trace import Trace
from glassformer.text.spacing import word_pattern

from .threads import ROW, draw_threads, locate_words

MOST = 24  # words of a sentence whose cuts are computed: each takes as long as a translation
STYLE = """
body { margin: 0; padding: 8px; font: 15px system-ui, sans-serif; background: #fff; color: #222 }
fieldset { border: 0; margin: 0; padding: 0; min-width: 0 }
input { position: fixed; top: 0; left: 0; opacity: 0 }
label { display: inline-block; padding: 2px 7px; margin: 0 3px 4px 0; border: 1px solid #bbb;
  border-radius: 6px; cursor: pointer }
:checked + label { background: #5a2e91; color: #fff; border-color: #5a2e91 }
:focus-visible + label { outline: 3px solid #e07a00 }
section { display: none }
svg { display: block; width: 340px }
svg text { font-size: 14px } svg path { fill: none; stroke: #7a53b3 }
svg .cut { text-decoration: line-through; fill: #b00020 }
svg .fresh { font-weight: 700; fill: #b00020 }
"""
AROUND = 190  # pixels above and below the threads


class CutPanel(NamedTuple):
    """A panel of the frame: a recording, the source word that is not read, and what changed."""

    label: str
    trace: Trace
    place: int = -1
    fresh: tuple[int, ...] = ()
    caption: str = ""


def frame_threads(trace: Trace) -> str:
    """Return a frame for a notebook with the threads of a recording; a click cuts a word.

    Without its model (read from disk), or if it is edited or long, its threads are only shown.
    """
    panels = [
        CutPanel("whole", trace, caption="Which source word each word reads."),
        *_cut_each(trace),
    ]
    shown = "".join(f"#c{n}:checked ~ .p{n} {{ display: block }}\n" for n in range(len(panels)))
    choices = "".join(
        f'<input type="radio" name="cut" id="c{n}"{" checked" * (not n)}>'
        f'<label for="c{n}">{escape(panel.label)}</label>'
        for n, panel in enumerate(panels)
    )
    sections = "".join(_lay_out(n, panel) for n, panel in enumerate(panels))
    page = (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>Threads</title>'
        f"<style>{STYLE}{shown}</style><fieldset><legend>What if a word could not be read?</legend>"
        f"{choices}{sections}</fieldset></html>"
    )
    rows = max(len(side) for panel in panels for side in _list_sides(panel.trace))
    return (
        f'<iframe srcdoc="{escape(page)}" sandbox="" width="100%" height="{ROW * rows + AROUND}" '
        'title="Threads between the words, to be cut" style="border:0"></iframe>'
    )


def _list_sides(trace: Trace) -> tuple[list[str], list[str]]:
    """Return the words of the source, and those of the translation."""
    source = locate_words(trace.source, trace.text)
    target = locate_words(trace.predicted, trace.translation)
    return [word for _, word in source], [word for _, word in target]


def _cut_each(trace: Trace) -> Iterator[CutPanel]:
    """Yield what the model says without each word."""
    words = locate_words(trace.source, trace.text)
    _, translated = _list_sides(trace)
    if trace.record_cut is None or len(words) > MOST:
        return
    for place, (tokens, word) in enumerate(words):
        if not any(map(str.isalnum, word)):
            continue
        start = trace.text.index(word, trace.source[tokens[0]].start)
        starts = [match.start() for match in word_pattern(word).finditer(trace.text)]
        if start in starts:  # else it is within what is a word for a cut
            other = trace.record_cut(word, starts.index(start))
            changes = list(_list_changes(translated, _list_sides(other)[1]))
            caption = ", ".join(f"{was or '∅'} → {now or '∅'}" for was, now, _ in changes)
            fresh = tuple(n for *_, places in changes for n in places)
            caption = f"Without “{word}”: {caption or 'the same translation'}"
            yield CutPanel(f"✂ {word}", other, place, fresh, caption)


def _list_changes(before: Sequence[str], now: Sequence[str]) -> Iterator[tuple[str, str, range]]:
    """Yield what was said, what is said in its place, and where."""
    matcher = SequenceMatcher(None, before, now, autojunk=False)
    for kind, *(i, j, k, n) in matcher.get_opcodes():
        if kind != "equal":
            yield " ".join(before[i:j]), " ".join(now[k:n]), range(k, n)


def _lay_out(number: int, panel: CutPanel) -> str:
    svg = draw_threads(panel.trace, panel.place, panel.fresh)
    translated = f"<b>{escape(panel.trace.translation)}</b>"
    return (
        f'<section class="p{number}"><p>{translated}<br>{escape(panel.caption)}</p>{svg}</section>'
    )
