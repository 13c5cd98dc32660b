"""The pictures of recurrent networks (V92-V102, V02, V72): legible, and true."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from glassformer.config import Config
from glassformer.extensions.pictures import PICTURES, Animation, draw
from glassformer.extensions.pictures.gallery import gallery
from glassformer.extensions.pictures.parts import style
from glassformer.extensions.pictures.parts.kinds import find_lost, find_meaning
from glassformer.extensions.pictures.parts.scene import BoxMark, PathMark, Scene
from glassformer.extensions.pictures.pictures import Picture, find_picture, list_pictures
from glassformer.extensions.pictures.rnn import lengths
from glassformer.extensions.pictures.rnn.cell import KEEPING
from glassformer.foundation.disk import read_json
from glassformer.model.files.directory import SHIPPED, Tokenizers, build_model
from glassformer.see import Trace, record
from glassformer.text.kinds import train_tokenizer
from glassformer.translator import Translator

from .test_scenes import LANGS, check_layout, check_numbers

LINES = ["the cat is on the mat", "a dog runs", "two birds sing in the old tree", "so it is"]
LONG = " ".join(["the cat is on the mat", "two birds sing in the old tree", "a dog runs"] * 4)
SHAPES: dict[str, dict[str, Any]] = {
    "plain": {"rnn": {"cell": "gru", "attention": "none", "bidirectional": False}},
    "gru": {"rnn": {"cell": "gru", "attention": "general", "bidirectional": False}},
    "both": {"rnn": {"cell": "gru", "attention": "general", "bidirectional": True}},
    "lstm": {
        "encoder_layers": 2,
        "decoder_layers": 2,
        "rnn": {"cell": "lstm", "attention": "additive", "input_feeding": True},
    },
}
ATTENDS = ("V97", "V98", "V99", "V100", "V101")
IDS = [picture.id for picture in list_pictures("rnn")]
TIRED = "The animal didn't cross the street because it was too tired."
TEXTS = {"usual": "so it is on the old mat", "least": "so", "long": LONG}


@pytest.fixture(scope="module")
def see_recurrent() -> Callable[[str, str], Trace]:
    tokenizer = train_tokenizer(LINES * 4, 340)
    kept: dict[tuple[str, str], Trace] = {}

    def make(shape: str, text: str) -> Trace:
        if (shape, text) not in kept:
            torch.manual_seed(3)
            sizes = {"d_model": 16, "encoder_layers": 1, "decoder_layers": 1} | SHAPES[shape]
            config = Config.read({"model": {"network": "rnn", **sizes}})
            tokenizers = Tokenizers(tokenizer, tokenizer)
            translator = Translator(
                config, tokenizers, build_model(config, tokenizers), device="cpu"
            )
            kept[shape, text] = record(translator, text, target=text)
        return kept[shape, text]

    return make


@pytest.fixture(scope="module")
def shipped() -> Trace:
    model = Translator.load(SHIPPED / "demo-rnn-attention", device="cpu")
    return model.see("The animal did not cross the street because it was too tired.")


def draw_scene(id: str, trace: Trace, **options: Any) -> Scene:
    return find_picture(id, "rnn").scene(trace, **options)


def test_the_pictures_of_a_recurrent_network() -> None:
    measured = [
        "V107",
        "V108",
        "V109",
        "V110",
        "V111",
        "V114",
        "V117",
        "V119",
        "V120",
        "V121",
    ]  # of no recording
    assert ["V02", "V72", *(f"V{n}" for n in range(92, 103)), *measured] == IDS
    assert find_picture("V02").scene is not find_picture("V02", "rnn").scene
    assert "V102" in [picture.id for picture in list_pictures("transformer")]
    kinds = ("transformer", "rnn", "decoder", "encoder")
    assert set(PICTURES) == {p.id for name in kinds for p in list_pictures(name)}


TRIED = [("plain", "usual"), ("gru", "least"), ("gru", "long"), ("lstm", "usual")]
COVERED = [  # all pairs of a picture, a recording and a language
    (id, shape, which, LANGS[(row + column) % len(LANGS)])
    for row, id in enumerate(IDS)
    for column, (shape, which) in enumerate(TRIED)
]


@pytest.mark.parametrize(("id", "shape", "which", "lang"), COVERED)
def test_layout_and_numbers(
    id: str, shape: str, which: str, lang: str, see_recurrent: Callable[[str, str], Trace]
) -> None:
    trace = see_recurrent(shape, TEXTS[which])
    if id in ATTENDS and shape == "plain":
        with pytest.raises(ValueError, match=r"^this network has rnn\.attention=none"):
            draw(trace, id)
        return
    scene = draw_scene(id, trace, lang=lang)
    check_layout(scene)
    check_numbers(scene, trace)
    assert all(mark.step <= len(scene.captions) for mark in scene.marks)
    assert bool(scene.captions) == (find_picture(id, "rnn").kind == "animated")
    json.dumps(scene.to_json(), allow_nan=False)


def test_pictures_of_another_network_are_refused(shipped: Trace, trace: Trace) -> None:
    with pytest.raises(ValueError, match=r"^V54 shows a Transformer, but this is a recurrent"):
        draw(shipped, "V54")
    with pytest.raises(ValueError, match=r"^V97 shows a recurrent network, but this is a Transf"):
        draw(trace, "V97")


@pytest.mark.parametrize("id", ["V02", "V95", "V96", "V97"])
def test_no_row_is_the_last_state_of_an_encoder_that_reads_both_ways(
    id: str, see_recurrent: Callable[[str, str], Trace]
) -> None:
    trace = see_recurrent("both", TEXTS["usual"])
    assert not np.allclose(trace["encoder.0.final"][0], trace["encoder.0.output"][-1])
    with pytest.raises(ValueError, match=rf"^{id} shows an encoder that reads forwards only"):
        draw(trace, id)
    draw(trace, "V93")


@pytest.mark.thorough
def test_a_gallery_has_the_pictures_of_the_network(shipped: Trace, tmp_path: Path) -> None:
    made = gallery(shipped, tmp_path, moving=False)
    assert [path.stem for path in made[:-1]] == IDS
    assert "Before the Transformer" in made[-1].read_text(encoding="utf-8")


@pytest.mark.parametrize("shape", ["gru", "lstm"])
def test_the_cell_keeps_what_its_gate_says(
    shape: str, see_recurrent: Callable[[str, str], Trace]
) -> None:
    trace = see_recurrent(shape, TEXTS["usual"])
    gate = trace[f"encoder.0.forward_cell.{KEEPING[SHAPES[shape]['rnn']['cell']]}"]
    kept = gate.mean(-1)
    least = kept[:-1].argmin()
    assert f"{100 * kept[least]:.0f} %" in draw_scene("V94", trace).title
    wires = [m for m in draw_scene("V94", trace).marks if isinstance(m, PathMark)]
    assert sum(len(wire.points) == 4 and not wire.fill for wire in wires) >= 3
    asked = draw_scene("V94", trace, query=0)
    assert f"{100 * kept[0]:.0f} %" in asked.title and trace.source[0].text.strip() in asked.title


def test_the_last_state_alone_is_handed_over(see_recurrent: Callable[[str, str], Trace]) -> None:
    trace = see_recurrent("plain", TEXTS["usual"])
    name = "encoder.0.output"
    assert np.array_equal(trace["encoder.0.final"][0], trace[name][-1])
    assert np.array_equal(trace["decoder.0.cell.before"][0], trace[name][-1])
    rows = [mark for mark in draw_scene("V02", trace).marks if mark.of.startswith(name)]
    assert [mark.alpha for mark in rows] == [0.3] * (len(trace.source) - 1) + [1.0]
    assert str(len(trace.source)) in draw_scene("V02", trace).title


def test_the_worked_example(shipped: Trace) -> None:
    texts = [mark.text for mark in draw_scene("V99", shipped).texts]
    assert [texts.count(text) for text in ("13", "9", "96 %", "2 %")] == [1, 2, 1, 2]
    names = ("scores", "weights")
    scores, weights = (shipped[f"decoder.0.cross_attention.{name}"][0] for name in names)
    at = [token.text.strip() for token in shipped.predicted].index("traversé")
    first, second = np.sort(scores[at])[:-3:-1]
    assert weights[at].max() > 0.99
    gap = f"{first - second:.0f}"
    assert draw_scene("V99", shipped).title == f"“cross” leads by {gap} and gets 100 %"


def test_the_columns_of_the_dance_are_the_verbs_of_its_title(shipped: Trace) -> None:
    scene = draw_scene("V100", shipped)
    verbs = re.findall(r"\w+", scene.title.partition(": ")[2].partition(";")[0])
    heads = [mark.text for mark in scene.texts if re.match(r"\d [a-z]", mark.text)]
    assert [head.rstrip(": ") for head in heads] == [f"{n} {v}" for n, v in enumerate(verbs, 1)]


def test_a_wrong_adjective_is_told_in_english() -> None:
    trace = Translator.load("demo-rnn", device="cpu").see(TIRED)
    assert "en colère" in trace.translation
    assert "(“en colère” = angry)" in draw_scene("V92", trace).description
    assert [find_meaning(text) for text in ("fatigué", "en colère", "-", "rue")] == [
        "tired",
        "angry",
        "",
        "",
    ]


@pytest.mark.parametrize(("shape", "paper"), [("gru", "Luong"), ("lstm", "Bahdanau")])
def test_the_paper_of_the_scores_is_named(
    shape: str, paper: str, see_recurrent: Callable[[str, str], Trace]
) -> None:
    """General scores are Luong et al.'s, additive ones Bahdanau et al.'s."""
    told = draw_scene("V99", see_recurrent(shape, TEXTS["usual"])).description
    assert re.findall("Luong|Bahdanau", told) == [paper]


def test_the_last_state_becomes_the_context(see_recurrent: Callable[[str, str], Trace]) -> None:
    """The line to it begins level with the reading cells, right of the last one."""
    scene = draw_scene("V96", see_recurrent("plain", TEXTS["usual"]))
    (line,) = (mark for mark in scene.marks if isinstance(mark, PathMark) and len(mark.points) == 5)
    cells = [mark.area for mark in scene.texts if mark.text == "cell"]
    first = [area for area in cells if area.y == cells[0].y]
    assert first[0].y < line.points[0][1] < first[0].bottom
    assert line.points[0][0] > max(area.right for area in first)


def test_the_least_sure_token_is_pointed_at(shipped: Trace) -> None:
    """The callout ends at the probability of that token; the title is about the network."""
    least = min(shipped.predictions, key=lambda each: each.log_prob)
    assert np.exp(least.log_prob) < 0.9
    scene = draw_scene("V92", shipped)
    (number,) = (m for m in scene.texts if m.value == pytest.approx(np.exp(least.log_prob)))
    (dot,) = (m for m in scene.marks if isinstance(m, BoxMark) and m.fill == style.LIT)
    assert dot.y == pytest.approx(number.y, abs=8)
    assert f"All {len(shipped.source)} tokens are read" in scene.title


def test_the_step_that_is_shown_looks_at_a_word(shipped: Trace) -> None:
    weights = shipped["decoder.0.cross_attention.weights"][0]
    texts = [token.text.strip() for token in shipped.predicted]
    at = texts.index("fatigué")
    title = draw_scene("V98", shipped, query="fatigué").title
    best = shipped.source[int(weights[at].argmax())].text.strip()
    assert best == "tired"
    assert (
        title
        == f"To write “fatigué”, the decoder looks at “tired”: {weights[at].max():.0%}".replace(
            "%", " %"
        )
    )
    steps = draw_scene("V101", shipped).title
    assert weights.max(-1).min() > 0.99 and f"Each of {len(weights)} steps" in steps


@pytest.mark.parametrize(
    ("source", "translation", "lost"),
    [
        ("It was too tired.", "Il était dans la rue, trop en colère.", ("tired", "fatigué")),
        ("It was too tired.", "Elle était dans la rue, trop fatiguée.", None),
        ("It was too hungry.", "Il était dans la rue, trop fatigué.", None),
        ("It was too tired.", "它太宽了。", None),
    ],
)
def test_an_adjective_is_lost_if_no_form_of_its_translation_is_there(
    source: str, translation: str, lost: tuple[str, str] | None
) -> None:
    assert find_lost(source, translation) == lost


@pytest.mark.parametrize("falls", [True, False])
def test_the_title_of_long_sentences_is_what_was_measured(
    falls: bool, shipped: Trace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The share that is right falls with a fixed vector, or not."""
    bins = [{"name": n, "length": x, "lines": 90} for n, x in (("1-6", 6.0), ("61-80", 70.0))]
    names = ("rnn", "rnn-attention", "transformer")
    shares = {name: [0.9, 0.31 if falls and name == "rnn" else 0.9] for name in names}
    others = {"bins": bins, "shares": shares}
    because = {"bins": bins[1:], "shares": {name: [0.7] for name in names}, "of_corpus": 0.25}
    both = [bins[0], bins[1] | {"lines": 180}]
    known = {"bins": both, "shares": shares, "others": others, "because": because}
    monkeypatch.setattr(lengths, "read_json", lambda path: {"machine": "M", "known": known})
    scene = draw_scene("V102", shipped)
    assert "90 %" in scene.title and ("31 %" in scene.title) == falls
    for told in ("270 held-out", "90 of the 180", "70 % of them", "25 % of the training"):
        assert told in scene.description


def test_long_sentences_have_a_whole_axis_and_their_spread(shipped: Trace) -> None:
    scene = draw_scene("V102", shipped)
    texts = [mark.text for mark in scene.texts]
    assert "0" in texts and "100" in texts
    upright = [
        mark
        for mark in scene.marks
        if isinstance(mark, PathMark) and len({round(x, 3) for x, _ in mark.points}) == 1
    ]
    known = read_json(lengths.MEASURED)["known"]
    bins = [*known["bins"], *known["others"]["bins"]]
    dots = 3 * sum(each["lines"] >= lengths.FEW for each in bins)
    assert len([mark for mark in upright if mark.line == 1.2]) == dots
    assert "trained once" in scene.description


@pytest.mark.parametrize("falls", [True, False])
def test_what_the_source_is_worth_is_what_was_measured(
    falls: bool, shipped: Trace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is the difference of two losses; the mean and the spread are of the trainings."""
    bins = [{"name": n, "length": x} for n, x in (("1-10", 7.0), ("61-80", 70.0))]
    runs = [
        {
            "network": name,
            "bins": [
                {"loss": 2.0, "loss_of_others": 3.0 + seed, "tokens": 10.0},
                {
                    "loss": 2.5,
                    "loss_of_others": 2.62 if falls and name == "rnn" else 3.5,
                    "tokens": 100.0,
                },
            ],
        }
        for name in lengths.ROLES
        for seed in (0.1, 0.3)
    ]
    found = {"machine": "M", "lines": 9, "seconds": 60.0, "bins": bins, "runs": runs}
    monkeypatch.setattr(lengths, "read_json", lambda path: found)
    scene = draw_scene("V117", shipped)
    assert ("12.0 to 12.0 nats" in scene.title) == falls
    assert ("12.0 to 100.0 nats" in scene.title) != falls
    assert scene.title.endswith("attention 12 to 100")
    assert "9 lines" in scene.description and "2 trainings" in scene.description


def test_what_was_measured_is_whole() -> None:
    found = read_json(lengths.MEASURED)
    assert found["lines"] >= 200 and len(found["runs"]) == 3 * len(lengths.ROLES)
    assert {run["network"] for run in found["runs"]} == set(lengths.ROLES)
    for run in found["runs"]:
        assert len(run["bins"]) == len(found["bins"]) == 6
        assert 9e5 < run["parameters"] < 1.1e6
    known = found["known"]
    for kind in (known, known["because"], known["others"]):
        assert all(len(shares) == len(kind["bins"]) for shares in kind["shares"].values())
    parts = [each for kind in ("because", "others") for each in known[kind]["bins"]]
    assert sum(each["lines"] for each in parts) == sum(each["lines"] for each in known["bins"])


def test_an_animation_begins_complete_and_is_short(shipped: Trace) -> None:
    drawn = draw(shipped, "V101")
    assert isinstance(drawn, Animation)
    assert sum(drawn.frames()) <= 15.01
    pictures: list[Picture] = list_pictures("rnn")
    assert {p.id for p in pictures if p.kind == "animated"} == {
        *("V92", "V94", "V95", "V96", "V97", "V99", "V100", "V101")
    }
