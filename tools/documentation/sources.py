"""The sources of the pages: what the repository has, under the names that the pages have.

The guides are taken as they are, but for their links: a page in Chinese stands in the folder `zh`
under the name of the English one. A page there that is in English says so.
"""

from __future__ import annotations

import os
import re
import shutil
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from .reference import write_commands, write_python

ROOT = Path(__file__).parents[2]
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)#\s]*)(#[^)\s]*)?\)")
HOME = "README.md"
PICTURES = {".gif", ".png", ".svg", ".webp"}
CODE = re.compile(r"(^```.*?^```\n)", re.MULTILINE | re.DOTALL)
# Before a Chinese heading there may be the English anchor, for readers of the file.
HEADING = re.compile(r'^(?:<a id="[^"]*"></a>\n\n)?(#+ .*)$', re.MULTILINE)
HAN = r"[\u3000-\u303f\u4e00-\u9fff\uff00-\uffef\u201c\u201d]"  # with the signs of Chinese text
BROKEN = re.compile(rf"^(?!#)(.*{HAN})\n *(?={HAN})", re.MULTILINE)
# How much more, or less, a page counts in the search than others.
BOOSTS = {"course.md": 4, "tutorial.md": 3, "index.md": 2, "commands.md": 0.5, "python.md": 0.3}
BOOSTS |= {"changelog.md": 0.1, "contributing.md": 0.3, "experiments.md": 0.3}
NOTE = "本页只有英文版。"


class Page(NamedTuple):
    """A page: the file that it is made from, and its name among the pages."""

    source: Path
    name: str


def list_pages(root: Path, lang: str) -> dict[str, Page]:
    """Return the pages of a language by name; where there is no Chinese one, the English one."""
    files = [root / HOME, root / "CONTRIBUTING.md", root / "CHANGELOG.md"]
    files += sorted((root / "docs").glob("*.md"))
    pages = {}
    for path in files:
        if not path.name.endswith(".zh.md"):
            name = "index.md" if path.name == HOME else path.name.lower()
            pages[name] = Page(path, name)
    if lang == "zh":
        for path in [*root.glob("*.zh.md"), *(root / "docs").glob("*.zh.md")]:
            plain = path.name.replace(".zh.md", ".md")
            name = "index.md" if plain == HOME else plain.lower()
            pages[name] = Page(path, name)
    return pages


def list_english(root: Path, names: Iterable[str]) -> set[str]:
    """Return those of the pages of the Chinese site that are in English."""
    translated = {
        name for name, page in list_pages(root, "zh").items() if page.source.name.endswith(".zh.md")
    }
    return {*names} - translated


def add_note(text: str) -> str:
    """Return a page in English whose title is followed by a sentence in Chinese that says so."""
    title, _, rest = text.partition("\n")
    return f'{title}\n\n> {NOTE}\n> {{: lang="zh" }}\n{rest}'


def write_sources(root: Path, lang: str, out: Path, repository: str = "") -> list[str]:
    """Write what the generator reads into a folder, and return the names of the pages.

    repository: the address of the repository, to which links go that lead to code.
    """
    pages = list_pages(root, lang)
    out.mkdir(parents=True, exist_ok=True)
    by_file = {page.source.resolve(): name for name, page in pages.items()}
    for page in pages.values():
        text = page.source.read_text(encoding="utf-8")
        text = LinkWriter(root, lang, page, out, by_file, repository).rewrite(text)
        english = page.source.with_name(page.source.name.replace(".zh.md", ".md"))
        if english != page.source:
            text = add_anchors(text, list_anchors(english.read_text(encoding="utf-8")))
            text = join_lines(text)
        (out / page.name).write_text(text, encoding="utf-8")
    (out / "commands.md").write_text(write_commands(lang), encoding="utf-8")
    (out / "python.md").write_text(write_python(lang), encoding="utf-8")
    names = [*pages, "commands.md", "python.md"]
    for name in list_english(root, names) if lang == "zh" else ():
        text = (out / name).read_text(encoding="utf-8")
        (out / name).write_text(add_note(text), encoding="utf-8")
    for name in names:
        text = (out / name).read_text(encoding="utf-8")
        (out / name).write_text(add_boost(text, BOOSTS.get(name, 1)), encoding="utf-8")
    return names


def add_boost(text: str, boost: float) -> str:
    """Return a page that says how much it counts in the search."""
    return f"---\nsearch:\n  boost: {boost}\n---\n\n{text}"


def join_lines(text: str) -> str:
    """Return a Chinese page without line breaks between two characters: they would be spaces."""
    parts = CODE.split(text)
    for number in range(0, len(parts), 2):
        while parts[number] != (joined := BROKEN.sub(r"\1", parts[number])):
            parts[number] = joined
    return "".join(parts)


def list_anchors(text: str) -> list[str]:
    """Return the anchors of the headings of a page, as Markdown makes them."""
    anchors: list[str] = []
    for found in HEADING.finditer(CODE.sub("", text)):
        plain = LINK.sub(r"\2", found[1].lstrip("# "))
        ascii_only = unicodedata.normalize("NFKD", plain).encode("ascii", "ignore").decode()
        anchor = re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", ascii_only).strip().lower())
        same = sum(re.sub(r"_\d+$", "", each) == anchor for each in anchors)
        anchors.append(f"{anchor}_{same}" if same else anchor)
    return anchors


def add_anchors(text: str, anchors: Sequence[str]) -> str:
    """Return a translated page whose headings have the anchors of the original's.

    ValueError if it has more or fewer headings.
    """
    parts, left = CODE.split(text), iter(anchors)
    headings = len(HEADING.findall(CODE.sub("", text)))
    if headings != len(anchors):
        raise ValueError(f"{headings} headings for {len(anchors)} anchors: {', '.join(anchors)}")
    return "".join(
        part if number % 2 else HEADING.sub(lambda found: f"{found[1]} {{#{next(left)}}}", part)
        for number, part in enumerate(parts)
    )


class LinkWriter(NamedTuple):
    """Rewrites the links of one page for the place where the page will be."""

    root: Path
    lang: str
    page: Page
    out: Path
    by_file: Mapping[Path, str]
    repository: str

    def rewrite(self, text: str) -> str:
        """Return the text of the page; links in blocks of code are left alone."""
        return "".join(self._rewrite_parts(text))

    def _rewrite_parts(self, text: str) -> Iterator[str]:
        for number, part in enumerate(CODE.split(text)):
            yield part if number % 2 else LINK.sub(self.rewrite_link, part)

    def rewrite_link(self, found: re.Match[str]) -> str:
        """Return a link, or its text alone where what it leads to is not among the pages."""
        mark, label, target, anchor = found[1], found[2], found[3], found[4] or ""
        if not target or "://" in target or target.startswith("mailto:"):
            return found[0]
        path = (self.page.source.parent / target).resolve()
        if mark:
            return f"![{label}]({self.place_picture(path)})"
        return self.lead(label, path, anchor)

    def lead(self, label: str, path: Path, anchor: str) -> str:
        """Return a link to a file of the repository."""
        up = "../" * (1 if self.lang == "en" else 2)
        if path.is_relative_to(self.root / "docs" / "gallery"):
            return f'<a href="{up}gallery/index.html">{label}</a>'
        plain = path.with_name(path.name.replace(".zh.md", ".md"))
        if path in self.by_file:
            return f"[{label}]({self.by_file[path]}{anchor})"
        if plain in self.by_file or path.with_suffix(".zh.md") in self.by_file:
            return self.lead_to_other(label, path, plain, anchor)
        if self.repository and path.exists():
            place = path.relative_to(self.root).as_posix()
            return f"[{label}]({self.repository}/blob/main/{place}{anchor})"
        return label

    def lead_to_other(self, label: str, path: Path, plain: Path, anchor: str) -> str:
        """Return a link to a page that this language has otherwise, or to the other language."""
        page = "index" if plain.name == HOME else plain.stem.lower()
        if self.lang == "zh":
            is_switch = self.page.source.name.endswith(".zh.md") and (
                path.name == self.page.source.name.replace(".zh.md", ".md")
            )
            return (
                f'<a href="../{page}.html">{label}</a>'
                if is_switch
                else (f"[{label}]({page}.md{anchor})")
            )
        return f'<a href="zh/{page}.html">{label}</a>'

    def place_picture(self, path: Path) -> str:
        """Copy a picture beside the pages, and return its name there."""
        if path.suffix not in PICTURES or not path.is_file():
            raise ValueError(f"{self.page.source}: there is no picture {path}")
        name = os.path.join("pictures", *path.relative_to(self.root).parts[1:])
        (self.out / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, self.out / name)
        return Path(name).as_posix()
