"""`train --from`, `train` without a size, `info` and `doctor`, as one types them."""

from __future__ import annotations

import io
import json
import re
import shlex
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from glassformer.cli import main
from glassformer.cli.train import read_recipe
from tools.demo_corpus import pairs

SMALL = (
    "model.d_model=16 model.d_ff=16 model.heads=2 model.encoder_layers=1 model.decoder_layers=1 "
    "text.vocabulary=400 decode.max_extra=5 train.steps=2"
)
SETS = " ".join(f"--set {change}" for change in SMALL.split())
LANGS = "--source-lang en --target-lang fr --quiet"

Run = Callable[[str], tuple[int, str, str]]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with text, and a model trained for two updates, of the size auto."""
    folder = tmp_path_factory.mktemp("home")
    for side, texts in zip(("en", "fr"), zip(*pairs("en", "fr", 40, 1), strict=True), strict=True):
        (folder / f"train.{side}").write_text("\n".join(texts) + "\n", encoding="utf-8")
    command = f"train --data {folder} --out {folder / 'm'} {LANGS} {SETS}"
    assert main(shlex.split(command, posix=sys.platform != "win32")) == 0
    return folder


@pytest.fixture
def run(home: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.chdir(home)

    def run(command: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
        capfd.readouterr()
        code = main(shlex.split(command))
        return code, *capfd.readouterr()

    return run


def test_without_a_size_it_is_auto(run: Run) -> None:
    code, out, _ = run("info m --json")
    settings = json.loads(out)["settings"]
    assert code == 0 and settings["size"] == "tiny"
    assert (settings["model"]["norm"], settings["model"]["d_model"]) == ("pre", 16)
    assert settings["train"]["schedule"] == "cosine"
    assert read_recipe("auto", ["train.minutes=3"]).train.minutes == 3


def test_from_a_parent(run: Run) -> None:
    code, _, err = run(
        "train --from m --data . --out child --set train.steps=2 --freeze encoder "
        "--freeze encoder_norm --quiet"
    )
    assert (code, err) == (0, "")
    card = json.loads(run("info child --json")[1])["card"]
    assert card["parent"]["name"] == "m" and card["parent"]["tokens"] == "kept"
    assert card["training"]["frozen"] == ["encoder", "encoder_norm"]
    assert card["language"] == ["en", "fr"]
    _, text, _ = run("info child")
    for row in (
        r"valid BLEU +\d",
        r"parent +m, sha256 [0-9a-f]{16}\n",
        r"frozen +encoder, encoder",
        r"data +train\.en, 40 lines, sha256",
        r"its data +train\.fr, 40 lines",
        r"updates +2, best",
        r"made with +glassformer",
    ):
        assert re.search(row, text), row
    code, _, _ = run(
        "train --from m --data . --out anew --minutes 0.002 --new-tokenizer "
        "--set text.vocabulary=380 --quiet"
    )
    assert code == 0
    facts = json.loads(run("info anew --json")[1])
    assert facts["card"]["parent"]["tokens"] == "new" and facts["source_vocabulary"] == 380


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("train tiny --from m --data . --out x", "--from keeps the settings of m: leave tiny out"),
        ("train --from nosuch --data . --out x", "nosuch: no such folder"),
        ("train --from m --data . --out x --set model.d_model=32", "d_model=32 does not fit m, wh"),
        ("train --from m --data . --out x --freeze encodr", "no part encodr; did you mean encoder"),
        ("train --data . --out x --new-tokenizer", "--new-tokenizer has no effect without --from"),
        ("train --resume m --from m", "--resume takes everything from the run itself"),
        ("train --from m --data . --out x --minutes 1 --set train.steps=5", "both say when to st"),
        ("train --data .", "train needs --out"),
        ("train auot --data . --out x", "auot is no recipe, no size, .*did you mean auto?"),
        ("train --size tiny --from m --data . --out x", "keeps the settings of m: leave tiny out"),
        ("train --size smal --data . --out x", "--size smal: did you mean small?"),
        ("train tiny --size small --data . --out x", "both say how large: give one of them"),
        ("train --resume m --size tiny", "--resume takes everything from the run itself"),
        ("doctor nosuch", "nosuch: no such folder"),
    ],
)
def test_what_is_wrong_is_one_sentence(run: Run, command: str, sentence: str) -> None:
    code, out, err = run(command)
    assert (code, out) == (2, "") and re.search(sentence, err)
    assert err.count("\n") == 1 and not Path("x").exists()


def test_doctor_looks_at_this_machine(run: Run) -> None:
    code, out, _ = run("doctor")
    assert code == 0 and re.search(r"^  processor +\S", out, re.M)
    facts = json.loads(run("doctor --json")[1])
    assert facts["threads"] >= 1 and facts["versions"]["torch"]
    assert {each["about"] for each in facts["findings"]} >= {"processor", "memory", "free disk"}


def test_doctor_looks_at_a_model(run: Run, home: Path) -> None:
    code, out, _ = run("doctor m")
    assert code == 0 and "comes out as it did" in out and "!" not in out
    golden = home / "m" / "golden.json"
    kept = golden.read_bytes()
    golden.write_bytes(kept.replace(b'"translation": "', b'"translation": "not '))
    code, out, _ = run("doctor m")
    assert code == 1 and re.search(r"^! golden +line 1 gives ", out, re.M)
    findings = json.loads(run("doctor m --json")[1])["findings"]
    assert [each["about"] for each in findings if each["is_wrong"]] == ["golden"]
    golden.write_bytes(kept)


def test_other_weights_and_damaged_words_are_named(run: Run, home: Path) -> None:
    shutil.copytree(home / "m", home / "other", ignore=shutil.ignore_patterns("run"))
    assert json.loads(run("info other --json")[1])["changed"] == []
    weights, words = home / "other/model.safetensors", home / "other/words.txt"
    weights.write_bytes(weights.read_bytes()[:-4] + b"\0\0\0\0")
    words.write_bytes(words.read_bytes()[:-5] + b"\xff\n")
    code, out, _ = run("doctor other")
    assert code == 1 and re.search(r"^! model.safetensors .*\n +> card.md says sha256", out, re.M)
    assert re.search(r"^! words.txt +\S*words.txt: damaged .not UTF-8 at", out, re.M)
    assert re.search(r"^! words.txt .*\n +> card.md says sha256", out, re.M)
    assert json.loads(run("info other --json")[1])["changed"] == ["model.safetensors", "words.txt"]
    words.unlink()
    said = "changed +model.safetensors is not the file that card.md describes: what it says may be"
    assert re.search(said, run("info other")[1])


def test_info_says_what_the_training_has_left(run: Run, home: Path) -> None:
    held = json.loads(run("info m --json")[1])["run"]
    sizes = [path.stat().st_size for path in (home / "m/run").rglob("*") if path.is_file()]
    assert held["bytes"] == sum(sizes) == sum(n for name, n in held.items() if name != "bytes")
    text = b"".join((home / f"m/run/valid.{side}").read_bytes() for side in ("source", "target"))
    assert held["validation_text"] == len(text)
    assert min(held["checkpoints"], held["training_text"]) > 0
    assert re.search(
        r"^training +m.run holds .* MB: checkpoints .*, training text", run("info m")[1], re.M
    )


def test_what_is_published_has_no_text_of_the_training(run: Run, home: Path) -> None:
    code, out, _ = run("publish m --out public")
    assert code == 0 and "train.en" in out and re.search("golden.json holds [1-4] sentences", out)
    kept = {path.name: path.read_bytes() for path in (home / "public").iterdir()}
    assert {"model.safetensors", "config.toml", "card.md", "golden.json"} < kept.keys()
    golden = {line["source"] for line in json.loads(kept["golden.json"])["lines"]}
    for side in ("en", "fr"):
        for line in (home / f"train.{side}").read_text(encoding="utf-8").splitlines():
            holding = [name for name, data in kept.items() if line.encode() in data]
            assert holding == (["golden.json"] if line in golden else []), line
    assert not [name for name, data in kept.items() if str(home).encode() in data]
    assert run("doctor public")[0] == 0
    translated = [run(f"translate {name} train.en --precision fp32")[1] for name in ("m", "public")]
    assert translated[0] == translated[1]
    assert "run" not in json.loads(run("info public --json")[1])
    assert run("publish m --out public")[::2] == (
        2,
        "glassformer: public is there already: name a new folder\n",
    )


def test_what_doctor_would_refuse_is_not_published(run: Run, home: Path) -> None:
    shutil.copytree(home / "m", home / "changed")
    config = home / "changed/config.toml"
    text = config.read_text(encoding="utf-8")
    config.write_text(text.replace("alpha = 0.6", "alpha = 0.7"), encoding="utf-8")
    before = sorted(home.iterdir())
    code, _, err = run("publish changed --out broken")
    assert code == 2 and "changed is not fit to be published (config.toml: " in err
    assert sorted(home.iterdir()) == before
