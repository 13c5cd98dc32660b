"""The first screen, as a newcomer uses it: threads are cut, words die, and all is mended again."""

from __future__ import annotations

import gzip
from typing import Any
from urllib.parse import quote

import pytest
from opening import Server, empty_cache, find_faults, wait_until

SENTENCE = "The animal didn't cross the street because it was too tired."
FRENCH = "L'animal n'a pas traversé la rue parce qu'il était trop fatigué."
SETTLED = "() => document.querySelector('.said')?.getAttribute('aria-busy') === 'false'"
TITLE = "said => document.title.startsWith(said)"


def _open(page: Any, server: Server, **state: Any) -> None:
    page.set_default_timeout(60_000)
    page.goto(server.url("first", **{"text": SENTENCE, **state}))
    page.wait_for_selector("[data-target]")
    _settle(page)


def _settle(page: Any) -> None:
    wait_until(page, SETTLED, seconds=60)


def _said(page: Any) -> str:
    return str(page.title()).removesuffix(" · glassformer")


def _cut(page: Any, word: str) -> None:
    page.get_by_role("button", name=f"Cut the thread of “{word}”").click()
    wait_until(page, "() => document.querySelector('[data-counter]') !== null", seconds=60)
    _settle(page)


def test_a_cut_changes_the_translation_and_mending_restores_it(page: Any, server: Server) -> None:
    _open(page, server)
    assert _said(page) == FRENCH
    assert "828,672 numbers" in page.locator("h1").inner_text()
    assert "Cut a thread." in page.locator("h1").inner_text()
    _cut(page, "tired")
    wait_until(page, "() => document.title.includes('malade')", seconds=60)
    assert page.locator(".fresh").all_inner_texts() == ["malade"]
    page.wait_for_timeout(600)
    assert find_faults(page) == [], "what is pale and red can be read"
    assert page.locator("del.ghost").all_inner_texts() == ["fatigué"]
    assert page.locator("[data-counter]").inner_text() == "1 cut, 1 of 12 words changed"
    why = page.locator("[data-why]").inner_text()
    assert "“fatigué” had read “tired”" in why and "says “malade”" in why
    page.get_by_role("button", name="Mend all").click()
    wait_until(page, TITLE, arg=FRENCH, seconds=60)
    assert page.locator(".fresh").count() == page.locator("del.ghost").count() == 0


def test_why_nothing_changed(page: Any, server: Server) -> None:
    _open(page, server)
    _cut(page, "because")
    wait_until(page, "() => document.querySelector('[data-why]').textContent.startsWith('Nothing')")
    why = page.locator("[data-why]").inner_text()
    assert "“parce” had read it most" in why and "instead" in why
    assert _said(page) == FRENCH


def test_scissors_over_a_thread_and_the_keyboard(page: Any, server: Server) -> None:
    """A click on a thread, Enter on its button: the same; a second one mends it."""
    _open(page, server)
    where = page.evaluate(
        "() => { const path = document.querySelector('[data-thread=\"10\"]');"
        " const at = path.getPointAtLength(path.getTotalLength() * 0.25);"
        " const own = path.ownerSVGElement.getBoundingClientRect();"
        " return [at.x + own.left, at.y + own.top]; }"
    )
    page.mouse.move(where[0] - 1, where[1])
    page.mouse.move(*where)
    page.wait_for_selector("svg.tool")
    page.mouse.click(*where)
    wait_until(page, "() => document.title.includes('malade')", seconds=60)
    _settle(page)
    page.get_by_role("button", name="Mend the thread of “tired”").focus()
    page.keyboard.press("Enter")
    wait_until(page, TITLE, arg=FRENCH, seconds=60)


def test_il_becomes_elle(page: Any, server: Server) -> None:
    _open(page, server)
    page.get_by_role("button", name="What could stand in place of “tired”").click()
    page.get_by_role("button", name="wide", exact=True).click()
    wait_until(page, '() => document.title.includes("qu\'elle était trop large")', seconds=60)
    _settle(page)
    assert page.locator(".fresh").all_inner_texts() == ["qu'elle", "large"]
    assert page.locator("del.ghost").all_inner_texts() == ["qu'il", "fatigué"]
    why = page.locator("[data-why]").inner_text()
    assert why.endswith("the network says: qu'il → qu'elle, fatigué → large.")
    assert page.locator("[data-target][aria-pressed=true]").inner_text() == "qu'elle"
    assert page.locator("[data-next]").count() == 0, "done once, it needs no word"
    assert "text=The+animal+didn%27t+cross+the+street+because+it+was+too+wide." in page.url


WIDE = SENTENCE.replace("tired", "wide")
ELLE = "L'animal n'a pas traversé la rue parce qu'elle était trop large."


def test_the_first_screen_cuts_a_thread_by_itself_once(browser: Any, server: Server) -> None:
    """The scissors walk to "wide": "elle" becomes "il", two words before, and is mended."""
    context = browser.new_context(viewport={"width": 1440, "height": 900}, locale="en")
    page = context.new_page()
    page.set_default_timeout(60_000)
    page.goto(server.url("first"))
    wait_until(page, TITLE, arg=ELLE, seconds=60)
    page.wait_for_selector("svg.tool")
    wait_until(page, '() => document.title.includes("qu\'il était trop")', seconds=60)
    assert page.locator(".chip.cut .word").all_inner_texts() == ["wide"]
    wait_until(page, TITLE, arg=ELLE, seconds=60)
    _settle(page)
    wait_until(page, "() => document.querySelector('[data-why]').textContent.includes('Now you')")
    assert "“wide” was cut" in page.locator("[data-why]").inner_text()
    assert "qu'elle → qu'il" in page.locator("[data-why]").inner_text()
    assert page.locator(".chip.cut, .fresh, svg.tool").count() == 0
    page.wait_for_timeout(3000)
    assert page.locator(".chip.cut, svg.tool").count() == 0, "once"
    context.close()


@pytest.mark.thorough
def test_a_hand_stops_what_the_screen_shows_by_itself(browser: Any, server: Server) -> None:
    context = browser.new_context(viewport={"width": 1440, "height": 900}, locale="en")
    page = context.new_page()
    page.set_default_timeout(60_000)
    page.goto(server.url("first"))
    page.wait_for_selector("svg.tool")
    page.get_by_role("button", name="Cut the thread of “street”").click()
    wait_until(page, "() => document.querySelectorAll('.chip.cut').length === 1", seconds=60)
    page.wait_for_timeout(4000)
    assert page.locator(".chip.cut .word").all_inner_texts() == ["street"]
    context.close()


def test_without_motion_a_sentence_says_what_the_cut_does(page: Any, server: Server) -> None:
    page.set_default_timeout(60_000)
    page.goto(server.url("first"))
    wait_until(page, "() => document.querySelector('[data-why]')?.textContent.includes('Now you')")
    assert "“wide” is cut" in page.locator("[data-why]").inner_text()
    assert page.locator("svg.tool, .chip.cut").count() == 0 and _said(page) == ELLE


def test_the_thickest_threads_are_drawn_and_all_on_request(page: Any, server: Server) -> None:
    _open(page, server)
    few, all_ = page.locator(".thread").count(), page.locator(".threads-all")
    assert f"thickest {few} are" in all_.inner_text()
    all_.click()
    assert page.locator(".thread").count() > few
    all_.click()
    assert page.locator(".thread").count() == few


@pytest.mark.thorough
def test_each_word_is_cut_once_and_ranked(page: Any, server: Server) -> None:
    """Each row says what the server says under that cut alone."""
    _open(page, server, text=WIDE)
    page.get_by_role("button", name="Cut each word once").click()
    page.wait_for_selector("[data-strip=done]")
    rows = page.locator("[data-strip] tbody tr")
    words = rows.locator("th").all_inner_texts()
    assert sorted(words) == sorted(WIDE.replace(".", "").split())
    changed = [int(each) for each in rows.locator("td:nth-child(3)").all_inner_texts()]
    assert changed == sorted(changed, reverse=True) and changed[0] == 2 and changed[-1] == 0
    assert "Thick is not important" in page.locator("[data-strip] [role=status]").inner_text()
    assert find_faults(page) == []
    for row in (0, 3):
        word, said = words[row], rows.nth(row).locator("td").last
        gone = said.locator("del").all_inner_texts()
        edits = [{"do": "cut", "word": word}]
        trace = server.ask("trace", {"text": WIDE, "edits": edits})["id"]
        told = server.ask(f"traces/{trace}/answer")
        shown = " ".join(said.inner_text().split())
        for each in gone:
            shown = " ".join(shown.replace(each, "", 1).split())
        assert shown == told["translation"], word
    rows.first.locator("th button").click()
    wait_until(page, "() => document.querySelectorAll('.chip.cut').length === 1", seconds=60)


def test_an_address_brings_sentence_and_cuts_back(page: Any, server: Server) -> None:
    _open(page, server)
    _cut(page, "tired")
    _cut(page, "because")
    said, address = _said(page), page.url
    page.goto("about:blank")
    page.goto(address)
    wait_until(page, TITLE, arg=said, seconds=60)
    assert page.locator(".chip.cut .word").all_inner_texts() == ["because", "tired"]
    assert "2 cut" in page.locator("[data-counter]").inner_text()


def test_a_sentence_of_ones_own_says_what_it_does_not_know(page: Any, server: Server) -> None:
    _open(page, server)
    page.get_by_role("button", name="Type your own sentence").last.click()
    page.get_by_label("Sentence", exact=True).fill("I like skyscrapers.")
    page.keyboard.press("Enter")
    wait_until(page, "() => document.querySelectorAll('.chip .unknown').length === 1", seconds=60)
    assert page.locator(".chip .unknown").inner_text() == "skyscrapers"
    assert "Never met in training: skyscrapers." in page.locator("[data-why]").inner_text()
    assert "I am unsure" in page.locator("[data-unsure]").inner_text()


@pytest.mark.thorough
def test_each_sentence_of_a_text_can_be_looked_at(page: Any, server: Server) -> None:
    """The first is in sight, and which of how many is said; a key leads to the next one."""
    text = "The cat bites the dog. I like learning programming."
    _open(page, server, text="The cat bites the dog.")
    place = page.locator(".said").bounding_box()
    assert page.locator("[data-which]").count() == 0
    _open(page, server, text=text)
    assert page.locator("[data-which] [role=status]").inner_text() == "1 of 2"
    assert page.locator(".said").bounding_box() == place, "nothing moves"
    page.get_by_role("button", name="The next sentence: I like learning programming.").focus()
    page.keyboard.press("Enter")
    wait_until(page, "() => document.title.startsWith('J')", seconds=60)
    _settle(page)
    assert page.locator("[data-which] [role=status]").inner_text() == "2 of 2"
    assert page.locator(".chip .word").first.inner_text() == "I"
    assert "sentence=1" in page.url
    assert page.evaluate("() => document.activeElement.textContent") == "›", "the focus stays"
    _cut(page, "learning")
    said, address = _said(page), page.url
    page.goto("about:blank")
    page.goto(address)
    wait_until(page, TITLE, arg=said, seconds=60)
    assert page.locator(".chip.cut .word").all_inner_texts() == ["learning"]
    page.locator(".chip .word", has_text="programming").click()
    box = page.get_by_label("Sentence", exact=True)
    assert box.input_value() == text
    assert box.evaluate("box => box.selectionStart") == len(text) - 1, "behind the word"
    assert page.locator("[data-which]").inner_text() == "2 of 2"
    page.keyboard.press("Enter")
    page.get_by_role("button", name="The next sentence: The cat bites the dog.").click()
    wait_until(page, "() => document.title.startsWith('Le chat mord')", seconds=60)
    size = page.evaluate(
        "() => [document.documentElement.scrollWidth, document.documentElement.scrollHeight]"
    )
    assert size == [1440, 900] and find_faults(page) == []


def test_a_sentence_that_is_not_there_gives_the_first(page: Any, server: Server) -> None:
    _open(page, server, text="The cat bites the dog. The dog sees the cat.", sentence=7)
    assert page.locator("[data-which] [role=status]").inner_text() == "1 of 2"
    assert page.locator("[role=alert]").count() == 0


def test_a_symbol_that_is_not_read_stays_in_sight(page: Any, server: Server) -> None:
    _open(page, server, text="The cat 🍕 bites the dog 🎉! The dog sees the cat.")
    words = page.locator(".chip .word").all_inner_texts()
    assert words == ["The", "cat", "🍕", "bites", "the", "dog", "🎉", "!"]
    symbols = page.locator(".said [data-aside]")
    assert sorted(symbols.all_inner_texts()) == ["🍕", "🎉"]
    assert _said(page) == " ".join(page.locator(".said").inner_text().split()).replace(" !", "!")
    told = page.locator(".chips [data-aside]").first
    assert "does not know 🍕 and did not read it" in told.get_attribute("title")
    assert "did not read it" in page.locator("[data-why]").inner_text()
    page.locator(".chips [data-aside]").first.click()
    caret = page.get_by_label("Sentence", exact=True).evaluate("box => box.selectionStart")
    assert caret == len("The cat")


def test_a_text_of_symbols_alone_is_refused_once(page: Any, server: Server) -> None:
    page.goto(server.url("first", text="🍕"))
    page.wait_for_selector("[role=alert]")
    assert page.locator("[role=alert]").inner_text().startswith("There is nothing to translate")
    assert page.locator("[role=alert] button").count() == 0


def test_sliders_reshape_all_words_and_dice_draw_from_them(page: Any, server: Server) -> None:
    _open(page, server)
    first = "[...document.querySelectorAll('.one .columns i:first-child')].map(i => i.offsetHeight)"
    before = page.evaluate(f"() => {first}")
    slider = page.get_by_label("temperature")
    slider.focus()
    slider.fill("3")
    wait_until(
        page,
        f"before => {first}.every((each, n) => each < before[n])",
        arg=before,
        seconds=60,
    )
    slider.fill("0.05")
    page.get_by_role("button", name="Draw 50 translations").click()
    page.wait_for_selector(".drawn li")
    assert page.locator(".drawn li").count() == 1
    assert "50" in page.locator(".drawn li").inner_text()


@pytest.mark.thorough
@pytest.mark.parametrize(
    "state", [{}, {"theme": "dark", "language": "zh", "text": SENTENCE}, {"model": "demo"}]
)
def test_the_first_screen_has_no_fault_and_no_scroll_bar(
    page: Any, server: Server, state: dict[str, str]
) -> None:
    _open(page, server, **state)
    page.wait_for_timeout(600)
    assert page.locator("[role=alert]").count() == 0
    sizes = page.evaluate(
        "() => [document.documentElement.scrollWidth, document.documentElement.scrollHeight]"
    )
    assert sizes == [1440, 900]
    assert find_faults(page) == []


def test_on_a_phone_nothing_overflows_and_a_tap_cuts(browser: Any, server: Server) -> None:
    context = browser.new_context(
        viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True, locale="en"
    )
    page = context.new_page()
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    _open(page, server)
    wide = "() => document.documentElement.scrollWidth <= 390"
    assert page.evaluate(wide)
    assert page.locator("[data-target='0']").bounding_box()["y"] < 844
    sizes = page.locator(".stage button:visible").evaluate_all(
        "all => all.map((each) => each.getBoundingClientRect()).map((at) => [at.width, at.height])"
    )
    assert len(sizes) > 30 and min(map(min, sizes)) >= 24  # pixels: a finger hits them
    page.locator("[data-scissors='10']").tap()
    wait_until(page, "() => document.title.includes('malade')", seconds=60)
    assert page.evaluate(wide) and not complaints
    context.close()


def test_the_first_load_is_light(page: Any, server: Server) -> None:
    empty_cache(page)
    sizes: dict[str, int] = {}
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.on(
        "response",
        lambda answer: sizes.update(
            {answer.url: len(gzip.compress(answer.body()))} if answer.status == 200 else {}
        ),
    )
    _open(page, server)
    page.wait_for_timeout(1500)
    assert len(requests) <= 15, requests
    assert sum(sizes.values()) <= 300_000, sizes


def test_a_server_that_is_gone_is_said(page: Any, server: Server) -> None:
    _open(page, server)
    text = quote("The cat bites the dog.")
    page.route(
        "**/api/trace",
        lambda route: route.fulfill(
            status=200,
            content_type="text/event-stream",
            body='event: error\ndata: {"error": "too much to do", "status": 503}\n\n',
        ),
    )
    page.evaluate("text => { location.hash = `#/first?text=${text}` }", text)
    page.wait_for_selector("[role=alert]")
    assert "Too much to do" in page.locator("[role=alert]").inner_text()
    page.unroute("**/api/trace")
    page.get_by_role("button", name="Try again").click()
    wait_until(page, "() => document.title.startsWith('Le chat mord')", seconds=60)
