"""The doors of the first screen: a question before its answer, and what was chosen comes along."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from opening import Server, find_faults, wait_until

from glassformer.extensions.serve.page import SavedPage
from glassformer.extensions.site.living import build_living_page

CUT = json.dumps([{"do": "cut", "word": "because"}])
PRONOUN = 7  # the token "qu'il"
SENTENCE = "The animal didn't cross the street because it was too tired."


def _open(page: Any, server: Server, door: str, **state: Any) -> None:
    page.set_default_timeout(60_000)
    page.goto(server.url(door, text=SENTENCE, **state))
    page.wait_for_selector("[data-guess]")


def test_the_chosen_word_and_the_cuts_come_along(page: Any, server: Server) -> None:
    page.set_default_timeout(60_000)
    page.goto(server.url("first", text=SENTENCE, edits=CUT))
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
    assert page.locator(".question [role=status]").inner_text().startswith("Right: ")
    left = float(page.locator("tr.top td.number").nth(1).inner_text().split("%")[0])
    assert left < 2, "the translation as it was, with tired cut: 0.2 %"
    assert "counts most" in page.locator("[data-said]").inner_text()
    page.get_by_role("button", name="traversé").click()
    wait_until(page, "() => document.querySelector('h1').textContent.includes('traversé')")
    assert page.locator("table").count() == 0, "another word, another guess"


@pytest.mark.thorough
def test_an_older_measurement_takes_no_place(page: Any, server: Server) -> None:
    held: list[Any] = []
    page.route("**/cuts", lambda route: route.continue_() if held else held.append(route))
    _open(page, server, "why", step=10)
    page.get_by_role("button", name="traversé").click()
    wait_until(page, "() => document.querySelector('h1').textContent.includes('traversé')")
    page.locator("[data-guess]").first.click()
    page.wait_for_selector("tr.top")
    held[0].continue_()
    page.wait_for_timeout(1000)
    assert page.locator("tr.top").count() == 1


def test_why_shows_gradients_with_their_check(page: Any, server: Server) -> None:
    """Integrated gradients sum to what ln p gains; where it is sure, the slope says nothing."""
    _open(page, server, "why", step=10)
    page.locator("[data-guess]", has_text="tired").click()
    page.wait_for_selector("[data-complete]")
    assert "null" not in page.locator("table").inner_text()
    told = page.locator("[data-complete]").inner_text()
    gain, total, off, share = (float(each) for each in re.findall(r"-?\d+\.\d+", told))
    assert off == pytest.approx(abs(total - gain), abs=0.011)
    assert share == pytest.approx(100 * off / gain, abs=0.2) and "at 128 points" in told
    assert gain > 5 and total == pytest.approx(gain, rel=0.05)
    cells = page.locator("tbody tr").evaluate_all(
        "rows => rows.map(row => [...row.querySelectorAll('td.number')].map(e => e.innerText))"
    )
    parts = [[float(each.replace("−", "-")) for each in row[-2:]] for row in cells]
    assert sum(integrated for integrated, _ in parts) == pytest.approx(total, abs=0.1)
    assert all(abs(slope) < 0.1 for _, slope in parts)
    assert len({slope for _, slope in parts}) > 10, "with digits enough to be ranked"
    heads = page.locator("thead th").evaluate_all(
        "all => all.map(each => each.getBoundingClientRect()).map(each => [each.left, each.right])"
    )
    rank = page.locator("tbody td.rank").first.bounding_box()
    assert heads[3] == pytest.approx([rank["x"], rank["x"] + rank["width"]], abs=1)
    assert "integrated gradients rank it 1," in page.locator("[data-agrees]").inner_text()


def test_on_a_phone_all_of_why_is_in_sight(page: Any, server: Server) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    _open(page, server, "why", step=10)
    page.locator("[data-guess]", has_text="tired").click()
    page.wait_for_selector("[data-complete]")
    assert page.locator("tr.top td.number").count() == 4
    places = page.locator("table td, table td i").evaluate_all(
        "all => all.map(each => each.getBoundingClientRect()).map(each => [each.left, each.right])"
    )
    assert min(left for left, _ in places) >= 0 and max(right for _, right in places) <= 390
    cut = page.locator("tr.top td.number").nth(1)
    assert cut.evaluate("each => each.scrollWidth <= each.clientWidth")
    sentence = page.locator("p.source").inner_text()
    assert sentence.endswith("too tired."), "no space before the full stop"


def test_a_page_without_a_server_says_that_it_has_no_gradients(
    browser: Any, tmp_path: Path
) -> None:
    place = tmp_path / "class.html"
    SavedPage(build_living_page(["demo"])).save(place)
    page = browser.new_context(offline=True, locale="en").new_page()
    page.goto(f"{place.as_uri()}#/why?step=10")
    page.locator("[data-guess='0']").click()
    page.wait_for_selector("[data-no-gradients]")
    assert page.locator("thead th").count() == 4
    page.context.close()


def test_up_finds_the_layer_at_which_the_animal_becomes_male(page: Any, server: Server) -> None:
    _open(page, server, "up", step=PRONOUN)
    assert page.locator(".floors").count() == 0
    page.locator("[data-guess='1']").click()
    page.wait_for_selector(".floors li")
    assert page.locator(".question [role=status]").inner_text() == "You said: 1. It is: 3."
    assert page.locator(".floors li.first").get_attribute("data-floor") == "3"
    assert page.locator("select").first.input_value() == "0"
    pushes = [
        float(each.replace("−", "-")) for each in page.locator(".pushes .number").all_inner_texts()
    ]
    told = page.locator("section > p", has_text="All together").inner_text()
    assert sum(pushes) == pytest.approx(float(told.rsplit(": ", 1)[1].rstrip(".")), abs=0.06)


def _train(page: Any) -> str:
    page.locator("[data-train]").click()
    page.wait_for_selector("[data-done]")
    return str(page.locator("[data-right]").inner_text())


def test_a_question_whose_training_is_stopped_is_asked_again(page: Any, server: Server) -> None:
    page.set_default_timeout(120_000)
    own = {"teach.lines": "Der Hund . = le chien .", "teach.updates": "75"}
    page.goto(server.url("teach", **own))
    page.locator(".own input").fill("Der Hund .")
    assert page.locator(".own [role=status], .lines .wrong").count() == 0, "nouns as they are typed"
    page.locator("[data-train]").click()
    page.wait_for_selector("[data-done]")
    assert page.locator(".asked li b").all_inner_texts() == ["le", "chien", "."]
    page.get_by_label("Updates").select_option("600")
    page.locator("[data-guess='1']").click()
    page.get_by_role("button", name="Stop").click()
    page.wait_for_selector("[data-guess='1']")
    assert page.locator(".switches input[type=checkbox]:checked").count() == 2


@pytest.mark.thorough
def test_a_network_learns_here_and_without_positions_it_does_not(page: Any, server: Server) -> None:
    page.set_default_timeout(120_000)
    page.goto(server.url("first"))
    page.locator("[data-door=teach]").click()
    assert _train(page) == "8 of 8 right"
    loss = page.locator("[data-loss]").inner_text()
    assert float(loss) < 0.05
    assert _train(page) == "8 of 8 right"
    assert page.locator("[data-loss]").inner_text() == loss, "the same seed, the same network"
    page.locator("[data-guess='1']").click()
    page.wait_for_selector("[data-said]")
    assert page.locator(".question [role=status]").inner_text().startswith("Right: ")
    assert int(page.locator("[data-right]").get_attribute("data-right")) <= 3
    assert "teach.positions=0" in page.url
    page.get_by_role("button", name="The next question").click()
    page.locator("[data-guess='1']").click()
    page.wait_for_selector("[data-said]")
    assert float(page.locator("[data-loss]").inner_text()) < 0.05, "it reads what it is to predict"
    assert page.locator(".question [role=status]").inner_text().startswith("Right: ")


def test_lines_of_ones_own_are_learnt_and_unknown_words_named(page: Any, server: Server) -> None:
    page.set_default_timeout(120_000)
    page.goto(server.url("teach"))
    page.locator("textarea").fill("red car = voiture rouge\nblue car = voiture bleue\nno pair")
    assert "2 lines" in page.locator("h1 + p").inner_text()
    page.locator(".own input").fill("red moon")
    assert "moon" in page.locator("[role=status]").inner_text()
    page.locator(".own input").fill("blue car")
    page.locator("[data-train]").click()
    page.wait_for_selector("[data-done]")
    assert page.locator(".asked li b").all_inner_texts() == ["voiture", "bleue"]
    assert "teach.lines=red" in page.url


def test_the_sentence_that_is_suggested_comes_first(page: Any, server: Server) -> None:
    page.goto(server.url("teach"))
    asked = page.locator(".asked li")
    count, last = asked.count(), asked.last.locator(".small").inner_text()
    page.locator(".own input").fill(page.locator(".own input").get_attribute("placeholder"))
    page.locator(".own input").fill(last)
    wait_until(
        page, "last => document.querySelector('.asked li .small').textContent === last", arg=last
    )
    assert asked.count() == count


@pytest.mark.thorough
def test_a_word_is_lost_with_the_line_that_taught_it(page: Any, server: Server) -> None:
    page.set_default_timeout(120_000)
    page.goto(server.url("teach", **{"teach.updates": 75}))
    lines = ["red car = voiture rouge", "blue car = voiture bleue", "red house = maison rouge"]
    page.locator("textarea").fill("\n".join([*lines, "green house = maison verte"]))
    page.locator(".own input").fill("green house")
    page.locator("[data-train]").click()
    page.wait_for_selector("[data-done]")
    assert page.locator(".asked li b").all_inner_texts() == ["maison", "verte"]
    page.locator("[data-word='1']").click()
    page.wait_for_selector("[data-teachers=true]")
    taught = page.locator(".taught li")
    assert taught.count() == 4
    assert "green house" in taught.first.inner_text(), "the only line with green"
    numbers = [
        float(each.replace("−", "-")) for each in page.locator(".taught .number").all_inner_texts()
    ]
    assert numbers == sorted(numbers, reverse=True) and numbers[0] > 1
    assert page.locator("[data-again]").is_disabled()
    taught.first.get_by_role("button").click()
    page.locator("[data-again]").click()
    page.wait_for_selector("[data-changed=true]")
    assert "teach.without=3" in page.url
    assert page.locator("[data-changed]").inner_text().startswith("Before “verte” (")
    assert "verte" not in page.locator(".asked li b").all_inner_texts()
    taught.first.get_by_role("button", name="put back").click()
    page.locator("[data-again]").click()
    page.wait_for_selector("[data-changed=false]")
    assert page.locator(".asked li b").all_inner_texts() == ["maison", "verte"], "the same again"
    page.locator("textarea").fill("\n".join(["a = b", *lines]))
    assert taught.first.get_by_role("button").is_disabled(), "the lines have other numbers now"
    assert page.locator("[data-all]").is_disabled()


@pytest.mark.thorough
@pytest.mark.parametrize("look", [{}, {"theme": "dark", "language": "zh"}])
def test_teaching_has_no_fault(page: Any, server: Server, look: dict[str, str]) -> None:
    page.set_default_timeout(120_000)
    page.goto(server.url("teach", **look))
    _train(page)
    assert page.evaluate("() => document.documentElement.scrollHeight <= 900")
    page.set_viewport_size({"width": 390, "height": 844})
    page.wait_for_timeout(300)
    assert page.evaluate("() => document.documentElement.scrollWidth <= 390")
    assert find_faults(page) == []


def test_heads_have_names_that_were_measured(page: Any, server: Server) -> None:
    _open(page, server, "heads", model="demo")
    assert page.locator("[data-head]").count() == 0, "a question before its answer"
    page.locator("[data-guess='0']").click()
    page.wait_for_selector("[data-portrait]")
    assert page.locator(".question [role=status]").inner_text().startswith("Right: ")
    assert page.locator("[data-head]").count() == 144
    own = page.locator("[data-head='decoder.5.cross_attention.2']")
    assert "token being translated" in own.get_attribute("aria-label")
    own.click()
    wait_until(page, "() => location.hash.includes('heads.head=decoder.5.cross_attention.2')")
    told = server.ask("models/demo/heads")["portraits"]["blocks"]["decoder.5.cross_attention"]
    share = page.locator("[data-portrait] td.number").nth(1).inner_text()
    assert float(share.rstrip("%")) == pytest.approx(100 * told["heads"][2]["reads"][1], abs=0.06)
    page.wait_for_selector("section svg path")


def test_a_model_whose_heads_nobody_measured_says_how(page: Any, server: Server) -> None:
    page.set_default_timeout(60_000)
    page.route("**/heads", lambda route: route.fulfill(json={"portraits": None}))
    page.goto(server.url("heads"))
    page.wait_for_selector("[data-none]")
    assert "glassformer heads" in page.locator("[data-none]").inner_text()


@pytest.mark.thorough
def test_one_number_is_counted_up_and_leads_to_others(page: Any, server: Server) -> None:
    _open(page, server, "number", step=10)
    assert page.locator("table").count() == 0
    page.locator("[data-guess]", has_text="tired").click()
    page.wait_for_selector("[data-same].good")
    assert "“tired” adds most" in page.locator("[data-said].good").inner_text()
    page.wait_for_selector("[data-checked]")
    largest = page.locator("[data-checked]").inner_text().split("largest difference ")[1]
    assert float(largest.split(" ")[0].replace("−", "-")) < 1e-4
    page.locator("table button", has_text="value[").first.click()
    wait_until(page, "() => document.querySelector('.cell').textContent.includes('.value[')")
    page.wait_for_selector("[data-same].good")
    assert "cell=decoder.5.cross_attention.value" in page.url


@pytest.mark.thorough
@pytest.mark.parametrize("door", ["heads", "number"])
@pytest.mark.parametrize("look", [{}, {"theme": "dark", "language": "zh"}])
def test_further_doors_have_no_fault(
    page: Any, server: Server, door: str, look: dict[str, str]
) -> None:
    _open(page, server, door, step=PRONOUN, model="demo", **look)
    page.locator("[data-guess='1']").click()
    page.wait_for_selector("[data-portrait], [data-same]")
    page.wait_for_timeout(500)
    page.set_viewport_size({"width": 390, "height": 844})
    page.wait_for_timeout(300)
    assert page.evaluate("() => document.documentElement.scrollWidth <= 390")
    assert find_faults(page) == []


@pytest.mark.thorough
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


def test_a_head_is_called_by_what_it_was_found_to_read(page: Any, server: Server) -> None:
    told = server.ask("models/demo/heads")["portraits"]["blocks"]["decoder.3.self_attention"]
    assert told["habits"][2] == "itself"
    page.set_default_timeout(60_000)
    where = {"text": SENTENCE, "kind": "decoder", "layer": 3, "head": 2}
    page.goto(server.url("attention", **where, **{"attention.form": "matrix"}))
    page.wait_for_selector("h2:has-text('Head 2: itself')")
    page.goto(server.url("attention", **where, language="zh"))
    page.wait_for_selector(".heads button:has-text('2：它自己')")
    assert page.locator(".heads button", has_text="它自己").count() == sum(
        each == "itself" for each in told["habits"]
    )
