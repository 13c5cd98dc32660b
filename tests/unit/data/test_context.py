"""Sources that are read with the sources before them, compared with a plain loop over the lines."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from random import Random

import numpy as np
import pytest

from glassformer.config import Augment
from glassformer.data import store as stores
from glassformer.data.context import read_in_context
from glassformer.data.corpus import Corpus, find_data
from glassformer.data.holdout import hold_out
from glassformer.data.store import Store, StorePart, build_mixed_store
from glassformer.data.tables import Pair
from glassformer.extensions.ideas.noisy_batches import PairChanger
from glassformer.text import Tokenizer

LINES = ["one two", "three", "", "four", "five six", "seven", "eight", "", "", "nine", "ten one"]


def write(folder: Path, pairs: list[Pair], name: str = "a") -> Corpus:
    for side, ending in enumerate(("en", "xx")):
        text = "".join(f"{pair[side]}\n" for pair in pairs)
        (folder / f"{name}.{ending}").write_text(text, encoding="utf-8")
    return find_data([folder / f"{name}.en", folder / f"{name}.xx"]).train


def read_plainly(pairs: list[Pair], most: int, hidden: frozenset[int] = frozenset()) -> list[Pair]:
    """The pairs with what is before them, one by one; `hidden` are not there at all."""
    found = []
    for number, (source, target) in enumerate(pairs):
        if number in hidden or not (source.strip() and target.strip()):
            continue
        before: list[str] = []
        for earlier in range(number - 1, -1, -1):
            if earlier in hidden or not "".join(pairs[earlier]).strip():
                break
            if pairs[earlier][0].strip() and len(before) < most:
                before.insert(0, pairs[earlier][0])
        found.append(("\n".join([*before, source]), target))
    return found


@pytest.mark.parametrize("most", [1, 2, 5])
def test_the_lines_before_are_read_up_to_an_empty_one(tmp_path: Path, most: int) -> None:
    pairs = [(line, line.upper()) for line in LINES]
    found = [*read_in_context(write(tmp_path, pairs), most)]
    assert found == read_plainly(pairs, most)
    assert len(found) == sum(bool(line) for line in LINES)


def test_a_pair_with_one_side_stays_to_be_counted(tmp_path: Path) -> None:
    pairs = [("a", "A"), ("b", ""), ("", "C"), ("d", "D"), ("", ""), ("e", "E")]
    found = [*read_in_context(write(tmp_path, pairs), 3)]
    assert found == [("a", "A"), ("b", ""), ("", "C"), ("a\nb\nd", "D"), ("e", "E")]


def test_an_empty_row_of_a_table_ends_a_document(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("a\tA\nb\tB\n\nc\tC\n", encoding="utf-8")
    (tmp_path / "a.jsonl").write_text(
        "".join(
            '{"source": "%s", "target": "%s"}\n' % pair  # noqa: UP031
            for pair in (("a", "A"), ("b", "B"), ("", ""), ("c", "C"))
        ),
        encoding="utf-8",
    )
    for name in ("a.tsv", "a.jsonl"):
        corpus = find_data(tmp_path / name).train
        assert [*read_in_context(corpus, 2)] == [("a", "A"), ("a\nb", "B"), ("c", "C")]


def test_what_is_held_out_has_its_context_and_is_none(tmp_path: Path) -> None:
    """A training reads no source that was held out, not even before another one."""
    pairs = [(f"{n} x", f"{n} y") for n in range(60)]
    train, valid = hold_out(write(tmp_path, pairs), seed=4)
    assert valid.chosen is not None
    held = frozenset(np.flatnonzero(valid.chosen).tolist())
    assert held
    assert [*read_in_context(train, 2)] == read_plainly(pairs, 2, held)
    everything = read_plainly(pairs, 2)
    wanted = [everything[number] for number in sorted(held)]
    assert [*read_in_context(valid, 2, held_out=True)] == wanted


@pytest.fixture(scope="module")
def tagged(tokenizer: Tokenizer) -> Tokenizer:
    return tokenizer.with_tags(["<2de>", "<bt>", "<sep>"])


def build(folder: Path, pairs: list[Pair], tokenizer: Tokenizer, **how: object) -> Store:
    tags, separator = tokenizer.find_tags(["<2de>", "<bt>"]), tokenizer.find_tags(["<sep>"])[0]
    part = StorePart("", pairs, tuple(tags), separator)
    build_mixed_store(folder, [part], tokenizer, tokenizer, **how)  # type: ignore[arg-type]
    return Store.open(folder)


@pytest.mark.parametrize("chunk", [1, 3, 2000])
@pytest.mark.parametrize("max_length", [4, 6, 60])
def test_ids_are_those_of_a_plain_loop(
    tmp_path: Path,
    tagged: Tokenizer,
    monkeypatch: pytest.MonkeyPatch,
    chunk: int,
    max_length: int,
) -> None:
    """Tags first; whole sentences are left out where there is no room, the oldest first."""
    monkeypatch.setattr(stores, "CHUNK", chunk)
    pairs = [(line, line) for line in LINES]
    extended = [*read_in_context(write(tmp_path, pairs), 2)]
    store = build(tmp_path / "store", extended, tagged, max_length=max_length)
    tags, (separator,) = tagged.find_tags(["<2de>", "<bt>"]), tagged.find_tags(["<sep>"])
    wanted, dropped = [], 0
    for source, _ in extended:
        lines = source.split("\n")
        ids = tagged.encode(lines[-1])
        if len(tags) + len(ids) > max_length:
            continue
        for line in lines[-2::-1]:
            longer = [*tagged.encode(line), separator, *ids]
            if len(tags) + len(longer) > max_length:
                dropped += 1
                break
            ids = longer
        wanted.append([*tags, *ids])
    assert [store.source(pair, 0).tolist() for pair in range(len(store))] == wanted
    assert bool(dropped) == (max_length < 60)
    kept = [source.split("\n")[-1] for source, _ in extended]
    own = [len(tagged.encode(line)) for line in kept if 2 + len(tagged.encode(line)) <= max_length]
    plain = [n + 2 * (separator not in row) for n, row in zip(own, wanted, strict=True)]
    assert store.own_lengths(separator).tolist() == plain
    assert store.own_lengths(None).tolist() == [*map(len, wanted)]


def test_sampled_segmentations_have_their_context(tmp_path: Path, tagged: Tokenizer) -> None:
    pairs = [*read_in_context(write(tmp_path, [(line, line) for line in LINES]), 1)]
    how = {"max_length": 90, "samples": 3, "sampling": 0.5}
    store = build(tmp_path / "store", pairs, tagged, **how)
    (separator,) = tagged.find_tags(["<sep>"])
    seen = set()
    for pair, (source, _) in enumerate(pairs):
        for epoch in range(3):
            ids = store.source(pair, epoch).tolist()[2:]
            places = [place for place, id in enumerate(ids) if id == separator]
            cuts = [0, *(place + 1 for place in places), len(ids) + 1]
            parts = [ids[begin : end - 1] for begin, end in pairwise(cuts)]
            assert [tagged.decode(part) for part in parts] == source.split("\n")
            seen.add(tuple(ids))
    assert len(seen) > len(pairs)


def test_noise_changes_the_sentence_and_not_its_context(tagged: Tokenizer) -> None:
    (tag, separator) = tagged.find_tags(["<bt>", "<sep>"])
    before = [tag, *tagged.encode("one two three"), separator]
    pair = ([*before, *tagged.encode("four five six seven")], tagged.encode("four"))
    settings = Augment(words=0.6, mask=0.3)
    changer = PairChanger(settings, (tagged, tagged), sampling=0.0, longest=50, seed=1)
    found = [changer.change(pair, Random(number))[0] for number in range(20)]
    assert all(ids[: len(before)] == before for ids in found)
    assert len({tuple(ids) for ids in found}) > 10


def test_a_corpus_without_a_context_is_read_as_before(tmp_path: Path, tagged: Tokenizer) -> None:
    pairs = [(line, line) for line in LINES]
    part = StorePart("", pairs)
    build_mixed_store(tmp_path / "store", [part], tagged, tagged, max_length=50)
    store = Store.open(tmp_path / "store")
    wanted = [tagged.encode(line) for line in LINES if line]
    assert [store.source(pair, 0).tolist() for pair in range(len(store))] == wanted
    assert store.counts.empty == 3
    assert replace(part, separator=None) == part
