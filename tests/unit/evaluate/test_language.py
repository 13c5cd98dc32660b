"""The scores of a language model are those of its text, however many processes share it."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Barrier
from typing import Any

import pytest

from glassformer.evaluate.language import score_text
from glassformer.train.run.distributed import ProcessGroup
from glassformer.train.run.validation import Validation, take_whole, validate_language
from glassformer.translate.language_model import LanguageModel

LINES = [
    "The cat is on the mat.",
    "The dog bites the cat in the garden today.",
    "The horse sees a big door.",
    "My lamb did not cross this river because it was too deep.",
    "The animal is too tired.",
]


@dataclass(frozen=True)
class Threads(ProcessGroup):
    """A process group whose processes are threads; what they send is JSON, as in a real one."""

    barrier: Barrier = field(default_factory=lambda: Barrier(1))
    items: list[Any] = field(default_factory=lambda: [None])

    def gather(self, item: Any) -> list[Any]:
        self.items[self.rank] = json.loads(json.dumps(item))
        self.barrier.wait(60)
        gathered = [*self.items]
        self.barrier.wait(60)
        return gathered


def validate_in(processes: int) -> list[Validation]:
    barrier, items = Barrier(processes), [None] * processes
    text = take_whole(LINES, LINES)

    def run(rank: int) -> Validation:
        reader = LanguageModel.load("demo-mlm", device="cpu")
        group = Threads(rank, processes, barrier=barrier, items=items)
        return validate_language(reader, text, 0, None, group)

    with ThreadPoolExecutor(processes) as pool:
        return [*pool.map(run, range(processes))]


@pytest.mark.parametrize("processes", [2, 7])
def test_masks_do_not_depend_on_how_many_processes_share_the_lines(processes: int) -> None:
    reader = LanguageModel.load("demo-mlm", device="cpu")
    alone = score_text(reader, LINES, LINES, reader.config.train.seed)
    for shared in validate_in(processes):
        assert shared.scores == alone.scores
        assert shared.loss == pytest.approx(alone.loss, abs=1e-5)


def test_a_line_that_is_too_long_is_named() -> None:
    reader = LanguageModel.load("demo-mlm", device="cpu")
    with pytest.raises(ValueError, match=r"^line 2: .* tokens and two marks"):
        score_text(reader, ["a cat", "a cat " * 500], [], 0)
