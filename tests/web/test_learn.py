"""The place for learners: where it leads, and the flashcards that come back."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest
from opening import Server, find_faults

from glassformer.cli import main
from glassformer.extensions.serve.page import SavedPage
from glassformer.extensions.site.build import link_guide
from glassformer.extensions.site.living import build_living_page

DAY = 86_400_000
WIDE = "The animal didn't cross the street because it was too wide."


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page without a server."""
    path = tmp_path_factory.mktemp("page") / "class.html"
    SavedPage(link_guide(build_living_page(["demo"]))).save(path)
    return path


def _answer(page: Any, grade: str) -> str:
    """Grade the card that is asked; return its question."""
    question: str = page.locator("[data-flashcard] h2").inner_text()
    page.get_by_role("button", name="Show the answer").click()
    page.get_by_role("button", name=grade).click()
    return question


def test_one_door_leads_to_all_that_teaches(page: Any, server: Server) -> None:
    page.goto(server.url(""))
    page.locator("[data-door=learn]").click()
    page.wait_for_selector("[data-place=lesson]")
    assert not find_faults(page)
    command = page.locator("[data-place=lesson] code").inner_text()
    assert shlex.split(command) == ["glassformer", "lesson", "demo", WIDE, "-o", "lesson"]
    page.locator("[data-place=course]").get_by_role("button", name="Copy").click()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == "glassformer course start"
    assert page.locator("[data-place=course] a").count() == 0, "no site, no guide"
    for way, view in (("lecture", "lecture"), ("puzzles", "puzzles"), ("recall", "recall")):
        page.locator(f"[data-place={way}]").click()
        page.wait_for_selector(f"[data-view={view}]")
        page.go_back()
        page.wait_for_selector("[data-view=learn]")
    page.locator("[data-place=story]").click()
    page.wait_for_selector("[data-card]")


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_anki_gets_what_the_command_writes(
    page: Any, server: Server, lang: str, tmp_path: Path
) -> None:
    page.goto(server.url("recall", language=lang))
    page.wait_for_selector("[data-flashcard]")
    assert not find_faults(page)
    for program, name in (("Anki", "cards.txt"), ("Logseq", "cards.md")):
        with page.expect_download() as saved:
            page.locator("[data-recall] button", has_text=program).click()
        assert main(["flashcards", "-o", str(tmp_path / name), "--lang", lang]) == 0
        assert Path(saved.value.path()).read_bytes() == (tmp_path / name).read_bytes()


def test_cards_come_back_without_a_server(browser: Any, place: Path) -> None:
    page = browser.new_context(offline=True, locale="en").new_page()
    page.clock.install()
    page.goto(f"{place.as_uri()}#/recall")
    told = page.locator("[data-recall] [role=status]")
    assert "0 to repeat, 10 new" in told.inner_text()
    known, missed = _answer(page, "I knew it"), _answer(page, "Missed")
    others = [_answer(page, "I knew it") for _ in range(8)]
    assert len({known, missed, *others}) == 10
    assert page.locator("[data-flashcard] h2").inner_text() == missed, "at last, it is asked again"
    _answer(page, "Barely")
    assert "Done for today" in page.locator("[data-recall]").inner_text()
    page.clock.set_system_time(page.evaluate("Date.now()") + DAY)
    page.reload()
    page.wait_for_selector("[data-flashcard]")
    assert "10 to repeat, 10 new. You have met 10 of 95" in told.inner_text()
    page.context.close()


def test_a_card_that_another_tab_has_graded_is_not_asked(browser: Any, place: Path) -> None:
    context = browser.new_context(offline=True, locale="en")
    one, other = context.new_page(), context.new_page()
    for page in (one, other):
        page.goto(f"{place.as_uri()}#/recall")
    one.locator("[data-flashcard] button").click()
    known = _answer(other, "I knew it")
    one.wait_for_function(f"!document.querySelector('[data-recall]').innerText.includes({known!r})")
    assert one.locator("[data-flashcard] button").inner_text() == "Show the answer"
    context.close()


def test_the_count_of_due_cards_is_that_of_now(browser: Any, place: Path) -> None:
    """Behind a session, one in another tab, and where a browser stores nothing."""
    count = "[data-place=recall] .soft"
    for refuses in (False, True):
        context = browser.new_context(offline=True, locale="en")
        if refuses:
            context.add_init_script("Storage.prototype.setItem = () => { throw new Error('full') }")
        page = context.new_page()
        page.goto(f"{place.as_uri()}#/learn")
        assert "Today: 10." in page.locator(count).inner_text()
        page.locator("[data-place=recall]").click()
        page.wait_for_selector("[data-flashcard]")
        _answer(page, "I knew it")
        page.go_back()
        assert "Today: 9." in page.locator(count).inner_text()
        if not refuses:
            other = context.new_page()
            other.goto(f"{place.as_uri()}#/recall")
            _answer(other, "I knew it")
            page.locator(count, has_text="Today: 8.").wait_for()
        context.close()


def test_a_page_of_a_site_leads_to_the_guide(browser: Any, place: Path) -> None:
    page = browser.new_context(offline=True, locale="zh-CN").new_page()
    page.goto(f"{place.as_uri()}#/learn")
    page.wait_for_selector("[data-place=lesson] code")
    assert page.locator("[data-place=course] a").get_attribute("href") == "docs/zh/course.html"
    assert page.locator("[data-place=course] code").inner_text().endswith("start --lang zh")
    page.context.close()
