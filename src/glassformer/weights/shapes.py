"""The names and shapes of all weights of a network, from its settings alone.

`model/` makes them; this list is for opening a model without PyTorch. A test compares the two.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..config import Model

Named = Iterator[tuple[str, tuple[int, ...]]]


def list_shapes(settings: Model, source: int, target: int) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the weights by name, for vocabularies of so many tokens."""
    return dict(_list_weights(settings, source, target))


def _list_weights(settings: Model, source: int, target: int) -> Named:
    for side, vocabulary in (("source", source), ("target", target)):
        yield f"{side}_embedding.table.weight", (vocabulary, settings.d_model)
        if settings.positions.layout == "learned":
            places = settings.positions.max_positions
            yield f"{side}_embedding.positions_LD", (places, settings.d_model)
    yield "output_table.weight", (target, settings.d_model)
    if settings.output_bias:
        yield "output_bias", (target,)
    for side, layers, attentions in (
        ("encoder", settings.encoder_layers, ("self_attention",)),
        ("decoder", settings.decoder_layers, ("self_attention", "cross_attention")),
    ):
        for layer in range(layers):
            yield from _list_layer(f"{side}.{layer}", settings, attentions)
        if settings.norm == "pre":
            yield from _list_norm(f"{side}_norm", settings)


def _list_layer(name: str, settings: Model, attentions: tuple[str, ...]) -> Named:
    wide, narrow = settings.heads * settings.width, settings.d_model
    for attention in attentions:
        for part in ("query", "key", "value"):
            yield from _list_linear(f"{name}.{attention}.to_{part}", wide, narrow)
        yield from _list_linear(f"{name}.{attention}.to_output", narrow, wide)
    yield from _list_linear(f"{name}.feed_forward.inner", settings.d_ff, narrow)
    yield from _list_linear(f"{name}.feed_forward.outer", narrow, settings.d_ff)
    for sublayer in (*attentions, "feed_forward"):
        yield from _list_norm(f"{name}.{sublayer}_residual.norm", settings)


def _list_linear(name: str, outputs: int, inputs: int) -> Named:
    yield f"{name}.weight", (outputs, inputs)
    yield f"{name}.bias", (outputs,)


def _list_norm(name: str, settings: Model) -> Named:
    yield f"{name}.weight", (settings.d_model,)
    yield f"{name}.bias", (settings.d_model,)
