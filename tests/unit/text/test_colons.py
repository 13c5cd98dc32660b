"""Colons, for a model whose training text hardly had any."""

from __future__ import annotations

import pytest
from damage.growth import is_linear

from glassformer.text.colons import is_label, split_at_colons, strip_colon, write_colon
from glassformer.translator import Translator

FEW, MANY = {":": 9, "lines": 1000}, {":": 10, "lines": 1000}


@pytest.mark.parametrize(
    ("counts", "language", "written"),
    [
        (FEW, "de", ":"),
        (FEW, "fr-CA", " :"),
        (FEW, "zh", "："),
        ({"lines": 1000}, None, ":"),
        (MANY, "de", ""),
        ({}, "de", ""),
    ],
)
def test_a_colon_is_written_as_the_language_does(
    counts: dict[str, int], language: str | None, written: str
) -> None:
    assert write_colon(counts, language) == written


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("I have two cats: Tom and Mary.", ["I have two cats:", "Tom and Mary."]),
        ("Note: one thing:  it rains.", ["Note:", "one thing:", "it rains."]),
        ("Attention : il pleut.", ["Attention :", "il pleut."]),
        ('She said: "No."', ["She said:", '"No."']),
        ("The rules:", ["The rules:"]),
        ("It is 7:30.", ["It is 7:30."]),
        ("12: thirteen", ["12: thirteen"]),
        ("I (see: here) go.", ["I (see: here) go."]),
        ('"Note: it rains."', ['"Note: it rains."']),
        ("Smile: )", ["Smile: )"]),
        ("See https://example.org: it is good.", ["See https://example.org:", "it is good."]),
        (":", [":"]),
        ("", [""]),
    ],
)
def test_a_sentence_is_parted_behind_its_colons(text: str, parts: list[str]) -> None:
    assert [text[slice(*span)] for span in split_at_colons(text)] == parts


def test_only_the_last_colon_is_stripped() -> None:
    assert strip_colon("a: b\u00a0:") == "a: b"
    assert strip_colon("a: b") == "a: b"
    assert is_label("Q:") and not is_label("Qu:") and not is_label("1:")


@pytest.mark.parametrize(
    ("model", "parts", "colon"),
    [
        ("everyday-en-fr", ["I have two questions:", "where do you live?"], " :"),
        ("everyday-en-de", ["The rules are simple:", "we wait."], ":"),
        ("everyday-fr-en", ["J'ai deux chats :", "ils sont noirs."], ":"),
        ("everyday-en-de", ["Q:", "Are you tired?"], ":"),
    ],
)
def test_each_part_is_translated_alone(model: str, parts: list[str], colon: str) -> None:
    translator = Translator.load(model)
    first, second = translator.translate(parts)
    bare = translator.translate(parts[0].rstrip(" :"))
    assert first == (parts[0] if parts[0] == "Q:" else f"{bare}{colon}")
    assert len(second) > 5 and ":" not in second
    assert translator.translate(" ".join(parts)) == f"{first} {second}"


def test_a_translation_with_a_colon_is_scored_as_the_network_writes_it() -> None:
    reader = Translator.load("everyday-en-fr").reader
    source, target = "The rules are simple:", "Les règles sont simples :"
    bare = reader.encode_targets(["The rules are simple."], ["Les règles sont simples."])
    assert reader.encode_targets([source], [target]) == bare
    assert reader.encode([source]) == reader.encode(["The rules are simple."])
    tokens = reader.tokenize_target(source, target)
    assert max(end for _, end in tokens.spans) <= len(target)


@pytest.mark.parametrize("unit", ["a: ", "(a: ", '"a: ', "a:a ", ": "])
def test_time_grows_like_the_text(unit: str) -> None:
    assert is_linear(lambda text: [*split_at_colons(text)], lambda length: (unit * length)[:length])
