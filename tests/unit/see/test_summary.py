"""A recording in a terminal stands in columns, however wide its characters are."""

from __future__ import annotations

from unicodedata import combining, east_asian_width

import pytest

from glassformer.see import Trace
from glassformer.see.summary import SHADES, summarise, tell_in_html

NAMES = ["图书馆", " cat", "e\u0301te\u0301", "한", "a"]


def measure(text: str) -> int:
    """Cells of a terminal, by Unicode's own tables."""
    return sum(
        0 if combining(each) else 2 if east_asian_width(each) in "WF" else 1 for each in text
    )


@pytest.fixture
def renamed(trace: Trace) -> Trace:
    """The same recording with other tokens, also among those written."""

    def rename(side: str) -> dict[str, object]:
        tokens = enumerate(getattr(trace.document, side))
        made = (p.model_copy(update={"text": NAMES[n % len(NAMES)]}) for n, p in tokens)
        return {side: tuple(made)}

    update = rename("source") | rename("predicted")
    return Trace(trace.document.model_copy(update=update), trace.tensors, trace.parameters)


def read_blocks(trace: Trace) -> list[list[str]]:
    """The lines of each block of attention: a name upright, then its shades."""
    lines = summarise(trace).split("\n")
    start = next(n for n, line in enumerate(lines) if line.startswith("cross-attention")) + 1
    blocks: list[list[str]] = [[]]
    for line in lines[start:]:
        if blocks[-1] and line.startswith("   ") and not blocks[-1][-1].startswith("   "):
            blocks.append([])
        blocks[-1].append(line)
    return blocks


def test_tokens_that_cannot_be_seen_have_names(renamed: Trace) -> None:
    hidden = [each.model_copy(update={"text": "\u200b"}) for each in renamed.predicted]
    update = {"predicted": tuple(hidden)}
    trace = Trace(renamed.document.model_copy(update=update), renamed.tensors, renamed.parameters)
    assert "  0 U+200B " in summarise(trace) and "U+200B" in tell_in_html(trace)


def test_shades_stand_below_their_token(renamed: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "10000")
    (block,) = read_blocks(renamed)
    rows = len(renamed.predicted)
    upright, shaded = block[:-rows], block[-rows:]
    starts = [
        measure(upright[-1][:n])
        for n, letter in enumerate(upright[-1])
        if letter.strip() and not combining(letter)
    ]
    assert len(starts) == len(renamed.source)
    for line in shaded:
        body = {measure(line[:n]): mark for n, mark in enumerate(line)}
        first = min(starts)
        assert {place for place, mark in body.items() if place >= first and mark in SHADES[1:]} <= {
            *starts
        }


def test_a_terminal_is_not_overrun(renamed: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "24")
    blocks = read_blocks(renamed)
    assert len(blocks) > 1
    assert max(measure(line) for block in blocks for line in block) <= 24
    names = sum(len(block[-len(renamed.predicted) - 1].split()) for block in blocks)
    assert names == len(renamed.source)
