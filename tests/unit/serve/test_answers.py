"""The cache of answers: right, bounded, and keyed by all that decides an answer."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the extra `serve` is not installed")

from glassformer.config import Decode
from glassformer.extensions.serve.service.answers import AnswerCache, measure
from glassformer.extensions.serve.service.model_pool import ModelPool
from glassformer.translate.options import SearchOptions
from glassformer.translate.sentence import Sentence, Translation

from .conftest import Client

MODEL: Any = SimpleNamespace()


def translate(text: str, to: str) -> Sentence:
    translation = Translation(to, [*to], -1.0, -1.0, [-1.0] * 5, True, [])
    return Sentence(text, ids=[5, 2], translations=[translation])


def forget(sentence: Sentence) -> Sentence:
    return sentence._replace(ids=())


def make(most: int = 1 << 20) -> AnswerCache:
    return AnswerCache(most, lambda translator: "digest")


def test_what_is_found() -> None:
    answers, beam, (a, b, c) = make(), SearchOptions(Decode()), map(Sentence, "abc")
    answers.keep(MODEL, [translate("a", "A"), translate("b", "B")], beam)
    assert answers.find(MODEL, [b, c, b], beam) == {b.question: forget(translate("b", "B"))}
    assert (answers.hits, answers.misses) == (2, 1)
    for other in (SearchOptions(Decode(beam=2)), SearchOptions(Decode(), 2)):
        assert not answers.find(MODEL, [a], other)
    for other in (a._replace(context="b"), a._replace(prefix="A")):
        assert not answers.find(MODEL, [other], beam)
    answers.identify = lambda translator: "another digest"
    assert not answers.find(MODEL, [a], beam)


def test_samples_are_not_kept() -> None:
    answers, sample = make(), SearchOptions(Decode(search="sample"))
    answers.keep(MODEL, [translate("a", "A")], sample)
    assert not answers.find(MODEL, [Sentence("a")], sample) and not answers.size


def test_it_stays_within_its_bytes() -> None:
    answers, options = make(20_000), SearchOptions(Decode())
    for number in range(1000):
        answers.keep(MODEL, [translate(f"text {number}", f"said {number}")], options)
        assert answers.size <= answers.most
        assert answers.find(MODEL, [Sentence("text 0")], options)  # used all the time
    assert 5 < len(answers._kept) < 40
    assert answers.size == sum(size for _, size in answers._kept.values())
    answers.keep(MODEL, [translate("text 0", "x" * 50_000)], options)
    assert answers.size <= answers.most


def test_what_a_sentence_takes() -> None:
    import tracemalloc

    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        kept = [translate("", f"le chat numéro {number}") for number in range(200)]
        taken = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert 0.7 < sum(map(measure, kept)) / taken < 3


def test_a_model_has_a_digest_of_its_files() -> None:
    pool = ModelPool(["demo", "demo-fr-en"], device="cpu")
    one, other = pool.models.values()
    assert pool.identify(pool.load(one)) == one.digest() != other.digest()
    assert pool.name(pool.load(other)) == other.id and len(one.digest()) == 64


def test_metrics_show_hits(client: Client) -> None:
    given = {"q": "The old cat is tired.", "source": "en", "target": "fr"}
    first = client.ask("/translate", given).json
    before = client.service.batcher.answers.hits
    assert client.ask("/translate", given).json == first
    assert client.service.batcher.answers.hits == before + 1
    assert f"glassformer_answers_hits {before + 1}.0" in client.ask("/metrics").body.decode()
