"""Probing: the batched measurements against edits of single recordings, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from glassformer.config import BOS, EOS
from glassformer.extensions.lab.contrastive import ContrastiveItem
from glassformer.extensions.lab.probe_pairs import (
    REST,
    ProbePair,
    find_donors,
    find_tokens,
    read_probe_pair,
    read_probe_pairs,
)
from glassformer.extensions.lab.probe_report import probe_pairs, tell_probe
from glassformer.extensions.lab.probing import (
    STEP,
    Look,
    Probe,
    cut_edges,
    list_cuts,
    measure_attention,
    parse_cut,
    prefer_roles,
    share_right,
    silence_blocks,
    swap_vectors,
)
from glassformer.see import record
from glassformer.translator import Translator

RIDDLES = (
    ("The animal didn't cross the street because it was too tired.", "animal", "street", "tired"),
    ("The animal didn't cross the street because it was too wide.", "street", "animal", "wide"),
    ("The zebra didn't cross this beach because it was too worried.", "zebra", "beach", "worried"),
)
RIGHT = (
    ("L'animal n'a pas traversé la rue parce qu'", "il", "L'animal", "la rue"),
    ("L'animal n'a pas traversé la rue parce qu'", "elle", "la rue", "L'animal"),
    ("Le zèbre n'a pas traversé cette plage parce qu'", "il", "Le zèbre", "cette plage"),
)


def _make(place: int) -> ContrastiveItem:
    source, right, wrong, adjective = RIDDLES[place]
    begin, pronoun, ours, theirs = RIGHT[place]
    other = {"il": "elle", "elle": "il"}[pronoun]
    marked = {
        "source": {"right": right, "wrong": wrong, "it": "it", "adjective": adjective},
        "target": {"right": ours, "wrong": theirs},
    }
    said = [f"{begin}{word} était trop." for word in (pronoun, other)]
    return ContrastiveItem(source, said[0], (said[1],), marked=marked)


ITEMS = [_make(place) for place in range(3)]


@pytest.fixture(scope="module", params=["demo", "demo-rnn-attention"])
def translator(request: pytest.FixtureRequest) -> Translator:
    return Translator.load(request.param, device="cpu", precision="fp32")


@pytest.fixture(scope="module")
def demo() -> Translator:
    return Translator.load("demo", device="cpu", precision="fp32")


def _ask(translator: Translator, item: ContrastiveItem, edits: list[dict[str, Any]]) -> float:
    """The same odds from a recording of one sentence alone."""
    pair = read_probe_pair(translator, item)
    assert isinstance(pair, ProbePair)
    trace = record(translator, item.source, target=item.right, edits=edits)
    right, wrong = (trace["logits"][..., pair.step, id] for id in pair.answers)
    return float(np.squeeze(right - wrong))


def test_odds_are_those_of_each_sentence_alone(translator: Translator) -> None:
    probe = Probe(translator, read_probe_pairs(translator, ITEMS)[0])
    expected = [_ask(translator, item, []) for item in ITEMS]
    assert probe.ask().tolist() == pytest.approx(expected, abs=1e-3)


def test_translations_are_read_as_their_source_is(demo: Translator) -> None:
    usual, capitals = (
        read_probe_pair(demo, ContrastiveItem(source, right, (wrong,)))
        for source, right, wrong in (
            ("The cat is old.", "Le chat est vieux.", "Le chat est vieille."),
            ("THE CAT IS OLD.", "LE CHAT EST VIEUX.", "LE CHAT EST VIEILLE."),
        )
    )
    assert isinstance(usual, ProbePair) and capitals == usual


def test_a_cut_is_that_of_see(translator: Translator) -> None:
    pairs = read_probe_pairs(translator, ITEMS)[0]
    probe = Probe(translator, pairs)
    for role in ("adjective", "it"):
        found = cut_edges(probe, parse_cut(f"step -> {role}", pairs[0])).tolist()
        for item, pair, odds in zip(ITEMS, pairs, found, strict=True):
            edit = {"do": "cut", "word": item.marked["source"][role], "query": pair.step}
            assert odds == pytest.approx(_ask(translator, item, [edit]), abs=1e-3)


def test_a_cut_in_one_layer_is_that_of_see(demo: Translator) -> None:
    pairs = read_probe_pairs(demo, ITEMS)[0]
    probe = Probe(demo, pairs)
    found = cut_edges(probe, parse_cut("step -> adjective", pairs[0]), 2).tolist()
    for item, pair, odds in zip(ITEMS, pairs, found, strict=True):
        word = item.marked["source"]["adjective"]
        edit = {"do": "cut", "word": word, "query": pair.step, "layer": 2}
        assert odds == pytest.approx(_ask(demo, item, [edit]), abs=1e-3)


def test_silence_is_that_of_see(translator: Translator) -> None:
    probe = Probe(translator, read_probe_pairs(translator, ITEMS)[0])
    found = silence_blocks(probe)
    is_recurrent = translator.config.model.network == "rnn"
    others = [] if is_recurrent else ["encoder self", "decoder self"]
    assert {*found} == {"decoder cross", *others}
    layer = len(found["decoder cross"]) - 1
    *heads, block = found["decoder cross"][layer]
    assert len(heads) == (0 if is_recurrent else translator.config.model.heads)
    name = f"decoder.{layer}.cross_attention"
    tries = [({"head": head}, share) for head, share in enumerate(heads[:2])]
    for more, share in [*tries, ({}, block)] if heads else []:
        edit = {"do": "silence", "name": name, **more}
        odds = [_ask(translator, item, [edit]) for item in ITEMS]
        assert share == pytest.approx(np.mean([each > 0 for each in odds]))


def test_attention_is_that_of_a_recording(translator: Translator) -> None:
    pairs = read_probe_pairs(translator, ITEMS)[0]
    found = measure_attention(Probe(translator, pairs), "decoder cross", STEP, "adjective")
    expected = np.zeros(np.shape(found))
    shares = np.zeros(np.shape(found))
    for item, pair in zip(ITEMS, pairs, strict=True):
        trace = record(translator, item.source, target=item.right)
        for layer in range(len(found)):
            weights = trace[f"decoder.{layer}.cross_attention.weights"][:, pair.step]
            expected[layer] += weights[:, pair.words["adjective"]].sum(-1) / 3
            right, wrong = (weights[:, pair.words[role]].sum(-1) for role in ("right", "wrong"))
            shares[layer] += (right > wrong) / 3
    np.testing.assert_allclose(found, expected, atol=1e-4)
    looks = {"name": Look("decoder cross", STEP)}
    compared = prefer_roles(Probe(translator, pairs), looks, ("right", "wrong"))
    np.testing.assert_allclose(compared["name"], shares, atol=1e-6)


def test_a_donors_vectors_turn_the_answer(demo: Translator) -> None:
    """All of the donor's source after the last layer of the encoder is the donor's memory."""
    pairs = read_probe_pairs(demo, ITEMS)[0]
    assert share_right(Probe(demo, pairs).ask()) == 1
    (both,) = [[pair] for pair in find_donors(pairs[:2], "adjective")[:1]]
    assert [pair.answers for pair in both[0]] == [pairs[0].answers, pairs[1].answers]
    probe = Probe(demo, [pair for pair, _ in both])
    donors = [donor for _, donor in both]
    found = swap_vectors(probe, donors, ["adjective", "it"])
    assert found["pairs"] == 1 and len(found["encoder"]["adjective"]) == 7
    assert found["encoder"]["adjective"][0] == 1  # the embedding of the only word that differs
    assert found["encoder"]["it"][0] == 0  # the embedding of a word that they share
    assert found["decoder"]["step"][-1] == 1  # what the last linear map reads
    assert find_donors([pairs[0], pairs[2]], "adjective") == []


def test_where_the_answer_is_and_where_words_are(demo: Translator) -> None:
    pair = read_probe_pair(demo, ITEMS[1])
    assert isinstance(pair, ProbePair)
    spell = demo.tokenizers.target.token
    assert pair.given[0] == BOS and pair.source[-1] == EOS
    answers = [spell(id).replace("_", " ").strip(" ▁") for id in pair.answers]
    assert [answer.removeprefix("qu'") for answer in answers] == ["elle", "il"]
    said = "".join(spell(pair.given[row]) for row in pair.rows["right"])
    assert "rue" in said
    places = [n for where in pair.words.values() for n in where]
    assert sorted(places) == list(range(len(pair.source)))  # all, each once
    turned = pair.exchange("right", "wrong")
    assert turned.answers == pair.answers[::-1] and turned.rows["right"] == pair.rows["wrong"]
    assert turned.words["it"] == pair.words["it"]


def test_an_imported_models_conventions_are_kept(demo: Translator) -> None:
    """The odds are those of its own scores, whatever a translation begins with."""
    text = demo.config.text.model_copy(update={"source_eos": False})
    model = demo.with_settings(demo.config.model_copy(update={"text": text}))
    model.reader.begin = [7, 9]
    pairs = read_probe_pairs(model, ITEMS)[0]
    found = Probe(model, pairs).ask().tolist()
    for item, pair, odds in zip(ITEMS, pairs, found, strict=True):
        assert pair.source[-1] != EOS and pair.given[:3] == [BOS, 7, 9]
        at = pair.step - 2
        scored = model.score([item.source] * 2, [item.right, item.wrong[0]])
        right, wrong = (each.token_log_probs[at] for each in scored)
        assert odds == pytest.approx(right - wrong, abs=1e-3)


def test_words_are_found_whole_before_parts() -> None:
    text, spans = "bitten: It bit it", [(0, 3), (3, 6), (6, 7), (8, 10), (10, 14), (14, 17)]
    assert find_tokens(text, "it", spans) == [5]
    assert find_tokens(text, "bitten", spans) == [0, 1]
    assert find_tokens(text, "BIT", spans) == [4]
    assert find_tokens(text, "itte", spans) == [0, 1]
    assert find_tokens(text, "no", spans) == find_tokens(text, " ", spans) == []


def test_items_that_cannot_be_asked_are_counted(demo: Translator) -> None:
    lost = ContrastiveItem("A dog.", "Un chien.", ("Une chien.",), marked={"source": {"it": "it"}})
    same = ContrastiveItem("A dog.", "Un  chien.", ("Un  chien.",))
    long = ContrastiveItem("dog " * 9000, "Un.", ("Une.",))
    other = ContrastiveItem("A dog.", "Un chien.", ("Une chien.",))
    pairs, skipped = read_probe_pairs(demo, [*ITEMS, lost, same, long, other])
    assert len(pairs) == 3
    assert skipped == {
        "a marked word is not in its text": 1,
        "right and wrong are the same tokens": 1,
        "longer than the model allows": 1,
        "other words are marked, or after the answer": 1,
    }
    with pytest.raises(ValueError, match="no pair can be asked about: 1 a marked word"):
        read_probe_pairs(demo, [lost])


@pytest.mark.parametrize(
    "written",
    ["it", "it ->", "who -> it", "it -> step", "it + step -> rest", "it -> target.right"],
)
def test_wrong_cuts_are_refused(demo: Translator, written: str) -> None:
    pair = read_probe_pair(demo, ITEMS[0])
    assert isinstance(pair, ProbePair)
    with pytest.raises(ValueError, match="is no cut: "):
        parse_cut(written, pair)


def test_a_cut_of_the_whole_source_is_none(demo: Translator) -> None:
    """Nothing would be left to attend to, and odds that are no number would count as wrong."""
    pair = read_probe_pair(demo, ITEMS[0])
    assert isinstance(pair, ProbePair)
    with pytest.raises(ValueError, match="leaves no word of the source"):
        parse_cut(f"step -> {' + '.join(pair.words)}", pair)
    unmarked = replace(pair, words={REST: [*range(len(pair.source))]}, rows={})
    assert [*list_cuts(unmarked)] == []


@pytest.mark.thorough
def test_the_report_has_all_measurements(translator: Translator) -> None:
    calls: list[int] = []
    found = probe_pairs(translator, ITEMS, progress=calls.append)
    text = tell_probe(found)
    assert found["pairs"] == 3 and calls and "3 of 3" in text
    cuts = [each["cut"] for each in found["cut"]]
    if translator.config.model.network == "rnn":
        assert all(cut.startswith("step -> ") for cut in cuts) and found["swap"] == {}
    else:
        assert {"it -> right", "rest -> adjective", "step -> target.wrong"} <= {*cuts}
        assert len(found["layers"]["step -> adjective"]) == 6
        assert list(found["look"]) == [
            "it reads the source",
            "adjective reads the source",
            "step reads the source",
            "step reads the translation",
        ]
    for cut in cuts:
        assert f"\n{cut} " in text
    only = probe_pairs(translator, ITEMS, ["step -> it"])
    assert [each["cut"] for each in only["cut"]] == ["step -> it"]


def test_a_network_without_attention_is_asked_what_it_has() -> None:
    found = probe_pairs(Translator.load("demo-rnn", device="cpu"), ITEMS)
    assert found["cut"] == [] and found["silence"] == {} and found["attention"] == {}
    assert "right " in tell_probe(found)
