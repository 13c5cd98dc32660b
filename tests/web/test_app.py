"""The shell and its first three views, as a reader uses them."""

from __future__ import annotations

import gzip
import re
from pathlib import Path
from typing import Any

import pytest
from opening import SENTENCE, STATIC, Server, empty_cache, find_faults, wait_until

FRENCH = "L'animal n'a pas traversé la rue parce qu'il était trop fatigué."
PLACES = [
    ("translate", {"search": "beam", "beam": 4, "step": 7}),
    ("attention", {"kind": "encoder", "layer": 2, "head": 3, "query": 7}),
    ("attention", {"kind": "decoder", "attention.form": "matrix"}),
    ("attention", {"kind": "cross", "attention.form": "stages"}),
    ("attention", {"kind": "cross", "attention.form": "derived", "words": 1}),
    ("cell", {"cell": "decoder.2.cross_attention.weights[0,3,5]"}),
]


def _open(page: Any, server: Server, view: str, **state: Any) -> None:
    page.goto(server.url(view, **state))
    page.wait_for_selector(f"[data-view={view}] h2")
    page.wait_for_load_state("networkidle")


@pytest.mark.parametrize(("view", "state"), PLACES)
@pytest.mark.parametrize("look", [{"theme": "light"}, {"theme": "dark", "language": "zh"}])
def test_every_view_opens_without_a_complaint(
    page: Any,
    server: Server,
    recording: str,
    view: str,
    state: dict[str, Any],
    look: dict[str, str],
) -> None:
    _open(page, server, view, trace="" if "search" in state else recording, **state, **look)
    assert page.locator("[role=alert]").count() == 0
    assert find_faults(page) == []


def test_the_first_page_is_light(page: Any, server: Server) -> None:
    empty_cache(page)
    sizes: dict[str, int] = {}
    page.on(
        "response",
        lambda answer: sizes.update(
            {answer.url: len(gzip.compress(answer.body()))} if answer.status == 200 else {}
        ),
    )
    _open(page, server, "translate")
    assert sum(sizes.values()) <= 350_000, sizes
    assert page.evaluate("document.querySelectorAll('*').length") <= 2000


def test_a_page_carries_nothing_that_only_a_server_does() -> None:
    names = ("page.js", "worker.js", "rest.js")
    page = "".join((STATIC / name).read_text(encoding="utf-8") for name in names)
    served = "".join(path.read_text(encoding="utf-8") for path in STATIC.glob("assets/*.js"))
    for told in ("glassformer serve --train", "glassformer evaluate"):  # in views of the server
        assert told in served
        assert told not in page


def test_the_first_screen_needs_little_of_the_app() -> None:
    """Compressed, as a server sends it; one script of a page without a server has as much."""
    first = [STATIC / "page.js", *STATIC.glob("assets/core-*")]
    assert sorted(path.suffix for path in first) == [".css", ".js", ".js"]
    sizes = {path.name: len(gzip.compress(path.read_bytes())) for path in first}
    assert max(sizes.values()) < 75_000, sizes
    page = (STATIC / "index.html").read_text(encoding="utf-8")
    loaded = re.findall(r'<(?:script|link)[^>]*(?:src|href)="([^"]*)"', page)
    assert not [each for each in loaded if not re.search("core-|runtime|icon", each)], loaded


def test_what_is_built_names_no_other_host() -> None:
    known = ("http://www.w3.org/", "https://svelte.dev/e/")  # names of formats; texts of errors
    for path in STATIC.rglob("*.*"):
        if path.suffix in (".js", ".css", ".html"):
            found = re.findall(r"https?://[\w.-]+[^\"'`\s)]*", path.read_text(encoding="utf-8"))
            assert [each for each in found if not each.startswith(known)] == [], path.name


def test_a_sentence_of_ones_own(page: Any, server: Server) -> None:
    _open(page, server, "translate")
    page.get_by_label("Sentence").fill("The street was wide.")
    page.get_by_role("button", name="Translate", exact=True).last.click()
    wait_until(page, "document.title.includes('rue')")
    assert "text=The+street+was+wide." in page.url


def test_what_was_asked_for_last_is_shown(page: Any, server: Server) -> None:
    _open(page, server, "translate", text=SENTENCE)
    held: list[Any] = []
    page.route("**/opgraph", lambda it: it.continue_() if held else held.append(it))
    box = page.get_by_label("Sentence")
    with page.expect_request("**/opgraph"):
        box.fill("The street was wide.")
        box.press("Enter")
    box.fill("The cat is on the mat.")
    box.press("Enter")
    wait_until(page, "document.title.includes('chat')")
    held[0].continue_()
    page.wait_for_load_state("networkidle")
    assert "chat" in page.title()
    assert page.locator("form").get_attribute("aria-busy") == "false"


def test_the_page_says_what_is_on_screen_if_the_box_holds_something_else(
    page: Any, server: Server
) -> None:
    _open(page, server, "attention", text="The cat is on the mat.")
    told = page.locator("[data-shown]")
    assert told.count() == 0
    view = page.locator("[data-view]").bounding_box()
    page.get_by_label("Sentence").fill("Nobody answers.")
    assert told.inner_text() == "On screen: “The cat is on the mat.”, by demo"
    refused = 'event: error\ndata: {"error": "enough", "status": 400}\n\n'
    page.route(
        "**/api/trace", lambda it: it.fulfill(body=refused, content_type="text/event-stream")
    )
    page.get_by_label("Sentence").press("Enter")
    page.get_by_role("alert").wait_for()
    assert page.get_by_role("alert").inner_text() == "enough" and told.is_visible()
    page.unroute("**/api/trace")
    page.get_by_label("Sentence").fill("The street was wide.")
    page.get_by_label("Sentence").press("Enter")
    wait_until(page, "document.title.includes('rue')")
    assert told.count() == 0
    assert page.locator("[data-view]").bounding_box()["y"] == view["y"]


def test_another_model_is_asked_at_once_and_for_its_own_example(page: Any, server: Server) -> None:
    models = server.ask("models")
    models["models"].append({**models["models"][0], "id": "other", "name": "other", "source": "fr"})
    page.route("**/api/models", lambda it: it.fulfill(json=models))
    _open(page, server, "translate")
    page.locator("ol > li button.other:not(.own)").first.click()
    page.get_by_text("The beginning is forced").wait_for()
    refused = 'event: error\ndata: {"error": "enough", "status": 400}\n\n'
    page.route(
        "**/api/trace", lambda it: it.fulfill(body=refused, content_type="text/event-stream")
    )
    with page.expect_request("**/api/trace") as asked:
        page.get_by_label("Model").select_option("other")
    request = asked.value.post_data_json
    assert request == {"text": FRENCH, "decode": {}, "model": "other"}
    page.get_by_text("enough").wait_for()
    page.get_by_text("by demo").wait_for()


def test_a_long_translation_is_no_large_page(page: Any, server: Server) -> None:
    long = " ".join(SENTENCE.split()[:11] * 8)
    trace = server.ask("trace", {"text": long, "target": long})["id"]
    _open(page, server, "translate", trace=trace)
    assert page.evaluate("document.querySelectorAll('*').length") <= 3500
    last = page.evaluate("Number(document.querySelector('input[type=range]').max)")
    page.locator("[role=group]").first.focus()
    for _ in range(2):
        page.keyboard.press("ArrowLeft")
    column = page.locator(f"[data-step='{last - 2}']")
    column.wait_for()
    assert column.evaluate("it => it.getBoundingClientRect().right <= innerWidth")
    assert page.locator("[data-step='0']").count() == 0


def test_another_word_is_forced_and_the_rest_follows(page: Any, server: Server) -> None:
    _open(page, server, "translate", text=SENTENCE)
    first = page.locator("ol > li").first
    other = first.locator("button.other:not(.own)").first
    word = other.locator(".token").inner_text().lstrip("▁")
    other.click()
    wait_until(page, "word => document.title.startsWith(word)", arg=word)
    assert page.get_by_text("The beginning is forced").is_visible()
    assert "prefix=" in page.url
    page.get_by_role("button", name="Set free").click()
    wait_until(page, "title => document.title.startsWith(title)", arg=FRENCH)


def test_the_tree_is_walked_by_keyboard(page: Any, server: Server) -> None:
    _open(page, server, "translate", text=SENTENCE, search="beam", beam=4)
    tree = page.get_by_role("application", name="Search tree")
    tree.focus()
    tree.press("Home")
    told = page.locator("p.tell")
    assert told.inner_text().startswith("kept: lives on")
    for _ in range(4):
        tree.press("ArrowDown")
    assert told.inner_text().startswith("pruned: rank 5, but the beam holds 4")
    pruned = page.locator("g.node.at text").text_content().lstrip("▁").strip()
    tree.press("Enter")
    wait_until(page, "word => document.title.startsWith(word)", arg=pruned)


def test_another_translation_that_ended_is_shown_everywhere(page: Any, server: Server) -> None:
    """From the list, and from the tree, by keyboard; its link shows it again."""
    _open(page, server, "translate", text=SENTENCE, search="beam", beam=4)
    best, other = (page.locator("ol.small bdi").nth(place).inner_text() for place in (0, 1))
    assert best != other
    page.get_by_role("button", name=other, exact=True).click()
    wait_until(page, "text => document.title.startsWith(text)", arg=other)
    assert page.locator("ol.small .chosen bdi").inner_text() == other and "hypothesis=1" in page.url
    address = page.url
    tree = page.get_by_role("application", name="Search tree")
    page.locator("g.node.FINISHED:not(.chosen)").first.click()
    page.get_by_role("button", name="Look into this translation").wait_for()
    tree.press("Enter")
    wait_until(page, "() => !location.hash.includes('hypothesis=1')")
    page.goto("about:blank")
    page.goto(address.replace("translate", "attention"))
    page.wait_for_selector("[data-view=attention] canvas")
    assert page.title().startswith(other)


def test_nothing_is_forced_after_the_end(page: Any, server: Server) -> None:
    _open(page, server, "translate", text=SENTENCE)
    ends = page.locator("ol > li button.other", has_text="</s>")
    assert ends.count() > 1, "the end could have come elsewhere too"
    assert all(each.is_disabled() for each in ends.all())


def test_the_address_holds_the_whole_state(page: Any, server: Server, recording: str) -> None:
    _open(page, server, "attention", trace=recording)
    grid = page.get_by_role("application", name="All heads at a glance")
    grid.focus()
    for key in ("ArrowUp", "ArrowRight", "ArrowRight"):
        grid.press(key)
    page.get_by_text("Encoder", exact=True).click()
    page.get_by_text("Matrix", exact=True).click()
    wait_until(page, "location.hash.includes('matrix')")
    heading = page.locator("section h2").nth(1).inner_text()
    assert heading == "Layer 4, Head 2"
    address = page.url
    page.goto("about:blank")
    page.goto(address)
    page.wait_for_selector("[data-view=attention] canvas")
    assert page.locator("section h2").nth(1).inner_text() == heading
    page.go_back()


def test_a_link_in_another_browser_asks_for_the_key_and_stays(browser: Any, server: Server) -> None:
    context = browser.new_context(locale="en")
    page = context.new_page()
    page.goto(server.url("attention", text="The street was wide.").replace("?token=t", ""))
    page.get_by_label("Key").fill("t")
    page.get_by_label("Key").press("Enter")
    page.wait_for_selector("[data-view=attention] canvas")
    assert "rue" in page.title() and "token" not in page.url
    context.close()


def test_switching_view_and_language_by_keyboard(page: Any, server: Server, recording: str) -> None:
    _open(page, server, "translate", trace=recording)
    page.get_by_role("button", name="Attention").press("Enter")
    page.wait_for_selector("[data-view=attention]")
    page.get_by_role("button", name="切换到中文").press("Enter")
    assert page.get_by_role("button", name="注意力").is_visible()
    assert page.evaluate("document.documentElement.lang") == "zh-CN"
    page.go_back()
    page.wait_for_selector("[data-view=translate]")


def test_texts_never_become_markup(page: Any, server: Server) -> None:
    text = '<img src=x onerror=alert(1)> "the" <script>alert(2)</script> & animal'
    for view in ("translate", "attention"):
        _open(page, server, view, text=text)
        assert page.locator("main img, main script").count() == 0
    assert page.get_by_label("Sentence").input_value() == text


def test_a_broken_link_shows_one_sentence(page: Any, server: Server, recording: str) -> None:
    _open(page, server, "cell", trace=recording, cell="nothing[1,2]", layer=99, head=-7, step=4000)
    assert page.get_by_text("It cannot be explained here").is_visible()


def test_pictures_are_saved_as_they_are_seen(
    page: Any, server: Server, recording: str, tmp_path: Path
) -> None:
    _open(page, server, "attention", trace=recording, **{"attention.form": "matrix"})
    page.locator("summary").click()
    with page.expect_download() as svg:
        page.get_by_role("button", name="SVG").nth(1).click()
    text = Path(svg.value.path()).read_text(encoding="utf-8")
    assert text.startswith("<svg")
    assert "▁animal" in text and "Σ 1.000" in text and "data:image/png;base64," in text
    assert "class=" not in text and "var(--" not in text
    with page.expect_download() as png:
        page.get_by_role("button", name="PNG").nth(1).click()
    assert Path(png.value.path()).read_bytes()[:4] == b"\x89PNG"


@pytest.mark.thorough
def test_a_phone_has_no_sideways_scroll(browser: Any, server: Server, recording: str) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 844})
    page = context.new_page()
    for view, state in PLACES[1:]:
        _open(page, server, view, trace=recording, **state)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, (view, state)
    context.close()
