"""What a notebook shows of a recording, in a browser without a connection."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from opening import find_faults

from glassformer import Translator
from glassformer.extensions.site.cutting import frame_threads

SENTENCE = "The animal didn't cross the street because it was too wide."


@pytest.mark.thorough
def test_a_word_is_cut_by_a_click_or_a_key(browser: Any, tmp_path: Path) -> None:
    translator = Translator.load("demo")
    trace = translator.see(SENTENCE)
    cut = translator.see(SENTENCE, edits=[{"do": "cut", "word": "wide"}])
    assert "qu'elle" in trace.translation and "qu'il" in cut.translation
    path = tmp_path / "cell.html"
    html = (
        f'<!doctype html><html lang="en"><title>A cell</title><h1>A cell</h1>{trace._repr_html_()}'
    )
    path.write_text(html, encoding="utf-8")
    context = browser.new_context(offline=True, viewport={"width": 800, "height": 900})
    page = context.new_page()
    page.goto(path.as_uri())
    frame = page.frame_locator("iframe")
    shown = frame.locator("section:visible")
    assert shown.count() == 1 and trace.translation in shown.inner_text()
    frame.get_by_text("✂ wide").click()
    assert shown.count() == 1 and cut.translation in shown.inner_text()
    assert "qu'elle → qu'il" in shown.inner_text()
    page.keyboard.press("ArrowLeft")
    assert "Without “too”" in shown.inner_text()
    page.keyboard.press("ArrowRight")
    assert "Without “wide”" in shown.inner_text()
    inside = page.frames[1]
    box = "[document.body.scrollWidth - innerWidth, document.body.scrollHeight - innerHeight]"
    assert max(inside.evaluate(box)) <= 0, "all of it is in sight"
    assert not find_faults(page)
    context.close()


def test_a_word_is_cut_where_it_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not in a longer word or number before it."""
    trace = Translator.load("demo").see("  It isn't 1.5, so 1 is what it isn.")
    cuts = list[tuple[str, int]]()

    def cut(word: str, occurrence: int) -> Any:
        cuts.append((word, occurrence))
        return trace

    monkeypatch.setattr(trace, "record_cut", cut)
    frame_threads(trace)
    assert ("1", 1) in cuts and ("isn", 1) in cuts and ("1.5", 0) in cuts
