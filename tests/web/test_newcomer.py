"""A newcomer's ten minutes: why does the model write "il", and what would make it write "elle"?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from opening import SENTENCE, Server, wait_until


def test_from_a_sentence_of_ones_own_to_a_picture(page: Any, server: Server) -> None:
    page.set_default_timeout(60_000)
    page.goto(server.url("translate"))
    page.wait_for_selector("[data-view=translate] h2")
    page.get_by_label("Sentence", exact=True).fill(SENTENCE.replace("animal", "dog"))
    page.locator("form button[type=submit]").click()
    wait_until(page, "() => document.title.startsWith('Le chien')")
    page.get_by_role("button", name="What if").click()
    page.locator("button.token", has_text="qu'il").click()
    lead = page.locator("[data-lead]")
    told = [float(lead.get_attribute("data-lead"))]
    after = page.locator("[data-after]")
    for count in range(1, 9):
        last = lead.get_attribute("data-lead")
        page.locator(".matter .row button").first.click()
        wait_until(
            page,
            "([last, count]) => document.querySelectorAll('button.edit').length === count"
            " && document.querySelector('[data-lead]')?.dataset.lead !== last"
            " && !document.querySelector('.outcome.stale')",
            arg=[last, count],
        )
        told.append(float(lead.get_attribute("data-lead")))
        if told[-1] < 0:
            break
    assert told == sorted(told, reverse=True) and told[0] > 5 > 0 > told[-1], told
    wait_until(
        page, "() => document.querySelector('[data-after]').textContent.includes(\"qu'elle\")"
    )
    assert "qu'il" in page.locator("[data-before]").inner_text() and after.count() == 1
    page.get_by_label("Save").click()
    with page.expect_download() as saved:
        page.get_by_role("button", name="SVG").first.click()
    picture = Path(saved.value.path()).read_text(encoding="utf-8")
    assert picture.startswith("<svg") and "elle" in picture and "qu'il" in picture
