"""A page with models in it: the app, the network and the weights in one file, without a server.

The network runs in a worker of the page; what it runs on is written by `portable`. If the app was
built with the engine in C, the page has it too, for drafts of translations.
"""

from collections.abc import Sequence
from html import escape
from pathlib import Path

from glassformer.extensions.serve.page import STATIC, assemble_page, spell_data
from glassformer.foundation.version import __version__

from .portable import BITS, describe_for_page, pack_model
from .text_bytes import pack_parts, spell_letters

# The ids of elements, where the app finds them: its models, each of them, and the engine.
LIST, MODEL, COMPILED = "models", "model:", "engine"
WASM = STATIC / "engine.wasm"
POLICY = "; worker-src blob:"
LENGTH = 8  # bytes of a safetensors file that say how long its head is


def build_living_page(
    models: Sequence[Path | str], *, site: bool = False, bits: int = max(BITS)
) -> str:
    """Return the HTML of a page in which these models translate; the first is shown first.

    site: it is one of the pages of a site. bits: of a weight, 8 or 4. Raises ValueError if one is
    no model directory, if two have one name, or if the app is not built.
    """
    if bits not in BITS:
        raise ValueError(f"bits={bits}: one of {', '.join(map(str, BITS))}")
    described = [describe_for_page(model) for model in models]
    names = [each["id"] for each in described]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"two models are called {name}: rename the folder of one")
    carried = [spell_data(LIST, {"version": __version__, "models": described})]
    for name, model in zip(names, models, strict=True):
        file = pack_model(model, bits)
        head = LENGTH + int.from_bytes(file[:LENGTH], "little")
        carried.append(_spell_bytes(f"{MODEL}{name}", file, head))
    compiled = WASM.read_bytes() if WASM.is_file() else b""
    if compiled:
        carried.append(_spell_bytes(COMPILED, compiled))
    return assemble_page("".join(carried), POLICY, site=site, wasm=bool(compiled), packed=True)


def _spell_bytes(place: str, data: bytes, words: int | None = None) -> str:
    """Return the element with this id that holds bytes, packed; the first `words` are not numbers.

    words: None: all of them.
    """
    end = len(data) if words is None else words
    letters = spell_letters(pack_parts(data[:end], data[end:]))
    return f'<script type="application/octet-stream" id="{escape(place)}">{letters}</script>\n'
