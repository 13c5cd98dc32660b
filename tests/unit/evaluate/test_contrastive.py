"""Contrastive sets: what is read, and what is counted."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from glassformer.extensions.lab.contrastive import (
    ContrastiveItem,
    ContrastiveResult,
    PairedShares,
    ScoredText,
    Share,
    judge_contrastive,
    read_contrastive,
)

CONTRAPRO = {
    "src segment": "The cat sleeps because it is tired.",
    "ref segment": "Die Katze schläft, weil sie müde ist.",
    "src pronoun": "it",
    "ref pronoun": "Sie",
    "src ante phrase": "the cat",
    "ref ante phrase": "die Katze",
    "ante distance": 0,
    "intrasegmental": True,
    "errors": [
        {"contrastive": "Die Katze schläft, weil er müde ist.", "type": "pronoun"},
        {"contrastive": "Die Katze schläft, weil es müde ist.", "type": "pronoun"},
    ],
}


def _score(values: dict[str, float]) -> Any:
    return lambda sources, targets: [ScoredText(values[text], len(text)) for text in targets]


def test_interval_is_wilsons() -> None:
    """The numbers are those of Agresti and Coull (1998), and of any textbook, for 5 and 0 of 10."""
    assert Share(5, 10).interval == pytest.approx((0.2366, 0.7634), abs=1e-4)
    assert Share(0, 10).interval == pytest.approx((0, 0.2775), abs=1e-4)
    assert Share(10, 10).interval[1] == pytest.approx(1)


def test_a_right_translation_has_to_beat_all_wrong_ones() -> None:
    items = [
        ContrastiveItem("s", "a", ("b", "c"), {"kind": "one"}),
        ContrastiveItem("s", "b", ("a",), {"kind": "one"}),
        ContrastiveItem("s", "c", ("tie",), {"kind": "two"}),
        ContrastiveItem("s", "a", ("c",), {"kind": "two"}),
    ]
    found = judge_contrastive("m", items, _score({"a": -1.0, "b": -2.0, "c": -3.0, "tie": -3.0}))
    assert found.margins == (1.0, -1.0, 0.0, 2.0)
    assert (found.total.right, found.total.of) == (2, 4)
    shares = {part: (s.right, s.of) for part, s in found.categories["kind"].items()}
    assert shares == {"one": (1, 2), "two": (1, 2)}
    assert json.loads(json.dumps(found.to_json()))["categories"]["kind"]["one"]["accuracy"] == 0.5
    assert " 50.00 %  95 % between 15.00 and 85.00  2 of 4" in str(found)


def test_a_shorter_wrong_one_wins_by_the_sum_and_loses_by_the_token() -> None:
    """Left-out words: the sums are -4 and -3, a token has -0.5 and -0.75."""
    items = [ContrastiveItem("s", "longer..", ("left",), {})]
    score = _score({"longer..": -4.0, "left": -3.0})
    by_sum, by_token = (judge_contrastive("m", items, score, by) for by in ("sum", "token"))
    assert by_sum.margins == (-1.0,) and by_sum.total.right == 0
    assert by_token.margins == (0.25,) and by_token.total.right == 1
    for each in (by_sum, by_token):
        assert (each.totals["sum"].right, each.totals["token"].right) == (0, 1)
        found = each.to_json()
        assert found["by_sum"]["accuracy"] == 0 and found["by_token"]["accuracy"] == 1
        shown = [line for line in str(each).splitlines() if "which decides" in line]
        assert len(shown) == 1 and shown[0].startswith("by token" if each is by_token else "acc")


@pytest.mark.parametrize(
    ("first", "second", "p"),
    [(0, 0, 1.0), (3, 3, 1.0), (0, 5, 2 / 32), (1, 7, 2 * 9 / 256), (10, 2, 2 * 79 / 4096)],
)
def test_two_models_are_compared_item_by_item(first: int, second: int, p: float) -> None:
    """McNemar's exact test: the two-sided binomial test of the items that one alone has right."""
    one = (1.0,) * first + (0.0,) * second + (1.0, -1.0)
    other = (0.0,) * first + (2.0,) * second + (3.0, -2.0)
    results = [ContrastiveResult("m", Share(1, len(one)), {}, each) for each in (one, other)]
    found = PairedShares.compare(*results)
    assert (found.first, found.second, found.of) == (first, second, len(one))
    assert found.p == pytest.approx(p)
    assert found.difference == pytest.approx((second - first) / len(one))
    assert found.to_json()["p"] == found.p and f"p = {p:.4f} (McNemar)" in str(found)


def test_thousands_of_items_are_no_trouble() -> None:
    assert PairedShares(3000, 3100, 12_000).p == pytest.approx(0.205, abs=1e-3)
    assert 0 <= PairedShares(0, 5000, 5000).p < 1e-300


def test_contrapro_is_read_as_it_is(tmp_path: Path) -> None:
    far = {**CONTRAPRO, "ante distance": 7, "intrasegmental": None, "ref pronoun": "er"}
    path = tmp_path / "contrapro.json"
    path.write_text(json.dumps([CONTRAPRO, far]), encoding="utf-8")
    one, two = read_contrastive(path)
    assert one.source == CONTRAPRO["src segment"] and one.right == CONTRAPRO["ref segment"]
    assert len(one.wrong) == 2 and one.wrong[0].endswith("er müde ist.")
    assert one.categories == {
        "pronoun": "it:sie",
        "antecedent in the sentence": "yes",
        "sentences to the antecedent": "0",
        "type": "pronoun",
    }
    assert one.marked == {
        "source": {"pronoun": "it", "antecedent": "the cat"},
        "target": {"antecedent": "die Katze"},
    }
    assert two.categories["sentences to the antecedent"] == ">3"
    assert two.marked == {"source": {"pronoun": "it"}, "target": {}}
    found = judge_contrastive(
        "m", [one, two], lambda s, t: [ScoredText(-math.log(len(x)), 1) for x in t]
    )
    assert list(found.categories) == [
        "pronoun",
        "antecedent in the sentence",
        "sentences to the antecedent",
    ]  # all are of one type: that is no division


def test_a_field_that_is_no_text_is_none(tmp_path: Path) -> None:
    odd = {"src pronoun": 5, "ref pronoun": ["er"], "src ante phrase": 7, "intrasegmental": [1]}
    path = tmp_path / "contrapro.json"
    path.write_text(json.dumps([CONTRAPRO | odd]), encoding="utf-8")
    (item,) = read_contrastive(path)
    assert "pronoun" not in item.categories and item.marked["source"] == {}
    assert item.categories["antecedent in the sentence"] == "unknown"


def test_lingeval_has_other_names(tmp_path: Path) -> None:
    path = tmp_path / "lingeval.json"
    error = {"contrastive": "x", "type": "clitic"}
    path.write_text(json.dumps([{"source": "s", "reference": "r", "errors": [error]}]))
    assert read_contrastive(path) == [
        ContrastiveItem("s", "r", ("x",), {"type": "clitic"}, {"source": {}, "target": {}})
    ]


def test_tables_with_and_without_names(tmp_path: Path) -> None:
    plain, named = tmp_path / "plain.tsv", tmp_path / "named.tsv"
    plain.write_text("s\tr\tx\n\nt\tr\tx\ty\n", encoding="utf-8")
    assert [each.wrong for each in read_contrastive(plain)] == [("x",), ("x", "y")]
    named.write_text(
        "right\tsource\tkind\twrong\twrong\tsource.it\ttarget.noun\n"
        "r\ts\tgender\tx\ty\tit\tla vache\n"
        "r\ts\t\tx\t\tit\t\n",
        encoding="utf-8",
    )
    one, two = read_contrastive(named)
    assert (one.source, one.right, one.wrong) == ("s", "r", ("x", "y"))
    assert one.categories == {"kind": "gender"} and two.categories == {}
    assert one.marked == {"source": {"it": "it"}, "target": {"noun": "la vache"}}
    assert two.wrong == ("x",) and two.marked["target"] == {}


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a.tsv", "", "there is no item in it"),
        ("a.tsv", "source\tright\twrong\na\tb\n", "line 2: 2 columns, but the first line 3"),
        ("a.tsv", "a\tb\n", "line 1: at least one wrong translation"),
        ("a.tsv", "a\tb\tb\n", "line 1: the right translation is among the wrong ones"),
        ("a.tsv", "a\n", "line 1: .* right translation"),
        ("a.json", "{}", "a list of objects is needed"),
        ("a.json", '[{"source": "a", "reference": "b"}]', "item 1: it has no list of errors"),
        ("a.json", '[{"source": "a", "errors": []}]', "item 1: a source and its right"),
        ("a.json", '[{"source":"a","reference":"b","errors":[{}]}]', "item 1: at least one wrong"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, name: str, text: str, words: str) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=words):
        read_contrastive(path)
