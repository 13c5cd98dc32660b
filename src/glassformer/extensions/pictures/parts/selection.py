"""The layer, head and tokens of a recording that a picture shows, and their labels.

Letters: Q queries; M keys.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from glassformer.see.tokens import name_invisible

Array = NDArray[Any]


def tell_token(text: str) -> str:
    """Return a token without the space before it; a token of one space is "▁"."""
    return name_invisible(text).strip() or "▁"


def tell_tokens(tokens: Sequence[Any]) -> list[str]:
    return [tell_token(token.text) for token in tokens]


def pick(number: int, size: int, name: str) -> int:
    """Return a layer or head, counted from the end if negative; ValueError if there is none."""
    if not -size <= number < size:
        raise ValueError(f"{name}={number}: there are {size}, 0 to {size - 1}")
    return number % size


def pick_heads(trace: Any, heads: Sequence[int]) -> list[int]:
    """Return heads by number, each once; ValueError if one does not exist or none is given."""
    chosen = [pick(head, trace.settings.heads, "head") for head in heads]
    if not chosen:
        raise ValueError("heads is empty: name one, 0 the first")
    return list(dict.fromkeys(chosen))


def count_layers(trace: Any, side: str) -> int:
    """Return the number of layers of the encoder or the decoder; ValueError for another side."""
    if side not in ("encoder", "decoder"):
        raise ValueError(f"side={side}: one of encoder, decoder")
    return int(getattr(trace.settings, f"{side}_layers"))


class Attention(NamedTuple):
    """One attention sub-layer of the model, and the labels of its rows and columns."""

    name: str  # encoder.2.self_attention
    side: str
    layer: int
    kind: str  # self_attention or cross_attention
    queries: list[str]
    keys: list[str]

    def title(self, lang: str) -> str:
        """Return its title, such as "encoder, layer 2, self-attention"."""
        words = {
            "encoder": ("encoder", "编码器"),
            "decoder": ("decoder", "解码器"),
            "self_attention": ("self-attention", "自注意力"),
            "cross_attention": ("cross-attention", "交叉注意力"),
        }
        index = lang == "zh"
        layer = f"第 {self.layer} 层" if index else f"layer {self.layer}"
        parts = words[self.side][index], layer, words[self.kind][index]
        return "".join(parts) if index else ", ".join(parts)


def find_attention(trace: Any, side: str, layer: int, kind: str = "self_attention") -> Attention:
    """Return an attention sub-layer by side (encoder or decoder), layer and kind.

    A decoder row is labelled with what it reads and what it predicts. Raise ValueError if the
    model has no such sub-layer.
    """
    layers = count_layers(trace, side)
    kinds = ("self_attention", "cross_attention")[: 1 + (side == "decoder")]
    if kind not in kinds:
        raise ValueError(f"kind={kind}: the {side} has {' and '.join(kinds)}")
    layer = pick(layer, layers, "layer")
    source, target = tell_tokens(trace.source), tell_tokens(trace.target)
    queries = source if side == "encoder" else label_rows(trace)
    keys = target if (side, kind) == ("decoder", "self_attention") else source
    return Attention(f"{side}.{layer}.{kind}", side, layer, kind, queries, keys)


def label_rows(trace: Any) -> list[str]:
    """Return the labels of the decoder's rows: what each reads → what it predicts."""
    pairs = zip(tell_tokens(trace.target), tell_tokens(trace.predicted), strict=True)
    return [f"{token} → {predicted}" for token, predicted in pairs]


def find_query(texts: Sequence[str], query: int | str | None, name: str = "query") -> int:
    """Return a row by token or by number; by default `it`, or else the longest token.

    A text that is no token may also be a number. Raise ValueError if nothing matches.
    """
    if isinstance(query, int):
        return pick(query, len(texts), name)
    if query is not None:
        for place, text in enumerate(texts):
            if query in (text, *text.split(" → ")):
                return place
        if re.fullmatch(r"-?\d{1,9}", str(query)):
            return pick(int(query), len(texts), name)
        raise ValueError(f"{name}={query}: the tokens are {', '.join(texts)}")
    if "it" in texts:
        return texts.index("it")
    inner = texts[:-1] or texts
    return max(range(len(inner)), key=lambda i: len(inner[i]))


def find_input(trace: Any, side: str, layer: int, sublayer: str) -> str:
    """Return the name of the tensor that a sub-layer reads.

    It is normed by the last norm before; in layer 0 of a post-norm model it is the embedding.
    """
    if trace.settings.norm == "pre":
        return f"{side}.{layer}.{sublayer}_residual.normed"
    order = list_sublayers(trace, side)
    place = order.index(sublayer)
    if place:
        return f"{side}.{layer}.{order[place - 1]}_residual.normed"
    if layer:
        return f"{side}.{layer - 1}.feed_forward_residual.normed"
    return f"{'source' if side == 'encoder' else 'target'}_embedding.sum"


def find_output(trace: Any, side: str, layer: int) -> str:
    """Return the name of the tensor that a layer gives to the next one."""
    window = "sum" if trace.settings.norm == "pre" else "normed"
    return f"{side}.{layer}.feed_forward_residual.{window}"


def list_sublayers(trace: Any, side: str) -> list[str]:
    """Return the sub-layers of a layer; only a decoder with an encoder has cross-attention."""
    if side == "decoder" and trace.settings.encoder_layers > 0:
        return list(trace.settings.decoder_blocks)
    return ["self_attention", "feed_forward"]


def find_stream(trace: Any, side: str, layer: int, sublayer: str) -> str:
    """Return the name of the tensor that the residual connection adds to a sub-layer's output.

    Post-norm: the input of the sub-layer. Pre-norm: the sum before it. Raise ValueError if this
    side has no such sub-layer.
    """
    order = list_sublayers(trace, side)
    if sublayer not in order:
        raise ValueError(f"sublayer={sublayer}: one of {', '.join(order)}")
    if trace.settings.norm == "post":
        return find_input(trace, side, layer, sublayer)
    place = order.index(sublayer)
    if place:
        return f"{side}.{layer}.{order[place - 1]}_residual.sum"
    if layer:
        return f"{side}.{layer - 1}.feed_forward_residual.sum"
    return f"{'source' if side == 'encoder' else 'target'}_embedding.sum"


def find_unnormed(trace: Any, side: str, layer: int, sublayer: str) -> str:
    """Return the name of the tensor that the norm of a residual connection normalises.

    Post-norm: the sum. Pre-norm: the residual stream before the sub-layer.
    """
    stream = find_stream(trace, side, layer, sublayer)
    return f"{side}.{layer}.{sublayer}_residual.sum" if trace.settings.norm == "post" else stream


def get_mask(trace: Any, name: str) -> Array:
    """Return the mask of an attention, True for visible keys; Q M, or 1 M if all rows are alike."""
    mask: Array = np.asarray(trace[f"{name}.mask"])[0].astype(bool)
    return mask


def keep_largest(
    weights: Sequence[float] | Array, most: int, always: Sequence[int] = ()
) -> list[int]:
    """Return the indices of the largest weights and of `always`, in the order of the sentence."""
    order = [*always, *np.argsort(-np.asarray(weights), kind="stable").tolist()]
    return sorted(list(dict.fromkeys(order))[:most])


def elide(count: int, most: int, last: int = 2) -> list[int | None]:
    """Return all indices; of more than `most`, the first ones and the `last`, with None between."""
    if count <= most:
        return list(range(count))
    return [*range(most - last - 1), None, *range(count - last, count)]


def list_shown(count: int, most: int) -> list[int]:
    """Return the indices that are drawn of so many; the last two are among them."""
    return [n for n in elide(count, most) if n is not None]


def tell_tokens_left_out(lang: str, shown: int, count: int) -> str:
    """Return a sentence that says how many tokens are left out; "" if none are."""
    if shown >= count:
        return ""
    if lang == "zh":
        return f"共 {count} 个词元，略去 {count - shown} 个。"
    left = count - shown
    return f" {left} of {count} tokens {'is' if left == 1 else 'are'} left out."
