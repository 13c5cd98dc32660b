"""docs/extend.md, taken at its word, on a copy of the package."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "extend.md").read_text(encoding="utf-8")
CHANGES = dict(re.findall(r"^## ([^\n]+)\n.*?```diff\n(.*?)```", PAGE, re.M | re.S))
MOST_LINES, MOST_FILES = 20, 2
OF_A_FIELD = 4  # files, for what goes through all stages
FIELD = "A field of a sentence"

PROGRAM = """
import sys
from glassformer import Config, Translator
from glassformer.foundation.messages import read_messages
from glassformer.model.files.directory import Tokenizers, build_model
from glassformer.text import load_tokenizer, train_tokenizer

assert read_messages().say("problem.empty", "zh") == "没有任何译文"

assert Config.read({"text": {"tokenizer": "byte"}}).text.tokenizer == "byte"
train_tokenizer(["a cat", "ça va"], 300, "byte").save("tokenizer.json")
learned = load_tokenizer("tokenizer.json")
assert len(learned) == 3 + 256
assert learned.encode("ça") == [3 + byte for byte in " ça".encode()]
assert learned.decode(learned.encode("ça va 你")) == "ça va 你"

translator = Translator.load("demo")
text = "The old cat that we saw is on the mat."
rules = {rule: {"search": "beam", "beam": 5, "stop": rule} for rule in ("one", "first", "exact")}
ended = {
    rule: sum(each.finished for each in translator.search(text, decode=decode, n_best=5))
    for rule, decode in rules.items()
}
assert ended["one"] < ended["first"] <= ended["exact"], ended

source = train_tokenizer(["The cat is here. The dog runs."] * 4, 300)
tokenizers = Tokenizers(source.with_tags(["<formal>", "<informal>"]), source)
config = Config.read({"model": {"d_model": 16, "d_ff": 32, "heads": 2, "tie": "none"}})
translator = Translator(config, tokenizers, build_model(config, tokenizers))
((polite, plain),) = translator.reader.read(["<formal> The cat is here. The dog runs."])
(tag,) = translator.tokenizers.source.find_tags(["<formal>"])
assert (polite.text, polite.formality) == ("The cat is here.", "<formal>")
assert polite.ids == [tag, *translator.reader.encode(["The cat is here."])[0]]
assert plain.formality == "" and plain.ids == translator.reader.encode(["The dog runs."])[0]
for text in ("<formal> The cat is here.", "<informal> The cat is here."):
    assert translator.translate(text).startswith(text.split()[0] + " ")
assert not translator.translate("The cat is here.").startswith(("<formal>", "<informal>"))
"""

SERVER = """
import json, threading, time
from http.client import HTTPConnection
from urllib.parse import urlsplit
from glassformer.extensions.serve.running import make_service, prepare_server

ready = prepare_server(make_service(["demo"]), port=0, token="t")
thread = threading.Thread(target=ready.run)
thread.start()
while not ready.server.started and thread.is_alive():
    time.sleep(0.01)
connection = HTTPConnection("127.0.0.1", urlsplit(ready.address).port, timeout=60)
connection.request("GET", "/api/count", headers={"Authorization": "Bearer t"})
print(connection.getresponse().read().decode())
ready.server.should_exit = True
thread.join(30)
"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a copy of the package to which all changes of the page are made."""
    home = tmp_path_factory.mktemp("copy")
    shutil.copytree(ROOT / "src", home / "src", ignore=shutil.ignore_patterns("__pycache__"))
    for name, change in CHANGES.items():
        (home / "change.diff").write_text(change, encoding="utf-8")
        command = ["git", "apply", "--unidiff-zero", "change.diff"]
        done = subprocess.run(command, cwd=home, capture_output=True, check=False)
        assert done.returncode == 0, (name, done.stderr)
    return home


def run(home: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=home,
        env={**os.environ, "PYTHONPATH": str(home / "src")},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def glassformer(home: Path, *arguments: str) -> str:
    return run(home, "-m", "glassformer", *arguments)


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_is_small(name: str) -> None:
    added = [line for line in CHANGES[name].splitlines() if re.match(r"\+(?!\+\+)", line)]
    assert len(added) <= MOST_LINES
    assert CHANGES[name].count("+++ b/") <= (OF_A_FIELD if name == FIELD else MOST_FILES)


def test_the_verb_counts_the_tokens(copy: Path) -> None:
    from glassformer import Translator

    text = "The cat is on the mat."
    tokens = Translator.load("demo").tokenizers.source.encode(text)
    assert int(glassformer(copy, "count", "demo", text)) == len(tokens)
    assert " count " in glassformer(copy, "--help")


@pytest.mark.thorough
def test_the_picture_is_drawn(copy: Path) -> None:
    pytest.importorskip("matplotlib", reason="the extra `see` is not installed")
    glassformer(copy, "see", "demo", "The cat is small.", "--picture", "V900", "-o", "look.svg")
    drawn = (copy / "look.svg").read_text(encoding="utf-8")
    assert "</svg>" in drawn and "<path" in drawn


@pytest.mark.thorough
def test_the_tokenizer_the_string_the_rule_and_the_field_work(copy: Path) -> None:
    run(copy, "-c", PROGRAM)


def test_the_export_is_written(copy: Path) -> None:
    import numpy as np

    from glassformer import Translator

    glassformer(copy, "export", "demo", "--format", "npz", "--out", "demo.npz")
    weights = Translator.load("demo").model.state_dict()
    with np.load(copy / "demo.npz") as written:
        assert {*written} == {*weights}
        assert all((written[name] == weights[name].numpy()).all() for name in weights)


def test_the_option_numbers_lines(copy: Path) -> None:
    (copy / "two.en").write_text("A cat.\nA dog.\n", encoding="utf-8")
    plain = glassformer(copy, "translate", "demo", "two.en").splitlines()
    numbered = glassformer(copy, "translate", "demo", "two.en", "--numbered").splitlines()
    assert numbered == [f"{number}\t{line}" for number, line in enumerate(plain, 1)]


@pytest.mark.thorough
def test_the_endpoint_answers(copy: Path) -> None:
    pytest.importorskip("fastapi", reason="the extra `serve` is not installed")
    assert json.loads(run(copy, "-c", SERVER)) == {"models": 1}
