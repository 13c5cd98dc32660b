"""What is derived, against its definition in loops."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch

from glassformer.see import Trace, derive, record
from glassformer.see.document import Token
from glassformer.translate.language_model import LanguageModel
from glassformer.translator import Translator


def test_masked_scores(trace: Trace) -> None:
    block = "decoder.1.self_attention"
    masked, scores = trace[f"{block}.masked"], trace[f"{block}.scores"]
    for q, m in np.ndindex(*masked.shape[1:]):
        expected = scores[:, q, m] if m <= q else -np.inf
        assert np.array_equal(masked[:, q, m], np.broadcast_to(expected, masked.shape[:1]))


def test_statistics_of_a_norm(trace: Trace) -> None:
    x = (
        trace["encoder.0.self_attention_residual.sum"]
        if trace.settings.norm == "post"
        else trace["source_embedding.sum"]
    )
    mean, deviation = (
        trace[f"encoder.0.self_attention_residual.{n}"] for n in ("mean", "deviation")
    )
    for place, row in enumerate(x.astype(np.float64)):
        variance = sum((value - row.mean()) ** 2 for value in row) / len(row)
        assert mean[place] == pytest.approx(row.mean(), abs=1e-6)
        assert deviation[place] == pytest.approx(math.sqrt(variance + 1e-5), rel=1e-6)


def test_contributions_of_the_heads_add_up(trace: Trace) -> None:
    block = "decoder.2.cross_attention"
    total = trace[f"{block}.contributions"].sum(0) + trace[f"{block}.to_output.bias"]
    np.testing.assert_allclose(total, trace[f"{block}.output"], rtol=1e-5, atol=1e-5)


def test_probabilities(trace: Trace) -> None:
    expected = torch.tensor(trace["logits"]).double().softmax(-1)
    np.testing.assert_allclose(trace["probabilities"], expected, rtol=1e-5, atol=1e-8)
    assert np.array_equal(trace["choice"], trace["logits"].argmax(-1))


def test_entropy() -> None:
    weights = np.array([[1, 0, 0, 0], [0.25] * 4, [0.5, 0.5, 0, 0]])
    np.testing.assert_allclose(derive.entropy(weights), [0, math.log(4), math.log(2)], atol=1e-12)


def test_heads_together(trace: Trace) -> None:
    weights = trace["encoder.1.self_attention.weights"]
    mean, most = derive.mean_over_heads(weights), derive.max_over_heads(weights)
    for q, m in np.ndindex(*mean.shape):
        assert mean[q, m] == pytest.approx(sum(head[q, m] for head in weights) / 3, rel=1e-6)
        assert most[q, m] == max(head[q, m] for head in weights)
    np.testing.assert_allclose(mean.sum(-1), 1, rtol=1e-6)


def test_weights_times_lengths_of_values(trace: Trace) -> None:
    block = "decoder.0.cross_attention"
    found, value = derive.weigh_values(trace, block), trace[f"{block}.value"]
    for h, q, m in np.ndindex(*found.shape):
        length = math.sqrt(sum(float(x) ** 2 for x in value[h, m]))
        assert found[h, q, m] == pytest.approx(
            trace[f"{block}.weights"][h, q, m] * length, rel=1e-5
        )


def test_rollout(trace: Trace) -> None:
    """Layer by layer, the longhand way: half stays, half is what the heads read."""
    expected = np.eye(len(trace.source))
    for layer in range(2):
        mean = trace[f"encoder.{layer}.self_attention.weights"].mean(0)
        expected = (0.5 * np.eye(len(mean)) + 0.5 * mean) @ expected
    np.testing.assert_allclose(derive.roll_out(trace), expected, atol=1e-6)
    decoder = derive.roll_out(trace, "decoder")
    targets = len(trace.target)
    assert decoder.shape == (targets, targets + len(trace.source))
    np.testing.assert_allclose(decoder.sum(-1), 1, rtol=1e-6)
    assert np.all(np.triu(decoder[:, :targets], 1) == 0), "nobody looks ahead"


def test_the_last_lens_is_the_model(trace: Trace) -> None:
    lens = derive.read_lens(trace)
    assert lens.shape == (3, *trace["logits"].shape)
    np.testing.assert_allclose(lens[-1], trace["logits"], rtol=1e-4, atol=1e-4)
    assert not np.allclose(lens[0], trace["logits"], atol=0.1)
    np.testing.assert_allclose(derive.read_lens(trace, [2, 0]), lens[:, [2, 0]], atol=1e-6)


def test_an_inner_lens_is_the_model_with_fewer_layers(translator: Translator, trace: Trace) -> None:
    model = translator.model
    source, target = ([[token.id for token in side]] for side in (trace.source, trace.target))
    decoder = model.decoder
    try:
        model.decoder = decoder[:2]
        with torch.inference_mode():
            expected = model(torch.tensor(source), torch.tensor(target))[0]
    finally:
        model.decoder = decoder
    np.testing.assert_allclose(derive.read_lens(trace)[1], expected, rtol=1e-4, atol=1e-4)


def test_attributions_of_a_logit_add_up(trace: Trace) -> None:
    for row, token in ((0, 5), (2, trace.predicted[2].id)):
        found = derive.attribute_logit(trace, row, token)
        assert sum(found.values()) == pytest.approx(trace["logits"][row, token], abs=1e-4)
        assert {"norms", "target_embedding.embedded", "decoder.1.cross_attention.2"} < found.keys()
        assert len(found) == 3 + 3 * (4 + 4 + 1)


def test_an_attribution_is_what_silencing_takes_at_the_end(
    make: Callable[..., Translator],
) -> None:
    """Of the last block, where nothing comes after but one norm, whose deviation is held."""
    translator = make(norm="pre")
    name, text = "decoder.2.feed_forward", "a dog"
    plain = record(translator, text)
    silent = record(translator, text, target=plain, edits=[{"do": "silence", "name": name}])
    vector = plain["output_table.weight"][7]
    gain = plain["decoder_norm.weight"] / plain["last.deviation"][1]
    gone = (
        plain["decoder.2.feed_forward_residual.sum"][1]
        - silent["decoder.2.feed_forward_residual.sum"][1]
    )
    expected = float(((gone - gone.mean()) * gain) @ vector)
    assert derive.attribute_logit(plain, 1, 7)[name] == pytest.approx(expected, abs=1e-4)


def test_tokens_into_words(translator: Translator) -> None:
    text = "the cat, it didn't run 3x."
    trace = record(translator, text)
    groups = derive.group_words(trace.source, text)
    assert [place for group in groups for place in group] == list(range(len(trace.source)))
    words = [text[trace.source[g[0]].start : trace.source[g[-1]].end].strip() for g in groups]
    assert words == ["the", "cat", ",", "it", "didn't", "run", "3x", ".", ""]


def test_attention_between_words(trace: Trace) -> None:
    weights = trace["encoder.0.self_attention.weights"]
    groups = derive.group_words(trace.source, trace.text)
    merged = derive.merge_words(weights, groups, groups)
    for h, q, m in np.ndindex(*merged.shape):
        rows = [sum(weights[h, i, j] for j in groups[m]) for i in groups[q]]
        assert merged[h, q, m] == pytest.approx(sum(rows) / len(rows), rel=1e-5)
    np.testing.assert_allclose(merged.sum(-1), 1, rtol=1e-5)


def test_a_language_model_has_the_same_measures_of_its_side() -> None:
    trace = LanguageModel.load("demo-lm", device="cpu").see("The cat is on the mat.")
    for row, token in ((0, 5), (3, trace.predicted[3].id)):
        found = derive.attribute_logit(trace, row, token)
        assert sum(found.values()) == pytest.approx(trace["logits"][row, token], abs=1e-4)
        assert not any("cross" in name for name in found)
        assert {"decoder.0.self_attention.0", "decoder.0.feed_forward"} < found.keys()
    np.testing.assert_allclose(derive.read_lens(trace)[-1], trace["logits"], rtol=1e-4, atol=1e-4)
    expected = np.eye(len(trace.target))
    for layer in range(trace.settings.decoder_layers):
        mean = trace[f"decoder.{layer}.self_attention.weights"].mean(0)
        expected = (0.5 * np.eye(len(mean)) + 0.5 * mean) @ expected
    np.testing.assert_allclose(derive.roll_out(trace, "decoder"), expected, atol=1e-6)
    with pytest.raises(ValueError, match=r"network=decoder has no attention .* encoder"):
        derive.roll_out(trace)


@pytest.mark.parametrize("model", ["demo-mlm", "demo-rnn-attention"])
def test_what_has_no_decoder_of_a_transformer_is_refused(model: str) -> None:
    kind = LanguageModel if model == "demo-mlm" else Translator
    trace = kind.load(model, device="cpu").see("The cat is small.")
    for measure in (
        lambda: derive.attribute_logit(trace, 0, 5),
        lambda: derive.read_lens(trace),
        lambda: derive.roll_out(trace, "decoder"),
    ):
        with pytest.raises(ValueError, match=r"^network=(encoder|rnn) has no .* decoder$"):
            measure()


def test_a_word_ends_where_the_network_read_nothing() -> None:
    text = "are <i>here</i>."
    spans = {" are": (0, 3), " he": (7, 9), "re": (9, 11), ".": (15, 16)}
    tokens = [Token(text=own, id=9, start=a, end=b) for own, (a, b) in spans.items()]
    assert derive.group_words(tokens, text) == [[0], [1, 2], [3]]
