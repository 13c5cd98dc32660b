"""The site: every link leads somewhere, and every page opens offline and below any path."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from functools import partial
from html import unescape
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from opening import ROOT, find_faults, wait_until
from PIL import Image

from glassformer.cli import main
from glassformer.extensions.pictures.examples import EVERYDAY
from glassformer.extensions.pictures.gallery import gallery
from glassformer.extensions.serve.page import SITE
from glassformer.extensions.site import build
from glassformer.extensions.site.build import DEMO, INDEX, NETWORKS, draw_gallery, record_sentence

GALLERY = ROOT / "docs" / "gallery"
MOST = 15.5e6  # bytes, without the gallery
SENTENCE = "The cat bites the dog."
FILLS = 12  # the commonest colours of a picture: of paper, and of cells
FEW = ("V46.png", "V49.png", "V77.png", "V112.png")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site") / "a folder"
    few = partial(_draw_few, build.draw_in_chinese)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build, "draw_in_chinese", few)
        assert main(["site", "-o", str(folder), "--gallery", str(GALLERY)]) == 0
    return folder


def _draw_few(draw: Any, trace: Any, folder: Path, files: list[str]) -> Any:
    """Draw a few of the ninety: all take a minute."""
    return draw(trace, folder, [each for each in files if each.endswith(FEW)])


@pytest.fixture
def offline(browser: Any) -> Iterator[Any]:
    """A window without a network, from disk; whatever it complains of fails the test."""
    context = browser.new_context(
        viewport={"width": 1440, "height": 900}, locale="en", offline=True, reduced_motion="reduce"
    )
    window = context.new_page()
    window.set_default_timeout(60_000)
    complaints: list[str] = []
    window.on("pageerror", lambda error: complaints.append(str(error)))
    window.on("console", lambda said: complaints.append(f"{said.type}: {said.text}"))
    window.on("request", lambda asked: complaints.append(asked.url))
    yield window
    context.close()
    assert [each for each in complaints if not each.startswith(("file:", "blob:"))] == []


LARGE = 5e6  # bytes of a page that holds a larger model, and is otherwise the same


def find_invalid(pages: list[Path]) -> list[str]:
    """Return the errors that the Nu Html Checker finds; skip where there is none."""
    jar, java = os.environ.get("VNU_JAR"), shutil.which("java")
    if not (jar and java):
        pytest.skip("needs Java, and in VNU_JAR the path of vnu.jar (npm install vnu-jar)")
    command = [java, "-Xss4m", "-jar", jar, "--errors-only", "--format", "gnu", *map(str, pages)]
    return subprocess.run(command, capture_output=True, text=True, check=False).stderr.splitlines()


@pytest.mark.thorough
def test_pages_are_valid_html(site: Path, tmp_path: Path) -> None:
    sentence = "The animal didn't cross the street because it was too wide."
    for lang in INDEX:
        words = ["lesson", "demo", sentence, "-o", str(tmp_path / lang), "--lang", lang]
        assert main(words) == 0
    pages = [*site.rglob("*.html"), *tmp_path.rglob("*.html")]
    pages = [each for each in pages if each.stat().st_size < LARGE]
    assert len(pages) > 12
    assert find_invalid(pages) == []


class Links(HTMLParser):
    """What a page leads to, and what it loads."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.found: list[str] = []
        self.ids: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        links = [given[key] or "" for key in ("href", "src") if key in given]
        self.found += [each for each in links if not each.startswith("data:")]
        self.ids.add(given.get("id") or "")


def test_every_link_resolves(site: Path) -> None:
    pages = [*site.glob("*.html"), site / "gallery" / "index.html"]
    assert {INDEX["en"], INDEX["zh"], NETWORKS, "demo.html"} < {page.name for page in pages}
    for page in pages:
        links = Links(page)
        assert links.found, page
        for link in links.found:
            parts = urlsplit(link)
            assert not parts.scheme and not parts.netloc and not parts.path.startswith("/"), link
            target = page.parent / unquote(parts.path) if parts.path else page
            assert target.exists(), f"{page.name}: {link}"
            if not parts.path:
                assert parts.fragment in links.ids


def test_it_is_as_small_as_its_models(site: Path) -> None:
    size = sum(path.stat().st_size for path in site.glob("*.*"))
    assert size < MOST
    assert (site / INDEX["en"]).stat().st_size < 20_000


@pytest.mark.thorough
@pytest.mark.parametrize("lang", INDEX)
def test_the_first_page_translates_and_a_thread_is_cut(lang: str, offline: Any, site: Path) -> None:
    offline.goto((site / INDEX[lang]).as_uri())
    frame = offline.frame_locator("iframe")
    frame.locator("[data-target]").first.wait_for()
    assert frame.locator("a[target=_top]").count() == 0  # the page around it has the links
    frame.locator("[data-scissors='10']").click()
    frame.locator(".fresh").first.wait_for()
    assert "qu'il" in frame.locator(".fresh").all_inner_texts()  # the street was too wide: qu'elle
    offline.evaluate("() => document.querySelector('iframe').remove()")  # has tests of its own
    for theme in ("light", "dark"):
        offline.emulate_media(color_scheme=theme)
        assert find_faults(offline) == []


@pytest.mark.thorough
@pytest.mark.parametrize("lang", INDEX)
def test_a_small_screen_shows_all_of_the_first_page(lang: str, offline: Any, site: Path) -> None:
    """Nothing is below its lower edge, and the frame scrolls nothing of its own."""
    offline.set_viewport_size({"width": 1280, "height": 800})
    offline.goto((site / INDEX[lang]).as_uri())
    frame = offline.frame(name="glassformer-first")
    frame.wait_for_selector("footer")
    frame.wait_for_selector("[data-door=lab]")
    assert (
        offline.evaluate("document.querySelector('iframe').getBoundingClientRect().bottom") <= 800
    )
    height = "[document.documentElement.scrollHeight, innerHeight]"
    needed, there = frame.evaluate(height)
    assert needed <= there


@pytest.mark.thorough
def test_on_a_phone_the_first_page_shows_threads(browser: Any, site: Path) -> None:
    context = browser.new_context(
        viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True, offline=True
    )
    page = context.new_page()
    page.goto((site / INDEX["zh"]).as_uri())
    assert page.evaluate("() => document.documentElement.scrollWidth <= 390")
    assert page.locator(".still text").all_text_contents()[-2:] == ["large", "."]
    page.get_by_role("link", name="谜题", exact=True).tap()
    page.wait_for_selector("[data-puzzle]")
    page.goto((site / INDEX["zh"]).as_uri())
    page.get_by_text("剪断一条线").tap()
    page.wait_for_selector("[data-target]")
    context.close()


@pytest.mark.thorough
@pytest.mark.parametrize("lang", INDEX)
def test_a_lesson_prints_on_few_pages(lang: str, offline: Any, tmp_path: Path) -> None:
    sentence = "The animal didn't cross the street because it was too wide."
    assert main(["lesson", "demo", sentence, "-o", str(tmp_path), "--lang", lang]) == 0
    pages = {"plan": 2, "sheet": 2, "answers": 2, "questions": 2, "slides": 10}
    for name, count in pages.items():
        offline.goto((tmp_path / f"{name}.html").as_uri())
        for paper in ("A4", "Letter"):
            printed = offline.pdf(format=paper, prefer_css_page_size=True)
            assert len(re.findall(rb"/Type /Page\b", printed)) == count, (name, paper)
        offline.emulate_media(media="print")
        assert offline.locator("output:visible").count() == 0  # paper counts nothing
        offline.emulate_media(media="null")


def test_the_first_screen_comes_before_the_model(site: Path, tmp_path: Path, browser: Any) -> None:
    """A page alone shows its sentence, threads and all; what it lacks it says."""
    shutil.copyfile(site / "demo.html", tmp_path / "demo.html")
    assert (site / "demo.html").stat().st_size < 180_000 < (site / "demo.js").stat().st_size
    context = browser.new_context(viewport={"width": 390, "height": 844}, locale="en")
    page = context.new_page()
    page.goto((tmp_path / "demo.html").as_uri())
    page.locator(".thread").first.wait_for(state="attached")
    assert page.locator("[data-target]").all_inner_texts()[-2:] == ["large", "."]
    page.get_by_role("alert").filter(has_text="demo.js is not there").wait_for()
    context.close()


def test_a_model_that_did_not_come_is_asked_for_again(site: Path, browser: Any) -> None:
    handler = partial(Quiet, directory=str(site))
    context = browser.new_context(locale="en", reduced_motion="reduce")
    page, asked = context.new_page(), list[str]()

    def fail_once(route: Any) -> None:
        asked.append(route.request.url)
        route.continue_() if len(asked) > 1 else route.fulfill(status=503)

    page.route("**/demo.js", fail_once)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as host:
        threading.Thread(target=host.serve_forever, daemon=True).start()
        page.goto(f"http://127.0.0.1:{host.server_port}/demo.html")
        alert = page.get_by_role("alert").filter(has_text="demo.js is not there")
        alert.get_by_role("button").click()
        page.locator(".stage:not([data-draft])").wait_for()
        assert (alert.count(), len(asked)) == (0, 2)
        context.close()
        host.shutdown()


def test_a_puzzle_shows_its_sentence_before_the_model(site: Path, page: Any) -> None:
    handler = partial(Quiet, directory=str(site))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as host:
        threading.Thread(target=host.serve_forever, daemon=True).start()
        held: list[Any] = []
        page.route(
            "**/demo.js", lambda route: held.append(route)
        )  # it is asked for, and does not come yet
        page.goto(f"http://127.0.0.1:{host.server_port}/demo.html#/puzzles/soon")
        page.get_by_role("status").filter(has_text="The network makes a puzzle").wait_for()
        soon = page.locator(".sentence").inner_text()
        while not held:
            page.wait_for_timeout(50)
        assert page.locator("[data-option]").count() == 0
        held[0].continue_()
        page.locator("[data-option]").first.wait_for()
        assert page.locator(".sentence").first.inner_text() == soon
        host.shutdown()


@pytest.mark.parametrize("name", ["everyday-en-fr", "demo"])
def test_the_page_knows_the_sentence_that_the_app_begins_with(
    name: str, site: Path, offline: Any
) -> None:
    offline.goto((site / f"{name}.html").as_uri())
    listed = json.loads(offline.locator("#models").text_content())
    first = listed["first"]
    shown = offline.locator("[data-source]").first
    shown.wait_for()
    assert offline.locator(".example").first.inner_text() == first["text"]
    offline.locator(".stage:not([data-draft])").wait_for()  # the page's own network has read it
    wait_until(offline, "() => document.title.includes('glassformer')")
    assert offline.title().startswith(first["translation"])


def test_networks_stand_beside_each_other_offline(offline: Any, site: Path) -> None:
    offline.goto((site / NETWORKS).as_uri())
    offline.wait_for_selector("[data-reference]")
    assert offline.get_by_text("done after 14 steps").count() == 1
    offline.locator("[data-example=long]").click()
    wait_until(offline, "() => document.body.innerText.includes('faim')")
    offline.get_by_role("link", name="All pages").click()
    offline.wait_for_selector("iframe")


@pytest.mark.thorough
def test_the_story_shows_the_pictures_of_the_gallery(offline: Any, site: Path) -> None:
    for lang, folder in (("en", ""), ("zh", "zh/")):
        offline.goto("about:blank")
        offline.goto(f"{(site / 'demo.html').as_uri()}#/story?story.card=V49&language={lang}")
        picture = offline.locator("article img")
        picture.wait_for()
        assert picture.get_attribute("src") == f"{SITE[1][1]}{folder}V49.png"
        wait_until(offline, "() => document.querySelector('article img').naturalWidth > 400")
    assert {path.name for path in (site / DEMO["zh"]).glob("V*.png")} == set(FEW)
    assert (site / DEMO["en"] / "V49.png").read_bytes() != (
        site / DEMO["zh"] / "V49.png"
    ).read_bytes()


def test_a_picture_is_the_same_in_both_languages(site: Path) -> None:
    text = (site / DEMO["zh"] / "index.html").read_text(encoding="utf-8")
    for id, model in (("V46", EVERYDAY), ("V49", "demo")):
        figure = text.split(f'<figure id="{id}">')[1].split("</figure>")[0]
        assert f"glassformer see {model} " in unescape(figure)
    english, chinese = (_count_colours(site / DEMO[lang] / "V46.png") for lang in ("en", "zh"))
    common = sorted(english, key=lambda colour: english[colour])[-FILLS:]
    assert {*common} <= {*chinese}  # no cell has another colour


def _count_colours(path: Path) -> dict[Any, int]:
    with Image.open(path) as drawn:
        return {colour: count for count, colour in drawn.convert("RGB").getcolors(1 << 24) or ()}


@pytest.mark.thorough
def test_it_works_below_a_path_of_a_host(page: Any, site: Path) -> None:
    handler = partial(Quiet, directory=str(site.parent))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as host:
        threading.Thread(target=host.serve_forever, daemon=True).start()
        page.goto(f"http://127.0.0.1:{host.server_port}/a%20folder/index.html")
        page.get_by_role("link", name="Ten cards").click()
        page.wait_for_selector("[data-view=lecture]")
        page.get_by_role("link", name="All pages").click()
        page.wait_for_selector("iframe")
        index = page.url
        page.goto("about:blank")  # what the frame of the large screen loads ends here
        loaded: list[str] = []
        page.on("request", lambda request: loaded.append(request.url))
        page.set_viewport_size({"width": 390, "height": 844})
        page.goto(index, wait_until="networkidle")
        assert page.locator(".still").is_visible()  # a phone loads no network before it is asked
        assert not [each for each in loaded if "demo." in each]
        page.set_viewport_size({"width": 1440, "height": 900})
        host.shutdown()


class Quiet(SimpleHTTPRequestHandler):
    """A host of files that writes no log."""

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


def test_pictures_are_drawn_where_there_is_no_gallery(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("glassformer.extensions.site.build.DRAWN", ("V10", "V49"))
    found = draw_gallery(record_sentence("demo", SENTENCE), tmp_path)
    assert found == ["gallery/demo/V10.png", "gallery/demo/V49.png", "gallery/index.html"]
    for link in Links(tmp_path / found[-1]).found:
        assert link == "../index.html" or (tmp_path / "gallery" / link).exists()


@pytest.mark.thorough
def test_pages_of_pictures_are_accessible(offline: Any, tmp_path: Path) -> None:
    trace = record_sentence("demo", SENTENCE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build, "DRAWN", ("V49",))
        draw_gallery(trace, tmp_path)
    gallery(trace, tmp_path / "own", ids=["V10", "V49"], moving=False)
    for page in ("gallery/index.html", "own/index.html"):
        offline.goto((tmp_path / page).as_uri())
        wait_until(offline, "() => document.querySelector('img').naturalWidth > 400")
        assert find_faults(offline) == []
        scrolled = "() => [...document.querySelectorAll('code')].filter((it) => "
        assert not offline.evaluate(scrolled + "it.scrollWidth > it.clientWidth).length")


@pytest.mark.thorough
def test_what_is_no_gallery_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["site", "-o", str(tmp_path / "out"), "--gallery", str(tmp_path)]) == 2
    assert "is no gallery" in capsys.readouterr().err
