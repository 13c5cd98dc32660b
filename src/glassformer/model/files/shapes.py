"""The names and shapes of all weights of a network, from its settings alone.

`model/` makes them; this list is for opening a model without PyTorch. A test compares the two.
"""

from collections.abc import Iterator

from ...config import Model

Named = Iterator[tuple[str, tuple[int, ...]]]


def list_shapes(settings: Model, source: int, target: int) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the weights by name, for vocabularies of so many tokens."""
    return dict(_list_weights(settings, source, target))


def _list_weights(settings: Model, source: int, target: int) -> Named:
    if settings.network == "rnn":
        yield from _list_recurrent(settings, source, target)
        return
    attended: tuple[str, ...] = ("self_attention",)
    if not settings.is_language_model:
        attended = ("self_attention", "cross_attention")
        attended = attended if settings.decoder == "attention" else ("ssru", "cross_attention")
    stacks = [
        ("source", source, "encoder", settings.encoder_layers, ("self_attention",)),
        ("target", target, "decoder", settings.decoder_layers, attended),
    ]
    stacks = [stack for stack in stacks if stack[3]]  # a language model has one side
    for side, vocabulary, *_ in stacks:
        yield f"{side}_embedding.table.weight", (vocabulary, settings.d_model)
        if settings.positions.layout == "learned":
            places = settings.positions.max_positions
            yield f"{side}_embedding.positions_LD", (places, settings.d_model)
        if settings.positions.combine == "concatenate":
            wide = 2 * settings.d_model
            yield from _list_linear(f"{side}_embedding.to_sum", settings.d_model, wide)
        if settings.embedding_norm:
            yield from _list_norm(f"{side}_embedding.norm", settings)
    outputs = 1 + len(settings.labels) if settings.labels else target
    yield "output_table.weight", (outputs, settings.d_model)
    if settings.output_bias:
        yield "output_bias", (outputs,)
    for *_, side, layers, attentions in stacks:
        for layer in range(layers):
            yield from _list_layer(f"{side}.{layer}", settings, attentions)
        if settings.norm == "pre":
            yield from _list_norm(f"{side}_norm", settings)


def _list_recurrent(settings: Model, source: int, target: int) -> Named:
    width, top = settings.d_model, settings.decoder_layers - 1
    for name, size in (("source_embedding", source), ("target_embedding", target)):
        yield f"{name}.table.weight", (size, width)
    yield "output_table.weight", (target, width)
    if settings.output_bias:
        yield "output_bias", (target,)
    for layer in range(settings.encoder_layers):
        for direction in ("forward", "backward")[: width // settings.width]:
            name = f"encoder.{layer}.{direction}_cell"
            yield from _list_cell(name, settings, width, settings.width)
    for layer in range(settings.decoder_layers):
        fed = layer == 0 and settings.rnn.input_feeding
        yield from _list_cell(f"decoder.{layer}.cell", settings, (1 + fed) * width, width)
    maps = {"general": ("key",), "additive": ("key", "query")}.get(settings.rnn.attention, ())
    for part in maps:
        yield f"decoder.{top}.cross_attention.to_{part}.weight", (width, width)
    if settings.rnn.attention == "additive":
        yield f"decoder.{top}.cross_attention.to_score.weight", (1, width)
    if settings.rnn.attention != "none":
        yield f"decoder.{top}.attentional.combine.weight", (width, 2 * width)


def _list_cell(name: str, settings: Model, inputs: int, size: int) -> Named:
    gates = {"gru": 3, "lstm": 4}[settings.rnn.cell] * size
    yield from _list_linear(f"{name}.from_input", gates, inputs)
    yield from _list_linear(f"{name}.from_hidden", gates, size)


def _list_layer(name: str, settings: Model, attentions: tuple[str, ...]) -> Named:
    narrow = settings.d_model
    for attention in attentions:
        make = _list_ssru if attention == "ssru" else _list_attention
        yield from make(f"{name}.{attention}", settings)
    if "self_attention" in attentions and settings.positions.layout == "relative":
        kinds = 2 * settings.positions.reach + 1
        for part in ("key", "value"):
            yield f"{name}.self_attention.relative.{part}_CK", (kinds, settings.width)
    has_network = "feed_forward" not in settings.ablate
    if has_network:
        for part in ("inner", "gate")[: 1 + settings.gated]:
            yield from _list_linear(f"{name}.feed_forward.{part}", settings.d_ff, narrow)
        yield from _list_linear(f"{name}.feed_forward.outer", narrow, settings.d_ff)
    for sublayer in (*attentions, "feed_forward")[: len(attentions) + has_network]:
        yield from _list_norm(f"{name}.{sublayer}_residual.norm", settings)


def _list_attention(name: str, settings: Model) -> Named:
    wide, narrow = settings.heads * settings.width, settings.d_model
    shared = (settings.key_value_heads or settings.heads) * settings.width
    for part, size in (("query", wide), ("key", shared), ("value", shared)):
        yield from _list_linear(f"{name}.to_{part}", size, narrow)
    yield from _list_linear(f"{name}.to_output", narrow, wide)


def _list_ssru(name: str, settings: Model) -> Named:
    yield from _list_linear(f"{name}.to_forget", settings.d_model, settings.d_model)
    yield f"{name}.to_candidate.weight", (settings.d_model, settings.d_model)


def _list_linear(name: str, outputs: int, inputs: int) -> Named:
    yield f"{name}.weight", (outputs, inputs)
    yield f"{name}.bias", (outputs,)


def _list_norm(name: str, settings: Model) -> Named:
    if "norm" in settings.ablate:
        return
    yield f"{name}.weight", (settings.d_model,)
    if settings.normalization == "layer":
        yield f"{name}.bias", (settings.d_model,)
