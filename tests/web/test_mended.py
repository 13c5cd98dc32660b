"""What once went wrong in the lab, each as a reader met it."""

from __future__ import annotations

from typing import Any

import pytest
from opening import SENTENCE, Server, wait_until


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
