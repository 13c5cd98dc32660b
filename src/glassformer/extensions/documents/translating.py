"""Translate a document with one model; the server does the same in batches of many requests."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from glassformer.translate.align.alignments import Alignments
from glassformer.translate.align.marked_words import MarkedLink
from glassformer.translate.options import SearchOptions
from glassformer.translate.sentence import CheckedTranslation, TranslatedText
from glassformer.translate.writing import as_text
from glassformer.translator import Translator

from .failures import Failures
from .formats import TranslatableDocument
from .markup import MarkupPage, Run, read_markup


def translate_document(
    document: TranslatableDocument,
    translator: Translator,
    model: Path,
    options: SearchOptions,
    note: Callable[[CheckedTranslation], object] = lambda checked: None,
) -> bytes:
    """Return the document with its texts translated.

    model: the folder of the translator. `note` is called with each translation and what its check
    found.
    """
    if document.form == "text":
        cut = [_cut_lines(text) for text in document.texts]
        lines = [line for each in cut for _, line, _ in each]
        rest = iter(_translate(lines, translator, options, note))
        return document.fill(
            ["".join(start + next(rest).text + end for start, _, end in each) for each in cut]
        )
    pages = [read_markup(text, document.failures) for text in document.texts]
    texts = list_run_texts([run for page in pages for run in page.runs], translator)
    translated = _translate(texts, translator, options, note)
    alignments = Alignments()
    return document.fill(
        write_pages(alignments, model, translator, pages, translated, document.failures)
    )


def _cut_lines(text: str) -> list[tuple[str, str, str]]:
    """Return the lines of a text, each between the white space and line break around it."""
    lines = text.splitlines(keepends=True)
    starts = (line[: len(line) - len(line.lstrip())] for line in lines)
    rows = zip(starts, map(str.strip, lines), lines, strict=True)
    return [(start, line, whole[len(start) + len(line) :]) for start, line, whole in rows]


def _translate(
    texts: Sequence[str],
    translator: Translator,
    options: SearchOptions,
    note: Callable[[CheckedTranslation], object],
) -> list[TranslatedText]:
    checked = translator.checker.translate_texts(texts, options, as_document=True)
    for each in checked:
        note(each)
    return [as_text(text, each) for text, each in zip(texts, checked, strict=True)]


def list_run_texts(runs: Sequence[Run], translator: Translator) -> list[str]:
    """Return what is translated of each run: with placeholders, if the model repeats them."""
    repeats = translator.tokenizers.source.has_character_map
    return [run.full_text if repeats else run.text for run in runs]


def write_pages(
    alignments: Alignments,
    model: Path,
    translator: Translator,
    pages: Sequence[MarkupPage],
    translated: Sequence[TranslatedText],
    failures: Failures | None = None,
) -> list[str]:
    """Return the pages with these translations of their runs, tags around the aligned words.

    `failures` gets the runs for which this fails; they stay as they are.
    """
    runs = [run for page in pages for run in page.runs]
    failures = failures or Failures()

    def align(texts: Sequence[TranslatedText]) -> list[list[MarkedLink]]:
        return translator.writer.align(alignments, model, texts)

    wholes = [
        run.whole if run.whole and each.source == run.whole.text else None
        for run, each in zip(runs, translated, strict=True)
    ]
    marks = [(whole or run).marks for run, whole in zip(runs, wholes, strict=True)]
    marked = [each for each, own in zip(translated, marks, strict=True) if own]
    links: Iterator[list[MarkedLink]] | None = None
    with Failures().leave(""):  # if one of them fails, each is aligned on its own
        links = iter(align(marked))
    rest = list[str]()
    for run, whole, each, own in zip(runs, wholes, translated, marks, strict=True):
        written = run.raw
        with failures.leave(run.text):
            aligned = (next(links) if links else align([each])[0]) if own else None
            written = (run.write_whole if whole else run.write)(each.text, aligned)
        rest.append(written)
    written_runs = iter(rest)
    return [page.fill([next(written_runs) for _ in page.runs]) for page in pages]
