"""The command `glassformer prune`: a smaller model, without the heads that matter least."""

from pathlib import Path

from glassformer.cli.options import AS_JSON, MODEL, arg, opt
from glassformer.cli.terminal import to_json
from glassformer.foundation.progress import Reporter


def prune(
    model: Path = MODEL,
    source: Path = arg("SOURCE", "Text in the source language, a sentence a line.", default=...),
    out: Path = opt("FOLDER", "Where the smaller model goes.", default=...),
    heads: int | None = opt("N", "How many heads each attention keeps.", min=1),
    d_ff: int | None = opt("N", "How many neurons each feed-forward network keeps.", min=1),
    sentences: int = opt("N", "Measure on at most this many lines.", default=300, min=1),
    as_json: bool = AS_JSON,
) -> None:
    """Remove the heads and the neurons that matter least, for good.

    The heads stay without which the loss rises most, and the neurons that add most. Further
    training recovers most of the loss: glassformer train --from my-smaller-model.

    \b
    glassformer prune my-model valid.en --heads 4 --out my-smaller-model
    """
    from glassformer.translator import Translator

    from ..pruning import prune as prune_model
    from .sentences import read_sentences

    texts = read_sentences(source, sentences, Translator.load(model))
    with Reporter().phase("measuring") as advance:
        result = prune_model(model, texts, out, heads=heads, d_ff=d_ff, progress=advance)
    if as_json:
        print(to_json({"path": str(out), **result.to_json()}))
        return
    before, after = result.parameters
    print(f"{out}: {after:,} of {before:,} parameters")
    print(
        "-ln p of a token of the whole model's translations: {:.3f} -> {:.3f}".format(*result.loss)
    )
