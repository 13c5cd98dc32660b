"""Translation of texts of any length, plain or HTML, by one model or a route of two."""

from __future__ import annotations

from collections.abc import Sequence

from anyio.to_thread import run_sync

from ..text.sentences import cut_spans
from ..text.spacing import join_sentences
from ..text.unicode import Span
from ..translation import Translation, combine
from ..translator import Translator
from .alignment import Alignments, Said
from .batching import Batcher
from .limits import Limits
from .markup import MarkupPage, read_markup
from .model_pool import ModelPool, PooledModel
from .requests import check_characters

SHORT = 1000  # characters up to which splitting is faster than starting a thread


class TranslationService:
    """A service that splits texts into sentences, translates these in batches and joins them."""

    def __init__(self, model_pool: ModelPool, batcher: Batcher, limits: Limits) -> None:
        self.model_pool, self.batcher, self.limits = model_pool, batcher, limits
        self.alignments = Alignments()

    async def translate(
        self, texts: Sequence[str], route: Sequence[PooledModel], n_best: int = 1
    ) -> list[list[str]]:
        """Return the best translations of each text; only the last model gives several."""
        found = [[text] for text in texts]
        for place, model in enumerate(route):
            most = n_best if place == len(route) - 1 else 1
            said = await self._say([best for best, *_ in found], model, most)
            found = [[each.text for each in ways] for ways in said]
        return found

    async def translate_markup(
        self, texts: Sequence[str], route: Sequence[PooledModel], n_best: int = 1
    ) -> list[list[str]]:
        """Return the best translations of HTML; tags surround the words aligned with theirs.

        Raises ApiError if the pages have too much text.
        """
        found = [[text] for text in texts]
        for place, model in enumerate(route):
            most = n_best if place == len(route) - 1 else 1
            pages = await run_sync(_read_pages, [best for best, *_ in found])
            runs = [run for page in pages for run in page.runs]
            if not place:  # tags do not count
                check_characters(sum(len(run.text) for run in runs), self.limits.characters)
            said = await self._say([run.text for run in runs], model, most)
            translator = await self._open(model)
            ways = [
                await run_sync(self._write, model, translator, pages, _take(said, number))
                for number in range(most)
            ]
            found = [list(dict.fromkeys(each)) for each in zip(*ways, strict=True)]
        return found

    def _write(
        self,
        model: PooledModel,
        translator: Translator,
        pages: Sequence[MarkupPage],
        said: Sequence[Said],
    ) -> list[str]:
        """Return the pages with these translations of their runs."""
        runs = [run for page in pages for run in page.runs]
        marked = [each for run, each in zip(runs, said, strict=True) if run.marks]
        links = iter(self.alignments.align(model, translator, marked))
        written = iter(
            [
                run.write(each.text, next(links) if run.marks else None)
                for run, each in zip(runs, said, strict=True)
            ]
        )
        return [page.fill([next(written) for _ in page.runs]) for page in pages]

    async def _open(self, model: PooledModel) -> Translator:
        if translator := self.model_pool.take(model):
            return translator
        return await run_sync(self.model_pool.load, model)

    async def _say(self, texts: Sequence[str], model: PooledModel, n_best: int) -> list[list[Said]]:
        """Return the best translations of each text, best first."""
        translator = await self._open(model)
        if sum(map(len, texts)) <= SHORT:
            spans = _split(translator, texts)
        else:
            spans = await run_sync(_split, translator, texts)
        sentences = [s for each in zip(texts, spans, strict=True) for s in cut_spans(*each)]
        decode = translator.config.decode.override(n_best=n_best)
        found = iter(await self.batcher.search(translator, sentences, decode, n_best))
        return [
            _join(text, places, [next(found) for _ in places], n_best)
            for text, places in zip(texts, spans, strict=True)
        ]


def _join(
    text: str, spans: Sequence[Span], found: Sequence[Sequence[Translation]], n_best: int
) -> list[Said]:
    """Return the best combinations of the sentences' translations, as whole texts.

    The text between the sentences is kept.
    """
    ways: dict[str, Said] = {}
    for way in combine(found, n_best):
        said, places = join_sentences(text, spans, [each.text for each in way])
        ways.setdefault(said, Said(text, said, tuple(zip(spans, places, strict=True))))
    return [*ways.values()]


def _take(said: Sequence[Sequence[Said]], number: int) -> list[Said]:
    """Return the translation of each text with this rank, or its last if there are fewer."""
    return [ways[min(number, len(ways) - 1)] for ways in said]


def _read_pages(texts: Sequence[str]) -> list[MarkupPage]:
    return [read_markup(text) for text in texts]


def _split(translator: Translator, texts: Sequence[str]) -> list[list[Span]]:
    return [translator.split(text) for text in texts]
