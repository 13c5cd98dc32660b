"""Shared code of the other engines' translators: the sentence file, and answers to requests."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from .turns import Turns, measure_memory

Rows = list[list[str]]  # tokens without EOS
# translate(sources, settings) -> targets; settings: beam, alpha, longest, and tuned ones.
Translate = Callable[[Sequence[int], dict[str, Any]], Rows]

ALONE, TUNING = 100, 150  # numbers of sentences


class Sentences:
    """The sentences in the benchmark's file: texts, tokens, source ids, target vocabulary."""

    def __init__(self, path: Path):
        found = json.loads(path.read_text(encoding="utf-8"))
        self.texts: list[str] = found["texts"]
        self.tokens: Rows = found["tokens"]
        self.ids: list[list[int]] = found["ids"]
        self.vocabulary: list[str] = found["vocabulary"]


def read_sentences() -> tuple[Path, Sentences, str]:
    """Return the model's folder, the sentences and the precision from the command line."""
    return Path(sys.argv[1]), Sentences(Path(sys.argv[2])), sys.argv[3]


def serve(
    turns: Turns,
    sentences: Sentences,
    translate: Translate,
    facts: dict[str, Any],
    choices: Sequence[dict[str, Any]] = ({},),
) -> None:
    """Answer the benchmark's requests until it closes the connection.

    {"tune": settings}: find the best of the `choices` on a few sentences. {"all": settings,
    "write": path}: translate all sentences, at once or in parts of "part". {"alone": settings}:
    translate the first sentences one by one; with "count": 1 only the first, as in a cold start.
    An engine that must be opened again for other settings is opened before the time is measured.
    """
    every = range(len(sentences.texts))
    for request in turns.asked(**facts):
        if "tune" in request:
            turns.answer(**_tune(translate, request["tune"], choices, every[:TUNING]))
        elif "alone" in request:
            some = every[: request.get("count", ALONE)]
            if len(some) > 1:
                translate(some[:1], request["alone"])
            seconds = [_time(translate, [row], request["alone"])[1] for row in some]
            turns.answer(alone=seconds, spent=time.process_time())
        else:
            translate(every[:2], request["all"])
            cpu = time.process_time()
            found, took = _time(_in_parts(translate), every, request["all"])
            tokens = sum(len(row) + 1 for row in found)
            Path(request["write"]).write_text(json.dumps(found), encoding="utf-8")
            turns.answer(seconds=took, tokens=tokens, cpu=time.process_time() - cpu)


def _tune(
    translate: Translate, settings: dict[str, Any], choices: Sequence[dict[str, Any]], rows: range
) -> dict[str, Any]:
    """Return the fastest choice; each runs twice, because the first run may prepare something."""
    best: tuple[float, dict[str, Any]] = (float("inf"), {})
    for choice in choices:
        took = min(_time(translate, rows, {**settings, **choice})[1] for _ in range(2))
        best = min(best, (took, choice), key=lambda pair: pair[0])
    return best[1]


def _in_parts(translate: Translate) -> Translate:
    """Return a translate that is given as many sentences at once as the settings' `part` says."""

    def run(rows: Sequence[int], settings: dict[str, Any]) -> Rows:
        size = settings.get("part", len(rows))
        starts = range(0, len(rows), size)
        return [row for at in starts for row in translate(rows[at : at + size], settings)]

    return run


def _time(
    translate: Translate, rows: Sequence[int], settings: dict[str, Any]
) -> tuple[Rows, float]:
    clock = time.process_time if settings.get("clock") == "cpu" else time.perf_counter
    began = clock()
    found = translate(rows, settings)
    return found, clock() - began


def imported() -> dict[str, float]:
    """Return the memory of a process that has only imported its library, in MiB."""
    return {f"bare {name}": value for name, value in measure_memory(os.getpid()).items()}
