"""Language models beside PyTorch's and Hugging Face's layers, and themselves by another way."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from glassformer.config import BOS, EOS, MASK, Config, Decode, Model
from glassformer.decode import search
from glassformer.engine.kernels.fast import find_difference
from glassformer.foundation.tap import record as watch
from glassformer.model.encoder_decoder import EncoderDecoder
from glassformer.model.files.directory import Tokenizers, build_model
from glassformer.model.networks import build_network
from glassformer.see import Trace
from glassformer.see.recompute import recompute
from glassformer.see.summary import summarise
from glassformer.text.kinds import train_tokenizer
from glassformer.translate.language_model import LanguageModel

V = 290
Check = Callable[..., None]
KINDS = [(network, norm) for network in ("decoder", "encoder") for norm in ("pre", "post")]


def make_settings(network: str, norm: str, **more: Any) -> Model:
    """Every size another one."""
    side = {f"{network}_layers": 3}
    shape = {"d_model": 22, "heads": 2, "d_ff": 13, "dropout": 0.4, "activation": "gelu"}
    model = {"network": network, "norm": norm, **side, **shape, **more}
    return Config.read({"model": model}).model


def make_network(settings: Model) -> EncoderDecoder:
    """Return a network in eval mode whose biases and norms are not their first values."""
    torch.manual_seed(1)
    network = build_network(settings, V, V).eval()
    for parameter in network.parameters():
        if parameter.dim() == 1:
            nn.init.normal_(parameter, mean=0.5)
    return network


@pytest.fixture
def text() -> Tensor:
    """Three texts, two of them padded."""
    ids_BT = torch.randint(3, V, (3, 8), generator=torch.Generator().manual_seed(2))
    ids_BT[:, 0] = BOS
    ids_BT[1, 5:] = 0
    ids_BT[2, 2:] = 0
    return ids_BT


def copy_layer(ours: nn.Module, norm: str) -> nn.TransformerEncoderLayer:
    """Return PyTorch's own layer with the weights of one of ours."""
    attention, feed = ours.self_attention, ours.feed_forward
    d_model = attention.to_query.in_features
    theirs = nn.TransformerEncoderLayer(
        d_model,
        attention.heads,
        feed.inner.out_features,
        dropout=0.0,
        activation="gelu",
        batch_first=True,
        norm_first=norm == "pre",
    ).eval()
    maps = attention.to_query, attention.to_key, attention.to_value
    with torch.no_grad():
        theirs.self_attn.in_proj_weight.copy_(torch.cat([each.weight for each in maps]))
        theirs.self_attn.in_proj_bias.copy_(torch.cat([each.bias for each in maps]))
        for ours_part, part in (
            (attention.to_output, theirs.self_attn.out_proj),
            (feed.inner, theirs.linear1),
            (feed.outer, theirs.linear2),
            (ours.self_attention_residual.norm, theirs.norm1),
            (ours.feed_forward_residual.norm, theirs.norm2),
        ):
            part.weight.copy_(ours_part.weight)
            part.bias.copy_(ours_part.bias)
    return theirs


@pytest.mark.parametrize(("kind", "norm"), KINDS)
def test_layers_are_those_of_torch(kind: str, norm: str, text: Tensor, equal: Check) -> None:
    """From the embeddings to the logits, where the text is not padding."""
    network = make_network(make_settings(kind, norm))
    side = "target" if kind == "decoder" else "source"
    layers, last = getattr(network, kind), getattr(network, f"{kind}_norm")
    hidden = ~torch.ones(8, 8, dtype=torch.bool).tril() if kind == "decoder" else None
    with torch.no_grad():
        x_BTD = getattr(network, f"{side}_embedding")(text)
        for layer in layers:
            theirs = copy_layer(layer, norm)
            x_BTD = theirs(x_BTD, src_mask=hidden, src_key_padding_mask=text == 0)
        expected = last(x_BTD) @ network.output_table.weight.T
        found = network(text, text)
    equal(found[text != 0], expected[text != 0])


def test_a_decoder_is_the_network_of_gpt_2(text: Tensor, equal: Check) -> None:
    transformers = pytest.importorskip("transformers")
    settings = make_settings("decoder", "pre", positions={"layout": "learned", "max_positions": 16})
    network = make_network(settings)
    theirs = transformers.GPT2LMHeadModel(
        transformers.GPT2Config(
            vocab_size=V,
            n_positions=16,
            n_embd=22,
            n_layer=3,
            n_head=2,
            n_inner=13,
            activation_function="gelu",
            attn_implementation="eager",
        )
    ).eval()
    table, lent = network.output_table.weight, theirs.transformer
    with torch.no_grad():
        lent.wte.weight.copy_(table * math.sqrt(22))  # 3.4 scales what is read, not the output
        lent.wpe.weight.copy_(network.target_embedding.positions_LD)
        lent.ln_f.load_state_dict(network.decoder_norm.state_dict())
        for ours, block in zip(network.decoder, lent.h, strict=True):
            maps = [getattr(ours.self_attention, f"to_{n}") for n in ("query", "key", "value")]
            block.attn.c_attn.weight.copy_(torch.cat([each.weight for each in maps]).T)
            block.attn.c_attn.bias.copy_(torch.cat([each.bias for each in maps]))
            block.ln_1.load_state_dict(ours.self_attention_residual.norm.state_dict())
            block.ln_2.load_state_dict(ours.feed_forward_residual.norm.state_dict())
            for linear, conv in (
                (ours.self_attention.to_output, block.attn.c_proj),
                (ours.feed_forward.inner, block.mlp.c_fc),
                (ours.feed_forward.outer, block.mlp.c_proj),
            ):
                conv.weight.copy_(linear.weight.T)
                conv.bias.copy_(linear.bias)
        expected = theirs(text, attention_mask=(text != 0).long()).logits / math.sqrt(22)
        found = network(text, text)
    equal(found[text != 0], expected[text != 0])


def test_an_encoder_has_the_layers_of_bert(text: Tensor, equal: Check) -> None:
    transformers = pytest.importorskip("transformers")
    from transformers.models.bert.modeling_bert import BertLayer

    network = make_network(make_settings("encoder", "post"))
    config = transformers.BertConfig(
        hidden_size=22,
        num_attention_heads=2,
        intermediate_size=13,
        hidden_act="gelu",
        layer_norm_eps=1e-5,
        attn_implementation="eager",
    )
    with torch.no_grad():
        x_BSD = network.source_embedding(text)
        hidden = torch.zeros(3, 1, 1, 8).masked_fill((text == 0)[:, None, None], -torch.inf)
        for ours in network.encoder:
            theirs, own = BertLayer(config).eval(), ours.self_attention
            self_attention, output = theirs.attention.self, theirs.attention.output
            for part in ("query", "key", "value"):
                getattr(self_attention, part).load_state_dict(
                    getattr(own, f"to_{part}").state_dict()
                )
            output.dense.load_state_dict(own.to_output.state_dict())
            output.LayerNorm.load_state_dict(ours.self_attention_residual.norm.state_dict())
            theirs.intermediate.dense.load_state_dict(ours.feed_forward.inner.state_dict())
            theirs.output.dense.load_state_dict(ours.feed_forward.outer.state_dict())
            theirs.output.LayerNorm.load_state_dict(ours.feed_forward_residual.norm.state_dict())
            found = theirs(x_BSD, hidden)
            x_BSD = found[0] if isinstance(found, tuple) else found
        memory_BSD = network.read(text, text)
    equal(memory_BSD[text != 0], x_BSD[text != 0])


@pytest.mark.parametrize(("kind", "norm"), KINDS)
def test_only_an_encoder_sees_what_comes_later(kind: str, norm: str, text: Tensor) -> None:
    network, other = make_network(make_settings(kind, norm)), text.clone()
    other[0, 5] = 7 if text[0, 5] != 7 else 8
    with torch.inference_mode():
        before, after = network(text, text)[0], network(other, other)[0]
    assert torch.equal(before[:5], after[:5]) == (kind == "decoder")
    assert not torch.equal(before[5:], after[5:])


@pytest.mark.parametrize(("kind", "norm"), KINDS)
def test_padding_is_not_seen(kind: str, norm: str, text: Tensor, equal: Check) -> None:
    network = make_network(make_settings(kind, norm))
    with torch.inference_mode():
        padded = network(text, text)[1, :5]
        alone = network(text[1:2, :5], text[1:2, :5])[0]
    equal(padded, alone)


@pytest.mark.parametrize(("kind", "norm"), KINDS)
def test_the_fast_path_and_the_recording_compute_the_same(
    kind: str, norm: str, text: Tensor, equal: Check
) -> None:
    network = make_network(make_settings(kind, norm, dropout=0.0))
    assert max(find_difference(network, "fp32")) < 1e-5
    assert max(find_difference(network.train(), "fp32")) < 1e-4
    network.eval()
    with torch.inference_mode(), watch(network) as (view, trace):
        seen = view(text, text)
    equal(seen, network(text, text))
    assert f"{kind}.2.self_attention.weights" in trace


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_cached_steps_are_the_pass_at_once(norm: str, text: Tensor, equal: Check) -> None:
    """In one piece and in several, after rows changed their places and were cut back."""
    network = make_network(make_settings("decoder", norm))
    ids_BT = torch.where(text == 0, 5, text)
    with torch.inference_mode():
        whole = network(ids_BT, ids_BT)
        state = network.start(ids_BT[:2])
        network.admit(ids_BT[2:], state)
        pieces = [network.step(ids_BT[:, a:b], state) for a, b in ((0, 3), (3, 4), (4, 8))]
        equal(torch.cat(pieces, 1), whole)
        network.keep(torch.tensor([0, 0, 2, 2]), state)
        network.rewind(torch.tensor([3, 5, 8, 1]), state)
        again = network.step(ids_BT[[0, 0, 2, 2], 1:2], state)[1, 0]
        longer = torch.cat((ids_BT[0, :5], ids_BT[0, 1:2]))[None]
        equal(again, network(longer, longer)[0, -1])


def test_greedy_search_is_argmax_of_whole_passes_and_a_beam_of_one() -> None:
    network = make_network(make_settings("decoder", "pre"))
    prompts = [[20, 30, 40], [50]]
    settings = Decode(search="greedy", max_ratio=1.0, max_extra=9)
    narrow = settings.model_copy(update={"search": "beam", "beam": 1, "length_penalty": "none"})
    sources = [[*prompt, EOS] for prompt in prompts]
    with torch.inference_mode():
        greedy, beam = (
            search(network, sources, how, prefixes=prompts, longest=64)
            for how in (settings, narrow)
        )
        for prompt, (found,), (same,) in zip(prompts, greedy, beam, strict=True):
            ids = [BOS, *prompt]
            while len(ids) < len(prompt) + 10:
                logits_V = network(torch.tensor([ids]), torch.tensor([ids]))[0, -1]
                logits_V[:EOS] = -math.inf
                ids.append(int(logits_V.argmax()))
                if ids[-1] == EOS:
                    break
            assert found.tokens == [id for id in ids[1:] if id != EOS] == same.tokens


def test_an_encoder_has_no_search() -> None:
    network = make_network(make_settings("encoder", "pre"))
    with pytest.raises(ValueError, match="it writes none"):
        search(network, [[MASK, EOS]], Decode())


TEXT = "the [MASK] is on the mat"
LABELS = ["home", "away"]


@pytest.fixture(params=["decoder", "encoder", "labels"])
def reader(request: pytest.FixtureRequest) -> LanguageModel:
    kind = "decoder" if request.param == "decoder" else "encoder"
    more = {"labels": LABELS} if request.param == "labels" else {"output_bias": True}
    lines = ["the cat is on the mat", "a dog is on the mat", "the dog sees a cat"] * 2
    both = train_tokenizer(lines, 330)
    config = Config.read({"model": make_settings(kind, "pre", **more).model_dump()})
    torch.manual_seed(4)
    network = build_model(config, Tokenizers(both, both))
    for parameter in network.parameters():
        if parameter.dim() == 1:
            nn.init.normal_(parameter, mean=0.5, std=0.5)
    return LanguageModel(config, Tokenizers(both, both), network, device="cpu")


def test_every_tensor_follows_from_its_operands(reader: LanguageModel) -> None:
    """And from nothing but ids and weights all of them are made; each cell explains itself."""
    trace = reader.see(TEXT)
    for name in trace.names():
        made, recorded = recompute(trace.graph[name], trace.__getitem__), trace[name]
        assert made.shape == recorded.shape, name
        apart = np.abs(made.astype(float) - recorded.astype(float)).max()
        assert apart <= 1e-5 * max(1, np.abs(recorded.astype(float)).max()), name
        place = tuple(size - 1 for size in recorded.shape)
        explained = trace.explain(name, place)
        found: dict[str, Any] = {"trace": trace}
        exec(explained.to_numpy(), found)
        assert float(found["value"]) == pytest.approx(float(recorded[place]), abs=1e-5), name
        assert explained.to_latex() and explained.to_text()
    used = {name for equation in trace.graph.values() for name in equation.operands}
    tied = {"source_embedding.table.weight", "target_embedding.table.weight"}
    assert set(trace.parameters) <= used | tied
    assert np.allclose(trace["probabilities"].sum(-1), 1, atol=1e-5)


def test_a_recording_is_told_saved_and_refuses_pictures(
    reader: LanguageModel, tmp_path: Path
) -> None:
    trace = reader.see(TEXT)
    assert trace.numerics.largest_difference < 1e-4
    said = summarise(trace)
    assert "self-attention" in said and said.count(TEXT) == 1
    if reader.config.model.labels:
        assert any(label in said for label in LABELS)
    with pytest.raises(ValueError, match=r"V54 shows a Transformer, but this is an? [a-z]+ alone"):
        trace.picture("V54")
    trace.save(tmp_path / "trace", parameters=True)
    again = Trace.load(tmp_path / "trace")
    assert again.names() == trace.names() and again.settings == trace.settings
    assert summarise(again) == said
