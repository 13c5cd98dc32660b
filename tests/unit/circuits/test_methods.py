"""What other methods name for a word: each held to a plain computation, and tried by a cut."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.unit.circuits.test_edges import HERE, make_network
from tests.unit.circuits.test_why import PAGES, TIRED, WIDE
from torch import Tensor
from torch.nn.functional import cosine_similarity

from glassformer.cli import main
from glassformer.config import PAD
from glassformer.extensions.circuits import methods, mixing
from glassformer.extensions.circuits.words import ask_word
from glassformer.extensions.lab.contributions import attribute_gradients, cut_each
from glassformer.model.masks import padding_mask, target_mask
from glassformer.see.derive import group_words, mean_cross_attention, read_lens
from glassformer.translator import Translator

SHAPES: dict[str, dict[str, Any]] = {
    "pre": {"norm": "pre"},
    "post": {"norm": "post"},
    "rms": {"norm": "post", "normalization": "rms", "positions": {"layout": "alibi"}},
    "grouped": {"norm": "pre", "key_value_heads": 2, "positions": {"layout": "rotary"}},
}
SOURCE, GIVEN = torch.tensor([HERE.source]), torch.tensor([HERE.given])


@pytest.mark.parametrize("name", SHAPES)
def test_the_parts_of_an_attention_sum_to_its_output(name: str) -> None:
    network = make_network(**SHAPES[name])
    kept = mixing.keep_windows(network, HERE)
    blocks = [each.removesuffix(".weights") for each in kept if each.endswith(".weights")]
    assert len(blocks) == 6
    for block in blocks:
        parts_QMD, rest_QD, whole_QD = mixing.split_attention(network, kept, block)
        bias_QD = network.get_submodule(block).to_output.bias.expand_as(rest_QD)
        residual = network.get_submodule(f"{block}_residual")
        if residual.post:
            sum_QD = kept[f"{block}_residual.sum"][0][0]
            bias_QD = mixing.scale_as_norm(residual.norm, bias_QD, sum_QD)
            bias_QD = bias_QD + getattr(residual.norm, "bias", 0)
        torch.testing.assert_close(parts_QMD.sum(1) + rest_QD + bias_QD, whole_QD)


@pytest.mark.parametrize("name", SHAPES)
def test_the_shares_of_a_row_sum_to_one(name: str) -> None:
    network = make_network(**SHAPES[name])
    kept = mixing.keep_windows(network, HERE)
    for encoder, decoder in (
        mixing.list_alti(network, kept),
        mixing.list_zeroed(network, HERE),
    ):
        for layer in (*encoder, *decoder):
            rows = layer.own if layer.source is None else torch.cat((layer.own, layer.source), 1)
            torch.testing.assert_close(rows.sum(1), torch.ones(len(rows)).double())
            assert rows.min() >= 0
        for layer in decoder:
            assert layer.own.triu(1).abs().max() < 1e-12, "a row sees what comes after it"
        row = mixing.roll_out_shares(encoder, decoder)
        assert float(row.source_S.sum() + row.target_T.sum()) == pytest.approx(1)
        assert row.source_S.sum() > 0 <= min(row.source_S.min(), row.target_T.min())


def test_alti_is_its_formula() -> None:
    network = make_network(norm="post")
    kept = mixing.keep_windows(network, HERE)
    block = "encoder.1.self_attention"
    layer = network.encoder[1]
    x, y = (
        kept[f"{each}.normed"][0][0].numpy()
        for each in ("encoder.0.feed_forward_residual", f"{block}_residual")
    )
    value, weights = (kept[f"{block}.{each}"][0][0].numpy() for each in ("value", "weights"))
    matrix, norm = layer.self_attention.to_output.weight.numpy(), layer.self_attention_residual.norm
    deviation = kept[f"{block}_residual.sum"][0][0].numpy()
    deviation = np.sqrt(deviation.var(-1) + norm.eps)
    near = np.zeros((len(x), len(x)))
    for i in range(len(x)):
        for j in range(len(x)):
            heads = np.concatenate([w[i, j] * v[j] for w, v in zip(weights, value, strict=True)])
            part = matrix @ heads + (x[i] if i == j else 0)
            part = (part - part.mean()) / deviation[i] * norm.weight.numpy()
            near[i, j] = max(0, np.abs(y[i]).sum() - np.abs(y[i] - part).sum())
    near /= near.sum(1, keepdims=True)
    np.testing.assert_allclose(mixing.share_self(network, kept, block).numpy(), near, atol=1e-9)


def run_without(linear: Any, position: int, run: Callable[[], Tensor]) -> Tensor:
    """Run a layer while one position's value vectors are zero, in all heads."""

    def zero(module: Any, inputs: Any, output: Tensor) -> Tensor:
        output = output.clone()
        output[:, position] = 0
        return output

    hook = linear.register_forward_hook(zero)
    try:
        return run()
    finally:
        hook.remove()


@pytest.mark.parametrize("name", SHAPES)
def test_value_zeroing_is_a_plain_loop(name: str) -> None:
    network = make_network(**SHAPES[name])
    encoder, decoder = mixing.list_zeroed(network, HERE)
    source_mask, mask = padding_mask(SOURCE), target_mask(GIVEN, network.settings.attention)

    def measure(run: Callable[[], Tensor], attentions: list[tuple[Any, int]]) -> Tensor:
        moved = [
            1 - cosine_similarity(run_without(each.to_value, j, run), run(), dim=-1)[0]
            for each, positions in attentions
            for j in range(positions)
        ]
        moved_LN = torch.stack(moved, 1)
        return moved_LN / moved_LN.sum(1, keepdim=True)

    x = network.source_embedding(SOURCE)
    for layer, found in zip(network.encoder, encoder, strict=True):
        expected = measure(lambda: layer(x, source_mask), [(layer.self_attention, x.size(1))])  # noqa: B023
        torch.testing.assert_close(found.own, expected, atol=1e-7, rtol=1e-5)
        x = layer(x, source_mask)
    memory, y = network.encoder_norm(x), network.target_embedding(GIVEN)
    for layer, found in zip(network.decoder, decoder, strict=True):
        read = [(layer.self_attention, y.size(1)), (layer.cross_attention, x.size(1))]
        expected = measure(lambda: layer(y, memory, mask, source_mask), read)  # noqa: B023
        assert found.source is not None
        both = torch.cat((found.own, found.source), 1)
        torch.testing.assert_close(both, expected, atol=1e-7, rtol=1e-5)
        y = layer(y, memory, mask, source_mask)


@pytest.mark.parametrize("name", [*SHAPES, "ssru"])
def test_a_word_cut_everywhere_is_as_padding(name: str) -> None:
    network = make_network(**SHAPES.get(name, {"decoder": "ssru"}))
    found_BV = methods.run_with_cuts(network, HERE, [[1], [0, 2]], everywhere=True)
    for group, found_V in zip(([1], [0, 2]), found_BV, strict=True):
        source = SOURCE.clone()
        source[0, group] = PAD
        expected_V = network(source, GIVEN)[0, -1].log_softmax(-1)
        torch.testing.assert_close(found_V, expected_V)


@pytest.fixture(scope="module")
def demo() -> Translator:
    return Translator.load("demo", device="cpu", precision="fp32")


def test_the_methods_are_those_of_the_other_commands(demo: Translator) -> None:
    trace = demo.see(WIDE, level="everything")
    asked = ask_word(trace, "elle", "il")
    found = {each.method: each.scores for each in methods.compare_methods(trace, asked).answers}
    words = [each for each in group_words(trace.source, trace.text)][:-1]
    row = asked.row
    shares = mean_cross_attention(trace)[row]
    assert found["attention"] == pytest.approx([shares[each].sum() for each in words], abs=1e-5)
    gradient = np.array(attribute_gradients(demo, trace, [row], 1).gradient["source"])
    assert found["gradient × input"] == pytest.approx(
        [gradient[each].sum() for each in words], abs=1e-4
    )
    left = trace.predictions[row].log_prob - np.array(cut_each(demo, trace, [row], words))
    assert found["erasure"] == pytest.approx(left, abs=1e-4)
    best = read_lens(trace, [row])[:, 0].argmax(-1) == asked.contrast.answers[0]
    first = methods.compare_methods(trace, asked).first_layer
    assert first is not None and all(best[first:]) and not best[first - 1]


def test_contrastive_gradients_are_differences(demo: Translator) -> None:
    network = make_network(norm="pre")
    word, rival = HERE.answers
    turned = HERE._replace(answers=(rival, word))
    (one, lead), (other, less) = (methods.attribute_inputs(network, x) for x in (HERE, turned))
    torch.testing.assert_close(lead, one - other)
    torch.testing.assert_close(lead, -less)


def test_a_trial_says_what_an_edited_recording_writes(demo: Translator) -> None:
    trace = demo.see(TIRED, level="attention")
    asked = ask_word(trace, "il", "elle")
    table = methods.compare_methods(trace, asked)
    assert table.plain == asked.word
    changed = 0
    for trial in table.trials:
        if trial.word == ".":
            continue
        cut = [{"do": "cut", "word": trial.word}]
        forced = demo.see(TIRED, target=trace, edits=cut, level="attention")
        assert forced.predictions[asked.row].texts[0].strip() == trial.decoder.strip()
        changed += trial.decoder_changed
    assert changed == sum(each.decoder_changed for each in table.trials)


def test_the_command_and_the_guide_agree(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    asked = ["why", "demo", WIDE, "--word", "elle", "--rival", "il", "--methods"]
    assert main([*asked, "-o", str(tmp_path / "methods.json")]) == 0
    said = capsys.readouterr().out
    found = json.loads((tmp_path / "methods.json").read_text(encoding="utf-8"))
    assert found["plain"] == found["word"]
    table = said[said.index("      ") :].strip()
    for page in PAGES:
        blocks = re.findall(r"^```text\n(.*?)^```", page.read_text("utf-8"), re.M | re.S)
        (told,) = [each for each in blocks if "cut everywhere" in each]
        assert told.strip() == table
    by_method = {each["method"]: each for each in found["methods"]}
    changing = {each["word"] for each in found["words"] if each["decoder_changed"]}
    assert by_method["erasure"]["named"] in changing
    assert by_method["value zeroing"]["named"] not in changing, "the guide says so"
    assert 0 < by_method["ALTI+"]["from_source"] < 1


def test_an_ssru_decoder_has_no_rollout() -> None:
    network = make_network(decoder="ssru")
    kept = mixing.keep_windows(network, HERE)
    answers = methods._ask_all(network, HERE, kept, [[0], [1, 2]])
    assert [each.method for each in answers] == [
        "attention",
        "logit lens",
        "gradient × input",
        "contrastive gradient",
    ]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["demo", WIDE, "--word", "elle", "--picture", "a.svg"], "searches no circuit"),
        (["demo", WIDE, "--word", "elle", "--by", "head"], "searches no circuit"),
        (["demo", "Hello", "--word", "Bonjour"], "one word"),
        (["demo-rnn", "The cat is small.", "--word", "chat"], "residual stream"),
    ],
)
def test_the_command_refuses(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["why", *arguments, "--methods"]) == 2
    assert said in capsys.readouterr().err
