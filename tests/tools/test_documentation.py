"""The documentation: each page is there once, links lead to pages, and the generator agrees."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from glassformer.cli.verbs import list_verbs
from tools.documentation.__main__ import (
    ENGLISH,
    LATE,
    SITE,
    STILL,
    WORKER,
    finish_pages,
    list_groups,
    mend_page,
    order_pictures,
    part_sections,
    put_off,
)
from tools.documentation.sources import (
    CODE,
    NOTE,
    ROOT,
    Page,
    add_anchors,
    add_note,
    join_lines,
    list_anchors,
    list_english,
    list_pages,
    write_sources,
)

LANGUAGES = ("en", "zh")
HAN = re.compile(r"[\u3400-\u9fff]")
LINK = re.compile(r"\]\(([^)#\s]+)(#[^)\s]*)?\)|href=\"([^\"]+)\"")


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    for lang in LANGUAGES:
        write_sources(ROOT, lang, folder / lang, "https://example.org/glassformer")
    return {lang: folder / lang for lang in LANGUAGES}


@pytest.mark.parametrize("lang", LANGUAGES)
def test_each_guide_is_a_page_in_the_menu_once(lang: str, pages: dict[str, Path]) -> None:
    names = sorted(path.name for path in pages[lang].glob("*.md"))
    guides = {path.name.lower() for path in ROOT.glob("docs/*.md") if ".zh." not in path.name}
    assert guides < {*names} and {"index.md", "commands.md", "python.md"} < {*names}
    menu = [each for group in list_groups(names, lang) for each in group.values()]
    entries = [page for group in menu if isinstance(group, list) for page in group]
    listed = [each if isinstance(each, str) else next(iter(each.values())) for each in entries]
    assert sorted(listed) == names
    assert [each for each in menu if isinstance(each, str)] == [link for _, link in SITE[lang]]


def test_chinese_guides_are_in_chinese(pages: dict[str, Path]) -> None:
    for path in [*ROOT.glob("docs/*.zh.md"), ROOT / "README.zh.md"]:
        name = "index.md" if path.name == "README.zh.md" else path.name.replace(".zh.md", ".md")
        assert HAN.search((pages["zh"] / name).read_text(encoding="utf-8").splitlines()[-1])
        assert not list(pages["zh"].glob("*.zh.md"))


def test_pages_in_english_say_so_in_chinese(pages: dict[str, Path]) -> None:
    """Their entry in the menu and their first sentence; no other page says it."""
    names = sorted(path.name for path in pages["zh"].glob("*.md"))
    english = list_english(ROOT, names)
    assert {"changelog.md", "commands.md", "python.md"} < english
    assert not english & {"index.md", "night.md", "why.md"}
    groups = [each for group in list_groups(names, "zh", english) for each in group.values()]
    menu = [entry for group in groups if isinstance(group, list) for entry in group]
    assert not [entry for entry in menu if isinstance(entry, str)], "each has a title of its own"
    assert sorted(page for entry in menu for page in entry.values()) == names
    for title, name in (each for entry in menu for each in entry.items()):
        text = (pages["zh"] / name).read_text(encoding="utf-8")
        assert title.endswith(ENGLISH) == (NOTE in text) == (name in english), name
        assert HAN.search(title) or name == "index.md", title
        assert NOTE not in text or f"\n\n> {NOTE}" in text.split("\n## ")[0]
        assert NOTE not in (pages["en"] / name).read_text(encoding="utf-8")


def test_a_page_becomes_chinese_by_its_file_alone(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "app.md").write_text("# The app\n\nText.\n", encoding="utf-8")
    assert list_english(tmp_path, ["app.md"]) == {"app.md"}
    assert list_groups(["app.md"], "zh", {"app.md"})[0] == {"学习": [{"应用（英文）": "app.md"}]}
    (tmp_path / "docs" / "app.zh.md").write_text("# 应用\n\n正文。\n", encoding="utf-8")
    assert list_english(tmp_path, ["app.md"]) == set()
    assert list_groups(["app.md"], "zh")[0] == {"学习": [{"应用": "app.md"}]}
    assert list_groups(["app.md"], "en")[0] == {"Learn": ["app.md"]}


def test_no_line_breaks_between_chinese_characters(pages: dict[str, Path]) -> None:
    assert join_lines("一行\n二行。\n  三行\n\n# 题\n文\n```\n码\n码\n```\n") == (
        "一行二行。三行\n\n# 题\n文\n```\n码\n码\n```\n"
    )
    text = CODE.sub("", (pages["zh"] / "course.md").read_text(encoding="utf-8"))
    assert not re.search(r"^[^#\n].*[\u4e00-\u9fff]\n[\u4e00-\u9fff]", text, re.MULTILINE)


def test_an_article_in_english_is_marked_as_such() -> None:
    note = add_note("# The app\n\nText.\n")
    assert note == f'# The app\n\n> {NOTE}\n> {{: lang="zh" }}\n\nText.\n'
    marked = mend_page(f'<article class="a"><p lang="zh">{NOTE}</p></article>', "zh")
    assert marked.startswith('<article lang="en" class="a">')
    assert mend_page('<article class="a">', "zh") == '<article class="a">'


@pytest.mark.parametrize("lang", LANGUAGES)
def test_links_lead_to_pages(lang: str, pages: dict[str, Path]) -> None:
    above = "../" if lang == "en" else "../../"
    for path in pages[lang].glob("*.md"):
        text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
        for found in LINK.finditer(text):
            link = found[1] or found[3]
            if "://" in link or link == f"{above}gallery/index.html":
                continue
            target = (path.parent / link).resolve()
            if link.endswith(".html"):  # the same page in the other language
                other = "zh" if lang == "en" else "en"
                target = pages[other] / f"{target.stem}.md"
            assert target.is_file(), f"{path.name}: {link}"


@pytest.mark.parametrize("lang", LANGUAGES)
def test_links_to_a_heading_lead_to_one(lang: str, pages: dict[str, Path]) -> None:
    """The headings of a Chinese page have the anchors of the English one."""
    anchors = {}
    for path in pages[lang].glob("*.md"):
        text = path.read_text(encoding="utf-8")
        anchors[path.name] = re.findall(r"^#.* \{#(.*)\}$", text, flags=re.M) or list_anchors(text)
    links = [
        (path.name, found[1] or path.name, found[2])
        for path in pages[lang].glob("*.md")
        for found in re.finditer(r"\]\(([^)#\s]*)#([^)\s]*)\)", path.read_text(encoding="utf-8"))
    ]
    assert len(links) > 20
    inside = [each for each in links if "://" not in each[1]]
    assert not [each for each in inside if each[2] not in anchors[each[1]]]


@pytest.mark.parametrize("path", sorted(ROOT.glob("docs/*.zh.md")), ids=lambda path: path.name)
def test_links_in_a_chinese_file_lead_to_a_heading(path: Path) -> None:
    """As the repository is browsed, where headings have no anchors of the English page."""
    for file, anchor in re.findall(r"\]\(([\w.-]*)#([^)]+)\)", path.read_text(encoding="utf-8")):
        text = (path.parent / (file or path.name)).read_text(encoding="utf-8")
        own = re.findall(r'<a id="([^"]+)"></a>', text)
        assert anchor in {*own, *list_anchors(text)}, f"{path.name}: {file}#{anchor}"


def test_an_anchor_before_a_heading_is_there_once() -> None:
    page = 'Text.\n\n<a id="seen"></a>\n\n## 看一看\n'
    assert add_anchors(page, ["seen"]) == "Text.\n\n## 看一看 {#seen}\n"


def test_anchors_are_those_that_markdown_makes() -> None:
    text = (
        "# A *b* (`c`): d?\n```\n# no heading\n```\n## Café [on](x.md) it\n## A b c d\n## A b c d\n"
    )
    assert list_anchors(text) == ["a-b-c-d", "cafe-on-it", "a-b-c-d_1", "a-b-c-d_2"]
    with pytest.raises(ValueError, match="1 headings for 4"):
        add_anchors("# 一\n", list_anchors(text))
    assert add_anchors("```\n# a\n```\n# 一\n", ["one"]) == "```\n# a\n```\n# 一 {#one}\n"


def test_the_command_line_is_told_whole(pages: dict[str, Path]) -> None:
    text = (pages["en"] / "commands.md").read_text(encoding="utf-8")
    assert all(f"### glassformer {verb}\n" in text for verb in list_verbs())
    assert "--from" in text and "<code>-o" not in text.split("### glassformer demo")[0]


def test_a_picture_that_is_missing_is_named(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md"):
        (tmp_path / name).write_text("# Page\n", encoding="utf-8")
    (tmp_path / "docs" / "a.md").write_text("![a](none.png)\n", encoding="utf-8")
    assert list_pages(tmp_path, "en")["a.md"] == Page(tmp_path / "docs" / "a.md", "a.md")
    with pytest.raises(ValueError, match=r"none\.png"):
        write_sources(tmp_path, "en", tmp_path / "out")


@pytest.mark.thorough
@pytest.mark.skipif(not find_spec("material"), reason="MkDocs is not installed: make site does it")
def test_the_pages_load_nothing_from_elsewhere(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "tools.documentation", "-o", str(tmp_path)]
    subprocess.run(words, cwd=ROOT, check=True)
    pages = [*tmp_path.rglob("*.html")]
    assert len(pages) > 60 and (tmp_path / "zh" / WORKER).is_file()
    for path in pages:
        text = path.read_text(encoding="utf-8")
        assert set(re.findall(r'<a href="([^"]*)"[^>]*md-logo', text)) == {"index.html"}, path
        assert not re.search(r'<(?:script|link|img)[^>]*(?:src|href)="?https?://', text), path
        assert re.findall(r"<script (?:defer )?src=[^ >]*", text) == [f'<script defer src="{LATE}"']
        assert all("width=" in each for each in re.findall("<img [^>]*>", text)), path


def test_what_no_validator_takes_is_left_out(tmp_path: Path) -> None:
    """An empty tabindex of a label, and autocomplete of a box to tick; not that of the search."""
    (tmp_path / WORKER).parent.mkdir(parents=True)
    box, label = '<input type="checkbox" id="a"', '<label for="a" id="b"'
    field = '<input type="text" autocomplete="off">'
    text = f'{box} autocomplete="off">{label} tabindex="">{field}'
    (tmp_path / "a.html").write_text(text, encoding="utf-8")
    finish_pages(tmp_path, "en")
    assert (tmp_path / "a.html").read_text(encoding="utf-8") == f"{box}>{label}>{field}"


def test_links_are_told_by_a_line_and_pictures_have_a_size(tmp_path: Path) -> None:
    (tmp_path / WORKER).parent.mkdir(parents=True)
    (tmp_path / "pictures").mkdir()
    shutil.copyfile(ROOT / "docs/gallery/readme.png", tmp_path / "pictures/a.png")
    dialog = '<div class="md-search" data-md-component="search" role="dialog">'
    text = f'<head></head>{dialog}<img alt="" src="pictures/a.png">'
    (tmp_path / "a.html").write_text(text, encoding="utf-8")
    finish_pages(tmp_path, "zh")
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert 'role="dialog" aria-label="搜索">' in page and "underline" in page
    width, height = re.findall(r'width="(\d+)" height="(\d+)" alt', page)[0]
    header = (ROOT / "docs/gallery/readme.png").read_bytes()[16:24]
    assert header == int(width).to_bytes(4, "big") + int(height).to_bytes(4, "big")


def test_the_first_picture_comes_at_once_and_others_when_they_are_near(tmp_path: Path) -> None:
    text = '<p><img src="a.svg" alt=""></p><img src="b.svg" alt=""><img src="c.svg" alt="">'
    found = re.findall("<img ([a-z]+)=", order_pictures(text, tmp_path))
    assert found == ["fetchpriority", "loading", "loading"]
    assert order_pictures("<p>none</p>", tmp_path) == "<p>none</p>"


def test_a_page_is_shown_before_its_scripts_are_there() -> None:
    worker, program = WORKER, "assets/javascripts/bundle.0a1b2c3d.min.js"
    scripts = [f'<script src="{each}"></script>' for each in (worker, program)]
    text = put_off(f'<head>{scripts[0]}</head><body dir="ltr"><p>Text</p>{scripts[1]}</body>')
    assert f'<script defer src="{LATE}" data-worker="{worker}" data-program="{program}">' in text
    assert not [each for each in scripts if each in text] and text.index("<p>") < text.index(LATE)
    assert put_off("<p>no script</p>") == "<p>no script</p>"


def test_each_section_is_an_element() -> None:
    text = '<article class="a"><h1>T</h1><h2 id="b">B</h2><p>b</p><h2>C</h2></article><h2>D</h2>'
    sections = '<section><h2 id="b">B</h2><p>b</p></section><section><h2>C</h2></section>'
    assert part_sections(text) == f'<article class="a"><h1>T</h1>{sections}</article><h2>D</h2>'
    objects = '<article><div class="doc doc-object"><h2>A</h2></div></article>'
    assert part_sections(objects) == objects


def test_drawings_have_a_size_and_films_a_first_frame(tmp_path: Path) -> None:
    (tmp_path / "pictures").mkdir()
    for name in ("learning.svg", "app/opening.webp"):
        shutil.copyfile(ROOT / "docs" / name, tmp_path / "pictures" / Path(name).name)
    drawing = order_pictures('<img alt="" src="pictures/learning.svg">', tmp_path)
    box = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', (ROOT / "docs/learning.svg").read_text())
    size = re.search(r'width="(\d+)" height="(\d+)"', drawing)
    assert box and size
    assert [int(each) for each in size.groups()] == [round(float(each)) for each in box.groups()]
    film = order_pictures('<img alt="" src="pictures/opening.webp">', tmp_path)
    still = f"pictures/opening.webp{STILL}"
    assert f'src="{still}" data-film="pictures/opening.webp"' in film
    whole, first = (tmp_path / "pictures/opening.webp", tmp_path / still)
    assert 0 < first.stat().st_size < whole.stat().st_size / 4
