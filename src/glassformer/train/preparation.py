"""The preparation of a training: validation text, tokenizers and a store of ids in its folder.

A training begins as run.json alone; config.toml is written when all is decided: see settle.py.

OUT/                the model directory, written at each best validation
OUT/run/            the files that only training needs; `--resume` reads nothing else
    run.json        the paths of the data, the settings that were given, and the machine
    config.toml     all settings, as they were decided
    plan.json       with minutes: the decisions on the number of updates
    tokenizer*.json . store/ . valid.source . valid.target
    parent/         the initial model, if any
    lock            while it is being trained
    checkpoints/ . metrics.jsonl . tensorboard/
    returned.json   after a divergence: the checkpoint that the training went back to, and the rate
    watch/          snapshots during training: see watch.py
"""

from __future__ import annotations

import math
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel, Field, model_validator

from ..compatibility.former_names import rename_keys
from ..config import Config, Decode
from ..data.corpus import (
    Corpus,
    FoundCorpora,
    LabelledCorpus,
    find_data,
    find_sentences,
    find_text,
    has_labels,
)
from ..data.doctor import examine
from ..data.files import Fingerprint, read_lines
from ..data.holdout import hold_out
from ..data.labels import Labels, find_labels
from ..data.store import Counts, Store
from ..data.store import build_store as build_store
from ..data.tables import Pair
from ..directory import CHECKPOINTS as CHECKPOINTS
from ..directory import CONFIG, VALID, Tokenizers
from ..directory import RECORD as RECORD
from ..directory import RUN as RUN
from ..disk import write_json, write_text
from ..machine.properties import describe_machine, look_at_machine
from ..publish.card import Origin
from ..text import Tokenizer
from ..text.spacing import close_up, is_unspaced
from ..typed_json import check_type, read_typed
from .auto import choose_settings, measure_corpus, render_choices
from .init_from import PARENT, InitModel, check_parts, count_known
from .log import Reporter
from .pretrained import copy_models

LEAST_EXTRA = 5  # tokens
MARGIN = 1.1  # a factor on lengths, for sentences unlike those of the training


class Record(BaseModel):
    """The content of run.json; the last two fields are there once the data have been read."""

    data: list[str] = Field(min_length=1)
    valid: list[str] | None
    machine: dict[str, Any]
    settings: dict[str, Any] | None = None  # None in runs of earlier versions
    parent: Origin | None = None
    initial: list[Origin] = []
    fingerprints: list[Fingerprint] = []
    counts: str = ""

    @model_validator(mode="after")
    def _is_whole(self) -> Record:
        if ("fingerprints" in self.model_fields_set) != ("counts" in self.model_fields_set):
            raise ValueError("fingerprints and counts come together")
        return self


@dataclass(frozen=True)
class Prepared:
    """The input of the training loop."""

    config: Config
    tokenizers: Tokenizers
    store: Store
    valid: tuple[list[str], list[str]]
    usual_extra: int  # a decode.max_extra that cuts off hardly any translation
    record: dict[str, Any]


def open_run(
    out: Path,
    config: Config,
    data: Sequence[str | Path],
    valid: Sequence[str | Path] | None,
    parent: InitModel | None = None,
    init_from: Sequence[str | Path] = (),
) -> None:
    """Begin a training in `out`: write run.json. ValueError if a training or a model is there."""
    folder = out / RUN
    if (folder / RECORD).exists():
        raise ValueError(f"{out} holds a training already: train --resume {out}, or another --out")
    if (out / CONFIG).exists():
        raise ValueError(f"{out} holds a model already: choose another --out")
    check_parts(config)
    model = config.model
    if config.train.rdrop_alpha and not (
        model.dropout or model.attention_dropout or model.activation_dropout
    ):
        raise ValueError("train.rdrop_alpha has no effect without dropout: set model.dropout")
    folder.mkdir(parents=True, exist_ok=True)
    record: dict[str, Any] = {
        "data": _absolute(data),
        "valid": _absolute(valid) if valid else None,
        "settings": config.to_json(),
    }
    if parent:
        parent.save(folder)
        record["parent"] = parent.provenance()
    if init_from:
        record["initial"] = copy_models(init_from, folder, config)
    write_json(folder / RECORD, {**record, "machine": describe_machine()})


def close_run(out: Path) -> None:
    """Undo `open_run`; run.json is removed first, so that a kill leaves no half training."""
    (out / RUN / RECORD).unlink()
    shutil.rmtree(out / RUN)
    if not any(out.iterdir()):
        out.rmdir()


def prepare_run(out: Path, report: Reporter) -> Prepared:
    """Return the input of the loop; first make validation text, tokenizers and store, if missing.

    If this is killed at any point, calling it again goes on.
    """
    folder, record = out / RUN, read_record(out)
    config = read_settings(folder, record)
    if "fingerprints" not in record:
        record, config = _read_corpus(folder, config, record, report)
    tokenizers = Tokenizers.load(folder)
    store = Store.open(folder / "store")
    if config.text.split_above is None:
        above = int(np.percentile(store.lengths(0)[0], 99, method="higher"))
        config = config.changed(text={"split_above": above})
    if config.decode.max_ratio == Decode().max_ratio:
        config = config.changed(decode={"max_ratio": find_ratio(store, config.decode)})
    extra = find_extra(store, config.decode)
    return Prepared(config, tokenizers, store, read_valid(folder), extra, record)


def find_ratio(store: Store, decode: Decode) -> float:
    """Return a decode.max_ratio that cuts off hardly any target of the training text."""
    source, target = (np.maximum(lengths, 1) for lengths in store.lengths(0))
    needed = float(np.percentile((target + 1 - decode.max_extra) / source, 99.9))
    return max(decode.max_ratio, math.ceil(MARGIN * needed))


def find_extra(store: Store, decode: Decode) -> int:
    """Return the least decode.max_extra that cuts off hardly any target of the training text."""
    source, target = store.lengths(0)
    needed = float(np.percentile(target + 1 - decode.max_ratio * source, 99.9))
    return min(decode.max_extra, max(LEAST_EXTRA, math.ceil(MARGIN * needed)))


def read_record(out: Path) -> dict[str, Any]:
    """Return the content of run.json. ValueError if no training was begun in `out`."""
    path = out / RUN / RECORD
    if not path.is_file():
        raise ValueError(f"{out} holds no training to resume: it has no {RUN}/{RECORD}")
    found: dict[str, Any] = rename_keys(read_typed(path, dict[str, Any]))
    check_type(found, Record, str(path))
    return found


def read_settings(folder: Path, record: dict[str, Any]) -> Config:
    """Return the settings of a run: all of them, or those in run.json until all are decided."""
    given, path = record.get("settings"), folder / CONFIG
    if given is None or path.is_file() or any((folder / CHECKPOINTS).glob("*")):
        found = Config.load(path)
        if given is None or not found.is_open:  # an earlier version wrote open settings there too
            return found
    return Config.read(given, name=str(folder / RECORD))


def write_settings(folder: Path, config: Config) -> None:
    """Write changed settings to where `read_settings` takes them from."""
    if (folder / CONFIG).is_file():
        write_text(folder / CONFIG, config.to_toml())
    else:
        record = read_record(folder.parent)
        write_json(folder / RECORD, {**record, "settings": config.to_json()})


def read_valid(folder: Path) -> tuple[list[str], list[str]]:
    """Return the validation text. ValueError if its two files do not have equally many lines."""
    source, target = (list(read_lines(folder / name)) for name in VALID)
    if len(source) != len(target):
        raise ValueError(
            f"{folder / VALID[0]} has {len(source):,} lines but {VALID[1]} has {len(target):,}: "
            "one of them was cut or changed since this training began; put it back, or begin anew"
        )
    return source, target


def _read_corpus(
    folder: Path, config: Config, record: dict[str, Any], report: Reporter
) -> tuple[dict[str, Any], Config]:
    """Return the record with what the corpus has shown, and the settings chosen for it."""
    train, valid = find_corpora(record, config)
    prints = train.fingerprints()
    if isinstance(train, LabelledCorpus) and not config.model.labels:
        labels = find_labels(label for _, label in train)
        config = config.changed(model={"labels": labels})
        report.say(f"Labels: {', '.join(labels)}")
    if not config.model.is_language_model:
        _check(train, valid, config, report)
    if valid is None:
        train, valid = hold_out(train, config.train.seed)
        assert valid.chosen is not None
        report.say(
            f"No validation text given: {int(valid.chosen.sum()):,} lines are held out for it, "
            f"in {folder / VALID[0]} and {VALID[1]}"
        )
    if config.is_open:
        stats, machine = measure_corpus(train), look_at_machine(folder)
        config, choices = choose_settings(config, stats, machine)
        report.say(render_choices(choices, stats, machine))
        record = {**record, "chosen": [each.key for each in choices if not each.is_yours]}
    pairs = [pair for pair in valid if pair[0].strip() and pair[1].strip()]
    for side, name in enumerate(VALID):
        write_text(folder / name, "".join(pair[side] + "\n" for pair in pairs))
    tokenizers = find_tokenizers(folder, train, config, record, report)
    counts = encode_corpus(folder, config, train, tokenizers, prints, report)
    unit = "lines" if config.model.is_language_model else "pairs"
    told = str(counts).replace("pairs", unit)
    report.say(f"{told}; {len(pairs):,} {unit} to validate on")
    if not counts.kept:
        raise ValueError(f"{train.files[0]}: nothing is left to train on ({told})")
    record = {
        **record,
        "settings": config.to_json(),
        "fingerprints": [asdict(each) for each in prints],
        "counts": told,
    }
    write_json(folder / RECORD, record)
    return record, config


def encode_corpus(
    folder: Path,
    config: Config,
    train: Corpus,
    tokenizers: Tokenizers,
    prints: Sequence[Fingerprint],
    report: Reporter,
) -> Counts:
    """Write the store of a training, replacing one that is there; return the counts of pairs."""
    labels = config.model.labels
    marks = 2 if config.model.network == "encoder" else 1  # that are read with the tokens
    with report.phase("encoding", prints[0].lines) as advance:
        return build_store(
            folder / "store",
            read_pairs(train, config),
            tokenizers.source,
            Labels(labels) if labels else tokenizers.target,
            max_length=min(config.data.max_length, config.model.positions.max_positions - marks),
            samples=config.text.samples if config.text.dropout else 1,
            dropout=config.text.dropout,
            seed=config.train.seed,
            fingerprints=prints,
            total=prints[0].lines,
            progress=lambda done, total: advance(done, total),
        )


def _check(train: Corpus, valid: Corpus | None, config: Config, report: Reporter) -> None:
    """Report the errors that a quick examination of the pairs finds; none is left out for them."""
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


def find_corpora(record: dict[str, Any], config: Config) -> tuple[Corpus, Corpus | None]:
    found = _find(record["data"], config)
    if not record["valid"]:
        return found.train, found.valid
    valid = _find(record["valid"], config).train
    valid.fingerprints()
    return found.train, valid


def _find(paths: Sequence[str], config: Config) -> FoundCorpora:
    """Return the corpora that paths name: of pairs, of text or of labelled sentences."""
    source_lang, target_lang = config.data.source_lang, config.data.target_lang
    if not config.model.is_language_model:
        return find_data(paths, source_lang, target_lang)
    if config.model.network == "encoder" and has_labels(paths):
        return find_sentences(paths)
    return find_text(paths, source_lang)


def _absolute(paths: Sequence[str | Path]) -> list[str]:
    return [str(path) if str(path) == "-" else str(Path(path).resolve()) for path in paths]


def find_tokenizers(
    folder: Path, train: Corpus, config: Config, record: dict[str, Any], report: Reporter
) -> Tokenizers:
    """Return the tokenizers of the initial model if they are kept, or else new ones."""
    parent = record.get("parent")
    if record.get("initial") or (parent and parent["tokens"] == "kept"):
        return Tokenizers.load(folder)
    tokenizers = _train_tokenizers(folder, train, config, report)
    if parent:
        known = count_known(Tokenizers.load(folder / PARENT).target, tokenizers.target)
        report.say(f"{parent['name']} knows {known:,} of the target tokens")
    return tokenizers


def read_pairs(train: Corpus, config: Config) -> Iterator[Pair]:
    """Return the pairs; a Chinese or Japanese source loses its spaces, as in `Translator`."""
    if not is_unspaced(config.data.source_lang):
        return iter(train)
    return ((close_up(source), target) for source, target in train)


def _train_tokenizers(folder: Path, train: Corpus, config: Config, report: Reporter) -> Tokenizers:
    """Train the tokenizers on the text and save them; a progress bar counts the lines."""
    with report.phase("vocabulary") as advance:

        def counted(lines: Iterable[str]) -> Iterable[str]:
            for number, line in enumerate(lines, 1):
                if not number % 1000:
                    advance(number)
                yield line

        numbers = (0,) if config.model.is_language_model else (0, 1)
        sides = [map(itemgetter(side), read_pairs(train, config)) for side in numbers]
        size = config.text.vocabulary
        if config.text.shared:
            both = Tokenizer.train(counted(chain(*sides)), size)
            tokenizers = Tokenizers(both, both)
        else:
            tokenizers = Tokenizers(*(Tokenizer.train(counted(side), size) for side in sides))
    tokenizers.save(folder)
    sizes = sorted({len(tokenizers.source), len(tokenizers.target)})
    report.say(f"Vocabulary: {' and '.join(f'{size:,}' for size in sizes)} tokens")
    return tokenizers
