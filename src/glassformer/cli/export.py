"""The command `glassformer export`: a model in the format of another engine, or in int8."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from ..data.files import read_lines
from .options import AS_JSON, MODEL, opt
from .terminal import show_progress, to_json

FORMATS = ("ctranslate2", "int8")


def export(
    model: Path = MODEL,
    out: Path = opt("FOLDER", "Where the export goes: a new folder.", default=...),
    form: str = opt(
        "ctranslate2|int8",
        "For which engine; int8: a model directory of ours, a quarter of fp32.",
        "--format",
        default="ctranslate2",
    ),
    quantization: str = opt(
        "float32|int8|int16|float16|bfloat16",
        "How CTranslate2 stores the weights; int8 is small, fast and a little coarser.",
        default="float32",
    ),
    source: Path | None = opt(
        "FILE", "Text to compare the export on, its first 200 lines; random tokens if not given."
    ),
    as_json: bool = AS_JSON,
) -> None:
    """Write a model for another engine, and check that it still says the same.

    The export is compared with the model: log-probabilities and translations, first in float32.
    If it differs by more than rounding explains, nothing is written. `--format int8` is the same
    as `glassformer publish --int8`.

    \b
    glassformer export my-model --format ctranslate2 --out my-model-ct2 --source test.en
    glassformer export my-model --out my-model-int8 --quantization int8
    """
    if form not in FORMATS:
        raise ValueError(f"--format {form}: one of {', '.join(FORMATS)}")
    if form == "int8":
        from ..publish.publishing import publish_model

        published = publish_model(model, out, int8=True)
        print(to_json(published.to_json()) if as_json else f"{out}: {published}")
        return
    texts = None if source is None else list(islice(read_lines(source), 200))

    from dataclasses import asdict

    from ..bridge.ctranslate2 import export_ctranslate2 as write
    from ..bridge.parity import MOST, SEARCHES

    sentences = MOST if texts is None else sum(bool(text.strip()) for text in texts)
    with show_progress("comparing", sentences * len(SEARCHES)) as tell:
        parity = write(model, out, quantization=quantization, texts=texts, progress=tell)
    print(to_json(asdict(parity)) if as_json else f"{out}: {parity}")
