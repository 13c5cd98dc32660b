"""The end of a night in parts, so that it fits into the time, and a kill loses little of it.

What is translated is weighed in characters; the night knows the seconds that one takes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from glassformer.data.files import cut_chunks
from glassformer.foundation.progress import Reporter

from ..honest.held_out import spread_evenly
from ..lab.robustness import LINES, Translate, read_short_inputs
from ..short_list.shortlisting import HELD_OUT
from .texts import NightTexts

PER_LINE = 10  # characters: so long takes what is the same for each line
MARGIN = 1.3  # times what was measured: other lines may take longer
VARIANTS = 15  # times the test lines, for text as people write it
NO_REPEATS = (3, 4)  # tokens: values of no_repeat_ngram_size that are tried
TRIED = 400  # lines of the validation text that they are tried on
CHUNK = 50  # lines: what a kill loses at most


@dataclass(frozen=True)
class EndWeights:
    """The characters that each part of the end translates, with some more for each line."""

    search: float
    shortlist: float
    valid: float
    test: float
    changed: float  # a test line in all its variants
    short: float  # inputs
    lines: int  # that are changed if there is time

    @property
    def total(self) -> float:
        changed = self.lines * self.changed + self.short
        return self.search + self.shortlist + self.valid + self.test + changed


def weigh_texts(lines: Sequence[str]) -> float:
    return sum(len(line) + PER_LINE for line in lines)


def measure_weights(texts: NightTexts, language: str | None) -> EndWeights:
    """Return the weights of the parts of the end, by the texts of a night."""
    train, valid, test = (texts.read(part)[0] for part in ("train", "valid", "test"))
    return EndWeights(
        (1 + len(NO_REPEATS)) * weigh_texts(spread_evenly(valid, TRIED)),
        2 * weigh_texts(spread_evenly(train, HELD_OUT)),
        weigh_texts(valid),
        weigh_texts(test),
        VARIANTS * weigh_texts(test) / len(test),
        weigh_texts(read_short_inputs(language)),
        min(LINES, len(test)),
    )


class KeptTranslations:
    """The translations by a model in a file, to which each few lines are added at once.

    progress is called with the lines of each part. pace: the seconds that a character took; None
    while nothing was translated.
    """

    def __init__(
        self,
        path: Path,
        translate: Translate,
        report: Reporter,
        progress: Callable[[int], object],
        clock: Callable[[], float],
    ):
        self.path, self.translate, self.report = path, translate, report
        self.progress, self.clock = progress, clock
        self.known = dict(_read_kept(path))
        self.pace: float | None = None

    def __call__(self, lines: Sequence[str]) -> list[str]:
        missing = [*dict.fromkeys(line for line in lines if line not in self.known)]
        began = self.clock()
        with self.report.counting("translating", len(missing)) as tell:
            for part in cut_chunks(missing, CHUNK):
                self._add(part, self.translate(part))
                tell(len(part))
                self.progress(len(part))
        if missing:
            self.pace = (self.clock() - began) / weigh_texts(missing)
        return [self.known[line] for line in lines]

    def _add(self, sources: Sequence[str], translations: Sequence[str]) -> None:
        pairs = [*zip(sources, translations, strict=True)]
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.writelines(f"{json.dumps(pair)}\n" for pair in pairs)
        self.known |= dict(pairs)


def _read_kept(path: Path) -> Iterator[tuple[str, str]]:
    """Yield each source and its translation; a line that was cut by a kill is left out."""
    for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else ():
        with suppress(ValueError):
            source, translation = json.loads(line)
            yield source, translation
