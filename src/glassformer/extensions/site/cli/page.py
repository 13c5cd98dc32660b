"""The command `glassformer page`: models and the app in one file that needs no server."""

from pathlib import Path

from glassformer.cli.options import AS_JSON, arg, opt
from glassformer.cli.terminal import to_json


def page(
    models: list[Path] = arg("MODEL ...", "Folders of models; the first is shown.", default=...),
    output: Path = opt("FILE", "The page to write.", "--output", "-o", default=...),
    bits: int = opt(
        "8|4", "Of each weight: with 4, a smaller page whose model is worse.", default=8
    ),
    as_json: bool = AS_JSON,
) -> None:
    """Write one HTML file with the app and models, which translate in the browser.

    The file opens from disk without a connection, and on any web space. Weights are stored in
    int8: a few translations may differ from those of `translate`.

    \b
    glassformer page demo -o class.html
    glassformer page my-model demo -o two-models.html
    glassformer page my-student --bits 4 -o student.html
    """
    from glassformer.extensions.serve.page import SavedPage

    from ..living import build_living_page

    result = SavedPage(build_living_page(models, bits=bits))
    result.save(output)
    size = output.stat().st_size
    print(to_json({"path": str(output), "bytes": size}) if as_json else f"{output}: {result.size}")
