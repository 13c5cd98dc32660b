"""Dynamic batching: sentences of many requests are translated together.

The next batch collects while one is translated. An idle server therefore translates at once, and
a busy one in large batches. Requests take turns, sentence by sentence.
"""

import asyncio
import logging
import math
import threading
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing, suppress
from itertools import takewhile

from glassformer.config import Decode
from glassformer.translate.checking import is_kept, keep_source
from glassformer.translate.options import SearchOptions
from glassformer.translate.sentence import Sentence
from glassformer.translator import Translator

from ..api_error import ApiError
from ..limits import Limits, find_time_left
from .answers import AnswerCache, Question

log = logging.getLogger("glassformer.extensions.serve")
Key = tuple[int, Decode, int]
Search = Callable[[Translator, list[Sentence], SearchOptions], list[Sentence]]
IDLE = 1.0  # seconds after which a thread without work looks after its process
SURE = 0.75  # of the time of a request: what is expected to take longer is refused


def search_here(
    translator: Translator, sentences: list[Sentence], options: SearchOptions
) -> list[Sentence]:
    """Return the sentences with checked translations, computed in this process.

    They are of several requests, so that their places in the batch are their lines.
    """
    numbered = [each._replace(line=line, part=0) for line, each in enumerate(sentences)]
    return translator.checker.translate(numbered, options)


class Order:
    """The sentences of one request, and the translations so far.

    is_streamed: the request wants to know of each translation, by `news`.
    """

    def __init__(
        self,
        translator: Translator,
        sentences: Sequence[Sentence],
        options: SearchOptions,
        seconds: float,
        is_streamed: bool = False,
    ) -> None:
        self.translator, self.sentences, self.options = translator, sentences, options
        self.begun, self.seconds = time.monotonic(), seconds
        self.deadline = self.begun + seconds  # for its next turn
        self.next, self.left = 0, len(sentences)
        self.translated: list[Sentence | None] = [None] * len(sentences)
        self.error: ApiError | None = None  # of the last sentence that cannot be translated
        self._loop = asyncio.get_running_loop()
        self.answer: asyncio.Future[list[Sentence]] = self._loop.create_future()
        self.news = asyncio.Event() if is_streamed else None

    @property
    def key(self) -> Key:
        """Return the key; requests with equal keys may be translated together."""
        return id(self.translator), self.options.decode, self.options.n_best

    @property
    def waiting(self) -> int:
        """Return how many sentences are in no batch yet."""
        return len(self.sentences) - self.next

    def take(self) -> int:
        """Return the place of the next sentence; those behind it wait anew from now on."""
        self.next += 1
        self.deadline = time.monotonic() + self.seconds
        return self.next - 1

    def put(self, place: int, sentence: Sentence) -> None:
        self.translated[place] = sentence
        self.left -= 1
        if not self.left:
            translated = [each for each in self.translated if each is not None]
            self._resolve(lambda: self.answer.set_result(translated))
        elif self.news:
            self._call(self.news.set)

    def keep(self, place: int, error: ApiError) -> None:
        """Leave a sentence as it is, since it cannot be translated."""
        self.error = error
        self.put(place, keep_source(self.sentences[place], error.sentence))

    def check(self) -> None:
        """Raise ApiError if no sentence can be translated."""
        translated = self.answer.result()
        if all(map(is_kept, translated)):
            raise self.error or ApiError(400, translated[0].problems[0].said)

    async def list_arrivals(self) -> AsyncGenerator[list[Sentence], None]:
        """Yield the translated sentences in order, those together that are known by then.

        Of the order of a stream. Raises ApiError if they waited too long.
        """
        assert self.news
        count = 0
        while count < len(self.sentences):
            self.news.clear()
            translated = [*takewhile(bool, self.translated[count:])]
            if not translated:
                await self.news.wait()
                if self.answer.done():
                    self.answer.result()
            else:
                count += len(translated)
                yield [each for each in translated if each]

    def fail(self, error: Exception) -> None:
        self._resolve(lambda: self.answer.set_exception(error))

    def _resolve(self, act: Callable[[], object]) -> None:
        def once() -> None:
            if not self.answer.done():
                act()
            if self.news:
                self.news.set()

        self._call(once)

    def _call(self, act: Callable[[], object]) -> None:
        with suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(act)


class Batcher:
    """Threads that translate, with a bounded queue of sentences and a cache of answers.

    There is a thread for each of `searches`, which may be called at the same time.
    """

    def __init__(
        self,
        limits: Limits,
        observe: Callable[[int, float], object] = lambda size, seconds: None,
        searches: Sequence[Search] = (search_here,),
        answers: AnswerCache | None = None,
    ) -> None:
        self.limits, self.observe = limits, observe
        self.answers = answers or AnswerCache(0)
        self.waiting = 0  # sentences accepted and not yet in a batch
        self._under_way = 0  # sentences in batches
        self._orders: deque[Order] = deque()
        self._wake = threading.Condition()
        self._is_closed = False
        self._told = ""  # the last internal error
        self._pace = 0.0  # seconds for a sentence, a running average; 0: not known yet
        self._threads = [
            threading.Thread(target=self._work, args=(search,), name="batcher", daemon=True)
            for search in searches
        ]
        for thread in self._threads:
            thread.start()

    async def search(
        self, translator: Translator, sentences: Sequence[Sentence], options: SearchOptions
    ) -> list[Sentence]:
        """Return the sentences with checked translations; repeated ones come from the cache.

        A sentence that cannot be translated stays as it is. Raises ApiError if all are such, if the
        queue is full, or if the sentences waited too long.
        """
        known, missing = self._find(translator, sentences, options)
        if missing:
            order = self._order(translator, missing, options)
            await order.answer
            if not known:
                order.check()
            known |= self._keep(order)
        return [each.take(known[each.question]) for each in sentences]

    async def stream(
        self, translator: Translator, sentences: Sequence[Sentence], options: SearchOptions
    ) -> AsyncGenerator[list[Sentence], None]:
        """Yield what `search` returns, in order, the sentences together that are known by then.

        The request is accepted as a whole, or refused. If no sentence can be translated, it raises
        ApiError once all have been yielded.
        """
        known, missing = self._find(translator, sentences, options)
        are_new, count = not known, 0

        def take() -> list[Sentence]:
            ready = takewhile(lambda each: each.question in known, sentences[count:])
            return [each.take(known[each.question]) for each in ready]

        if ready := take():
            count += len(ready)
            yield ready
        if not missing:
            return
        order = self._order(translator, missing, options, is_streamed=True)
        try:
            async with aclosing(order.list_arrivals()) as arrivals:
                async for arrived in arrivals:
                    known |= {each.question: each for each in arrived}
                    if ready := take():
                        count += len(ready)
                        yield ready
            await order.answer
            self._keep(order)
            if are_new:
                order.check()
        finally:
            order.answer.cancel()

    def _find(
        self, translator: Translator, sentences: Sequence[Sentence], options: SearchOptions
    ) -> tuple[dict[Question, Sentence], list[Sentence]]:
        """Return the sentences that the cache knows, and one of each that it does not."""
        known = self.answers.find(translator, sentences, options)
        different = dict[Question, Sentence]()
        for each in sentences:
            different.setdefault(each.question, each)
        return known, [each for question, each in different.items() if question not in known]

    def _keep(self, order: Order) -> dict[Question, Sentence]:
        """Return the translations of an order by question; the cache keeps the good ones."""
        translated = order.answer.result()
        good = [each for each in translated if not is_kept(each)]
        self.answers.keep(order.translator, good, order.options)
        return {each.question: each for each in translated}

    def _order(
        self,
        translator: Translator,
        sentences: Sequence[Sentence],
        options: SearchOptions,
        is_streamed: bool = False,
    ) -> Order:
        """Return an order of sentences that has been accepted. Raises ApiError if it is not."""
        order = Order(translator, sentences, options, self.limits.seconds, is_streamed)
        left = find_time_left(self.limits.seconds)
        with self._wake:
            if self._is_closed:
                raise ApiError(503, "the server is ending", 5)
            self._drop_ended()
            is_full = self.waiting + len(sentences) > self.limits.waiting
            if self.waiting and (is_full or self._estimate(len(sentences)) > SURE * left):
                raise ApiError(503, "too much to do: try again later", self.estimate_wait())
            self.waiting += len(sentences)
            self._orders.append(order)
            self._wake.notify_all()
        return order

    def _estimate(self, count: int) -> float:
        """Return the seconds after which an order of so many sentences will be done.

        Of each order before it only as many sentences are translated meanwhile, in turns.
        """
        others = sum(min(each.waiting, count) for each in self._orders)
        return (self._under_way + others + count) * self._pace / len(self._threads)

    def estimate_wait(self) -> int:
        """Return the seconds after which half of the queue will be done, 1 to 60."""
        return min(60, max(1, math.ceil(self.waiting * self._pace / 2 / len(self._threads))))

    def close(self) -> None:
        """Finish the accepted sentences, and end the threads."""
        with self._wake:
            self._is_closed = True
            self._wake.notify_all()
        for thread in self._threads:
            thread.join()

    def _work(self, search: Search) -> None:
        look = getattr(search, "look", lambda: None)
        while True:
            with self._wake:
                if not self._orders and not self._is_closed:
                    self._wake.wait(IDLE)
                if not self._orders and self._is_closed:
                    return
                batch = self._take() if self._orders else []
                is_busy = bool(self._orders)
            if not batch:
                look()
            else:
                begun = time.monotonic()
                self._translate(batch, search)
                seconds = time.monotonic() - begun
                with self._wake:
                    self._under_way -= len(batch)
                    self._keep_pace(seconds / len(batch), is_busy)
                self.observe(len(batch), seconds)

    def _keep_pace(self, pace: float, is_busy: bool) -> None:
        """Add the pace of a batch to the average.

        A small batch of a server that is not busy takes longer for a sentence than a large one, so
        it can only lower the average.
        """
        if not self._pace:
            self._pace = pace
        elif is_busy or pace < self._pace:
            self._pace += 0.1 * (pace - self._pace)

    def _take(self) -> list[tuple[Order, int]]:
        """Return the next batch: one sentence of each request in turn, all with the first's key."""
        self._drop_ended()
        if not self._orders:
            return []
        key, others = self._orders[0].key, deque[Order]()
        batch: list[tuple[Order, int]] = []
        while self._orders and len(batch) < self.limits.batch:
            order = self._orders.popleft()
            if order.key != key:
                others.append(order)
                continue
            batch.append((order, order.take()))
            if order.waiting:
                self._orders.append(order)
        self._orders = others + self._orders
        self.waiting -= len(batch)
        self._under_way += len(batch)
        return batch

    def _drop_ended(self) -> None:
        """Drop requests that were cancelled, and fail those past their deadline."""
        now, alive = time.monotonic(), deque[Order]()
        for order in self._orders:
            if order.answer.done() or now > order.deadline:
                self.waiting -= order.waiting
                message = f"this waited longer than {order.seconds:g} seconds"
                order.fail(ApiError(503, message, self.estimate_wait()))
            else:
                alive.append(order)
        self._orders = alive

    def _translate(self, batch: list[tuple[Order, int]], search: Search) -> None:
        first = batch[0][0]
        sentences = [order.sentences[place] for order, place in batch]
        try:
            translated = search(first.translator, sentences, first.options)
        except Exception as error:
            self._fail(batch, error, search)
            return
        with self._wake:
            for (order, place), sentence in zip(batch, translated, strict=True):
                order.put(place, sentence)

    def _fail(self, batch: list[tuple[Order, int]], error: Exception, search: Search) -> None:
        """Translate a failed batch again in halves, until only the sentence at fault stays."""
        if len(batch) > 1:
            middle = len(batch) // 2
            self._translate(batch[:middle], search)
            self._translate(batch[middle:], search)
            return
        ((order, place),) = batch
        if isinstance(error, ValueError):
            result = ApiError(400, str(error))
        else:
            if repr(error) != self._told:  # log an error once: there may be thousands
                log.error("internal error", exc_info=error)
                self._told = repr(error)
            result = ApiError(500, "internal error")
        with self._wake:
            order.keep(place, result)
