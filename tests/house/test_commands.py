"""Each command in README and docs works, in the order given, on two small files.

They run in this process. Training gets three updates and no more. What stays (`serve`), needs
another's checkpoint (`import`), minutes (`demo`, `night`) or a cluster (`--engine`) is parsed here
and run by its own tests.
"""

from __future__ import annotations

import io
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout, suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from benchmarks.__main__ import main as run_benchmark
from glassformer.cli import main
from glassformer.cli.verbs import app
from glassformer.model.files.directory import SHIPPED
from tools.demo_corpus.files import write_pairs

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md"))]  # README.zh.md has the same
# A page needs the built app, a course the learner, a calibration good translations, models the web.
ONLY_PARSED = {"demo", "night", "serve", "page", "site", "course", "import", "align"}
ONLY_PARSED |= {"calibrate", "models"}
BRIEFLY = [
    "--set",
    "train.steps=3",
    "--set",
    "train.batch_tokens=256",
    "--set",
    "decode.max_extra=2",
]
SHELL = re.compile(r"^```(?:|sh|bash|console|shell)\n(.*?)^```", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^(?:echo .*\| *)?(?:glassformer|make|python|\.venv/bin/python)\s")


def list_commands(page: Path) -> list[str]:
    """Lines that end in a backslash go on in the next."""
    blocks = SHELL.findall(page.read_text(encoding="utf-8"))
    lines = "".join(blocks).replace("\\\n", " ").splitlines()
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
        "corpus/train",
        "corpus/test",
    ):
        which = "train" if name.endswith(("train", "more")) else "valid"
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
    (tmp_path / "my-fr-en-model").symlink_to(SHIPPED / "demo-fr-en")
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


@pytest.mark.usefixtures("coarse_films", "few_sentences")
@pytest.mark.filterwarnings("ignore")  # the libraries under a verb warn of themselves
@pytest.mark.parametrize("page", WITH_COMMANDS)
def test_every_command_works(
    page: Path, corpus: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    commands = list_commands(page)
    if not any(f"{command} ".find("--out my-model ") > 0 for command in commands):
        shutil.copytree(SHIPPED / "demo", "my-model")
    for command in commands:
        said, _, rest = command.rpartition("|")
        words = shlex.split(rest)
        if said:
            text = shlex.split(said)[1] + "\n"
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        code = run(words)
        assert code == 0, f"{command}\n{capfd.readouterr().err}"


def run(words: list[str]) -> int:
    program, *arguments = words
    if program == "make":
        plan = ["make", "--dry-run", "--directory", str(ROOT), *arguments]
        return subprocess.run(plan, capture_output=True, check=False).returncode
    if program != "glassformer":
        if arguments[1] == "benchmarks":
            return check_benchmark(*arguments[2:])
        arguments = arguments[2:]
    if arguments[0] in ONLY_PARSED or "--engine" in arguments:
        return parse(*arguments)
    if arguments[0] == "train" and "--resume" not in arguments:
        for end in {"--minutes", "--steps", "--epochs"} & {*arguments}:
            at = arguments.index(end)
            del arguments[at : at + 2]
        arguments = [*arguments, *BRIEFLY]
    return main(arguments)


def parse(verb: str, *arguments: str) -> int:
    commands: dict[str, Any] = get_command(app).commands  # type: ignore[attr-defined]
    commands[verb].make_context(verb, list(arguments))
    return 0


def check_benchmark(verb: str, *arguments: str) -> int:
    """The verb is there and knows the options; what it does takes too long for a test."""
    options = [word for word in arguments if word.startswith("--")]
    return sum(option not in explain_benchmark(verb) for option in options)


@cache
def explain_benchmark(verb: str) -> str:
    """Return what `python -m benchmarks VERB --help` prints; fail if there is no such verb."""
    told = io.StringIO()
    with redirect_stdout(told), suppress(SystemExit):
        run_benchmark([verb, "--help"])
    assert f"benchmarks {verb} " in told.getvalue(), verb
    return told.getvalue()


def test_pages_have_commands() -> None:
    """Else the pattern above no longer finds them."""
    found: Iterator[str] = (command for page in PAGES for command in list_commands(page))
    verbs = {words[1] for words in map(str.split, found) if words[0] == "glassformer"}
    assert {"see", "check-data", "train", "translate", "evaluate", "score", "info"} <= verbs
