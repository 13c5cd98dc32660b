"""A translation model of five words, trained in seconds: `python -m tools.toy_model FILE`.

The output is what pictures of a training show: the full probabilities before, during and after it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import torch
from torch import nn

from glassformer.config import BOS, EOS, Model
from glassformer.foundation.disk import write_text
from glassformer.model.transformer import Transformer
from glassformer.train.run.watch import measure_blocks

MARKS = ["<pad>", "<s>", "</s>"]
SOURCE = [*MARKS, "merci", "je", "suis", "étudiant"]
TARGET = [*MARKS, "a", "am", "i", "thanks", "student"]
PAIRS = (("merci", "thanks"), ("je suis étudiant", "i am a student"))
SHAPE = Model(
    d_model=32, d_ff=64, heads=2, encoder_layers=2, decoder_layers=2, dropout=0.0, tie="two-way"
)
STEPS, RATE, SEED = 128, 3e-3, 1


def number(words: str, vocabulary: list[str]) -> list[int]:
    return [vocabulary.index(word) for word in words.split()]


def train_toy() -> dict[str, Any]:
    """Train the model; return its sentences, vocabulary, snapshots and gradients.

    There is a snapshot at updates 0, 1, 2, 4 ..., and a gradient norm of each block at every one.
    """
    torch.manual_seed(SEED)
    model = Transformer(SHAPE, len(SOURCE), len(TARGET))
    optimizer = torch.optim.Adam(model.parameters(), RATE, (0.9, 0.98))
    batch = [
        (torch.tensor([[*number(source, SOURCE), EOS]]), number(target, TARGET))
        for source, target in PAIRS
    ]
    snapshots, gradients = [], []
    for step in range(STEPS + 1):
        found = [model(source, torch.tensor([[BOS, *ids]]))[0] for source, ids in batch]
        losses = [
            nn.functional.cross_entropy(logits, torch.tensor([*ids, EOS]), reduction="sum")
            for logits, (_, ids) in zip(found, batch, strict=True)
        ]
        tokens = sum(len(ids) + 1 for _, ids in batch)
        loss = torch.stack(losses).sum() / tokens
        if not step & (step - 1):
            tables = [logits.double().log_softmax(-1).detach() for logits in found]
            snapshots.append(
                {
                    "step": step,
                    "loss": round(loss.item(), 6),
                    "log_probabilities": [
                        [[round(x, 6) for x in row] for row in t.tolist()] for t in tables
                    ],
                }
            )
        optimizer.zero_grad()
        loss.backward()
        norms = {name: round(norm, 6) for name, norm in measure_blocks(model).items()}
        gradients.append({"step": step, **norms})
        optimizer.step()
    sentences = [
        {
            "source": source,
            "reference": target,
            "source_tokens": [*source.split(), MARKS[EOS]],
            "reference_tokens": [*target.split(), MARKS[EOS]],
        }
        for source, target in PAIRS
    ]
    return {
        "vocabulary": TARGET,
        "sentences": sentences,
        "snapshots": snapshots,
        "gradients": gradients,
    }


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("usage: python -m tools.toy_model FILE")
    write_text(Path(sys.argv[1]), json.dumps(train_toy(), ensure_ascii=False))
