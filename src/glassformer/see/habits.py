"""The habit of a head: what it reads most over many sentences, if that is much.

`glassformer heads` measures it, and keeps it beside the weights; a recording carries the names.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from ..foundation.messages import Messages
from ..model.files.directory import HEADS, read_findings

# The kinds of keys, of self- and of cross-attention; the last is no habit.
OWN = ("mark", "itself", "previous", "next", "punctuation", "other")
CROSS = ("mark", "aligned", "before", "after", "punctuation", "other")
MUCH, TIMES = 0.3, 2  # the share of the weight of a habit, and how much more than even it is

Habits = Mapping[str, Sequence[str | None]]  # of the heads of each block


def read_portraits(folder: Path) -> dict[str, Any] | None:
    """Return what was measured of the heads of a model, with their habits; None if nothing was."""
    portraits = read_findings(folder, HEADS)
    for name, block in (portraits or {"blocks": {}})["blocks"].items():
        kinds, even = CROSS if "cross" in name else OWN, block["even"]
        block["habits"] = [find_habit(head["reads"], even, kinds) for head in block["heads"]]
    return portraits


def find_habit(reads: Sequence[float], even: Sequence[float], kinds: Sequence[str]) -> str | None:
    """Return the kind that a head reads most, if its share is far above an even one."""
    best = max(range(len(kinds) - 1), key=reads.__getitem__)
    return kinds[best] if reads[best] >= max(MUCH, TIMES * even[best]) else None


def list_habits(folder: Path | None) -> dict[str, tuple[str | None, ...]]:
    """Return the habits of the heads of each block; nothing if they were not measured."""
    portraits = read_portraits(folder) if folder else None
    blocks = portraits["blocks"] if portraits else {}
    return {name: tuple(each["habits"]) for name, each in blocks.items()}


def tell_habit(habits: Habits, block: str, head: int, lang: str = "en") -> str:
    """Return the habit of a head in words, as "previous token"; "" if it has none."""
    own = [*habits.get(block, ())][head : head + 1]
    kind = "cross" if "cross" in block else "own"
    return _read_names().say(f"habit.{kind}.{own[0]}", lang) if own and own[0] else ""


@cache
def _read_names() -> Messages:
    return Messages(Path(__file__).with_name("messages.json"))
