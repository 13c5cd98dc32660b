"""Measure which positions work beyond the length of training: trained on 64 tokens, tested on 256.

    python -m benchmarks extrapolation --data FOLDER --seeds 1 2 3
    python -m benchmarks extrapolation --page

Two tasks for each kind of positions. `copy`: an encoder-decoder writes again what it read, trained
on sequences of 1 to 64 tokens of 10 kinds and tested on exactly 64, 80, 128 and 256: tokens right,
in percent, with greedy search. `text`: a causal language model of characters, trained on windows of
64 of FOLDER/tatoeba_en_fr/train.en and tested on windows of 64, 128 and 256 of test.en: mean loss
of the last 32 characters, in nats. A sentence is shorter than that, so that what lies further back
tells little: a model that can bear the distance keeps its loss, and does not lower it.

What is measured is added to docs/extrapolation.json after each training, and is not measured
again; --page writes the tables of docs/attention.md from that file.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from glassformer.config import PAD, Config
from glassformer.model.encoder_decoder import EncoderDecoder
from glassformer.model.files.directory import write_text
from glassformer.model.networks import build_network

from .questions import Row, tell_spread
from .small_tasks import SYMBOLS, Pair, draw_words, score_network, train_network

HOME = Path(__file__).parents[1]
FOUND, PAGE = HOME / "docs" / "extrapolation.json", HOME / "docs" / "attention.md"
TRAINED = 64  # tokens at most in training
LENGTHS = {"copy": (64, 80, 128, 256), "text": (64, 128, 256)}
UPDATES = {"copy": 1500, "text": 1500}
TESTED = {"copy": 50, "text": 200}
LAST, BATCH, PEAK = 32, 32, 3e-3
KINDS: dict[str, dict[str, Any]] = {
    "sines and cosines": {},
    "learned": {"layout": "learned"},
    "rotary": {"layout": "rotary"},
    "ALiBi": {"layout": "alibi"},
    "relative, reach 16": {"layout": "relative"},
    "none": {"layout": "none"},
}
SHAPE: dict[str, Any] = {"d_model": 64, "d_ff": 128, "heads": 4, "dropout": 0.0, "norm": "pre"}


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", type=Path, help="of text: the folder with tatoeba_en_fr")
    parser.add_argument("--task", nargs="+", default=["copy", "text"], choices=[*LENGTHS])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--page", action="store_true", help="only write the tables of the page")


def main(options: argparse.Namespace) -> None:
    if "text" in options.task and options.data is None and not options.page:
        raise ValueError("text needs --data")
    torch.set_num_threads(1)
    rows = read_rows()
    done = {(row["task"], row["kind"], row["seed"]) for row in rows}
    for seed in () if options.page else options.seeds:
        for task in options.task:
            for kind in KINDS:
                if (task, kind, seed) in done:
                    continue
                began = time.process_time()
                found = (
                    measure_copy(kind, seed)
                    if task == "copy"
                    else measure_text(options.data, kind, seed)
                )
                seconds = round(time.process_time() - began)
                rows.append(
                    {"task": task, "kind": kind, "seed": seed, "found": found, "seconds": seconds}
                )
                print(json.dumps(rows[-1]), flush=True)
                lines = ",\n".join(map(json.dumps, rows))
                write_text(FOUND, f"[\n{lines}\n]\n")
    write_page(rows)


def read_rows() -> list[Row]:
    """Return all that was measured."""
    return json.loads(FOUND.read_text(encoding="utf-8")) if FOUND.is_file() else []


def make_network(kind: str, vocabulary: int, seed: int, **more: Any) -> EncoderDecoder:
    torch.manual_seed(seed)
    model = Config.read({"model": {**SHAPE, **more, "positions": KINDS[kind]}}).model
    return build_network(model, vocabulary, vocabulary)


def measure_copy(kind: str, seed: int) -> list[float]:
    """Train a network to copy; return the percentage of right tokens at each length."""
    network = make_network(kind, SYMBOLS + 3, seed, encoder_layers=1, decoder_layers=1, tie="none")
    numbers = random.Random(seed)

    def draw(shortest: int, longest: int) -> Pair:
        words = draw_words(numbers, shortest, longest)
        return words, words

    train_network(network, lambda: draw(1, TRAINED), UPDATES["copy"])
    return [
        score_network(network, [draw(length, length) for _ in range(TESTED["copy"])])[1]
        for length in LENGTHS["copy"]
    ]


def measure_text(data: Path, kind: str, seed: int) -> list[float]:
    """Train a model of characters; return the loss of the last ones of windows of each length."""
    seen, unseen = (
        (data / "tatoeba_en_fr" / f"{name}.en").read_text(encoding="utf-8")
        for name in ("train", "test")
    )
    ids = {
        character: number for number, character in enumerate(sorted(set(seen + unseen)), start=3)
    }
    training, testing = (torch.tensor([ids[each] for each in text]) for text in (seen, unseen))
    network = make_network(kind, len(ids) + 3, seed, network="decoder", decoder_layers=2)
    optimizer = torch.optim.Adam(network.parameters(), betas=(0.9, 0.98))
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, PEAK, total_steps=UPDATES["text"])
    numbers = torch.Generator().manual_seed(seed)
    for _ in range(UPDATES["text"]):
        loss = read_windows(network, draw_windows(training, TRAINED, BATCH, numbers)).mean()
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    network.eval()
    with torch.inference_mode():
        return [
            read_windows(network, draw_windows(testing, length, TESTED["text"], numbers))[:, -LAST:]
            .mean()
            .item()
            for length in LENGTHS["text"]
        ]


def draw_windows(text: Tensor, length: int, count: int, numbers: torch.Generator) -> Tensor:
    """Return windows of `length` characters that are read, and one more that is only predicted."""
    begins = torch.randint(len(text) - length, (count, 1), generator=numbers)
    return text[begins + torch.arange(length + 1)]


def read_windows(network: EncoderDecoder, windows_BL: Tensor) -> Tensor:
    """Return the loss of each character but the first, in nats."""
    no_source = torch.full((len(windows_BL), 0), PAD)
    logits = network(no_source, windows_BL[:, :-1])
    return cross_entropy(logits.transpose(1, 2), windows_BL[:, 1:], reduction="none")


def write_page(rows: list[Row]) -> None:
    """Put the two tables into the page, between the marks `<!-- copy -->` and `<!-- end -->`."""
    text = PAGE.read_text(encoding="utf-8")
    for task, lengths in LENGTHS.items():
        lines = [
            f"| positions | {' | '.join(map(str, lengths))} | seeds |",
            "|---|" + "--:|" * (len(lengths) + 1),
        ]
        for kind in KINDS:
            found = [row["found"] for row in rows if (row["task"], row["kind"]) == (task, kind)]
            if found:
                cells = [tell_values(task, values) for values in zip(*found, strict=True)]
                lines.append(f"| {kind} | {' | '.join(cells)} | {len(found)} |")
        before, mark, after = text.partition(f"<!-- {task} -->\n")
        text = (
            before + mark + "\n".join(lines) + "\n<!-- end -->" + after.partition("<!-- end -->")[2]
        )
    write_text(PAGE, text)


def tell_values(task: str, values: tuple[float, ...]) -> str:
    if task == "copy":
        return tell_spread([*values], " %")
    spread = max(values) - min(values)
    return f"{sum(values) / len(values):.2f} (± {spread / 2:.2f})"
