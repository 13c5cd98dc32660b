"""Distillation (Kim and Rush 2016): a model learns from what larger ones make of the sources.

The teachers' translations take the place of the targets, or of a share of them, or stand beside
them: one for each source, chosen by the search or by minimum Bayes risk, or the k best. The
validation text keeps the targets that people wrote. They are made once, before the first update,
and kept in `run/distilled`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from glassformer.config import Config, Data, Train
from glassformer.data.corpus import Corpus
from glassformer.data.sources import Corpora
from glassformer.foundation.disk import write_text
from glassformer.foundation.progress import Reporter
from glassformer.model.files.directory import WEIGHTS, locate, name_pair, open_model
from glassformer.train.plan.ideas import Idea
from glassformer.train.plan.run_folder import read_settings
from glassformer.train.publish.card import hash_file

from .augmentation import Augmentation, clean_cell, make_pairs

DISTILLED = "distilled"  # the folder, in that of the run, of the teachers' translations
BEAM = 4  # of teachers whose own search is greedy


class DistillationIdea(Idea):
    """Distillation in a training that was given teachers."""

    def check(self, given: Mapping[str, Any], config: Config, *, has_parent: bool) -> None:
        if config.model.is_language_model:
            raise ValueError("--teacher has no effect on a language model: it has no targets")
        if not given.get("teachers"):
            raise ValueError("train.teacher_share, both, best and mbr need --teacher MODEL")
        if config.train.teacher_best > 1 and config.train.teacher_mbr:
            raise ValueError("teacher_mbr chooses one translation: without teacher_best")
        if given.get("alignments"):
            raise ValueError("--teacher replaces the targets that --alignments aligns: give one")
        check_teachers(given["teachers"], config)

    def keep(self, given: Mapping[str, Any], config: Config, run: Path) -> dict[str, Any]:
        folders = [locate(each).resolve() for each in given["teachers"]]
        return {
            "teachers": [
                {"name": each.name, "sha256": hash_file(each / WEIGHTS), "folder": str(each)}
                for each in folders
            ]
        }

    def choose_targets(
        self, run: Path, text: Corpora, record: Mapping[str, Any], report: Reporter
    ) -> Corpora:
        train = read_settings(run, dict(record)).train
        return distil(run, text, record["teachers"], train, report)


def check_teachers(teachers: Sequence[Path | str], config: Config) -> None:
    """Raise ValueError if a teacher is no translation model of these data."""
    for each in teachers:
        settings = open_model(locate(each))[0]
        if settings.model.is_language_model:
            raise ValueError(f"{each} is a language model, which does not translate")
        if missing := [pair for pair in config.data.pairs if not _knows(settings.data, pair)]:
            missing_pair, known = map(_name_pair, (missing[0], settings.data.pairs[0]))
            raise ValueError(f"{each} translates {known}, but the data are {missing_pair}")


def _knows(data: Data, pair: tuple[str | None, str | None]) -> bool:
    """Return whether a model with these settings translates this pair, as far as is known."""
    return pair in data.pairs or None in pair or any(None in known for known in data.pairs)


def _name_pair(pair: tuple[str | None, str | None]) -> str:
    return "-".join(each or "?" for each in pair)


def distil(
    run: Path, text: Corpora, teachers: Sequence[dict[str, str]], train: Train, report: Reporter
) -> Corpora:
    """Return the corpora with the targets to learn; the teachers' are made if they are missing.

    Where a translation looks wrong (a loop, a copy, far too short or long), the pair is empty, and
    so left out.
    """
    for number, part in enumerate(text.parts):
        _translate(_name_made(run, number, train), part, teachers, train, report)
        if _name_learned(run, number, train) != _name_made(run, number, train):
            _mix_targets(run, number, part, train)
    return find_learned(run, text, train)


def find_learned(run: Path, text: Corpora, train: Train) -> Corpora:
    """Return the corpora whose targets were made: several lines for each of `text`, if need be."""
    lines = train.teacher_best + train.teacher_both
    parts = [
        Corpus(
            (_name_learned(run, number, train),),
            part.source_lang,
            part.target_lang,
            None if part.chosen is None else np.repeat(part.chosen, lines),
        )
        for number, part in enumerate(text.parts)
    ]
    return replace(text, parts=tuple(parts))


def _name_made(run: Path, number: int, train: Train) -> Path:
    """Return the file of what the teachers make of a corpus."""
    best = f"-best{train.teacher_best}" if train.teacher_best > 1 else ""
    mbr = f"-mbr{train.teacher_mbr}" if train.teacher_mbr else ""
    return run / DISTILLED / f"{number}{best}{mbr}.tsv"


def _name_learned(run: Path, number: int, train: Train) -> Path:
    """Return the file of the targets to learn, which may be those of the data, too."""
    path = _name_made(run, number, train)
    if train.teacher_share == 1 and not train.teacher_both:
        return path
    return path.with_name(f"{path.stem}-mixed.tsv")


def _translate(
    result: Path,
    part: Corpus,
    teachers: Sequence[dict[str, str]],
    train: Train,
    report: Reporter,
) -> None:
    """Write what the teachers make of each source, unless it is there already."""
    text = result.with_suffix(".txt")
    sources = [source.replace("\t", " ") for source, _ in replace(part, chosen=None)]
    written = "".join(f"{source}\n" for source in sources)
    if not text.is_file() or text.read_text(encoding="utf-8") != written:
        result.unlink(missing_ok=True)
        text.parent.mkdir(parents=True, exist_ok=True)
        write_text(text, written)
    if result.is_file():
        return
    names = " and ".join(each["name"] for each in teachers)
    report.say(f"The targets will be what {names} {'make' if len(teachers) > 1 else 'makes'}")
    with report.phase("translating", len(sources)) as advance:
        done = 0

        def tell(lines: int) -> None:
            nonlocal done
            done += lines
            advance(done)

        make_pairs(_describe_job(teachers, part, text, train), result, progress=tell)


def _mix_targets(run: Path, number: int, part: Corpus, train: Train) -> None:
    """Write the targets of a share of the pairs as they were made, and of the others as they are.

    Which pairs these are depends on the seed and on their place. With `teacher_both`, the data's
    own target follows. Each pair has equally many lines; those that it does not need are empty.
    """
    translations = iter(Corpus((_name_made(run, number, train),)))
    rows = ["source\ttarget"]
    for place, pair in enumerate(replace(part, chosen=None)):
        own = clean_cell(pair[0]), clean_cell(pair[1])
        taught, empty = [*islice(translations, train.teacher_best)], (own[0], "")
        if Random(f"{train.seed} {number} {place}").random() >= train.teacher_share:
            taught = [empty if train.teacher_both else own, *[empty] * (train.teacher_best - 1)]
        rows += map("\t".join, [*taught, *[own] * train.teacher_both])
    write_text(_name_learned(run, number, train), "".join(f"{row}\n" for row in rows))


def _describe_job(
    teachers: Sequence[dict[str, str]], part: Corpus, text: Path, train: Train
) -> Augmentation:
    """Return the job: the search is the first teacher's own, with a beam where that is greedy."""
    config = open_model(Path(teachers[0]["folder"]))[0]
    pair = f"{part.source_lang}-{part.target_lang}" if len(config.data.pairs) > 1 else None
    decode = config.decode
    if decode.search != "beam":
        decode = decode.override({"search": "beam", "beam": BEAM})
    if train.teacher_mbr:
        decode = decode.override({"beam": train.teacher_mbr, "mbr": train.teacher_mbr})
    elif train.teacher_best > 1:
        decode = decode.override(n_best=train.teacher_best)
    return Augmentation(
        models=[str(name_pair(Path(each["folder"]), pair)) for each in teachers],
        source=str(text),
        kind="forward",
        decode=decode.model_dump(),
        copies=train.teacher_best,
        every_line=True,
    )
