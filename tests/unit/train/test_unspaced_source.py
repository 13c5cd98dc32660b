"""A Chinese source is learned as it is translated: without the spaces between its characters."""

from __future__ import annotations

from pathlib import Path

import pytest

from glassformer.config import Config
from glassformer.foundation.progress import Reporter
from glassformer.train.plan.preparation import prepare_run
from glassformer.train.plan.run_folder import open_run

SETTINGS = {"text": {"vocabulary": 320}, "train": {"seed": 3}}


@pytest.mark.parametrize(("language", "is_closed"), [("zh", True), ("en", False)])
def test_spaces_of_the_source(tmp_path: Path, language: str, is_closed: bool) -> None:
    (tmp_path / "pairs.tsv").write_text("我 喜欢 学习\t我 爱 AI\n" * 40, encoding="utf-8")
    config = Config.read({**SETTINGS, "data": {"source_lang": language, "target_lang": "zh"}})
    open_run(tmp_path, config, [tmp_path / "pairs.tsv"], [tmp_path / "pairs.tsv"])
    prepared = prepare_run(tmp_path, Reporter(quiet=True))
    tokenizers, store = prepared.tokenizers, prepared.store
    source = tokenizers.source.decode(store.source(0, 0).tolist())
    assert source == ("我喜欢学习" if is_closed else "我 喜欢 学习")
    assert tokenizers.target.decode(store.target(0, 0).tolist()) == "我 爱 AI"
    assert prepared.config.text.split_above == len(store.source(0, 0))
