"""The cache of answers: right, bounded, and keyed by all that decides an answer."""

from __future__ import annotations

import tracemalloc
from math import inf
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the extra `serve` is not installed")

from glassformer.config import Decode
from glassformer.extensions.serve.service.answers import AnswerCache, measure
from glassformer.extensions.serve.service.model_pool import ModelPool
from glassformer.translate.options import SearchOptions
from glassformer.translate.sentence import Part, Problem, Sentence, Translation

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
    assert 20 < len(answers._kept) < 80
    assert answers.size == sum(map(measure, answers._kept.values()))
    answers.keep(MODEL, [translate("text 0", "x" * 50_000)], options)
    assert answers.size <= answers.most


def test_all_of_an_answer_comes_back() -> None:
    """Numbers too: those that no JSON has, and those of many digits."""
    part = Part((0, 1), (0, 2), (0, 3), -1 / 3, -2 / 3, False)
    log_probs = [-inf, 1e-300, -0.0914344787597656]
    written = Translation("B\n“é”", ["B", "é"], -inf, 0.1, log_probs, False, [part])
    answers, options = make(), SearchOptions(Decode(), 2)
    asked = Sentence("b", line=3, part=1, span=(4, 5), ids=[7])
    sentence = asked._replace(
        translations=[written, written], problems=(Problem("words", "said", 1),), retried=True
    )
    answers.keep(MODEL, [sentence], options)
    assert answers.find(MODEL, [asked], options) == {asked.question: sentence}
    (translation, _) = answers.find(MODEL, [asked], options)[asked.question].translations
    assert type(translation) is Translation and type(translation.parts[0]) is Part


def test_what_an_answer_takes() -> None:
    answers, options = make(1 << 30), SearchOptions(Decode())
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for number in range(3000):
            sentence = translate("", f"le chat numéro {number}")
            answers.keep(MODEL, [sentence._replace(text=str(number))], options)
        taken = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert 0.8 < answers.size / taken < 1.3
    assert taken < 3000 * 600  # the objects would take 3,000 each


def test_a_model_has_a_digest_of_its_files() -> None:
    pool = ModelPool(["demo", "demo-fr-en"], device="cpu")
    one, other = pool.models.values()
    assert pool.identify(pool.load(one)) == one.digest() != other.digest()
    assert pool.name(pool.load(other)) == other.id and len(one.digest()) == 64


def test_each_pair_of_a_model_has_answers_of_its_own(folders: list[Path]) -> None:
    pool, options = ModelPool(folders[:1], device="cpu"), SearchOptions(Decode())
    to_xx, to_yy = map(pool.load, pool.models.values())
    answers, asked = AnswerCache(1 << 20, pool.identify), Sentence("a")
    answers.keep(to_xx, [translate("a", "A")], options)
    assert answers.find(to_xx, [asked], options) and not answers.find(to_yy, [asked], options)


def test_metrics_show_hits(client: Client) -> None:
    given = {"q": "The old cat is tired.", "source": "en", "target": "fr"}
    first = client.ask("/translate", given).json
    before = client.service.batcher.answers.hits
    assert client.ask("/translate", given).json == first
    assert client.service.batcher.answers.hits == before + 1
    assert f"glassformer_answers_hits {before + 1}.0" in client.ask("/metrics").body.decode()


def test_an_answer_that_comes_again_takes_its_place_once() -> None:
    """Two requests at once may both ask what is not there yet."""
    answers, beam = make(), SearchOptions(Decode())
    answers.keep(MODEL, [translate("a", "A")], beam)
    once = answers.size
    answers.keep(MODEL, [translate("a", "A")], beam)
    assert answers.size == once > 0
