"""What the phrasebook adds to the training text of an everyday model."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from benchmarks.everyday import (
    add_options,
    describe_origin,
    find_owners,
    has_phrases,
    mix_phrases,
    mix_translations,
    read_lines,
    write_links,
)

HELD_OUT = ("I'm hungry.", "Ich bin hungrig.")


def make_options(tmp_path: Path, *arguments: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_options(parser)
    return parser.parse_args(["--data", str(tmp_path), "--out", str(tmp_path / "runs"), *arguments])


@pytest.fixture
def pairs(tmp_path: Path) -> dict[str, list[Path]]:
    texts = {"train": ("A dog barks.", "Ein Hund bellt."), "valid": HELD_OUT}
    texts["test"] = ("Out of order.", "Ja.")
    files = {split: [tmp_path / f"{split}.{lang}" for lang in ("en", "de")] for split in texts}
    for split, paths in files.items():
        for path, line in zip(paths, texts[split], strict=True):
            path.write_text(line + "\n", encoding="utf-8")
    return files


def test_the_text_ends_with_the_phrasebook(tmp_path: Path, pairs: dict[str, list[Path]]) -> None:
    options = make_options(tmp_path, "--target", "de")
    assert options.phrases == 3
    sources, targets = map(read_lines, mix_phrases(options, pairs))
    mixed = list(zip(sources, targets, strict=True))
    assert mixed[0] == ("A dog barks.", "Ein Hund bellt.")
    assert mixed.count(("I'm thirsty.", "Ich habe Durst.")) == 3
    assert not {"I'm hungry.", "Out of order."} & set(sources)
    assert "Ja." not in targets
    options.phrases = 1
    assert len(read_lines(mix_phrases(options, pairs)[0])) < len(sources)


def test_the_card_names_the_phrasebook(tmp_path: Path) -> None:
    said = "and of our own phrasebook"
    assert said in describe_origin(make_options(tmp_path))
    without = make_options(tmp_path, "--phrases", "0")
    assert said not in describe_origin(without) and "--phrases 0" in describe_origin(without)
    assert not has_phrases(make_options(tmp_path, "--target", "zh"))


def test_what_models_say_is_added_where_it_differs(
    tmp_path: Path, pairs: dict[str, list[Path]], monkeypatch: pytest.MonkeyPatch
) -> None:
    said = {
        "forward": ["Ein Hund bellt.", "Ein Hund ist da."],
        "backward": ["A dog barks.", "A dog."],
    }
    monkeypatch.setattr("benchmarks.diversify.say", lambda model, lines, decode: said[model])
    for path in pairs["train"]:
        path.write_text(path.read_text(encoding="utf-8") * 2, encoding="utf-8")
    given = ["--target", "de", "--forward", "forward", "--backward", "backward"]
    options = make_options(tmp_path, *given)
    own = ("A dog barks.", "Ein Hund bellt.")
    text = mix_translations(options, pairs["train"], mix_phrases(options, pairs))
    mixed = list(zip(*map(read_lines, text), strict=True))
    assert mixed.count(own) == 2 and ("I'm thirsty.", "Ich habe Durst.") in mixed
    assert mixed[-2:] == [("A dog barks.", "Ein Hund ist da."), ("A dog.", "Ein Hund bellt.")]
    assert " --forward forward --backward backward" in describe_origin(options)
    assert "--parent" not in describe_origin(options)
    assert "had these names before" in describe_origin(options)
    assert "before" not in describe_origin(make_options(tmp_path))


def test_parts_that_are_aligned_belong_to_words_in_white_space() -> None:
    assert find_owners("J'ai soif !") == [0, 0, 0, 1, 2]
    assert find_owners("“Straße”, bitte.") == [0, 0, 0, 0, 1, 1]


def test_links_are_between_words_in_white_space(tmp_path: Path) -> None:
    pytest.importorskip("eflomal")
    lines = {"en": ["the cat sleeps.", "the dog sleeps.", "a cat, a dog!"] * 50}
    lines["de"] = ["die Katze schläft.", "der Hund schläft.", "eine Katze, ein Hund!"] * 50
    for lang, texts in lines.items():
        (tmp_path / f"text.{lang}").write_text("\n".join(texts) + "\n", encoding="utf-8")
    path = write_links([tmp_path / f"text.{lang}" for lang in lines], tmp_path / "runs" / "links")
    links = path.read_text(encoding="utf-8").splitlines()
    assert len(links) == 150
    assert all("2-2" in line.split() for line in links[:2])
