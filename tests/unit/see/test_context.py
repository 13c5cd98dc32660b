"""Recordings of a model that reads the sentences before a sentence with it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from glassformer.config import EOS, SEPARATOR, Config
from glassformer.extensions.pictures.words import choose_word
from glassformer.model.files.directory import Tokenizers, build_model
from glassformer.see import Trace, record
from glassformer.text.kinds import train_tokenizer
from glassformer.translator import Translator

LINES = ["The cat runs.", "It is old."]
SHAPE = {"d_model": 16, "d_ff": 16, "heads": 2, "encoder_layers": 1, "decoder_layers": 2}


@pytest.fixture(scope="module")
def translator() -> Translator:
    torch.manual_seed(2)
    raw = {"model": {**SHAPE, "norm": "pre"}, "data": {"context": 1, "tag": "<2de>"}}
    config = Config.read({**raw, "decode": {"beam": 2, "max_extra": 4, "max_ratio": 0.5}})
    tokenizer = train_tokenizer(LINES * 3, 300).with_tags(["<2de>", SEPARATOR])
    model = build_model(config, Tokenizers(tokenizer, tokenizer))
    with torch.no_grad():
        model.output_table.weight.mul_(3)
    return Translator(config, Tokenizers(tokenizer, tokenizer), model, device="cpu")


@pytest.fixture(scope="module")
def trace(translator: Translator) -> Trace:
    return record(translator, " ".join(LINES), sentence=1)


def test_the_source_has_the_sentence_before(translator: Translator, trace: Trace) -> None:
    tag, separator = translator.tokenizers.source.find_tags(["<2de>", SEPARATOR])
    encode = translator.tokenizers.source.encode
    wanted = [tag, *encode(LINES[0]), separator, *encode(LINES[1]), EOS]
    assert [token.id for token in trace.source] == wanted
    assert trace.text == "\n".join(LINES)
    weights = np.asarray(trace["decoder.1.cross_attention.weights"])
    assert weights.shape[-1] == len(wanted)
    for token in trace.source:
        spelled = trace.text[token.start : token.end]
        assert spelled.strip() == ("" if token.text.startswith("<") else token.text.strip())


def test_the_translation_is_that_of_translate(translator: Translator, trace: Trace) -> None:
    """The length limits do not count the context; the whole text has both sentences."""
    text = " ".join(LINES)
    whole = trace.document.whole
    assert whole is not None
    assert whole.translation == translator.translate(text)
    assert len(whole.sentences) == 2
    assert trace.translation == whole.translation[slice(*whole.sentences[1].target)]
    assert trace.document.numerics.largest_difference < 1e-4


def test_a_context_on_a_line_of_its_own(translator: Translator, trace: Trace) -> None:
    """Then the text that is recorded is the text that was given; it still is of two sentences."""
    text = "\n".join(LINES)
    again = record(translator, text, sentence=1)
    assert again.document.whole is not None
    assert again.document.source == trace.document.source
    one = record(translator, text, split=False)
    assert one.document.whole is None
    assert one.document.source == trace.document.source
    assert one.translation == trace.translation


def test_a_word_of_the_context_can_be_cut_and_replaced(
    translator: Translator, trace: Trace
) -> None:
    text = "\n".join(LINES)
    how = {"split": False, "target": trace}
    cut = record(translator, text, **how, edits=[{"do": "cut", "word": "cat"}])
    weights = np.asarray(cut["decoder.0.cross_attention.weights"])
    hidden = [n for n, token in enumerate(cut.source) if token.start < 7 and token.end > 4]
    assert hidden
    assert not weights[..., hidden].any()
    other = record(translator, text, **how, edits=[{"do": "word", "word": "cat", "by": "old"}])
    assert other.text == "The old runs.\nIt is old."


def test_it_is_stored_and_read_again(trace: Trace, tmp_path: Path) -> None:
    """The check of what is read knows tags and separators, which are in no word."""
    trace.save(tmp_path / "trace")
    again = Trace.load(tmp_path / "trace")
    assert again.document.source == trace.document.source
    counts = [len(word.symbols) - len(word.merges) for word in again.document.words]
    words = [n for n, count in enumerate(counts) for _ in range(count)]
    tokens = [n for n, token in enumerate(trace.source) if not token.text.startswith("<")]
    assert [choose_word(again, n) for n in tokens] == words


def test_the_first_sentence_has_no_context(translator: Translator) -> None:
    first = record(translator, " ".join(LINES), sentence=0)
    assert first.text == LINES[0]
    assert SEPARATOR not in [token.text for token in first.source]
