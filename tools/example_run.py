"""Write the example run that the view Training shows: `python -m tools.example_run`.

It trains two layers a side on the built-in sentences for some minutes of processor time, and keeps
of its snapshots those of STEPS, with the attention weights rounded to multiples of 1/1024 so that
they compress well in a wheel.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from safetensors.numpy import load_file, save_file

from glassformer.config import Config
from glassformer.extensions.demo.corpus import read_corpus, write_pairs
from glassformer.extensions.serve.api.runs import EXAMPLE
from glassformer.model.files.directory import RUN, SHARED
from glassformer.text.kinds import load_tokenizer
from glassformer.train import train
from glassformer.train.run.watch import GRADIENTS, SENTENCES, WATCH

SETTINGS = {
    "size": "tiny",
    "model": {"norm": "pre", "encoder_layers": 2, "decoder_layers": 2, "dropout": 0.0},
    "text": {"vocabulary": 2000, "split_above": 64},
    "data": {"source_lang": "en", "target_lang": "fr"},
    "train": {
        "steps": 1600,
        "batch_tokens": 1024,
        "optimizer": "muon",
        "learning_rate": 0.008,
        "warmup": 100,
        "schedule": "linear",
        "ema": 0.98,
        "best_by": "loss",
        "validate_every": 200,
        "watch": 2,
    },
    "decode": {"search": "greedy"},
}
STEPS = (0, 16, 32, 64, 128, 200, 256, 400, 512, 600, 800, 1024, 1600)
FIRST = (  # the sentences that are watched
    "The animal didn't cross the street because it was too tired.",
    "The cat is on the mat.",
)
GRAIN = 1024


def main() -> None:
    with TemporaryDirectory() as scratch:
        folder = Path(scratch)
        corpus = read_corpus()
        first = [(text, sorted(corpus.notes[text])[0]) for text in FIRST]
        pairs = {**corpus.pairs, "valid": [*first, *corpus.pairs["valid"]]}
        write_pairs(folder / "pairs", ("en", "fr"), pairs)
        train(Config.read(SETTINGS), [folder / "pairs"], folder / "model", device="cpu")
        keep(folder / "model" / RUN, EXAMPLE)
    size = sum(path.stat().st_size for path in EXAMPLE.rglob("*") if path.is_file())
    print(f"{EXAMPLE}: {size:,} bytes", file=sys.stderr)


def keep(run: Path, out: Path) -> None:
    """Write to `out` what the app shows of a run: curves, gradients, snapshots of STEPS."""
    shutil.rmtree(out, ignore_errors=True)
    (out / WATCH).mkdir(parents=True)
    for name in ("metrics.jsonl", f"{WATCH}/{GRADIENTS}"):
        lines = (run / name).read_text(encoding="utf-8").splitlines()
        text = "".join(json.dumps(round_all(json.loads(line))) + "\n" for line in lines)
        (out / name).write_text(text, encoding="utf-8")
    ids = {text: n for n, text in enumerate(load_tokenizer(run / SHARED).vocabulary)}
    sentences = json.loads((run / WATCH / SENTENCES).read_text(encoding="utf-8"))
    for each in sentences:  # the run has no tokenizer to find them with
        each["reference_ids"] = [ids[token] for token in each["reference_tokens"]]
    text = json.dumps(sentences, ensure_ascii=False) + "\n"
    (out / WATCH / SENTENCES).write_text(text, encoding="utf-8")
    for step in STEPS:
        name = f"{step:08d}"
        shutil.copyfile(run / WATCH / f"{name}.json", out / WATCH / f"{name}.json")
        tensors = load_file(run / WATCH / f"{name}.safetensors")
        kept = {key: round_weights(key, tensor) for key, tensor in tensors.items()}
        save_file(kept, out / WATCH / f"{name}.safetensors")


def round_all(line: dict[str, Any]) -> dict[str, Any]:
    """Return a line of numbers with five digits each."""
    return {k: float(f"{v:.5g}") if isinstance(v, float) else v for k, v in line.items()}


def round_weights(name: str, tensor: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    if not name.endswith(".weights"):
        return tensor
    return (np.round(tensor.astype(np.float32) * GRAIN) / GRAIN).astype(np.float16)


if __name__ == "__main__":
    main()
