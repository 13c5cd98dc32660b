"""Write the pages of the documentation: `python -m tools.documentation -o public/docs`.

MkDocs with Material makes them, and mkdocstrings reads the docstrings. Every page opens from the
folder, without a server and without a network, and the search works there too.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Collection, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from .sources import NOTE, ROOT, list_english, write_sources

GROUPS = {
    "Start": ("index", "tutorial", "typed-text", "search"),
    "Learn": (
        "course",
        "see",
        "edits",
        "why",
        "app",
        "questions",
        "pronoun",
        "corrections",
        "attention",
    ),
    "Train": ("train", "night", "corpora", "check-data", "corpus", "augment", "distributed"),
    "Measure": ("evaluate", "alignment", "benchmarks", "reliability", "experiments"),
    "Use": ("serve", "bridge", "language-models", "rnn", "figures"),
    "Change": ("change-one-idea", "extend", "contributing"),
    "Reference": ("commands", "python", "settings", "changelog"),
}
DOCSTRINGS = {
    "paths": [str(ROOT / "src")],
    "options": {
        "show_root_heading": True,
        "show_source": False,
        "members_order": "source",
        "show_signature_annotations": True,
        "heading_level": 2,
    },
}
CHINESE = {
    "Start": "开始",
    "Learn": "学习",
    "Train": "训练",
    "Measure": "测量",
    "Use": "使用",
    "Change": "改动",
    "Reference": "参考",
    "More": "更多",
}
# What the menu in Chinese calls each page, in the order of the groups.
TITLES = {
    "index": "glassformer",
    "tutorial": "从两个文本文件到别人也用的模型",
    "typed-text": "人们平常输入的文字",
    "search": "搜索：多个模型，多个译文",
    "course": "自己动手写 Transformer",
    "see": "查看一次翻译的内部",
    "edits": "如果改动一处会怎样",
    "why": "为什么是这个词？",
    "app": "应用",
    "questions": "用实验回答的设计问题",
    "pronoun": "随包模型在哪里决定 it 指什么？",
    "corrections": "讲解 Transformer 时常见的错误",
    "attention": "其他的位置编码和注意力",
    "train": "更多训练方法",
    "night": "明天早上就有一个翻译模型",
    "corpora": "几个语料，几种语言",
    "check-data": "检查数据",
    "corpus": "翻译一台机器装不下的语料",
    "augment": "用单语文本增加句对",
    "distributed": "几个进程，几台机器",
    "evaluate": "评价译文",
    "alignment": "词对齐",
    "benchmarks": "质量和速度",
    "reliability": "可靠性",
    "experiments": "实验",
    "serve": "服务器",
    "bridge": "导入和导出",
    "language-models": "单向读和双向读",
    "rnn": "Transformer 之前的网络",
    "figures": "图是怎样画出来的",
    "change-one-idea": "改动一个想法",
    "extend": "添加你自己的部件",
    "contributing": "参与开发",
    "commands": "命令行",
    "python": "Python 接口",
    "settings": "设置",
    "changelog": "更新记录",
}
ENGLISH = "（英文）"  # follows the title of a page that is in English only


# Pages of the site around this one, from a page in English.
SITE = {
    "en": (
        ("The living model", "../demo.html#/first?language=en"),
        ("Puzzles", "../demo.html#/puzzles?language=en"),
        ("Gallery", "../gallery/index.html"),
        ("中文", "zh/index.html"),
    ),
    "zh": (
        ("活的模型", "../../demo.html#/first?language=zh"),
        ("谜题", "../../demo.html#/puzzles?language=zh"),
        ("图库", "../../gallery/demo/zh/index.html"),
        ("English", "../index.html"),
    ),
}
SHIM = "https://unpkg.com/iframe-worker/shim"  # what the plugin `offline` would load
# Links in a text are told by more than their colour, comments in code are dark enough, and the
# search has a name. A section is laid out when it is near; it is as wide as its tables.
STYLE = (
    "<style>.md-typeset :is(p,li,td) a{text-decoration:underline}"
    "[data-md-color-scheme=default]{--md-code-hl-comment-color:#0009}"
    ".md-typeset>:is(section,.doc-object){content-visibility:auto;"
    "contain-intrinsic-size:auto 40rem;margin:0 -.8rem;padding:0 .8rem}"
    ".md-typeset>section>:last-child{margin-bottom:0}</style>\n</head>"
)
# The colours are those that the system asks for, from the first moment on.
COLOURS = (
    '<script>document.documentElement.className="js";'
    'if(matchMedia("(prefers-color-scheme: dark)").matches)'
    'document.body.dataset.mdColorScheme="slate";'
    'try{localStorage.removeItem(__md_scope.pathname+".__palette")}catch(e){}</script>'
)
STILL = ".still.webp"  # is added to the name of a film
BODY = re.compile(r"<body [^>]*>")
SEARCH = 'data-md-component="search" role="dialog"'
NAMES = {"en": "Search", "zh": "搜索"}
PICTURE = re.compile(r'<img ([^>]*?)src="(pictures/[^"]*)"')
QUIET = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
WORKER, LATE = (f"assets/javascripts/{name}.js" for name in ("worker", "late"))
# The scripts of a page, of which the second is its program.
SCRIPT = re.compile(r'\s*<script src="(assets/javascripts/(?:worker|bundle)[^"]*)"></script>')
DOCSTRINGS_STYLE = '<link rel="stylesheet" href="assets/_mkdocstrings.css">'
ARTICLE = re.compile(r"(<article [^>]*>)(.*?)(</article>)", re.DOTALL)
INVALID = re.compile(
    r'(<label[^>]*) tabindex=""|(<input[^>]*type="checkbox"[^>]*) autocomplete="off"'
)


def list_groups(
    names: Sequence[str], lang: str, english: Collection[str] = ()
) -> list[dict[str, Any]]:
    """Return the menu: each page once, those of no group at its end, and the rest of the site.

    english: the pages in English of a menu in Chinese, which says so.
    """
    left = [name.removesuffix(".md") for name in names]
    grouped = {each for group in GROUPS.values() for each in group}
    groups = GROUPS | {"More": tuple(each for each in left if each not in grouped)}
    menu: list[dict[str, Any]] = [
        {CHINESE[title] if lang == "zh" else title: pages}
        for title, group in groups.items()
        if (pages := [name_page(each, lang, english) for each in group if each in left])
    ]
    return [*menu, *({title: address} for title, address in SITE[lang])]


def name_page(page: str, lang: str, english: Collection[str]) -> str | dict[str, str]:
    """Return a page's entry in the menu; in English its heading is its title."""
    path = f"{page}.md"
    if lang == "en" or page not in TITLES:
        return path
    return {TITLES[page] + ENGLISH * (path in english): path}


def make_settings(names: Sequence[str], lang: str, source: Path, out: Path) -> dict[str, Any]:
    """Return the settings of MkDocs for one language."""
    return {
        "site_name": "glassformer",
        "docs_dir": str(source),
        "site_dir": str(out),
        "use_directory_urls": False,
        "theme": {
            "name": "material",
            "language": lang,
            "font": False,
            "palette": [
                {"media": f"(prefers-color-scheme: {shade})", "scheme": scheme}
                for shade, scheme in (("light", "default"), ("dark", "slate"))
            ],
            "features": ["navigation.tabs", "content.code.copy", "toc.follow"],
        },
        "extra": {"generator": False, "homepage": "index.html"},
        "plugins": [
            {"search": {"lang": ["en", "zh"] if lang == "zh" else ["en"]}},
            "offline",
            {"mkdocstrings": {"handlers": {"python": DOCSTRINGS}, "enable_inventory": False}},
        ],
        "markdown_extensions": ["tables", "attr_list", "md_in_html", "pymdownx.superfences"],
        "validation": {"anchors": "warn", "absolute_links": "warn", "nav": {"not_found": "info"}},
        "nav": list_groups(names, lang, list_english(ROOT, names)),
    }


def build(out: Path, repository: str) -> None:
    """Write the pages of both languages. CalledProcessError if a link leads nowhere."""
    for lang in ("en", "zh"):  # the second one goes into a folder of the first
        place = out if lang == "en" else out / lang
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / "pages"
            names = write_sources(ROOT, lang, source, repository)
            settings = Path(folder) / "mkdocs.yml"  # JSON is YAML
            settings.write_text(json.dumps(make_settings(names, lang, source, place.absolute())))
            words = ["mkdocs", "build", "--strict", "--config-file", str(settings)]
            run_quietly([sys.executable, "-m", *words])
        finish_pages(place, lang)


def run_quietly(command: Sequence[str]) -> None:
    """Run MkDocs, and show what it says if it fails: told to be quiet, it counts no warnings."""
    done = subprocess.run(command, env=QUIET, capture_output=True, text=True, encoding="utf-8")
    if done.returncode:
        print(done.stdout + done.stderr, file=sys.stderr)
    done.check_returncode()


def finish_pages(place: Path, lang: str) -> None:
    """Let the pages of a folder load nothing from elsewhere; the page 404 is the web space's."""
    (place / "404.html").unlink(missing_ok=True)
    for script in (WORKER, LATE):
        shutil.copyfile(Path(__file__).with_name(Path(script).name), place / script)
    for path in place.glob("*.html"):
        text = mend_page(path.read_text(encoding="utf-8").replace(SHIM, WORKER), lang)
        text = part_sections(put_off(text))
        path.write_text(order_pictures(text, place), encoding="utf-8")


def mend_page(text: str, lang: str) -> str:
    """Return a page as valid HTML that everybody can read."""
    text = INVALID.sub(lambda found: found[1] or found[2], text)
    named = f'{SEARCH} aria-label="{NAMES[lang]}"'
    if NOTE in text:  # a page in English among those in Chinese
        text = text.replace("<article ", '<article lang="en" ', 1)
    return text.replace(SEARCH, named, 1).replace("</head>", STYLE, 1)


def put_off(text: str) -> str:
    """Return a page that is shown before its scripts are there: `late.js` fetches them."""
    scripts = SCRIPT.findall(text)
    if "doc-object" not in text:
        text = text.replace(DOCSTRINGS_STYLE, "", 1)
    if len(scripts) < 2:
        return text
    worker, program = scripts
    late = f'<script defer src="{LATE}" data-worker="{worker}" data-program="{program}"></script>'
    text = SCRIPT.sub("", text).replace("</body>", f"{late}\n</body>", 1)
    return BODY.sub(lambda found: found[0] + COLOURS, text, count=1)


def part_sections(text: str) -> str:
    """Return a page with an element around each section, so that those far away cost nothing."""
    if "doc-object" in text:  # an element each already
        return text
    return ARTICLE.sub(lambda found: found[1] + _wrap_sections(found[2]) + found[3], text)


def _wrap_sections(article: str) -> str:
    first, *sections = re.split("(?=<h2[ >])", article)
    return first + "".join(f"<section>{each}</section>" for each in sections)


def order_pictures(text: str, place: Path) -> str:
    """Return a page whose pictures have sizes; all but the first come when they are near."""
    text = PICTURE.sub(partial(add_size, place), text)
    before, sign, after = text.partition("<img ")
    later = after.replace("<img ", '<img loading="lazy" ')
    return f'{before}<img fetchpriority="high" {later}' if sign else text


def add_size(place: Path, found: re.Match[str]) -> str:
    """Return the tag of a picture with its size, so that nothing moves when it comes.

    A film shows its first frame, until `late.js` fetches it.
    """
    path, shown = place / found[2], f'src="{found[2]}"'
    if "width=" in found[1]:
        return found[0]
    if path.suffix == ".svg":
        width, height = measure_svg(path.read_text(encoding="utf-8"))
    else:
        width, height, still = measure_picture(path)
        if still:
            shown = f'src="{found[2]}{STILL}" data-film="{found[2]}"'
    return f'<img width="{width}" height="{height}" {found[1]}{shown}'


def measure_svg(text: str) -> tuple[int, int]:
    """Return the size of a drawing, by its box."""
    box = re.search(r'viewBox="([^"]*)"', text)
    assert box
    width, height = [float(each) for each in box[1].split()][2:]
    return round(width), round(height)


def measure_picture(path: Path) -> tuple[int, int, bool]:
    """Return the size of a picture, and whether it is a film: its first frame is written then."""
    from PIL import Image

    with Image.open(path) as picture:
        is_film = getattr(picture, "n_frames", 1) > 1
        if is_film:
            picture.convert("RGB").save(f"{path}{STILL}", quality=80, method=6)
        return *picture.size, is_film


def main() -> None:
    """Read the command line, and write the pages."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--output", type=Path, required=True, help="the folder to write")
    server, name = os.environ.get("GITHUB_SERVER_URL"), os.environ.get("GITHUB_REPOSITORY")
    default = f"{server}/{name}" if server and name else ""
    parser.add_argument("--repository", default=default, help="its address, for links to code")
    given = parser.parse_args()
    build(given.output, given.repository)


if __name__ == "__main__":
    main()
