"""The command `glassformer complete`: what a causal language model writes after a text."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from typer import Context

from . import decoding
from .options import AS_JSON, DEVICE, EXACT, MODEL, SEARCH, SEED, arg, opt
from .terminal import read_typed, to_json
from .verb import takes


@takes("decode")
def complete(
    context: Context,
    model: Path = MODEL,
    text: str | None = arg(
        "TEXT", "The text to go on from; if not given, each line of the standard input."
    ),
    n_best: int | None = opt(
        "N", "So many completions: the N best of a beam, or N samples.", panel=SEARCH, min=1
    ),
    seed: int | None = SEED,
    device: str = DEVICE,
    precision: str = EXACT,
    as_json: bool = AS_JSON,
) -> None:
    """Complete a text with a language model of network=decoder.

    --max-extra says how many tokens are written at most.

    \b
    glassformer complete my-model "The cat"
    glassformer complete my-model "The cat" --search sample --top-p 0.9 --n-best 5
    """
    from ..language_model import LanguageModel

    reader = LanguageModel.load(model, device=device, precision=precision)
    reader.check("complete")
    given = dict(context.params)
    number = given.pop("n_best") or 1
    if number > 1 and reader.config.decode.override(given_decode(given)).search != "sample":
        given["n_best"] = number
    decode = decoding.choose_search(reader.config, given)
    for line in read_typed(text):
        for found in reader.search(line, decode=decode, n_best=number, seed=seed or 0):
            if as_json:
                print(to_json({"prompt": line, **asdict(found)}))
            elif number > 1:
                print(f"{found.log_prob:.4f}\t{found.text}")
            else:
                print(found.text)


def given_decode(given: dict[str, object]) -> dict[str, object]:
    """Return those of the options that are settings of a search."""
    from ..config import Decode

    return {name: value for name, value in given.items() if name in Decode.model_fields}
