"""A vocabulary of an imported model that is damaged, or was never one."""

from __future__ import annotations

import json
from base64 import b64encode
from pathlib import Path
from random import Random
from typing import Any

import pytest

from glassformer.extensions.foreign_tokenizers.imported import UNKNOWN
from glassformer.extensions.foreign_tokenizers.unigram import Unigram
from glassformer.text.kinds import load_tokenizer
from glassformer.text.layout import CONTROLS

VOCABULARY = [*CONTROLS, UNKNOWN, "▁", "a", "b", "▁a"]
SCORES = [None, None, None, -10.0, -1.0, -2.0, -3.0, -4.0]
RANDOM = Random(7).randbytes(4000)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A sound one."""
    Unigram(VOCABULARY, SCORES).save(tmp_path / "tokenizer.json")
    assert load_tokenizer(tmp_path / "tokenizer.json").decode([5, 6]) == "ab"
    return tmp_path / "tokenizer.json"


@pytest.mark.parametrize(
    "charsmap",
    [RANDOM, RANDOM[:3], (4).to_bytes(4, "little") + RANDOM, (4000).to_bytes(4, "little") + RANDOM],
    ids=["no head", "short", "one node", "many nodes"],
)
def test_a_normaliser_of_random_bytes_is_refused(path: Path, charsmap: bytes) -> None:
    """The library panics at it, when it reads the file or the first text."""
    found = json.loads(path.read_text(encoding="utf-8"))
    told = {"type": "Precompiled", "precompiled_charsmap": b64encode(charsmap).decode()}
    found["normalizer"]["normalizers"].insert(0, told)
    if found["normalizer"]["normalizers"][1]["type"] == "Precompiled":
        del found["normalizer"]["normalizers"][1]
    refuse(path, found)


@pytest.mark.parametrize("score", ["x", [], {}, True])
def test_a_score_that_is_none_is_refused(path: Path, score: Any) -> None:
    found = json.loads(path.read_text(encoding="utf-8"))
    found["model"]["vocab"][5][1] = score
    refuse(path, found)


def refuse(path: Path, found: Any) -> None:
    path.write_text(json.dumps(found), encoding="utf-8")
    with pytest.raises(ValueError, match="not a tokenizer of glassformer") as caught:
        load_tokenizer(path)
    assert str(caught.value).startswith(str(path)) and "\n" not in str(caught.value)
