"""The command `glassformer export`: a model in the format of another engine, or in int8."""

from itertools import islice
from pathlib import Path

from glassformer.cli.options import AS_JSON, MODEL, check_choice, opt
from glassformer.cli.terminal import show_progress, to_json
from glassformer.data.files import read_lines
from glassformer.foundation.extensions import list_additions, need_addition

POINT = "export."  # and the name of a format: the addition that writes it
QUANTIZED = ("ctranslate2", "argos")
INT8 = "int8"  # a model directory like ours


def export(
    model: Path = MODEL,
    out: Path = opt("FOLDER", "Where the export goes: a new folder; argos: a file.", default=...),
    form: str = opt(
        "ctranslate2|onnx|argos|transformers|marian|marian-bin|int8",
        "The engine to export for; marian-bin: a student's files as browsers have them; int8: a "
        "model directory like ours, a quarter of the size of fp32.",
        "--format",
        default="ctranslate2",
    ),
    quantization: str | None = opt(
        "float32|int8|int16|float16|bfloat16",
        "How CTranslate2 stores the weights; int8 is small, fast and a little less exact. If not "
        "given, float32, but int8 for argos.",
    ),
    source: Path | None = opt(
        "FILE", "Text to compare the export on, its first 200 lines; random tokens if not given."
    ),
    as_json: bool = AS_JSON,
) -> None:
    """Write a model for another engine, and check that it still translates in the same way.

    The export is compared with the model: log-probabilities and translations, first in float32.
    If they differ by more than rounding explains, nothing is written. `--format int8` is the same
    as `glassformer publish --int8`.

    \b
    glassformer export my-model --format ctranslate2 --out my-model-ct2 --source test.en
    glassformer export my-model --out my-model-int8 --quantization int8
    glassformer export my-model --format onnx --out my-model-onnx
    glassformer export my-model --format argos --out en-fr.argosmodel --source test.en
    glassformer export my-student --format marian-bin --out my-browser-model --source valid.en
    """
    form = "ctranslate2" if form == "ct2" else form
    formats = [each.removeprefix(POINT) for each in list_additions() if each.startswith(POINT)]
    check_choice("format", form, (*formats, INT8))
    if quantization is not None and form not in QUANTIZED:
        raise ValueError(f"--quantization has no effect with --format {form}")
    if form == INT8:
        from glassformer.extensions.publish.publishing import publish_model

        published = publish_model(model, out, int8=True)
        print(to_json(published.to_json()) if as_json else f"{out}: {published}")
        return
    texts = None if source is None else list(islice(read_lines(source), 200))

    from dataclasses import asdict

    from ..parity import MOST, SEARCHES
    from ..writers import ExportOptions

    sentences = MOST if texts is None else sum(bool(text.strip()) for text in texts)
    write = need_addition(POINT + form, f"--format {form}")
    with show_progress("comparing", sentences * len(SEARCHES)) as progress:
        options = ExportOptions(texts, progress, quantization)
        comparison = write(model, out, options)
    print(to_json(asdict(comparison)) if as_json else f"{out}: {comparison}")
