"""Processes that translate: the same answers, and those that die are replaced."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="the extra `serve` is not installed")

from glassformer import Translator
from glassformer.config import Decode
from glassformer.extensions.serve.limits import Limits
from glassformer.extensions.serve.running import make_service
from glassformer.extensions.serve.service.batching import search_here
from glassformer.extensions.serve.service.model_pool import ModelPool
from glassformer.extensions.serve.service.processes import TranslatingProcess
from glassformer.translate.options import SearchOptions
from glassformer.translate.sentence import Sentence

from .conftest import Client, start

OPTIONS = {"device": "cpu", "precision": "fp32", "threads": 1}


@pytest.fixture(scope="module")
def pool() -> ModelPool:
    return ModelPool(["demo", "demo-fr-en"], **OPTIONS)


@pytest.fixture(scope="module")
def process(pool: ModelPool) -> Iterator[TranslatingProcess]:
    made = TranslatingProcess(pool, OPTIONS)
    yield made
    made.close()


def test_it_says_what_this_process_says(pool: ModelPool, process: TranslatingProcess) -> None:
    texts = ["The cat is on the mat.", "word word word word.", "\ud83d I am a \u2028student."]
    texts = [text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") for text in texts]
    for model in pool.models.values():
        translator = pool.load(model)
        for n_best in (1, 3):
            options = SearchOptions(Decode(beam=4), n_best)
            sentences = [own[0] for own in translator.reader.read(texts, split=False)]
            there = process(translator, sentences, options)
            here = search_here(translator, sentences, options)
            for one, other in zip(there, here, strict=True):
                assert one.take(other) == one and one.question == other.question


def test_each_pair_is_that_of_its_own_folder(folders: list[Path]) -> None:
    one, other = folders
    pool = ModelPool([one, f"{other}@yy"], **OPTIONS)
    options, scores = SearchOptions(Decode()), set[float]()
    with closing(TranslatingProcess(pool, OPTIONS)) as process:
        for translator in map(pool.load, pool.models.values()):
            (sentences,) = translator.reader.read(["the red cat"])
            there = process(translator, sentences, options)
            here = search_here(translator, sentences, options)
            assert there[0].translations == here[0].translations
            scores.add(here[0].translations[0].score)
    assert len(scores) == len(pool.models) == 3


def test_errors_come_through(pool: ModelPool, process: TranslatingProcess) -> None:
    translator = pool.load(pool.default)
    with pytest.raises(ValueError, match="beam"):
        process(translator, [Sentence("a", ids=[5, 2])], SearchOptions(Decode(beam=2), 5))


@pytest.mark.skipif(os.name != "posix", reason="there is no SIGKILL")
def test_the_metrics_count_those_that_were_replaced() -> None:
    client = next(running := start(make_service(["demo"], processes=2, **OPTIONS)))
    try:
        process, _ = client.service.processes
        for count in (1, 2):
            killed = process.pid
            os.kill(killed, signal.SIGKILL)
            end = time.monotonic() + 60
            while process.pid == killed and time.monotonic() < end:
                time.sleep(0.05)  # the server looks after its processes itself
            counted = client.ask("/metrics").body.decode()
            assert f"glassformer_processes_replaced_total {count}.0" in counted
    finally:
        next(running, None)


@pytest.mark.skipif(os.name != "posix", reason="there is no SIGKILL")
def test_one_that_was_killed_is_replaced(pool: ModelPool, process: TranslatingProcess) -> None:
    translator, before = pool.load(pool.default), process.pid
    os.kill(before, signal.SIGKILL)
    ((sentence,),) = translator.reader.read(["I am a student."])
    (found,) = process(translator, [sentence], SearchOptions(Decode()))
    assert found.translations[0].text == "Je suis étudiant." and process.pid != before
    before = process.pid
    os.kill(before, signal.SIGKILL)
    end = time.monotonic() + 20
    while process.pid == before and time.monotonic() < end:
        process.look()
        time.sleep(0.05)
    assert process.pid != before


@pytest.fixture(scope="module")
def several() -> Iterator[Client]:
    limits = Limits(cache=0)
    yield from start(make_service(["demo"], limits=limits, processes=2, **OPTIONS))


def test_a_server_with_processes(several: Client) -> None:
    texts = ["The cat is on the mat.", "I am a student.", "The dog is tired."] * 20
    found = several.ask("/translate", {"q": texts, "source": "en", "target": "fr"}).json
    plain = Translator.load("demo", device="cpu", precision="fp32")
    assert found["translatedText"] == plain.translate(texts)
    assert len({each.pid for each in several.service.processes}) == 2
    assert several.ask("/api/trace", {"text": "I am a student."}).status == 200
