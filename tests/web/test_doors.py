"""The doors of the first screen: a question before its answer, and what was chosen comes along."""

from __future__ import annotations

import json
from typing import Any

import pytest
from opening import Server, find_faults, wait_until

CUT = json.dumps([{"do": "cut", "word": "because"}])
PRONOUN = 7  # the token "qu'il"


def _open(page: Any, server: Server, door: str, **state: Any) -> None:
    page.set_default_timeout(60_000)
    page.goto(server.url(door, **state))
    page.wait_for_selector("[data-guess]")


def test_the_chosen_word_and_the_cuts_come_along(page: Any, server: Server) -> None:
    page.set_default_timeout(60_000)
    page.goto(server.url("first", edits=CUT))
    wait_until(page, "() => document.querySelector('[data-why]')?.textContent.includes('because')")
    page.get_by_role("button", name="qu'il").click()
    page.locator("[data-door=why]").click()
    page.wait_for_selector("[data-guess]")
    assert page.locator("h1").inner_text() == "Why “qu'il”?"
    assert page.locator(".source .cut").all_inner_texts() == ["because"]
    assert "because" not in page.locator("[data-guess]").all_inner_texts()
    page.get_by_role("button", name="Back to the sentence").click()
    page.wait_for_selector("[data-scissors]")
    assert page.locator(".chip.cut .word").all_inner_texts() == ["because"]


def test_why_shows_nothing_before_a_guess_and_then_what_cutting_says(
    page: Any, server: Server
) -> None:
    _open(page, server, "why", step=10)
    assert page.locator("h1").inner_text() == "Why “fatigué”?"
    assert page.locator("table").count() == 0
    page.locator("[data-guess]", has_text="tired").click()
    page.wait_for_selector("tr.top")
    assert page.locator("tr.top th").inner_text() == "tired"
    assert page.locator(".question [role=status]").inner_text() == "Right."
    left = float(page.locator("tr.top td.number").last.inner_text().split("%")[0])
    assert left < 2, "the translation as it was, with tired cut: 0.2 %"
    assert "counts most" in page.locator("[data-said]").inner_text()
    page.get_by_role("button", name="traversé").click()
    wait_until(page, "() => document.querySelector('h1').textContent.includes('traversé')")
    assert page.locator("table").count() == 0, "another word, another guess"


def test_up_finds_the_layer_at_which_the_animal_becomes_male(page: Any, server: Server) -> None:
    _open(page, server, "up", step=PRONOUN)
    assert page.locator(".floors").count() == 0
    page.locator("[data-guess='1']").click()
    page.wait_for_selector(".floors li")
    assert page.locator(".question [role=status]").inner_text() == "You said 2; it is 4."
    assert page.locator(".floors li.first").get_attribute("data-floor") == "4"
    assert page.locator("select").first.input_value() == "0"
    pushes = [
        float(each.replace("−", "-")) for each in page.locator(".pushes .number").all_inner_texts()
    ]
    told = page.locator("section > p", has_text="All together").inner_text()
    assert sum(pushes) == pytest.approx(float(told.rsplit(": ", 1)[1].rstrip(".")), abs=0.06)


@pytest.mark.parametrize("door", ["why", "up"])
@pytest.mark.parametrize("look", [{}, {"theme": "dark", "language": "zh"}])
def test_doors_have_no_fault(page: Any, server: Server, door: str, look: dict[str, str]) -> None:
    _open(page, server, door, step=PRONOUN, **look)
    page.locator("[data-guess='1']").click()
    page.wait_for_selector("table, .floors li")
    page.set_viewport_size({"width": 390, "height": 844})
    page.wait_for_timeout(300)
    assert page.evaluate("() => document.documentElement.scrollWidth <= 390")
    assert find_faults(page) == []
