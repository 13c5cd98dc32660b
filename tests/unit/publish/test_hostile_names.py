"""Names of models and files, and sentences, are text wherever they are shown: never mark-up."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import unquote

import pytest

from glassformer import Translator
from glassformer.config import Config, Decode
from glassformer.extensions.publish.hub_readme import README, write_readme
from glassformer.model.files.directory import SHIPPED
from glassformer.train.publish.card import read_facts, write_card
from glassformer.train.publish.markdown import escape_markdown, quote_for_shell

NAME = """a"b'><img src=x onerror=alert(1)>&amp;<script>alert(2)<\\script>`*[x](y)"""
TEXT = """The cat "is" 'on' <b onclick=alert(1)>the</b> mat & <script>alert(2)</script>."""
OWN = {"html", "meta", "title", "link", "style", "body", "head", "header", "h1", "h2", "p", "b"}
OWN |= {"nav", "a", "iframe", "main", "span", "pre", "footer", "svg", "path", "text", "img"}
OWN |= {"figure", "figcaption", "code", "section", "ul", "li", "bdi", "div", "details", "summary"}
OWN |= {"dl", "dt", "dd", "br", "small", "table", "caption", "thead", "tbody", "tr", "th", "td"}


class Page(HTMLParser):
    """What a browser reads in a page: elements, attributes, text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements, self.texts = list[tuple[str, dict[str, str | None]]](), list[str]()
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    @property
    def text(self) -> str:
        return "".join(self.texts)

    def check(self) -> Page:
        """Nothing runs, and there is no element but those of our templates."""
        tags = {tag for tag, _ in self.elements}
        assert tags <= OWN, tags - OWN
        names = {name for _, attributes in self.elements for name in attributes}
        assert not [name for name in names if name.startswith("on")], names
        links = [str(value) for _, each in self.elements for key, value in each.items()]
        assert not [link for link in links if link.lower().startswith("javascript:")]
        return self


@pytest.fixture(scope="module")
def trace() -> Any:
    model = Translator.load("demo", device="cpu", precision="fp32")
    return model.see(TEXT, decode=Decode(search="greedy"))


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_first_page_of_a_site(trace: Any, lang: str) -> None:
    from glassformer.extensions.site.build import tell_index
    from glassformer.extensions.site.threads import draw_threads

    fact = {"name": NAME, "page": f"{NAME}.html", "size": 1, "words": 5, "parameters": 7}
    fact |= {"source": NAME, "target": NAME, "source_name": NAME, "target_name": NAME}
    page = Page(tell_index(lang, [fact], draw_threads(trace), [])).check()
    assert page.text.count(NAME) >= 2
    links = [each["href"] for tag, each in page.elements if tag == "a" and each.get("href")]
    named = [link for link in links if link and unquote(link).startswith(f"{NAME}.html#/")]
    assert len(named) >= 4 and not any(set(link) & set("\"'<> ") for link in named)
    (frame,) = (each["src"] for tag, each in page.elements if tag == "iframe")
    assert frame in named


def test_threads_between_words(trace: Any) -> None:
    from lxml import etree

    from glassformer.extensions.site.threads import draw_threads

    drawn = etree.fromstring(draw_threads(trace))
    assert {etree.QName(each).localname for each in drawn.iter()} == {"svg", "path", "text"}
    assert drawn.get("aria-label").startswith(TEXT.split(".")[0])


def test_a_page_with_a_model(tmp_path: Path) -> None:
    from glassformer.extensions.serve.page import STATIC
    from glassformer.extensions.site.living import build_living_page

    if not (STATIC / "page.js").is_file():
        pytest.skip("the app is not built: make web")
    shutil.copytree(SHIPPED / "demo", tmp_path / NAME)
    found, plain = (Page(build_living_page([each])) for each in (tmp_path / NAME, "demo"))
    assert [tag for tag, _ in found.elements] == [tag for tag, _ in plain.elements]
    ids = {each["id"] for tag, each in found.elements if tag == "script" and "id" in each}
    assert f"model:{NAME}" in ids
    told = next(json.loads(text) for text in found.texts if text.startswith('{"version"'))
    assert told["models"][0]["name"] == NAME


def test_a_page_with_a_recording(trace: Any) -> None:
    from glassformer.extensions.serve.page import spell_data

    told = {"text": trace.text, "name": NAME, "end": "</script><!--<script>"}
    page = Page(spell_data("trace", told))
    assert [tag for tag, _ in page.elements] == ["script"]
    assert json.loads(page.text) == told


def test_the_gallery(trace: Any) -> None:
    from glassformer.extensions.pictures.gallery import NamedRecording, ShownPicture, _make_page
    from glassformer.extensions.pictures.pictures import find_picture

    picture = find_picture("V49", "transformer")
    shown = SimpleNamespace(id="V49", path=Path("V49.svg"), finding=TEXT, told=TEXT)
    shown.picture = picture
    assert set(ShownPicture.__annotations__) <= {*vars(shown)}
    made: list[Any] = [shown]
    named = {"V49": NamedRecording(NAME, trace)}
    page = Page(_make_page(trace, made, [(picture, NAME)], "en", named)).check()
    assert page.text.count(TEXT) >= 2 and NAME in page.text
    (image,) = (each for tag, each in page.elements if tag == "img")
    assert image["alt"] == TEXT


@pytest.mark.parametrize("id", ["V01", "V10", "V12", "V49", "V77", "V79", "V112"])
@pytest.mark.parametrize("more", ["", "\x1b\x01\x0b\ufffe"])
def test_pictures(trace: Any, id: str, more: str) -> None:
    from dataclasses import replace

    from lxml import etree

    from glassformer.extensions.pictures.parts.scene import TextMark
    from glassformer.extensions.pictures.parts.svg import write_svg
    from glassformer.extensions.pictures.pictures import make_scene

    scene = make_scene(trace, id)
    marks = [
        replace(mark, text=mark.text + more + NAME) if isinstance(mark, TextMark) else mark
        for mark in scene.marks
    ]
    scene = replace(scene, marks=marks, title=TEXT + more, description=NAME + more)
    drawn = etree.fromstring(write_svg(scene).encode())
    tags = {etree.QName(each).localname for each in drawn.iter()}
    safe = {"svg", "title", "desc", "style", "defs", "pattern", "path", "rect", "g", "text"}
    assert tags <= safe
    rules = "".join(each.text for each in drawn.iter("{*}style"))
    assert "<" not in rules and not re.sub(
        r"text\{white-space:pre\}|@font-face\{[\w:;',\-/()+= ]*\}", "", rules
    )
    assert not [key for each in drawn.iter() for key in each.attrib if key.startswith("on")]
    texts = [each.text for each in drawn.iter("{*}text")]
    assert texts and all(NAME in text for text in texts)


def render(text: str) -> Page:
    markdown = pytest.importorskip("markdown_it", reason="markdown-it-py is not installed")
    return Page(markdown.MarkdownIt("commonmark", {"html": True}).enable("table").render(text))


FILE = {"name": f"{NAME}.en", "sha256": "0", "lines": 3, "bytes": 9}


def test_the_card_of_a_model(tmp_path: Path) -> None:
    facts: Any = read_facts(SHIPPED / "demo")
    parent = {"name": NAME, "sha256": "0", "tokens": "kept", "data": [FILE]}
    facts |= {"data": [FILE], "parent": parent, "teachers": [{"name": NAME, "sha256": "0"}]}
    facts |= {"language": [NAME, "fr"], "pairs": []}
    write_card(tmp_path, facts)
    assert read_facts(tmp_path)["parent"]["name"] == NAME
    text = (tmp_path / "card.md").read_text("utf-8").split("---\n", 2)[2]
    page = render(text)
    assert {tag for tag, _ in page.elements} <= {"h1", "h2", "p", "ul", "li"}
    assert page.text.count(NAME) == 6


def test_the_readme_of_a_model(tmp_path: Path) -> None:
    facts = read_facts(SHIPPED / "demo") | {"data": [FILE], "licence": NAME}
    write_readme(tmp_path, NAME, Config(), facts, [f"it names {NAME}"])
    text = (tmp_path / README).read_text("utf-8").split("---\n", 2)[2]
    page = render(text)
    allowed = {"h1", "h2", "p", "ul", "li", "pre", "code", "table", "thead", "tbody"}
    assert {tag for tag, _ in page.elements} <= allowed | {"tr", "th", "td"}
    assert page.text.startswith(NAME) and page.text.count(NAME) >= 4
    commands = [line for line in page.text.splitlines() if line.startswith("glassformer serve")]
    assert [shlex.split(line) for line in commands] == [["glassformer", "serve", NAME]]
    (code,) = re.findall(r"Translator\.load\((.*)\)\.translate", page.text)
    assert json.loads(code) == NAME


@pytest.mark.parametrize("text", [NAME, TEXT, "# no title", "- a", "a\n\n# b", "| a |", "~~a~~"])
def test_a_line_of_markdown_shows_its_characters(text: str) -> None:
    page = render(f"A {escape_markdown(text)}.")
    assert [tag for tag, _ in page.elements] == ["p"]
    assert page.text.split() == f"A {text}.".split()
    assert "\n" not in quote_for_shell(text)


def test_a_card_with_odd_line_ends_is_read_again(tmp_path: Path) -> None:
    """JSON writes some of them as they are."""
    name = "a\u2028b\u2029c\x85d.en"
    facts: Any = read_facts(SHIPPED / "demo") | {"data": [{**FILE, "name": name}]}
    write_card(tmp_path, facts)
    assert read_facts(tmp_path)["data"][0]["name"] == name
