"""tokenizer.json: what was saved comes back, and nothing else is taken for it."""

from __future__ import annotations

import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer as Backend
from tokenizers.models import BPE

from glassformer.text import Tokenizer
from glassformer.text.kinds import load_tokenizer


def test_saved_and_loaded(tokenizer: Tokenizer, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    tokenizer.save(path)
    loaded = load_tokenizer(path)
    assert (loaded.vocabulary, loaded.merges) == (tokenizer.vocabulary, tokenizer.merges)
    assert sha256(path.read_bytes()).hexdigest() == tokenizer.fingerprint == loaded.fingerprint
    assert list(tmp_path.iterdir()) == [path]


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"nothing\.json"):
        load_tokenizer(tmp_path / "nothing.json")


def refuse(path: Path, raw: bytes) -> None:
    path.write_bytes(raw)
    with pytest.raises(ValueError, match="not a tokenizer of glassformer") as caught:
        load_tokenizer(path)
    assert str(caught.value).startswith(str(path))


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b'{"model": null}',
        b'{"model": {"vocab": [], "merges": 1}}',
        b"\xff\xfe\x00",
        b"[" * 100_000,
        b"not json",
        Backend(BPE()).to_str().encode(),
    ],
)
def test_other_files(tmp_path: Path, raw: bytes) -> None:
    refuse(tmp_path / "tokenizer.json", raw)


def test_a_file_cut_short(tokenizer: Tokenizer, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    tokenizer.save(path)
    whole = path.read_bytes()
    for size in range(0, len(whole) - 2, 997):
        refuse(path, whole[:size])


Damage = Callable[[dict[str, Any]], object]


def swap(vocab: dict[str, int], one: str, other: str) -> None:
    vocab[one], vocab[other] = vocab[other], vocab[one]


DAMAGES: dict[str, Damage] = {
    "a control elsewhere": lambda raw: swap(raw["model"]["vocab"], "<s>", " "),
    "bytes swapped": lambda raw: swap(raw["model"]["vocab"], "<0x00>", "<0x01>"),
    "an id twice": lambda raw: raw["model"]["vocab"].update({" ": 300}),
    "an id that is no number": lambda raw: raw["model"]["vocab"].update({" ": "x"}),
    "a gap in the ids": lambda raw: raw["model"]["vocab"].update({"new": 10**9}),
    "a byte missing": lambda raw: raw["model"]["vocab"].pop("<0x41>"),
    "a merge of the unknown": lambda raw: raw["model"]["merges"].append(["zz", "yy"]),
    "a merge into the unknown": lambda raw: raw["model"]["merges"].append(["t", "|"]),
    "a merge of three": lambda raw: raw["model"]["merges"].append(["a", "b", "c"]),
    "a merge of no text": lambda raw: raw["model"]["merges"].append([1, 2]),
    "half a character": lambda raw: raw["model"]["vocab"].update(
        {"\ud800": len(raw["model"]["vocab"])}
    ),
    "no bytes for the unknown": lambda raw: raw["model"].update(byte_fallback=False),
    "other words": lambda raw: raw["pre_tokenizer"]["pattern"].update(Regex=r"\s+"),
    "added tokens": lambda raw: raw["added_tokens"].append({"id": 0, "content": "<pad>"}),
    "another decoder": lambda raw: raw.update(decoder=None),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_file(tokenizer: Tokenizer, tmp_path: Path, name: str) -> None:
    path = tmp_path / "tokenizer.json"
    tokenizer.save(path)
    raw = json.loads(path.read_bytes())
    DAMAGES[name](raw)
    refuse(path, json.dumps(raw).encode())
