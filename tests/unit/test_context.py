"""What a translator with data.context reads, in a plain loop; and that nothing else changes it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.checked import translate_checked

from glassformer.cli.translate import translate_chunks
from glassformer.config import BOS, EOS, SEPARATOR, Config, Data, Decode
from glassformer.data.files import cut_chunks
from glassformer.decode.sentences import plan_sentences
from glassformer.model.files.directory import Tokenizers, build_model
from glassformer.text.kinds import train_tokenizer
from glassformer.translate import checking
from glassformer.translate.align.alignments import Alignments, ParallelText
from glassformer.translate.align.marked_words import find_marked_words
from glassformer.translate.joining import join_searchers
from glassformer.translate.options import choose_options
from glassformer.translate.searching import Searcher
from glassformer.translate.sentence import Problem
from glassformer.translator import Translator

LINES = ["The cat runs.", "It is old.", "A dog sings. It is red.", "", "Two birds.", "So it is."]
SENTENCES = ["The cat runs.", "It is old.", "A dog sings.", "It is red."]
GREEDY = Decode(search="greedy", max_extra=6)


def make(**data: Any) -> Translator:
    torch.manual_seed(3)
    shape = {"d_model": 32, "d_ff": 64, "heads": 4, "encoder_layers": 2, "decoder_layers": 2}
    positions = {"max_positions": 60}
    raw = {"model": {**shape, "positions": positions}, "data": data, "decode": {"max_extra": 6}}
    config = Config.read(raw)
    tokenizer = train_tokenizer(LINES, 330).with_tags(["<2de>", SEPARATOR])
    model = build_model(config, Tokenizers(tokenizer, tokenizer))
    with torch.no_grad():
        model.output_table.weight.mul_(4)
    return Translator(config, Tokenizers(tokenizer, tokenizer), model, device="cpu")


@pytest.fixture(scope="module")
def translator() -> Translator:
    return make(context=2, tag="<2de>")


class Listener:
    """An engine that keeps what it is asked to search for."""

    def __init__(self, engine: Any) -> None:
        self.engine, self.sources = engine, list[Sequence[int]]()
        self.lengths: list[Sequence[int] | None] = []

    def search(self, sources: Sequence[Sequence[int]], *args: Any, **how: Any) -> Any:
        self.sources += sources
        self.lengths.append(how.get("lengths"))
        return self.engine.search(sources, *args, **how)


@pytest.fixture
def heard(translator: Translator, monkeypatch: pytest.MonkeyPatch) -> Iterator[Listener]:
    listener = Listener(translator.searcher.get_engine("fp32"))
    monkeypatch.setattr(Searcher, "choose_engine", lambda self, decode: listener)
    yield listener


def read_plainly(translator: Translator, context: Sequence[str], sentence: str) -> list[int]:
    """The tag, the sentences before with a separator each, the sentence, the end mark."""
    tokenizer = translator.tokenizers.source
    tag, separator = tokenizer.find_tags(["<2de>", SEPARATOR])
    before = [[*tokenizer.encode(each), separator] for each in context]
    return [tag, *chain.from_iterable(before), *tokenizer.encode(sentence), EOS]


def test_a_sentence_is_read_with_those_before_it(translator: Translator, heard: Listener) -> None:
    translator.search(" ".join(SENTENCES), decode=GREEDY)
    wanted = [
        read_plainly(translator, SENTENCES[max(0, n - 2) : n], each)
        for n, each in enumerate(SENTENCES)
    ]
    assert heard.sources == wanted
    own = [len(translator.tokenizers.source.encode(each)) for each in SENTENCES]
    assert heard.lengths == [[own[0] + 1, *own[1:]]]  # the first has no context, and its tag


def test_limits_count_the_sentence_alone() -> None:
    settings = Decode(max_ratio=2, max_extra=3)
    sources = [[9] * 10 + [EOS], [9] * 4 + [EOS]]
    limits = [each.limit for each in plan_sentences(sources, None, None, None, settings)]
    assert limits == [23, 11]
    how = {"lengths": [4, 4]}
    limits = [each.limit for each in plan_sentences(sources, None, None, None, settings, **how)]
    assert limits == [11, 11]


def test_texts_of_a_list_are_documents_of_their_own(
    translator: Translator, heard: Listener
) -> None:
    translator.search(SENTENCES, decode=GREEDY)
    assert heard.sources == [read_plainly(translator, [], each) for each in SENTENCES]


def test_an_empty_line_ends_a_document(translator: Translator, heard: Listener) -> None:
    wanted = [
        ([], SENTENCES[0]),
        (SENTENCES[:1], SENTENCES[1]),
        (SENTENCES[:2], SENTENCES[2]),
        (SENTENCES[1:3], SENTENCES[3]),
        ([], LINES[4]),
        ([LINES[4]], LINES[5]),
    ]
    ids = [read_plainly(translator, *each) for each in wanted]
    translator.search(LINES, decode=GREEDY, as_document=True)
    assert heard.sources == ids
    heard.sources = []
    translator.search("\n".join(LINES), decode=GREEDY)
    assert heard.sources == ids


@pytest.mark.parametrize("size", [1, 2, 3, 100])
@pytest.mark.parametrize("split", [True, False])
def test_chunks_change_nothing(
    translator: Translator, heard: Listener, size: int, split: bool
) -> None:
    chunks = cut_chunks(((line, "") for line in LINES), size)
    how: dict[str, Any] = {"decode": GREEDY, "split": split}
    options = choose_options(translator.config.decode, again=False, **how)
    found = [each for *_, each in translate_chunks(translator, chunks, options)]
    in_chunks, heard.sources = heard.sources, []
    whole = translator.search(LINES, as_document=True, **how)
    assert in_chunks == heard.sources
    assert [each.best[0].tokens for each in found] == [best.tokens for (best,) in whole]


def test_a_text_after_others(translator: Translator, heard: Listener) -> None:
    translator.search(SENTENCES[2], decode=GREEDY, contexts=" ".join(SENTENCES[:2]))
    translator.search(SENTENCES[2:3], decode=GREEDY, contexts=["\n".join(SENTENCES[:2])])
    assert heard.sources == [read_plainly(translator, SENTENCES[:2], SENTENCES[2])] * 2
    with pytest.raises(ValueError, match="2 texts but 1 contexts"):
        translator.search(SENTENCES[:2], contexts=["a"])


@pytest.mark.parametrize("room", range(8, 40, 3))
def test_the_oldest_sentences_are_left_out(room: int) -> None:
    """Never the sentence itself; what is read is what a training with that max_length reads."""
    translator = make(context=2, tag="<2de>", max_length=room)
    (found,) = translator.reader.encode(["\n".join(SENTENCES[:3])])
    fitting = [read_plainly(translator, SENTENCES[n:2], SENTENCES[2]) for n in range(3)]
    wanted = next((ids for ids in fitting if len(ids) - 1 <= room), fitting[-1])
    assert found == wanted
    assert [*translator.reader.tokenize("\n".join(SENTENCES[:3])).ids, EOS] == wanted


def test_spans_of_tokens_are_those_of_the_lines(translator: Translator) -> None:
    text = "\n".join(["left out.", *SENTENCES[:3]])
    found = translator.reader.tokenize(text)
    assert found.texts[0] == "<2de>"
    assert [*found.ids, EOS] == read_plainly(translator, SENTENCES[:2], SENTENCES[2])
    for token, (begin, end) in zip(found.texts[1:], found.spans[1:], strict=True):
        assert text[begin:end] == ("" if token == SEPARATOR else token.lstrip(" ")) or (
            text[begin:end] == token
        )


def test_scores_are_those_of_a_plain_pass(translator: Translator) -> None:
    source, target = "\n".join(SENTENCES[:3]), "so it is"
    given = [BOS, *translator.tokenizers.target.encode(target)]
    ids = read_plainly(translator, SENTENCES[:2], SENTENCES[2])
    with torch.inference_mode():
        logits = translator.model(torch.tensor([ids]), torch.tensor([given]))
    log_probs = logits[0].log_softmax(-1)[range(len(given)), [*given[1:], EOS]]
    found = translator.score(source, target)
    assert found.token_log_probs == pytest.approx(log_probs.tolist(), abs=1e-4)


def test_a_second_search_reads_the_same_context(
    translator: Translator, heard: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And problems are found by the sentence alone: its length, its numbers."""
    seen = list[str]()

    def find(source: str, *_: object) -> Iterator[Problem]:
        seen.append(source)
        yield Problem.describe("empty")

    monkeypatch.setattr(checking, "find_problems", find)
    translate_checked(translator, LINES[:3], ["", *LINES[:2]], decode=GREEDY)
    assert set(seen) == set(SENTENCES)
    assert heard.sources[4:] == heard.sources[:4]
    assert len(heard.sources) == 8


def test_links_are_to_words_of_the_sentence(translator: Translator, tmp_path: Path) -> None:
    text, said = " ".join(SENTENCES[:2]), "so it is. two old birds."
    parts = (((0, 13), (0, 9)), ((14, 24), (10, 24)))
    sources = f"A.\n{SENTENCES[0]}", f"A.\n{SENTENCES[0]}\n{SENTENCES[1]}"
    both = ParallelText(text, said, parts, sources)
    (links,) = Alignments().align(tmp_path, translator.searcher, [both])
    first = len(find_marked_words(SENTENCES[0]))
    assert links
    for source, target, _ in links:
        assert (source < first) == (target < len(find_marked_words(said[:9])))


@pytest.mark.parametrize("texts", [LINES, SENTENCES])
def test_other_models_read_no_context(texts: list[str]) -> None:
    plain = make()
    assert plain.reader.separator is None
    assert plain.reader.count_lengths([[5, EOS]]) is None
    alone = plain.search(texts, decode=GREEDY)
    assert plain.search(texts, decode=GREEDY, as_document=True, contexts=None) == alone
    assert plain.search(texts, decode=GREEDY, contexts=texts) == alone


def test_members_of_an_ensemble_read_the_same() -> None:
    with pytest.raises(ValueError, match="a and b differ"):
        members = [make(context=n).searcher for n in (2, 1)]
        join_searchers(members, ["a", "b"])


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ({"data": {"context": 1, "tag": "sep"}}, "<sep> is no tag"),
        ({"data": {"context": 1}, "model": {"network": "decoder"}}, "has no effect"),
        ({"data": {"context": 1}, "train": {"alignment_weight": 0.1}}, "alignment_weight"),
        ({"data": {"context": 17}}, "context"),
    ],
)
def test_settings_that_do_not_fit(raw: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Config.read(raw)


def test_the_separator_is_a_token_only_with_a_context() -> None:
    assert Data().list_tags() == []
    assert Data(context=1).list_tags() == [SEPARATOR]
