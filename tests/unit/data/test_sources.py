"""How several corpora are named, what is held out of them, and pairs that are in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from glassformer.config import Config, Data
from glassformer.data.holdout import hold_out_of, leave_out
from glassformer.data.in_memory import keep_pairs
from glassformer.data.sources import open_corpora, read_corpora
from glassformer.data.tables import read_table


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("a", "b"):
        for side in ("en", "de", "fr"):
            lines = [f"{side} {name} {n}" for n in range(100)]
            (tmp_path / f"{name}.{side}").write_text("\n".join(lines) + "\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def read(*data: str, **settings: Any) -> tuple[Config, list[list[str]]]:
    return read_corpora(Config.read({"data": settings}), data)


@pytest.mark.usefixtures("folder")
def test_one_corpus_is_no_mixture() -> None:
    for data in (["a"], ["a.en", "a.de"], ["-", "a.de"]):
        config, paths = read(*data)
        assert (config.data.corpus, paths) == ((), [data])


@pytest.mark.usefixtures("folder")
def test_names_weights_and_options() -> None:
    data = ("a", "b:2.5", "a.en", "a.de", "b,tag=bt,langs=en-fr,weight=0.5,name=made")
    config, paths = read(*data, source_lang="en", target_lang="de")
    assert paths == [["a"], ["b"], ["a.en", "a.de"], ["b"]]
    shares = config.data.corpus
    assert [each.weight for each in shares] == [1, 2.5, 1, 0.5]
    assert len({each.name for each in shares}) == 4
    assert shares[3].model_dump(exclude_none=True) == {
        "name": "made",
        "weight": 0.5,
        "tag": "<bt>",
        "source_lang": "en",
        "target_lang": "fr",
    }


@pytest.mark.usefixtures("folder")
def test_corpora_of_a_recipe_lose_their_paths() -> None:
    tables = [{"name": "x", "paths": ["a"]}, {"name": "y", "paths": ["b"], "weight": 2}]
    config, paths = read(corpus=tables)
    assert paths == [["a"], ["b"]]
    assert "paths" not in config.to_toml()
    with pytest.raises(ValueError, match="both name the data"):
        read("a", corpus=tables)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (["a,foo=1", "b"], "foo is no option of a corpus"),
        (["a:0", "b"], "must be more than 0"),
        (["a,langs=ende", "b"], "write langs=en-de"),
        (["a,tag=<s>", "b"], "a tag has letters"),
        (["a,name=x", "b,name=x"], "two corpora are called x"),
        ([], "no data are named"),
        (["a,langs=en-de", "b"], "has to name its own"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_mistakes_are_told(data: list[str], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        read(*data)


def test_languages_and_their_tags() -> None:
    shares = [
        {"name": "a", "source_lang": "en", "target_lang": "de"},
        {"name": "b", "source_lang": "de", "target_lang": "fr", "tag": "bt"},
        {"name": "c", "source_lang": "en", "target_lang": "fr"},
    ]
    data = Data.model_validate({"corpus": shares})
    assert data.list_tags() == ["<2de>", "<2fr>", "<bt>"]
    assert data.tags_of(data.corpus[1]) == ["<2fr>", "<bt>"]
    one = data.narrow("de-fr")
    assert (one.source_lang, one.target_lang, one.tag) == ("de", "fr", "<2fr>")
    assert data.narrow("fr").source_lang is None  # two languages are translated to it
    for pair in (None, "it", "fr-de"):
        with pytest.raises(ValueError, match="en-de, de-fr, en-fr"):
            data.narrow(pair)


@pytest.mark.usefixtures("folder")
def test_no_text_that_is_held_out_is_trained_on() -> None:
    config, paths = read("a,langs=en-de", "a,langs=de-en", "b,langs=en-fr", "b,langs=en-fr,tag=bt")
    train, _ = open_corpora(config.data, paths)
    kept, held = hold_out_of(train, seed=1)
    texts = {text for pair in held for text in pair}
    assert held.parts[0].chosen is not None
    assert texts
    assert not list(held.parts[3])
    assert not [pair for pair in kept if texts & set(pair)]
    assert sorted([*leave_out(train, held)]) == sorted([*kept])


@pytest.mark.parametrize(
    "row",
    [
        ("a cat", "un chat"),
        {"en": "a cat", "fr": "un chat", "id": 3},
        {"translation": {"en": "a cat", "fr": "un chat"}},
        {"source": "a cat", "target": "un chat"},
    ],
)
def test_pairs_in_memory(tmp_path: Path, row: Any) -> None:
    files = keep_pairs(tmp_path, {"x": iter([row]), "validation": [row]}, ("en", "fr"))
    assert files.keys() == {"x", "valid"}
    for path in files.values():
        assert list(read_table(path, "en", "fr")) == [("a cat", "un chat")]


@pytest.mark.parametrize(
    ("pairs", "said"),
    [
        (["ab"], "row 1: a pair is a source and a target"),
        ([("a", "b"), ("a",)], "row 2: a pair is"),
        ([("a", None)], "both sides are texts"),
        ([{"en": "a"}], "must be there"),
        ({"../x": [("a", "b")]}, "cannot be the name"),
    ],
)
def test_bad_pairs_in_memory(tmp_path: Path, pairs: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        keep_pairs(tmp_path / "pairs", pairs, ("en", "fr"))
