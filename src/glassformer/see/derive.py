"""Measures that are computed from a trace, each with its definition. Imports no torch.

Other derived tensors need no function: `trace[name]` computes them, and `trace.explain` explains
their cells. They are `X.masked`, the scores with -inf where the mask hides a key;
`X.contributions`, Z_h W_O,h of each head h; `X.mean` and `X.deviation` of each LayerNorm;
`probabilities`; and `choice`, the most probable token of each row.

Letters: H heads; Q query positions; M key positions; S source; T rows of the decoder; D d_model;
V vocabulary.
"""

from collections.abc import Sequence
from typing import Any
from unicodedata import category

import numpy as np

from .document import Token
from .recorded import Array, RecordedTensors

SHOWN = (
    *("text", "translation", "source", "predicted", "predictions", "edits", "confidence"),
    "whole",
)


def entropy(weights: Array) -> Array:
    """Return -Σ w ln w over the keys: 0 if one key has all attention, ln n if n share it alike."""
    logs = np.log(weights, out=np.zeros_like(weights), where=weights > 0)
    return -(weights * logs).sum(-1)


def mean_over_heads(weights_HQM: Array) -> Array:
    """Return the mean of the attention of all heads, Q M; rows still sum to 1."""
    return weights_HQM.mean(0)


def has_attention(trace: RecordedTensors) -> bool:
    """Return whether the decoder looks at the source: some recurrent networks do not."""
    return any(name.endswith("cross_attention.weights") for name in trace.names())


def mean_cross_attention(trace: RecordedTensors) -> Array:
    """Return the mean of the cross-attention of all layers and heads, T S; rows sum to 1."""
    names = [name for name in trace.names() if name.endswith("cross_attention.weights")]
    mean: Array = np.mean([mean_over_heads(trace[name]) for name in names], 0)
    return mean


def max_over_heads(weights_HQM: Array) -> Array:
    """Return the largest attention of any head, Q M; rows no longer sum to 1."""
    return weights_HQM.max(0)


def weigh_values(trace: RecordedTensors, block: str) -> Array:
    """Return each weight times the norm of its value vector, H Q M (Kobayashi et al. 2020)."""
    lengths_HM = np.linalg.norm(trace[f"{block}.value"], axis=-1)
    return trace[f"{block}.weights"] * lengths_HM[:, None]


def roll_out(trace: RecordedTensors, side: str = "encoder") -> Array:
    """Return attention rollout through all layers (Abnar and Zuidema 2020); rows sum to 1.

    In each sub-layer a position keeps half of what it was; the other half is the mean over heads
    of what it attends to. The encoder's result is S S; the decoder's is T (T + S), with its own
    tokens first, then those of the source. ValueError for a network without such layers.
    """
    sources, settings = len(trace.source), trace.settings
    if settings.network not in ("transformer", side):
        raise ValueError(f"network={settings.network} has no attention of a Transformer's {side}")
    if side == "encoder":
        return _mix(trace, "encoder", trace.settings.encoder_layers, np.eye(sources))
    targets = len(trace.target)
    memory = np.hstack((np.zeros((sources, targets)), roll_out(trace))) if sources else None
    start = np.hstack((np.eye(targets), np.zeros((targets, sources))))
    return _mix(trace, "decoder", trace.settings.decoder_layers, start, memory)


def _mix(
    trace: RecordedTensors, side: str, layers: int, x: Array, memory: Array | None = None
) -> Array:
    for layer in range(layers):
        x = (x + mean_over_heads(trace[f"{side}.{layer}.self_attention.weights"]) @ x) / 2
        if memory is not None:
            weights = mean_over_heads(trace[f"{side}.{layer}.cross_attention.weights"])
            x = (x + weights @ memory) / 2
    return x


def read_lens(trace: RecordedTensors, rows: Sequence[int] | None = None) -> Array:
    """Return the logit lens: each decoder layer's output, turned into logits (nostalgebraist 2020).

    The shape is layers T V, or the same for these `rows` only. The last layer's are the logits.
    """
    last, logits = list_blocks(trace)[-1], list[Array]()
    window = "normed" if trace.settings.norm == "post" else "sum"
    for layer in range(trace.settings.decoder_layers):
        y = trace[f"decoder.{layer}.{last}_residual.{window}"]
        y = (y if rows is None else y[list(rows)]).astype(np.float64)
        if trace.settings.norm == "pre" and has_norms(trace):
            centred = _centre(trace, y)
            spread = (centred**2).mean(-1, keepdims=True)
            y = centred / np.sqrt(spread + trace.settings.norm_epsilon)
            y = y * trace["decoder_norm.weight"] + _norm_bias(trace, "decoder_norm")
        result = y @ trace["output_table.weight"].T + _output_bias(trace)
        logits.append(result.astype(np.float32))
    return np.stack(logits)


def attribute_logit(trace: RecordedTensors, row: int, token: int) -> dict[str, float]:
    """Return how much each head and block adds directly to one logit; the parts sum to it.

    Each LayerNorm divides by the deviation that it had in the recording, so that the parts add
    up. `norms` is what the biases of the LayerNorms add. What a later block computes from an
    earlier one counts for the later one.
    """
    blocks, written = list_blocks(trace), _list_embedded(trace, row)
    written["norms"] = np.zeros(trace.settings.d_model)
    if trace.settings.embedding_norm:
        written = _pass_norm(trace, written, "target_embedding", "target_embedding.norm", row)
    for layer in range(trace.settings.decoder_layers):
        for block in blocks:
            name = f"decoder.{layer}.{block}"
            beside = {} if "residual" in trace.settings.ablate else written
            written = {"norms": np.zeros_like(written["norms"])} | beside
            written |= _list_writes(trace, name, row)
            if trace.settings.norm == "post":
                written = _pass_norm(
                    trace, written, f"{name}_residual", f"{name}_residual.norm", row
                )
    if trace.settings.norm == "pre":
        written = _pass_norm(trace, written, "last", "decoder_norm", row)
    vector = trace["output_table.weight"][token]
    results = {name: float(each @ vector) for name, each in written.items()}
    if trace.settings.output_bias:
        results["output_bias"] = float(_output_bias(trace)[token])
    return results


def list_blocks(trace: RecordedTensors) -> tuple[str, ...]:
    """Return the names of the sub-layers of a decoder layer. ValueError if none is such a layer."""
    blocks, network = trace.settings.decoder_blocks, trace.settings.network
    if network not in ("transformer", "decoder"):
        raise ValueError(f"network={network} has no layers of a Transformer's decoder")
    return tuple(each for each in blocks if network != "decoder" or each != "cross_attention")


def has_norms(trace: RecordedTensors) -> bool:
    """Return whether the network has normalizations."""
    return "norm" not in trace.settings.ablate


def _list_embedded(trace: RecordedTensors, row: int) -> dict[str, Array]:
    """Return the parts of what the first layer reads: token and position, where they are added."""
    positions = trace.settings.positions
    parts = ["embedded"]
    if positions.are_vectors:
        parts = ["embedded", "positions"] if positions.combine == "add" else ["sum"]
    names = [f"target_embedding.{part}" for part in parts]
    return {name: trace[name][row].astype(np.float64) for name in names}


def _centre(trace: RecordedTensors, x: Array) -> Array:
    """Return x as the norm sees it: LayerNorm takes away the mean, RMSNorm does not."""
    return x - x.mean(-1, keepdims=True) if trace.settings.normalization == "layer" else x


def _norm_bias(trace: RecordedTensors, module: str) -> Array:
    """Return the bias of a norm, or one 0 if it has none."""
    return trace[f"{module}.bias"] if trace.settings.normalization == "layer" else np.zeros(1)


def _output_bias(trace: RecordedTensors) -> Array:
    """Return the output bias of each token, or one 0 if the model has none."""
    return trace["output_bias"] if trace.settings.output_bias else np.zeros(1)


def _list_writes(trace: RecordedTensors, block: str, row: int) -> dict[str, Array]:
    if not block.endswith("attention"):
        return {block: trace[f"{block}.output"][row].astype(np.float64)}
    heads = trace[f"{block}.contributions"][:, row].astype(np.float64)
    bias = trace[f"{block}.to_output.bias"].astype(np.float64)
    return {f"{block}.{head}": each for head, each in enumerate(heads)} | {f"{block}.bias": bias}


def _pass_norm(
    trace: RecordedTensors, written: dict[str, Array], stem: str, module: str, row: int
) -> dict[str, Array]:
    if not has_norms(trace):
        return written
    gain = trace[f"{module}.weight"] / trace[f"{stem}.deviation"][row]
    normed = {name: _centre(trace, each) * gain for name, each in written.items()}
    normed["norms"] = normed["norms"] + _norm_bias(trace, module)
    return normed


def group_words(tokens: Sequence[Token], text: str) -> list[list[int]]:
    """Return the indices of the tokens of each word; marks and punctuation are apart.

    A word begins at a space or gap, or where letters and digits begin or end; it has apostrophes.
    """
    groups: list[list[int]] = []
    before, end = None, 0
    for place, token in enumerate(tokens):
        own = text[token.start : token.end]
        core = own.strip()[:1]
        kind = (core.isalnum() or core in "'’" or category(core)[0] == "M") if own else None
        if before is None or kind != before or own[:1].isspace() or token.start > end:
            groups.append([])
        groups[-1].append(place)
        before, end = kind, token.end
    return groups


def merge_words(
    weights: Array, queries: Sequence[Sequence[int]], keys: Sequence[Sequence[int]]
) -> Array:
    """Return attention between words: summed over a key's tokens, averaged over a query's.

    Rows still sum to 1. The last two axes are queries and keys.
    """
    summed = np.stack([weights[..., list(group)].sum(-1) for group in keys], -1)
    return np.stack([summed[..., list(group), :].mean(-2) for group in queries], -2)


def describe_answer(trace: RecordedTensors) -> dict[str, Any]:
    """Return a recording in brief, as the first screen of the app reads it.

    `attention` is the cross-attention of each predicted token, the mean of all layers and heads; it
    is empty for a network without attention. `whole` is null if text and translation are those of
    one sentence, as the network reads and writes it.
    """
    document = trace.document
    return {
        "network": document.settings.network,
        "d_model": document.settings.d_model,
        **document.model_dump(mode="json", include={*SHOWN}),
        "problems": [each.model_dump() for each in document.problems],
        "attention": mean_cross_attention(trace).tolist() if has_attention(trace) else [],
    }
