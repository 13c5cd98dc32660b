"""Write the site: a first page in each language, and the pages that it leads to.

No page asks for anything outside the folder; all links are relative, so that the folder opens from
disk, and below any path of any web space.
"""

import shutil
from collections.abc import Sequence
from fnmatch import fnmatch
from html import escape
from pathlib import Path
from string import Template
from typing import Any
from urllib.parse import quote

from glassformer.config import Decode
from glassformer.extensions.serve.page import (
    REST,
    assemble_packed_page,
    read_program,
    spell_data,
    spell_icon,
)
from glassformer.foundation.disk import write_text
from glassformer.foundation.messages import LANGUAGES, Messages
from glassformer.model.files.directory import SHIPPED, locate, name_pair, split_pair
from glassformer.see.derive import describe_answer
from glassformer.see.trace import Trace
from glassformer.translator import Translator

from .living import FIRST as OPENINGS
from .living import build_parted_page
from .portable import describe_for_page
from .threads import draw_threads

HERE = Path(__file__).parent
MODELS = ("demo", "everyday-en-fr")  # where none is given
SWITCH = {"en": "English", "zh": "中文"}
INDEX = {"en": "index.html", "zh": "index.zh.html"}
NETWORKS = "networks.html"
APP = "app.js"  # what the first screens of all pages do not need of the program
COMPARED = ("demo-rnn", "demo-rnn-attention", "demo")
FIRST = OPENINGS[0]
SENTENCES = (  # those that the app offers for the comparison
    FIRST,
    "The animal didn't cross the street because it was too tired.",
    "The old farmer did not eat the red apple because it was too sour.",
    "The small cat did not cross the old street because it was too tired, but the big dog crossed "
    "the street because it was hungry.",
)
DRAWN = ("V49", "V112", "V79", "V46", "V54", "V77", "V80", "V26", "V35", "V58", "V03", "V01")
FILM = "film.mp4"
PICTURES = ("V49", "V112", "V77")  # on the first page
DEMO = {"en": "gallery/demo", "zh": "gallery/demo/zh"}  # the folder of the story's pictures
GALLERY = {"en": "gallery/index.html", "zh": f"{DEMO['zh']}/index.html"}
# Written by `make site` before these pages; without them no card leads there.
DOCUMENTATION = {"en": "docs/index.html", "zh": "docs/zh/index.html"}
GUIDE = "docs/course.html"  # to which the app leads learners
COUNTS = (("numbers", "parameters"), ("words", "words"))  # what a card counts, by what is told
CHINESE = {"en": "英语", "fr": "法语", "de": "德语", "zh": "中文", "es": "西班牙语"}
GREEDY, BEAM = Decode(search="greedy"), Decode(search="beam", beam=4)  # BEAM: as in the gallery
COPIED = {".gif", ".html", ".jpg", ".mp4", ".png", ".svg", ".webp"}


def write_site(
    folder: Path, models: Sequence[Path | str] = (), gallery: Path | None = None
) -> list[Path]:
    """Write the pages into a folder, and return all files that were written.

    gallery: pictures to copy; else a few are drawn. Raises ValueError if a model cannot run in a
    browser, or if the app is not built.
    """
    chosen = [name_pair(locate(each), split_pair(each)[1]) for each in models or MODELS]
    names = [each.name for each in chosen]
    if len({*names}) < len(names):
        raise ValueError("two models have one name: rename the folder of one")
    pages = {}
    for each in chosen:
        page, more = f"{each.name}.html", f"{each.name}.js"
        pages[page], pages[more] = build_parted_page(each, {"more": quote(more), REST: APP})
    folder.mkdir(parents=True, exist_ok=True)
    pages[NETWORKS], pages[APP] = build_networks_page(), read_program(REST)
    for name, text in pages.items():
        write_text(folder / name, link_guide(text) if (folder / GUIDE).is_file() else text)
    trace = record_sentence("demo", FIRST, BEAM)
    result = copy_gallery(gallery, folder) if gallery else draw_gallery(trace, folder)
    result += draw_in_chinese(trace, folder, result)
    facts = [{**describe_for_page(each), "page": f"{each.name}.html"} for each in chosen]
    for fact in facts:
        files = [(folder / str(fact["page"])).with_suffix(each) for each in (".html", ".js")]
        fact["size"] = sum(each.stat().st_size for each in files)
    threads = draw_threads(record_sentence("demo", FIRST))
    result += [each for each in DOCUMENTATION.values() if (folder / each).is_file()]
    for lang in LANGUAGES:
        write_text(folder / INDEX[lang], tell_index(lang, facts, threads, result))
    return [folder / name for name in (*pages, *INDEX.values(), *result)]


def link_guide(html: str) -> str:
    """Return a page of the app that says where the guide to the course is."""
    return html.replace("<title>", f'<link rel="help" href="{GUIDE}">\n<title>', 1)


def build_networks_page() -> str:
    """Return the page on which a recurrent network stands beside a Transformer."""
    recorded = {
        text: [describe_answer(record_sentence(model, text)) for model in COMPARED]
        for text in SENTENCES
    }
    soon = f'<link rel="preload" as="script" href="{APP}">\n'  # its screen is not the first one
    return assemble_packed_page(soon + spell_data("networks", recorded), "", {REST: APP})


def record_sentence(model: str, text: str, search: Decode = GREEDY) -> Trace:
    """Return everything that a shipped model computes for a sentence."""
    translator = Translator.load(SHIPPED / model, device="cpu", precision="fp32")
    return translator.see(text, decode=search)


def copy_gallery(gallery: Path, folder: Path) -> list[str]:
    """Copy pictures, and the pages that show them; return their names within the folder."""
    if not (gallery / "index.html").is_file():
        raise ValueError(f"{gallery} is no gallery: it has no index.html")
    results = []
    for path in sorted(gallery.rglob("*")):
        if path.suffix in COPIED and path.is_file():
            name = Path("gallery") / path.relative_to(gallery)
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, folder / name)
            results.append(name.as_posix())
    return results


def draw_gallery(trace: Trace, folder: Path) -> list[str]:
    """Draw a few pictures of one translation, and a page that shows them; return their names."""
    from glassformer.extensions.pictures.parts.render import save_scene
    from glassformer.extensions.pictures.pictures import make_scene

    gallery, shown = [], []
    for id in DRAWN:
        name = f"{DEMO['en']}/{id}.png"
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        scene = make_scene(trace, id)
        save_scene(scene, folder / name)
        gallery.append(name)
        shown.append({"file": f"demo/{id}.png", "title": scene.title, "told": scene.description})
    pictures = "".join(_fill("picture", each) for each in shown)
    page = _fill("gallery", {"icon": spell_icon()}, pictures=pictures, style=_read("style.css"))
    write_text(folder / "gallery/index.html", page)
    return [*gallery, "gallery/index.html"]


def draw_in_chinese(trace: Trace, folder: Path, files: Sequence[str]) -> list[str]:
    """Draw the pictures of the story with Chinese texts, and a page; return their names."""
    from glassformer.extensions.pictures.examples import ELSEWHERE, EVERYDAY
    from glassformer.extensions.pictures.gallery import NamedRecording, gallery
    from glassformer.extensions.pictures.parts.palette import shrink_file

    ids = [Path(each).stem for each in files if fnmatch(each, f"{DEMO['en']}/V*.png")]
    sentences = {id: text for id, text in ELSEWHERE.items() if id in ids}
    traces = {text: record_sentence(EVERYDAY, text, BEAM) for text in {*sentences.values()}}
    others = {id: NamedRecording(EVERYDAY, traces[text]) for id, text in sentences.items()}
    place = folder / DEMO["zh"]
    result = gallery(
        trace, place, lang="zh", format="png", moving=False, model="demo", ids=ids, others=others
    )
    for path in result:
        if path.suffix == ".png":
            shrink_file(path)
    return [path.relative_to(folder).as_posix() for path in result]


def tell_index(
    lang: str, facts: Sequence[dict[str, Any]], threads: str, files: Sequence[str]
) -> str:
    """Return the first page in one language; facts: of each model; files: of the gallery."""
    texts = Messages(HERE / "messages.json")

    def say(key: str, **fill: object) -> str:
        return texts.say(key, lang, **fill)

    def show(
        page: str, key: str, size: int = 0, picture: str = "", about: str = "about", **fill: object
    ) -> str:
        image = f'<img src="{quote(picture)}" alt="" loading="lazy">' if picture in files else ""
        weight = f" · {size / 1e6:.1f} MB" if size else ""
        texts = {
            "page": page,
            "title": say(f"{key}.title", **fill),
            "about": say(f"{key}.{about}", **fill) + weight,
        }
        return _fill("card", texts, image=image)

    text = f"?language={lang}"
    cards = []
    for each in facts:
        about = "about" if each["words"] else "less"
        fill = _describe(each, lang)
        page = f"{quote(each['page'])}#/first{text}"
        cards.append(show(page, "model", each["size"], "", about, **fill))
    pictures = [f"{DEMO[lang]}/{each}.png" for each in PICTURES]
    page = quote(facts[0]["page"])
    puzzles = f"{page}#/puzzles{text}"
    cards += [
        show(puzzles, "puzzles"),
        show(f"{page}#/lecture/1{text}", "lecture", picture=pictures[2]),
        show(f"{page}#/story{text}", "story", picture=pictures[1]),
        show(f"{NETWORKS}#/networks{text}", "networks"),
        show(GALLERY[lang], "gallery", picture=pictures[0]),
    ]
    if f"gallery/{FILM}" in files:
        cards.append(show(f"gallery/{FILM}", "film"))
    if DOCUMENTATION[lang] in files:
        cards.append(show(DOCUMENTATION[lang], "documentation"))
    other = next(each for each in LANGUAGES if each != lang)
    words = ("title", "lead", "call", "more", "own", "install", "source", "try", "cut", "frame")
    return _fill(
        "index",
        {
            "lang": "zh-CN" if lang == "zh" else "en",
            "icon": spell_icon(),
            "first": f"{page}#/first{text}",
            "puzzles": puzzles,
            "say_puzzles": say("puzzles.title"),
            "switch": INDEX[other],
            "other": other,
            "switched": SWITCH[other],
            **{f"say_{key}": say(key) for key in words},
        },
        style=_read("style.css"),
        threads=threads,
        cards="".join(cards),
    )


def _describe(fact: dict[str, Any], lang: str) -> dict[str, str]:
    """Return what the card of a model says of it."""
    sides = {}
    for side in ("source", "target"):
        code = str(fact[side] or "?")
        name = CHINESE.get(code) if lang == "zh" else fact[f"{side}_name"]
        sides[side] = str(name or code)
    counts = {key: f"{fact[name] or 0:,}" for key, name in COUNTS}
    return {"name": fact["name"], **counts, **sides}


def _fill(name: str, texts: dict[str, str], **markup: str) -> str:
    """Return a template with these texts, which are escaped, and with pieces of HTML."""
    escaped = {key: escape(text) for key, text in texts.items()}
    return Template(_read(f"{name}.html")).substitute(escaped, **markup)


def _read(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")
