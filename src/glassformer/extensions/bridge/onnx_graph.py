"""A plain Transformer as two graphs of ONNX: its encoder, and one step of its decoder.

Letters: B sentences; S source positions; R rows of a search; P positions before; D model width;
H heads; K width of one head; V vocabulary.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch

from glassformer.config import PAD, Model
from glassformer.model.positions import sinusoids
from glassformer.model.transformer import Transformer

OPSET = 17  # the first with LayerNormalization
REACH = 2048  # positions in the table at least, if it is computed


class OnnxGraph:
    """A graph that grows by one node at a time; values are named by their node."""

    def __init__(self, settings: Model, network: Transformer) -> None:
        self.settings, self.weights = settings, network.state_dict()
        self.nodes: list[Any] = []
        self.constants: dict[str, Any] = {}

    def add(self, kind: str, *inputs: str, name: str = "", **attributes: Any) -> str:
        """Append a node, and return the name of its output."""
        from onnx import helper

        name = name or f"{kind.lower()}.{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], **attributes))
        return name

    def constant(self, values: Any, name: str = "") -> str:
        """Return the name of a tensor of numbers: each is stored once."""
        from onnx import numpy_helper

        array = np.asarray(values)
        name = name or f"{array.dtype}{array.tolist()}"
        if name not in self.constants:
            self.constants[name] = numpy_helper.from_array(np.array(array, order="C"), name)
        return name

    def weight(self, name: str) -> str:
        return self.constant(self.weights[name].detach().float().numpy(), name)

    def matrix(self, name: str) -> str:
        """Return a matrix as inputs x outputs, which is what a product needs from the right."""
        return self.constant(self.weights[name].detach().float().T.numpy(), f"{name}.T")

    def linear(self, x: str, name: str) -> str:
        product = self.add("MatMul", x, self.matrix(f"{name}.weight"))
        return self.add("Add", product, self.weight(f"{name}.bias"))

    def norm(self, x: str, name: str) -> str:
        scale, bias = self.weight(f"{name}.weight"), self.weight(f"{name}.bias")
        epsilon = self.settings.norm_epsilon
        return self.add("LayerNormalization", x, scale, bias, axis=-1, epsilon=epsilon)

    def embed(self, ids: str, positions: str, side: str) -> str:
        """Return scaled embeddings plus the vectors of the positions."""
        settings, name = self.settings, f"{side}_embedding"
        rows = self.add("Gather", self.weight(f"{name}.table.weight"), ids)
        scaled = self.add("Mul", rows, self.constant(np.float32(math.sqrt(settings.d_model))))
        if settings.positions.layout == "learned":
            table = self.weight(f"{name}.positions_LD")
        else:
            longest = max(REACH, settings.positions.max_positions)
            longer = settings.positions.model_copy(update={"max_positions": longest})
            numbers = sinusoids(longer, settings.d_model).to(torch.float32).numpy()
            table = self.constant(numbers, "positions_LD")
        return self.add("Add", scaled, self.add("Gather", table, positions))

    def split(self, x: str) -> str:
        """Return B L D as B H L K."""
        shape = self.constant([0, 0, self.settings.heads, self.settings.width])
        return self.add("Transpose", self.add("Reshape", x, shape), perm=[0, 2, 1, 3])

    def attend(self, x: str, keys_values: Sequence[str], name: str, mask: str = "") -> str:
        """Return multi-head attention from `x` to keys and values; `mask` is added to scores."""
        keys, values = keys_values
        query = self.split(self.linear(x, f"{name}.to_query"))
        scores = self.add("MatMul", query, self.add("Transpose", keys, perm=[0, 1, 3, 2]))
        scores = self.add("Div", scores, self.constant(np.float32(math.sqrt(self.settings.width))))
        if mask:
            scores = self.add("Add", scores, mask)
        result = self.add("MatMul", self.add("Softmax", scores, axis=-1), values)
        rows = self.add("Transpose", result, perm=[0, 2, 1, 3])
        joined = self.constant([0, 0, self.settings.heads * self.settings.width])
        return self.linear(self.add("Reshape", rows, joined), f"{name}.to_output")

    def feed_forward(self, x: str, name: str) -> str:
        inner = self.linear(x, f"{name}.inner")
        return self.linear(self.activate(inner), f"{name}.outer")

    def activate(self, x: str) -> str:
        if self.settings.activation == "relu":
            return self.add("Relu", x)
        if self.settings.activation == "silu":
            return self.add("Mul", x, self.add("Sigmoid", x))
        part = self.add("Div", x, self.constant(np.float32(math.sqrt(2))))
        raised = self.add("Add", self.add("Erf", part), self.constant(np.float32(1)))
        return self.add("Mul", self.add("Mul", x, raised), self.constant(np.float32(0.5)))

    def before(self, x: str, name: str) -> str:
        """Return what a sub-layer reads: normed, with norm=pre."""
        return self.norm(x, f"{name}_residual.norm") if self.settings.norm == "pre" else x

    def after(self, x: str, result: str, name: str) -> str:
        """Return the residual sum: normed, with norm=post."""
        total = self.add("Add", x, result)
        return self.norm(total, f"{name}_residual.norm") if self.settings.norm == "post" else total

    def mask(self, source_ids: str) -> str:
        """Return, B 1 1 S, what hides padding once it is added to scores."""
        is_pad = self.add("Equal", source_ids, self.constant(np.int64(PAD)))
        hidden = self.constant(np.float32(-1e9)), self.constant(np.float32(0))
        chosen = self.add("Where", is_pad, *hidden)
        return self.add("Unsqueeze", chosen, self.constant([1, 2]))

    def close(self, name: str, inputs: Sequence[Any], outputs: Sequence[Any]) -> Any:
        """Return the model of ONNX, checked."""
        from onnx import checker, helper

        graph = helper.make_graph(self.nodes, name, inputs, outputs, [*self.constants.values()])
        opset = [helper.make_opsetid("", OPSET)]
        model = helper.make_model(graph, opset_imports=opset, producer_name="glassformer")
        model.ir_version = 8
        checker.check_model(model)
        return model


def build_encoder(settings: Model, network: Transformer) -> Any:
    """Return the graph from `source_ids`, B S, to keys and values of each decoder layer, B H S K.

    A source ends with </s>, and with <pad> where others of the batch are longer.
    """
    g = OnnxGraph(settings, network)
    length = g.add("Gather", g.add("Shape", "source_ids"), g.constant(np.int64(1)))
    steps = g.constant(np.int64(0)), length, g.constant(np.int64(1))
    x, mask = g.embed("source_ids", g.add("Range", *steps), "source"), g.mask("source_ids")
    for layer in range(settings.encoder_layers):
        name = f"encoder.{layer}"
        read = g.before(x, f"{name}.self_attention")
        parts = [g.split(g.linear(read, f"{name}.self_attention.to_{p}")) for p in ("key", "value")]
        x = g.after(
            x, g.attend(read, parts, f"{name}.self_attention", mask), f"{name}.self_attention"
        )
        encoder = g.feed_forward(g.before(x, f"{name}.feed_forward"), f"{name}.feed_forward")
        x = g.after(x, encoder, f"{name}.feed_forward")
    if settings.norm == "pre":
        x = g.norm(x, "encoder_norm")
    outputs = []
    for layer in range(settings.decoder_layers):
        for part in ("key", "value"):
            split = g.split(g.linear(x, f"decoder.{layer}.cross_attention.to_{part}"))
            outputs.append(g.add("Identity", split, name=f"memory_{part}.{layer}"))
    shape = ["B", settings.heads, "S", settings.width]
    described = [_describe_value(name, shape) for name in outputs]
    return g.close("encoder", [_describe_value("source_ids", ["B", "S"], is_ids=True)], described)


def build_decoder(settings: Model, network: Transformer) -> Any:
    """Return the graph of one step: the logits, R V, of the token after each row's newest.

    Inputs: `token_ids`, R 1; `source_ids`, R S; memory_key.N and memory_value.N, as the encoder
    gave them; past_key.N and past_value.N, R H P K, those of all tokens before (P = 0 at first).
    Outputs beside `logits`: present_key.N and present_value.N, R H P+1 K, the next step's past.
    """
    g = OnnxGraph(settings, network)
    length = g.add("Gather", g.add("Shape", "past_key.0"), g.constant(np.int64(2)))
    position = g.add("Unsqueeze", length, g.constant([0]))
    y, mask = g.embed("token_ids", position, "target"), g.mask("source_ids")
    for layer in range(settings.decoder_layers):
        name = f"decoder.{layer}"
        read, parts = g.before(y, f"{name}.self_attention"), []
        for part in ("key", "value"):
            new = g.split(g.linear(read, f"{name}.self_attention.to_{part}"))
            past, present = f"past_{part}.{layer}", f"present_{part}.{layer}"
            parts.append(g.add("Concat", past, new, name=present, axis=2))
        y = g.after(y, g.attend(read, parts, f"{name}.self_attention"), f"{name}.self_attention")
        memory = f"memory_key.{layer}", f"memory_value.{layer}"
        read = g.before(y, f"{name}.cross_attention")
        decoder = g.attend(read, memory, f"{name}.cross_attention", mask)
        y = g.after(y, decoder, f"{name}.cross_attention")
        decoder = g.feed_forward(g.before(y, f"{name}.feed_forward"), f"{name}.feed_forward")
        y = g.after(y, decoder, f"{name}.feed_forward")
    if settings.norm == "pre":
        y = g.norm(y, "decoder_norm")
    logits = g.add("MatMul", y, g.matrix("output_table.weight"))
    if settings.output_bias:
        logits = g.add("Add", logits, g.weight("output_bias"))
    g.add("Squeeze", logits, g.constant([1]), name="logits")
    size = network.output_table.weight.size(0)
    ids = [_describe_value("token_ids", ["R", 1], is_ids=True)]
    ids.append(_describe_value("source_ids", ["R", "S"], is_ids=True))
    outputs = [_describe_value("logits", ["R", size]), *_describe_cache(settings, "present", "N")]
    ids += _describe_cache(settings, "memory", "S")
    return g.close("decoder", [*ids, *_describe_cache(settings, "past", "P")], outputs)


def _describe_cache(settings: Model, name: str, length: str) -> Iterator[Any]:
    for layer in range(settings.decoder_layers):
        for part in ("key", "value"):
            shape = ["R", settings.heads, length, settings.width]
            yield _describe_value(f"{name}_{part}.{layer}", shape)


def _describe_value(name: str, shape: list[Any], *, is_ids: bool = False) -> Any:
    from onnx import TensorProto, helper

    kind = TensorProto.INT64 if is_ids else TensorProto.FLOAT
    return helper.make_tensor_value_info(name, kind, shape)
