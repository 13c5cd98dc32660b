"""A coverage-guided fuzzer on one reader of text: python -m damage.coverage_fuzz TARGET -runs=N.

Run by test_coverage.py, where `atheris` is installed. What a target raises, beside ValueError and
OSError, ends it with a code other than 0 and leaves the input in crash-*.
"""

from __future__ import annotations

import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["glassformer"]):
    from glassformer.config import Config
    from glassformer.data.corpus import find_data
    from glassformer.text import clean
    from glassformer.text.kinds import train_tokenizer
    from glassformer.text.layout import open_layout, read_layout
    from glassformer.text.sentences import split_sentences

FOLDER = Path(tempfile.mkdtemp())
TOKENIZER = train_tokenizer(["the old cat runs", "él vió 猫 😀"] * 2, 320)


def tokenizer(data: bytes) -> None:
    text = data.decode("utf-8", "surrogatepass" if len(data) % 2 else "replace")
    assert TOKENIZER.decode(TOKENIZER.tokens(text).ids) == clean(text)


def sentences(data: bytes) -> None:
    text, end = data.decode("utf-8", "replace"), 0
    for start, stop in split_sentences(text, "en"):
        assert end <= start < stop <= len(text) and not text[end:start].strip()
        end = stop
    assert not text[end:].strip()


def read(name: str, data: bytes) -> None:
    path = FOLDER / name
    path.write_bytes(data)
    list(find_data(path, "en", "xx").train)


def settings(data: bytes) -> None:
    path = FOLDER / "settings.toml"
    path.write_bytes(data)
    Config.load(path)


def layout(data: bytes) -> None:
    path = FOLDER / "tokenizer.json"
    path.write_bytes(data)
    read_layout(open_layout(path), path)


TARGETS = {
    "tokenizer": tokenizer,
    "sentences": sentences,
    "settings": settings,
    "layout": layout,
    **{
        kind: lambda data, name=f"x.{kind}": read(name, data)
        for kind in ("tsv", "csv", "jsonl", "tmx")
    },
}


def main() -> None:
    name = sys.argv.pop(1)
    target = TARGETS[name]

    def once(data: bytes) -> None:
        with suppress(ValueError, OSError):
            target(data)

    atheris.Setup(sys.argv, once)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
