"""The pictures from attention to training (V49-V91, V105): drawn, legible, and true."""

from __future__ import annotations

import ast
import io
import json
import math
import re
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

from glassformer.config import Config, Decode
from glassformer.extensions.pictures import learning, lessons
from glassformer.extensions.pictures.aligning import (
    find_aligner,
    find_aligning_head,
    measure_information,
)
from glassformer.extensions.pictures.alignment import (
    find_order,
    find_step_back,
    list_content_words,
    roll_out_layers,
)
from glassformer.extensions.pictures.attention import KINDS
from glassformer.extensions.pictures.beams import find_branch
from glassformer.extensions.pictures.choice import cut_off
from glassformer.extensions.pictures.code import BLOCKS, MODEL, list_ways, read_code
from glassformer.extensions.pictures.costs import count_products
from glassformer.extensions.pictures.decoding import _tell_settled, find_settled
from glassformer.extensions.pictures.lessons import learning_rate, smoothed_loss
from glassformer.extensions.pictures.masks import work_out
from glassformer.extensions.pictures.padding import score_padded
from glassformer.extensions.pictures.parts import style
from glassformer.extensions.pictures.parts.animate import Animation
from glassformer.extensions.pictures.parts.nodes import spell
from glassformer.extensions.pictures.parts.plan import Outline
from glassformer.extensions.pictures.parts.quantity import Quantity
from glassformer.extensions.pictures.parts.scene import BoxMark, GridMark, Scene
from glassformer.extensions.pictures.pictures import PICTURES, draw, list_pictures, make_scene
from glassformer.extensions.pictures.runs import (
    RunSentence,
    RunSnapshots,
    _read_lines,
    _read_origins,
    read_watched,
)
from glassformer.model.files.directory import Tokenizers, build_model, locate
from glassformer.see.document import AlignmentHead
from glassformer.see.recording import record
from glassformer.see.trace import Trace
from glassformer.text import Tokenizer
from glassformer.text.kinds import train_tokenizer
from glassformer.train.plan.schedule import rate
from glassformer.translator import Translator
from tools.toy_model import train_toy

from .test_scenes import check_layout

NAMES = {  # of what V105 draws
    "embedding": "target_embedding",
    "layer": "decoder.0",
    "attention": "decoder.0.self_attention",
}
LINES = ["the cat is on the mat", "it was too tired", "two birds sing in the old tree"] * 3
IDS = [f"V{n}" for n in range(49, 92)] + ["V105"]
SHAPES: dict[str, dict[str, Any]] = {
    "post": {"d_model": 32, "d_ff": 64, "heads": 4, "encoder_layers": 2, "decoder_layers": 3},
    "pre": {
        "d_model": 32,
        "d_ff": 48,
        "heads": 16,
        "encoder_layers": 12,
        "decoder_layers": 1,
        "norm": "pre",
        "activation": "gelu",
    },
    "marian": {
        "d_model": 32,
        "d_ff": 20,
        "heads": 4,
        "encoder_layers": 2,
        "decoder_layers": 3,
        "activation": "silu",
        "output_bias": True,
        "tie": "two-way",
        "positions": {"layout": "concatenated", "grid": "tensor2tensor"},
    },
    "least": {"d_model": 8, "d_ff": 8, "heads": 1, "encoder_layers": 1, "decoder_layers": 1},
}


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return train_tokenizer(LINES, 320)


@pytest.fixture(scope="module")
def make(tokenizer: Tokenizer) -> Callable[[str, str], Trace]:
    def record_one(shape: str, text: str) -> Trace:
        torch.manual_seed(3)
        config = Config.read({"model": SHAPES[shape]})
        pair = Tokenizers(tokenizer, tokenizer)
        model = build_model(config, pair)
        with torch.no_grad():
            model.output_table.weight.mul_(3)
        translator = Translator(config, pair, model, device="cpu")
        return record(translator, text, decode=Decode(beam=3, max_ratio=0, max_extra=9))

    return record_one


@pytest.fixture(scope="module")
def trace(make: Callable[[str, str], Trace]) -> Trace:
    return make("post", LINES[1])


def paint(drawn: Figure | Animation) -> Figure:
    """Draw it for good; a glyph that no font has is an error."""
    figure = drawn.figure if isinstance(drawn, Animation) else drawn
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure.set_dpi(30)
        FigureCanvasAgg(figure).print_png(io.BytesIO())
    return figure


def check_numbers(scene: Scene, trace: Trace) -> None:
    """Every printed number is its expression, to the digits that are printed."""
    for mark in scene.texts:
        if not mark.of:
            continue
        value = float(
            Quantity(mark.of, lambda name: scene.data[name] if name in scene.data else trace[name])
        )
        printed = re.search(r"(−?(?:∞|[\d\u202f]+(?:\.(\d+))?))( ?%|°)?$", mark.text)
        assert printed, (mark.of, mark.text)
        digits, scale = len(printed[2] or ""), 100 if "%" in (printed[3] or "") else 1
        near = {spell(scale * (value + d * 1e-6), digits) for d in (-1, 0, 1)}
        assert printed[1] in near, (mark.of, mark.text)


@pytest.mark.parametrize("id", IDS)
def test_it_is_drawn_and_its_numbers_are_true(trace: Trace, id: str) -> None:
    drawn = draw(trace, id)
    assert isinstance(drawn, Animation) == (PICTURES[id].kind == "animated")
    figure = paint(drawn)
    assert sum(len(ax.texts) + len(ax.patches) for ax in figure.axes) > 10
    check_numbers(figure.scene, trace)  # type: ignore[attr-defined]


@pytest.mark.thorough
@pytest.mark.parametrize("shape", ["pre", "marian", "least"])
def test_other_shapes_can_be_drawn(make: Callable[[str, str], Trace], shape: str) -> None:
    trace = make(shape, "it" if shape == "least" else LINES[2])
    for id in IDS if shape != "marian" else [picture.id for picture in list_pictures()]:
        scene = make_scene(trace, id)
        check_numbers(scene, trace)
        assert 2 < scene.width / 72 < 60 and 1 < scene.height / 72 < 60


LARGEST = 24  # inches


@pytest.mark.thorough
def test_a_long_recording_stays_a_page(tokenizer: Tokenizer) -> None:
    """A hundred tokens on each side; numbers stay true where tokens are left out."""
    torch.manual_seed(3)
    pair = Tokenizers(tokenizer, tokenizer)
    config = Config.read({"model": SHAPES["post"]})
    translator = Translator(config, pair, build_model(config, pair), device="cpu")
    text = " ".join(f"{LINES[2]} {LINES[0]}" for _ in range(5))
    trace = record(translator, text, decode=Decode(beam=3, max_ratio=0, max_extra=100))
    assert len(trace.source) > 60 and len(trace.target) > 60
    for id in IDS:
        scene = make_scene(trace, id)
        check_numbers(scene, trace)
        assert max(scene.width, scene.height) < 72 * LARGEST, id


def test_of_very_many_tokens_what_is_left_out_is_said(tokenizer: Tokenizer) -> None:
    pair = Tokenizers(tokenizer, tokenizer)
    config = Config.read({"model": SHAPES["post"]})
    translator = Translator(config, pair, build_model(config, pair), device="cpu")
    text = " ".join([LINES[0]] * 40)
    trace = record(translator, text, target=text)
    assert len(trace.source) > 200
    for id in ("V54", "V55", "V56", "V58", "V59", "V60", "V62", "V76", "V77", "V79"):
        assert "tokens are left out" in PICTURES[id].scene(trace).description, id


@pytest.mark.filterwarnings("ignore:Glyph")
@pytest.mark.thorough
def test_chinese_has_its_own_titles_and_notes(
    trace: Trace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The words, also where no font could draw them."""
    monkeypatch.setattr(
        "glassformer.extensions.pictures.parts.plan.check_language", lambda lang: None
    )
    monkeypatch.setattr(
        "glassformer.extensions.pictures.parts.fonts.make_writable", lambda text: text
    )
    monkeypatch.setattr(
        "glassformer.extensions.pictures.parts.typesetting.make_writable", lambda text: text
    )
    for id in IDS:
        drawn = draw(trace, id, lang="zh")
        figure = drawn.figure if isinstance(drawn, Animation) else drawn
        shown = [text.get_text() for text in figure.axes[0].texts]
        title = next(t for t in figure.axes[0].texts if t.get_fontsize() == style.TITLE)
        assert re.search(r"[\u4e00-\u9fff]", title.get_text()), (id, title)
        for text in shown:
            assert not re.search(r"\s(the|of|and|which)\s", text), (id, text)


@pytest.mark.parametrize("shape", ["post", "pre"])
def test_padding_changes_no_score_between_words(
    make: Callable[[str, str], Trace], shape: str
) -> None:
    """What is recomputed with padding is, between the words, what was recorded without."""
    trace = make(shape, LINES[1])
    scores, count = score_padded(trace, 1), len(trace.source)
    own = trace["encoder.0.self_attention.scores"][1]
    np.testing.assert_allclose(scores[:count, :count], own, atol=1e-4)
    assert np.isfinite(scores).all() and scores.shape[1] > count
    scene = PICTURES["V59"].scene(trace, head=1)
    shown = scene.data["weights"]
    np.testing.assert_allclose(
        shown[:, :count], trace["encoder.0.self_attention.weights"][1], atol=1e-5
    )
    assert (shown[:, count:] == 0).all() and np.isinf(scene.data["masked"][:, count:]).all()
    grids = sorted((m for m in scene.marks if isinstance(m, GridMark)), key=lambda m: m.step)
    assert [(m.step, m.until, bool(m.hidden)) for m in grids] == [
        (1, 0, False),
        (2, 4, False),  # bare, until what is hatched has come over it
        (3, 0, True),
        (4, 0, True),
    ]
    assert grids[1].area == grids[2].area and grids[1].layer < grids[2].layer


def test_a_batch_has_four_sentences_and_none_is_another_cut_short(trace: Trace) -> None:
    texts = [mark.text for mark in PICTURES["V61"].scene(trace).texts]
    assert texts.count("</s>") == 4 and "Thanks" in texts and "student" in texts


def test_the_worked_example() -> None:
    found = work_out()
    np.testing.assert_allclose(found["K"][0], [0.36, 0.15, 0.34], atol=1e-12)
    np.testing.assert_allclose(found["scores"][1], [0.588, 1.215, 1.148, 1.008], atol=5e-4)
    np.testing.assert_allclose(found["weights"][3], [0.2047, 0.2732, 0.2684, 0.2537], atol=5e-5)
    np.testing.assert_allclose(found["Z"][2], [0.6106, 0.2464, 0.7047], atol=5e-5)
    assert (found["weights"][np.triu_indices(4, 1)] == 0).all()


def test_information_is_none_where_rows_are_alike_and_most_on_a_diagonal() -> None:
    alike, diagonal = np.full((1, 5, 5), 0.2), np.eye(5)[None]
    assert measure_information(alike) == pytest.approx([0])
    assert measure_information(diagonal) == pytest.approx([math.log(5)])


def test_the_head_that_is_asked_for_is_kept(trace: Trace) -> None:
    assert find_aligning_head(trace, 1, 2) == (1, 2)
    assert find_aligning_head(trace, head=3)[1] == 3


def test_the_measured_aligner_is_drawn(trace: Trace) -> None:
    """That of `alignment.json`, which a recording has; not the head with most information."""
    assert trace.document.aligner is None
    found = find_aligner(trace)
    assert (found.layer, found.head) == find_aligning_head(trace)
    measured = AlignmentHead(layer=(found.layer + 1) % 3, head=None, row="reads")
    known = Trace(trace.document.model_copy(update={"aligner": measured}), trace.tensors)
    assert find_aligner(known) == measured and find_aligning_head(known)[0] == measured.layer
    scene = PICTURES["V54"].scene(known)
    name = f"decoder.{measured.layer}.cross_attention.weights"
    assert any(name in mark.of for mark in scene.marks) and "measured" in scene.description
    assert [mark.text for mark in scene.texts].count("<s>") == 1, "rows are what is read"
    assert f"decoder layer {measured.layer}" in PICTURES["V79"].scene(known).description
    edits = [{"do": "silence", "name": name, "head": 0}]
    edited = Trace(known.document.model_copy(update={"edits": tuple(edits)}), trace.tensors)
    assert find_aligner(edited) == found


def test_a_recording_knows_the_aligner_that_is_stored_with_the_model() -> None:
    folder = locate("demo")
    trace = record(Translator.load(folder, device="cpu"), "A cat.", level="attention")
    stored = json.loads((folder / "alignment.json").read_text(encoding="utf-8"))
    assert trace.document.aligner == AlignmentHead(
        **{k: stored[k] for k in ("layer", "head", "row")}
    )


def tell_order(written: list[str], source: list[str], weights: np.ndarray) -> tuple[str, ...]:
    step = find_step_back(written, source, weights)
    texts, keys = ([text.strip() for text in each] for each in (written, source))
    key, told = find_order(texts, keys, weights, step)
    return key, *map(str, told.values())


def test_of_an_alignment_the_order_is_told() -> None:
    source, written = [" a", " red", " apple", "."], [" une", " pomme", " rouge", "."]
    straight, turned = np.eye(4), np.eye(4)[[0, 2, 1, 3]]
    assert tell_order(written, source, straight) == ("straight", "3")
    late = np.eye(4)[[0, 1, 2, 0]]
    assert tell_order(written, source, late) == ("straight", "3"), "a mark is no word"
    assert tell_order(written[:1] + written[3:], source, straight[[0, 3]])[0] == "clear"
    assert tell_order(written, source, turned) == ("turned", "pomme", "rouge", "apple", "red")
    assert tell_order(written, source, np.full((4, 4), 0.25)) == ("blurred", "0", "4")


def test_a_head_that_misreads_turns_no_order() -> None:
    """A function word, a part of a word, and one source word for two do not show the order."""
    source = [" animal", " pas", " rue", " parce"]
    function_word = np.eye(4)[[1, 0, 2, 3]]
    assert tell_order([" The", " animal", " street", "."], source, function_word)[0] == "clear"
    assert tell_order([" beast", "ling", " street", "."], source, function_word)[0] == "clear"
    one_for_two = np.eye(4)[[0, 3, 2, 3]]
    written = [" animal", " never", " street", " since"]
    assert tell_order(written, source, one_for_two) == ("clear", "4", "4")
    source[1] = " jamais"
    assert tell_order(written, source, function_word)[0] == "turned"
    assert tell_order(written, source, 0.5 * function_word + 0.125)[0] == "clear", "too weak"
    assert list_content_words(["▁", "动物", "没有穿过街道", "，", "it"]) == {1, 2}


@pytest.mark.parametrize(
    ("model", "text", "head", "told", "row"),
    [
        ("demo", "The red car is in the old house.", {}, "“rouge” reads “red”", " rouge"),
        (
            "demo-fr-en",
            "L'animal n'a pas traversé la rue parce qu'il était trop fatigué.",
            {"layer": 2, "head": 5},
            "12 of 13 tokens",
            " didn't",
        ),
    ],
)
def test_the_callout_of_an_alignment_points_at_its_row(
    model: str, text: str, head: dict[str, int], told: str, row: str
) -> None:
    trace = Translator.load(model, device="cpu").see(text)
    scene = PICTURES["V54"].scene(trace, **head)
    weights = next(m for m in scene.marks if isinstance(m, GridMark))
    dot = next(m for m in scene.marks if isinstance(m, BoxMark) and m.fill == style.LIT)
    n = int((dot.area.middle[1] - weights.y) / weights.height * len(weights.values))
    assert told in scene.title and trace.predicted[n].text == row
    is_told = "ot a dictionary: “didn't” reads “parce”" in scene.description
    assert is_told == (row == " didn't")
    framed = [m for m in scene.marks if isinstance(m, BoxMark) and m.edge == style.LIT]
    assert len(framed) == sum(max(values) > 0.5 for values in weights.values)


def test_a_token_is_settled_where_it_stays_the_best() -> None:
    same = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [1, 1, 1, 0]], bool)
    assert find_settled(same) == [2, 1, 2, -1]


@pytest.mark.parametrize(
    ("settled", "told"),
    [
        ([0, 2, 2, 4], "3 of 4 tokens are settled by layer 2, all by layer 4"),
        ([0, 2, -1, 4], "2 of 4 tokens are settled by layer 2, 3 by layer 4"),
        ([1, 1, 1, -1], "3 of 4 tokens are settled by layer 1"),
        ([-1, -1], "What goes in, what is read, what comes out"),
    ],
)
def test_the_tokens_that_are_settled_are_counted(
    settled: list[int], told: str, trace: Trace
) -> None:
    assert _tell_settled(Outline("walk", trace, "en"), settled) == told


def test_every_place_that_is_counted_is_framed(trace: Trace) -> None:
    """One cell for what each head attends to most, however little that is."""
    scene = PICTURES["V51"].scene(trace)
    framed = [m for m in scene.marks if isinstance(m, BoxMark) and m.edge == style.LIT]
    assert len(framed) == trace.settings.heads
    count = len({round(mark.x, 3) for mark in framed})
    assert f"at {count} places" in scene.title or "at one place" in scene.title


def test_every_head_that_is_counted_is_framed(trace: Trace) -> None:
    scene = PICTURES["V53"].scene(trace)
    framed = [m for m in scene.marks if isinstance(m, BoxMark) and m.edge == style.LIT]
    told = [re.findall(r"\d+", m.text) for m in scene.texts if m.text.startswith("framed:")]
    count = {"encoder": trace.settings.encoder_layers, "decoder": trace.settings.decoder_layers}
    sure = [
        sum(
            int((trace[f"{side}.{n}.{kind}.weights"].max(-1).mean(-1) >= 0.5).sum())
            for n in range(count[side])
        )
        for side, kind in KINDS
    ]
    assert [int(n) for n, _ in told] == sure
    assert scene.title.startswith(f"In {sum(sure)} of ")
    assert 0 < sum(sure) == len(framed) < sum(int(count) for _, count in told)


def test_marks_that_a_title_does_not_count_are_framed_in_gray() -> None:
    """A comma that reads “it” is no step back of a word; of all clear rows some are framed so."""
    translator = Translator.load("demo-en-zh", device="cpu")
    trace = translator.see("The animal didn't cross the street because it was too tired.")
    scene = PICTURES["V54"].scene(trace)
    weights = next(m for m in scene.marks if isinstance(m, GridMark))
    ends = [m.area.bottom for m in scene.marks if isinstance(m, BoxMark) and m.edge == style.SOFT]
    high = weights.height / len(weights.values)
    rows = [round((end - weights.y) / high) - 1 for end in ends]
    assert rows and all(not trace.predicted[n].text.strip().isalnum() for n in rows)
    assert "，" in [trace.predicted[n].text for n in rows] and "Grey frames" in scene.description
    framed = [m for m in scene.marks if isinstance(m, BoxMark) and m.edge == style.LIT]
    assert re.search(rf"of {len(framed)} words none steps back", scene.title)


def test_a_number_of_a_table_is_said_where_it_is_shared(trace: Trace, other: Trace) -> None:
    for each, shared in ((trace, True), (other, False)):
        assert each.settings.tie == ("three-way" if shared else "none")
        texts = [mark.text for mark in PICTURES["V07"].scene(each).texts]
        assert ("same table" in texts) == shared


def test_what_is_cut_off_cannot_be_drawn(trace: Trace) -> None:
    """× also for all others, if top-k and top-p keep only what is listed."""
    listed = ["×", "×"]
    texts = [m.text for m in PICTURES["V83"].scene(trace, top_k=2, top_p=0.001).texts]
    assert texts[-texts[::-1].index("×") - 2 :][:2] == listed
    assert texts.count("×") == 6 + 7 + 2
    wide = [m.text for m in PICTURES["V83"].scene(trace, top_k=20, top_p=0.999).texts]
    assert "×" not in wide


def test_the_future_weighs_0(trace: Trace) -> None:
    """What is not written yet has the score −∞, but stands in a table of weights."""
    texts = [mark.text for mark in PICTURES["V76"].scene(trace).texts]
    n = len(trace.target)
    assert "−∞" not in texts and texts.count("0") == n * (n - 1) // 2


def test_a_callout_points_at_the_palest_row(trace: Trace) -> None:
    scene = PICTURES["V54"].scene(trace)
    weights = next(m for m in scene.marks if isinstance(m, GridMark))
    dot = next(m for m in scene.marks if isinstance(m, BoxMark) and m.fill == style.LIT)
    row = int((dot.area.middle[1] - weights.y) / weights.height * len(weights.values))
    assert "Only" in scene.title and row == np.argmin(np.max(weights.values, 1))


def test_rollout_rows_sum_to_one(trace: Trace) -> None:
    layers = [trace[f"encoder.{n}.self_attention.weights"] for n in range(2)]
    first, both = roll_out_layers(layers)
    mixed = [(weights.mean(0) + np.eye(len(first))) / 2 for weights in layers]
    np.testing.assert_allclose(first, mixed[0], atol=1e-6)
    np.testing.assert_allclose(both, mixed[1] @ mixed[0], atol=1e-6)
    np.testing.assert_allclose(both.sum(1), 1, atol=1e-6)


def test_the_path_through_the_tree_spells_the_translation(trace: Trace) -> None:
    assert trace.search is not None
    path = find_branch(trace.search)
    ids = [step[place].id for step, place in zip(trace.search.steps, path, strict=False)]
    assert ids == [token.id for token in trace.predicted]


@pytest.mark.parametrize(("k", "p"), [(2, 1.0), (5, 0.6), (5, 1.0)])
def test_cutting_off_is_the_smallest_set_that_reaches_p(k: int, p: float) -> None:
    share = np.array([0.4, 0.1, 0.3, 0.15, 0.05])
    kept = cut_off(np.log(share), k, p) > 0
    order = np.argsort(-share)
    count = min(k, next(n for n in range(1, 6) if share[order[:n]].sum() >= p - 1e-12))
    assert set(np.flatnonzero(kept)) == set(order[:count])


def test_the_learning_rate_is_the_trainings() -> None:
    settings = Config.read({"model": {"d_model": 256, "heads": 4}, "train": {"warmup": 400}})
    for step in (1, 399, 400, 5000):
        wanted = rate(step, settings.train, 256, 10_000)
        assert learning_rate(step, 256, 400) == pytest.approx(wanted)


def test_the_smoothed_loss_is_torchs_divergence() -> None:
    target = torch.tensor([0.9 + 0.1 / 6] + [0.1 / 6] * 5, dtype=torch.float64)
    found = torch.tensor([0.7] + [0.06] * 5, dtype=torch.float64)
    wanted = torch.nn.functional.kl_div(found.log(), target, reduction="sum").item()
    assert smoothed_loss(0.3, 0.1, 6) == pytest.approx(wanted)


def test_products_are_those_of_the_matrices() -> None:
    settings = Config.read({"model": {"d_model": 8, "heads": 2, "d_ff": 12}}).model
    counts = count_products(3, settings)
    assert counts["attention"] == pytest.approx(2 * (2 * 3 * 4 * 3) / 1e6)
    assert counts["projections"] == pytest.approx(4 * (3 * 8 * 8) / 1e6)
    assert counts["feed-forward"] == pytest.approx(2 * (3 * 8 * 12) / 1e6)


@pytest.mark.parametrize("shape", ["post", "pre"])
def test_beside_the_code_stands_what_it_computed(
    make: Callable[[str, str], Trace], shape: str
) -> None:
    """Of the way that this model takes, six lines, each as it stands in the code."""
    trace = make(shape, LINES[1])
    scene = PICTURES["V105"].scene(trace)
    grids = [mark for mark in scene.marks if isinstance(mark, GridMark)]
    assert len(grids) == len(BLOCKS) == 6 and ": 6 of them" in scene.title
    written = [mark.text for mark in scene.texts]
    code = "\n".join((MODEL / block[0]).read_text(encoding="utf-8") for block in BLOCKS)
    lines = [mark.text for mark in scene.texts if mark.mono and not mark.text.startswith("model/")]
    assert len(lines) == 6 and all(line in code for line in lines)
    legend = " ".join(written).partition("Letters, one for each axis: ")[2]
    letters = {*"".join(re.findall(r"_([A-Z]+)\b", " ".join(lines)))}
    assert {*re.findall(r"\b([A-Z]) [a-z]", legend)} == letters > {*"BHQM"}
    count = len(trace.target)
    assert f"4 × {count} × {count}" in written or f"16 × {count} × {count}" in written
    (shares,) = (grid for grid in grids if grid.scale == "share")
    np.testing.assert_allclose(np.sum(shares.values, axis=1), 1, atol=1e-5)
    assert not np.triu(shares.values, 1).any()


@pytest.mark.parametrize("post", [True, False])
def test_the_code_is_the_packages_own_without_the_ways_not_taken(trace: Trace, post: bool) -> None:
    ways = list_ways(trace.settings) | {"self.post": post}
    for file, name, *_ in BLOCKS:
        lines = read_code(file, name, ways)
        text = (MODEL / file).read_text(encoding="utf-8")
        ast.parse("\n".join(lines))
        assert all(line.strip() in text for line in lines)
        assert not any(line.startswith(("if ", "elif ", "else", '"""')) for line in lines)
        assert [line.startswith("return") for line in lines].count(True) == 1
    assert any("self.norm(sum_BLD)" in line for line in lines) == post


@pytest.mark.thorough
def test_the_toy_learns_and_what_ships_sums_to_one() -> None:
    run = read_watched()
    for number in range(len(run.steps)):
        for sentence in range(len(run.sentences)):
            np.testing.assert_allclose(run.share(number, sentence).sum(1), 1, atol=1e-5)
    assert run.loss(0, 1) > 1.5 and run.loss(-1, 1) < 0.05
    again = train_toy()
    assert again["vocabulary"] == run.vocabulary
    assert again["snapshots"][0]["loss"] == pytest.approx(json_loss(run), abs=1e-3)


def test_a_line_cut_in_two_is_left_out(tmp_path: Path) -> None:
    lines = tmp_path / "gradients.jsonl"
    lines.write_bytes(b'{"step": 1, "total": 0.5}\n{"step": 2, "tot\xc3')
    assert _read_lines(lines) == [{"step": 1, "total": 0.5}]


def json_loss(run: Any) -> float:
    """The mean over all tokens of both sentences, before training."""
    sizes = [len(each.reference_tokens) for each in run.sentences]
    return sum(run.loss(0, n) * size for n, size in enumerate(sizes)) / sum(sizes)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda t: draw(t, "V49", head=9), "head"),
        (lambda t: draw(t, "V49", layer=7), "layer"),
        (lambda t: draw(t, "V50", query="zebra"), "zebra"),
        (lambda t: draw(t, "V51", side="middle"), "side"),
        (lambda t: draw(t, "V54", head="best"), "head=best"),
        (lambda t: draw(t, "V65", sublayer="cross_attention"), "sublayer"),
        (lambda t: draw(t, "V86", watch="nowhere"), "nowhere"),
        (lambda t: draw(t, "V84", sentence=5), "sentence"),
    ],
)
def test_mistakes_are_told_in_one_sentence(
    trace: Trace, wrong: Callable[[Trace], object], said: str
) -> None:
    with pytest.raises(ValueError, match=said) as caught:
        wrong(trace)
    assert "\n" not in str(caught.value)


def test_a_token_has_one_colour_in_both_panels(trace: Trace) -> None:
    drawn = draw(trace, "V69")
    assert isinstance(drawn, Figure)
    found: dict[str, set[Any]] = {}
    for text in drawn.findobj(Text):
        if text.get_color() in style.HEADS:
            found.setdefault(text.get_text(), set()).add(text.get_color())
    assert found and all(len(colours) == 1 for colours in found.values())


def read_words(drawn: Figure | Animation) -> str:
    figure = drawn.figure if isinstance(drawn, Animation) else drawn
    return " ".join(text.get_text().replace("\n", " ") for text in figure.axes[0].texts)


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.3])
def test_wanted_rows_add_up_as_they_are_printed(trace: Trace, smoothing: float) -> None:
    sums: dict[str, float] = {}
    for mark in PICTURES["V85"].scene(trace, smoothing=smoothing).texts:
        if cell := re.fullmatch(r"((?:plain|smooth)\[\d+),\d+\]", mark.of):
            sums[cell[1]] = sums.get(cell[1], 0) + float(mark.text)
    assert len(sums) == 10
    assert [*sums.values()] == [pytest.approx(1, abs=1e-9)] * len(sums)


def test_a_model_in_training_is_drawn_half_way(trace: Trace) -> None:
    """Not where all is 1.00; another update if it is asked for."""
    scene, run = PICTURES["V86"].scene(trace), read_watched()
    wanted = run.share(run.steps.index(16), len(run.sentences) - 1)
    np.testing.assert_allclose(scene.data["share"], wanted)
    assert "16 updates" in scene.title and wanted.max() < 0.95
    assert "128 updates" in PICTURES["V86"].scene(trace, update=128).title


@pytest.mark.parametrize("learns", [True, False])
def test_what_is_learnt_is_a_diagonal(
    learns: bool, trace: Trace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The columns begin with the reference; the title speaks of a diagonal if there is one."""
    run = read_watched()
    if not learns:
        run = replace(run, steps=run.steps[:2], snapshots=run.snapshots[:2])
        monkeypatch.setattr(learning, "read_watched", lambda _: run)
    sentence = len(run.sentences) - 1
    wanted = run.sentences[sentence].reference_tokens
    assert run.names(sentence)[: len(wanted)] == [token.strip() for token in wanted]
    assert sorted(run.columns(sentence)) == list(range(len(run.vocabulary)))
    share = run.share(-1, sentence)
    assert np.array_equal(share.argmax(1), np.arange(len(wanted))) == learns
    assert ("a diagonal appears" in PICTURES["V87"].scene(trace).title) == learns


def make_own_run(is_whole: bool) -> RunSnapshots:
    """A reference of 30 tokens of 2000, beginning with " s" and "s".

    At first w7, which is not in it, has a half everywhere, and each right token more than the
    others of the reference. Then only the end is right, and "s" comes for " s". At last all are.
    """
    vocabulary = ["<pad>", "<s>", "</s>", " s", "s", *(f" w{n}" for n in range(5, 2000))]
    ids = [3, 4, *range(100, 127), 2]
    guessed = [[7] * 30, [4, *[7] * 28, 2], ids]
    snapshots: list[dict[str, np.ndarray]] = []
    for best in guessed:
        logits = np.zeros((30, 2000))
        logits[range(30), ids] += 2
        logits[range(30), best] = np.log(2100)
        logs = logits - np.log(np.exp(logits).sum(1, keepdims=True))
        top = np.argsort(-logs, 1, kind="stable")[:, :16]
        kept = {
            "top_ids": top.astype(np.int32),
            "top_log_probabilities": np.take_along_axis(logs, top, 1),
            "reference_log_probabilities": logs[range(30), ids],
        }
        kept = {"log_probabilities": logs} if is_whole else kept
        snapshots.append({f"0.{name}": array for name, array in kept.items()})
    sentence = RunSentence("a", "b", ["a", "</s>"], [vocabulary[id] for id in ids])
    return RunSnapshots([sentence], vocabulary, [0, 1, 2], snapshots, [])


def test_the_record_of_a_training_names_what_it_started_from(tmp_path: Path) -> None:
    assert _read_origins(tmp_path / "run.json") == []
    for content, names in (
        ({"data": ["a"], "parent": None}, []),
        ({"parent": {"name": "old", "tokens": "kept"}}, ["old"]),
        ({"initial": [{"name": "one"}, {"name": "two"}]}, ["one", "two"]),
    ):
        (tmp_path / "run.json").write_text(json.dumps(content), encoding="utf-8")
        assert _read_origins(tmp_path / "run.json") == names


@pytest.mark.parametrize("is_whole", [True, False])
def test_a_guess_is_the_most_probable_of_the_whole_vocabulary(
    is_whole: bool, trace: Trace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not of the columns, and a token is not the one that is spelled alike."""
    run = make_own_run(is_whole)
    for module in (learning, lessons):
        monkeypatch.setattr(module, "read_watched", lambda _: run)

    def show(id: str, **options: Any) -> Scene:
        scene = PICTURES[id].scene(trace, watch="own", **options)
        check_layout(scene)
        check_numbers(scene, trace)
        return scene

    for row, word in ((0, "▁s"), (29, "</s>")):
        title = show("V84", row=row).title
        assert title == f"Untrained, the model prefers “w7” (51.2 %) to “{word}” (0.2 %)"
    assert show("V84", row=0).title.startswith("Untrained")
    run = replace(run, origins=["old"])
    assert show("V84", row=0).title.startswith("Started from old, the model prefers “w7”")
    run = replace(run, steps=[4, 5, 6])
    assert show("V84", row=0).title.startswith("After 4 updates, the model prefers “w7”")
    run = make_own_run(is_whole)
    assert "1988 of 2000 tokens are left out" in show("V84").description
    assert "last column" not in show("V85").description
    assert show("V85").data["plain"].sum(1).tolist() == [1] * 30
    for update, sure in ((0, 0), (1, 1), (2, 30)):
        assert f"sure of {sure} of 30" in show("V86", update=update).title
    assert "29 of 30 guesses are wrong" in show("V90").description
    wanted, predicted = ([m for m in show("V90").texts if m.text == each] for each in ("▁s", "s"))
    assert len(wanted) == 2 and len(predicted) == 3
    assert "a diagonal appears" in show("V87").title
    run = replace(run, steps=run.steps[:1], snapshots=run.snapshots[:1])
    assert show("V87").title.startswith("In 0 updates the loss goes from")
    assert show("V90").title.startswith("However wrong")


@pytest.mark.parametrize("shape", ["pre", "post"])
def test_a_norm_is_drawn_or_said(make: Callable[[str, str], Trace], shape: str) -> None:
    """Of pre-norm a box before the sub-layer, and one behind the last layer of each stack."""
    trace = make(shape, LINES[1])
    scene = PICTURES["V65"].scene(trace)
    boxed = [text.text for text in scene.texts]
    assert ("LayerNorm" in boxed) == (shape == "pre") and "LayerNorm" in scene.description
    stacks = [text.text for text in PICTURES["V74"].scene(trace).texts]
    assert stacks.count("LayerNorm") == (2 if shape == "pre" else 0)


def test_hatching_is_explained_where_there_is_some(trace: Trace) -> None:
    for side, is_masked in (("encoder", False), ("decoder", True)):
        assert (
            "hatched: what comes later" in read_words(draw(trace, "V40", side=side))
        ) == is_masked


def test_the_identity_is_not_called_one(trace: Trace) -> None:
    assert "W_Q = W_V = I" in PICTURES["V57"].scene(trace).description.replace("$", "")


def test_one_hot_is_a_row_as_long_as_the_matrix_is_high(trace: Trace) -> None:
    """A product that conforms: its numbers stand side by side, each id beside a row of E too."""
    texts = PICTURES["V14"].scene(trace, query="too").texts
    cells = [text for text in texts if text.of.startswith("one_hot")]
    assert sorted(text.text for text in cells) == ["0"] * 6 + ["1"]
    assert len({text.y for text in cells}) == 1 and len({text.x for text in cells}) == 7
    lit = next(text.x for text in cells if text.text == "1")
    own = next(token.id for token in trace.source if token.text == " too")
    ids = [text for text in texts if text.text == str(own)]
    assert len(ids) == 2 and any(abs(id.area.middle[0] - lit) < 3 for id in ids)


def test_without_a_search_there_is_no_tree(trace: Trace) -> None:
    given = Trace(trace.document.model_copy(update={"search": None}), trace.tensors)
    with pytest.raises(ValueError, match="nothing was searched"):
        draw(given, "V82")
