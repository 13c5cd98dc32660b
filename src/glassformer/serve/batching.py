"""Dynamic batching: sentences of many requests are translated together.

The next batch collects while one is translated. An idle server therefore translates at once, and
a busy one in large batches. Requests take turns, sentence by sentence.
"""

from __future__ import annotations

import asyncio
import logging
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress

from ..checks import quality_check
from ..config import Decode
from ..translator import Translation, Translator
from .api_error import ApiError
from .limits import Limits

log = logging.getLogger("glassformer.serve")
Found = list[list[Translation]]
Key = tuple[int, Decode, int]


class Order:
    """The sentences of one request, and the translations found so far."""

    def __init__(
        self,
        translator: Translator,
        sentences: Sequence[str],
        decode: Decode,
        n_best: int,
        seconds: float,
    ) -> None:
        self.translator, self.sentences = translator, sentences
        self.decode, self.n_best = decode, n_best
        self.begun = time.monotonic()
        self.deadline, self.seconds = self.begun + seconds, seconds
        self.next, self.left = 0, len(sentences)
        self.found: Found = [[] for _ in sentences]
        self._loop = asyncio.get_running_loop()
        self.answer: asyncio.Future[Found] = self._loop.create_future()

    @property
    def key(self) -> Key:
        """Return the key; requests with equal keys may be translated together."""
        return id(self.translator), self.decode, self.n_best

    def put(self, place: int, best: list[Translation]) -> None:
        self.found[place] = best
        self.left -= 1
        if not self.left:
            self._tell(lambda: self.answer.set_result(self.found))

    def fail(self, error: Exception) -> None:
        self._tell(lambda: self.answer.set_exception(error))

    def _tell(self, act: Callable[[], object]) -> None:
        def once() -> None:
            if not self.answer.done():
                act()

        with suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(once)


class Batcher:
    """A thread that translates, with a bounded queue of sentences."""

    def __init__(
        self, limits: Limits, observe: Callable[[int, float], object] = lambda size, seconds: None
    ) -> None:
        self.limits, self.observe = limits, observe
        self.waiting = 0  # sentences accepted and not yet translated
        self._orders: deque[Order] = deque()
        self._wake = threading.Condition()
        self._is_closed = False
        self._told = ""  # the last internal error
        self._pace = 0.01  # seconds for a sentence, a running average
        self._thread = threading.Thread(target=self._work, name="batcher", daemon=True)
        self._thread.start()

    async def search(
        self, translator: Translator, sentences: Sequence[str], decode: Decode, n_best: int = 1
    ) -> Found:
        """Return the best translations of each sentence.

        Raises ApiError if the queue is full, or if the sentences waited too long.
        """
        if not sentences:
            return []
        order = Order(translator, sentences, decode, n_best, self.limits.seconds)
        with self._wake:
            if self._is_closed:
                raise ApiError(503, "the server is ending", 5)
            if self.waiting and self.waiting + len(sentences) > self.limits.waiting:
                raise ApiError(503, "too much to do: try again later", self.say_when())
            self.waiting += len(sentences)
            self._orders.append(order)
            self._wake.notify()
        return await order.answer

    def say_when(self) -> int:
        """Return the seconds after which half of the queue will be done, 1 to 60."""
        return min(60, max(1, math.ceil(self.waiting * self._pace / 2)))

    def close(self) -> None:
        """Finish the accepted sentences, and end the thread."""
        with self._wake:
            self._is_closed = True
            self._wake.notify()
        self._thread.join()

    def _work(self) -> None:
        while True:
            with self._wake:
                while not self._orders and not self._is_closed:
                    self._wake.wait()
                if not self._orders:
                    return
                batch = self._take()
            if batch:
                begun = time.monotonic()
                self._translate(batch)
                seconds = time.monotonic() - begun
                self._pace += 0.1 * (seconds / len(batch) - self._pace)
                self.observe(len(batch), seconds)

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
            batch.append((order, order.next))
            order.next += 1
            if order.next < len(order.sentences):
                self._orders.append(order)
        self._orders = others + self._orders
        self.waiting -= len(batch)
        return batch

    def _drop_ended(self) -> None:
        """Drop requests that were cancelled, and fail those past their deadline."""
        now, alive = time.monotonic(), deque[Order]()
        for order in self._orders:
            if order.answer.done() or now > order.deadline:
                self.waiting -= len(order.sentences) - order.next
                said = f"this waited longer than {order.seconds:g} seconds"
                order.fail(ApiError(503, said, self.say_when()))
            else:
                alive.append(order)
        self._orders = alive

    def _translate(self, batch: list[tuple[Order, int]]) -> None:
        first = batch[0][0]
        try:
            found = quality_check.search_checked(
                first.translator,
                [order.sentences[place] for order, place in batch],
                again=first.n_best == 1,
                decode=first.decode,
                n_best=first.n_best,
                split=False,
            )
        except Exception as error:
            self._fail(batch, error)
            return
        for (order, place), judged in zip(batch, found, strict=True):
            order.put(place, judged.best)

    def _fail(self, batch: list[tuple[Order, int]], error: Exception) -> None:
        """Translate a failed batch again in halves, so that only the request at fault fails."""
        if len(batch) > 1:
            middle = len(batch) // 2
            self._translate(batch[:middle])
            self._translate(batch[middle:])
            return
        ((order, _),) = batch
        if isinstance(error, ValueError):
            order.fail(ApiError(400, str(error)))
        else:
            if repr(error) != self._told:  # log an error once: there may be thousands
                log.error("internal error", exc_info=error)
                self._told = repr(error)
            order.fail(ApiError(500, "internal error"))
