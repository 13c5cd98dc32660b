"""Distillation (Kim and Rush 2016): a model learns from what larger ones make of the sources.

The teachers' translations take the place of the targets; the validation text keeps those that
people wrote. They are made once, before the first update, and kept in `run/distilled`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from glassformer.config import Config, Data
from glassformer.data.corpus import Corpus
from glassformer.data.sources import Corpora
from glassformer.foundation.disk import write_text
from glassformer.foundation.progress import Reporter
from glassformer.model.files.directory import WEIGHTS, locate, name_pair, open_model
from glassformer.train.plan.ideas import Idea
from glassformer.train.publish.card import hash_file

from .augmentation import Augmentation, make_pairs

DISTILLED = "distilled"  # the folder, in that of the run, of the teachers' translations
BEAM = 4  # of teachers whose own search is greedy


class DistillationIdea(Idea):
    """Distillation in a training that was given teachers."""

    def check(self, given: Mapping[str, Any], config: Config, *, has_parent: bool) -> None:
        if config.model.is_language_model:
            raise ValueError("--teacher has no effect on a language model: it has no targets")
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
        return distil(run, text, record["teachers"], report)


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
    folder: Path, train: Corpora, teachers: Sequence[dict[str, str]], report: Reporter
) -> Corpora:
    """Return the corpora with the teachers' translations as targets, made if they are missing.

    Where a translation looks wrong (a loop, a copy, far too short or long), the pair is empty, and
    so left out.
    """
    parts = [
        _distil_part(folder / DISTILLED / str(number), part, teachers, report)
        for number, part in enumerate(train.parts)
    ]
    return replace(train, parts=tuple(parts))


def _distil_part(
    place: Path, part: Corpus, teachers: Sequence[dict[str, str]], report: Reporter
) -> Corpus:
    text, result = place.with_suffix(".txt"), place.with_suffix(".tsv")
    sources = [source.replace("\t", " ") for source, _ in replace(part, chosen=None)]
    written = "".join(f"{source}\n" for source in sources)
    if not text.is_file() or text.read_text(encoding="utf-8") != written:
        result.unlink(missing_ok=True)
        text.parent.mkdir(parents=True, exist_ok=True)
        write_text(text, written)
    if not result.is_file():
        names = " and ".join(each["name"] for each in teachers)
        report.say(f"The targets will be what {names} {'make' if len(teachers) > 1 else 'makes'}")
        with report.phase("translating", len(sources)) as advance:
            done = 0

            def tell(lines: int) -> None:
                nonlocal done
                done += lines
                advance(done)

            make_pairs(_describe_job(teachers, part, text), result, progress=tell)
    return Corpus((result,), part.source_lang, part.target_lang, part.chosen)


def _describe_job(teachers: Sequence[dict[str, str]], part: Corpus, text: Path) -> Augmentation:
    """Return the job: the search is the first teacher's own, with a beam where that is greedy."""
    config = open_model(Path(teachers[0]["folder"]))[0]
    pair = f"{part.source_lang}-{part.target_lang}" if len(config.data.pairs) > 1 else None
    decode = config.decode
    if decode.search != "beam":
        decode = decode.override({"search": "beam", "beam": BEAM})
    return Augmentation(
        models=[str(name_pair(Path(each["folder"]), pair)) for each in teachers],
        source=str(text),
        kind="forward",
        decode=decode.model_dump(),
        every_line=True,
    )
