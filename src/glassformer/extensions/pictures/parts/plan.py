"""The plan of one figure: its words, its numbers, and the page around what it shows."""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, wraps
from importlib.resources import files
from typing import Any, Concatenate, ParamSpec, TypeVar, Unpack

import numpy as np

from glassformer.see.habits import tell_habit

from . import style
from .fonts import check_language
from .links import Callout, Link
from .nodes import (
    Across,
    Bar,
    Down,
    Label,
    Node,
    Numeral,
    Panel,
    Part,
    Pillar,
    Ramp,
    Sheet,
    Spacer,
    Strip,
    small,
    tiny,
)
from .plot import Curve, Plot, PlotLook
from .quantity import Array, Quantity
from .scene import Area, Scene, bound
from .selection import Attention, elide, find_attention, tell_tokens, tell_tokens_left_out
from .typesetting import quote
from .ways import clear_ways


@cache
def read_figure_words() -> dict[str, dict[str, dict[str, str]]]:
    """Return the words of all figures, by figure and key, in English and Chinese."""
    return tomllib.loads((files(__package__) / "figures.toml").read_text(encoding="utf-8"))


Rest = ParamSpec("Rest")
Made = TypeVar("Made", bound=Node)


def _take_key(
    make: Callable[Concatenate[str, Rest], Made],
) -> Callable[Concatenate[Outline, str, Rest], Made]:
    """Return the maker of a label as a method of an outline that takes the key of the text."""

    def build(plan: Outline, key: str, /, *args: Rest.args, **look: Rest.kwargs) -> Made:
        return make(plan.say(key), *args, **look)

    return build


def _take_expression(
    make: Callable[Concatenate[Quantity, Rest], Made],
) -> Callable[Concatenate[Outline, str, Rest], Made]:
    """Return the maker of a node as a method of an outline that takes an expression."""

    def build(plan: Outline, expression: str, /, *args: Rest.args, **look: Rest.kwargs) -> Made:
        return make(plan.of(expression), *args, **look)

    return build


class Outline:
    """A figure that is being made: `say` finds its words, `of` its numbers, `compose` its page."""

    def __init__(self, name: str, trace: Any, lang: str):
        check_language(lang)
        self.name, self.trace, self.lang, self.settings = name, trace, lang, trace.settings
        self.source, self.target, self.predicted = (
            tell_tokens(tokens) for tokens in (trace.source, trace.target, trace.predicted)
        )
        self.data: dict[str, Array] = {}
        self.facts: dict[str, Any] = {}  # that fill in the texts around the figure
        self.block = ""  # whose heads they name

    def say(self, key: str, /, **values: Any) -> str:
        """Return a text of the table in the language of the figure, with its values filled in."""
        table = read_figure_words()
        entry = table[self.name].get(key) or table["all"][key]
        if "{habit}" in entry[self.lang]:
            habit = self.tell_habit(self.block, values["head"])
            values["habit"] = self.say("habit_of_head", read=habit) if habit else ""
        text = entry[self.lang]
        if self.settings.normalization == "rms":
            text = text.replace("LayerNorm", "RMSNorm")
        return text.format_map(values)

    def tell_habit(self, block: str, head: int) -> str:
        """Return what a head reads most over many sentences, in words; "" if that is not known."""
        document = getattr(self.trace, "document", None)
        return tell_habit(document.habits, block, head, self.lang) if document else ""

    def has(self, key: str) -> bool:
        """Return whether the figure has a text of its own by this key."""
        return key in read_figure_words()[self.name]

    def _tell(self, text: str, facts: Mapping[str, Any]) -> str:
        """Return the text of a key of this figure, or the text itself if it is none."""
        table = read_figure_words()
        known = text in table[self.name] or (text in table["all"] and text != "note")
        return self.say(text, **{**self.facts, **facts}) if known else text.removesuffix("note")

    def of(self, expression: str) -> Quantity:
        """Return an expression over the recording; small letters that are free are its axes."""
        return Quantity(expression, self.fetch)

    def give(self, name: str, values: Any) -> Quantity:
        """Add an array that is not in the recording, and return it; its axes are i, j, k."""
        self.data[name] = np.atleast_1d(np.asarray(values, dtype=float))
        letters = ",".join("ijk"[: np.ndim(values)])
        return self.of(f"{name}[{letters or 0}]")

    def give_sure(self) -> Quantity:
        """Add how probable each token was that was written, and return it."""
        return self.give("probability", np.exp([each.log_prob for each in self.trace.predictions]))

    def elide(
        self, count: int, most: int, rows: list[Node], captions: list[str]
    ) -> Iterator[tuple[int, int]]:
        """Yield steps of an animation and the numbers that are drawn in them.

        Where numbers are left out, it adds a row of dots with a caption.
        """
        for n in elide(count, most):
            step = len(captions) + 1
            if n is not None:
                yield step, n
                continue
            rows.append(Label("⋮", ink=style.SOFT).at(step))
            captions.append(self.say("and_so_on"))

    def attention(self, side: str, layer: int, kind: str = "self_attention") -> Attention:
        """Return an attention of the network; the note can tell where it is."""
        attention = find_attention(self.trace, side, layer, kind)
        self.facts["where"] = attention.title(self.lang)
        self.block = attention.name
        return attention

    # Each takes the key of a text, and what else the maker of the label takes.
    label, small, tiny = _take_key(Label), _take_key(small), _take_key(tiny)

    def heads(self, *keys: str) -> list[Part]:
        """Return the heads of columns, small; none over a column whose key is empty."""
        return [self.small(key) if key else None for key in keys]

    # Each takes an expression in place of the quantity that the node shows.
    strip, panel = _take_expression(Strip), _take_expression(Panel)
    number, bar, pillar = _take_expression(Numeral), _take_expression(Bar), _take_expression(Pillar)

    def plot(self, curves: Sequence[Curve], across: str, up: str, **look: Unpack[PlotLook]) -> Plot:
        """Return curves over axes that two keys of the table name."""
        return Plot(curves, across=self.say(across), up=self.say(up), **look)

    def fetch(self, name: str) -> Array:
        return self.data[name] if name in self.data else np.asarray(self.trace[name])

    def compose(
        self,
        body: Node,
        *,
        title: str = "title",
        note: str = "note",
        links: Sequence[Link] = (),
        callouts: Sequence[Callout] = (),
        captions: Sequence[str] = (),
        origin: str = "",
        left: tuple[int, int] | None = None,
        **facts: Any,
    ) -> Scene:
        """Return the scene: topic, finding, what is shown, a note, and where it is from.

        Title, note, origin and callouts are keys of the table, filled in with `facts`, or texts.
        origin: what the figure is of, if it is not of the recording. left: how many tokens are
        drawn, of how many; the note says so.
        """
        title, note, origin = (self._tell(text, facts) for text in (title, note, origin))
        note = (
            note[:1].upper() + note[1:] + (tell_tokens_left_out(self.lang, *left) if left else "")
        )
        if not origin and (count := len(self.trace.sentences)) > 1:
            note += self.say("part", n=self.trace.sentence + 1, count=count)
        callouts = [replace(each, text=self._tell(each.text, facts)) for each in callouts]
        drawn = Sheet()
        body.place(drawn, 0.0, 0.0)
        for link in links:
            link.draw(drawn)
        for callout in callouts:
            callout.draw(drawn)
        own = Area(0.0, 0.0, body.width, body.height)
        area = bound([own, *(mark.area for mark in drawn.marks)])
        widest = style.WIDEST - 2 * style.MARGIN
        factor = min(1.0, widest / area.width)
        width = max(style.NARROWEST - 2 * style.MARGIN, area.width * factor)
        head = Down(
            Label(self.say("topic"), style.SMALL, style.TOPIC, bold=True),
            Label(title, style.TITLE, bold=True, width=width, balanced=True),
            gap=3,
        )
        sheet = Sheet()
        head.place(sheet, style.MARGIN, style.MARGIN - 6)
        sheet.marks = [replace(mark, id="head") for mark in sheet.marks]
        key = _show_scales(drawn)
        keys = Sheet()
        key.place(keys, style.MARGIN + width - key.width, style.MARGIN - 6)
        sheet.marks += [replace(mark, id="scale") for mark in keys.marks]
        top = style.MARGIN - 6 + head.height + style.APART
        edge = style.MARGIN + (width - area.width * factor) / 2
        for mark in drawn.marks:
            sheet.marks.append(mark.shift(edge - area.x * factor, top - area.y * factor, factor))
        y = top + area.height * factor + style.APART
        high = self._write_note(sheet, note, captions, y, width)
        foot = self._write_foot(width, origin)
        feet = Sheet()
        foot.place(feet, style.MARGIN, y + high)
        sheet.marks += [replace(mark, id="foot") for mark in feet.marks]
        texts = [
            end_sentence(each, self.lang) for each in (note, *(c.text for c in callouts)) if each
        ]
        return Scene(
            id="",
            lang=self.lang,
            title=title.replace("$", ""),
            description=" ".join(texts).replace("$", ""),
            width=width + 2 * style.MARGIN,
            height=y + high + foot.height + style.MARGIN * 0.6,
            marks=clear_ways(sheet.marks),
            captions=tuple(captions),
            caption_at=(style.MARGIN, y),
            data=self.data,
        )

    def _write_note(
        self, sheet: Sheet, note: str, captions: Sequence[str], y: float, width: float
    ) -> float:
        """Write the note; return its height, or that of the longest caption, which replaces it."""
        notes = Sheet()
        label = Label(note, style.SMALL, style.SOFT, width=width)
        label.place(notes, style.MARGIN, y)
        sheet.marks += [replace(mark, id="note") for mark in notes.marks if note]
        heights = [Label(text, style.BODY, width=width).height for text in captions]
        highest = max([label.height if note else 0.0, *heights])
        return highest + style.CLOSE if highest else 0.0

    def _write_foot(self, width: float, origin: str) -> Node:
        """Return the line that says of which model and sentence the figure is."""
        own = Label("glassformer", style.TINY, style.SOFT, bold=True)
        which = origin or self._name_recording()
        room = width - own.width - style.APART
        left = Label(which, style.TINY, style.SOFT, fit=room)
        return Across(left, Spacer(width - left.width - own.width - 2 * style.CLOSE), own)

    def _name_recording(self) -> str:
        encoder, decoder = self.settings.encoder_layers, self.settings.decoder_layers
        size = f"{encoder}+{decoder}" if encoder and decoder else f"{encoder or decoder}"
        which = (
            f"{self.say('which', size=size, d=self.settings.d_model)} · “{quote(self.trace.text)}”"
        )
        return f"{which} → “{quote(self.trace.translation)}”" if encoder and decoder else which


def end_sentence(text: str, lang: str) -> str:
    """Return the text with a capital letter and a full stop, so that another may follow it."""
    ended = text.rstrip().endswith((".", "!", "?", "…", "。", "！", "？"))
    return text[:1].upper() + text[1:] + ("" if ended else "。" if lang == "zh" else ".")


def _show_scales(drawn: Sheet) -> Node:
    """Return the colours of all scales by which numbers are drawn that are not printed."""
    names = dict.fromkeys(name for name, _ in drawn.scales)
    ramps = (Ramp(name, [each for own, each in drawn.scales if own == name]) for name in names)
    return Across(*ramps, gap=14)


Maker = Callable[..., Scene]


def figure(name: str) -> Callable[[Maker], Maker]:
    """Turn a function of an outline into one of a recording and a language; both return a scene."""

    def decorate(make: Maker) -> Maker:
        @wraps(make)
        def build(trace: Any, *, lang: str = "en", **options: Any) -> Scene:
            return make(Outline(name, trace, lang), **options)

        own = list(inspect.signature(build, follow_wrapped=False).parameters.values())[:2]
        taken = list(inspect.signature(make).parameters.values())[1:]
        build.__signature__ = inspect.Signature([*own, *taken])  # type: ignore[attr-defined]
        return build

    return decorate
