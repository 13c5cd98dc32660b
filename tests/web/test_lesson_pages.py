"""The pages of a lesson in a browser: slides turn, answers wait, counts stay."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from opening import find_faults, wait_until

from glassformer.extensions.lesson.pages import NAMES, write_lesson

SENTENCE = "The animal didn't cross the street because it was too wide."
PRESSES = 40  # at most, to the last slide


@pytest.fixture(scope="module")
def lesson(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lesson")
    write_lesson("demo", SENTENCE, folder, "en")
    return folder


@pytest.fixture
def window(browser: Any) -> Iterator[Any]:
    """A window without a network, from disk; whatever it complains of fails the test."""
    context = browser.new_context(viewport={"width": 1280, "height": 720}, offline=True)
    page = context.new_page()
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda told: complaints.append(f"{told.type}: {told.text}"))
    yield page
    context.close()
    assert complaints == []


def test_slides_turn_and_answers_wait(lesson: Path, window: Any) -> None:
    window.goto((lesson / "slides.html").as_uri())
    shown = window.locator(".slide:visible")
    assert shown.count() == 1 and not window.locator(".slide .note:visible").count()
    titles, waited = [shown.locator("h2").text_content()], False
    for _ in range(PRESSES):
        hidden = window.locator(".slide.here .answer:not(.shown)").count()
        window.keyboard.press("ArrowRight")
        if hidden:
            waited = True
            assert not window.locator(".slide.here .answer:not(.shown)").count()
            assert shown.locator("h2").text_content() == titles[-1]
        elif (title := shown.locator("h2").text_content()) != titles[-1]:
            titles.append(title)
        spilt = "e => e.scrollHeight > e.clientHeight + 1 || e.scrollWidth > e.clientWidth + 1"
        assert not shown.evaluate(spilt), title
    assert waited and len(titles) == len(set(titles)) == window.locator(".slide").count()
    window.keyboard.press("n")
    assert window.locator(".slide .note:visible").count() == 1
    window.keyboard.press("Home")
    assert shown.locator("h2").text_content() == titles[0]


def test_counts_stay_and_can_be_undone(lesson: Path, window: Any, tmp_path: Path) -> None:
    window.goto((lesson / "questions.html").as_uri())
    first = window.locator("button[data-answer]").first
    for _ in range(3):
        first.click()
    window.locator("button.undo").click()
    window.reload()
    assert first.locator("output").text_content() == "2"
    with window.expect_download() as download:
        window.locator("button.save").click()
    download.value.save_as(path := tmp_path / "answers.csv")
    assert download.value.suggested_filename.startswith("Questions-A-network-that-translates-The")
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = [*csv.DictReader(file)]
    first_row = {"when": "before", "question": "1", "answer": "a", "right": "0", "count": "2"}
    assert {name: rows[0][name] for name in first_row} == first_row
    assert rows[0]["text"].startswith("A weight of attention") and "important" in rows[0]["words"]
    right = [row["question"] for row in rows if row["right"] == "1"]
    assert right == ["1", "2", "3", "4"] * 2
    assert sum(int(row["count"]) for row in rows) == 2
    window.on("dialog", lambda dialog: dialog.accept())
    window.locator("button.clear").click()
    wait_until(window, "document.querySelector('output').value === '0'")


@pytest.mark.parametrize("name", NAMES)
def test_no_faults(name: str, lesson: Path, window: Any) -> None:
    window.goto((lesson / f"{name}.html").as_uri())
    assert find_faults(window) == []


def test_the_app_opens_with_the_sentence(lesson: Path, window: Any) -> None:
    window.goto((lesson / "plan.html").as_uri())
    window.get_by_role("link", name="App").click()
    wait_until(window, "document.body.innerText.includes('large')")


def test_the_app_alone_begins_with_the_sentence_and_its_language(
    browser: Any, tmp_path: Path
) -> None:
    write_lesson("demo", "The cat is on the mat.", tmp_path, "zh")
    context = browser.new_context(locale="en", offline=True)
    page = context.new_page()
    page.goto((tmp_path / "live.html").as_uri())
    wait_until(page, "document.body.innerText.includes('tapis')")
    assert "剪断" in page.inner_text("body")
    page.goto(f"{(tmp_path / 'live.html').as_uri()}#/first?text=The+dog+sleeps.&language=en")
    page.reload()
    wait_until(page, "document.body.innerText.includes('chien')")
    context.close()
