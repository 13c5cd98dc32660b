"""Translate a document with one model; the server does the same in batches of many requests."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from glassformer.checks.quality_check import Judged, search_checked
from glassformer.text.context import PrecedingLines, list_contexts
from glassformer.translate.alignment import Alignments, Said
from glassformer.translator import Translator

from .formats import TranslatableDocument
from .markup import MarkupPage, read_markup


def translate_document(
    document: TranslatableDocument,
    translator: Translator,
    model: Path,
    note: Callable[[Judged], object] | None = None,
    **how: Any,
) -> bytes:
    """Return the document with its texts translated.

    model: the folder of the translator. `note` is called with each translation and what its check
    found. `how` is passed to `search_checked`.
    """
    if document.form == "text":
        texts = [_cut_lines(text) for text in document.texts]
        lines = [line for each in texts for _, line, _ in each]
        rest = iter(_say(lines, translator, note, how))
        return document.fill(
            ["".join(start + next(rest).text + end for start, _, end in each) for each in texts]
        )
    pages = [read_markup(text) for text in document.texts]
    said = _say([run.text for page in pages for run in page.runs], translator, note, how)
    return document.fill(write_pages(Alignments(), model, translator, pages, said))


def _cut_lines(text: str) -> list[tuple[str, str, str]]:
    """Return the lines of a text, each between the white space and line break around it."""
    lines = text.splitlines(keepends=True)
    starts = (line[: len(line) - len(line.lstrip())] for line in lines)
    rows = zip(starts, map(str.strip, lines), lines, strict=True)
    return [(start, line, whole[len(start) + len(line) :]) for start, line, whole in rows]


def _say(
    texts: Sequence[str],
    translator: Translator,
    note: Callable[[Judged], object] | None,
    how: dict[str, Any],
) -> list[Said]:
    said = []
    contexts = [*list_contexts(texts, PrecedingLines(translator.context))]
    how |= {"contexts": contexts} if translator.context else {}
    found = search_checked(translator, texts, **how)
    for text, judged, context in zip(texts, found, contexts, strict=True):
        best = judged.best[0]
        parts = tuple((part.source, part.target) for part in best.parts)
        said.append(Said(text, best.text, parts, context=context))
        if note:
            note(judged)
    return said


def write_pages(
    alignments: Alignments,
    model: Path,
    translator: Translator,
    pages: Sequence[MarkupPage],
    said: Sequence[Said],
) -> list[str]:
    """Return the pages with these translations of their runs, tags around the aligned words."""
    runs = [run for page in pages for run in page.runs]
    marked = [each for run, each in zip(runs, said, strict=True) if run.marks]
    links = iter(alignments.align(model, translator, marked))
    written = iter(
        [
            run.write(each.text, next(links) if run.marks else None)
            for run, each in zip(runs, said, strict=True)
        ]
    )
    return [page.fill([next(written) for _ in page.runs]) for page in pages]
