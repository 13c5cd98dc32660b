"""Output may be as long as the training's translations are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from glassformer.config import EOS, Decode
from glassformer.data.store import Store, build_store
from glassformer.decode.sentences import longest_output
from glassformer.model.files.directory import load_model
from glassformer.text.kinds import train_tokenizer
from glassformer.train.plan.preparation import find_ratio
from glassformer.train.run.validation import validate


def make_store(folder: Path, pairs: list[tuple[str, str]]) -> Store:
    tokenizer = train_tokenizer([text for pair in pairs for text in pair], 300)
    build_store(folder / "store", pairs, tokenizer, tokenizer, max_length=1000)
    return Store.open(folder / "store")


def test_long_translations_fit(tmp_path: Path) -> None:
    pairs = [("jump thrice", "jump " * 60), ("walk", "walk")] * 50
    store, decode = make_store(tmp_path, pairs), Decode()
    raised = decode.model_copy(update={"max_ratio": find_ratio(store, decode)})
    for source, target in zip(*store.lengths(0), strict=True):
        assert longest_output(int(source), raised, None) > target
    assert any(
        longest_output(int(source), decode, None) < target
        for source, target in zip(*store.lengths(0), strict=True)
    )


def test_ordinary_text_needs_no_more(tmp_path: Path) -> None:
    store = make_store(tmp_path, [("The cat is here.", "Le chat est ici.")] * 50)
    assert find_ratio(store, Decode()) == Decode().max_ratio


def test_validation_goes_on_as_long_as_the_models_own_search(parent: Path) -> None:
    config, tokenizers, network = load_model(parent)
    pairs = (["a b c d e f"] * 2, ["a b c"] * 2)
    lengths = []
    for extra in (1, 30):
        changed = config.changed(decode={"max_ratio": 0.0, "max_extra": extra})
        with torch.no_grad():
            network.output_table.weight[EOS] = 0  # it never says that it is finished
        how: dict[str, Any] = {"device": "cpu", "precision": "fp32", "turn": 0}
        found = validate(network, changed, tokenizers, pairs, **how).sample["translation"]
        lengths.append(len(tokenizers.target.encode(found)))
    assert lengths[0] <= 2 and lengths[1] > 5
