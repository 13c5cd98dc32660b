"""Texts in two languages: none is missing, unused, or left in the other language."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from glassformer.foundation.messages import HOLE, LANGUAGES, read_texts

ROOT = Path(__file__).parents[2]
WEB = ROOT / "web" / "src"
PICTURES = ROOT / "src/glassformer/extensions/pictures"
BY_PARTS = {"figures.toml"}  # the parts of a key stand in the code, not the key
# Tables that are read as objects, and where else they are shown.
SHOWN_IN = {
    ROOT / "src/glassformer/foundation/messages.json": [WEB / "views/translate"],
    PICTURES / "parts/figures.toml": [PICTURES],
    WEB / "story/messages.json": [WEB / "views/story"],
}
SHOWN_WHOLE = {ROOT / "src/glassformer/extensions/flashcards/messages.json"}  # a deck of cards
TABLES = sorted(
    path
    for folder in (ROOT / "src" / "glassformer", WEB)
    for name in ("messages.json", "figures.toml")
    for path in folder.rglob(name)
)

HAN = re.compile(r"[\u3400-\u9fff]")
# Examples, terms, commands, names of files and settings.
QUOTED = re.compile(
    r"“[^”]*”|（[\w ]*）|<\w+>|glassformer [ -~]*|python -m benchmarks [\w-]+|[\w/]*\.\w+(?:=\d)?"
)
FORMULA = re.compile(r"\$[^$]*\$")
WORD = re.compile(r"(?<![A-Za-z])[a-z]{4,}")
TERMS = {"softmax", "logit", "logits", "lens", "norm", "post"}  # also in Chinese
ALIKE = {
    "glassformer",
    "Alpha",
    "Top k",
    "Top p",
    "e^x",
    "ε",
    "Transformer",
    "LayerNorm",
    "logit",
    "logits",
}
ALIKE |= {"d", "<s>", "PE(p) · PE(q)", "Attention Is All You Need", "LLM Visualization"}
ALIKE |= {f"The {kind} Transformer" for kind in ("Illustrated", "Annotated")}
ALIKE |= {"Visualizing A Neural Machine Translation Model"}
# The switch names the other language; an example is a Chinese sentence; names of variables.
OTHERS = {"app.language", "app.language.name", "cards.V57.text", "cards.V13.text", "cards.V48.text"}

SAID = re.compile(r"""\bsay\(\s*(["'])(.+?)\1""")
QUOTED_KEY = re.compile(r"""["'`]([\w.-]+)["'`]""")
TEMPLATE = re.compile(r"`([^`\n]*\$\{[^`\n]*)`|f\"([^\"\n]*\{[^\"\n]*)\"")


@pytest.mark.parametrize(("guide", "words"), [("app.md", "cards"), ("app.zh.md", "张卡片")])
def test_the_guide_counts_the_cards_of_the_story(guide: str, words: str) -> None:
    cards = (ROOT / "web/src/story/cards.ts").read_text(encoding="utf-8").count('id: "V')
    assert f"{cards} {words}" in (ROOT / "docs" / guide).read_text(encoding="utf-8")


def name_table(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def list_sources(table: Path) -> Iterator[str]:
    """The code that may use a table: its folder and what is below, or where it is shown."""
    for folder in {table.parent, *SHOWN_IN.get(table, ())}:
        for path in sorted(folder.rglob("*")):
            if path.suffix in (".ts", ".svelte", ".py"):
                yield path.read_text(encoding="utf-8")


def find_table(path: Path, code: str) -> Path | None:
    """The table that `say` of a file reads."""
    found = re.search(r'import \{[^}]*\bsay\b[^}]*\} from "(.+)"', code)
    if not found:
        return None
    return (path.parent / found[1]).resolve().parent / "messages.json"


def test_there_are_tables() -> None:
    assert {"web/src/messages.json", "web/src/story/messages.json"} < set(map(name_table, TABLES))


@pytest.mark.parametrize("path", TABLES, ids=name_table)
def test_each_text_is_there_in_both_languages(path: Path) -> None:
    for key, text in read_texts(path).items():
        assert tuple(text) == LANGUAGES and all(map(str.strip, text.values())), key
        holes = [sorted(HOLE.findall(text[lang])) for lang in LANGUAGES]
        assert holes[0] == holes[1], key


@pytest.mark.parametrize("path", TABLES, ids=name_table)
def test_each_text_is_in_its_language(path: Path) -> None:
    for key, text in read_texts(path).items():
        if key in OTHERS or (text["en"] in ALIKE and text["en"] == text["zh"]):
            continue
        assert not HAN.search(text["en"]), key
        letters = re.search(r"\w", FORMULA.sub("", HOLE.sub("", text["en"])))
        if letters and not re.search(r"Tensor2Tensor", text["en"]):
            assert HAN.search(text["zh"]), key
        english = {*WORD.findall(QUOTED.sub("", HOLE.sub("", text["zh"])))} - TERMS
        assert not english, (key, english)


def list_patterns(code: str) -> Iterator[str]:
    """What the templates of the code can become, as regular expressions."""
    for found in TEMPLATE.findall(code):
        parts = re.split(r"\$?\{[^}]*\}", "".join(found))
        if any(part.strip("._-") for part in parts):
            yield r"[\w.-]+".join(map(re.escape, parts))


def is_joined(key: str, keys: set[str]) -> bool:
    """Whether two strings make the key, or its last part: `attention.kind` and `cross`."""
    last = key.rpartition(".")[2]
    halves = [key.rpartition("."), *((last[:n], "_", last[n + 1 :]) for n in find_bars(last))]
    return any(keys.issuperset((first, second)) for first, _, second in halves)


def find_bars(name: str) -> list[int]:
    return [n for n, character in enumerate(name) if character == "_"]


@pytest.mark.parametrize("path", sorted({*TABLES} - SHOWN_WHOLE), ids=name_table)
def test_each_text_is_used(path: Path) -> None:
    """A key stands in the code, or its parts do, or a template makes it or its last part."""
    code = "\n".join(list_sources(path))
    keys = {*QUOTED_KEY.findall(code)}
    made = re.compile("|".join(list_patterns(code)) or "(?!)")
    names = {*re.findall(r"[\w-]+", code)} if path.name in BY_PARTS or path in SHOWN_IN else set()
    unused = [
        key
        for key in read_texts(path)
        if key not in keys and not is_joined(key, keys)
        if not any(made.fullmatch(part) for part in (key, key.rpartition(".")[2]))
        if not names.issuperset(key.split("."))
    ]
    assert not unused


def test_each_key_that_is_said_is_there() -> None:
    missing = []
    for path in sorted(WEB.rglob("*")):
        if path.suffix in (".ts", ".svelte"):
            code = path.read_text(encoding="utf-8")
            if table := find_table(path, code):
                said = {key for _, key in SAID.findall(code)}
                missing += [(name_table(path), key) for key in said - read_texts(table).keys()]
    assert not missing
