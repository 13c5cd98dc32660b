"""What attention costs (V73): the curves meet where it says, and times are measured ones."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from glassformer.config import Config
from glassformer.extensions.pictures import PICTURES, costs
from glassformer.extensions.pictures.parts import style
from glassformer.extensions.pictures.parts.scene import BoxMark, PathMark, Scene
from glassformer.model.files.directory import Tokenizers, build_model
from glassformer.see import Trace
from glassformer.text.kinds import train_tokenizer
from glassformer.translator import Translator

LAYER = {"d_model": 12, "d_ff": 14, "heads": 2, "width": 6}  # of the recording
MEASURED = {"d_model": 64, "heads": 8, "d_ff": 256}
DECODED = ("rows", "together", "in_turn")
TOLD = {
    "machine": "a test bench",
    "layers": [
        {**LAYER, "lengths": [2, 4, 8], "attention": [1.0, 4.0, 16.0], "rest": [2.0, 2.5, 4.0]}
    ],
}


@pytest.fixture
def timed(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "costs.json"
    path.write_text(json.dumps(TOLD), encoding="utf-8")
    monkeypatch.setattr(costs, "TIMED", path)


def find_curves(scene: Scene, count: int) -> list[np.ndarray]:
    paths = [mark for mark in scene.marks if isinstance(mark, PathMark)]
    return [np.array(path.points) for path in paths if len(path.points) == count]


def cross(one: np.ndarray, two: np.ndarray) -> tuple[float, float]:
    """Where two curves with the same places across are at one height."""
    ahead = (one - two)[:, 1]
    after = next(n for n in range(1, len(ahead)) if ahead[n - 1] * ahead[n] <= 0)
    share = ahead[after - 1] / (ahead[after - 1] - ahead[after])
    x, y = one[after - 1] + share * (one[after] - one[after - 1])
    return float(x), float(y)


def find_dots(scene: Scene) -> list[tuple[float, float]]:
    boxes = [mark for mark in scene.marks if isinstance(mark, BoxMark)]
    return [box.area.middle for box in boxes if box.fill == style.INK and box.round]


def read(scene: Scene) -> list[str]:
    return [mark.text for mark in scene.texts]


@pytest.mark.parametrize("longest", [None, 100])
def test_the_curves_meet_at_the_dot_and_its_number(trace: Trace, longest: int | None) -> None:
    scene = PICTURES["V73"].scene(trace, longest=longest)
    curves = find_curves(scene, len(np.unique(np.linspace(1, longest or 76, 60).astype(int))))
    assert len(curves) == 2, "attention, and everything else together"
    x, y = cross(*curves)
    assert find_dots(scene) == [pytest.approx((x, y), abs=1.5)]
    # 4 L d d + 2 L d f = 2 L L d
    assert "38" in read(scene) and "38 tokens" in scene.title and 2 * 12 + 14 == 38
    left, right = curves[0][0, 0], curves[0][-1, 0]
    across = (x - left) / (right - left) * ((longest or 76) - 1) + 1
    assert across == pytest.approx(38, abs=0.5)


def test_an_axis_that_ends_before_has_no_dot(trace: Trace) -> None:
    scene = PICTURES["V73"].scene(trace, longest=20)
    assert find_dots(scene) == [] and "38" not in read(scene)


@pytest.mark.usefixtures("timed")
def test_times_are_those_that_were_measured(trace: Trace) -> None:
    """Not of the machine that draws, which may be busy; it is named."""
    scene = PICTURES["V73"].scene(trace)
    one, two = find_curves(scene, 3)
    heights = np.stack([one[:, 1], two[:, 1]])
    layer = TOLD["layers"][0]
    values = np.stack([layer["attention"], layer["rest"]])
    slope, offset = np.polyfit(values.ravel(), heights.ravel(), 1)
    np.testing.assert_allclose(heights, slope * values + offset, atol=1e-6)
    inks = {style.role(role).ink for role in costs.ROLES.values()}
    dots = [m.area.middle for m in scene.marks if isinstance(m, BoxMark) and m.fill in inks]
    assert dots == [pytest.approx(tuple(each[n])) for each in (one, two) for n in (1, 2)]
    assert {"attention: × 4.0", "all the rest: × 1.6"} <= {*read(scene)}
    assert "a test bench" in scene.description
    assert "From 4 to 8 tokens, attention takes 4.0 times as long" in scene.title
    assert "all the rest 1.6 times" in scene.title


@pytest.mark.usefixtures("timed")
def test_where_attention_grows_no_faster_the_title_counts(
    trace: Trace, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = {**TOLD["layers"][0], "attention": [1.0, 2.0, 3.0]}
    monkeypatch.setattr(costs, "read_timed", lambda settings: ("a test bench", told))
    assert PICTURES["V73"].scene(trace).title.startswith("Beyond 38 tokens")


def test_of_a_layer_that_was_not_measured_nothing_is_timed(trace: Trace) -> None:
    scene = PICTURES["V73"].scene(trace)
    assert "imed" not in scene.description + " ".join(read(scene))


def test_the_bars_of_decoding_are_what_was_measured(trace: Trace) -> None:
    """Of the number of rows nearest to that of the tokens drawn; rows in turn take longer."""
    scene = PICTURES["V72"].scene(trace)
    assert "core" not in scene.description, "no layer of this size was timed"
    demo = Translator.load("demo", device="cpu").see(
        "The animal didn't cross the street because it was too tired."
    )
    texts = [mark.text for mark in PICTURES["V72"].scene(demo).texts]
    assert len(demo.target) > 8 and any("8 rows through one decoder layer" in t for t in texts)
    for layer in json.loads(costs.TIMED.read_text(encoding="utf-8"))["layers"]:
        found = layer["decoding"]
        for rows, together, in_turn in zip(*map(found.get, DECODED), strict=True):
            assert rows < 4 or together < in_turn


def test_what_ships_was_not_disturbed() -> None:
    """A longer sentence takes longer; the layer of the model that ships is one of them."""
    found = json.loads(costs.TIMED.read_text(encoding="utf-8"))
    assert found["machine"] and found["layers"][0]["d_model"] == 64
    for layer in found["layers"]:
        for name in ("lengths", "attention", "rest"):
            assert all(a < b for a, b in pairwise(layer[name]))


@pytest.mark.parametrize("more", [{}, {"key_value_heads": 2}, {"gated": True}])
def test_products_are_counted_as_the_matrices_are(more: dict[str, Any]) -> None:
    """A token meets each number of a layer's matrices once."""
    shape = {"d_model": 16, "d_ff": 10, "heads": 4, "head_width": 3, "encoder_layers": 1}
    tokenizer = train_tokenizer(["a dog runs"], 300)
    config = Config.read({"model": {**shape, "decoder_layers": 1, **more}})
    model = build_model(config, Tokenizers(tokenizer, tokenizer))
    sizes = {"self_attention": 0, "feed_forward": 0}
    for name, each in model.named_parameters():
        if name.startswith("encoder.") and each.dim() == 2:
            sizes[next(key for key in sizes if f".{key}." in name)] += each.numel()
    counts = costs.count_products(1_000_000, config.model)
    assert counts["projections"] == sizes["self_attention"]
    assert counts["feed-forward"] == sizes["feed_forward"]
    assert costs.read_timed(Config.read({"model": MEASURED | more}).model) is None or not more
