"""The command `glassformer site`: a folder of pages that any web space shows."""

from pathlib import Path

from glassformer.cli.options import AS_JSON, arg, opt
from glassformer.cli.terminal import to_json


def site(
    models: list[Path] = arg("[MODEL ...]", "Models to show; the first is on the first page."),
    output: Path = opt("FOLDER", "The folder to write.", "--output", "-o", default=...),
    gallery: Path = opt(
        "FOLDER",
        "A folder of pictures to copy, such as docs/gallery of a clone; if not given, a few "
        "are drawn.",
    ),
    as_json: bool = AS_JSON,
) -> None:
    """Write a folder of pages, in English and Chinese, with models that translate in the browser.

    If no model is given, it has demo, which explains the pronoun, and one for everyday sentences.
    The pages open from disk without a connection, and from any folder of any web space.

    \b
    glassformer site -o public
    glassformer site my-model -o public --gallery docs/gallery
    """
    from ..build import write_site

    files = write_site(output, models or (), gallery)
    size = sum(path.stat().st_size for path in files)
    if as_json:
        print(to_json({"path": str(output), "files": len(files), "bytes": size}))
    else:
        print(f"{output}: {len(files)} files, {size / 1e6:.1f} MB; open {output / 'index.html'}")
