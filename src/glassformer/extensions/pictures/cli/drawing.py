"""Pictures of a recording, for --picture, --gallery, --slides, --film of `glassformer see`."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glassformer.cli.terminal import show_progress, warn

if TYPE_CHECKING:
    from glassformer.see import Trace

    from ..pictures import Picture

RECORDED = {"sentence", "edit", "target", "prefix", "hypothesis", "seed", "plugin"}


def draw_what_is_wanted(trace: Trace, options: dict[str, Any]) -> None:
    """Write the picture or the folder of pictures, print its path, and pass on the warnings.

    Characters that no font has are collected in a single warning.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        _draw(trace, options)
    from ..parts.fonts import MissingFont

    texts = [each.message for each in caught]
    missing = [each.characters for each in texts if isinstance(each, MissingFont)]
    others = (str(each) for each in texts if not isinstance(each, MissingFont))
    if missing:
        warn(str(MissingFont(dict.fromkeys(chain.from_iterable(missing)))))
    for message in dict.fromkeys(others):
        warn(message)


def _draw(trace: Trace, settings: dict[str, Any]) -> None:
    from ..gallery import gallery
    from ..parts.render import save_scene
    from ..pictures import PICTURES, find_picture, make_scene

    lang, model = settings["lang"] or "en", str(settings["model"])
    typed = spell_recording(settings)
    if settings["gallery"] is not None:
        with show_progress("drawing", len(PICTURES)) as tell:
            result = gallery(
                trace,
                settings["gallery"],
                lang=lang,
                model=model,
                typed=typed,
                progress=lambda id: tell(1),
            )
        warn(f"{len(result) - 1} files and {result[-1]}")
    if settings["slides"] is not None:
        from ..slides import BEST, write_slides

        with show_progress("drawing", len(BEST)) as tell:
            count = write_slides(
                trace,
                settings["slides"],
                lang=lang,
                model=model,
                typed=typed,
                progress=lambda id: tell(1),
            )
        warn(f"{count} slides in {settings['slides']}")
    if settings["film"] is not None:
        from ..film import REEL, write_film

        with show_progress("filming", len(REEL)) as tell:
            path = write_film(trace, settings["film"], lang=lang, progress=lambda id: tell(1))
        warn(f"{path}")
    if settings["picture"] is not None:
        picture = find_picture(settings["picture"], trace.settings.network)
        out = settings["output"] or Path(f"{picture.id}.svg")
        names = ("layer", "head", "query", "lang", "cell")
        asked = {name: settings[name] for name in names if settings[name] is not None}
        asked |= read_picture_options(picture, settings["option"] or ())
        save_scene(make_scene(trace, picture.id, **asked), out)
        warn(f"{out}")


def read_picture_options(picture: Picture, inputs: Sequence[str]) -> dict[str, Any]:
    """Return the options of a picture from texts like `subject=rate`.

    Raise ValueError, naming the options that there are, for any other text.
    """
    from ..parts.options import KINDS, read_option

    id, picture_options = picture.id, {}
    own = [name for name in picture.options if name in KINDS]
    for each in inputs:
        name, equals, text = each.partition("=")
        if not equals or name not in own:
            raise ValueError(
                f"--option {each}: {id} has the options {', '.join(own)}, as {own[0]}=..."
            )
        picture_options[name] = read_option(id, name, text)
    return picture_options


def spell_recording(settings: Mapping[str, Any]) -> list[str]:
    """Return the text and the options with which a recording was made, as they are typed."""
    from glassformer.cli.settings import read_settings

    search = {each.name for key, each in read_settings().items() if key.startswith("decode.")}
    typed = [] if settings["text"] is None else [settings["text"]]
    for name in (each for each in settings if each in RECORDED or each in search):
        values = settings[name]
        for value in values if isinstance(values, (list, tuple)) else [values]:
            option = "--" + "no-" * (value is False) + name.replace("_", "-")
            if value is not None:
                typed += [option] if isinstance(value, bool) else [option, str(value)]
    return typed
