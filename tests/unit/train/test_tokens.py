"""What a training learns its tokens from: both sides of the corpus."""

from __future__ import annotations

from pathlib import Path

import pytest

from glassformer.config import Config
from glassformer.model.files.directory import Tokenizers
from glassformer.train import train

SETTINGS = {
    "model": {"d_model": 8, "d_ff": 8, "heads": 1, "encoder_layers": 1, "decoder_layers": 1},
    "train": {"steps": 1, "watch": 0},
}


def learn(folder: Path, shared: bool) -> Tokenizers:
    words = [f"{a} {b}" for a in ("one", "two", "six") for b in ("bird", "stone", "river")]
    for side, lines in (("en", words), ("xx", [word.upper() for word in words])):
        (folder / f"a.{side}").write_text("\n".join(lines * 9) + "\n", encoding="utf-8")
    text = {"vocabulary": 400, "shared": shared}
    config = Config.read({**SETTINGS, "text": text})
    train(config, [folder / "a.en", folder / "a.xx"], folder / "model", quiet=True)
    return Tokenizers.load(folder / "model")


@pytest.mark.parametrize("shared", [True, False])
def test_a_frequent_word_of_either_side_is_one_token(tmp_path: Path, shared: bool) -> None:
    tokenizers = learn(tmp_path, shared)
    assert tokenizers.source.tokens("the river").texts[-1] == " river"
    assert tokenizers.target.tokens("THE RIVER").texts[-1] == " RIVER"


def test_many_pairs_that_are_too_long_are_told_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A corpus with a paragraph on each line would lose nearly all of its pairs."""
    for longest, is_told in ((40, True), (200, False)):
        for side in ("en", "xx"):
            lines = [f"one {side} bird"] * 30 + [" ".join(["one river"] * 40)] * 3
            (tmp_path / f"a.{side}").write_text("\n".join(lines) + "\n", encoding="utf-8")
        raw = {**SETTINGS, "text": {"vocabulary": 400}, "data": {"max_length": longest}}
        pairs = [tmp_path / "a.en", tmp_path / "a.xx"]
        train(Config.read(raw), pairs, tmp_path / str(longest), valid=pairs)
        said = "9% of the pairs are longer than data.max_length=40 tokens: put each sentence on"
        assert (said in capsys.readouterr().err) == is_told
