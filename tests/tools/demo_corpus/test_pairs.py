"""The built-in corpus: what it yields, its split, its errors."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterable
from itertools import permutations, repeat
from pathlib import Path
from random import Random

import pytest

import glassformer
from tools import demo_corpus as demo
from tools.demo_corpus import LANGUAGES, NOTES, accepted, pronoun_items, split_of
from tools.demo_corpus.grammar import Grammar
from tools.demo_corpus.rules import PhraseTree, RulePart, load_rules

DIRECTIONS = list(permutations(LANGUAGES, 2))


def words(sentences: Iterable[str]) -> set[str]:
    return {word for text in sentences for word in re.findall(r"\w+", text.lower())}


def bare(sentence: str) -> str:
    return sentence.lower().rstrip(".")


# ---- what it yields ------------------------------------------------------------------------------


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_pairs_are_as_many_as_asked_and_distinct(direction: tuple[str, str]) -> None:
    found = demo.pairs(*direction, 1_500, 3)
    assert len(found) == len(set(found)) == 1_500
    assert found == demo.pairs(*direction, 1_500, 3)
    assert found[:100] == demo.pairs(*direction, 100, 3)
    assert found != demo.pairs(*direction, 1_500, 4)
    source, target = direction
    notes = [(getattr(n, source), getattr(n, target)) for n in NOTES if n.split == "train"]
    assert found[: len(notes)] == notes


def test_pairs_are_the_same_in_another_process() -> None:
    code = (
        "import hashlib; from tools import demo_corpus as demo; "
        "print(hashlib.sha256(repr(demo.pairs('zh', 'fr', 300, 5, 'valid')).encode('utf-8'))"
        ".hexdigest())"
    )
    here = hashlib.sha256(repr(demo.pairs("zh", "fr", 300, 5, "valid")).encode("utf-8"))
    roots = Path(demo.__file__).parents[2], Path(glassformer.__file__).parents[1]
    for seed in ("1", "2"):
        env = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(map(str, roots))}
        done = subprocess.run(
            [sys.executable, "-c", code], env=env, capture_output=True, check=True
        )
        assert done.stdout.decode().strip() == here.hexdigest()


@pytest.mark.slow
def test_a_hundred_thousand_pairs_within_twenty_seconds() -> None:
    start = time.perf_counter()
    found = demo.pairs("en", "fr", 100_000, 0)
    assert time.perf_counter() - start < 20
    assert len(set(found)) == 100_000
    seen = words(source for source, _ in found), words(target for _, target in found)
    for source, target in demo.pairs("en", "fr", 4_000, 9, "test"):
        assert words([source]) <= seen[0] and words([target]) <= seen[1]


def test_it_speaks_several_hundred_words(train: list[tuple[str, str]], chinese: list[str]) -> None:
    assert len(words(source for source, _ in train)) > 500
    assert len(words(target for _, target in train)) > 600
    assert len(set("".join(chinese))) > 400


def test_every_word_and_every_rule_is_used(grammar: Grammar) -> None:
    unused = {word for words in grammar.lexicon.values() for word in words}
    rules = {rule for rules in grammar.rules.values() for rule in rules if not rule.renames}

    def walk(tree: PhraseTree) -> None:
        rules.discard(tree.rule)
        for child in tree.children.values():
            walk(child) if isinstance(child, PhraseTree) else unused.discard(child)

    for language in LANGUAGES:
        rng = Random(language)
        for _ in range(9_000):
            walk(grammar.draw(rng, language))
    assert not [word.name for word in unused]
    assert not [rule.sides["en"] for rule in rules]


def test_the_tables_hold_nothing_idle(grammar: Grammar) -> None:
    rules = [rule for rules in grammar.rules.values() for rule in rules]
    asked = {tag for rule in rules for slot in rule.slots.values() for w in slot.tags for tag in w}
    nouns = {tag for word in grammar.lexicon["noun"] for tag in word.tags}
    for category, found in grammar.lexicon.items():
        tags = {tag for word in found for tag in word.tags}
        if category in ("adjective", "verb"):
            assert tags <= asked | nouns
    for language, table in grammar.function.items():
        sides = [side for rule in rules for side in rule.sides[language].options]
        assert table.keys() <= {
            part.name for side in sides for part in side if isinstance(part, RulePart)
        }
    drawn = {slot.category for rule in rules for slot in rule.slots.values()} | {"sentence"}
    assert drawn == grammar.rules.keys() | grammar.lexicon.keys()


# ---- the split -----------------------------------------------------------------------------------


def test_nothing_held_out_was_seen(
    train: list[tuple[str, str]], held_out: list[tuple[str, str]]
) -> None:
    for side in (0, 1):
        assert not {bare(pair[side]) for pair in train} & {bare(pair[side]) for pair in held_out}


def test_no_held_out_triple_was_seen_but_each_of_its_words(train: list[tuple[str, str]]) -> None:
    sentences: dict[str, set[int]] = {}
    for i, (source, _) in enumerate(train):
        for word in words([source]):
            sentences.setdefault(word, set()).add(i)
    triples = {(*item.nouns, item.adjective) for item in pronoun_items(600, 2, "test")}
    for who, where, why in triples:
        assert sentences[who] and sentences[where] and sentences[why]
        assert not sentences[who] & sentences[where] & sentences[why]
    seen = {(*item.nouns, item.adjective) for item in pronoun_items(5_000, 2, "train")}
    valid = {(*item.nouns, item.adjective) for item in pronoun_items(300, 2, "valid")}
    assert not triples & seen and not triples & valid and not seen & valid


@pytest.mark.parametrize("direction", [("en", "fr"), ("fr", "zh"), ("zh", "en")])
def test_split_of_agrees_with_pairs(direction: tuple[str, str]) -> None:
    for split in ("train", "valid", "test"):
        for source, target in demo.pairs(*direction, 60, 6, split):
            assert split_of(source, direction[0]) == split == split_of(target, direction[1])
    assert split_of("The cat programs the moon.", "en") is None


# ---- what can go wrong ---------------------------------------------------------------------------


def test_errors_name_what_is_wrong(grammar: Grammar) -> None:
    with pytest.raises(ValueError, match="no language 'de': en, fr or zh"):
        demo.pairs("de", "fr", 1, 0)
    with pytest.raises(ValueError, match="both 'fr'"):
        accepted("Merci.", "fr", "fr")
    with pytest.raises(ValueError, match="no split 'dev': train, valid or test"):
        demo.pairs("en", "fr", 1, 0, "dev")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="count=2: the built-in corpus yields only about 1"):
        demo._distinct([], repeat(grammar.draw(Random(0), "en")), 2, lambda tree: "always the same")
    with pytest.raises(ValueError, match="unknown key 'wiht'"):
        load_rules({"np": [{"all": "x", "wiht": {}}]})
    with pytest.raises(ValueError, match="the fr side leaves 'noun' out"):
        load_rules({"np": [{"with": {"noun": "noun"}, "en": "{noun}", "fr": "", "zh": "{noun}"}]})
    with pytest.raises(ValueError, match="cannot read the slot 'noun of verb!'"):
        load_rules({"np": [{"with": {"noun": "noun of verb!"}, "all": "{noun}"}]})
