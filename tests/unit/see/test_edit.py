"""What if: each edit does what it says, in decoding as in the forced pass, and nothing else."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from glassformer.config import EOS
from glassformer.see import Trace, compare_traces, record
from glassformer.see.edit import prepare_edits, read_edits
from glassformer.see.search_networks import UncachedNetwork
from glassformer.translator import Translator

TEXT = "the cat is on a tree"
Edit = dict[str, Any]

SILENT: Edit = {"do": "silence", "name": "encoder.1.self_attention", "head": 2}
EDITS: list[Edit] = [
    SILENT,
    {"do": "silence", "name": "decoder.0.feed_forward"},
    {"do": "mean", "name": "decoder.-1.cross_attention", "head": 1},
    {"do": "mean", "name": "decoder.1.self_attention"},
    {"do": "mean", "name": "encoder.0.feed_forward"},
    {"do": "pin", "name": "decoder.0.self_attention", "head": 0, "key": 2},
    {"do": "pin", "name": "decoder.0.cross_attention", "key": -1, "query": 2},
    {"do": "row", "name": "memory", "position": 2, "factor": 0.5},
    {
        "do": "row",
        "name": "decoder.0.self_attention_residual.sum",
        "position": 1,
        "values": [1.0] * 22,
    },
    {"do": "row", "name": "decoder.1.cross_attention.query", "head": 1, "position": 2, "factor": 3},
    {"do": "swap", "name": "memory", "position": 1, "sentence": "a dog runs", "other": 1},
    {"do": "word", "word": "cat", "by": "dog"},
    {"do": "prefix", "text": "so"},
    {"do": "without", "what": "positions"},
    {"do": "without", "what": "scale", "name": "decoder.1"},
    {"do": "without", "what": "residual", "name": "encoder.0.feed_forward"},
    {"do": "without", "what": "norm", "name": "decoder.2"},
    {"do": "without", "what": "residual", "name": "decoder.1"},
    {"do": "silence", "name": "decoder.1.cross_attention", "head": 0},
    {"do": "row", "name": "decoder.2.cross_attention.value", "position": 1, "factor": 3},
    {"do": "cut", "word": "the"},
    {"do": "cut", "word": "the", "layer": -1, "head": 1},
    {"do": "cut", "word": "the", "query": 2},
]
READ_AGAIN = (
    2,
    3,
    5,
    6,
    8,
    9,
    22,
)  # what they do to a row depends on its place
NOTHING: list[Edit] = [
    {"do": "row", "name": "memory", "position": 2, "factor": 1},
    {"do": "row", "name": "decoder.1.self_attention.weights", "position": 30, "factor": 0},
    {"do": "pin", "name": "decoder.0.self_attention", "key": 0, "query": 0},
]


def name_edit(edit: Edit) -> str:
    return "-".join(str(value) for value in list(edit.values())[:2])


@pytest.fixture(scope="module")
def plain(translator: Translator) -> Trace:
    return record(translator, TEXT)


def differ(one: Trace, other: Trace) -> list[str]:
    return [name for name in one.names() if not np.array_equal(one[name], other[name])]


@pytest.mark.parametrize("edit", EDITS, ids=name_edit)
def test_edited_decoding_equals_the_edited_pass(translator: Translator, edit: Edit) -> None:
    """A step reads the newest tokens, or all; the recording reads all at once."""
    trace = record(translator, TEXT, edits=[edit])
    largest = max(1, *(abs(expected.log_prob) for expected in trace.predictions))
    assert (trace.numerics.largest_difference or 0) <= 2e-5 * largest
    assert trace.edits == (edit,)


@pytest.mark.parametrize("place", range(len(EDITS)), ids=lambda place: name_edit(EDITS[place]))
def test_a_search_reads_again_only_what_it_must(translator: Translator, place: int) -> None:
    """The source once; what is written again and again only where an edit must see it."""
    with prepare_edits(translator, TEXT, "", [EDITS[place]], record).network() as network:
        assert isinstance(network, UncachedNetwork) == (place in READ_AGAIN)
        heard, own = list[torch.Size](), getattr(network, "network", network)
        hooks = [
            part.register_forward_hook(lambda _, given, __: heard.append(given[0].shape))
            for part in (own.source_embedding, own.target_embedding)
        ]
        with torch.inference_mode():
            state = network.start(torch.tensor([[9, 8, EOS]]))
            for _ in range(3):
                network.step(torch.tensor([[7]]), state)
        for hook in hooks:
            hook.remove()
    lengths = [1, 2, 3] if place in READ_AGAIN else [1, 1, 1]
    assert [tuple(shape) for shape in heard] == [(1, 3), *((1, length) for length in lengths)]


@pytest.mark.parametrize("edit", NOTHING, ids=name_edit)
def test_an_edit_without_effect_changes_no_bit(
    translator: Translator, plain: Trace, edit: Edit
) -> None:
    trace = record(translator, TEXT, edits=[edit])
    assert trace.translation == plain.translation and differ(trace, plain) == []


def force(translator: Translator, plain: Trace, edit: Edit) -> Trace:
    """The same tokens, so that rows can be compared."""
    return record(translator, TEXT, target=plain, edits=[edit])


def test_to_silence(translator: Translator, plain: Trace) -> None:
    head, block = (force(translator, plain, edit) for edit in EDITS[:2])
    name = "encoder.1.self_attention"
    assert not head[f"{name}.context"][2].any()
    assert np.array_equal(head[f"{name}.context"][:2], plain[f"{name}.context"][:2])
    assert not block["decoder.0.feed_forward.output"].any()


def test_an_edited_cell_says_so(translator: Translator, plain: Trace) -> None:
    cell = "encoder.1.self_attention.context", (2, 0, 0)
    assert (
        "but an edit put 0 in its place"
        in force(translator, plain, SILENT).explain(*cell).to_text()
    )
    assert "but an edit" not in plain.explain(*cell).to_text()


def test_a_head_that_nobody_hears(make: Callable[..., Translator]) -> None:
    """Where its part of W_O is zero, silence changes nothing after it."""
    translator = make()
    attention = translator.model.encoder[1].self_attention
    with torch.no_grad():
        attention.to_output.weight[:, 10:15] = 0
    before = record(translator, TEXT)
    after = record(translator, TEXT, edits=[SILENT])
    assert differ(before, after) == ["encoder.1.self_attention.context"]


def test_the_mean_so_far(translator: Translator, plain: Trace) -> None:
    head, block = (force(translator, plain, edit) for edit in EDITS[2:4])
    name = "decoder.2.cross_attention.context"
    for row in range(len(plain.target)):
        expected = plain[name][1, : row + 1].mean(0)
        np.testing.assert_allclose(head[name][1, row], expected, rtol=1e-5, atol=1e-6)
        output = plain["decoder.1.self_attention.output"][: row + 1].mean(0)
        made = block["decoder.1.self_attention.output"][row]
        np.testing.assert_allclose(made, output, rtol=1e-5, atol=1e-5)


def test_to_pin(translator: Translator, plain: Trace) -> None:
    own, cross = (force(translator, plain, edit) for edit in EDITS[5:7])
    name = "decoder.0.self_attention.weights"
    assert np.array_equal(own[name][0, :2], plain[name][0, :2]), "these may not see position 2"
    assert np.array_equal(own[name][0, 2:], np.eye(len(own.target))[[2] * (len(own.target) - 2)])
    name = "decoder.0.cross_attention.weights"
    assert (cross[name][:, 2, -1] == 1).all() and not cross[name][:, 2, :-1].any()
    assert np.array_equal(cross[name][:, 1], plain[name][:, 1])


def test_to_edit_a_row(translator: Translator, plain: Trace) -> None:
    half, ones, head = (force(translator, plain, edit) for edit in EDITS[7:10])
    assert np.array_equal(half["memory"][2], plain["memory"][2] / 2)
    assert np.array_equal(np.delete(half["memory"], 2, 0), np.delete(plain["memory"], 2, 0))
    assert (ones["decoder.0.self_attention_residual.sum"][1] == 1).all()
    name = "decoder.1.cross_attention.query"
    np.testing.assert_allclose(head[name][1, 2], 3 * plain[name][1, 2], rtol=1e-6)
    assert np.array_equal(head[name][0], plain[name][0])


def test_a_row_of_weights_fits_a_translation_of_another_length(translator: Translator) -> None:
    name = "decoder.1.self_attention.weights"
    edit = {"do": "row", "name": name, "position": 3, "head": 0, "values": [0.25, 0.75]}
    longer, shorter = (record(translator, text, edits=[edit]) for text in (TEXT, "a dog"))
    assert len(longer.target) > 4
    assert longer[name][0, 3].tolist() == [0.25, 0.75, *[0] * (len(longer.target) - 2)]
    assert shorter[name].shape[-1] == len(shorter.target)
    swap = {"do": "swap", "name": name, "position": 3, "sentence": "a dog", "other": 0}
    swapped = record(translator, TEXT, edits=[swap])[name]
    assert (swapped[:, 3, 0] == 1).all() and not swapped[:, 3, 1:].any()


def test_to_swap(translator: Translator, plain: Trace) -> None:
    trace, other = force(translator, plain, EDITS[10]), record(translator, "a dog runs")
    np.testing.assert_allclose(trace["memory"][1], other["memory"][1], rtol=1e-6)


def test_words_and_prefixes(translator: Translator) -> None:
    word, prefix = (record(translator, TEXT, edits=[edit]) for edit in EDITS[11:13])
    assert word.text == "the dog is on a tree"
    assert differ(word, record(translator, word.text)) == []
    assert prefix.translation == record(translator, TEXT, prefix="so").translation
    assert prefix.translation.startswith("so")


def test_to_do_without(translator: Translator, plain: Trace) -> None:
    places, scale, residual, norm = (force(translator, plain, edit) for edit in EDITS[13:17])
    assert (
        not places["source_embedding.positions"].any()
        and not places["target_embedding.positions"].any()
    )
    for block in ("self_attention", "cross_attention"):
        stem = f"decoder.1.{block}"
        product = scale[f"{stem}.query"] @ scale[f"{stem}.key"].swapaxes(1, 2)
        np.testing.assert_allclose(scale[f"{stem}.scores"], product, rtol=1e-4, atol=1e-4)
    stem = "encoder.0.feed_forward"
    assert np.array_equal(residual[f"{stem}_residual.sum"], residual[f"{stem}.output"])
    for block in ("self_attention", "cross_attention", "feed_forward"):
        op = norm.graph[f"decoder.2.{block}_residual.normed"]
        assert np.array_equal(norm[op.name], norm[op.operands[0]])


def find_cat(trace: Trace) -> list[int]:
    return [n for n, token in enumerate(trace.source) if token.start < 7 and token.end > 4]


def attend(trace: Trace, layer: int, keys: list[int]) -> np.ndarray:
    """Softmax over the scores of the recording, in double precision, without some keys."""
    scores = trace[f"decoder.{layer}.cross_attention.scores"].astype(np.float64)
    scores[..., keys] = -np.inf
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


def test_no_layer_and_no_head_reads_a_cut_word(translator: Translator, plain: Trace) -> None:
    keys, trace = find_cat(plain), force(translator, plain, {"do": "cut", "word": "cat"})
    assert keys and np.array_equal(trace["memory"], plain["memory"]), "the encoder still reads it"
    for layer in range(3):
        name = f"decoder.{layer}.cross_attention"
        assert not trace[f"{name}.weights"][..., keys].any()
        assert not trace[f"{name}.mask"][..., keys].any()
        np.testing.assert_allclose(trace[f"{name}.weights"], attend(trace, layer, keys), atol=1e-6)


def test_a_cut_of_one_layer_head_or_row_leaves_the_others(
    translator: Translator, plain: Trace
) -> None:
    keys, name = find_cat(plain), "decoder.{}.cross_attention.weights"
    cut = {"do": "cut", "word": "cat"}
    last, head, row = (
        force(translator, plain, cut | where) for where in ({"layer": 2}, {"head": 1}, {"query": 2})
    )
    for layer in (0, 1):
        assert np.array_equal(last[name.format(layer)], plain[name.format(layer)])
    assert not last[name.format(2)][..., keys].any()
    for layer in range(3):
        without = attend(head, layer, keys)[1]
        np.testing.assert_allclose(head[name.format(layer)][1], without, atol=1e-6)
        others = np.delete(head[name.format(layer)], 1, 0)
        assert others[..., keys].min() > 0
        np.testing.assert_allclose(
            row[name.format(layer)][:, 2], attend(row, layer, keys)[:, 2], atol=1e-6
        )
        assert np.delete(row[name.format(layer)], 2, 1)[..., keys].min() > 0


def test_which_of_two_words_is_cut(translator: Translator) -> None:
    text = "the cat is the cat"
    cut = {"do": "cut", "word": "cat"}
    plain = record(translator, text)
    first, last, both = (
        record(translator, text, target=plain, edits=[edit])["decoder.0.cross_attention.mask"][0, 0]
        for edit in (cut | {"occurrence": 0}, cut | {"occurrence": -1}, cut)
    )
    assert np.array_equal(both, first & last) and first.sum() == last.sum() > both.sum()
    assert first.argmin() < last.argmin()


def test_what_is_read_instead(translator: Translator, plain: Trace) -> None:
    found = compare_traces(translator, TEXT, [{"do": "cut", "word": "cat"}])
    (reading,) = found.readings
    keys, layers = find_cat(plain), range(3)
    before, forced = (
        np.mean([each[f"decoder.{n}.cross_attention.weights"].mean(0) for n in layers], 0)
        for each in (plain, found.forced)
    )
    assert 0 < reading.share <= before[:, keys].sum(1).max() + 1e-6
    assert reading.instead != "cat" and reading.instead_after > reading.instead_before
    assert forced[:, keys].max() == 0
    assert 0 < reading.after < 1 and 0 < reading.before < 1
    assert found.to_json()["readings"] == [reading._asdict()]
    other = [{"do": "word", "word": "tree", "by": "dog"}, {"do": "cut", "word": "cat"}]
    assert compare_traces(translator, TEXT, other).readings == []


def test_the_shipped_model_says_another_word_for_one_that_is_cut() -> None:
    """What the documentation shows: the decoder may not read *tired*, and the animal is ill."""
    shipped = Translator.load("demo")
    text = "The animal didn't cross the street because it was too tired."
    found = compare_traces(shipped, text, [{"do": "cut", "word": "tired"}])
    assert found.before.translation.endswith("trop fatigué.")
    assert found.after.translation.endswith("trop malade.")
    (reading,) = found.readings
    assert reading.word == "fatigué" and reading.share > 0.3
    assert reading.before > 0.8 and reading.after < 0.05


def test_without_the_mask_a_row_sees_ahead(translator: Translator, plain: Trace) -> None:
    trace = force(translator, plain, {"do": "without", "what": "mask"})
    weights = trace["decoder.0.self_attention.weights"]
    assert trace["decoder.0.self_attention.mask"].all() and weights[:, 0, -1].min() > 0
    np.testing.assert_allclose(weights.sum(-1), 1, rtol=1e-5)


def test_without_places_order_is_lost(translator: Translator) -> None:
    """The encoder says the same of the same tokens, wherever they stand."""
    edit = {"do": "without", "what": "positions"}
    one, other = (record(translator, text, edits=[edit]) for text in ("so it is", "so is it"))
    texts = [[token.text for token in trace.source] for trace in (one, other)]
    assert texts[0] != texts[1] and sorted(texts[0]) == sorted(texts[1])
    order = [texts[1].index(text) for text in texts[0]]
    np.testing.assert_allclose(one["memory"], other["memory"][order], rtol=1e-4, atol=1e-5)


def test_edits_follow_each_other(translator: Translator, plain: Trace) -> None:
    double = {"do": "row", "name": "memory", "position": 0, "factor": 2}
    trace = record(translator, TEXT, target=plain, edits=[double, double, SILENT])
    silent = force(translator, plain, SILENT)
    np.testing.assert_allclose(trace["memory"][0], 4 * silent["memory"][0], rtol=1e-6)


def test_before_and_after(translator: Translator, plain: Trace) -> None:
    found = compare_traces(translator, TEXT, [SILENT])
    assert found.before.translation == plain.translation
    assert found.after.translation == record(translator, TEXT, edits=[SILENT]).translation
    moved = [name for name, apart in found.differences.items() if apart]
    assert moved[0] == "encoder.1.self_attention.context" and moved[-1] == "logits"
    assert found.differences["logits"] == pytest.approx(
        np.abs(found.forced["logits"].astype(np.float64) - plain["logits"]).max()
    )
    change, token = found.changes[1], plain.predicted[1]
    assert change.token == token.text
    assert change.before == pytest.approx(plain["probabilities"][1, token.id], rel=1e-4)
    assert change.after == pytest.approx(found.forced["probabilities"][1, token.id], rel=1e-4)
    assert math.isfinite(json.loads(json.dumps(found.to_json()))["tokens"][0]["after"])


def test_a_word_of_other_length_is_compared_where_it_can_be(translator: Translator) -> None:
    found = compare_traces(translator, TEXT, [{"do": "word", "word": "cat", "by": "old tree"}])
    assert found.differences["memory"] is None and found.differences["logits"]


@pytest.mark.parametrize(
    ("text", "word", "by", "made"),
    [
        ("it is a cat.", "it", r"\1 \g<0>\n", r"\1 \g<0>\n is a cat."),
        ("it: cats, a cat", "cat", "dog", "it: cats, a dog"),
        ("动物很累", "动物", "猫", "猫很累"),
        ("他喜欢cat和cats", "cat", "dog", "他喜欢dog和cats"),
    ],
)
def test_a_word_is_replaced_as_it_is(
    translator: Translator, text: str, word: str, by: str, made: str
) -> None:
    edits = [{"do": "word", "word": word, "by": by}]
    assert prepare_edits(translator, text, "", edits, record).text == made


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        ({"do": "silense"}, '"do" is one of silence, mean, pin'),
        ({"name": "memory"}, '"do" is one of'),
        ({"do": "silence", "name": "encoder.9.self_attention"}, "did you mean encoder.1.self_att"),
        ({"do": "silence", "name": "memory"}, "there is no block memory"),
        (SILENT | {"head": 7}, "head of encoder.1.self_attention: 7 is out of range"),
        (SILENT | {"haed": 1}, "haed: Extra inputs"),
        ({"do": "silence", "name": "encoder.0.feed_forward", "head": 0}, "has no heads"),
        ({"do": "pin", "name": "decoder.0.cross_attention", "key": 99}, "key of .* 99 is out of"),
        ({"do": "row", "name": "memory", "position": 0}, "give either values or a factor"),
        ({"do": "row", "name": "memory", "position": 99, "factor": 1}, "99 is out of range"),
        ({"do": "row", "name": "memory", "position": 0, "values": [1]}, "22 values a position"),
        ({"do": "row", "name": "logit", "position": 0, "factor": 1}, "did you mean logits"),
        (EDITS[10] | {"other": 99}, "other 99 is out of range"),
        (EDITS[10] | {"name": "memorie"}, "did you mean memory"),
        (EDITS[8] | {"position": -1}, "-1 counts from an end that is not written yet"),
        ({"do": "word", "word": "zebra", "by": "x"}, "there is no word 'zebra'"),
        ({"do": "cut", "word": "zebra"}, "there is no word 'zebra'"),
        ({"do": "cut", "word": " "}, "' ' is no word"),
        ({"do": "word", "word": " ", "by": "x"}, "there is no word ' '"),
        ({"do": "cut", "word": "cat", "occurrence": 1}, "occurrence of 'cat': 1 is out of range"),
        ({"do": "cut", "word": "cat", "layer": 7}, "layer of the decoder: 7 is out of range"),
        ({"do": "cut", "word": "cat", "head": 7}, "head of decoder.0.cross_attention: 7 is out"),
        ({"do": "cut", "word": "cat", "query": -1}, "-1 counts from an end that is not"),
        ({"do": "word", "word": "", "by": "x"}, "word: String should have at least 1"),
        ({"do": "without", "what": "scale", "name": "encoder.7"}, "no scale in encoder.7"),
    ],
)
def test_edits_that_cannot_be(translator: Translator, edit: Edit, said: str) -> None:
    with pytest.raises(ValueError, match=said) as error:
        record(translator, TEXT, edits=[SILENT, edit])
    assert str(error.value).startswith("edit 2: ")


def test_a_file_of_edits(tmp_path: Path) -> None:
    path = tmp_path / "edit.json"
    for content in ([SILENT], {"edits": [SILENT]}):
        path.write_text(json.dumps(content), encoding="utf-8")
        assert read_edits(path) == [SILENT]
    for text, said in (
        ("[{", "no JSON"),
        ("[" * 100_000, "no JSON"),
        ('{"do": "silence"}', "a list of edits is needed"),
        ("[1]", "a list of edits is needed"),
    ):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(ValueError, match=said):
            read_edits(path)
