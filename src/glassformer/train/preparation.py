"""From files to a store of ids: everything a training needs, kept in its folder.

OUT/                the model directory, filled at each best validation
OUT/run/            what only the training needs; `--resume` reads nothing else
    run.json        where the data lay, and on what this runs
    config.toml     the settings, with the number of steps once it is known
    tokenizer*.json . store/ . valid.source . valid.target
    parent/         the model it starts from, if any
    checkpoints/ . metrics.jsonl . tensorboard/
    watch/          how the model changed: see watch.py
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

from ..config import Config
from ..data.corpus import Corpus, find
from ..data.doctor import examine
from ..data.files import read_lines
from ..data.holdout import hold_out
from ..data.store import Store
from ..data.store import build as build_store
from ..data.tables import Pair
from ..directory import CONFIG, Tokenizers, write_json, write_text
from ..text import Tokenizer
from ..text.spacing import close_up, is_unspaced
from .auto import choose, measure_extent, render
from .log import Reporter
from .machine import describe_machine, look_at_machine
from .parent import PARENT, Parent, check_parts, count_known

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
    parent: Parent | None = None,
) -> None:
    """Begin a training in `out`: write down what it is to do. ValueError if one is there."""
    folder = out / RUN
    if (folder / RECORD).exists():
        raise ValueError(f"{out} holds a training already: train --resume {out}, or another --out")
    if (out / CONFIG).exists():
        raise ValueError(f"{out} holds a model already: choose another --out")
    check_parts(config)
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / CONFIG, config.to_toml())
    record: dict[str, Any] = {
        "data": _absolute(data),
        "valid": _absolute(valid) if valid else None,
    }
    if parent:
        parent.save(folder)
        record["parent"] = parent.provenance()
    write_json(folder / RECORD, {**record, "machine": describe_machine()})


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
        config = Config.load(folder / CONFIG)
    tokenizers = Tokenizers.load(folder)
    store = Store.open(folder / "store")
    if config.text.split_above is None:
        above = int(np.percentile(store.lengths(0)[0], 99, method="higher"))
        config = config.changed(text={"split_above": above})
    valid = [list(read_lines(folder / name)) for name in VALID]
    return Prepared(config, tokenizers, store, (valid[0], valid[1]), record)


def _read_corpus(
    folder: Path, config: Config, record: dict[str, Any], report: Reporter
) -> dict[str, Any]:
    train, valid = _find(record, config)
    prints = train.fingerprints()
    _check(train, valid, config, report)
    if valid is None:
        train, valid = hold_out(train, config.train.seed)
        assert valid.chosen is not None
        report.say(
            f"No validation text given: {int(valid.chosen.sum()):,} pairs are held out for it, "
            f"in {folder / VALID[0]} and {VALID[1]}"
        )
    if config.size == "auto":
        config = _settle(folder, config, train, report)
    pairs = [pair for pair in valid if pair[0].strip() and pair[1].strip()]
    for side, name in enumerate(VALID):
        write_text(folder / name, "".join(pair[side] + "\n" for pair in pairs))
    tokenizers = _find_tokenizers(folder, train, config, record, report)
    total = prints[0].lines
    with report.phase("encoding", total) as advance:
        counts = build_store(
            folder / "store",
            _read(train, config),
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


def _settle(folder: Path, config: Config, train: Corpus, report: Reporter) -> Config:
    """Choose what is left to us, once, say why, and write it down."""
    extent, machine = measure_extent(train), look_at_machine(folder)
    config, choices = choose(config, extent, machine)
    report.say(render(choices, extent, machine))
    write_text(folder / CONFIG, config.to_toml())
    return config


def _check(train: Corpus, valid: Corpus | None, config: Config, report: Reporter) -> None:
    """Say what is wrong with the pairs, as far as a quick look shows; none is left out for it."""
    with report.phase("checking"):
        found = examine(
            *train.sides(),
            source_lang=config.data.source_lang,
            target_lang=config.data.target_lang,
            held_out={"the validation text": valid.sides()} if valid else {},
            thorough=False,
        )
    warnings = found.warnings()
    for warning in warnings:
        report.say(warning)
    if warnings:
        report.say("glassformer check-data shows which, and can mend them")


def _find(record: dict[str, Any], config: Config) -> tuple[Corpus, Corpus | None]:
    langs = (config.data.source_lang, config.data.target_lang)
    found = find(record["data"], *langs)
    if not record["valid"]:
        return found.train, found.valid
    valid = find(record["valid"], *langs).train
    valid.fingerprints()
    return found.train, valid


def _find_tokenizers(
    folder: Path, train: Corpus, config: Config, record: dict[str, Any], report: Reporter
) -> Tokenizers:
    """The parent's, or new ones."""
    parent = record.get("parent")
    if parent and parent["pieces"] == "kept":
        return Tokenizers.load(folder)
    tokenizers = _train_tokenizers(folder, train, config, report)
    if parent:
        known = count_known(Tokenizers.load(folder / PARENT).target, tokenizers.target)
        report.say(f"{parent['name']} knows {known:,} of the target pieces")
    return tokenizers


def _read(train: Corpus, config: Config) -> Iterator[Pair]:
    """The pairs, a Chinese or Japanese source without the spaces that `Translator` ignores."""
    if not is_unspaced(config.data.source_lang):
        return iter(train)
    return ((close_up(source), target) for source, target in train)


def _train_tokenizers(folder: Path, train: Corpus, config: Config, report: Reporter) -> Tokenizers:
    """Learn the pieces; the lines are counted on a bar as they are read."""
    with report.phase("vocabulary") as advance:

        def counted(lines: Iterable[str]) -> Iterable[str]:
            for number, line in enumerate(lines, 1):
                if not number % 1000:
                    advance(number)
                yield line

        sides = [map(itemgetter(side), _read(train, config)) for side in (0, 1)]
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
