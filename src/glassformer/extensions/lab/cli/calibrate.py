"""The command `glassformer calibrate`: below which confidence a translation is doubted."""

from pathlib import Path

from glassformer.cli.options import AS_JSON, DEVICE, MODEL, arg, opt
from glassformer.cli.terminal import show_progress, to_json


def calibrate(
    model: Path = MODEL,
    source: Path = arg("SOURCE", "Text that the model never saw, a sentence a line.", default=...),
    target: Path = arg("TARGET", "Its translations.", default=...),
    also: list[Path] | None = opt(
        "FILE", "Other translations of the same lines; give it again for each.", "--reference"
    ),
    output: Path | None = opt("FILE", "Write the limit here instead.", "--output", "-o"),
    device: str = DEVICE,
    as_json: bool = AS_JSON,
) -> None:
    """Choose below which confidence a model's translations are doubted.

    The limit is kept as doubt.json in the model directory, and `translate --json`, `see`, the
    server, the app and pages use it. If a head aligns words well enough, the words are listed there
    that may stay unsaid: where any other is dropped, translating searches again. Of a shipped
    model, nothing is written.

    \b
    glassformer calibrate my-model valid.en valid.de
    """
    from glassformer.data.files import read_lines
    from glassformer.model.files.directory import DOUBT, SHIPPED, locate, write_text
    from glassformer.translator import Translator

    from ..doubt import calibrate_doubt

    sources, *references = [[*read_lines(path)] for path in (source, target, *(also or ()))]
    if odd := [len(lines) for lines in references if len(lines) != len(sources)]:
        raise ValueError(f"{source} has {len(sources)} lines, but its translations {odd[0]}")
    translator = Translator.load(model, device=device)
    with show_progress("translating", len(sources)) as tell:
        result = calibrate_doubt(translator, sources, references, tell)
    if output is None and (folder := locate(model)).parent != SHIPPED:
        output = folder / DOUBT
    if output:
        write_text(output, to_json(result.to_json()) + "\n")
    print(to_json(result.to_json()) if as_json else result)
