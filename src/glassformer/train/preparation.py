"""From files to a store of ids: everything a training needs, kept in its folder.

OUT/                the model directory, filled at each best validation
OUT/run/            what only the training needs; `--resume` reads nothing else
    run.json        where the data lay, and on what this runs
    config.toml     the settings, with the number of steps once it is known
    tokenizer*.json . store/ . valid.source . valid.target
    checkpoints/ . metrics.jsonl . tensorboard/
"""

from __future__ import annotations

import json
import platform
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import torch

from ..config import Config
from ..data.corpus import Corpus, find
from ..data.files import read_lines
from ..data.holdout import hold_out
from ..data.store import Store
from ..data.store import build as build_store
from ..directory import CONFIG, Tokenizers, write_json, write_text
from ..text import Tokenizer
from .log import Reporter

RUN, RECORD, CHECKPOINTS = "run", "run.json", "checkpoints"
VALID = ("valid.source", "valid.target")


@dataclass(frozen=True)
class Prepared:
    """What the loop works on."""

    config: Config
    tokenizers: Tokenizers
    store: Store
    valid: tuple[list[str], list[str]]
    record: dict[str, Any]


def open_run(
    out: Path,
    config: Config,
    data: Sequence[str | Path],
    valid: Sequence[str | Path] | None,
) -> None:
    """Begin a training in `out`: write down what it is to do. ValueError if one is there."""
    folder = out / RUN
    if (folder / RECORD).exists():
        raise ValueError(f"{out} holds a training already: train --resume {out}, or another --out")
    if (out / CONFIG).exists():
        raise ValueError(f"{out} holds a model already: choose another --out")
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / CONFIG, config.to_toml())
    paths = {"data": _absolute(data), "valid": _absolute(valid) if valid else None}
    write_json(folder / RECORD, {**paths, "machine": describe_machine()})


def close_run(out: Path) -> None:
    """Take back what `open_run` began."""
    shutil.rmtree(out / RUN)
    if not any(out.iterdir()):
        out.rmdir()


def prepare(out: Path, report: Reporter) -> Prepared:
    """Do what is not done yet: validation text, tokenizers, store. Killed anywhere, it goes on."""
    folder = out / RUN
    if not (folder / RECORD).is_file():
        raise ValueError(f"{out} holds no training to resume: it has no {RUN}/{RECORD}")
    record = json.loads((folder / RECORD).read_text(encoding="utf-8"))
    config = Config.load(folder / CONFIG)
    if "fingerprints" not in record:
        record = _read_corpus(folder, config, record, report)
    tokenizers = Tokenizers.load(folder)
    store = Store.open(folder / "store")
    valid = [list(read_lines(folder / name)) for name in VALID]
    return Prepared(config, tokenizers, store, (valid[0], valid[1]), record)


def _read_corpus(
    folder: Path, config: Config, record: dict[str, Any], report: Reporter
) -> dict[str, Any]:
    train, valid = _find(record, config)
    prints = train.fingerprints()
    if valid is None:
        train, valid = hold_out(train, config.train.seed)
        assert valid.chosen is not None
        report.say(
            f"No validation text given: {int(valid.chosen.sum()):,} pairs are held out for it, "
            f"in {folder / VALID[0]} and {VALID[1]}"
        )
    pairs = [pair for pair in valid if pair[0].strip() and pair[1].strip()]
    for side, name in enumerate(VALID):
        write_text(folder / name, "".join(pair[side] + "\n" for pair in pairs))
    tokenizers = _train_tokenizers(folder, train, config, report)
    total = prints[0].lines
    with report.phase("encoding", total) as advance:
        counts = build_store(
            folder / "store",
            train,
            tokenizers.source,
            tokenizers.target,
            max_length=min(config.data.max_length, config.model.positions.longest - 1),
            samples=config.text.samples if config.text.dropout else 1,
            dropout=config.text.dropout,
            seed=config.train.seed,
            fingerprints=prints,
            total=total,
            progress=lambda done, total: advance(done, total),
        )
    report.say(f"{counts}; {len(pairs):,} pairs to validate on")
    if not counts.kept:
        raise ValueError(f"{train.files[0]}: no pair is left to train on ({counts})")
    record = {**record, "fingerprints": [asdict(each) for each in prints], "counts": str(counts)}
    write_json(folder / RECORD, record)
    return record


def _find(record: dict[str, Any], config: Config) -> tuple[Corpus, Corpus | None]:
    langs = (config.data.source_lang, config.data.target_lang)
    found = find(record["data"], *langs)
    if not record["valid"]:
        return found.train, found.valid
    valid = find(record["valid"], *langs).train
    valid.fingerprints()
    return found.train, valid


def _train_tokenizers(folder: Path, train: Corpus, config: Config, report: Reporter) -> Tokenizers:
    """Learn the pieces; the lines are counted on a bar as they are read."""
    with report.phase("vocabulary") as advance:

        def counted(lines: Iterable[str]) -> Iterable[str]:
            for number, line in enumerate(lines, 1):
                if not number % 1000:
                    advance(number)
                yield line

        sides = [(pair[side] for pair in train) for side in (0, 1)]
        size = config.text.vocabulary
        if config.text.shared:
            both = Tokenizer.train(counted(chain(*sides)), size)
            tokenizers = Tokenizers(both, both)
        else:
            tokenizers = Tokenizers(*(Tokenizer.train(counted(side), size) for side in sides))
    tokenizers.save(folder)
    sizes = sorted({len(tokenizers.source), len(tokenizers.target)})
    report.say(f"Vocabulary: {' and '.join(f'{size:,}' for size in sizes)} pieces")
    return tokenizers


def _absolute(paths: Sequence[str | Path]) -> list[str]:
    return [str(path) if str(path) == "-" else str(Path(path).resolve()) for path in paths]


def describe_machine() -> dict[str, Any]:
    """What decides whether a resumed training is the same bit for bit."""
    return {
        "torch": torch.__version__,
        "threads": torch.get_num_threads(),
        "processor": platform.processor() or platform.machine(),
        "capability": torch.backends.cpu.get_cpu_capability(),
        "python": platform.python_version(),
    }
