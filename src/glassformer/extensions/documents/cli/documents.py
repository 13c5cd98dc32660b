"""`glassformer translate --file`: a document in, the translated document out."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from glassformer.cli import decoding
from glassformer.cli.terminal import warn
from glassformer.data.files import STANDARD
from glassformer.foundation.disk import check_file_size, write_bytes

LINES_ONLY = ("n_best", "prefix_file", "engine", "as_json", "chunk", "no_split")  # text has these


def translate_file(document: Path, output: Path | None, given: Mapping[str, Any]) -> None:
    """Translate a document and write it to `output`. Raises ValueError if options do not fit."""
    if output is None:
        raise ValueError(f"--file {document} needs --output: another {document.suffix} file")
    if output.suffix.lower() != document.suffix.lower():
        raise ValueError(f"{output}: a translated {document.suffix} file is one too")
    if given["file"] != STANDARD:
        raise ValueError(f"give either lines, {given['file']}, or a document with --file")
    for name in LINES_ONLY:
        if given.get(name):
            option = "json" if name == "as_json" else name.replace("_", "-")
            raise ValueError(f"--{option} is for lines of text; it does not go with --file")
    from glassformer.model.files.directory import locate

    from ..formats import open_document
    from ..translating import translate_document

    check_file_size(document)
    try:
        opened = open_document(document.read_bytes(), document.name)
    except ValueError as error:
        raise ValueError(f"{document}: {error}") from None
    translator = decoding.load_translator(given["model"], given)
    how = {"decode": decoding.choose_search(translator.config, given), "seed": given["seed"] or 0}
    how |= {"again": not given["no_guard"], "glossary": decoding.read_glossary(given["glossary"])}
    flagged = decoding.Flagged()
    folder = locate(given["model"])
    write_bytes(output, translate_document(opened, translator, folder, note=flagged.add, **how))
    if flagged.said:
        warn(flagged.said)
