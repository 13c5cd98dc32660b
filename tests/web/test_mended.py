"""What once went wrong in the lab, each as a reader met it."""

from __future__ import annotations

from typing import Any

import pytest
from opening import SENTENCE, Server, wait_until

TIRED = "L'animal n'a pas traversé la rue parce qu'il était trop fatigué."
TYPE = """(box, [key, isComposing]) =>
    box.dispatchEvent(new KeyboardEvent("keydown", {key, isComposing, bubbles: true}))"""


def _open(page: Any, server: Server, view: str, **state: Any) -> None:
    page.set_default_timeout(60_000)
    page.goto(server.url(view, **state))
    page.wait_for_selector(f"[data-view={view}]")
    page.wait_for_load_state("networkidle")


def test_a_translation_that_was_seen_coming_is_not_played_again(page: Any, server: Server) -> None:
    _open(page, server, "translate", text=SENTENCE)
    page.get_by_label("Sentence", exact=True).fill("The cat bites the dog.")
    page.locator("form button[type=submit]").click()
    wait_until(page, "() => document.title.startsWith('Le chat')", seconds=60)
    page.wait_for_selector("[data-view=translate] li")
    assert page.get_by_role("button", name="Pause").count() == 0
    assert page.locator("li.later").count() == 0


@pytest.mark.thorough
def test_the_drawer_moves_nothing_and_is_not_under_the_pointer(
    page: Any, server: Server, recording: str
) -> None:
    _open(page, server, "attention", trace=recording, **{"attention.form": "matrix"})
    canvas = page.locator("section canvas").last
    canvas.scroll_into_view_if_needed()
    before = canvas.bounding_box()
    page.mouse.move(before["x"] + 40, before["y"] + 40)
    page.mouse.click(before["x"] + 40, before["y"] + 40)
    drawer = page.locator("aside")
    drawer.wait_for()
    assert canvas.bounding_box() == before
    box = drawer.bounding_box()
    assert not box["x"] <= before["x"] + 40 <= box["x"] + box["width"]


def test_the_recorded_toy_offers_no_empty_tab(page: Any, server: Server, recording: str) -> None:
    _open(page, server, "training", trace=recording, **{"training.run": "toy"})
    page.get_by_role("radio", name="Curves").or_(
        page.get_by_role("button", name="Curves")
    ).wait_for()
    assert page.get_by_text("Attention", exact=True).locator("visible=true").count() == 1, (
        "the rail"
    )


def test_answers_wait_until_they_are_asked_for(page: Any, server: Server, recording: str) -> None:
    _open(page, server, "story", trace=recording, **{"story.card": "V104"})
    page.wait_for_selector("article dl")
    assert page.locator("article dt.right").count() == 0
    page.get_by_role("button", name="Show the answer").first.click()
    assert page.locator("article dt.right").count() == 1


@pytest.mark.thorough
def test_a_tall_picture_keeps_its_width(page: Any, server: Server, recording: str) -> None:
    _open(page, server, "story", trace=recording, **{"story.card": "V09"})
    page.wait_for_selector("article img:not([hidden])")
    size = page.locator("article img").evaluate("it => [it.clientWidth, it.naturalWidth]")
    wide = page.locator("article figure").evaluate("it => it.clientWidth")
    assert size[0] >= min(size[1], wide) - 20


def test_rows_of_the_decoder_say_what_they_predict(
    page: Any, server: Server, recording: str
) -> None:
    for form in ("stages", "derived"):
        _open(page, server, "attention", trace=recording, kind="cross", **{"attention.form": form})
        page.wait_for_selector("svg text")
        wait_until(
            page,
            "() => [...document.querySelectorAll('[data-view=attention] :is(text, th)')]"
            ".some(each => each.textContent.includes(' → '))",
        )


@pytest.mark.thorough
def test_symbols_of_two_halves_count_once(page: Any, server: Server) -> None:
    text = "\U0001f389\U0001f389\U0001f389 The cat is on the mat. The dog is old."
    _open(page, server, "translate", text=text, sentence=1)
    wait_until(page, "() => document.querySelectorAll('[data-sentences] button').length === 2")
    spans = page.locator("[data-sentences] button").all_inner_texts()
    assert spans == ["The cat is on the mat.", "The dog is old."]
    assert page.locator("[data-translation] .own").text_content() == "Le chien est vieux."


@pytest.mark.thorough
@pytest.mark.parametrize("key", ["Enter", "Escape"])
def test_an_input_method_keeps_its_keys(page: Any, server: Server, key: str) -> None:
    _open(page, server, "first", text=SENTENCE)
    page.locator("button.own").click()
    box = page.locator("textarea")
    box.evaluate(TYPE, [key, True])
    page.wait_for_timeout(100)
    assert box.count() == 1
    box.evaluate(TYPE, [key, False])
    box.wait_for(state="detached")


def test_what_was_drawn_is_not_written_under_another_sentence(page: Any, server: Server) -> None:
    held: list[Any] = []
    page.route("**/api/samples", lambda route: held.append(route))
    _open(page, server, "first", text=SENTENCE)
    wait_until(page, "said => document.title.startsWith(said)", arg=TIRED, seconds=60)
    page.get_by_role("button", name="Draw 50 translations").click()
    wait_until(page, "() => document.querySelector('.dice').disabled")
    page.locator("button.own").click()
    page.locator("textarea").fill("The dog is old.")
    wait_until(page, "() => document.title.startsWith('Le chien est vieux.')", seconds=60)
    body = 'event: done\ndata: {"texts": ["Vieux."]}\n\n'
    held[0].fulfill(content_type="text/event-stream", body=body)
    wait_until(page, "() => !document.querySelector('.dice').disabled")
    assert page.locator(".drawn li, [role=alert]").count() == 0


def test_an_address_that_says_anything_opens(page: Any, server: Server) -> None:
    _open(page, server, "first", text=SENTENCE, edits="[null]")
    wait_until(page, "said => document.title.startsWith(said)", arg=TIRED, seconds=60)
    page.goto(server.url("puzzles/100%"))
    page.locator("h1", has_text="100%").wait_for()


def test_a_stream_of_a_training_ends_with_its_view(page: Any, server: Server) -> None:
    """Also one that was left before it was opened."""
    page.add_init_script(
        "globalThis.opened = []; globalThis.EventSource = class extends EventTarget {"
        " constructor(at) { super(); this.at = at; opened.push(this); }"
        " close() { this.isClosed = true; } };"
    )
    held: list[Any] = []
    listed = {"runs": [{"id": "a", "name": "a", "step": 1, "updated": 0, "has_watch": False}]}
    page.route("**/api/runs", lambda route: route.fulfill(json=listed))
    page.route("**/api/runs/a", lambda route: held.append(route))
    page.goto(server.url("training", text=SENTENCE))
    page.wait_for_selector("[data-view=training]")
    while not held:
        page.wait_for_timeout(20)
    page.evaluate("location.hash = location.hash.replace('training', 'translate')")
    page.wait_for_selector("[data-view=translate]")
    held[0].fulfill(json={"metrics": [], "gradients": [], "sentences": [], "snapshots": []})
    page.wait_for_timeout(300)
    assert page.evaluate("opened.filter((each) => !each.isClosed).length") == 0
