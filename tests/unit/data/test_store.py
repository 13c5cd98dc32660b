"""Ids on the disk: all there, counted, and never half."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from glassformer.data import store as module
from glassformer.data.files import Fingerprint
from glassformer.data.store import Counts, Store, build_store
from glassformer.data.tables import Pair
from glassformer.text import Sampler, Tokenizer
from glassformer.text.kinds import train_tokenizer


def test_every_pair_is_there(
    tmp_path: Path, pairs: list[Pair], tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CHUNK", 64)
    other = train_tokenizer([target for _, target in pairs], 300)
    counts = build_store(tmp_path / "store", iter(pairs), tokenizer, other, max_length=100)
    assert counts == Counts(kept=300)
    store = Store.open(tmp_path / "store")
    assert len(store) == 300
    assert store.counts == counts
    for i, (source, target) in enumerate(pairs):
        assert store.source(i, 0).tolist() == tokenizer.encode(source)
        assert store.target(i, 0).tolist() == other.encode(target)
    sources, targets = store.lengths(0)
    assert sources.dtype == targets.dtype == np.int32
    assert sources.tolist() == [len(tokenizer.encode(source)) for source, _ in pairs]
    assert targets.tolist() == [len(other.encode(target)) for _, target in pairs]


def test_epochs_take_turns(
    tmp_path: Path, pairs: list[Pair], tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings: dict[str, Any] = {"max_length": 100, "samples": 3, "sampling": 0.2, "seed": 5}
    build_store(tmp_path / "a", pairs, tokenizer, tokenizer, **settings)
    monkeypatch.setattr(module, "CHUNK", 7)
    build_store(tmp_path / "b", pairs, tokenizer, tokenizer, **settings)
    build_store(tmp_path / "c", pairs, tokenizer, tokenizer, **{**settings, "seed": 6})
    one, same, other = (Store.open(tmp_path / name) for name in "abc")
    samplers = [Sampler(tokenizer, 0.2, f"5 {side}") for side in ("source", "target")]
    for i, texts in enumerate(pairs):
        for read, again, text, sampler in zip(
            (one.source, one.target), (same.source, same.target), texts, samplers, strict=True
        ):
            drawn = sampler.draw(text, 3)
            assert [read(i, epoch).tolist() for epoch in range(6)] == drawn * 2
            assert [again(i, epoch).tolist() for epoch in range(3)] == drawn
    lengths = [one.lengths(epoch)[0].tolist() for epoch in range(6)]
    assert lengths[:3] == lengths[3:]
    assert lengths[0] != lengths[1] != lengths[2] != lengths[0]
    assert any(one.source(i, 0).tolist() != other.source(i, 0).tolist() for i in range(300))


def test_without_dropout_one_segmentation_is_enough(
    tmp_path: Path, pairs: list[Pair], tokenizer: Tokenizer
) -> None:
    build_store(tmp_path / "store", pairs, tokenizer, tokenizer, max_length=100, samples=8)
    assert Store.open(tmp_path / "store").samples == 1


def test_what_is_left_out_is_counted(tmp_path: Path, tokenizer: Tokenizer) -> None:
    pairs = [
        ("one", "eno"),
        ("", "x"),
        ("x", " \t"),
        ("one " * 9, "eno"),
        ("one", "eno " * 9),
        ("two", "owt"),
        ("\ud800 \udfff", ""),
    ]
    counts = build_store(tmp_path / "store", pairs, tokenizer, tokenizer, max_length=5)
    assert counts == Counts(kept=2, empty=3, too_long=2, surrogates=2)
    assert counts.read == len(pairs)
    assert str(counts) == (
        "2 pairs kept, 3 with an empty side and 2 too long left out, "
        "2 lone surrogates replaced by U+FFFD"
    )
    assert str(Counts(kept=29_000)) == "29,000 pairs kept"
    store = Store.open(tmp_path / "store")
    assert [store.source(i, 0).tolist() for i in (0, 1)] == tokenizer.encode_many(["one", "two"])


def test_the_longest_segmentation_counts(
    tmp_path: Path, pairs: list[Pair], tokenizer: Tokenizer
) -> None:
    build_store(
        tmp_path / "store", pairs, tokenizer, tokenizer, max_length=20, samples=4, sampling=0.3
    )
    store = Store.open(tmp_path / "store")
    assert 0 < len(store) < 300
    assert max(lengths.max() for k in range(4) for lengths in store.lengths(k)) <= 20


def test_large_vocabularies_need_wide_ids(tmp_path: Path) -> None:
    characters = [chr(0x20000 + i) for i in range(66_000)]
    tokenizer = train_tokenizer(characters, 70_000)
    pairs = [(characters[0], characters[-1])]
    build_store(tmp_path / "store", pairs, tokenizer, tokenizer, max_length=5)
    store = Store.open(tmp_path / "store")
    assert tokenizer.decode(store.target(0, 0)) == characters[-1]
    assert store.target(0, 0).dtype == np.uint32
    narrow = train_tokenizer(characters[:9], 300)
    build_store(tmp_path / "other", pairs, narrow, narrow, max_length=5)
    assert Store.open(tmp_path / "other").target(0, 0).dtype == np.uint16


def test_the_index_says_what_it_was_made_from(
    tmp_path: Path, pairs: list[Pair], tokenizer: Tokenizer
) -> None:
    files = [Fingerprint("train.en", 300, 1, "ab")]
    build_store(
        tmp_path / "s", pairs, tokenizer, tokenizer, max_length=9, seed=3, fingerprints=files
    )
    index = Store.open(tmp_path / "s").index
    assert (index["max_length"], index["dropout"], index["seed"]) == (9, 0, 3)
    assert index["tokenizers"] == [tokenizer.fingerprint] * 2
    assert index["files"] == [{"name": "train.en", "lines": 300, "bytes": 1, "sha256": "ab"}]


def test_progress_is_told(
    tmp_path: Path, pairs: list[Pair], tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CHUNK", 128)
    told: list[tuple[int, int | None]] = []
    build_store(
        tmp_path / "store",
        [*pairs, ("", "")],
        tokenizer,
        tokenizer,
        max_length=9,
        total=301,
        progress=lambda done, total: told.append((done, total)),
    )
    assert told == [(128, 301), (256, 301), (301, 301)]


def test_an_error_leaves_what_was_there(
    tmp_path: Path, pairs: list[Pair], tokenizer: Tokenizer
) -> None:
    def broken() -> Iterator[Pair]:
        yield from pairs
        raise ValueError("line 301 is bad")

    folder = tmp_path / "store"
    with pytest.raises(ValueError, match="line 301"):
        build_store(folder, broken(), tokenizer, tokenizer, max_length=100)
    assert list(tmp_path.iterdir()) == []
    build_store(folder, pairs[:7], tokenizer, tokenizer, max_length=100)
    with pytest.raises(ValueError, match="line 301"):
        build_store(folder, broken(), tokenizer, tokenizer, max_length=100)
    assert len(Store.open(folder)) == 7
    build_store(folder, pairs[:9], tokenizer, tokenizer, max_length=100)
    assert len(Store.open(folder)) == 9
    assert list(tmp_path.iterdir()) == [folder]


def test_remains_of_a_killed_run_do_no_harm(
    tmp_path: Path, pairs: list[Pair], tokenizer: Tokenizer
) -> None:
    build_store(tmp_path / "store.partial", pairs, tokenizer, tokenizer, max_length=100)
    (tmp_path / "store.partial" / "index.json").unlink()
    build_store(tmp_path / "store", pairs[:5], tokenizer, tokenizer, max_length=100)
    assert len(Store.open(tmp_path / "store")) == 5
    assert [path.name for path in tmp_path.iterdir()] == ["store"]


def test_nothing_left_is_an_error(tmp_path: Path, tokenizer: Tokenizer) -> None:
    with pytest.raises(ValueError, match="nothing to train on: 0 pairs kept, 1 with an empty side"):
        build_store(tmp_path / "store", [("", "a")], tokenizer, tokenizer, max_length=5)
    with pytest.raises(
        ValueError, match=r"and 1 too long left out; data\.max_length or .* 5 tokens"
    ):
        build_store(tmp_path / "store", [("a b c d e f", "a")], tokenizer, tokenizer, max_length=5)
    assert list(tmp_path.iterdir()) == []


def test_other_folders_are_left_alone(tmp_path: Path, tokenizer: Tokenizer) -> None:
    (tmp_path / "letters.txt").write_text("dear", encoding="utf-8")
    with pytest.raises(ValueError, match="is no store of ids, so it is not replaced"):
        build_store(tmp_path, [("a", "b")], tokenizer, tokenizer, max_length=5)
    assert (tmp_path / "letters.txt").read_text(encoding="utf-8") == "dear"


@pytest.mark.parametrize("name", ["index.json", "source.0.ids", "target.0.offsets"])
@pytest.mark.parametrize("keep", [None, 0, 8, 40])
def test_a_damaged_store(
    tmp_path: Path, pairs: list[Pair], tokenizer: Tokenizer, name: str, keep: int | None
) -> None:
    build_store(tmp_path / "store", pairs, tokenizer, tokenizer, max_length=100)
    path = tmp_path / "store" / name
    raw = path.read_bytes()
    path.unlink()
    if keep is not None:
        path.write_bytes(raw[:keep])
    with pytest.raises(ValueError, match="not a store of ids of this version, or a damaged one"):
        Store.open(tmp_path / "store")


def test_a_store_of_another_version(
    tmp_path: Path, pairs: list[Pair], tokenizer: Tokenizer
) -> None:
    build_store(tmp_path / "store", pairs, tokenizer, tokenizer, max_length=100)
    path = tmp_path / "store" / "index.json"
    index = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**index, "format": 99}), encoding="utf-8")
    with pytest.raises(ValueError, match="this version"):
        Store.open(tmp_path / "store")
