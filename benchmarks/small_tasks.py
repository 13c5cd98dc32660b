"""Small tasks that a tiny network learns in seconds: copying, reversing, and the commands of SCAN.

A training has the same batches for the same seed, whatever the network. Its time is the
processor's. Tokens of a sequence task are numbers from 3 on.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from glassformer.config import BOS, EOS, PAD, Config, Decode
from glassformer.decode import search
from glassformer.model.encoder_decoder import EncoderDecoder
from glassformer.model.networks import build_network

BATCH, PEAK, TESTED = 64, 3e-3, 200
SYMBOLS, LONGEST = 10, 8  # kinds of tokens, and how many at most, in copying and reversing
SHAPE: dict[str, Any] = {
    "d_model": 32,
    "d_ff": 64,
    "heads": 4,
    "encoder_layers": 1,
    "decoder_layers": 1,
}
SHAPE |= {"dropout": 0.0, "norm": "pre", "tie": "none"}
SHORT = 12  # actions at most in SCAN here, of 48
Pair = tuple[list[int], list[int]]


@dataclass(frozen=True)
class SmallTask:
    """A task: how many tokens it has, how long it is trained, and how pairs are drawn."""

    vocabulary: int
    updates: int
    draw: Callable[[random.Random], Pair]
    draw_test: Callable[[random.Random], Pair]


def make_sequences(change: Callable[[list[int]], list[int]], updates: int) -> SmallTask:
    """Return the task of writing a changed sequence of at most LONGEST tokens."""

    def draw(numbers: random.Random) -> Pair:
        words = draw_words(numbers, 1, LONGEST)
        return words, change(words)

    return SmallTask(SYMBOLS + 3, updates, draw, draw)


def draw_words(numbers: random.Random, shortest: int, longest: int) -> list[int]:
    """Return a random sequence."""
    return numbers.choices(range(3, SYMBOLS + 3), k=numbers.randint(shortest, longest))


@cache
def make_scan() -> SmallTask:
    """Return the commands of SCAN with few actions (Lake and Baroni 2018), a tenth held out.

    The folder is `scan` in that of the environment variable GLASSFORMER_DATA.
    """
    folder = Path(os.environ["GLASSFORMER_DATA"]) / "scan"
    sides = [(folder / f"simple.train.{end}").read_text(encoding="utf-8") for end in ("src", "tgt")]
    texts = [
        (source.split(), target.split())
        for source, target in zip(*(side.splitlines() for side in sides), strict=True)
        if len(target.split()) <= SHORT
    ]
    words = sorted({word for pair in texts for side in pair for word in side})
    ids = {word: number for number, word in enumerate(words, start=3)}
    pairs = [([ids[x] for x in source], [ids[x] for x in target]) for source, target in texts]
    random.Random(1).shuffle(pairs)
    held_out, seen = pairs[: len(pairs) // 10], pairs[len(pairs) // 10 :]
    return SmallTask(
        len(words) + 3, 400, lambda draw: draw.choice(seen), lambda draw: draw.choice(held_out)
    )


TASKS: dict[str, Callable[[], SmallTask]] = {
    "copy": lambda: make_sequences(lambda words: words, 200),
    "reverse": lambda: make_sequences(lambda words: words[::-1], 400),
    "scan": make_scan,
}


def measure_task(task: SmallTask, changes: dict[str, Any], seed: int) -> dict[str, float]:
    """Train a network with these settings of the model; return its scores and its cost."""
    torch.manual_seed(seed)
    model = Config.read({"model": {**SHAPE, **changes}}).model
    network = build_network(model, task.vocabulary, task.vocabulary)
    numbers = random.Random(seed)
    began = time.process_time()
    loss = train_network(network, lambda: task.draw(numbers), task.updates)
    seconds = time.process_time() - began
    numbers = random.Random(1000 + seed)
    exact, tokens = score_network(network, [task.draw_test(numbers) for _ in range(TESTED)])
    return {
        "exact": exact,
        "tokens": tokens,
        "loss": round(loss, 4),
        "parameters": sum(p.numel() for p in network.parameters()),
        "milliseconds": round(1000 * seconds / task.updates, 2),
    }


def train_network(network: EncoderDecoder, draw: Callable[[], Pair], updates: int) -> float:
    """Train on fresh batches; return the mean loss of a token in the last tenth of the updates."""
    optimizer = torch.optim.Adam(network.parameters(), betas=(0.9, 0.98))
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, PEAK, total_steps=updates)
    losses = []
    for _ in range(updates):
        pairs = [draw() for _ in range(BATCH)]
        source_BS = pad_rows([[*source, EOS] for source, _ in pairs])
        given_BT = pad_rows([[BOS, *target] for _, target in pairs])
        wanted_BT = pad_rows([[*target, EOS] for _, target in pairs])
        logits_BTV = network(source_BS, given_BT)
        loss = cross_entropy(logits_BTV.flatten(0, 1), wanted_BT.flatten(), ignore_index=PAD)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
    last = losses[-max(1, updates // 10) :]
    return sum(last) / len(last)


def pad_rows(rows: list[list[int]]) -> Tensor:
    """Return rows of ids, padded to the longest."""
    longest = max(map(len, rows))
    return torch.tensor([row + [PAD] * (longest - len(row)) for row in rows])


def score_network(network: EncoderDecoder, pairs: list[Pair]) -> tuple[float, float]:
    """Return the percentages of sequences and of tokens that greedy search finds right."""
    longest = max(len(target) for _, target in pairs)
    settings = Decode(search="greedy", max_ratio=0.0, max_extra=longest + 2)
    with torch.inference_mode():
        found = search(network.eval(), [[*source, EOS] for source, _ in pairs], settings)
    exact = right = total = 0
    for (_, wanted), (best,) in zip(pairs, found, strict=True):
        written = [token for token in best.tokens if token != EOS]
        exact += written == wanted
        right += sum(a == b for a, b in zip(wanted, written, strict=False))
        total += max(len(wanted), len(written))
    return 100 * exact / len(pairs), 100 * right / max(1, total)
