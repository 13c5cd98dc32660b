"""Noise on both sides: what goes, what comes, and that both sides have the same."""

from __future__ import annotations

from random import Random

import pytest

from glassformer.extensions.ideas.noise import (
    BLOCKS,
    SYMBOLS,
    draw_noise,
    drop_stop,
    drop_stops,
    insert_symbol,
)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Stop.", "Stop"),
        ("Vraiment ?", "Vraiment"),
        ("你好。", "你好"),
        ("Well...", "Well"),
        ("No mark", "No mark"),
        ("3.5 percent", "3.5 percent"),
        ("...", "..."),
        ("", ""),
    ],
)
def test_the_mark_at_the_end(text: str, wanted: str) -> None:
    assert drop_stop(text) == wanted


def test_both_sides_lose_their_mark_or_none() -> None:
    assert drop_stops("Run!", "Cours !") == ("Run", "Cours")
    assert drop_stops("Run", "Cours !") == ("Run", "Cours !")


def test_a_symbol_stands_before_the_same_word_or_at_an_end() -> None:
    source, target = "In 1999 Tom came to Rome", "Tom vint à Rome en 1999"
    anchors = set()
    for seed in range(200):
        sides = insert_symbol(source, target, Random(seed))
        (symbol,) = {*sides[0]} & {*SYMBOLS}
        assert [side.replace(f"{symbol} ", "").replace(f" {symbol}", "") for side in sides] == [
            source,
            target,
        ]
        after = [f"{side} END".split(f"{symbol} ")[1].split()[0] for side in sides]
        if any(side.startswith(symbol) for side in sides):
            after = ["START"] if all(side.startswith(symbol) for side in sides) else after
        assert len({*after}) == 1
        anchors.add(after[0])
    assert anchors == {"START", "END", "1999", "Rome", "Tom"}


def test_noise_is_of_one_block_and_short() -> None:
    lines = {draw_noise(Random(seed)) for seed in range(300)}
    assert len(lines) > 250
    for line in lines:
        assert line == " ".join(line.split()) and 1 <= len(line) <= 14
        assert any({*map(ord, line.replace(" ", ""))} <= {*block} for block in BLOCKS)
