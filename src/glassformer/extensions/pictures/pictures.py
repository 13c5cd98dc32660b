"""The table of all pictures by number, `pictures.toml`: title, function, and what that needs."""

from __future__ import annotations

import inspect
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cached_property, partial
from importlib import import_module
from importlib.resources import files
from typing import Any, Literal

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from glassformer.config import Model

from .parts.animate import Animation
from .parts.options import check_options
from .parts.render import render_scene
from .parts.scene import Scene

Needs = Literal["", "states", "everything", "search", "watch"]
Network = Literal["transformer", "rnn", "decoder", "encoder", "any"]


@dataclass(frozen=True)
class Picture:
    """A picture: its number, its titles, the function that makes its scene, and what that needs.

    draw: a function of this package, with options of its own. needs: the level of the recording
    ("states", "everything"), a "search", or the "watch" folder of a training. network: the kind
    that it shows; of "any", none is shown. masked: whether it shows the decoder's self-attention.
    """

    id: str
    en: str
    zh: str
    draw: str
    given: Mapping[str, Any] = field(default_factory=dict)
    moves: bool = False
    needs: Needs = "everything"
    network: Network = "transformer"
    masked: bool = False

    def title(self, lang: str = "en") -> str:
        return self.zh if lang == "zh" else self.en

    @property
    def kind(self) -> Literal["still", "animated"]:
        return "animated" if self.moves else "still"

    @cached_property
    def scene(self) -> Callable[..., Scene]:
        """Return the function of a recording; its module is imported when it is asked for."""
        module, _, name = self.draw.rpartition(".")
        function = getattr(import_module(f".{module}", __package__), name)
        return partial(function, **self.given) if self.given else function

    @property
    def options(self) -> tuple[str, ...]:
        """Return the names of the options of the picture, such as layer and head."""
        return tuple(inspect.signature(self.scene).parameters)[1:]


def _read_table() -> tuple[dict[str, dict[str, Picture]], dict[str, list[str]]]:
    """Return the pictures of each kind of network, by their numbers, and what they rely on."""
    text = tomllib.loads((files(__package__) / "pictures.toml").read_text(encoding="utf-8"))
    also, masked, usual = text.pop("also"), text.pop("masked")["transformer"], text.pop("usual")
    table = {
        network: {id: Picture(id, **{"network": network, **each}) for id, each in lines.items()}
        for network, lines in text.items()
    }
    for id in masked:
        table["transformer"][id] = replace(table["transformer"][id], masked=True)
    for network, ids in also.items():
        for each in map(table["transformer"].__getitem__, ids):
            fields = {**each.given, **({"side": network} if each.id in SIDED else {})}
            table[network][each.id] = replace(each, given=fields, network=network)
    return table, usual


# Pictures of one attention or layer, which have the option side.
SIDED = {"V40", "V49", "V50", "V51", "V53", "V63", "V64", "V65", "V66", "V67", "V68", "V69", "V71"}
# Pictures of a recurrent encoder whose last row is the state in which it ends.
FORWARD = {"V02", "V95", "V96", "V97"}
_TABLE, _USUAL = _read_table()
PICTURES: Mapping[str, Picture] = {
    id: next(lines[id] for lines in _TABLE.values() if id in lines)
    for id in sorted({id for lines in _TABLE.values() for id in lines}, key=lambda id: int(id[1:]))
}
NAMES = {
    "transformer": "a Transformer",
    "rnn": "a recurrent network",
    "decoder": "a decoder alone",
    "encoder": "an encoder alone",
}


def list_pictures(network: str = "transformer") -> list[Picture]:
    """Return the pictures that can be drawn of this kind of network, by their numbers."""
    pictures = (find_picture(id, network) for id in PICTURES)
    return [picture for picture in pictures if picture.network in (network, "any")]


def find_picture(id: str, network: str = "transformer") -> Picture:
    """Return a picture by its number, written as V49, v49, V7 or 7; of two, that of the network.

    Raise ValueError, naming the nearest number, if there is none.
    """
    number = re.fullmatch(r"[vV]?0*(\d{1,3})", id)
    name = f"V{int(number[1]):02}" if number else id.upper()
    if name not in PICTURES:
        near = get_close_matches(name, PICTURES, 1, 0.0)[0]
        if number:
            near = min(PICTURES, key=lambda each: abs(int(each[1:]) - int(number[1])))
        raise ValueError(f"there is no picture {id or '“”'}; did you mean {near}?")
    return _TABLE.get(network, {}).get(name, PICTURES[name])


def make_scene(trace: Any, id: str, **options: Any) -> Scene:
    """Return one picture of a recording; options are those of its function: layer, head, lang.

    Raise ValueError for a picture of another kind of network, an option that the picture does not
    have, or a value that does not fit: see module `options`.
    """
    network = trace.settings.network
    picture = find_picture(id, network)
    check_options(picture.id, picture.scene, options)
    if picture.network not in (network, "any"):
        raise ValueError(
            f"{picture.id} shows {NAMES[picture.network]}, but this is {NAMES[network]}"
        )
    if (lacking := trace.settings.lacking) and picture.needs in ("states", "everything"):
        raise ValueError(
            f"{picture.id} shows position vectors and feed-forward networks, of which a network "
            f"with {lacking} has not all: look inside it with `trace[NAME]` and `trace.explain`"
        )
    if picture.masked and trace.settings.decoder == "ssru":
        raise ValueError(
            f"{picture.id} shows the decoder's self-attention, in whose place a network with "
            "decoder=ssru has a recurrent unit: look at `trace['decoder.0.ssru.cell']`"
        )
    if network == "rnn" and trace.settings.rnn.bidirectional and picture.id in FORWARD:
        raise ValueError(
            f"{picture.id} shows an encoder that reads forwards only, but this one reads both ways "
            "(rnn.bidirectional=true): look inside it with `trace[NAME]`"
        )
    if unusual := _find_unusual(trace.settings, picture.id):
        raise ValueError(
            f"{picture.id} shows equations that do not hold with {unusual}: look inside the "
            "network with `trace[NAME]` and `trace.explain`"
        )
    return picture.scene(trace, **options)


def _find_unusual(settings: Model, id: str) -> str:
    """Return the setting, as `name=value`, with which a picture would be wrong; or ""."""
    variations = {each.partition("=")[0]: each.lower() for each in settings.list_variations()}
    variations.pop("ablate", None)
    variations |= {each: each for each in (f"ablate={part}" for part in settings.ablate)}
    equations = set().union(*_USUAL.values())
    return next((x for name, x in variations.items() if id in _USUAL.get(name, equations)), "")


def draw(trace: Any, id: str, *, ax: Axes | None = None, **options: Any) -> Figure | Animation:
    """Draw one picture with matplotlib, as a figure of its own or on axes; see `make_scene`."""
    return render_scene(make_scene(trace, id, **options), ax)
