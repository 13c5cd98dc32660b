"""Without a cache, too, a request makes one search of each of its sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from time import monotonic, sleep
from typing import Any

import pytest

from glassformer import Translator
from glassformer.extensions.serve.limits import Limits
from glassformer.extensions.serve.running import make_service
from glassformer.extensions.serve.service.batching import Order
from glassformer.translate.checking import Checker
from glassformer.translate.options import SearchOptions
from glassformer.translate.sentence import Sentence

from .conftest import Client, start

TEXTS = ["The black dog is tired. I am a student.", "The cat is on the mat."]
INSIDE = {"alignment": True, "confidence": True}
COUNT = 3  # sentences of TEXTS


@pytest.fixture(scope="module")
def uncached() -> Iterator[Client]:
    yield from start(make_service(["demo"], device="cpu", limits=Limits(cache=0)))


@pytest.fixture
def searched(uncached: Client, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The sentences that are searched from here on."""
    batcher, texts = uncached.service.translation_service.batcher, list[str]()
    accept = batcher._order

    def count(
        translator: Translator, sentences: Sequence[Sentence], *rest: Any, **keywords: Any
    ) -> Order:
        texts.extend(each.text for each in sentences)
        return accept(translator, sentences, *rest, **keywords)

    monkeypatch.setattr(batcher, "_order", count)
    return texts


@pytest.mark.parametrize("asked", [{}, {"alternatives": 2}, INSIDE, {**INSIDE, "alternatives": 2}])
def test_each_sentence_is_searched_once(
    uncached: Client, searched: list[str], asked: dict[str, object]
) -> None:
    request = {"q": TEXTS, "source": "en", "target": "fr", **asked}
    answer = uncached.ask("/translate", request)
    assert answer.status == 200 and len(searched) == COUNT, answer.body
    assert ("alignment" in answer.json) == ("alignment" in asked)


@pytest.mark.parametrize("asked", [{}, INSIDE])
def test_a_stream_and_its_end_share_their_searches(
    uncached: Client, searched: list[str], asked: dict[str, object]
) -> None:
    request = {"q": " ".join(TEXTS), "source": "en", "target": "fr", **asked}
    events = uncached.stream("/translate", request)
    assert [name for name, _ in events] == [*["sentence"] * COUNT, "done"]
    assert len(searched) == COUNT
    assert events[-1][1] == uncached.ask("/translate", request).json


def test_a_stream_goes_on_from_half_a_name() -> None:
    for client in start(make_service(["everyday-en-fr"], device="cpu")):
        asked = {"text": "Okonkwo is my friend.", "prefix": "Okon"}
        assert client.ask("/api/translate", asked).json["translation"] == "Okonkwo est mon ami."


def test_a_stream_without_any_translation_ends_with_the_reason(
    uncached: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    translate = Checker.translate

    def fail(
        checker: Checker, sentences: Sequence[Sentence], options: SearchOptions
    ) -> list[Sentence]:
        if any("dog" in each.text for each in sentences):
            raise ValueError("no dogs")
        return translate(checker, sentences, options)

    monkeypatch.setattr(Checker, "translate", fail)
    request = {"q": TEXTS[0], "source": "en", "target": "fr", "confidence": True}
    events = uncached.stream("/translate", request)
    (_, kept), _, (_, done) = events
    assert kept["translatedText"] == "The black dog is tired." and done["confidence"] == 0
    assert done["translatedText"] == "The black dog is tired. Je suis étudiant."
    events = uncached.stream("/translate", {**request, "q": "The dog. A dog."})
    assert events[-1] == ("error", {"error": "no dogs"})


def test_a_long_stream_is_accepted_as_a_whole() -> None:
    """As the same text without a stream is, though more sentences than may wait."""
    service = make_service(["demo"], device="cpu", limits=Limits(cache=0, waiting=4, batch=2))
    for client in start(service):
        text = " ".join([f"The cat has {number} dogs." for number in range(2, 14)])
        request = {"q": text, "source": "en", "target": "fr"}
        events = client.stream("/translate", request)
        assert [name for name, _ in events] == [*["sentence"] * 12, "done"]
        assert events[-1][1] == client.ask("/translate", request).json


def test_a_stream_ends_at_the_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    translate = Checker.translate

    def wait(
        checker: Checker, sentences: Sequence[Sentence], options: SearchOptions
    ) -> list[Sentence]:
        sleep(0.4)
        return translate(checker, sentences, options)

    monkeypatch.setattr(Checker, "translate", wait)
    service = make_service(["demo"], device="cpu", limits=Limits(cache=0, batch=1, seconds=1.0))
    for client in start(service):
        text = " ".join([f"The cat has {number} dogs." for number in range(2, 14)])
        begun = monotonic()
        *events, end = client.stream("/translate", {"q": text, "source": "en", "target": "fr"})
        assert end == ("error", {"error": "this took longer than 1 seconds"})
        assert 1 <= len(events) <= 3 and monotonic() - begun < 3


def test_what_is_seen_is_of_the_translation_that_is_given(uncached: Client) -> None:
    """With alternatives, the best one may be another than that of a search for one."""
    request = {"q": TEXTS, "source": "en", "target": "fr", "alternatives": 3, **INSIDE}
    answer = uncached.ask("/translate", request).json
    assert all(len(others) == 3 for others in answer["alternatives"])
    for text, links in zip(answer["translatedText"], answer["alignment"], strict=True):
        words = text.replace(".", " .").split()
        assert links and all(text[slice(*each["target"])] in words for each in links)
    for text, sentences in zip(answer["translatedText"], answer["sentences"], strict=True):
        parts = [text[slice(*each["target"])] for each in sentences]
        assert " ".join(parts) == text
