"""`glassformer translate --file`: a document in, the translated document out."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glassformer.cli import decoding
from glassformer.cli.terminal import to_json, warn
from glassformer.data.files import STANDARD
from glassformer.foundation.disk import check_file_size, write_bytes

from ..nothing import NOTHING_TO_TRANSLATE

if TYPE_CHECKING:
    from glassformer.translate.sentence import CheckedTranslation

    from ..failures import Failures

# What text alone has.
LINES_ONLY = (
    *("n_best", "prefix_file", "engine", "chunk", "no_split", "alignment", "confidence"),
    "overwrite",
)


def translate_file(document: Path, output: Path | None, settings: Mapping[str, Any]) -> None:
    """Translate a document and write it to `output`. Raises ValueError if options do not fit."""
    if output is None:
        raise ValueError(f"--file {document} needs --output: another {document.suffix} file")
    if output.suffix.lower() != document.suffix.lower():
        raise ValueError(f"{output}: a translated {document.suffix} file is one too")
    if settings["file"] != STANDARD:
        raise ValueError(f"give either lines, {settings['file']}, or a document with --file")
    for name in LINES_ONLY:
        if settings.get(name):
            option = name.replace("_", "-")
            raise ValueError(f"--{option} is for lines of text; it does not go with --file")
    from glassformer.model.files.directory import locate

    from ..declared import compare_languages, declare_language
    from ..formats import open_document
    from ..translating import translate_document

    check_file_size(document)
    try:
        opened = open_document(document.read_bytes(), document.name)
    except ValueError as error:
        raise ValueError(f"{document}: {error}") from None
    translator = decoding.load_translator(settings["model"], settings)
    options = decoding.choose_options(translator.config, settings)
    report = DocumentReport(document, output, opened.failures)
    folder = locate(settings["model"])
    written = translate_document(opened, translator, folder, options, report.add)
    data = translator.config.data
    report.mismatch = compare_languages(written, document.name, data.source_lang, data.target_lang)
    write_bytes(output, declare_language(written, document.name, data.target_lang))
    if settings["as_json"]:
        print(to_json(report.describe()))
    if sentence := report.say():
        warn(sentence)


class DocumentReport:
    """A report of the texts of a document, and of the problems of their translations."""

    def __init__(self, document: Path, output: Path, failures: Failures) -> None:
        self.document, self.output, self.failures = document, output, failures
        self.flagged = decoding.FlagCounts()
        self.texts = 0  # with something to translate
        self.doubtful: list[dict[str, Any]] = []
        self.mismatch = ""  # of the languages

    def add(self, checked: CheckedTranslation) -> None:
        self.flagged.add(checked)
        self.texts += bool(checked.best[0].parts)
        if checked.problems:
            number = {"text": self.flagged.total, "translation": checked.best[0].text}
            self.doubtful.append(number | checked.to_json())

    def say(self) -> str:
        """Return in a sentence what a user should know; "" if there is nothing."""
        if not (self.texts or self.failures.said):
            return f"{self.document}: {NOTHING_TO_TRANSLATE}"
        notes = self.flagged.said, self.mismatch, *self.failures.list_first()
        return "; ".join(filter(None, notes))

    def describe(self) -> dict[str, Any]:
        """Return the report as `--json` prints it."""
        results = {"texts": self.texts, "doubtful": self.doubtful, "failed": self.failures.said}
        is_empty = not (self.texts or self.failures.said)
        remark = NOTHING_TO_TRANSLATE if is_empty else self.mismatch
        note = {"note": remark} if remark else {}
        return {"file": str(self.document), "output": str(self.output), **results, **note}
