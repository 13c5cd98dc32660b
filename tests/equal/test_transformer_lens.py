"""What a recording says of an exported model, TransformerLens says, too, in all windows of both.

The exported network runs in transformers, where TransformerLens hooks it. That is not installed
with the other packages of the tests: `pip install "transformer-lens>=4.3"`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.equal.post_norm import SENTENCE, save_post_norm

from glassformer.cli import main
from glassformer.translator import Translator

model_bridge = pytest.importorskip(
    "transformer_lens.model_bridge", reason="transformer-lens 4 is not installed"
)

ATTENTION = {
    "query": "hook_q",
    "key": "hook_k",
    "value": "hook_v",
    "weights": "hook_pattern",
    "context": "hook_z",
    "output": "hook_out",
}
FEED_FORWARD = {
    "inner": "mlp.hook_pre",
    "hidden": "mlp.hook_post",
    "output": "mlp.hook_out",
}


def list_windows(layers: int, is_pre_norm: bool) -> Iterator[tuple[str, str]]:
    """Yield the name of each window in a recording, and that of the hook in TransformerLens."""
    for stack, parts in (
        ("encoder", {"self_attention": "attn"}),
        ("decoder", {"self_attention": "self_attn", "cross_attention": "cross_attn"}),
    ):
        for layer in range(layers):
            block = f"{stack}_blocks.{layer}"
            for place, (own, other) in enumerate(parts.items(), 1):
                for window, hook in ATTENTION.items():
                    yield f"{stack}.{layer}.{own}.{window}", f"{block}.{other}.{hook}"
                if is_pre_norm:
                    yield f"{stack}.{layer}.{own}_residual.normed", f"{block}.ln{place}.hook_out"
            for window, hook in FEED_FORWARD.items():
                yield f"{stack}.{layer}.feed_forward.{window}", f"{block}.{hook}"
            last = "sum" if is_pre_norm else "normed"
            yield f"{stack}.{layer}.feed_forward_residual.{last}", f"{block}.hook_out"
    if is_pre_norm:
        yield "memory", "encoder_ln_final.hook_out"
        yield "last", "decoder_ln_final.hook_out"
    yield "source_embedding.positions", "pos_embed.hook_out"
    yield "target_embedding.positions", "decoder_pos_embed.hook_out"
    yield "logits", "unembed.hook_out"


@pytest.fixture(scope="module")
def post_norm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_post_norm(tmp_path_factory.mktemp("post-norm"))


@pytest.mark.parametrize("name", ["demo", "everyday-en-fr", "post_norm"])
def test_each_window_is_that_of_transformer_lens(
    name: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    import torch
    from transformers import AutoModelForSeq2SeqLM

    model = request.getfixturevalue(name) if name == "post_norm" else name
    out = str(tmp_path / "exported")
    assert main(["export", str(model), "--format", "transformers", "--out", out]) == 0
    exported = AutoModelForSeq2SeqLM.from_pretrained(out, attn_implementation="eager").eval()
    bridge = model_bridge.TransformerBridge.boot_transformers(out, hf_model=exported)
    translator = Translator.load(model, device="cpu", precision="fp32")
    trace = translator.see(SENTENCE)
    source, target = (
        torch.tensor([[token.id for token in side]]) for side in (trace.source, trace.target)
    )
    with torch.no_grad():
        _, hooked = bridge.run_with_cache(source, decoder_input=target)
    config = translator.config.model
    pairs = [*list_windows(config.encoder_layers, config.norm == "pre")]
    columns = np.arange(config.d_model)
    if config.positions.layout == "interleaved":  # exported with the sines first
        columns = np.concatenate((columns[::2], columns[1::2]))
    assert len(pairs) > 25 * config.encoder_layers
    for window, hook in pairs:
        own, other = np.asarray(trace[window]), hooked[hook].squeeze(0).numpy()
        if hook.rpartition(".")[2] in ("hook_q", "hook_k", "hook_v", "hook_z"):
            other = other.swapaxes(0, 1)  # heads first
        if own.shape[-1] == config.d_model:
            own = own[..., columns]
        scale = max(1.0, float(np.abs(own).max()))
        assert own.shape == other.shape, window
        assert np.abs(own - other).max() / scale < 1e-4, window
