"""The command `glassformer fill`: the tokens that may stand in the place of a mask."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from .options import AS_JSON, DEVICE, EXACT, MODEL, arg, opt
from .terminal import read_typed, to_json


def fill(
    model: Path = MODEL,
    text: str | None = arg(
        "TEXT", "A text with [MASK] in it; if not given, each line of the standard input."
    ),
    top: int = opt("N", "So many candidates for each mask.", default=5, min=1),
    device: str = DEVICE,
    precision: str = EXACT,
    as_json: bool = AS_JSON,
) -> None:
    """Fill the masks of a text with a language model of network=encoder.

    A mask stands for one token, with the space before it. For each mask, a line for each candidate:
    its probability and the text with it.

    \b
    glassformer fill my-model "The [MASK] is on the mat."
    """
    from ..language_model import MASK_TEXT, LanguageModel

    reader = LanguageModel.load(model, device=device, precision=precision)
    for line in read_typed(text):
        found = reader.fill(line, top)
        if as_json:
            masks = [[asdict(each) for each in guesses] for guesses in found]
            print(to_json({"text": line, "masks": masks}))
            continue
        for number, guesses in enumerate(found):
            before, after = split_at_mask(line, MASK_TEXT, number)
            if number:
                print()
            for each in guesses:
                space = "" if each.token.startswith(" ") else "" if not before else "|"
                shown = f"{before.rstrip()}{space}{each.token}{after}".strip()
                print(f"{each.probability:.4f}\t{shown}")


def split_at_mask(text: str, mask: str, number: int) -> tuple[str, str]:
    """Return what stands before and after one of the masks of a text."""
    parts = text.split(mask)
    return mask.join(parts[: number + 1]), mask.join(parts[number + 1 :])
