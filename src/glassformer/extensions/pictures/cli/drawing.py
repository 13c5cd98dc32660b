"""Pictures of a recording, for --picture, --gallery, --slides, --film of `glassformer see`."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glassformer.cli.terminal import show_progress, warn

if TYPE_CHECKING:
    from glassformer.see import Trace


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
    from ..pictures import PICTURES, make_scene

    lang, model = settings["lang"] or "en", str(settings["model"])
    if settings["gallery"] is not None:
        with show_progress("drawing", len(PICTURES)) as tell:
            result = gallery(
                trace, settings["gallery"], lang=lang, model=model, progress=lambda id: tell(1)
            )
        warn(f"{len(result) - 1} files and {result[-1]}")
    if settings["slides"] is not None:
        from ..slides import BEST, write_slides

        with show_progress("drawing", len(BEST)) as tell:
            count = write_slides(
                trace, settings["slides"], lang=lang, model=model, progress=lambda id: tell(1)
            )
        warn(f"{count} slides in {settings['slides']}")
    if settings["film"] is not None:
        from ..film import REEL, write_film

        with show_progress("filming", len(REEL)) as tell:
            path = write_film(trace, settings["film"], lang=lang, progress=lambda id: tell(1))
        warn(f"{path}")
    if settings["picture"] is not None:
        out = settings["output"] or Path(f"{settings['picture']}.svg")
        names = ("layer", "head", "query", "lang", "cell")
        asked = {name: settings[name] for name in names if settings[name] is not None}
        asked |= read_picture_options(settings["picture"], settings["option"] or ())
        save_scene(make_scene(trace, settings["picture"], **asked), out)
        warn(f"{out}")


def read_picture_options(id: str, inputs: Sequence[str]) -> dict[str, Any]:
    """Return the options of a picture from texts like `subject=rate`.

    Raise ValueError, naming the options that there are, for any other text.
    """
    from ..parts.options import KINDS, read_option
    from ..pictures import PICTURES

    picture_options = {}
    for each in inputs:
        name, equals, text = each.partition("=")
        own = (
            [known for known in PICTURES[id].options if known in KINDS]
            if id in PICTURES
            else [name]
        )
        if not equals or name not in own:
            raise ValueError(
                f"--option {each}: {id} has the options {', '.join(own)}, as {own[0]}=..."
            )
        picture_options[name] = read_option(id, name, text)
    return picture_options
