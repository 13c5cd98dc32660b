"""The title of V49 says what was measured of the drawn head, if the model is the measured one."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from glassformer.see import Trace
from glassformer.see.draw import draw, measured
from glassformer.see.files import fingerprint

RIDDLE = "The animal didn't cross the street because it was too tired."


@pytest.fixture(scope="module")
def riddle(see: Callable[..., Trace]) -> Trace:
    return see("post", RIDDLE, target="so")


def read_title(trace: Trace, **options: object) -> str:
    texts = draw(trace, "V49", query="it", **options).axes[0].texts  # type: ignore[union-attr]
    large = max(text.get_fontsize() for text in texts)
    return " ".join(text.get_text() for text in texts if text.get_fontsize() == large)


@pytest.fixture
def shares(riddle: Trace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[list[float]]:
    found = [[0.25, 0.5], [0.61, 0.43], [0.34, 0.99]]
    table = {
        "weights_sha256": fingerprint(riddle.parameters),
        "pairs": 50,
        "look": {"it reads the source": found},
        "genders": {"animal": "m", "street": "f"},
        "adjectives": ["tired"],
    }
    (tmp_path / "measured.json").write_text(json.dumps(table), encoding="utf-8")
    monkeypatch.setattr(measured, "MEASURED", tmp_path / "measured.json")
    return found


def test_the_share_of_the_drawn_head_is_told_beside_chance(
    riddle: Trace, shares: list[list[float]]
) -> None:
    for layer, row in enumerate(shares):
        for head, share in enumerate(row):
            title = read_title(riddle, layer=layer, head=head)
            assert f"at the right noun in {share:.0%}" in title
            assert "of 100 riddles (chance: 50%)" in title


@pytest.mark.usefixtures("shares")
@pytest.mark.parametrize(
    "text",
    [
        "so it is on the old mat",
        "The animal didn't cross the street because it was raining.",
        f"He said: {RIDDLE}",
    ],
)
def test_nothing_is_told_of_a_sentence_that_is_no_riddle(
    see: Callable[..., Trace], text: str
) -> None:
    assert "riddles" not in read_title(see("post", text, target="so"), layer=0, head=0)


@pytest.mark.usefixtures("shares")
def test_nothing_is_told_of_other_models(riddle: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measured, "fingerprint", lambda parameters: "another")
    assert "riddles" not in read_title(riddle, layer=0, head=0)
