"""A page with models in it: the app, the network and the weights in one file, without a server.

The network runs in a worker of the page; what it runs on is written by `portable`. If the app was
built with the engine in C, the page has it too, for drafts of translations.
"""

import json
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from glassformer.extensions.serve.page import (
    BYTES,
    REST,
    STATIC,
    WORKER,
    assemble_packed_page,
    pack_program,
    spell_data,
)
from glassformer.foundation.version import __version__
from glassformer.see.derive import describe_answer
from glassformer.translator import Translator

from ..serve.text_bytes import pack_parts, spell_letters
from .portable import BITS, describe_for_page, pack_model

# The ids of elements, where the app finds them: its models, each of them, and the engine.
LIST, MODEL, COMPILED, START = "models", "model:", "engine", "start"
WASM = STATIC / "engine.wasm"
FIGURES = 6  # of the numbers of the first screen, which the network computes anew
# With what `web/src/first/examples.ts` begins, and from how many words on the second is it.
FIRST = (
    "The animal didn't cross the street because it was too wide.",
    "My sister is happy because she won.",
)
MANY = 3000
LENGTH = 8  # bytes of a safetensors file that say how long its head is


def build_living_page(
    models: Sequence[Path | str],
    *,
    bits: int = max(BITS),
    text: str | None = None,
    lang: str | None = None,
) -> str:
    """Return the HTML of a page in which these models translate; the first is shown first.

    bits: of a weight, 8 or 4. text, lang: the sentence and the language of the app with which the
    page begins, if its address names none; None: an example, the reader's own language. Raises
    ValueError if one is no model directory, if two have one name, or if the app is not built.
    """
    late = list_late_elements(models, bits) | {REST: pack_program(REST)}
    start = {name: each for name, each in (("text", text), ("language", lang)) if each}
    listed = _list_models(models, text) + (spell_data(START, start) if start else "")
    behind = "".join(
        f'<script type="{BYTES}" id="{escape(id)}">{letters}</script>\n'
        for id, letters in late.items()
    )
    return assemble_packed_page(listed, behind, wasm=COMPILED in late)


def build_parted_page(model: Path | str, files: Mapping[str, str]) -> tuple[str, str]:
    """Return the HTML of a page of a site, and the script that brings its model.

    A phone shows such a page before the model is there. files: the addresses of the script (`more`)
    and of the `rest` of the app's program. Raises ValueError as `build_living_page`.
    """
    late = list_late_elements([model])
    listed = _list_models([model])
    html = assemble_packed_page(listed, "", files, wasm=COMPILED in late)
    return html, f"globalThis.glassformerLate = {json.dumps(late)};\n"


def list_late_elements(models: Sequence[Path | str], bits: int = max(BITS)) -> dict[str, str]:
    """Return the text of elements that the first screen does not need, by their ids."""
    if bits not in BITS:
        raise ValueError(f"bits={bits}: one of {', '.join(map(str, BITS))}")
    late = {WORKER: pack_program(WORKER)}
    for model in models:
        file = pack_model(model, bits)
        head = LENGTH + int.from_bytes(file[:LENGTH], "little")
        late[f"{MODEL}{describe_for_page(model)['id']}"] = _spell_bytes(file, head)
    if WASM.is_file():
        late[COMPILED] = _spell_bytes(WASM.read_bytes())
    return late


def _list_models(models: Sequence[Path | str], text: str | None = None) -> str:
    described = [describe_for_page(model) for model in models]
    names = [each["id"] for each in described]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"two models are called {name}: rename the folder of one")
    first = _describe_first(models[0], described[0], text)
    return spell_data(LIST, {"version": __version__, "models": described, "first": first})


def _describe_first(
    model: Path | str, described: dict[str, Any], text: str | None
) -> dict[str, Any] | None:
    """Return what the network says of the sentence that the app begins with, where it is known."""
    if text is None:
        if described["source"] != "en":
            return None
        text = FIRST[(described["words"] or 0) >= MANY]
    translator = Translator.load(model, device="cpu", precision="fp32")
    answer = describe_answer(translator.see(text, level="attention"))
    return {name: shorten_numbers(each) for name, each in answer.items()}


def shorten_numbers(value: Any) -> Any:
    """Return JSON whose numbers have the digits that are shown, and some more."""
    if isinstance(value, dict):
        return {name: shorten_numbers(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [*map(shorten_numbers, value)]
    return float(f"{value:.{FIGURES}g}") if isinstance(value, float) else value


def _spell_bytes(data: bytes, words: int | None = None) -> str:
    """Return bytes, packed, as letters; the first `words` are not numbers. None: all of them."""
    end = len(data) if words is None else words
    return spell_letters(pack_parts(data[:end], data[end:]))
