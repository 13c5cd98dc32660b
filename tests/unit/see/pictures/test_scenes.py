"""Figures that are said: their layout, their numbers, their words, in every language and size."""

from __future__ import annotations

import json
import re
from base64 import b64decode
from collections.abc import Callable
from functools import cache
from io import BytesIO
from itertools import combinations
from xml.etree import ElementTree

import numpy as np
import pytest
from fontTools.ttLib import TTFont

from glassformer.extensions.pictures import PICTURES
from glassformer.extensions.pictures.parts import embedding, style
from glassformer.extensions.pictures.parts.fonts import MONO, SANS, find_family
from glassformer.extensions.pictures.parts.nodes import spell
from glassformer.extensions.pictures.parts.plan import read_figure_words
from glassformer.extensions.pictures.parts.quantity import Quantity
from glassformer.extensions.pictures.parts.scene import Area, GridMark, PathMark, Scene, TextMark
from glassformer.extensions.pictures.parts.svg import write_svg
from glassformer.extensions.pictures.pictures import list_pictures
from glassformer.extensions.pictures.poster import A1
from glassformer.see import Trace

SAID = [picture.id for picture in list_pictures()]
LANGS = ["en", *(["zh"] if find_family("图") else [])]
LONG = " ".join(["the cat is on the mat", "two birds sing in the old tree"] * 4)


@pytest.fixture(scope="module")
def traces(see: Callable[..., Trace], trace: Trace, other: Trace) -> dict[str, Trace]:
    """A sentence, the smallest, and one of many tokens in both languages."""
    return {"usual": trace, "least": other, "long": see("post", LONG, target=LONG)}


def check_layout(scene: Scene) -> None:
    """No text covers another, nothing leaves the page, and the page fits a column."""
    widest = scene.width if scene.width == A1[0] else style.WIDEST
    assert style.NARROWEST - 1e-6 <= scene.width <= widest + 1e-6
    page = Area(0, 0, scene.width, scene.height).grow(-4)
    for mark in scene.marks:
        assert page.holds(mark.area), f"{mark} leaves the page"
    every = (each for each in scene.marks if isinstance(each, TextMark) and not each.until)
    resting = [mark for mark in every if mark.text.strip()]
    for one, two in combinations(resting, 2):
        if one.area.grow(-0.5).meets(two.area.grow(-0.5)):
            assert is_run_on(one, two), f"{one.text!r} covers {two.text!r}"
    check_lines(scene, resting)


def check_lines(scene: Scene, resting: list[TextMark]) -> None:
    """No callout's line runs through a text, and no text hangs over the edge of a matrix."""
    for mark in scene.marks:
        if isinstance(mark, PathMark) and (mark.layer, mark.ink, mark.line) == (7, style.LIT, 1.0):
            for text in resting:
                assert not mark.area.meets(text.area.grow(-0.5)), f"through {text.text!r}"
        if isinstance(mark, GridMark):
            for text in resting:
                here = text.area.grow(-1.5)
                assert mark.area.holds(here) or not mark.area.meets(here), f"edge: {text.text!r}"


def is_run_on(one: TextMark, two: TextMark) -> bool:
    """Return whether two texts are parts of one line, such as a letter and its index."""
    left, right = sorted((one, two), key=lambda mark: mark.area.x)
    return right.area.x > left.area.right - 1.5


def check_numbers(scene: Scene, trace: Trace) -> int:
    """Each printed number is its expression, computed anew, to the digits that are printed."""
    checked = 0
    for mark in scene.texts:
        if not mark.of:
            ends = re.search(r"(^|\s|= )−?\d+\.\d+$", mark.text)
            is_title = mark.id == "head"  # its lines end where there is room, at a number too
            assert is_title or not ends, f"{mark.text}: from where?"
            continue
        fetch = lambda name: scene.data[name] if name in scene.data else trace[name]  # noqa: E731
        value = float(Quantity(mark.of, fetch))
        printed = re.search(r"(−?[\d\u202f]+(?:\.(\d+))?|−∞)( ?%|°)?$", mark.text)
        assert printed, (mark.text, mark.of)
        digits, scale = len(printed[2] or ""), 100 if "%" in (printed[3] or "") else 1
        near = {spell(scale * (value + d * 1e-6), digits) for d in (-1, 0, 1)}
        assert printed[1] in near, (mark.text, mark.of, value)
        checked += 1
    return checked


# Every picture of every recording, every picture in every language, and so on: all pairs.
COVERED = [
    (id, which, LANGS[(row + column) % len(LANGS)])
    for row, id in enumerate(SAID)
    for column, which in enumerate(("usual", "least", "long"))
]


@pytest.mark.parametrize(("id", "which", "lang"), COVERED)
def test_layout_and_numbers(id: str, which: str, lang: str, traces: dict[str, Trace]) -> None:
    if PICTURES[id].needs == "search" and traces[which].search is None:
        pytest.skip("its translation was given")
    scene = PICTURES[id].scene(traces[which], lang=lang)  # type: ignore[misc]
    check_layout(scene)
    check_numbers(scene, traces[which])


@pytest.fixture(scope="module")
def find_scene(trace: Trace) -> Callable[[str], Scene]:
    """Return a function that composes a picture when it is first asked for."""
    return cache(lambda id: PICTURES[id].scene(trace))


@pytest.mark.parametrize("id", SAID)
def test_a_scene_is_json_that_says_its_finding(id: str, find_scene: Callable[[str], Scene]) -> None:
    scene = find_scene(id)
    told = json.loads(json.dumps(scene.to_json(), allow_nan=False))
    assert told["title"] and told["description"] and told["version"] == 1
    assert len(told["marks"]) == len(scene.marks)
    assert all(mark["step"] <= len(scene.captions) for mark in told["marks"] if "step" in mark)
    assert bool(scene.captions) == (PICTURES[id].kind == "animated")


def test_words_are_told_in_both_languages() -> None:
    for figure, table in read_figure_words().items():
        assert "topic" in table or figure == "all"
        for key, entry in table.items():
            assert set(entry) == {"en", "zh"}, (figure, key)
            holes = [sorted(re.findall(r"\{(\w+)", text)) for text in entry.values()]
            assert holes[0] == holes[1], (figure, key)
            assert not re.search(r"[\u4e00-\u9fff]", entry["en"]), (figure, key)


def test_a_quantity_is_what_its_expression_gives(trace: Trace) -> None:
    name = "encoder.0.self_attention"
    dot = Quantity(f"sum[k] {name}.query[h,q,k] {name}.key[h,m,k]", trace.__getitem__)
    wanted = np.einsum("hqk,hmk->hqm", trace[f"{name}.query"], trace[f"{name}.key"])
    assert dot.letters == ("h", "q", "m") and np.allclose(dot.values, wanted, atol=1e-5)
    one = dot[1, 2, 3]
    assert float(one) == pytest.approx(wanted[1, 2, 3], abs=1e-5) and one.letters == ()
    again = Quantity(one.source, trace.__getitem__)
    assert float(again) == float(one) and f"{name}.query[1,2,k]" in one.source
    assert [float(x) for x in dot[0, 1]] == dot.values[0, 1].tolist()


@pytest.mark.thorough
@pytest.mark.parametrize("id", SAID)
def test_svg_is_text_with_its_sources(id: str, find_scene: Callable[[str], Scene]) -> None:
    scene = find_scene(id)
    page = ElementTree.fromstring(write_svg(scene))
    name = "{http://www.w3.org/2000/svg}"
    assert [page[0].tag, page[1].tag] == [f"{name}title", f"{name}desc"]
    assert page[0].text == scene.title and page[1].text == scene.description
    written = [(each.text or "", each.get("data-of", "")) for each in page.iter(f"{name}text")]
    told = [each for each in scene.marks if isinstance(each, TextMark) and not each.until]
    assert sorted(written) == sorted((mark.text, mark.of) for mark in told)
    rules = page.findtext(f"{name}style") or ""
    assert rules.startswith("text{white-space:pre}"), "a text may begin or end with a space"
    for mark in told:
        check_font(mark, _read_fonts(rules))


def test_the_fonts_of_a_picture_do_not_tell_when_it_was_drawn(
    find_scene: Callable[[str], Scene], monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = set[str]()
    for seconds in ("0", "86400"):  # in place of the present time
        monkeypatch.setenv("SOURCE_DATE_EPOCH", seconds)
        embedding._cut_font.cache_clear()
        drawn.add(write_svg(find_scene("V49")))
    assert len(drawn) == 1 and RULE.search(drawn.pop())


RULE = re.compile(
    r"@font-face{font-family:'(.+?)';font-weight:(\d+);font-style:(\w+);"
    r"src:url\(data:font/woff;base64,(.+?)\)}"
)


@cache
def _read_fonts(rules: str) -> dict[tuple[str, bool, bool], TTFont]:
    """Return the fonts inside an SVG by family, boldness and slant."""
    return {
        (family, weight == "700", slant == "italic"): TTFont(BytesIO(b64decode(font)))
        for family, weight, slant, font in RULE.findall(rules)
    }


def check_font(mark: TextMark, fonts: dict[tuple[str, bool, bool], TTFont]) -> None:
    """All that the typefaces have is inside, and as wide as it was measured."""
    text = "".join(each for each in mark.text if find_family(each) == SANS)
    if not text:
        return
    bold = mark.bold and not mark.italic
    font = fonts[MONO if mark.mono else SANS, bold, mark.italic and not mark.mono]
    if mark.mono:
        return
    glyphs, widths = font.getBestCmap(), font["hmtx"].metrics
    assert {ord(each) for each in text} - {0x20} <= set(glyphs), mark
    if len(text) == len(mark.text) and text.isalnum():
        width = sum(widths[glyphs[ord(each)]][0] for each in text) / font["head"].unitsPerEm
        assert width * mark.size == pytest.approx(mark.width, rel=0.06), mark  # but for kerning
