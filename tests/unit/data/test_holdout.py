"""What is held out shares nothing with what is left."""

from __future__ import annotations

from pathlib import Path
from unicodedata import normalize

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from glassformer.data.corpus import Corpus, find_data
from glassformer.data.holdout import _components, hold_out

Pairs = list[tuple[str, str]]


def write(folder: Path, pairs: Pairs) -> Corpus:
    for place, side in enumerate(("en", "de")):
        text = "".join(pair[place] + "\n" for pair in pairs)
        (folder / f"train.{side}").write_text(text, encoding="utf-8")
    return find_data(folder, "en", "de").train


def sides(pairs: Corpus) -> tuple[set[str], set[str]]:
    sources, targets = zip(*pairs, strict=True)
    return set(sources), set(targets)


def flood(pairs: list[tuple[int, int]]) -> list[set[int]]:
    """Connected components the slow way."""
    found: list[set[int]] = []
    for start in range(len(pairs)):
        if any(start in component for component in found):
            continue
        component = {start}
        while True:
            more = {
                i
                for i, pair in enumerate(pairs)
                if any(pair[0] == pairs[j][0] or pair[1] == pairs[j][1] for j in component)
            }
            if more == component:
                break
            component = more
        found.append(component)
    return found


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), min_size=1, max_size=25))
def test_components(pairs: list[tuple[int, int]]) -> None:
    label = _components(zip(*pairs, strict=True))
    found = [set(np.flatnonzero(label == name).tolist()) for name in dict.fromkeys(label.tolist())]
    assert found == flood(pairs)


def test_nothing_is_shared(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    pairs = [(f"s{a}", f"t{b}") for a, b in random.integers(0, 3000, (1000, 2))]
    corpus = write(tmp_path, pairs)
    train, valid = hold_out(corpus, seed=1)
    assert len(list(valid)) == 50
    assert sorted([*train, *valid]) == sorted(pairs)
    for kept, held in zip(sides(train), sides(valid), strict=True):
        assert not kept & held


def test_case_and_spacing_make_no_difference(tmp_path: Path) -> None:
    pairs = [(f"s{i // 2}", f"t{i}") for i in range(40)]
    pairs = [(s.upper() + "  x " if i % 2 else s + " x", t) for i, (s, t) in enumerate(pairs)]
    train, valid = hold_out(write(tmp_path, pairs), seed=1)
    assert valid.chosen is not None
    held = np.flatnonzero(valid.chosen)
    assert len(held) == 2
    assert held[0] + 1 == held[1]
    assert held[0] % 2 == 0
    assert len(list(train)) == 38


def test_spelling_in_unicode_makes_no_difference(tmp_path: Path) -> None:
    pairs = [(normalize("NFD" if i % 2 else "NFC", f"é{i // 2}"), f"t{i}") for i in range(40)]
    train, valid = hold_out(write(tmp_path, pairs), seed=1)
    own, others = ({normalize("NFC", each) for each in sides(part)[0]} for part in (valid, train))
    assert own and not own & others


def test_the_seed_says_all(tmp_path: Path) -> None:
    corpus = write(tmp_path, [(f"s{i}", f"t{i}") for i in range(1000)])
    first, again, other = (list(hold_out(corpus, seed)[1]) for seed in (1, 1, 2))
    assert first == again != other
    assert len(first) == len(other) == 50


def test_no_more_than_two_thousand(tmp_path: Path) -> None:
    corpus = write(tmp_path, [(f"s{i}", f"t{i}") for i in range(50_000)])
    assert len(list(hold_out(corpus, 1)[1])) == 2000


def test_large_components_stay(tmp_path: Path) -> None:
    tens = [(f"hello {i // 10}", f"t{i}") for i in range(500)]
    alone = [(f"s{i}", f"u{i}") for i in range(500)]
    _, valid = hold_out(write(tmp_path, tens + alone), 1)
    assert set(valid) <= set(alone)
    assert len(list(valid)) == 50


def test_the_smallest_component_if_all_are_large(tmp_path: Path) -> None:
    pairs = [("a", "b"), ("a", "c"), ("a", "d"), ("e", "f"), ("e", "g"), ("h", "i"), ("h", "j")]
    _, valid = hold_out(write(tmp_path, pairs), 1)
    assert list(valid) in (pairs[3:5], pairs[5:])


def test_empty_sides_connect_nothing_and_are_not_held_out(tmp_path: Path) -> None:
    pairs = [("", f"t{i}") for i in range(30)] + [(f"s{i}", f"t{i}") for i in range(30)]
    train, valid = hold_out(write(tmp_path, pairs), 1)
    assert len(list(valid)) == 1
    assert "" not in sides(valid)[0]
    assert len(list(train)) == 59


def test_at_least_one_pair(tmp_path: Path) -> None:
    train, valid = hold_out(write(tmp_path, [("a", "b"), ("c", "d")]), 1)
    assert len(list(train)) == len(list(valid)) == 1


@pytest.mark.parametrize("pairs", [[("a", "b")], [("a", "b"), ("a", "c"), ("d", "c")]])
def test_nothing_can_be_held_out(tmp_path: Path, pairs: Pairs) -> None:
    with pytest.raises(ValueError, match=r"(3 pairs that .*|single pair): give a validation"):
        hold_out(write(tmp_path, pairs), 1)


def test_real_text(data: Path) -> None:
    train, valid = hold_out(find_data(data / "tatoeba_en_zh", "en", "zh").train, 1)
    assert 1300 <= sum(1 for _ in valid) <= 1321  # 5 % of 26,437
    for kept, held in zip(sides(train), sides(valid), strict=True):
        assert not kept & held


def test_text_on_one_side_alone_is_none(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no pair has text on both sides"):
        hold_out(write(tmp_path, [("", ""), (" ", "x")]), 1)
