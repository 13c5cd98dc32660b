"""V49 says what was measured of the drawn head or riddle, if the model is the measured one."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from glassformer.extensions.pictures import PICTURES, draw, measured
from glassformer.extensions.pictures.parts import style
from glassformer.extensions.pictures.parts.scene import BoxMark, GridMark, PathMark
from glassformer.see import Trace
from glassformer.see.files import fingerprint
from glassformer.translator import Translator

DOCS = Path(__file__).parents[4] / "docs"

RIDDLE = "The animal didn't cross the street because it was too tired."


@pytest.fixture(scope="module")
def riddle(see: Callable[..., Trace]) -> Trace:
    return see("post", RIDDLE, target="so")


def read_words(trace: Trace, **options: object) -> str:
    texts = draw(trace, "V49", **options).axes[0].texts  # type: ignore[union-attr]
    return " ".join(text.get_text() for text in texts)


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
            title = read_words(riddle, query="it", layer=layer, head=head)
            assert f"prefers the right noun in {100 * share:.0f} % of 100 riddles" in title
            assert "chance is 50 %" in title


@pytest.mark.usefixtures("shares")
@pytest.mark.parametrize(
    "text",
    [
        "so it is on the old mat",
        "The animal didn't cross the street because it was raining.",
        "The animal didn't see it because it was too tired.",
        f"He said: {RIDDLE}",
    ],
)
def test_nothing_is_told_of_a_sentence_that_is_no_riddle(
    see: Callable[..., Trace], text: str
) -> None:
    assert "riddles" not in read_words(see("post", text, target="so"), layer=0, head=0)


@pytest.mark.usefixtures("shares")
def test_nothing_is_told_of_other_models(riddle: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measured, "fingerprint", lambda parameters: "another")
    assert "riddles" not in read_words(riddle, query="it", layer=0, head=0)


@pytest.fixture(scope="module")
def shipped() -> Trace:
    return Translator.load("demo", device="cpu").see(RIDDLE)


def test_the_shipped_model_is_the_measured_one(shipped: Trace) -> None:
    """Its title would be lost without a word when weights or their names change."""
    found = json.loads(measured.MEASURED.read_text(encoding="utf-8"))
    assert found["weights_sha256"] == fingerprint(shipped.parameters)


def test_of_a_riddle_it_is_drawn_what_each_glance_is_worth(shipped: Trace) -> None:
    """The first picture that people see; its numbers are those of docs/pronoun.json."""
    study = json.loads((DOCS / "pronoun.json").read_text(encoding="utf-8"))
    shares = {each["cut"]: each["right"] for each in study["cut"]}
    scene = PICTURES["V49"].scene(shipped)
    printed = [mark for mark in scene.texts if mark.text.endswith((" %", " points"))]
    nouns = "the pronoun step -> the nouns, English and French"
    wanted = [study["right"], shares["it -> the nouns"], shares[nouns]]
    wanted.append(shares["the pronoun step -> the adjective"])
    bars = [mark for mark in printed if ":" not in mark.text]
    assert [mark.value for mark in bars] == wanted
    assert [mark.text for mark in bars] == ["100 %", "100 %", "55 %", "50 %"]
    lost = {mark.text: mark.value for mark in printed if ":" in mark.text}
    assert {*lost} == {"1: 0 points", "2: −45 points", "3: −50 points"}, "beside the arrows"
    assert len(printed) == len(bars) + len(lost), "one for each cut"
    assert [lost[text] for text in sorted(lost)] == pytest.approx(
        [share - study["right"] for share in wanted[1:]], abs=1e-9
    )
    assert f"{study['riddles']} sentences" in scene.description
    assert "Cut one glance, at “tired”" in scene.title
    asked = PICTURES["V49"].scene(shipped, query="it")
    assert "tell" in scene.title and "tell" not in asked.title


def test_below_the_words_stands_what_a_head_really_gives_them(shipped: Trace) -> None:
    scene, riddle = PICTURES["V49"].scene(shipped), measured.find_riddle(shipped)
    assert riddle is not None
    grids = [mark for mark in scene.marks if isinstance(mark, GridMark)]
    texts = [token.text.strip() for token in shipped.source]
    weights = [
        shipped[f"decoder.{n}.cross_attention.weights"][:, riddle.row]
        for n in range(shipped.settings.decoder_layers)
    ]
    at = texts.index("tired")
    layer, head = np.unravel_index(np.argmax([w[:, at] for w in weights]), (6, 8))
    shown = [mark.values[0][0] for mark in sorted(grids, key=lambda mark: mark.x)]
    assert shown == pytest.approx(weights[layer][head][:-1].tolist(), rel=1e-5)
    assert f"layer {layer}, head {head}" in scene.description


def test_the_pictures_of_a_poster_have_one_scale(shipped: Trace) -> None:
    scene = PICTURES["V113"].scene(shipped)
    assert min(mark.size for mark in scene.texts) > 9, "legible at one metre"
    topics = ["Tokens and their ids", "Word plus position", "One query, one row"]
    topics += [
        "The residual connection",
        "The first word",
        "Cross-attention",
        "From a vector to a word",
    ]
    found = [
        next(m for m in scene.texts if m.text == topic and m.ink == style.TOPIC) for topic in topics
    ]
    assert len({round(mark.size, 6) for mark in found}) == 1
    badges = [mark for mark in scene.texts if mark.text in "1234567" and mark.size == 15]
    assert [mark.text for mark in badges] == list("1234567")
    for badge, topic in zip(badges, found, strict=True):
        assert 0 < topic.area.y - badge.area.y < 30, "each beside its own picture"
    lines = [mark for mark in scene.marks if isinstance(mark, PathMark) and mark.ink == style.TOPIC]
    assert len(lines) == len({line.points[0][0] for line in lines}) == 2, "one a column"


def test_one_word_is_followed_down_a_poster(shipped: Trace) -> None:
    told = {mark.of: mark.text for mark in PICTURES["V113"].scene(shipped).texts}
    titles = [mark.text for mark in PICTURES["V113"].scene(shipped).texts if mark.size > 15]
    assert told and sum("“it”" in title for title in titles) >= 2
    assert sum("“rue”" in title for title in titles) == 2, "where it looks, and the choice"


def test_a_poster_of_one_word_follows_a_word() -> None:
    scene = PICTURES["V113"].scene(Translator.load("demo", device="cpu").see("Yes"))
    titles = [mark.text for mark in scene.texts if mark.size > 15]
    assert any(title.startswith("Writing “B”") for title in titles)
    assert not [title for title in titles if "</s>" in title]


def test_a_poster_of_several_sentences_says_which_it_shows() -> None:
    text = f"{RIDDLE} The old farmer did not eat the red apple because it was too sour."
    trace = Translator.load("demo", device="cpu").see(text, sentence=1)
    texts = PICTURES["V113"].scene(trace).texts
    told = " ".join(mark.text for mark in texts)
    assert "inside: part 2 of 2, “The old farmer did" in told
    assert text in told and f"→ {trace.whole_translation}" in told
    (size,) = {mark.size for mark in texts if mark.text.startswith(("The animal", "→ L'animal"))}
    assert size >= 22


def test_a_space_that_comes_first_is_called_one() -> None:
    trace = Translator.load("demo-en-zh", device="cpu").see(RIDDLE)
    assert trace.predicted[0].text.strip() == ""
    for lang, told in (("en", "▁ is a space"), ("zh", "▁ 是空格")):
        assert told in PICTURES["V74"].scene(trace, lang=lang).description


def test_a_riddle_is_read_with_the_other_adjective(shipped: Trace) -> None:
    """V18 follows the pronoun from "tired" to "wide", and nothing but context differs."""
    scene = PICTURES["V18"].scene(shipped)
    told = "Change “tired” to “wide”: the pronoun turns, the vector of “it” moves by 5 %"
    assert scene.title == told
    shares = [m.value for m in scene.texts if m.value is not None and m.text.endswith(" %")]
    assert shares[:2] == pytest.approx([0, 0], abs=1e-6)
    assert shares == pytest.approx(sorted(shares), abs=0.01) and shares[-1] > 0.01
    wide = Translator.load("demo", device="cpu").see(RIDDLE.replace("tired", "wide"))
    texts = [mark.text for mark in scene.texts]
    row = next(n for n, each in enumerate(wide.predicted) if each.text == " qu'elle")
    for each, pronoun in ((shipped, "qu'il"), (wide, "qu'elle")):
        logits = each["logits"][row].astype(float)
        sure = float(np.exp(logits.max() - np.logaddexp.reduce(logits)))
        assert pronoun in texts and each.predicted[row].text.strip() == pronoun
        printed = [m.value for m in scene.texts if m.of.startswith("sure_")]
        assert any(value == pytest.approx(sure, abs=1e-5) for value in printed)
    assert shares[-1] < 0.1, "the title says only"


def test_a_smoothed_target_is_named_only_where_it_is_met(shipped: Trace, riddle: Trace) -> None:
    costs = [-each.log_prob for each in shipped.predictions]
    assert max(costs) < 1.5 * np.median(costs) and abs(np.median(costs) + np.log(0.9)) < 0.01
    scene = PICTURES["V88"].scene(shipped)
    assert scene.title.startswith("Smoothed targets aim at 0.90")
    assert [m.value for m in scene.texts if m.of.startswith("-log_prob")] == pytest.approx(costs)
    (line,) = {m.points[0][0] for m in scene.marks if isinstance(m, PathMark) and m.dashed}
    numbers = [m.area.x for m in scene.texts if m.of.startswith("-log_prob")]
    assert min(numbers) - line >= 6
    top = min(m.area.y for m in scene.marks if isinstance(m, PathMark) and m.dashed)
    (dot,) = (m.area for m in scene.marks if isinstance(m, BoxMark) and m.fill == style.LIT)
    assert dot.middle[0] == pytest.approx(line) and abs(dot.middle[1] - top) < 4
    for other in (PICTURES["V88"].scene(riddle), PICTURES["V88"].scene(shipped, smoothing=0.3)):
        assert "Smoothed targets" not in other.title and "asks for" not in other.description
