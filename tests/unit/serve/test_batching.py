"""Sentences of many requests, translated together: none lost, none swapped, nobody starved."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from itertools import chain
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the extra `serve` is not installed")

from glassformer.config import Decode
from glassformer.extensions.serve.api_error import ApiError
from glassformer.extensions.serve.limits import Limits
from glassformer.extensions.serve.service import batching
from glassformer.extensions.serve.service.answers import AnswerCache
from glassformer.extensions.serve.service.batching import Batcher
from glassformer.translate.options import SearchOptions
from glassformer.translate.sentence import Sentence, Translation


class Echo:
    """Translates a sentence into itself, when the gate is open."""

    def __init__(self) -> None:
        self.checker = self
        self.batches: list[list[str]] = []
        self.gate, self.begun = threading.Event(), threading.Event()
        self.gate.set()

    def translate(self, sentences: Sequence[Sentence], options: SearchOptions) -> list[Sentence]:
        texts = [each.text for each in sentences]
        assert [each.line for each in sentences] == [*range(len(texts))]
        self.begun.set()
        self.gate.wait(10)
        if "bad" in texts:
            raise ValueError("a bad sentence")
        self.batches.append(texts)
        ways = [[Translation(text.upper(), [], 0.0, 0.0, [], True, [])] for text in texts]
        return [each._replace(translations=way) for each, way in zip(sentences, ways, strict=True)]


@pytest.fixture
def run() -> Iterator[Callable[..., Any]]:
    """Runs a test's coroutine with a batcher; closes it."""
    made: list[Batcher] = []

    def go(work: Callable[[Batcher], Coroutine[Any, Any, Any]], **limits: Any) -> Any:
        batcher = Batcher(Limits(**limits))
        made.append(batcher)
        return asyncio.run(work(batcher))

    yield go
    for batcher in made:
        batcher.close()


async def ask(batcher: Batcher, echo: Any, *texts: str, n_best: int = 1) -> list[str]:
    options = SearchOptions(Decode(), n_best)
    found = await batcher.search(echo, [*map(Sentence, texts)], options)
    assert [each.text for each in found] == [*texts]
    return [each.translations[0].text for each in found]


def test_each_gets_its_own(run: Callable[..., Any]) -> None:
    echo = Echo()

    async def work(batcher: Batcher) -> list[list[str]]:
        orders = [[f"{n}-{i}" for i in range(n % 7)] for n in range(60)]
        found = await asyncio.gather(*(ask(batcher, echo, *order) for order in orders))
        assert found == [[text.upper() for text in order] for order in orders]
        return orders

    orders = run(work, batch=8)
    assert sorted(chain(*echo.batches)) == sorted(chain(*orders))
    assert max(map(len, echo.batches)) == 8


def test_what_gathers_goes_together_and_requests_take_turns(run: Callable[..., Any]) -> None:
    echo = Echo()
    echo.gate.clear()

    async def work(batcher: Batcher) -> None:
        first = asyncio.ensure_future(ask(batcher, echo, "first"))
        await asyncio.to_thread(echo.begun.wait, 10)
        large = asyncio.ensure_future(ask(batcher, echo, *(f"l{n}" for n in range(10))))
        small = asyncio.ensure_future(ask(batcher, echo, "s0", "s1"))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        echo.gate.set()
        await asyncio.gather(first, large, small)

    run(work, batch=4)
    assert echo.batches[:2] == [["first"], ["l0", "s0", "l1", "s1"]]


def test_other_settings_are_another_batch(run: Callable[..., Any]) -> None:
    echo = Echo()
    echo.gate.clear()

    async def work(batcher: Batcher) -> None:
        first = asyncio.ensure_future(ask(batcher, echo, "first"))
        await asyncio.to_thread(echo.begun.wait, 10)
        others = [
            asyncio.ensure_future(ask(batcher, echo, f"{n}", n_best=n % 2 + 1)) for n in range(6)
        ]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        echo.gate.set()
        await asyncio.gather(first, *others)

    run(work)
    assert echo.batches == [["first"], ["0", "2", "4"], ["1", "3", "5"]]


def test_only_waiting_counts_against_the_time_of_an_order(run: Callable[..., Any]) -> None:
    """What is being translated does not wait, however many sentences it has."""
    echo = Echo()
    waited = list[ApiError]()

    async def work(batcher: Batcher) -> None:
        search = echo.checker.translate

        def slowly(sentences: Any, options: Any) -> Any:
            time.sleep(0.15)
            return search(sentences, options)

        echo.checker.translate = slowly
        await ask(batcher, echo, *map(str, range(12)))  # some 0.9 seconds
        echo.gate.clear()
        first = asyncio.ensure_future(ask(batcher, echo, "first"))
        await asyncio.sleep(0.3)
        late = asyncio.ensure_future(ask(batcher, echo, "late"))
        await asyncio.sleep(0.8)
        echo.gate.set()
        await first
        with pytest.raises(ApiError, match=r"waited longer than 0\.5 seconds") as caught:
            await late
        waited.append(caught.value)

    run(work, batch=2, seconds=0.5)
    assert waited


def test_full(run: Callable[..., Any]) -> None:
    echo = Echo()
    echo.gate.clear()

    async def work(batcher: Batcher) -> None:
        first = asyncio.ensure_future(ask(batcher, echo, "first"))
        await asyncio.to_thread(echo.begun.wait, 10)
        second = asyncio.ensure_future(ask(batcher, echo, "a", "b"))
        await asyncio.sleep(0)
        with pytest.raises(ApiError, match="too much to do") as caught:
            await ask(batcher, echo, "c", "d")
        assert caught.value.status == 503 and int(caught.value.headers["Retry-After"]) >= 1
        echo.gate.set()
        assert await first == ["FIRST"] and await second == ["A", "B"]
        assert await ask(batcher, echo, "c", "d", "e", "f") == ["C", "D", "E", "F"]
        assert batcher.waiting == 0

    run(work, waiting=3)


def test_what_cannot_be_done_in_time_is_refused_at_once(run: Callable[..., Any]) -> None:
    """At a second each, 45 sentences fit; a short request has its turn among long ones."""
    echo = Echo()
    echo.gate.clear()

    async def work(batcher: Batcher) -> None:
        batcher._pace = 1.0
        orders = [asyncio.ensure_future(ask(batcher, echo, "first"))]
        await asyncio.to_thread(echo.begun.wait, 10)
        for count in range(5):
            texts = [f"{count} {number}" for number in range(10)]
            orders.append(asyncio.ensure_future(ask(batcher, echo, *texts)))
        await asyncio.sleep(0)
        assert batcher.waiting == 40
        with pytest.raises(ApiError, match="too much to do"):
            await orders.pop()
        orders.append(asyncio.ensure_future(ask(batcher, echo, "short")))
        orders.pop(1).cancel()
        await asyncio.sleep(0)
        orders.append(asyncio.ensure_future(ask(batcher, echo, *map(str, range(10)))))
        await asyncio.sleep(0)
        assert batcher.waiting == 41
        echo.gate.set()
        await asyncio.gather(*orders)
        assert batcher.waiting == batcher._under_way == 0

    run(work, seconds=60)


def test_in_overload_those_accepted_are_answered(
    run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sentence takes 0.1 s, by a clock that only translations move."""
    echo, clock = Echo(), SimpleNamespace(now=0.0)
    monkeypatch.setattr(batching, "time", SimpleNamespace(monotonic=lambda: clock.now))
    search = echo.translate

    def slowly(sentences: Any, options: Any) -> Any:
        clock.now += 0.1 * len(sentences)
        return search(sentences, options)

    echo.translate = slowly  # type: ignore[method-assign]
    ends = list[float]()

    async def work(batcher: Batcher) -> None:
        await ask(batcher, echo, "the pace is known from now on")
        echo.gate.clear()
        first = asyncio.ensure_future(ask(batcher, echo, "first"))
        echo.begun.clear()
        await asyncio.to_thread(echo.begun.wait, 10)
        begun = clock.now

        async def one(number: int) -> None:
            await ask(batcher, echo, *(f"{number} {place}" for place in range(40)))
            ends.append(clock.now - begun)

        orders = [asyncio.ensure_future(one(number)) for number in range(300)]
        await asyncio.sleep(0)
        echo.gate.set()
        refused = await asyncio.gather(*orders, return_exceptions=True)
        await first
        assert all(isinstance(each, ApiError) for each in refused if each)

    run(work, seconds=60)
    assert len(ends) == 11 and max(ends) < 60


def test_the_pace_is_that_of_a_server_that_has_much_to_do(run: Callable[..., Any]) -> None:
    async def work(batcher: Batcher) -> None:
        assert batcher.estimate_wait() == 1
        for pace, is_busy, expected in (
            (2.0, False, 2.0),  # the first
            (3.0, False, 2.0),  # a small batch takes longer for each sentence
            (1.0, False, 1.9),
            (2.9, True, 2.0),
        ):
            batcher._keep_pace(pace, is_busy)
            assert batcher._pace == pytest.approx(expected)

    run(work)


def test_too_late(run: Callable[..., Any]) -> None:
    echo = Echo()
    echo.gate.clear()

    async def work(batcher: Batcher) -> None:
        first = asyncio.ensure_future(ask(batcher, echo, "first"))
        await asyncio.to_thread(echo.begun.wait, 10)
        late = asyncio.ensure_future(ask(batcher, echo, "late"))
        await asyncio.sleep(0.15)
        echo.gate.set()
        assert await first == ["FIRST"]
        with pytest.raises(ApiError, match="waited longer"):
            await late
        assert batcher.waiting == 0

    run(work, seconds=0.1)
    assert echo.batches == [["first"]]


def test_a_bad_sentence_stays_as_it_is(run: Callable[..., Any]) -> None:
    """It fails a request of its own, and no sentence beside it, of whatever request."""
    echo = Echo()
    echo.gate.clear()

    async def work(batcher: Batcher) -> None:
        first = asyncio.ensure_future(ask(batcher, echo, "first"))
        await asyncio.to_thread(echo.begun.wait, 10)
        good = asyncio.ensure_future(ask(batcher, echo, "good", "also good"))
        mixed = asyncio.ensure_future(ask(batcher, echo, "well", "bad"))
        alone = asyncio.ensure_future(ask(batcher, echo, "bad"))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        echo.gate.set()
        assert await first and await good == ["GOOD", "ALSO GOOD"]
        assert await mixed == ["WELL", "bad"]
        with pytest.raises(ApiError, match="a bad sentence") as caught:
            await alone
        assert caught.value.status == 400

    run(work)


def test_what_failed_is_not_kept_in_the_cache() -> None:
    echo = Echo()
    batcher = Batcher(Limits(), answers=AnswerCache(10**6, lambda translator: "model"))

    async def work() -> None:
        for _ in range(2):
            assert await ask(batcher, echo, "well", "bad") == ["WELL", "bad"]
        with pytest.raises(ApiError, match="a bad sentence"):
            await ask(batcher, echo, "bad")

    try:
        asyncio.run(work())
    finally:
        batcher.close()
    assert batcher.answers.hits == 1


def test_an_internal_error_is_told_once(
    run: Callable[..., Any], caplog: pytest.LogCaptureFixture
) -> None:
    class Broken(Echo):
        def translate(self, sentences: Any, options: Any) -> list[Sentence]:
            raise AttributeError("no such symbol")

    async def work(batcher: Batcher) -> None:
        texts = [f"text {number}" for number in range(9)]
        found = await asyncio.gather(
            *(ask(batcher, Broken(), text) for text in texts), return_exceptions=True
        )
        assert [(error.status, error.sentence) for error in found] == [(500, "internal error")] * 9

    run(work)
    assert len(caplog.records) == 1


def test_who_left_is_not_translated(run: Callable[..., Any]) -> None:
    echo = Echo()
    echo.gate.clear()

    async def work(batcher: Batcher) -> None:
        first = asyncio.ensure_future(ask(batcher, echo, "first"))
        await asyncio.to_thread(echo.begun.wait, 10)
        left = asyncio.ensure_future(ask(batcher, echo, "left", "left too"))
        await asyncio.sleep(0)
        left.cancel()
        await asyncio.sleep(0)
        echo.gate.set()
        assert await first and await ask(batcher, echo, "last") == ["LAST"]
        assert batcher.waiting == 0

    run(work)
    assert echo.batches == [["first"], ["last"]]


def test_closing_finishes_what_was_accepted() -> None:
    echo, batcher = Echo(), Batcher(Limits(batch=1))
    echo.gate.clear()

    async def work() -> None:
        orders = [asyncio.ensure_future(ask(batcher, echo, str(n))) for n in range(5)]
        await asyncio.to_thread(echo.begun.wait, 10)
        closing = asyncio.ensure_future(asyncio.to_thread(batcher.close))
        await asyncio.sleep(0.05)
        with pytest.raises(ApiError, match="ending"):
            await ask(batcher, echo, "too late")
        echo.gate.set()
        await closing
        assert await asyncio.gather(*orders) == [[str(n)] for n in range(5)]

    asyncio.run(work())


def test_an_idle_server_answers_at_once(run: Callable[..., Any]) -> None:
    echo = Echo()

    async def work(batcher: Batcher) -> float:
        await ask(batcher, echo, "warm")
        begun = time.perf_counter()
        for _ in range(20):
            await ask(batcher, echo, "alone")
        return (time.perf_counter() - begun) / 20

    assert run(work) < 0.05
