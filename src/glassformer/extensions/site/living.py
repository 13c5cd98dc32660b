"""A page with models in it: the app, the network and the weights in one file, without a server.

The network runs in a worker of the page; what it runs on is written by `portable`. If the app was
built with the engine in C, the page has it too, for drafts of translations.
"""

import zlib
from base64 import b64encode
from collections.abc import Sequence
from html import escape
from pathlib import Path

from glassformer.extensions.serve.page import STATIC, assemble_page, spell_data
from glassformer.foundation.version import __version__

from .portable import BITS, describe_for_page, pack_model

# The ids of elements, where the app finds them: its models, each of them, and the engine.
LIST, MODEL, COMPILED = "models", "model:", "engine"
WASM = STATIC / "engine.wasm"
POLICY = "; worker-src blob:"
GZIP = 31  # asks zlib for a window of 32 KiB, and for the head of a gzip file


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
        carried.append(_spell_bytes(f"{MODEL}{name}", pack_model(model, bits)))
    compiled = WASM.read_bytes() if WASM.is_file() else b""
    if compiled:
        carried.append(_spell_bytes(COMPILED, compiled))
    return assemble_page("".join(carried), POLICY, site=site, wasm=bool(compiled))


def _spell_bytes(place: str, data: bytes) -> str:
    """Return the element with this id that holds bytes, as base64 of gzip."""
    gzip = zlib.compressobj(
        9, zlib.DEFLATED, GZIP, strategy=zlib.Z_FILTERED
    )  # weights hardly repeat
    packed = b64encode(gzip.compress(data) + gzip.flush()).decode("ascii")
    return f'<script type="application/octet-stream" id="{escape(place)}">{packed}</script>\n'
