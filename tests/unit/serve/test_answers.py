"""The cache of answers: right, bounded, and keyed by all that decides an answer."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the extra `serve` is not installed")

from glassformer.checks.quality_check import Judged
from glassformer.config import Decode
from glassformer.extensions.serve.service.answers import AnswerCache, measure
from glassformer.extensions.serve.service.model_pool import ModelPool
from glassformer.translation import Translation

from .conftest import Client

MODEL: Any = SimpleNamespace()


def judge(text: str) -> Judged:
    return Judged([Translation(text, [*text], -1.0, -1.0, [-1.0] * 5, True, [])], (), 0.9, False)


def make(most: int = 1 << 20) -> AnswerCache:
    return AnswerCache(most, lambda translator: "digest")


def test_what_is_found() -> None:
    answers, beam = make(), Decode()
    answers.keep(MODEL, ["a", "b"], beam, 1, [judge("A"), judge("B")])
    assert answers.find(MODEL, ["b", "c", "b"], beam, 1) == {"b": judge("B")}
    assert (answers.hits, answers.misses) == (2, 1)
    for decode, n_best in ((Decode(beam=2), 1), (beam, 2)):
        assert not answers.find(MODEL, ["a"], decode, n_best)
    answers.identify = lambda translator: "another digest"
    assert not answers.find(MODEL, ["a"], beam, 1)


def test_samples_are_not_kept() -> None:
    answers, sample = make(), Decode(search="sample")
    answers.keep(MODEL, ["a"], sample, 1, [judge("A")])
    assert not answers.find(MODEL, ["a"], sample, 1) and not answers.size


def test_it_stays_within_its_bytes() -> None:
    answers, decode = make(20_000), Decode()
    for number in range(1000):
        answers.keep(MODEL, [f"text {number}"], decode, 1, [judge(f"said {number}")])
        assert answers.size <= answers.most
        assert answers.find(MODEL, ["text 0"], decode, 1)  # used all the time
    assert 5 < len(answers._kept) < 40
    assert answers.size == sum(size for _, size in answers._kept.values())
    answers.keep(MODEL, ["text 0"], decode, 1, [judge("x" * 50_000)])
    assert answers.size <= answers.most


def test_what_a_sentence_takes() -> None:
    import tracemalloc

    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        kept = [judge(f"le chat numéro {number}") for number in range(200)]
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
