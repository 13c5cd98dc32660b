"""The map, the positions lab, what if, training and the story, as a reader uses them."""

from __future__ import annotations

import json
import math
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from opening import SENTENCE, Server, find_faults, wait_until

from glassformer.extensions.serve.page import read_program
from glassformer.extensions.site.living import build_parted_page

HEAD = [{"do": "silence", "name": "encoder.0.self_attention", "head": 1}]
SERVED = {"worst"}  # only where there is a server
PLACES: list[tuple[str, dict[str, Any]]] = [
    ("map", {}),
    ("map", {"map.at": "model"}),
    ("map", {"map.at": "decoder"}),
    ("map", {"map.at": "encoder.0", "map.op": "encoder.0.feed_forward.hidden"}),
    ("map", {"map.at": "decoder.2.cross_attention.weights"}),
    ("positions", {"positions.d": 16}),
    ("whatif", {"whatif.edits": json.dumps(HEAD), "whatif.try": "mask"}),
    ("training", {}),
    ("training", {"training.run": "toy", "training.show": "rows", "training.step": 8}),
    ("training", {"training.show": "gradients"}),
    ("worst", {}),
    ("story", {"story.card": "V14"}),
    ("story", {"story.card": "V103"}),
    ("story", {"story.card": "V104"}),
    ("story", {"story.card": "V106"}),
]


def _open(page: Any, server: Server, view: str, **state: Any) -> None:
    page.goto(server.url(view, **state))
    page.wait_for_selector(f"[data-view={view}] h2, [data-view={view}] h3")
    page.wait_for_load_state("networkidle")


@pytest.fixture
def drawn(page: Any) -> Any:
    """A page for which no picture is drawn: matplotlib takes its time."""
    blank = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"></svg>'
    page.route("**/figures/*", lambda it: it.fulfill(body=blank, content_type="image/svg+xml"))
    return page


@pytest.mark.thorough
@pytest.mark.parametrize(("view", "state"), PLACES)
def test_every_view_opens_without_a_complaint(
    drawn: Any, server: Server, recording: str, view: str, state: dict[str, Any]
) -> None:
    for look in ({"theme": "light"}, {"theme": "dark", "language": "zh"}):
        _open(drawn, server, view, trace=recording, **state, **look)
        assert drawn.locator("[role=alert]").count() == 0
        assert find_faults(drawn) == []


@pytest.mark.thorough
def test_a_phone_has_no_sideways_scroll(browser: Any, server: Server, recording: str) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 844})
    page = context.new_page()
    for view, state in PLACES[1:-1]:
        _open(page, server, view, trace=recording, **state)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, (view, state)
    context.close()


@pytest.mark.thorough
@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_page_of_a_site_has_no_sideways_scroll_on_a_phone(
    browser: Any, tmp_path: Path, language: str
) -> None:
    """Such a page has a link more above: all that can be pressed there is within the screen."""
    place = tmp_path / "demo.html"
    html, more = build_parted_page("demo", {"more": "demo.js", "rest": "app.js"})
    for name, text in (("demo.html", html), ("demo.js", more), ("app.js", read_program("rest"))):
        (tmp_path / name).write_text(text, encoding="utf-8")
    size = {"width": 390, "height": 844}
    context = browser.new_context(viewport=size, has_touch=True, is_mobile=True)
    page = context.new_page()
    places = {each for each, _ in PLACES} - SERVED
    for view in ("first", "translate", "attention", *sorted(places)):
        page.goto("about:blank")
        page.goto(f"{place.as_uri()}#/{view}?language={language}")
        page.locator(f"[data-view={view}]").wait_for(timeout=60_000)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, view
        for button in page.locator("header a, header button").all():
            box = button.bounding_box()
            assert box and box["x"] >= 0 and box["x"] + box["width"] <= 390, view
        if view != "first":
            own = page.locator("nav [aria-current=page]").bounding_box()
            assert own and own["x"] >= 0 and own["x"] + own["width"] <= 390, view
            tabs = page.locator("nav button span").all()
            rooms = [tab.bounding_box() or {"x": 0.0, "width": 0.0} for tab in tabs]
            for one, other in pairwise(rooms):
                assert one["x"] + one["width"] <= other["x"], view
    context.close()


@pytest.mark.thorough
def test_the_map_zooms_down_to_a_number_and_out_again(
    page: Any, server: Server, recording: str
) -> None:
    _open(page, server, "map", trace=recording)
    page.locator(".window button").first.click()
    block = "decoder.2.cross_attention"
    for box in ("decoder", "decoder.2", block, f"{block}.weights"):
        page.locator(f"[data-box='{box}']").click()
        wait_until(page, "box => location.hash.endsWith('map.at=' + box)", arg=box)
    cells = page.get_by_role("application", name="decoder.2.cross_attention.weights")
    cells.focus()
    cells.press("ArrowRight")
    cells.press("Enter")
    wait_until(page, "location.hash.includes('cell=decoder.2.cross_attention.weights')")
    page.get_by_role("button", name="Zoom out").click()
    wait_until(page, "location.hash.endsWith('map.at=decoder.2.cross_attention')")


def test_the_map_goes_the_way_of_the_translation(page: Any, server: Server, recording: str) -> None:
    _open(page, server, "map", trace=recording, **{"map.at": "encoder", "map.op": "source.ids"})
    slider = page.get_by_label("The whole translation, operation by operation")
    assert slider.input_value() == "0"
    page.locator("h2").click()
    page.keyboard.press(" ")
    wait_until(page, "location.hash.includes('map.op=encoder.0')")
    page.keyboard.press("ArrowUp")
    wait_until(page, "location.hash.includes('map.op=encoder.1')")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowLeft")
    wait_until(page, "location.hash.includes('map.op=source')")
    page.keyboard.press("]")
    wait_until(page, "location.hash.includes('map.step=0')")
    assert "“<s>” goes in, “▁L'animal” comes out" in page.locator("[data-view=map]").inner_text()


@pytest.mark.thorough
@pytest.mark.parametrize("motion", ["reduce", "no-preference"])
def test_the_map_moves_for_those_alone_who_like_it(
    browser: Any, server: Server, recording: str, motion: str
) -> None:
    context = browser.new_context(reduced_motion=motion)
    page = context.new_page()
    _open(page, server, "map", trace=recording)
    page.evaluate("""() => {
        window.moves = 0;
        const animate = Element.prototype.animate;
        Element.prototype.animate = function (...how) {
            window.moves++;
            return animate.apply(this, how);
        };
    }""")
    page.locator(".window button").first.click()
    wait_until(page, "location.hash.includes('map.at=model')")
    assert page.evaluate("window.moves") == (motion != "reduce")
    context.close()


def test_positions_say_how_each_number_is_made(page: Any, server: Server, recording: str) -> None:
    _open(page, server, "positions", trace=recording, **{"positions.d": 4})
    cells = page.get_by_role("application", name="The encoding")
    cells.focus()
    told = page.locator("p.number[aria-live=polite]")
    for row in range(3):
        cells.press("ArrowDown" if row else "ArrowLeft")
        made = told.inner_text().replace("−", "-")
        assert float(made.rpartition("=")[2]) == pytest.approx(math.sin(row), abs=1e-4), made
    for _ in range(3):
        cells.press("ArrowRight")
    made = told.inner_text().replace("−", "-")
    assert float(made.rpartition("=")[2]) == pytest.approx(0.9998, abs=1e-4)
    error = page.get_by_text("largest error").inner_text()
    assert float(error.split()[-1].rstrip(".")) < 1e-12


@pytest.mark.thorough
def test_a_silenced_head_is_what_the_server_says(page: Any, server: Server, recording: str) -> None:
    _open(page, server, "whatif", trace=recording)
    page.get_by_role("button", name="encoder.0.self_attention head 1", exact=True).click()
    result = page.locator("[data-result]")
    result.wait_for()
    told = server.ask(f"traces/{recording}/edit", {"edits": HEAD})["changes"]
    assert result.locator("[data-after]").inner_text() == told["after"]
    shares = [row.split("%")[0] for row in result.locator("td:nth-child(3)").all_inner_texts()]
    for shown, token in zip(shares, told["tokens"], strict=True):
        assert float(shown) == pytest.approx(100 * token["after"], abs=0.051)
    page.get_by_role("button", name="Undo").click()
    result.wait_for(state="detached")
    page.get_by_role("button", name="Redo").click()
    result.wait_for()
    assert "encoder.0.self_attention" in page.url


def test_first_a_guess_then_the_answer(page: Any, server: Server, recording: str) -> None:
    _open(page, server, "whatif", trace=recording)
    page.get_by_role("button", name="no residuals").click()
    assert page.locator("[data-result]").count() == 0, "not before a guess"
    page.get_by_role("button", name="most words are lost").click()
    page.locator("[data-result]").wait_for()
    page.get_by_text("You expected: most words are lost.").wait_for()


def test_another_sentence_is_laid_over_this_one(page: Any, server: Server, recording: str) -> None:
    _open(page, server, "whatif", trace=recording)
    page.get_by_label("B: sentence").fill(SENTENCE.replace("tired", "wide"))
    page.get_by_role("button", name="Compare").click()
    page.locator("[data-second]").wait_for()
    assert "qu'elle était trop large" in page.locator("[data-second]").inner_text()
    page.get_by_text("▁tired/▁wide").first.wait_for()


def test_the_toy_learns_under_the_readers_hand(page: Any, server: Server, recording: str) -> None:
    shown = {"training.run": "toy", "training.show": "samples"}
    _open(page, server, "training", trace=recording, **shown)
    page.get_by_text("i am a student").first.wait_for()
    page.get_by_label("Update", exact=True).press("Home")
    wait_until(page, "location.hash.includes('training.step=0')")
    said = page.locator("dd b").nth(1).inner_text()
    assert said != "i am a student"


def test_heads_grow_sharp_as_the_update_is_dragged(
    page: Any, server: Server, recording: str
) -> None:
    """Without any training of one's own: the example that comes with the package."""
    _open(page, server, "training", trace=recording)
    heads = page.get_by_role("button", name=re.compile(r"head 0: \d"))
    heads.wait_for()
    last = float(heads.inner_text().split(": ")[1].split()[0])
    page.get_by_label("Update", exact=True).press("Home")
    wait_until(page, "location.hash.includes('training.step=0')")
    page.wait_for_timeout(300)
    first = float(heads.inner_text().split(": ")[1].split()[0])
    assert first > 1.5 * last


@pytest.mark.thorough
def test_every_card_of_the_story_speaks_of_the_readers_sentence(
    drawn: Any, server: Server, recording: str
) -> None:
    _open(drawn, server, "story", trace=recording)
    seen = []
    for _ in range(111):
        card = drawn.locator("article")
        seen.append(card.get_attribute("data-card"))
        text = card.inner_text()
        assert "{" not in text.partition("Code")[0], seen[-1]
        if seen[-1] == "V01":
            assert SENTENCE in text
        drawn.keyboard.press("ArrowRight")
    assert len(set(seen)) == 111 and seen[-1] == "V105"
    drawn.get_by_role("button", name="切换到中文").click()
    assert "别人怎样讲解" in drawn.locator("article").inner_text()


@pytest.mark.thorough
def test_a_card_leads_to_where_it_is_done(drawn: Any, server: Server, recording: str) -> None:
    _open(drawn, server, "story", trace=recording, **{"story.card": "V34"})
    drawn.get_by_role("button", name="Open").click()
    drawn.wait_for_selector("[data-view=whatif]")
    drawn.get_by_text("no ÷ √d_k: what will become of the translation?").wait_for()


def test_a_card_of_the_story_asks_the_questions(drawn: Any, server: Server, recording: str) -> None:
    _open(drawn, server, "story", trace=recording, **{"story.card": "V103"})
    drawn.get_by_role("button", name="Show the answer").click()
    drawn.get_by_role("button", name="See card V02").click()
    drawn.wait_for_selector("[data-card=V02]")


def test_a_picture_is_drawn_from_the_readers_sentence(
    page: Any, server: Server, recording: str
) -> None:
    _open(page, server, "story", trace=recording, **{"story.card": "V10"})
    wait_until(page, "document.querySelector('article img')?.naturalWidth > 100")


@pytest.mark.thorough
def test_cards_of_recurrent_networks_and_of_measurements_have_pictures(
    page: Any, server: Server, recording: str
) -> None:
    """The first are drawn of shipped networks on the reader's sentence, the others as measured."""
    for card in ("V95", "V101", "V102", "V107"):
        page.goto(server.url("story", trace=recording, **{"story.card": card}))
        page.wait_for_selector(f"[data-card={card}] h2")
        wait_until(page, "document.querySelector('article img')?.naturalWidth > 100", seconds=60)


# ---- the worst sentences ------------------------------------------------------------------------


def _make_sentence(line: int, chrf: float, ter: float) -> dict[str, Any]:
    own = {
        "system": "demo",
        "translation": f"Le chat {line}.",
        "scores": {"chrF2": chrf, "BLEU": 1.0, "TER": ter},
        "confidence": 0.5 + line / 100,
        "flags": {"copy": "it is a copy"} if line == 3 else {},
    }
    text = f"The cat is old, {line}."
    return {"line": line, "source": text, "references": ["Un chat."], "systems": [own]}


def test_the_worst_sentences_are_sorted_and_looked_into(
    drawn: Any, server: Server, recording: str
) -> None:
    worst = [_make_sentence(3, 10, 20), _make_sentence(7, 30, 90)]
    told = {"evaluation": {"sentences": 40, "worst": worst}}
    drawn.route("**/models/*/evaluation", lambda it: it.fulfill(json=told))
    _open(drawn, server, "worst", trace=recording)

    def lines() -> list[str]:
        return [
            str(each.get_attribute("data-line")) for each in drawn.locator("li[data-line]").all()
        ]

    wait_until(drawn, "document.querySelectorAll('li[data-line]').length === 2")
    assert lines() == ["3", "7"]
    assert drawn.get_by_text("it is a copy").count() == 1
    assert find_faults(drawn) == []
    drawn.get_by_role("button", name="TER").click()
    assert lines() == ["7", "3"]
    drawn.get_by_role("button", name="Look inside").first.click()
    drawn.wait_for_selector("[data-view=attention]")
    wait_until(drawn, "location.hash.includes('The+cat+is+old%2C+7.')")


def test_who_has_not_evaluated_is_told_how(drawn: Any, server: Server, recording: str) -> None:
    _open(drawn, server, "worst", trace=recording)
    drawn.get_by_text("glassformer evaluate demo SOURCE REFERENCE --worst 100 --store").wait_for()
