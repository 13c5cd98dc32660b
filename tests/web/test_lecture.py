"""The lecture: ten cards that arrows turn, each an address, with live pictures; one numbering."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from opening import Server, find_faults, wait_until

from glassformer.extensions.serve.page import SavedPage
from glassformer.extensions.site.living import build_living_page

CARDS = (
    "text",
    "tokens",
    "vectors",
    "positions",
    "attention",
    "heads",
    "mask",
    "cross",
    "choice",
    "loop",
)
LOOKS = ({}, {"language": "zh", "theme": "dark"})


def _open(page: Any, server: Server, number: int, **state: Any) -> None:
    page.set_default_timeout(60_000)
    page.goto(server.url(f"lecture/{number}", **state))
    page.wait_for_selector("[data-guess]")


@pytest.mark.thorough
@pytest.mark.parametrize("state", LOOKS)
def test_arrows_lead_through_ten_cards_and_back(
    page: Any, server: Server, state: dict[str, str]
) -> None:
    """Each asks first; the first arrow answers, the second turns; nothing is faulty or too high."""
    _open(page, server, 1, **state)
    size = page.evaluate("() => getComputedStyle(document.documentElement).fontSize")
    assert size == "20px"
    assert page.locator("header").count() == 0
    for number, card in enumerate(CARDS, start=1):
        page.wait_for_selector(f"[data-card={card}] [data-guess]")
        assert f"#/lecture/{number}?" in page.url
        assert page.locator("[data-picture-of]").count() == 0
        page.keyboard.press("ArrowRight")
        page.wait_for_selector(f"[data-picture-of={card}]")
        assert page.locator("[data-answer]").count() == 1
        page.wait_for_timeout(400)
        assert page.evaluate("() => document.documentElement.scrollHeight") <= 900, card
        assert find_faults(page) == [], card
        page.keyboard.press("ArrowRight")
    assert "#/lecture/10?" in page.url
    page.keyboard.press("ArrowLeft")
    page.wait_for_selector("[data-card=choice] [data-picture-of=choice]")
    page.keyboard.press("Escape")
    page.wait_for_selector("[data-view=first]")


def test_a_card_is_an_address_and_says_what_is_right(page: Any, server: Server) -> None:
    _open(page, server, 3)
    page.locator("[data-guess='1']").click()
    assert "It is: yes" in page.locator(".question").inner_text()
    _open(page, server, 2, text="The cat bites the dog.")
    page.keyboard.press("ArrowRight")
    page.wait_for_selector(".tokens li")
    many = page.locator(".tokens li").count()
    assert page.locator("[data-answer]").inner_text() == f"Answer: {many}."
    page.go_back()
    page.wait_for_selector("[data-card=vectors]")


def test_pictures_are_alive(page: Any, server: Server) -> None:
    """A thread is cut, the temperature is raised, and another sentence is typed."""
    _open(page, server, 8)
    page.keyboard.press("ArrowRight")
    page.locator("[data-scissors='10']").click()
    page.wait_for_selector(".fresh")
    assert page.locator(".fresh").all_inner_texts() == ["qu'il", "mangé"]
    page.get_by_role("button", name="Mend all").click()
    wait_until(page, "() => document.querySelector('.fresh') === null", seconds=60)
    page.get_by_role("button", name="1. Text in").click()
    page.keyboard.press("ArrowRight")
    page.locator("textarea").fill("The cat bites the dog.")
    page.locator("textarea").blur()
    wait_until(page, "() => document.body.innerText.includes('Le chat mord le chien.')", seconds=60)
    page.get_by_role("button", name="10. And again").click()
    page.wait_for_selector("[data-guess]")
    page.keyboard.press("ArrowRight")
    page.locator("[data-step]").fill("3")
    assert page.locator("[data-written]").inner_text().split()[:3] == ["<s>", "▁Le", "▁chat"]


def test_negative_scores_lie_left_of_zero_and_shares_are_in_sight(
    browser: Any, server: Server
) -> None:
    page = browser.new_context(viewport={"width": 390, "height": 844}, locale="en").new_page()
    _open(page, server, 5)
    page.locator("[data-guess='0']").click()
    page.wait_for_selector("tbody td:nth-child(3):not(:empty)")
    rows = page.locator("tbody tr").evaluate_all("""all => all.map(row => ({
        score: row.cells[2].innerText.replace("\u2212", "-"),
        bar: row.querySelector("[data-score]").getBoundingClientRect().toJSON(),
        zero: row.querySelector(".zero").getBoundingClientRect().left,
        end: row.cells[4].getBoundingClientRect().right,
    }))""")
    assert {float(row["score"]) < 0 for row in rows} == {True, False}
    for row in rows:
        side = "right" if float(row["score"]) < 0 else "left"
        assert abs(row["bar"][side] - row["zero"]) < 1, row
        assert row["end"] <= 390
    page.context.close()


def test_arrows_in_the_grid_of_heads_stay_there(page: Any, server: Server) -> None:
    _open(page, server, 6)
    page.keyboard.press("ArrowRight")
    grid = page.locator("[role=application]")
    grid.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    assert "#/lecture/6" in page.url
    assert "Layer 1, Head 1" in grid.get_attribute("aria-label")
    page.keyboard.press("Enter")
    page.wait_for_selector("[data-view=attention]")
    assert "layer=1" in page.url and "head=1" in page.url


def test_a_bar_of_the_loop_is_as_long_as_its_percentage(page: Any, server: Server) -> None:
    _open(page, server, 10)
    page.keyboard.press("ArrowRight")
    for row in page.locator("li:has(.track)").all():
        told = float(row.locator(".number").last.inner_text().rstrip(" %"))
        wide = row.locator("i").evaluate("e => e.offsetWidth / e.parentElement.offsetWidth")
        assert abs(100 * wide - told) < 1


@pytest.mark.thorough
def test_on_a_phone_nothing_overflows(browser: Any, server: Server) -> None:
    context = browser.new_context(
        viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True, locale="zh-CN"
    )
    page = context.new_page()
    for number, card in enumerate(CARDS, start=1):
        _open(page, server, number, language="zh")
        page.locator("[data-guess='0']").tap()
        page.wait_for_selector(f"[data-picture-of={card}]")
        page.wait_for_timeout(300)
        assert page.evaluate("() => document.documentElement.scrollWidth") <= 390, card
    context.close()


def test_it_opens_from_disk_and_leads_into_the_story(browser: Any, tmp_path: Path) -> None:
    place = tmp_path / "class.html"
    SavedPage(build_living_page(["demo"])).save(place)
    page = browser.new_context(offline=True, locale="en").new_page()
    page.goto(f"{place.as_uri()}#/lecture/5")
    page.wait_for_selector("[data-card=attention] [data-guess]")
    page.get_by_role("button", name="More in the story").click()
    page.wait_for_selector("[data-card=V32]")
    page.locator("button[data-lecture]").click()
    page.wait_for_selector("[data-card=text] [data-guess]")
    page.context.close()


def test_layers_and_heads_have_one_numbering(page: Any, server: Server, recording: str) -> None:
    """Doors, lecture and lab count from 0, as names of tensors, edits and pictures do."""
    page.set_default_timeout(60_000)
    page.goto(server.url("heads"))
    page.locator("[data-guess='0']").click()
    heads = page.locator("[data-head]")
    told = heads.evaluate_all("all => all.map(e => [e.dataset.head, e.getAttribute('aria-label')])")
    assert len(told) == 144
    for name, label in told:
        _, layer, _, head = name.split(".")
        assert label.startswith(f"layer {layer}, head {head},"), name
    page.goto(server.url("up"))
    page.locator("[data-guess='0']").click()
    for floor in page.locator("[data-floor]").all():
        assert f"after layer {floor.get_attribute('data-floor')}" in floor.inner_text()
    named = page.locator(".pushes li[title]").evaluate_all(
        "all => all.map(e => [e.title, e.innerText])"
    )
    assert any(re.search(r"\.\d+\.\w+\.\d+$", name) for name, _ in named)
    for name, label in named:
        numbers = re.findall(r"\d+", name)
        assert [n for n in re.findall(r"(?:layer|head) (\d+)", label)] == numbers, name
    page.goto(server.url("attention", trace=recording, kind="cross", layer=2, head=3))
    page.wait_for_selector("[data-view=attention]")
    assert "Layer 2" in page.locator("[data-view=attention]").inner_text()
