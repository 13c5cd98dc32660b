"""The view of three networks: the same sentence, step by step, and where each goes wrong."""

from __future__ import annotations

from typing import Any

import pytest
from opening import Server, find_faults


def _open(page: Any, server: Server, **state: Any) -> None:
    page.set_default_timeout(60_000)
    page.goto(server.url("networks", **state))
    page.wait_for_selector("[data-step]")
    page.locator("[data-play]").click()


def _choose(page: Any, server: Server, example: str) -> None:
    _open(page, server)
    page.locator(f"[data-example={example}]").click()
    page.wait_for_selector("[data-step]")
    page.locator("[data-play]").click()


def _go_to(page: Any, step: int) -> None:
    page.locator("[data-step]").fill(str(step))


def _read(page: Any, network: str, part: str) -> list[str]:
    found: list[str] = page.locator(f"[data-network={network}] {part}").all_inner_texts()
    return found


@pytest.mark.thorough
def test_a_recurrent_network_reads_in_turn_and_a_transformer_at_once(
    page: Any, server: Server
) -> None:
    _open(page, server)
    _go_to(page, 3)
    assert _read(page, "rnn", ".source li.read") == ["The", "animal", "didn't"]
    assert _read(page, "attention", ".source li.read") == ["The", "animal", "didn't"]
    assert len(_read(page, "transformer", ".source li.read")) == 13
    assert find_faults(page) == [], "what is not read yet can be read by people"
    assert _read(page, "rnn", ".target li") == []
    assert _read(page, "transformer", ".target li") == ["L'animal", "n'a"]


@pytest.mark.thorough
def test_only_attention_shows_where_a_step_looks(page: Any, server: Server) -> None:
    _choose(page, server, "twin")
    _go_to(page, 24)  # 13 tokens were read, the 11th is written
    assert _read(page, "attention", ".target li.now") == ["fatigué"]
    assert "“tired”" in _read(page, "attention", "[data-doing]")[0]
    assert "nothing but this vector of 192 numbers" in _read(page, "rnn", "[data-doing]")[0]
    _go_to(page, 27)
    assert _read(page, "rnn", ".verdict .wrong") == ["en", "colère"]
    assert _read(page, "attention", ".verdict .wrong") == []
    assert "Every word is right." in _read(page, "attention", "[data-verdict]")[0]


@pytest.mark.thorough
def test_the_long_riddle_says_where_each_goes_wrong(page: Any, server: Server) -> None:
    _choose(page, server, "long")
    _go_to(page, int(page.locator("[data-step]").get_attribute("max")))
    page.wait_for_selector("[data-reference]")
    told = [_read(page, each, "[data-verdict]")[0] for each in ("rnn", "attention", "transformer")]
    assert "goes wrong at “Les”" in told[0] and "goes wrong at “vieil”" in told[1]
    assert "13 of 26 words are missing" in told[2]


def test_a_sentence_of_ones_own_is_not_judged(page: Any, server: Server) -> None:
    _open(page, server, text="The dog was hungry.")
    _go_to(page, int(page.locator("[data-step]").get_attribute("max")))
    assert "least sure of" in _read(page, "rnn", "[data-verdict]")[0]
    assert page.locator("[data-reference]").count() == 0 and page.locator(".wrong").count() == 0


@pytest.mark.thorough
@pytest.mark.parametrize(("width", "height"), [(1440, 900), (390, 844)])
def test_it_is_accessible_in_chinese_and_fits(
    page: Any, server: Server, width: int, height: int
) -> None:
    page.set_viewport_size({"width": width, "height": height})
    _open(page, server, language="zh")
    _go_to(page, 20)
    assert page.locator("h1").inner_text() == "一句话，三个网络"
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert find_faults(page) == []


def test_the_lab_has_a_way_to_it(page: Any, server: Server) -> None:
    page.set_default_timeout(60_000)
    page.goto(server.url("translate"))
    page.locator("[data-networks]").click()
    page.wait_for_selector("[data-step]")
    assert page.locator("h1").inner_text() == "One sentence, three networks"
