"""A server of a model that reads the sentences before a sentence with it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from glassformer.config import Config
from glassformer.extensions.documents.formats import WholeText
from glassformer.extensions.documents.translating import translate_document
from glassformer.extensions.serve.limits import Limits
from glassformer.extensions.serve.running import make_service
from glassformer.train import train
from glassformer.translate.options import choose_options
from glassformer.translate.searching import Searcher
from glassformer.translator import Translator

from .conftest import Client, start

WORDS = ["one", "two", "three", "four", "five"]
TEXT = "One two. Three four. Five."
LINES = ["One two.", "Three four.", "Five."]
SHAPE = {"d_model": 16, "d_ff": 16, "heads": 2, "encoder_layers": 1, "decoder_layers": 1}
SETTINGS: dict[str, Any] = {
    "model": SHAPE,
    "text": {"vocabulary": 330},
    "train": {"steps": 4, "watch": 0, "batch_tokens": 64},
    "data": {"context": 1, "source_lang": "en", "target_lang": "fr"},
    "decode": {"max_extra": 5},
}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("served") / "model"
    texts = [f"{a.capitalize()} {b}." for a in WORDS for b in WORDS]
    train(Config.read(SETTINGS), pairs=[(text, text[::-1]) for text in texts], out=folder, quiet=1)
    return folder


@pytest.fixture(scope="module")
def translator(model: Path) -> Translator:
    return Translator.load(model, device="cpu", precision="fp32")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[list[int]]]:
    """The ids of all sources that any translator reads."""
    found: list[list[int]] = []
    plain = Searcher.search

    def listen(self: Searcher, sentences: Any, options: Any) -> Any:
        found.extend(each.ids for each in sentences)
        return plain(self, sentences, options)

    monkeypatch.setattr(Searcher, "search", listen)
    yield found


@pytest.fixture
def client(model: Path) -> Iterator[Client]:
    limits = Limits(characters=2000, texts=20, seconds=30, tokens=64)
    how = {"device": "cpu", "precision": "fp32"}
    yield from start(make_service([str(model)], limits=limits, **how))


def read(translator: Translator, *lines: str) -> list[int]:
    return translator.reader.encode(["\n".join(lines)])[0]


def ask(client: Client, q: Any, form: str = "text") -> Any:
    body = {"q": q, "source": "en", "target": "fr", "format": form}
    found = client.ask("/translate", body)
    assert found.status == 200, found.body
    return found.json["translatedText"]


def test_one_text_is_a_document(
    client: Client, translator: Translator, asked: list[list[int]]
) -> None:
    wanted = [read(translator, *LINES[max(0, n - 1) : n + 1]) for n in range(3)]
    asked.clear()
    said = ask(client, TEXT)
    assert [ids for ids in asked if ids in wanted][:3] == wanted
    assert all(ids in wanted for ids in asked)
    assert said == translator.translate(TEXT)


def test_texts_of_a_list_are_documents_of_their_own(
    client: Client, translator: Translator, asked: list[list[int]]
) -> None:
    wanted = [read(translator, line) for line in LINES]
    asked.clear()
    said = ask(client, LINES)
    assert all(ids in wanted for ids in asked)
    assert said == translator.translate(LINES)


def test_the_same_sentence_after_others_is_another(
    client: Client, translator: Translator, asked: list[list[int]]
) -> None:
    """Neither the cache nor a batch takes one for the other."""
    texts = [f"{line} Five." for line in LINES[:2]]
    wanted = [read(translator, line, "Five.") for line in LINES[:2]]
    asked.clear()
    ask(client, texts)
    assert all(ids in asked for ids in wanted)


@pytest.mark.parametrize("form", ["text", "html"])
def test_a_document_of_several_paragraphs(
    client: Client, translator: Translator, asked: list[list[int]], form: str
) -> None:
    wanted = [read(translator, *LINES[max(0, n - 1) : n + 1]) for n in range(3)]
    asked.clear()
    if form == "html":
        ask(client, "".join(f"<p>{line}</p>" for line in LINES), "html")
    else:
        ask(client, "\n".join(LINES))
    assert {*map(tuple, wanted)} == {*map(tuple, asked)}


def test_a_recording_shows_the_context(client: Client, translator: Translator) -> None:
    found = client.ask("/api/trace", {"text": TEXT, "sentence": 1})
    assert found.status == 200, found.body
    shown = client.ask(f"/api/traces/{found.json['id']}").json
    ids = [token["id"] for token in shown["source"]]
    assert ids == read(translator, *LINES[:2])


def test_a_stream_reads_the_context(client: Client, translator: Translator) -> None:
    events = client.stream("/api/translate", {"text": TEXT})
    sources = [told["tokens"] for name, told in events if name == "source"]
    wanted = [read(translator, *LINES[max(0, n - 1) : n + 1]) for n in range(3)]
    assert [[token["id"] for token in tokens] for tokens in sources] == wanted


class Paragraphs(WholeText):
    """A document of many texts, as one of Word is."""

    def __init__(self, texts: list[str], form: str) -> None:
        super().__init__("", form)
        self.texts = texts

    def fill(self, said: Any) -> bytes:
        return "\n".join(said).encode()


@pytest.mark.parametrize("form", ["text", "html"])
def test_a_document_is_read_as_by_the_command_line(
    client: Client, model: Path, translator: Translator, asked: list[list[int]], form: str
) -> None:
    """Although the server translates so many paragraphs at a time."""
    lines = [f"{WORDS[n % 5].capitalize()} {WORDS[n // 5 % 5]}." for n in range(70)]
    texts = [line if form == "text" else f"<p>{line}</p>" for line in lines]
    wanted = {tuple(read(translator, *lines[max(0, n - 1) : n + 1])) for n in range(70)}
    asked.clear()
    options = choose_options(translator.config.decode)
    here = translate_document(Paragraphs(texts, form), translator, model, options)
    assert {*map(tuple, asked)} == wanted
    asked.clear()
    served = client.service.translation_service
    route = [*client.service.model_pool.models.values()]
    document = Paragraphs(texts, form)

    async def translate() -> list[str]:
        try:
            return await served.translate_document(document, route)
        finally:
            await served.pages.close()  # its processes belong to this loop

    there = document.fill(asyncio.run(translate()))
    assert {*map(tuple, asked)} == wanted
    assert there == here


def test_sentences_are_told_one_after_the_other(
    client: Client, translator: Translator, asked: list[list[int]]
) -> None:
    async def collect() -> list[str]:
        route = [*client.service.model_pool.models.values()]
        return [said async for _, said in client.service.translation_service.stream(TEXT, route)]

    wanted = [read(translator, *LINES[max(0, n - 1) : n + 1]) for n in range(3)]
    asked.clear()
    assert " ".join(asyncio.run(collect())) == translator.translate(TEXT)
    assert all(ids in asked for ids in wanted)
