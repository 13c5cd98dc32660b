"""Translation of texts of any length, plain or HTML, by one model or a route of two."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import Any

from anyio.to_thread import run_sync

from glassformer.checks.quality_check import Judged
from glassformer.extensions.documents.formats import DocumentTexts
from glassformer.extensions.documents.markup import MarkupPage, read_markup
from glassformer.extensions.documents.translating import write_pages
from glassformer.text.context import PrecedingLines, cut_source, list_contexts
from glassformer.text.sentences import cut_spans
from glassformer.text.spacing import join_sentences
from glassformer.text.unicode import Span
from glassformer.translate.alignment import Alignments, Said
from glassformer.translate.placing import Link, find_marked_words
from glassformer.translation import combine
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

    async def translate_as(
        self,
        form: str,
        texts: Sequence[str],
        route: Sequence[PooledModel],
        n_best: int = 1,
        contexts: Sequence[str] | None = None,
    ) -> list[list[str]]:
        """Return the best translations of texts, or of HTML if that is their form.

        contexts: see `Translator.search`; only the first model is given them.
        """
        translate = self.translate_markup if form == "html" else self.translate
        return await translate(texts, route, n_best, contexts)

    async def translate(
        self,
        texts: Sequence[str],
        route: Sequence[PooledModel],
        n_best: int = 1,
        contexts: Sequence[str] | None = None,
    ) -> list[list[str]]:
        """Return the best translations of each text; only the last model gives several."""
        found = [[text] for text in texts]
        for place, model in enumerate(route):
            most = n_best if place == len(route) - 1 else 1
            before = None if place else contexts
            said = await self._say([best for best, *_ in found], model, most, before)
            found = [[each.text for each in ways] for ways in said]
        return found

    async def translate_markup(
        self,
        texts: Sequence[str],
        route: Sequence[PooledModel],
        n_best: int = 1,
        contexts: Sequence[str] | None = None,
    ) -> list[list[str]]:
        """Return the best translations of HTML; tags surround the words aligned with theirs."""
        found = [[text] for text in texts]
        for place, model in enumerate(route):
            most = n_best if place == len(route) - 1 else 1
            pages = await self.pages.read([best for best, *_ in found])
            runs = [run for page in pages for run in page.runs]
            translator = await self._open(model)
            before = _list_contexts(translator, pages, None if place else contexts)
            said = await self._say([run.text for run in runs], model, most, before)
            ways = [
                await run_sync(
                    write_pages,
                    self.alignments,
                    model.folder,
                    translator,
                    pages,
                    _take(said, number),
                )
                for number in range(most)
            ]
            found = [list(dict.fromkeys(each)) for each in zip(*ways, strict=True)]
        return found

    async def stream(
        self, text: str, route: Sequence[PooledModel]
    ) -> AsyncIterator[tuple[Span, str]]:
        """Yield each sentence's span and translation, in order, as soon as it is known."""
        if not route:
            return
        translator = await self._open(route[0])
        spans = translator.split(text)
        contexts = _cut_contexts(translator, text, spans)
        tasks = [
            asyncio.ensure_future(self.translate([sentence], route, contexts=[before]))
            for sentence, before in zip(cut_spans(text, spans), contexts, strict=True)
        ]
        try:
            for span, task in zip(spans, tasks, strict=True):
                ((said,),) = await task
                yield span, said
        finally:
            for task in tasks:
                task.cancel()

    async def look_inside(
        self, texts: Sequence[str], route: Sequence[PooledModel], alignment: bool, confidence: bool
    ) -> list[dict[str, Any]]:
        """Return for each text which words belong together, and how sure its translation is.

        Raises ApiError if the route has two models: what lies between them is not shown.
        """
        if not route:
            told = {"alignment": [], "confidence": 1.0, "sentences": []}
            names = ["alignment"] * alignment + ["confidence", "sentences"] * confidence
            return [{name: told[name] for name in names} for _ in texts]
        if len(route) > 1:
            both = " and ".join(model.id for model in route)
            raise ApiError(400, f"alignment and confidence need one model, this takes {both}")
        said = [best for best, *_ in await self._say(texts, route[0], 1)]
        found: list[dict[str, Any]] = [{} for _ in texts]
        if alignment:
            translator = await self._open(route[0])
            links = await run_sync(self.alignments.align, route[0].folder, translator, said)
            for each, own, linked in zip(found, said, links, strict=True):
                each["alignment"] = _name_links(own, linked)
        if confidence:
            for each, own in zip(found, said, strict=True):
                each |= _tell_sentences(own)
        return found

    async def translate_document(
        self, document: DocumentTexts, route: Sequence[PooledModel]
    ) -> list[str]:
        """Return the translations of a document's texts."""
        said, contexts = list[str](), [""] * len(document.texts)
        if route and (most := (await self._open(route[0])).context):
            contexts = await run_sync(_list_before, document, most)
        for first in range(0, len(document.texts), PARAGRAPHS):  # others get their turn between
            part = slice(first, first + PARAGRAPHS)
            texts, before = document.texts[part], contexts[part]
            found = await self.translate_as(document.form, texts, route, contexts=before)
            said += [best for best, *_ in found]
        return said

    async def _open(self, model: PooledModel) -> Translator:
        if translator := self.model_pool.take(model):
            return translator
        return await run_sync(self.model_pool.load, model)

    async def _say(
        self,
        texts: Sequence[str],
        model: PooledModel,
        n_best: int,
        contexts: Sequence[str] | None = None,
    ) -> list[list[Said]]:
        """Return the best translations of each text, best first."""
        translator = await self._open(model)
        if sum(map(len, texts)) <= SHORT:
            spans = _split(translator, texts)
        else:
            spans = await run_sync(_split, translator, texts)
        sentences = translator.extend_parts(texts, spans, contexts)
        decode = translator.config.decode.override(n_best=n_best)
        found = iter(await self.batcher.search(translator, sentences, decode, n_best))
        said = [
            _join(text, places, [next(found) for _ in places], n_best)
            for text, places in zip(texts, spans, strict=True)
        ]
        if not contexts:
            return said
        return [
            [replace(each, context=before) for each in ways]
            for ways, before in zip(said, contexts, strict=True)
        ]


def _join(text: str, spans: Sequence[Span], judged: Sequence[Judged], n_best: int) -> list[Said]:
    """Return the best combinations of the sentences' translations, as whole texts.

    The text between the sentences is kept. A single one keeps what was found about each sentence.
    """
    ways: dict[str, Said] = {}
    for way in combine([each.best for each in judged], n_best):
        said, places = join_sentences(text, spans, [each.text for each in way])
        ways.setdefault(said, Said(text, said, tuple(zip(spans, places, strict=True))))
    if n_best > 1:
        return [*ways.values()]
    return [replace(said, judged=tuple(judged)) for said in ways.values()]


def _name_links(said: Said, links: Sequence[Link]) -> list[dict[str, Any]]:
    """Return links between words as spans of characters, in the order of the translation."""
    sources, targets = find_marked_words(said.source), find_marked_words(said.text)
    return [
        {"source": sources[source], "target": targets[target], "weight": round(float(weight), 4)}
        for source, target, weight in sorted(links, key=lambda link: (link[1], link[0]))
    ]


def _tell_sentences(said: Said) -> dict[str, Any]:
    """Return the confidence of each sentence, and of the text: that of its worst sentence."""
    sentences = [
        {
            "source": source,
            "target": target,
            "confidence": judged.confidence,
            "problems": [{"kind": each.kind, "said": each.said} for each in judged.problems],
        }
        for (source, target), judged in zip(said.parts, said.judged, strict=True)
    ]
    worst = min((judged.confidence for judged in said.judged), default=1.0)
    return {"confidence": worst, "sentences": sentences}


def _take(said: Sequence[Sequence[Said]], number: int) -> list[Said]:
    """Return the translation of each text with this rank, or its last if there are fewer."""
    return [ways[min(number, len(ways) - 1)] for ways in said]


def _list_contexts(
    translator: Translator, pages: Sequence[MarkupPage], contexts: Sequence[str] | None
) -> list[str] | None:
    """Return what is before each run of pages: the runs before it, and what is before its page."""
    if not translator.context:
        return None
    found: list[str] = []
    for page, before in zip(pages, contexts or [""] * len(pages), strict=True):
        document = PrecedingLines(translator.context)
        for line in before.split("\n"):
            document.add(line)
        found += list_contexts((run.text for run in page.runs), document)
    return found


def _cut_contexts(translator: Translator, text: str, spans: Sequence[Span]) -> list[str]:
    """Return what the model reads before each sentence of a text."""
    if not translator.context:
        return [""] * len(spans)
    return [cut_source(each)[0] for each in translator.extend_parts([text], [spans])]


def _list_before(document: DocumentTexts, most: int) -> list[str]:
    """Return what is before each text of a document, without tags, up to so many lines."""
    before, found = PrecedingLines(most), list[str]()
    for text in document.texts:
        found.append(before.context)
        is_plain = document.form == "text"
        for line in text.splitlines() if is_plain else [run.text for run in read_markup(text).runs]:
            before.add(line)
    return found


def _split(translator: Translator, texts: Sequence[str]) -> list[list[Span]]:
    return [translator.split(text) for text in texts]
