"""Translation of texts of any length, plain or HTML, by one model or a route of two."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from functools import partial
from typing import Any

from anyio.to_thread import run_sync

from glassformer.extensions.documents.failures import Failures
from glassformer.extensions.documents.formats import DocumentTexts
from glassformer.extensions.documents.markup import MarkupPage, read_markup
from glassformer.extensions.documents.translating import list_run_texts, write_pages
from glassformer.text.context import PrecedingLines, list_contexts
from glassformer.translate.align.alignments import Alignments
from glassformer.translate.align.marked_words import MarkedLink, find_marked_words
from glassformer.translate.checking import cap_confidence, keep_source
from glassformer.translate.options import choose_options
from glassformer.translate.sentence import Sentence, TranslatedText
from glassformer.translate.writing import join_texts
from glassformer.translator import Translator

from ..api_error import ApiError
from ..counting import PageReader
from ..limits import Limits
from .batching import Batcher
from .model_pool import ModelPool, PooledModel

PARAGRAPHS = 64  # of a document, translated together
SHORT = 1000  # characters up to which splitting is faster than starting a thread


class TranslationService:
    """A service that splits texts into sentences, translates these in batches and joins them."""

    def __init__(self, model_pool: ModelPool, batcher: Batcher, limits: Limits) -> None:
        self.model_pool, self.batcher, self.limits = model_pool, batcher, limits
        self.alignments, self.pages = Alignments(), PageReader()

    async def translate_texts(
        self,
        texts: Sequence[str],
        route: Sequence[PooledModel],
        n_best: int = 1,
        contexts: Sequence[str] | None = None,
    ) -> list[list[TranslatedText]]:
        """Return the best translations of each text, with the sentences that the last model read.

        contexts: see `Translator.search`; only the first model is given them. Without a model, a
        text is its own translation.
        """
        if not route:
            return [[TranslatedText(text, text, (), ())] for text in texts]
        *before, last = route
        for model in before:
            translated = await self._translate_texts(texts, model, 1, contexts)
            texts, contexts = [best.text for best, *_ in translated], None
        return await self._translate_texts(texts, last, n_best, contexts)

    async def translate_markup(
        self,
        texts: Sequence[str],
        route: Sequence[PooledModel],
        n_best: int = 1,
        contexts: Sequence[str] | None = None,
        failures: Failures | None = None,
    ) -> list[list[str]]:
        """Return the best translations of HTML; tags surround the words aligned with theirs.

        contexts: as for `translate_texts`. `failures` gets the parts that stay as they are.
        """
        translations = [[text] for text in texts]
        for place, model in enumerate(route):
            most = n_best if place == len(route) - 1 else 1
            pages = await self.pages.read([best for best, *_ in translations], failures)
            runs = [run for page in pages for run in page.runs]
            translator = await self._open(model)
            before = _list_contexts(translator, pages, None if place else contexts)
            translated = await self._translate_texts(
                list_run_texts(runs, translator), model, most, before
            )
            ways = [
                await run_sync(
                    write_pages,
                    self.alignments,
                    model.folder,
                    translator,
                    pages,
                    _take(translated, number),
                    failures,
                )
                for number in range(most)
            ]
            translations = [list(dict.fromkeys(each)) for each in zip(*ways, strict=True)]
        return translations

    async def stream(
        self, text: str, route: Sequence[PooledModel]
    ) -> AsyncGenerator[tuple[Sentence, str], None]:
        """Yield each sentence, in order, as soon as its translation by the whole route is known.

        It is as the first model translated it; one that has no translation stays as it is. The text
        is accepted as a whole, or refused. Raises ApiError at the end if no sentence has a
        translation.
        """
        if not route:
            return
        translator = await self._open(route[0])
        (sentences,) = await self._read(translator, [text])
        options = choose_options(translator.config.decode)
        async with aclosing(self.batcher.stream(translator, sentences, options)) as stream:
            async for translated in stream:
                texts = [each.translations[0].text for each in translated]
                try:
                    texts = [best.text for best, *_ in await self.translate_texts(texts, route[1:])]
                except ApiError as error:
                    _check_passing(error)
                    texts = [each.text for each in translated]
                    translated = [keep_source(each, error.sentence) for each in translated]
                for each, translation in zip(translated, texts, strict=True):
                    yield each, translation

    async def look_inside(
        self,
        translated: Sequence[TranslatedText],
        model: PooledModel | None,
        alignment: bool,
        confidence: bool,
    ) -> list[dict[str, Any]]:
        """Return for each text which words belong together, and how sure its translation is.

        model: that which translated them; None if they are their own translations.
        """
        answers: list[dict[str, Any]] = [{} for _ in translated]
        if alignment:
            links = await self._align(translated, model) if model else [[] for _ in translated]
            for answer, text, linked in zip(answers, translated, links, strict=True):
                answer["alignment"] = _name_links(text, linked)
        if confidence:
            for answer, text in zip(answers, translated, strict=True):
                answer |= _describe_sentences(text)
        return answers

    async def translate_document(
        self, document: DocumentTexts, route: Sequence[PooledModel]
    ) -> list[str]:
        """Return the translations of a document's texts.

        Those that have none stay as they are, and its `failures` get them. Raises ApiError if all
        are such.
        """
        errors = list[ApiError]()
        written, contexts = list[str](), [""] * len(document.texts)
        if route and (most := (await self._open(route[0])).reader.context):
            contexts = await run_sync(_list_before, document, most)
        for first in range(0, len(document.texts), PARAGRAPHS):  # others get their turn between
            part = slice(first, first + PARAGRAPHS)
            texts, before = document.texts[part], contexts[part]
            try:
                written += await self._translate_part(document, texts, route, before)
            except ApiError as error:
                _check_passing(error)
                errors.append(error)
                document.failures.add(texts, error.sentence)
                written += texts
        if errors and len(errors) * PARAGRAPHS >= len(document.texts):
            raise errors[0]
        return written

    async def _translate_part(
        self,
        document: DocumentTexts,
        texts: Sequence[str],
        route: Sequence[PooledModel],
        contexts: Sequence[str],
    ) -> list[str]:
        """Return the translations of some texts of a document; its failures get what has none."""
        if document.form == "html":
            failures = document.failures
            pages = await self.translate_markup(texts, route, contexts=contexts, failures=failures)
            return [best for best, *_ in pages]
        translated = await self.translate_texts(texts, route, contexts=contexts)
        return [best.text for best, *_ in translated]

    async def _open(self, model: PooledModel) -> Translator:
        if translator := self.model_pool.take(model):
            return translator
        return await run_sync(self.model_pool.load, model)

    async def _align(
        self, translated: Sequence[TranslatedText], model: PooledModel
    ) -> list[list[MarkedLink]]:
        writer = (await self._open(model)).writer
        return await run_sync(writer.align, self.alignments, model.folder, translated)

    async def _translate_texts(
        self,
        texts: Sequence[str],
        model: PooledModel,
        n_best: int,
        contexts: Sequence[str] | None = None,
    ) -> list[list[TranslatedText]]:
        """Return the best translations of each text, best first."""
        translator = await self._open(model)
        read = await self._read(translator, texts, contexts)
        options = choose_options(translator.config.decode, n_best=n_best)
        sentences = [each for own in read for each in own]
        translated = iter(await self.batcher.search(translator, sentences, options))
        return [
            join_texts(text, [next(translated) for _ in own], n_best)
            for text, own in zip(texts, read, strict=True)
        ]

    async def _read(
        self,
        translator: Translator,
        texts: Sequence[str],
        contexts: Sequence[str] | None = None,
    ) -> list[list[Sentence]]:
        """Return the sentences of each text, read in a thread if they are long."""
        read = partial(translator.reader.read, texts, contexts=contexts)
        return read() if sum(map(len, texts)) <= SHORT else await run_sync(read)


def _check_passing(error: ApiError) -> None:
    """Raise an error that concerns the server, and not one sentence or part."""
    if error.status == 503:
        raise error


def _name_links(text: TranslatedText, links: Sequence[MarkedLink]) -> list[dict[str, Any]]:
    """Return links between words as spans of characters, in the order of the translation."""
    sources, targets = find_marked_words(text.source), find_marked_words(text.text)
    return [
        {"source": sources[source], "target": targets[target], "weight": round(float(weight), 4)}
        for source, target, weight in sorted(links, key=lambda link: (link[1], link[0]))
    ]


def _describe_sentences(text: TranslatedText) -> dict[str, Any]:
    """Return the confidence of each sentence, and of the text: that of its worst sentence."""
    confidences = [cap_confidence(each.translations[0], each.problems) for each in text.sentences]
    sentences = [
        {
            "source": source,
            "target": target,
            "confidence": confidence,
            "problems": [{"kind": problem.kind, "said": problem.said} for problem in each.problems],
        }
        for (source, target), each, confidence in zip(
            text.parts, text.sentences, confidences, strict=True
        )
    ]
    return {"confidence": min(confidences, default=1.0), "sentences": sentences}


def _take(texts: Sequence[Sequence[TranslatedText]], number: int) -> list[TranslatedText]:
    """Return the translation of each text with this rank, or its last if there are fewer."""
    return [ways[min(number, len(ways) - 1)] for ways in texts]


def _list_contexts(
    translator: Translator, pages: Sequence[MarkupPage], contexts: Sequence[str] | None
) -> list[str] | None:
    """Return what is before each run of pages: the runs before it, and what is before its page."""
    if not (most := translator.reader.context):
        return None
    results: list[str] = []
    for page, before in zip(pages, contexts or [""] * len(pages), strict=True):
        document = PrecedingLines(most)
        for line in before.split("\n"):
            document.add(line)
        results += list_contexts((run.text for run in page.runs), document)
    return results


def _list_before(document: DocumentTexts, most: int) -> list[str]:
    """Return what is before each text of a document, without tags, up to so many lines."""
    before, results = PrecedingLines(most), list[str]()
    for text in document.texts:
        results.append(before.context)
        is_plain = document.form == "text"
        for line in text.splitlines() if is_plain else [run.text for run in read_markup(text).runs]:
            before.add(line)
    return results
