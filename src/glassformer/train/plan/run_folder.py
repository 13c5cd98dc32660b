"""The folder of a training: what it was given, and what only training needs.

A training begins as run.json alone; config.toml is written when all is decided: see settle.py.

OUT/                the model directory, written at each best validation
OUT/run/            the files that only training needs; `--resume` reads nothing else
    run.json        the paths of the data, the settings that were given, and the machine
    config.toml     all settings, as they were decided
    plan.json       with minutes: the decisions on the number of updates
    tokenizer*.json . store/ . valid.source . valid.target
    valid.context   the sentences before each source of valid.source, if they are read, in JSON
    parent/         the initial model, if any
    distilled/      translations of the teachers, if any
    subwords/       SentencePiece models or BPE codes that were given
    lock            while it is being trained
    checkpoints/ . metrics.jsonl . tensorboard/
    returned.json   after a divergence: the checkpoint that the training went back to, and the rate
    watch/          snapshots during training: see watch.py
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field, model_validator

from ...config import Config
from ...data.files import Fingerprint, read_lines
from ...data.sources import read_corpora
from ...data.tables import Pair
from ...foundation.compatibility.former_names import rename_keys
from ...foundation.disk import write_json, write_text
from ...foundation.machine.properties import describe_machine
from ...foundation.typed_json import check_type, read_typed
from ...model.files.directory import CHECKPOINTS, CONFIG, RECORD, RUN, VALID, VALID_CONTEXT
from ...text.context import cut_source, extend_source
from ..publish.card import Origin
from .ideas import find_ideas
from .init_from import BATCH, INITIAL, PARENT, InitModel, check_parts, copy_models, record_origin
from .vocabulary import SUBWORDS, check_subwords, copy_subwords

PAIRS = "pairs"  # the folder, in that of the run, of pairs that were given in memory


class ValidGroup(BaseModel):
    """The pairs of the validation text that come from one of several corpora, in a row."""

    name: str
    pair: str | None  # the languages, like "en-de"; None: those of the settings
    pairs: int


class Teacher(BaseModel):
    """A model whose translations are learned from."""

    name: str
    sha256: str
    folder: str


class Record(BaseModel):
    """The content of run.json; the last two fields are there once the data have been read."""

    data: list[str] = Field(min_length=1)
    valid: list[str] | None
    corpora: list[list[str]] = []  # the paths of each of several; [] of one
    valid_corpora: list[list[str]] = []
    valid_groups: list[ValidGroup] = []
    machine: dict[str, Any]
    settings: dict[str, Any] | None = None  # None in runs of earlier versions
    parent: Origin | None = None
    initial: list[Origin] = []
    alignments: str | None = None
    prior: Origin | None = None
    teachers: list[Teacher] = []
    fits_batch: bool = False  # train.batch_tokens is chosen when the corpus is known
    fingerprints: list[Fingerprint] = []
    counts: str = ""

    @model_validator(mode="after")
    def _is_whole(self) -> Record:
        if ("fingerprints" in self.model_fields_set) != ("counts" in self.model_fields_set):
            raise ValueError("fingerprints and counts come together")
        return self


def open_run(
    out: Path,
    config: Config,
    data: Sequence[str | Path],
    valid: Sequence[str | Path] | None,
    parent: InitModel | None = None,
    init_from: Sequence[str | Path] = (),
    subwords: Sequence[Path | str] = (),
    given: Mapping[str, Any] | None = None,
) -> None:
    """Begin a training in `out`, within `begin_run`: write run.json.

    given: the arguments of `train` that `ideas.IDEAS` names.
    """
    folder = out / RUN
    config, corpora = read_corpora(config, data)
    _, valid_corpora = read_corpora(Config(), valid) if valid else (None, [])
    check_parts(config)
    given = given or {}
    ideas = find_ideas(config, given)
    for idea in ideas:
        idea.check(given, config, has_parent=parent is not None)
    owners = {"--from": parent, "--init-from": init_from, "--lm-prior": given.get("lm_prior")}
    model = config.model
    if config.train.rdrop_alpha and not (
        model.dropout or model.attention_dropout or model.activation_dropout
    ):
        raise ValueError("train.rdrop_alpha has no effect without dropout: set model.dropout")
    check_subwords(subwords, config, [name for name, value in owners.items() if value])
    folder.mkdir(parents=True, exist_ok=True)
    for name in (PARENT, INITIAL, SUBWORDS):  # of a beginning that was killed
        shutil.rmtree(folder / name, ignore_errors=True)
    record: dict[str, Any] = {
        "data": [path for each in corpora for path in _absolute(each)],
        "valid": [path for each in valid_corpora for path in _absolute(each)] or None,
        "settings": config.to_json(),
    }
    if len(corpora) > 1 or len(valid_corpora) > 1:
        record["corpora"] = [_absolute(each) for each in corpora]
        record["valid_corpora"] = [_absolute(each) for each in valid_corpora]
    if parent:
        parent.save(folder)
        record["parent"] = record_origin(parent.folder, "new" if parent.has_new_tokens else "kept")
        record["fits_batch"] = BATCH not in config.train.model_fields_set
    if init_from:
        record["initial"] = copy_models(init_from, folder, config)
    copy_subwords(subwords, folder)
    for idea in ideas:
        record |= idea.keep(given, config, folder)
    write_json(folder / RECORD, {**record, "machine": describe_machine()})


@contextmanager
def begin_run(out: Path) -> Iterator[None]:
    """Let the body begin a training in `out`; remove what it adds to `run` if it raises an error.

    ValueError if a training or a model is there. run.json is removed first, so that a kill leaves
    no half training.
    """
    folder = out / RUN
    if (folder / RECORD).exists():
        raise ValueError(f"{out} holds a training already: train --resume {out}, or another --out")
    if (out / CONFIG).exists():
        raise ValueError(f"{out} holds a model already: choose another --out")
    before = {*folder.iterdir()}
    try:
        yield
    except (ValueError, OSError):
        for path in sorted({*folder.iterdir()} - before, key=lambda path: path.name != RECORD):
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()
        raise


def read_record(out: Path) -> dict[str, Any]:
    """Return the content of run.json. ValueError if no training was begun in `out`."""
    path = out / RUN / RECORD
    if not path.is_file():
        raise ValueError(f"{out} holds no training to resume: it has no {RUN}/{RECORD}")
    record: dict[str, Any] = rename_keys(read_typed(path, dict[str, Any]))
    check_type(record, Record, str(path))
    return record


def read_settings(folder: Path, record: dict[str, Any]) -> Config:
    """Return the settings of a run: all of them, or those in run.json until all are decided."""
    entry, path = record.get("settings"), folder / CONFIG
    if entry is None or path.is_file() or any((folder / CHECKPOINTS).glob("*")):
        settings = Config.load(path)
        if (
            entry is None or not settings.is_open
        ):  # an earlier version wrote open settings there too
            return settings
    return Config.read(entry, name=str(folder / RECORD))


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


def read_extended_valid(folder: Path) -> tuple[list[str], list[str]]:
    """Return the validation text, its sources extended. ValueError if a file was cut."""
    source, target = read_valid(folder)
    path = folder / VALID_CONTEXT
    try:
        contexts = [str(json.loads(line)) for line in read_lines(path)]
    except ValueError:
        raise ValueError(f"{path}: damaged; each line is a text in JSON") from None
    if len(contexts) != len(source):
        raise ValueError(
            f"{path} has {len(contexts):,} lines but {VALID[0]} has {len(source):,}: one of them "
            "was cut or changed since this training began; put it back, or begin anew"
        )
    return [*map(extend_source, contexts, source)], target


def write_valid(folder: Path, pairs: Sequence[Pair], has_context: bool) -> None:
    """Write the validation text; if the sources have a context, it gets a file of its own."""
    if has_context:
        cut = [cut_source(source) for source, _ in pairs]
        lines = "".join(f"{json.dumps(context)}\n" for context, _ in cut)
        write_text(folder / VALID_CONTEXT, lines)
        pairs = [(own, target) for (_, own), (_, target) in zip(cut, pairs, strict=True)]
    for side, name in enumerate(VALID):
        write_text(folder / name, "".join(pair[side] + "\n" for pair in pairs))


def _absolute(paths: Sequence[str | Path]) -> list[str]:
    return [str(path) if str(path) == "-" else str(Path(path).resolve()) for path in paths]
