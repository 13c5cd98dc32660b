"""The class torch.nn.Transformer in a plain loop."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, linear

from .training import PAD, Task, read_task, train


class Network(nn.Module):
    """A Transformer of torch's layers, with embeddings tied three ways."""

    places: Tensor

    def __init__(self, task: Task):
        super().__init__()
        model = task.model
        self.table = nn.Embedding(task.settings["vocabulary"], model["d_model"])
        nn.init.normal_(self.table.weight, std=model["d_model"] ** -0.5)
        self.layers = nn.Transformer(
            model["d_model"],
            model["heads"],
            model["encoder_layers"],
            model["decoder_layers"],
            model["d_ff"],
            model["dropout"],
            batch_first=True,
            norm_first=model["norm"] == "pre",
        )
        # There is no dropout where ours has none. But in bf16 a tiny dropout of attention weights
        # avoids torch's fused kernel, which is slower there.
        for part in self.layers.modules():
            if isinstance(part, nn.MultiheadAttention):
                part.dropout = 1e-6 if task.precision == "bf16" else 0.0
            elif isinstance(part, nn.TransformerEncoderLayer | nn.TransformerDecoderLayer):
                part.dropout = nn.Identity()  # type: ignore[assignment]
        self.dropout = nn.Dropout(model["dropout"])
        position = torch.arange(1024)[:, None]
        rate = torch.exp(torch.arange(0, model["d_model"], 2) * (-math.log(1e4) / model["d_model"]))
        places = torch.stack(((position * rate).sin(), (position * rate).cos()), -1).flatten(1)
        self.register_buffer("places", places)
        self.smoothing = task.settings["label_smoothing"]

    def embed(self, ids: Tensor) -> Tensor:
        words = self.table(ids) * math.sqrt(self.table.embedding_dim)
        return self.dropout(words + self.places[: ids.size(1)])

    def loss(self, source: Tensor, target: Tensor) -> Tensor:
        read, wanted = target[:, :-1], target[:, 1:]
        length = read.size(1)
        hidden = self.layers(
            self.embed(source),
            self.embed(read),
            tgt_mask=torch.ones(length, length, dtype=torch.bool).triu(1),
            src_key_padding_mask=source == PAD,
            tgt_key_padding_mask=read == PAD,
            memory_key_padding_mask=source == PAD,
            tgt_is_causal=True,
        )
        is_token = wanted != PAD
        logits = linear(hidden[is_token], self.table.weight)
        return cross_entropy(
            logits.float(), wanted[is_token], label_smoothing=self.smoothing, reduction="sum"
        )


if __name__ == "__main__":
    task = read_task()
    network = Network(task)
    train(task, network, network.loss)
