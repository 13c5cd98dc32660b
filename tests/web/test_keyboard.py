"""Without a mouse: every screen is entered, worked and left, and the focus is never lost."""

from __future__ import annotations

from typing import Any

import pytest
from opening import Server, wait_until

FOCUSED = "what => document.activeElement.matches(what)"
# Whether something else lies above the middle of what has the focus.
HIDDEN = """() => {
    const own = document.activeElement, box = own.getBoundingClientRect();
    if (own === document.body || box.height > innerHeight / 2) return false;
    const top = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
    return !(top && (own.contains(top) || top.contains(own)));
}"""
HALF = {"width": 720, "height": 450}  # 1440 x 900 at 200 %


@pytest.fixture
def first(page: Any, server: Server) -> Any:
    page.set_default_timeout(60_000)
    page.goto(server.url("first", model="demo"))
    page.wait_for_selector("[data-target]")
    return page


def _is_at(page: Any, what: str) -> None:
    wait_until(page, FOCUSED, arg=what)


def test_what_closes_gives_the_focus_back(first: Any) -> None:
    first.locator(".more").focus()
    first.keyboard.press("Enter")
    _is_at(first, ".menu button:first-child")
    first.keyboard.press("ArrowDown")
    _is_at(first, ".menu button:nth-child(2)")
    first.keyboard.press("Escape")
    _is_at(first, ".more")
    first.keyboard.press("Enter")
    first.keyboard.press("Tab")
    _is_at(first, ".scissors")
    assert first.locator(".menu").count() == 0, "it closes behind the focus"
    first.locator(".chip .word").first.focus()
    first.keyboard.press("Enter")
    _is_at(first, "textarea")
    first.keyboard.press("Escape")
    _is_at(first, ".chip .word")


def test_doors_are_entered_and_left_where_they_are(first: Any) -> None:
    for door, stop in (("why", "[data-guess]"), ("heads", "[data-guess]"), ("teach", "select")):
        first.locator(f"[data-door={door}]").focus()
        first.keyboard.press("Enter")
        _is_at(first, f"#view[data-view={door}]")
        first.locator(stop).first.focus()
        if stop == "select":
            first.keyboard.press("Escape")
            _is_at(first, "#view")
        else:
            first.keyboard.press("Enter")
            _is_at(first, ".question")
        if door == "heads":
            first.locator(".head").first.wait_for()
            assert first.locator(".head[tabindex='0']").count() == 1, "one stop for all heads"
            first.keyboard.press("Tab")
            first.keyboard.press("ArrowRight")
            assert first.locator(".head[tabindex='0']:focus").count() == 1
        first.keyboard.press("Escape")
        _is_at(first, f"[data-door={door}]")


def test_no_bar_hides_the_focus(page: Any, server: Server) -> None:
    page.set_viewport_size(HALF)
    page.goto(server.url("lecture/8", model="demo"))
    page.locator("[data-guess]").first.wait_for()
    page.keyboard.press("ArrowRight")
    page.locator("[data-target]").last.wait_for()
    for _ in range(60):
        page.keyboard.press("Tab")
        assert not page.evaluate(HIDDEN), page.evaluate("() => document.activeElement.outerHTML")
        if page.evaluate("() => document.activeElement === document.body"):
            break
