"""`glassformer translate --file`: a document in, the translated document out."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..data.files import STANDARD
from ..disk import check_file_size, write_bytes
from . import decoding

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
    from ..directory import locate
    from ..documents.formats import open_document
    from ..documents.translating import translate_document
    from ..translator import Translator

    check_file_size(document)
    try:
        opened = open_document(document.read_bytes(), document.name)
    except ValueError as error:
        raise ValueError(f"{document}: {error}") from None
    machine = {name: given[name] for name in ("device", "precision", "threads", "workers")}
    translator = Translator.load(given["model"], **machine)
    how = {"decode": decoding.choose_search(translator.config, given), "seed": given["seed"] or 0}
    how["again"] = not given["no_guard"]
    write_bytes(output, translate_document(opened, translator, locate(given["model"]), **how))
