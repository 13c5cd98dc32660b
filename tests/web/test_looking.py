"""Texts of several sentences; what the app shows is true, and what it offers does something."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from opening import SENTENCE, Server, wait_until

TEXT = "The cat is on the mat. The dog bites the cat.\n\nThe street was wide."
WHOLE = "Le chat est sur le tapis. Le chien mord le chat.\n\nLa rue était large."
LOST = [{"do": "without", "what": "residual"}]
CHOSEN = "() => document.querySelectorAll('[data-sentences] [aria-pressed=true]').length"


def _open(page: Any, server: Server, view: str, **state: Any) -> None:
    page.goto(server.url(view, **state))
    page.wait_for_selector(f"[data-view={view}] h2, [data-view={view}] h3")
    page.wait_for_load_state("networkidle")


def _read_whole(page: Any) -> str:
    return str(page.locator("[data-translation]").text_content())


@pytest.mark.thorough
def test_a_text_is_shown_whole_and_one_sentence_is_looked_into(page: Any, server: Server) -> None:
    _open(page, server, "translate", text="The street was wide.")
    assert page.locator("[data-sentences]").count() == 0, "one sentence needs no choice"
    box = page.get_by_label("Sentence")
    box.fill(TEXT)
    box.press("Enter")
    wait_until(page, CHOSEN, seconds=60)  # the fast network is made when it is first wanted
    wait_until(page, "() => document.title.startsWith('Le chat')")
    assert _read_whole(page) == WHOLE
    page.get_by_role("button", name="The dog bites the cat.").click()
    wait_until(page, "() => document.title.startsWith('Le chien')")
    assert _read_whole(page) == WHOLE
    assert page.locator("[data-translation] .own").text_content() == "Le chien mord le chat."
    assert page.locator("[data-sentences] [aria-pressed=true]").count() == 1
    address = page.url
    assert "sentence=1" in address
    page.goto("about:blank")
    page.goto(address.replace("#/translate", "#/attention"))
    page.wait_for_selector("[data-view=attention] canvas")
    assert page.title().startswith("Le chien mord le chat.")
    assert page.get_by_label("Sentence").input_value() == TEXT, "lines stay lines"
    page.get_by_role("button", name="Translate", exact=True).last.click()
    wait_until(page, "() => document.querySelector('form').ariaBusy === 'false'")
    assert page.title().startswith("Le chien"), "the same text, so the same sentence"


def test_a_word_is_forced_in_the_sentence_that_is_looked_into(page: Any, server: Server) -> None:
    _open(page, server, "translate", text=TEXT, sentence=1)
    page.locator("ol > li").first.locator("button.other:not(.own)").first.click()
    page.get_by_text("The beginning is forced").wait_for()
    wait_until(page, "() => document.querySelector('form').ariaBusy === 'false'")
    whole = _read_whole(page)
    assert whole.startswith("Le chat est sur le tapis. ") and whole.endswith("La rue était large.")
    assert whole != WHOLE and "sentence=1" in page.url


def test_a_long_text_is_looked_into_part_by_part(page: Any, server: Server) -> None:
    """A thousand characters without one full stop: cut at clauses, as `translate` cuts it."""
    _open(page, server, "translate", text="the dog bites the cat, " * 44)
    assert page.get_by_role("alert").count() == 0
    assert page.locator("[data-sentences] button").count() > 1
    assert "mord" in page.title()


def test_a_replay_hides_what_comes_later(page: Any, server: Server) -> None:
    _open(page, server, "translate", text=SENTENCE, step=1)
    for place, is_seen in ((1, True), (2, False), (6, False)):
        column = page.locator(f"[data-step='{place}']")
        for part in ("button.word", "button.other"):
            assert column.locator(part).first.is_visible() == is_seen, (place, part)
    assert page.locator("[data-translation]").inner_text() == "L'animal n'a"


@pytest.mark.thorough
def test_words_that_are_typed_are_forced(page: Any, server: Server) -> None:
    _open(page, server, "translate", text="The cat is on the mat.", step=0)
    box = page.get_by_label("Force a word of your own here")
    box.fill("Un grand chien")
    box.press("Enter")
    wait_until(page, "() => document.title.startsWith('Un grand chien')")
    page.get_by_text("The beginning is forced: Un grand chien").wait_for()


@pytest.mark.thorough
def test_settings_act_at_once_and_a_sample_is_drawn_anew(page: Any, server: Server) -> None:
    _open(page, server, "translate", text=SENTENCE)
    page.get_by_role("button", name="Search ▾").click()
    with page.expect_request("**/api/trace"):
        page.locator("form label select").first.select_option("sample")
    with page.expect_request("**/api/trace") as asked:
        page.get_by_label("Temperature").fill("3")
        page.get_by_label("Temperature").press("Tab")
    assert asked.value.post_data_json["decode"] == {"search": "sample", "temperature": 3}
    seen = set()
    for seed in range(3):
        wait_until(page, "() => document.querySelector('form').ariaBusy === 'false'")
        page.get_by_text("the sample was drawn with: Temperature 3").wait_for()
        seen.add(page.title())
        assert (f"seed={seed}" in page.url) == (seed > 0)
        page.get_by_role("button", name="Translate", exact=True).last.click()
        wait_until(page, f"() => location.hash.includes('seed={seed + 1}')")
    assert len(seen) == 3


def test_the_bars_of_a_sample_are_those_it_was_drawn_with(page: Any, server: Server) -> None:
    """And the token that came is among them, however unlikely it was."""
    decode = {"search": "sample", "temperature": 4}
    trace = server.ask("trace", {"text": SENTENCE, "decode": decode, "seed": 5})["id"]
    told = server.ask(f"traces/{trace}")
    _open(page, server, "translate", trace=trace)
    for place, each in enumerate(told["predictions"][:8]):
        column = page.locator(f"[data-step='{place}']")
        shown = column.locator("button.other .number").all_inner_texts()
        assert column.locator("button.other.own").count() == 1
        for share, text in zip(each["draw_probs"][:5], shown, strict=False):
            number = 0.0 if text.startswith("<") else float(text.rstrip("%"))
            assert number == pytest.approx(100 * share, abs=0.06), (place, text)
    assert any(each["rank"] > 4 for each in told["predictions"][:8]), "a sample worth the test"


def test_what_failed_says_that_the_screen_has_other_settings(page: Any, server: Server) -> None:
    _open(page, server, "attention", text=SENTENCE)
    page.get_by_role("button", name="Search ▾").click()
    refused = 'event: error\ndata: {"error": "enough", "status": 400}\n\n'
    page.route(
        "**/api/trace", lambda it: it.fulfill(body=refused, content_type="text/event-stream")
    )
    page.locator("form label select").first.select_option("sample")
    page.get_by_text("enough").wait_for()
    assert page.locator("[data-shown]").inner_text() == (
        "On screen: the translation with other settings"
    )


@pytest.mark.thorough
def test_a_changed_network_is_marked_in_every_view_and_in_its_link(
    page: Any, server: Server
) -> None:
    _open(page, server, "whatif", text=SENTENCE, **{"whatif.edits": json.dumps(LOST)})
    page.get_by_role("button", name="Show the changed recording in all views").click()
    mark = page.locator("[data-changed]")
    mark.wait_for()
    assert "without residual" in mark.inner_text()
    changed = page.title()
    for view in ("Attention", "Numbers", "Translate"):
        page.get_by_role("button", name=view, exact=True).first.click()
        page.wait_for_selector(f"[data-view={'cell' if view == 'Numbers' else view.lower()}]")
        assert mark.is_visible() and page.title() == changed
    address = page.url
    page.goto("about:blank")
    page.goto(address)
    mark.wait_for()
    assert page.title() == changed
    page.get_by_role("button", name="Back to the model").click()
    wait_until(page, "() => document.title.startsWith(\"L'animal n'a pas\")")
    assert mark.count() == 0 and "&edits=" not in page.url


@pytest.mark.thorough
@pytest.mark.parametrize("way", ["Play", "Next", " ", "ArrowRight"])
def test_the_map_moves_from_where_it_opens(
    page: Any, server: Server, recording: str, way: str
) -> None:
    _open(page, server, "map", trace=recording)
    slider = page.get_by_label("The whole translation, operation by operation")
    start = slider.input_value()
    page.locator("h2").click()
    if way == "Play":
        page.get_by_role("button", name="Play").click()
    elif way == "Next":
        page.get_by_role("button", name="Next").click()
    else:
        page.keyboard.press(way)
    wait_until(page, "start => document.querySelector('.scrub input').value !== start", arg=start)
    if way == "Play":
        assert page.get_by_role("button", name="Pause").is_visible()
        before = slider.input_value()
        wait_until(
            page, "last => +document.querySelector('.scrub input').value > +last", arg=before
        )


def test_the_drawer_of_a_softmax_agrees_with_itself(
    page: Any, server: Server, recording: str
) -> None:
    """Formula, list and sum: e^x everywhere, and one over the sum is the weight."""
    name = "decoder.2.cross_attention.weights"
    index = [0, 3, 5]
    _open(page, server, "cell", trace=recording, cell=f"{name}[{','.join(map(str, index))}]")
    drawer = page.get_by_role("complementary", name="Terms")
    drawer.locator("tfoot").wait_for()

    def read(text: str) -> float:
        return float(text.replace("−", "-").replace("(", "").replace(")", ""))

    scores = [
        read(each.split()[-1])
        for each in drawer.locator("tbody td:first-child button").all_inner_texts()
    ]
    heads = drawer.locator("thead th").all_inner_texts()
    assert heads == ["score x", "e^x"]
    powers = [read(each) for each in drawer.locator("tbody td.value").all_inner_texts()]
    for score, power in zip(scores, powers, strict=True):
        assert power == pytest.approx(2.718281828**score, rel=5e-3, abs=1e-6)
    formula = str(drawer.locator("math").nth(1).text_content())
    assert formula.count("e") >= 2, formula
    assert "divided by the sum" in drawer.inner_text() and "scale" not in drawer.inner_text()


def test_escape_closes_the_drawer_wherever_the_focus_is(
    page: Any, server: Server, recording: str
) -> None:
    at = "decoder.2.cross_attention.weights"
    _open(page, server, "map", trace=recording, **{"map.at": at})
    cells = page.get_by_role("application", name=at)
    cells.focus()
    cells.press("ArrowRight")
    cells.press("Enter")
    drawer = page.get_by_role("complementary", name="Terms")
    drawer.wait_for()
    page.keyboard.press("Escape")
    drawer.wait_for(state="detached")
    assert f"map.at={at}" in page.url, "the map stays where it was"


def test_the_way_down_is_in_sight(page: Any, server: Server, recording: str) -> None:
    _open(page, server, "cell", trace=recording, cell="decoder.2.cross_attention.weights[0,3,5]")
    page.get_by_role("button", name="Follow the largest term").evaluate(
        "it => { it.scrollIntoView({block: 'end'}); it.click(); }"  # it stands at the lower edge
    )
    page.locator(".chain li").first.wait_for()
    wait_until(
        page,
        "() => { const panel = document.querySelector('aside').getBoundingClientRect();"
        " return document.querySelector('.chain li').getBoundingClientRect().bottom"
        " <= Math.min(panel.bottom, innerHeight); }",
    )


def test_differences_open_on_what_moved(page: Any, server: Server, recording: str) -> None:
    edits = [{"do": "silence", "name": "decoder.3.self_attention", "head": 4}]
    _open(page, server, "whatif", trace=recording, **{"whatif.edits": json.dumps(edits)})
    page.locator("[data-result]").wait_for()
    tensor = page.get_by_label("Tensor").input_value()
    told = server.ask(f"traces/{recording}/edit", {"edits": edits})["changes"]["differences"]
    assert told["memory"] == 0 and told[tensor] > 0


@pytest.mark.thorough
def test_a_picture_of_the_story_is_saved_under_whole_words(
    page: Any, server: Server, recording: str
) -> None:
    _open(page, server, "story", trace=recording, **{"story.card": "V10"})
    wait_until(page, "() => document.querySelector('article img')?.naturalWidth > 100", seconds=60)
    page.get_by_label("Save").click()
    with page.expect_download() as saved:
        page.get_by_role("button", name="SVG").first.click()
    assert "<svg" in Path(saved.value.path()).read_text(encoding="utf-8")
    name = saved.value.suggested_filename
    assert name == "glassformer-L-animal-n-a-pas.svg", "not cut within a word"
    with page.expect_download() as saved:
        page.get_by_role("button", name="PNG").first.click()
    assert Path(saved.value.path()).read_bytes()[:4] == b"\x89PNG"


@pytest.mark.thorough
def test_what_looks_wrong_is_said_in_both_languages(page: Any, server: Server) -> None:
    decode = {"max_extra": 2, "max_ratio": 0}
    trace = server.ask("trace", {"text": SENTENCE, "decode": decode})["id"]
    (said, *_) = [each["said"] for each in server.ask(f"traces/{trace}")["problems"]]
    _open(page, server, "translate", trace=trace)
    told = page.locator("[data-doubt]")
    assert told.inner_text().startswith(f"The model is unsure: {said}")
    page.get_by_role("button", name="切换到中文").click()
    assert told.inner_text().startswith("模型没有把握：译文") and said not in told.inner_text()
    sure = server.ask("trace", {"text": SENTENCE})["id"]
    _open(page, server, "translate", trace=sure)
    assert told.count() == 0


@pytest.mark.thorough
@pytest.mark.parametrize("at", ["", "encoder.0"])
def test_a_scene_of_the_map_is_saved(page: Any, server: Server, recording: str, at: str) -> None:
    """Boxes, words, small pictures and the arrows between them stand in one SVG, and in a PNG."""
    _open(page, server, "map", trace=recording, **{"map.at": at})
    page.wait_for_selector("[data-picture] canvas")
    page.wait_for_timeout(800)
    shown = page.locator("[data-picture]").first.inner_text().split()
    page.get_by_label("Save").click()
    with page.expect_download() as saved:
        page.get_by_role("button", name="SVG").first.click()
    text = Path(saved.value.path()).read_text(encoding="utf-8")
    assert text.count("<rect") >= page.locator("[data-picture] button:visible").count()
    assert "data:image/png;base64," in text and "class=" not in text and "var(--" not in text
    written = unescape("".join(re.findall(r"<text[^>]*>([^<]*)<", text)))
    assert sorted(written) == sorted("".join(shown))
    with page.expect_download() as saved:
        page.get_by_role("button", name="PNG").first.click()
    assert Path(saved.value.path()).read_bytes()[:4] == b"\x89PNG"
