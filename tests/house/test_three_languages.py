"""What Python, C and TypeScript each write down for themselves is the same in all of them.

A browser records in TypeScript and translates in C; neither can import from Python. So the text of
their sources is read, and what it says is compared with what Python computes.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch

from glassformer.config import BOS, EOS, PAD, Decode
from glassformer.decode import sample
from glassformer.decode.rules import length_penalty
from glassformer.decode.step import Fate
from glassformer.engine.native import PENALTIES
from glassformer.translate.sentence import PART

ROOT = Path(__file__).parents[2]
NATIVE = "src/glassformer/engine/native"


@cache
def read(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def find(pattern: str, path: str) -> Any:
    """Return the group of the one place where a source matches, or all its groups."""
    found = re.findall(pattern, read(path), re.S)
    assert len(found) == 1, (pattern, path, found)
    return found[0]


def evaluate(expression: str, **names: Any) -> Any:
    """Return the value of an expression that C, TypeScript and Python write alike."""
    return eval(expression, {"__builtins__": {}, "inf": float("inf")}, names)


def test_ids_of_marks() -> None:
    names = find(r"enum \{ (ID_PAD[^}]*) \}", f"{NATIVE}/search.h").split(", ")
    ids = {"ID_PAD": PAD, "ID_BOS": BOS, "ID_EOS": EOS}
    assert {name: place for place, name in enumerate(names)} == ids
    bos, eos = find(r"export const \[BOS, EOS\] = \[(\d+), (\d+)\];", "web/src/engine/search.ts")
    assert (int(bos), int(eos)) == (BOS, EOS)
    assert int(find(r"const EOS = (\d+);", "web/src/engine-wasm/engine.js")) == EOS
    assert int(find(r"for \(const token of \[(\d+), BOS,", "web/src/engine/search.ts")) == PAD


def test_keys_of_sentences() -> None:
    path = "web/src/engine/recording.ts"
    assert evaluate(find(r"const PART = ([^;]*);", path)) == PART
    assert re.search(r"key: number \+ PART \* part", read(path))


def test_fates_have_the_same_words() -> None:
    table = find(r"const WHY: Record<string, string> = \{(.*?)\n\};", "web/src/engine/recording.ts")
    assert dict(re.findall(r'(\w+): "([^"]*)"', table)) == {each.name: each.value for each in Fate}


@pytest.mark.parametrize("kind", ["none", "gnmt", "power"])
@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0, 1.7])
def test_length_penalty(kind: str, alpha: float) -> None:
    names = find(r"enum \{ (PENALTY_NONE[^}]*) \}", f"{NATIVE}/search.h").split(", ")
    assert {name.removeprefix("PENALTY_").lower(): n for n, name in enumerate(names)} == PENALTIES
    in_c = find(
        r"== PENALTY_NONE\) return 1;\s*double n = options->penalty == PENALTY_GNMT \? ([^:]*) : "
        r"(\w+);\s*return \(float\)pow\(n, options->alpha\);",
        f"{NATIVE}/search.c",
    )
    in_script = find(
        r'length_penalty === "gnmt"\) return Math\.fround\(([^;]*)\);\s*return length_penalty === '
        r'"power" \? Math\.fround\(([^;]*)\) : 1;',
        "web/src/engine/search.ts",
    )
    at = ["gnmt", "power"].index(kind) if kind != "none" else None
    for n in range(1, 80):
        ours = length_penalty(torch.tensor([n]), Decode(length_penalty=kind, alpha=alpha)).item()
        theirs = [1.0, 1.0]
        if at is not None:
            power = evaluate(in_c[at], length=n) ** alpha
            theirs = [power, evaluate(in_script[at], n=n, alpha=alpha)]
        assert torch.tensor(theirs, dtype=torch.float32).tolist() == [ours, ours]


def test_the_stop_rule() -> None:
    """Python's, C's and TypeScript's conditions are the same, but for the names."""
    python = find(
        r"is_enough_B = (.*?)\n.*is_done_B = (hope_B / .*?)\n", "src/glassformer/decode/beam.py"
    )
    c = find(
        r"stops_first\) return (.*?);.*?float penalty = (.*?);\s*return (.*?);",
        f"{NATIVE}/search.c",
    )
    script = find(
        r'settings\.stop === "first"\) return (.*?) \|\|.*?return (hope .*?);',
        "web/src/engine/search.ts",
    )
    names = {
        "before.finished_B + finished_BC.sum(1)": "finished",
        "before.beams": "width",
        "hope_B": "hope",
        "length_penalty(before.limit_B, settings)": "penalty",
        "best_BN[:, -1]": "worst",
        "sentence->finished_count": "finished",
        "s->options->beams": "width",
        "sentence->ended[n_best - 1].whole.score": "worst",
        "lengthPenalty(limit, settings)": "penalty",
    }

    def rename(rules: tuple[str, str]) -> list[str]:
        for old, new in names.items():
            rules = rules[0].replace(old, new), rules[1].replace(old, new)
        return [*rules]

    assert c[1] == "length_penalty(s->options, sentence->request->limit)"
    assert rename(python) == rename((c[0], c[2])) == rename(script)


def test_random_numbers_have_the_same_constants() -> None:
    """NumPy has those of Philox; `tests/unit/engine` compares what C draws with it."""
    script, c = read("web/src/engine/noise.ts"), read(f"{NATIVE}/sample.c")
    philox = r"0x[\dA-Fa-f]{16}"
    in_script, in_c = (
        sorted(int(number, 16) for number in re.findall(philox, text)) for text in (script, c)
    )
    assert len(in_c) == 4 and in_script == in_c
    hashed = (
        re.findall(r"0x[\dA-Fa-f]{8}(?=[u,); |])", c),
        re.findall(r"0x[\dA-Fa-f]{8}(?=[u,); |])", script),
    )
    both = [{int(number, 16) for number in numbers} for numbers in hashed]
    source = Path(sample.__file__).read_text(encoding="utf-8")
    ours = {int(number, 16) for number in re.findall(r"0x[\dA-Fa-f]{8}\b", source)}
    assert both[0] == both[1] == ours and len(ours) == 4
    assert sample.GOLDEN % 2**32 in ours
