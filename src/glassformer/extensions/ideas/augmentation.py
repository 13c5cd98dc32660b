"""Pairs made by a model from text of one language: to train another model on.

back     text of the target language is translated to the source (Sennrich et al. 2016)
forward  text of the source language is translated: self-training, and distillation (Kim and Rush
         2016); with several copies diversification (Nguyen et al. 2020)

The text is cut into shards. Each is made under a lock and gets its name when it is complete, so
several processes can share the work, and a run that was killed goes on with what is missing.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from glassformer.config import Decode
from glassformer.data.files import take_fingerprint
from glassformer.foundation.disk import take_lock, write_text
from glassformer.model.files.directory import LATER, locate
from glassformer.train.publish.card import hash_files
from glassformer.translate.checking import cap_confidence, list_names
from glassformer.translate.options import choose_options
from glassformer.translate.quality_check import find_problems
from glassformer.translate.sentence import CheckedTranslation
from glassformer.translate.writing import take_apart
from glassformer.translator import Translator

from .shards import (
    Shard,
    begin_parts,
    cut_file,
    join_shards,
    name_shard,
    read_shard,
)

KINDS = ("back", "forward")
# Problems that spoil a pair.
LOST = {"empty", "loop", "copy", "short", "long", "cut", "failed", "untranslatable"}
UNREAD = {"failed", "untranslatable"}  # problems of a text, in whatever way it is translated
WAIT = 1.0  # seconds between two looks at what other processes make


@dataclass(frozen=True)
class Augmentation:
    """The settings that decide which pairs are made."""

    models: list[str]
    source: str
    kind: str
    decode: dict[str, Any]
    copies: int = 1  # translations of each line
    min_confidence: float = 0.0
    keep_doubtful: bool = False  # pairs whose translation looks wrong
    seed: int = 0
    precision: str = "auto"
    device: str = "auto"
    shard_lines: int = 1000  # what a kill loses at most
    every_line: bool = False  # each has `copies` rows; those without a good translation no target


@dataclass(frozen=True)
class AugmentationCounts:
    """How many pairs were made of how many lines, and how many shards were there already."""

    lines: int
    pairs: int
    found: int


def make_pairs(
    job: Augmentation,
    out: Path,
    *,
    threads: int | None = None,
    progress: Callable[[int], object] = lambda lines: None,
) -> AugmentationCounts:
    """Write a .tsv of pairs, with the languages and "confidence" above its columns.

    Other processes may call this with the same arguments. ValueError if `out` is there, or was
    begun with others.
    """
    check_augmentation(job, out)
    shards = list(cut_file(Path(job.source), job.shard_lines))
    if not shards:
        raise ValueError(f"{job.source}: the file is empty")
    parts = out.with_name(f"{out.name}.parts")
    _begin(parts, job)
    there = [shard for shard in shards if name_shard(parts, shard).is_file()]
    progress(sum(shard.lines for shard in there))
    missing = [shard for shard in shards if shard not in there]
    if missing:
        maker = Maker(job, parts, threads)
        while missing:
            done = [shard for shard in missing if maker.make(shard)]
            progress(sum(shard.lines for shard in done))
            missing = [s for s in missing if not name_shard(parts, s).is_file() and parts.is_dir()]
            if missing and not done:
                time.sleep(WAIT)  # others make the rest
    _join(parts, shards, out)
    with out.open(encoding="utf-8") as file:
        pairs = sum(1 for _ in file) - 1
    return AugmentationCounts(sum(shard.lines for shard in shards), pairs, len(there))


def check_augmentation(job: Augmentation, out: Path) -> None:
    """Raise ValueError for settings that do not fit together, or if `out` would be lost."""
    if job.kind not in KINDS:
        raise ValueError(f"--kind {job.kind}: one of {', '.join(KINDS)}")
    if out.suffix != ".tsv":
        raise ValueError(f"{out}: pairs are written as .tsv")
    if out.exists():
        raise ValueError(f"{out} is there already: name another --out, or delete it")
    if job.copies > 1 and job.decode["search"] == "greedy":
        raise ValueError("--copies needs --search beam or --search sample: greedy has one outcome")


def _begin(parts: Path, job: Augmentation) -> None:
    """Make the folder; if it is there, raise ValueError unless it was made for the same job."""
    files = [hash_files(locate(model), LATER) for model in job.models]
    text = take_fingerprint(Path(job.source)).sha256
    begin_parts(parts, {**asdict(job), "model files": files, "text": text})


class Maker:
    """A loaded model that makes the pairs of one shard at a time."""

    def __init__(self, job: Augmentation, parts: Path, threads: int | None) -> None:
        self.job, self.parts = job, parts
        self.translator = Translator.load(
            job.models, threads=threads, device=job.device, precision=job.precision
        )
        data = self.translator.config.data
        langs = (data.source_lang or "source", data.target_lang or "target")
        self.header = langs if job.kind == "forward" else langs[::-1]
        if None in (data.source_lang, data.target_lang) or job.every_line:
            self.header = ("source", "target")

    def make(self, shard: Shard) -> bool:
        """Make a shard, unless another process does or has done; return whether it was made."""
        place = name_shard(self.parts, shard)
        with _try_lock(place.with_suffix(".lock")) as is_ours:
            if not is_ours or place.is_file() or not self.parts.is_dir():
                return False
            rows = ["\t".join((*self.header, "confidence"))] if shard.number == 0 else []
            rows += self.translate(shard)
            write_text(place, "".join(f"{row}\n" for row in rows))
            return True

    def translate(self, shard: Shard) -> Iterator[str]:
        """Yield a row for each pair that is kept."""
        job, decode = self.job, Decode(**self.job.decode)
        texts = read_shard(Path(job.source), shard)
        is_drawn = decode.search == "sample"
        options = choose_options(
            self.translator.config.decode, decode=decode, n_best=1 if is_drawn else job.copies
        )
        rounds = [
            self.translator.checker.translate_texts(
                texts, options._replace(seed=job.seed + draw), first_line=shard.first
            )
            for draw in range(job.copies if is_drawn else 1)
        ]
        for text, *draws in zip(texts, *rounds, strict=True):
            seen: set[str] = set()
            for checked in (each for ways in draws for each in _split_ways(ways)):
                translation = checked.best[0].text
                if self._is_good(text, checked) and translation not in seen:
                    seen.add(translation)
                    pair = (text, translation) if job.kind == "forward" else (translation, text)
                    sides = map(clean_cell, pair)
                    yield "\t".join((*sides, f"{checked.confidence:.4f}"))
            for _ in range(job.copies - len(seen) if job.every_line else 0):
                yield f"{clean_cell(text)}\t\t0"

    def _is_good(self, text: str, checked: CheckedTranslation) -> bool:
        if not text.strip() or not checked.best[0].text.strip():
            return False
        is_lost = LOST & {each.kind for each in checked.problems}
        if is_lost and not self.job.keep_doubtful:
            return False
        return checked.confidence >= self.job.min_confidence


def _split_ways(checked: CheckedTranslation) -> Iterator[CheckedTranslation]:
    """Yield each of the n best translations of a text with its own problems.

    Those of the others are the visible faults alone, and what is left in the language of the text.
    """
    yield checked
    for other in checked.best[1:]:
        problems = [each for each in checked.problems if each.kind in UNREAD]
        for part, (sentence, translation) in enumerate(
            zip(checked.sentences, take_apart(other), strict=True)
        ):
            faults = find_problems(sentence.text, translation, repeated=list_names(sentence))
            problems += [each._replace(part=part) for each in faults]
        confidence = cap_confidence(other, problems)
        yield CheckedTranslation([other], tuple(problems), confidence, False, checked.sentences)


def clean_cell(side: str) -> str:
    """Return a text as a cell of the table."""
    return side.replace("\t", " ").strip()


@contextmanager
def _try_lock(path: Path) -> Iterator[bool]:
    """Yield whether the lock of this name is ours; a killed process holds none."""
    try:
        file = path.open("a+", encoding="utf-8")
    except FileNotFoundError:  # another process has joined the shards
        yield False
        return
    with file:
        yield take_lock(file)


def _join(parts: Path, shards: list[Shard], out: Path) -> None:
    """Join the shards, once: of several processes one does, and the others wait for it."""
    while not out.is_file():
        with _try_lock(parts / "join.lock") as is_ours:
            if is_ours and not out.is_file():
                join_shards(parts, shards, out)
                return
        time.sleep(WAIT)
