"""A recording is what the fast path did, row by row and word for word."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch

from glassformer.config import BOS, EOS, Decode
from glassformer.see import Trace, record
from glassformer.see.document import find_level
from glassformer.translator import Translator

SENTENCE = " the cat is on a tree, é"


def apart(one: Any, other: Any) -> float:
    """As a share of the largest value, or of 1."""
    one, other = np.asarray(one, np.float64), np.asarray(other, np.float64)
    assert one.shape == other.shape
    return float(np.abs(one - other).max() / max(1.0, np.abs(other).max()))


def read_ids(trace: Trace) -> tuple[torch.Tensor, torch.Tensor]:
    source, target = ([token.id for token in side] for side in (trace.source, trace.target))
    return torch.tensor([source]), torch.tensor([target])


def test_it_is_the_translation_of_the_fast_path(translator: Translator, trace: Trace) -> None:
    (best,) = translator.search([SENTENCE.strip()], split=False)[0]
    assert trace.translation == best.text
    assert [token.text for token in trace.predicted if token.id != EOS] == best.tokens
    assert trace.search is not None
    assert trace.search.hypotheses[0].score == pytest.approx(best.score, rel=1e-5)
    log_probs = [expected.log_prob for expected in trace.predictions]
    assert apart(log_probs, best.token_log_probs) <= 1e-5
    assert (trace.numerics.largest_difference or 1) <= 1e-5 * max(1, max(map(abs, log_probs)))


def test_it_equals_the_unwatched_pass(translator: Translator, trace: Trace) -> None:
    with torch.inference_mode():
        assert apart(trace["logits"], translator.model(*read_ids(trace))[0]) <= 1e-5


def test_row_t_equals_step_t(translator: Translator, trace: Trace) -> None:
    source_BS, target_BT = read_ids(trace)
    with torch.inference_mode():
        state = translator.model.start(source_BS)
        for row, token in enumerate(target_BT.split(1, dim=1)):
            logits_RQV = translator.model.step(token, state)
            assert apart(trace["logits"][row], logits_RQV[0, 0]) <= 1e-5, row


def test_shapes_are_those_of_the_op_graph(trace: Trace) -> None:
    shapes = {name: trace[name].shape for name in trace.names()}
    assert shapes == {
        name: tuple(axis.size for axis in trace.graph[name].axes) for name in trace.names()
    }
    assert trace["decoder.2.cross_attention.weights"].shape == (
        3,
        len(trace.target),
        len(trace.source),
    )
    assert np.array_equal(
        trace["decoder.-1.feed_forward.output"], trace["decoder.2.feed_forward.output"]
    )


def test_each_level_keeps_what_it_says(translator: Translator, trace: Trace) -> None:
    names = {
        level: set(record(translator, "a dog", level=level).names())
        for level in ("attention", "states", "everything")
    }
    assert names["attention"] < names["states"] < names["everything"] == set(trace.names())
    for level in ("attention", "states"):
        own = {name.rpartition(".")[2] for name in names[level] if find_level(name) == level}
        wanted = {"attention": {"weights", "mask"}}.get(
            level, {"query", "key", "value", "context", "sum", "normed", "memory", "last"}
        )
        assert own == wanted
    with pytest.raises(ValueError, match="level=attention: use level=everything"):
        record(translator, "a dog", level="attention")["memory"]


def test_tokens_have_their_places(trace: Trace) -> None:
    *spans, mark = [(token.start, token.end) for token in trace.source]
    assert "".join(SENTENCE[slice(*span)] for span in dict.fromkeys(spans)) == SENTENCE.strip()
    assert spans[-1] == spans[-2], "two bytes of one character"
    assert mark == (len(SENTENCE), len(SENTENCE))
    assert trace.target[0].id == BOS and trace.source[-1].id == EOS
    assert trace.target[1:] == trace.predicted[:-1]


def test_places_of_a_translation(translator: Translator) -> None:
    """They cover the text, and bytes share their character."""
    text = "the é 猫 is  so"
    trace = record(translator, "a dog", target=text)
    assert trace.translation == text and trace.predicted[-1].id == EOS
    assert trace.predicted[-1].start == len(text)
    covered = sorted({n for token in trace.predicted for n in range(token.start, token.end)})
    assert covered == list(range(len(text)))
    cat = [token for token in trace.predicted if text[token.start : token.end] == "猫"]
    assert len(cat) == 3 and trace.search is None


def test_the_search_replays_as_a_tree(trace: Trace) -> None:
    """From the last step up its parents: the tokens of every hypothesis that lived or ended."""
    assert trace.search is not None
    rows = {0: ((), 0.0)}
    ended = {}
    for step in trace.search.steps:
        scores = [each.log_prob for each in step]
        assert scores == sorted(scores, reverse=True)
        following = {}
        for each in step:
            tokens, log_prob = rows[each.parent]
            assert each.log_prob == pytest.approx(log_prob + each.token_log_prob, abs=1e-5)
            if each.row is not None:
                following[each.row] = ((*tokens, each.id), each.log_prob)
            elif each.fate in ("FINISHED", "CUT"):
                ended[(*tokens, *([each.id] if each.fate == "CUT" else []))] = each.score
        rows = following or rows
    assert ended == pytest.approx({each.ids: each.score for each in trace.search.hypotheses})


def test_another_hypothesis(translator: Translator, trace: Trace) -> None:
    assert trace.search is not None
    other = record(translator, SENTENCE, hypothesis=1)
    assert other.search is not None and other.search.hypotheses == trace.search.hypotheses
    assert tuple(p.id for p in other.predicted if p.id != EOS) == trace.search.hypotheses[1].ids
    with pytest.raises(ValueError, match=r"hypothesis=99: \d+ ended"):
        record(translator, SENTENCE, hypothesis=99)


def test_a_hypothesis_that_the_search_had_no_need_of() -> None:
    """A search for one ends early; for the fourth it goes on, as one for the four best does."""
    translator, text = Translator.load("demo", device="cpu"), "The cat slept."
    decode = Decode(search="beam", beam=4)
    best = record(translator, text, decode=decode, level="attention")
    assert best.search is not None and len(best.search.hypotheses) < 4
    fourth = record(translator, text, decode=decode, hypothesis=3)
    found = translator.search([text], decode=decode, n_best=4, split=False)[0]
    assert [token.text for token in fourth.predicted[:-1]] == found[3].tokens
    assert fourth.explain("logits", (-1, 9)).recomputed == pytest.approx(fourth["logits"][-1, 9])
    with pytest.raises(ValueError, match="search=beam with beam=2 finds more"):
        record(translator, text, decode=Decode(search="greedy"), hypothesis=1)


def test_the_merges_of_each_word_make_its_tokens(trace: Trace) -> None:
    """The tokens are those that `tokenizers` found."""
    made, words = [], trace.document.words
    for word in words:
        closed = {merge.index for merge in word.merges}
        gaps = [place for place in range(len(word.symbols) + 1) if place not in closed]
        made += ["".join(word.symbols[left:right]) for left, right in pairwise(gaps)]
        ranks = [merge.rank for merge in word.merges]
        assert ranks == sorted(ranks)
    assert made == [token.text for token in trace.source[:-1]]
    assert any(len(word.merges) > 2 for word in words)


def test_a_prefix_is_followed(translator: Translator) -> None:
    trace = record(translator, "a dog", prefix="so it", decode=Decode(search="greedy", max_extra=9))
    assert trace.translation.startswith("so it")
    assert trace.search is not None and trace.search.prefix > 0


@pytest.mark.parametrize(
    "cut", [{}, {"top_k": 4}, {"top_p": 0.7}, {"top_k": 30, "top_p": 0.9, "temperature": 1.0}]
)
def test_a_sample_tells_what_it_was_drawn_with(translator: Translator, cut: dict[str, Any]) -> None:
    """Temperature first, then the likeliest few, then the fewest that hold the share top_p."""
    decode = Decode(search="sample", **{"temperature": 2.5, **cut})
    heard: list[list[tuple[int, float]]] = []
    trace = record(
        translator, "a dog", decode=decode, progress=lambda _, those: heard.append(those)
    )
    for row, expected in enumerate(trace.predictions):
        likely = np.exp(trace["logits"][row].astype(np.float64) / decode.temperature)
        order = np.argsort(-likely)
        likely[order[decode.top_k or len(order) :]] = 0
        share = np.cumsum(likely[order]) / likely.sum()
        likely[order[1:][share[:-1] >= decode.top_p]] = 0
        wanted = likely / likely.sum()
        assert apart(expected.draw_probs, wanted[list(expected.ids)]) <= 1e-5
        own = trace.predicted[row].id
        assert expected.draw_prob == pytest.approx(wanted[own], rel=1e-3) and wanted[own] > 0
        assert [id for id, _ in heard[row]] == [id for id in order[:5] if wanted[id] > 0]
        assert apart(np.exp([p for _, p in heard[row]]), wanted[order[: len(heard[row])]]) <= 1e-5
    assert record(translator, "a dog").predictions[0].draw_prob is None


def test_the_likeliest_tokens(translator: Translator, trace: Trace) -> None:
    row = trace["logits"][1].astype(np.float64)
    log_probs = row - np.log(np.exp(row).sum())
    order = np.argsort(-log_probs)
    for k in (3, 10, 40):
        top = trace.top(1, k)
        assert [choice.id for choice in top] == order[:k].tolist()
        assert apart([choice.log_prob for choice in top], log_probs[order[:k]]) <= 1e-6
        assert top[0].text == translator.tokenizers.target.token(top[0].id)
    expected, own = trace.predictions[1], trace.predicted[1].id
    assert expected.rank == order.tolist().index(own)
    assert expected.entropy == pytest.approx(-(np.exp(log_probs) * log_probs).sum(), abs=1e-5)
    with pytest.raises(ValueError, match="out of range"):
        trace.top(99)
    with pytest.raises(ValueError, match="level=everything"):
        record(translator, "a dog", level="states").top(0, 11)


def test_another_precision_is_told(translator: Translator) -> None:
    coarse = Translator(
        translator.config, translator.tokenizers, translator.model, device="cpu", precision="bf16"
    )
    trace = record(coarse, SENTENCE)
    assert (trace.numerics.decoded_in, trace.numerics.recorded_in) == ("bf16", "fp32")
    assert 1e-4 < (trace.numerics.largest_difference or 0) < 1
    source_BS, target_BT = read_ids(trace)
    with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16):
        fast = translator.model(source_BS, target_BT)[0].float().argmax(-1).numpy()
    differ = np.flatnonzero(fast != trace["logits"].argmax(-1)).tolist()
    assert list(trace.numerics.chosen_differently) == differ


@pytest.mark.parametrize(
    ("text", "how", "said"),
    [
        ("  ", {}, "no text to look into"),
        ("a dog", {"level": "all"}, "one of attention, states, everything"),
        (
            "a dog",
            {"target": "a cat", "hypothesis": 1},
            "hypothesis have no effect where the target",
        ),
        ("a b " * 2500, {"split": False}, "tokens long, but this model has 40 positions"),
        ("a dog", {"target": "a b " * 2500}, "target is .* tokens long"),
        ("A dog. A cat.", {"sentence": 2}, "sentence 2 is out of range: there are 2, 0 to 1"),
        ("a dog", {"sentence": -2}, "sentence -2 is out of range: there is 1"),
        ("A dog. A cat.", {"sentence": 1, "target": "a"}, "sentence has no effect"),
    ],
)
def test_what_cannot_be_recorded(
    translator: Translator, text: str, how: dict[str, Any], said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        record(translator, text, **how)


def test_names_that_are_not_there(trace: Trace) -> None:
    with pytest.raises(ValueError, match="did you mean memory"):
        trace["memori"]
    assert "memory" in trace and "memori" not in trace and "memory.mean" not in trace


def test_what_is_set_aside_is_not_lost() -> None:
    """It is back in the translation that is judged, as in the one that the user gets."""
    translator = Translator.load("everyday-en-fr", device="cpu", precision="fp32")
    document = record(translator, "<b>Tom</b> is here.", level="attention").document
    assert document.whole is not None and "<b>Tom</b>" in document.whole.translation
    assert document.problems == () and (document.confidence or 0) > 0.7
