"""The paired bootstrap, against sacreBLEU's own test."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any, get_args

import pytest
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER
from sacrebleu.significance import PairedTest

from glassformer.evaluate.quality import read_references
from glassformer.evaluate.significance import Test, compare_systems

WORDS = ["a", "cat", "the", "dog", "is", "on", "mat", "red", "blue", "old", "house", "tree"]


def _make_systems(seed: int) -> tuple[list[str], list[str], list[str]]:
    """References and two systems that get each word wrong with nearly the same chance."""
    rng = random.Random(seed)
    references = [rng.choices(WORDS, k=rng.randint(4, 12)) for _ in range(60)]

    def spoil(chance: float) -> list[str]:
        return [
            " ".join(rng.choice(WORDS) if rng.random() < chance else word for word in words)
            for words in references
        ]

    return [" ".join(words) for words in references], spoil(0.30), spoil(0.33)


def theirs_of(metric: str) -> str:
    """Return sacreBLEU's name of a metric."""
    return {"chrF++": "chrF2++"}.get(metric, metric)


@pytest.mark.parametrize(("test", "short"), [("bootstrap", "bs"), ("randomization", "ar")])
def test_p_values_are_those_of_sacrebleu(
    test: Any, short: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With its seed and number of samples, by three metrics; the signatures agree too."""
    monkeypatch.setenv("SACREBLEU_SEED", "7")
    found = set()
    for seed in range(4):
        lines, ours, theirs = _make_systems(seed)
        metrics = {"BLEU": BLEU(), "chrF2": CHRF(), "chrF++": CHRF(word_order=2), "TER": TER()}
        systems = [("theirs", theirs), ("ours", ours)]
        signatures, results = PairedTest(systems, metrics, [lines], short, n_samples=200)()
        asked: dict[str, Any] = {"metrics": tuple(metrics), "test": test}
        for mine in compare_systems(
            ours, theirs, [lines], samples=200, seed=7, **asked
        ).differences:
            wanted = results[theirs_of(mine.name)][1].p_value
            assert mine.p_value == wanted  # where trials tie, too, as by TER
            assert mine.ours == pytest.approx(results[theirs_of(mine.name)][1].score)
            assert mine.theirs == pytest.approx(results[theirs_of(mine.name)][0].score)
            assert mine.signature == str(signatures[theirs_of(mine.name)])
            found.add(mine.p_value)
    assert min(found) < 0.15 and max(found) > 0.4  # clear and unclear cases were both asked


def test_interval_holds_the_difference_and_is_signed() -> None:
    lines, good, _ = _make_systems(1)
    bad = [line.replace("cat", "dog").replace("house", "tree") for line in good]
    forward = compare_systems(good, bad, [lines], samples=200).differences
    backward = compare_systems(bad, good, [lines], samples=200).differences
    for there, back in zip(forward, backward, strict=True):
        assert 0 < there.low < there.difference < there.high
        assert there.difference == pytest.approx(there.ours - there.theirs)
        assert (back.low, back.high) == pytest.approx((-there.high, -there.low))
        assert there.p_value == back.p_value < 0.05


def test_a_system_against_itself_is_chance() -> None:
    lines, ours, _ = _make_systems(2)
    for test in get_args(Test):
        for same in compare_systems(ours, ours, [lines], samples=50, test=test).differences:
            assert (same.difference, same.low, same.high, same.p_value) == (0, 0, 0, 1)


def test_real_systems_differ(data: Path) -> None:
    """The winner of WMT21 English-German beats a system 20 points of chrF rank below it."""
    stem = str(data / "wmt21_metric_check" / "newstest2021.en-de.")
    ours, theirs, lines = (
        read_references(stem + name)[0]
        for name in ("hyp.Facebook-AI.de", "hyp.nuclear_trans.de", "ref.C.de")
    )
    [found] = compare_systems(ours, theirs, [lines], metrics=("BLEU",), samples=100).differences
    assert found.p_value == 1 / 101 and found.low > 0


def test_text_and_json_agree() -> None:
    lines, ours, theirs = _make_systems(3)
    found = compare_systems(ours, theirs, [lines], samples=20, seed=5)
    back = json.loads(json.dumps(found.to_json()))
    assert (back["samples"], back["seed"]) == (20, 5)
    text = str(found)
    assert "20 samples, seed 5" in text
    for entry in back["differences"]:
        assert f"{entry['difference']:+.2f}" in text and f"{entry['p_value']:.4f}" in text


def test_refuses_what_cannot_be_compared() -> None:
    with pytest.raises(ValueError, match="differ: 2 in the translations, 1 in reference set 1"):
        compare_systems(["a"], ["a", "b"], [["a"]])
    with pytest.raises(ValueError, match="no test 'jackknife'; there are bootstrap, random"):
        compare_systems(["a"], ["b"], [["a"]], test="jackknife")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="samples=0"):
        compare_systems(["a"], ["b"], [["a"]], samples=0)
