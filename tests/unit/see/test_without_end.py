"""Models whose sources have no end mark, as OpenNMT's: the last token is one of the text."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from glassformer.config import EOS
from glassformer.extensions.lab.contributions import cut_each
from glassformer.extensions.pictures.context import read_second
from glassformer.see import Trace, record
from glassformer.see.tokens import find_word_tokens
from glassformer.translator import Translator

TEXT = "the cat is on a tree"


@pytest.fixture(scope="module")
def endless(make: Callable[..., Translator]) -> Translator:
    """A translator that reads its sources without an end mark."""
    whole = make()
    text = whole.config.text.model_copy(update={"source_eos": False})
    config = whole.config.model_copy(update={"text": text})
    return Translator(config, whole.tokenizers, whole.model, device="cpu")


@pytest.fixture(scope="module")
def plain(endless: Translator) -> Trace:
    trace = record(endless, TEXT)
    assert EOS not in [token.id for token in trace.source]
    return trace


def test_the_last_word_can_be_cut(endless: Translator, plain: Trace) -> None:
    group = find_word_tokens(plain.source, TEXT, "tree")
    assert group[-1] == len(plain.source) - 1
    (log_prob,) = cut_each(endless, plain, [1, 2], [group])
    forced = record(endless, TEXT, target=plain, edits=[{"do": "cut", "word": "tree"}])
    expected = sum(forced.predictions[row].log_prob for row in (1, 2))
    assert log_prob == pytest.approx(expected, abs=1e-4)
    last = len(plain.source) - 1
    with pytest.raises(ValueError, match=f"from 0 to {last}$"):
        cut_each(endless, plain, [1], [[last + 1]])
    with pytest.raises(ValueError, match="nothing of the source"):
        cut_each(endless, plain, [1], [[0], [*range(last + 1)]])


def test_a_source_of_one_token_is_a_text(endless: Translator) -> None:
    trace = record(endless, "the")
    assert len(trace.source) == 1 and trace.source[0].id != EOS
    second = read_second(trace, 0, None, "the")
    assert [text.strip() for text in second.texts] == ["the", "the"]
    assert second.fetch("memory").shape == (2, trace.settings.d_model)
    assert trace.picture("V28").text
    with pytest.raises(ValueError, match="there is no text"):
        record(endless, "  ")


def test_another_sentence_has_its_last_token(endless: Translator) -> None:
    trace, other = record(endless, "the cat"), record(endless, "is on the")
    texts = [token.text for token in other.source]
    assert texts.index(trace.source[0].text) == len(texts) - 1
    second = read_second(trace, 0, other, "the")
    assert second.place == len(texts) - 1 and second.texts == texts


def test_a_part_of_the_sentence_is_read_as_it_stands(plain: Trace) -> None:
    last = len(plain.source) - 1
    second = read_second(plain, last, None, plain.source[last].text)
    assert second.texts[second.place] == plain.source[last].text
    row = "source_embedding.embedded"
    assert len(second.fetch(row)) == len(second.texts)
    np.testing.assert_allclose(second.fetch(row)[second.place], plain[row][last], rtol=1e-5)


def test_a_recording_agrees_with_itself_on_disk(plain: Trace, tmp_path: Path) -> None:
    assert plain.document.words
    plain.save(tmp_path / "t", parameters=True)
    assert Trace.load(tmp_path / "t").own_source == plain.source


def test_with_an_end_mark_it_is_no_token_of_the_text(trace: Trace) -> None:
    assert trace.source[-1].id == EOS
    assert trace.own_source == trace.source[:-1]
