"""Alignments read off attention: equal to loops over the recording, and good where they can be."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from glassformer.config import Config
from glassformer.extensions.alignment.aligner import Aligner, Direction
from glassformer.extensions.alignment.gold import Gold, GoldSet, measure_links
from glassformer.extensions.alignment.head_choice import choose_by_gold
from glassformer.foundation.tap import record as watch
from glassformer.model.files.directory import SHIPPED, Tokenizers, build_model
from glassformer.text.kinds import train_tokenizer
from glassformer.translate.align.choose_head import (
    AlignmentChoice,
    choose_alone,
    find_anchors,
    load_choice,
    save_choice,
)
from glassformer.translate.align.pairs import (
    AlignmentCandidate,
    Pair,
    align_pairs,
    choose_units,
    list_candidates,
    read_pair,
    weigh_links,
)
from glassformer.translator import Translator
from tools.demo_corpus import pairs as demo_pairs

SPACED = (False, False)
TEXTS = [("a cat sits", "un chat, 12 ans"), ("", "rien"), ("dogs  run far away", "ils courent")]


@pytest.fixture(scope="module")
def translator() -> Translator:
    torch.manual_seed(1)
    tokenizer = train_tokenizer([side for pair in TEXTS for side in pair], 280)
    shape = {
        "d_model": 12,
        "heads": 3,
        "head_width": 4,
        "d_ff": 8,
        "encoder_layers": 1,
        "decoder_layers": 2,
        "positions": {"max_positions": 32},
    }
    config = Config.read({"model": shape})
    tokenizers = Tokenizers(tokenizer, tokenizer)
    model = build_model(config, tokenizers)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(4)
    return Translator(config, tokenizers, model, device="cpu")


def read(translator: Translator, texts: list[tuple[str, str]]) -> list[Pair]:
    return [read_pair(translator.searcher, *text, SPACED) for text in texts]


def align_in_loops(
    translator: Translator, text: tuple[str, str], at: AlignmentCandidate
) -> set[Any]:
    """By the definition: one sentence alone, a word at a time."""
    source, target = (
        translator.reader.tokenize(text[0]),
        translator.tokenizers.target.tokens(text[1]),
    )
    with torch.inference_mode(), watch(translator.model) as (view, taken):
        view(torch.tensor([[*source.ids, 2]]), torch.tensor([[1, *target.ids]]))
    weights = taken[f"decoder.{at.layer}.cross_attention.weights"][0][0]
    matrix = weights.mean(0) if at.head is None else weights[at.head]
    found = set()
    words = [[(m.start(), m.end()) for m in re.finditer(r"\S+", t)] for t in text]
    for j, (start, end) in enumerate(words[1]):
        rows = [
            n + (at.row == "reads")
            for n, span in enumerate(target.spans)
            if min(end, span[1]) > max(start, span[0])
        ]
        sums = []
        for first, last in words[0]:
            keys = [
                n for n, span in enumerate(source.spans) if min(last, span[1]) > max(first, span[0])
            ]
            sums.append(np.mean([matrix[row, keys].sum().item() for row in rows]))
        found.add((int(np.argmax(sums)), j))
    return found


def test_special_ids() -> None:
    from glassformer.config import BOS, EOS

    assert (BOS, EOS) == (1, 2)  # as `align_in_loops` has them


def test_alignments_equal_loops(translator: Translator) -> None:
    pairs = read(translator, TEXTS)
    candidates = list_candidates(translator.config.model)
    assert len(candidates) == 2 * 4 * 2 == len(set(candidates))
    seen = set()
    for candidate in candidates:
        found = align_pairs(translator.searcher, pairs, candidate)
        assert found[1].links == frozenset()
        for place in (0, 2):
            assert found[place].links == align_in_loops(translator, TEXTS[place], candidate)
        seen.add(tuple(each.links for each in found))
    assert len(seen) > 4  # heads differ, or this test would say little


def test_a_unit_that_looks_at_no_word_has_no_link() -> None:
    """What is looked at besides words, the last column, is never chosen, and gives no link."""
    weights = np.array([[0.2, 0.3, 0.5], [0.0, 0.0, 1.0], [0.6, 0.4, 0.0], [0.0, 0.0, 0.0]])
    assert choose_units(weights).tolist() == [[0, 1], [0, 0], [1, 0], [0, 0]]


def test_weights_of_a_row_sum_to_1(translator: Translator) -> None:
    pairs = read(translator, TEXTS)
    for _, weights in weigh_links(
        translator.searcher, pairs, list_candidates(translator.config.model)
    ):
        np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-5)


def test_characters_that_share_a_token_are_aligned_together() -> None:
    tokenizer = train_tokenizer(["我爱 我爱 我爱 a b"] * 3, 270)
    config = Config.read(
        {"model": {"d_model": 8, "heads": 1, "d_ff": 8, "encoder_layers": 1, "decoder_layers": 1}}
    )
    tokenizers = Tokenizers(tokenizer, tokenizer)
    translator = Translator(config, tokenizers, build_model(config, tokenizers), device="cpu")
    pair = read_pair(translator.searcher, "a b", "我爱a", (False, True))
    assert (0, 1) in pair.target.members
    (found,) = align_pairs(translator.searcher, [pair], AlignmentCandidate(0, 0, "reads"))
    targets = [{i for i, j in found.links if j == place} for place in range(3)]
    assert targets[0] == targets[1] != set()


def test_a_pair_that_is_too_long_has_no_links(translator: Translator) -> None:
    pairs = read(translator, [("a cat", "un chat"), ("cat " * 40, "chat")])
    one, other = align_pairs(translator.searcher, pairs, AlignmentCandidate(0, None, "reads"))
    assert one.fits and one.links and not other.fits and not other.links


def test_gold_chooses_the_head_that_made_it(translator: Translator) -> None:
    pairs = read(translator, TEXTS[::2] * 2)
    truth = AlignmentCandidate(1, 2, "predicts")
    gold = [Gold(each.links, each.links) for each in align_pairs(translator.searcher, pairs, truth)]
    choice = choose_by_gold(translator.searcher, pairs, gold)
    found = align_pairs(translator.searcher, pairs, choice.candidate)
    assert measure_links([each.links for each in found], gold).aer == 0
    assert choice.of == 4


def test_the_score_of_a_choice_is_that_of_the_other_half(translator: Translator) -> None:
    """Each half has another head as its truth, so that neither choice serves the other half."""
    pairs = read(translator, [TEXTS[0], TEXTS[2]])
    one, other = AlignmentCandidate(0, 0, "reads"), AlignmentCandidate(1, 2, "predicts")
    first, second = (
        align_pairs(translator.searcher, pairs, one)[0],
        align_pairs(translator.searcher, pairs, other)[1],
    )
    gold = [Gold(each.links, each.links) for each in (first, second)]
    crossed = [
        align_pairs(translator.searcher, pairs, other)[0],
        align_pairs(translator.searcher, pairs, one)[1],
    ]
    wanted = measure_links([each.links for each in crossed], gold).aer
    assert wanted > 0 and choose_by_gold(translator.searcher, pairs, gold).score == pytest.approx(
        wanted
    )


def test_anchors_stand_once_on_each_side(translator: Translator) -> None:
    text = ("In 1990 (Anna) met Anna2 and a table a dog", "Anna a vu 1990, table table a Anna2")
    (pair,) = read(translator, [text])
    assert sorted(find_anchors(pair)) == [(1, 3), (2, 0), (4, 7)]


def test_anchors_choose_where_there_are_enough(translator: Translator) -> None:
    """The score is the share of them that the chosen head links."""
    pairs = read(translator, [(f"a cat {n} runs", f"un chat {n} court") for n in range(10, 40)])
    assert choose_alone(translator.searcher, pairs[1:]).chosen_by == "information"
    choice = choose_alone(translator.searcher, pairs)
    found = align_pairs(translator.searcher, pairs, choice.candidate)
    hits = sum((2, 2) in each.links for each in found)
    assert (choice.chosen_by, choice.of) == ("anchors", 30)
    assert choice.score == pytest.approx(hits / 30) and hits > 0
    others = (
        align_pairs(translator.searcher, pairs, each)
        for each in list_candidates(translator.config.model)
    )
    assert hits == max(sum((2, 2) in each.links for each in links) for links in others)


def test_a_choice_is_remembered_until_the_weights_change(
    translator: Translator, tmp_path: Path
) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    choice = AlignmentChoice(layer=1, head=None, row="reads", chosen_by="anchors", score=0.5, of=40)
    save_choice(choice, tmp_path)
    kept = load_choice(tmp_path, translator.config)
    assert kept is not None and kept.candidate == choice.candidate and kept.score == 0.5
    (tmp_path / "model.safetensors").write_bytes(b"others")
    assert load_choice(tmp_path, translator.config) is None


def test_the_head_that_training_guided_is_taken(translator: Translator, tmp_path: Path) -> None:
    config = translator.config.changed(train={"alignment_weight": 0.1, "alignment_head": 2})
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    choice = load_choice(tmp_path, config)
    layer = translator.config.model.decoder_layers - 2
    assert choice is not None and choice.candidate == (layer, 2, "predicts")
    save_choice(choice.model_copy(update={"head": 1, "chosen_by": "gold"}), tmp_path)
    assert (chosen := load_choice(tmp_path, config)) is not None and chosen.head == 1
    (tmp_path / "model.safetensors").write_bytes(b"others")
    assert (chosen := load_choice(tmp_path, config)) is not None and chosen.head == 2


@pytest.mark.parametrize(
    ("known", "alone", "with_gold"),
    [
        (None, "agreement", "gold"),
        ("information", "agreement", "gold"),
        ("anchors", "agreement", "gold"),
        ("agreement", "kept", "gold"),
        ("guided", "kept", "gold"),
        ("gold", "kept", "gold"),
        ("hand", "kept", "kept"),
    ],
)
def test_a_better_choice_takes_the_place_of_a_worse_one(
    translator: Translator, tmp_path: Path, known: Any, alone: str, with_gold: str
) -> None:
    """By hand before gold, gold before what is remembered, agreement before one model alone."""
    texts = [TEXTS[0], TEXTS[2]]
    choice = (
        AlignmentChoice(layer=1, head=2, row="predicts", chosen_by=known, of=77) if known else None
    )
    side = Direction(tmp_path, translator, choice)
    aligner = Aligner(side, side, SPACED, "union")
    links = tuple(Gold(frozenset({(0, 0)}), frozenset({(0, 0)})) for _ in texts)
    for wanted, gold in ((alone, None), (with_gold, GoldSet(links, 0, ()))):
        found = aligner.choose(texts, gold).choices
        assert len(found) == 2
        for each in found:
            assert (
                each == choice if wanted == "kept" else each.chosen_by == wanted and each.of != 77
            )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"layer": 9, "head": 0, "row": "reads", "chosen_by": "gold"}', "layer 9 is out of range"),
        ('{"layer": 0, "head": 7, "row": "reads", "chosen_by": "gold"}', "head 7 is out of range"),
        ('{"layer": 0, "head": 0, "row": "looks", "chosen_by": "gold"}', "row"),
        ("rubbish", "no JSON"),
    ],
)
def test_a_damaged_choice_is_one_sentence(
    translator: Translator, tmp_path: Path, text: str, said: str
) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    (tmp_path / "alignment.json").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=said) as error:
        load_choice(tmp_path, translator.config)
    assert str(tmp_path) in str(error.value) and "\n" not in str(error.value)


def test_the_shipped_model_finds_words_that_stay_the_same() -> None:
    """Anchors as a truth that the remembered choice, made by agreement, was not made from."""
    texts = demo_pairs("en", "fr", 150, 5, "test")
    aligner = Aligner.load("demo", texts, device="cpu").choose(texts)
    pairs = aligner.read(texts)[0]
    found = aligner.align(texts)
    anchors = [
        (each.links, link)
        for each, pair in zip(found, pairs, strict=True)
        for link in find_anchors(pair)
    ]
    assert len(anchors) > 8
    assert sum(link in links for links, link in anchors) / len(anchors) > 0.8
    alone = choose_alone(aligner.forward.translator.searcher, pairs)
    assert alone.chosen_by in ("anchors", "information")


@pytest.mark.parametrize(
    "folder", sorted(SHIPPED.glob("*/alignment.json")), ids=lambda path: path.parent.name
)
def test_a_shipped_choice_is_of_the_shipped_weights(folder: Path) -> None:
    """A choice that was made for other weights is left out without a word."""
    model = folder.parent
    assert load_choice(model, Translator.load(model, device="cpu").config) is not None
