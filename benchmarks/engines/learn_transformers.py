"""Hugging Face's MarianMT, trained from scratch and stopped at given CPU-seconds to translate.

It is called with TASK CPU-SECONDS..., as `learn_joeynmt`, and learns from the same tokens with the
same schedule: Adam, a warm-up and then the inverse square root. Pairs of similar length are in one
batch. The results of each stop are written to transformers.jsonl.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from transformers import MarianConfig, MarianMTModel

PAD, BOS, EOS = 0, 1, 2
BEAM = 5


def build_network(task: dict[str, Any], dropout: float) -> MarianMTModel:
    """Return a MarianMT of the sizes of a task."""
    model = task["model"]
    sizes = {}
    for side in ("encoder", "decoder"):
        sizes[f"{side}_layers"] = model[f"{side}_layers"]
        sizes[f"{side}_attention_heads"] = model["heads"]
        sizes[f"{side}_ffn_dim"] = model["d_ff"]
    tokens = {"pad_token_id": PAD, "bos_token_id": BOS, "eos_token_id": EOS}
    return MarianMTModel(
        MarianConfig(
            vocab_size=task["vocabulary"],
            d_model=model["d_model"],
            activation_function=model["activation"],
            dropout=dropout,
            scale_embedding=True,
            decoder_start_token_id=BOS,
            forced_eos_token_id=None,
            **sizes,
            **tokens,
        )
    )


def read_ids(path: Path) -> list[list[int]]:
    return [[int(word) for word in line.split()] for line in path.read_text("utf-8").splitlines()]


def pad(rows: list[list[int]]) -> Tensor:
    """Return the rows as one tensor, padded on the right."""
    return nn.utils.rnn.pad_sequence(list(map(torch.tensor, rows)), True, PAD)


def make_batches(
    source: list[list[int]], target: list[list[int]], budget: int, seed: int
) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield batches of so many tokens a side endlessly, in a new order in each epoch."""
    draw = torch.Generator().manual_seed(seed)
    while True:
        noise = torch.rand(len(source), generator=draw).tolist()
        order = sorted(range(len(source)), key=lambda n: len(source[n]) + 2 * noise[n])
        cuts, rows = list[list[int]](), list[int]()
        for number in order:
            longest = max(len(source[number]), len(target[number])) + 1
            if rows and longest * (len(rows) + 1) > budget:
                cuts.append(rows)
                rows = []
            rows.append(number)
        cuts.append(rows)
        for place in torch.randperm(len(cuts), generator=draw).tolist():
            yield (
                pad([[*source[n], EOS] for n in cuts[place]]),
                pad([[BOS, *target[n], EOS] for n in cuts[place]]),
            )


def learn(folder: Path, marks: list[float]) -> None:
    """Train until the last mark, and translate the test at each."""
    task = json.loads((folder / "task.json").read_text(encoding="utf-8"))
    chosen = json.loads((folder / "learning.json").read_text(encoding="utf-8"))
    seed = chosen.get("seed", 1)
    torch.manual_seed(seed)
    network = build_network(task, chosen["dropout"])
    optimizer = torch.optim.Adam(network.parameters(), 1.0, tuple(task["betas"]), fused=True)
    warmup, rate = chosen["warmup"], chosen["rate"]
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda n: rate * min((n + 1) / warmup, (warmup / (n + 1)) ** 0.5)
    )
    pairs = read_ids(folder / "train.source"), read_ids(folder / "train.target")
    found, began, tokens = folder / "transformers.jsonl", time.process_time(), 0
    found.unlink(missing_ok=True)
    network.train()
    batches = make_batches(*pairs, task["batch_tokens"], seed)
    for updates, (source, target) in enumerate(batches):
        cpu = time.process_time() - began
        if cpu >= marks[0]:
            marks.pop(0)
            row: dict[str, Any] = {"cpu": cpu, "updates": updates, "tokens": tokens}
            row["said"] = translate(network, read_ids(folder / "test.source"))
            with found.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
            began = time.process_time() - cpu
            if not marks:
                return
        loss = compute_loss(network, source, target, task["label_smoothing"])
        loss.backward()
        nn.utils.clip_grad_norm_(network.parameters(), task["max_grad_norm"])
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        tokens += int((source != PAD).sum() + (target != PAD).sum())


def compute_loss(
    network: MarianMTModel, source: Tensor, target: Tensor, smoothing: float
) -> Tensor:
    """Return the mean cross-entropy of the target's tokens."""
    logits = network(
        input_ids=source,
        attention_mask=(source != PAD).long(),
        decoder_input_ids=target[:, :-1],
        decoder_attention_mask=(target[:, :-1] != PAD).long(),
    ).logits
    return nn.functional.cross_entropy(
        logits.flatten(0, 1),
        target[:, 1:].flatten(),
        ignore_index=PAD,
        label_smoothing=smoothing,
    )


def translate(network: MarianMTModel, lines: list[list[int]]) -> list[str]:
    """Return the tokens of each translation, with a beam of 5."""
    network.eval()
    said = []
    for first in range(0, len(lines), 32):
        source = pad([[*line, EOS] for line in lines[first : first + 32]])
        limit = int(2 * source.shape[1] + 10)
        mask = (source != PAD).long()
        made = network.generate(
            input_ids=source, attention_mask=mask, num_beams=BEAM, max_length=limit
        )
        rows = ([id for id in row if id not in (PAD, BOS, EOS)] for row in made.tolist())
        said += [" ".join(map(str, row)) for row in rows]
    network.train()
    return said


if __name__ == "__main__":
    learn(Path(sys.argv[1]), sorted(map(float, sys.argv[2:])))
