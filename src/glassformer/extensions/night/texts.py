"""The texts of a night: pairs that are checked and split, and text in one language."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from glassformer.data.corpus import find_data, require_file
from glassformer.data.files import cut_chunks, read_lines
from glassformer.foundation.disk import write_text
from glassformer.foundation.plurals import tell_count
from glassformer.text.unicode import clean

from ..check_data import examine, fix, realign
from ..check_data.words import gather_words
from ..honest.comparison import find_twins
from ..honest.held_out import LEAST
from ..honest.splitting import Pair, Pairs, RelativesIndex, Split, split_honestly

PARTS = ("train", "valid", "test")
SIDES = ("source", "target")
VALID, TEST = (1000, 0.05), (500, 0.025)  # pairs at most, and as a share of all
FEWEST = 100  # pairs
CHUNK = 10_000  # lines that are read at a time


@dataclass(frozen=True)
class NightTexts:
    """The files of a part of the pairs, source first."""

    folder: Path

    def name(self, part: str) -> tuple[str, str]:
        """Return the paths of both sides of a part: train, valid or test."""
        first, second = (str(self.folder / f"{part}.{side}") for side in SIDES)
        return first, second

    def read(self, part: str) -> tuple[list[str], list[str]]:
        first, second = (list(read_lines(Path(path))) for path in self.name(part))
        return first, second

    @property
    def is_complete(self) -> bool:
        """Return whether all parts are there; the last file is written last."""
        return Path(self.name(PARTS[-1])[-1]).is_file()


def write_parts(
    folder: Path,
    data: Sequence[str],
    valid: Sequence[str],
    test: Sequence[str],
    langs: tuple[str, str],
    seed: int,
) -> tuple[NightTexts, str]:
    """Check the pairs, split them, and write the parts to a folder; return what was done.

    valid, test: pairs of their own; without them, some of the data are held out. ValueError if
    there are too few pairs, or the sides do not belong together.
    """
    pairs, message = check_pairs(read_pairs_of(data, langs), langs)
    if len(pairs) < FEWEST:
        raise ValueError(
            f"{tell_count(len(pairs), 'pair')} with text on both sides: a night needs {FEWEST} "
            "at least"
        )
    split = _split(pairs, read_pairs_of(valid, langs), read_pairs_of(test, langs), seed)
    if len(split.test) < LEAST:
        raise ValueError(f"a test text has at least {LEAST} lines, not {len(split.test)}: --test")
    folder.mkdir(parents=True, exist_ok=True)
    texts = NightTexts(folder)
    for part, result in zip(PARTS, split, strict=True):
        for side, path in enumerate(texts.name(part)):
            write_text(Path(path), "".join(f"{pair[side]}\n" for pair in result))
    parts = zip(split, PARTS, strict=True)
    counts = ", ".join(f"{len(result):,} for {part}" for result, part in parts)
    remarks = [
        _tell_twins(split.train, part, name)
        for part, name, paths in zip(split[1:], PARTS[1:], (valid, test), strict=True)
        if paths
    ]
    if not (valid and test):
        remarks.append("no near twin of what was held out is in train")
    return texts, f"{message}; {counts} ({'; '.join(remarks)})"


def _tell_twins(train: Pairs, part: Pairs, name: str) -> str:
    """Return how many pairs of a part are in the training text, or nearly."""
    sources, targets = zip(*part, strict=True)
    twins = sum(find_twins(train, sources, [targets]))
    return f"{twins:,} of {name} in train, or nearly"


def read_through(path: str) -> None:
    """Raise ValueError or OSError if a text cannot be read to its end."""
    for _ in read_lines(Path(path)):
        pass


def read_pairs_of(paths: Sequence[str], langs: tuple[str, str]) -> Pairs:
    """Return the pairs that paths name, as `train` takes them; none of no paths."""
    return [(_clean(a), _clean(b)) for a, b in find_data(paths, *langs).train] if paths else []


def _clean(text: str) -> str:
    return " ".join(clean(text).split())


def check_pairs(pairs: Sequence[Pair], langs: tuple[str, str]) -> tuple[Pairs, str]:
    """Return the pairs without those that are surely bad, and what was found."""
    sides: tuple[Iterable[str], Iterable[str]] = [a for a, _ in pairs], [b for _, b in pairs]
    report = examine(*sides, source_lang=langs[0], target_lang=langs[1])
    if report["unrelated"]:
        raise ValueError("the two sides are unrelated: line N of one must translate line N of it")
    wrong = report["sides"]
    if wrong and wrong.note.count(" looks ") == len(sides):
        raise ValueError(f"{wrong.note}: give the files the other way round")
    result = report
    if report.misalignments:
        sides = realign(*sides, report)
        result = examine(*sides, source_lang=langs[0], target_lang=langs[1])
    kept = [pair for pair in fix(*sides, result) if all(map(str.strip, pair))]
    kinds = ", ".join(f"{each.count:,} {each.kind}" for each in report.findings)
    message = f"{tell_count(len(pairs), 'pair')}, {len(kept):,} kept"
    return kept, f"{message} (found: {kinds})" if kinds else message


def _split(pairs: Pairs, valid: Pairs, test: Pairs, seed: int) -> Split:
    """Return the parts: those that are given, and the others held out."""
    counts = [
        0 if paths else max(LEAST, min(most, int(share * len(pairs))))
        for paths, (most, share) in ((valid, VALID), (test, TEST))
    ]
    if valid and test:
        return Split(pairs, valid, test)
    result = split_honestly(pairs, counts[0], counts[1], seed)
    return Split(result.train, valid or result.valid, test or result.test)


def gather_text(path: str, most: int, known: Iterable[str], held_out: Sequence[str]) -> list[str]:
    """Return up to so many different lines of a text in one language, but none that is known.

    held_out: lines whose relatives are left out, too.
    """
    seen, index = {*known, *held_out}, RelativesIndex(held_out)

    def choose() -> Iterator[str]:
        for texts in cut_chunks(map(_clean, read_lines(require_file(Path(path)))), CHUNK):
            for text, words in zip(texts, gather_words(texts), strict=True):
                if text and text not in seen and not index.has_relative(words):
                    seen.add(text)
                    yield text

    return list(islice(choose(), most))
