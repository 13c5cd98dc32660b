"""What `evaluate` says beside scores, looks at a test text, and `doctor --training`."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any
from unicodedata import normalize

import pytest

from glassformer.cli import main
from glassformer.config import Config
from glassformer.extensions.honest.diagnostics import (
    examine_contamination,
    examine_gradient,
    examine_loss,
    examine_padding,
    repeats_itself,
)
from glassformer.extensions.honest.training_text import read_training
from glassformer.extensions.publish.looks import LOOKS, count_look, name_text, read_looks
from glassformer.foundation.disk import write_text
from glassformer.foundation.progress import Reporter
from glassformer.model.files.directory import RUN, SHIPPED
from glassformer.train import train
from glassformer.train.plan.preparation import prepare_run
from glassformer.train.plan.run_folder import open_run, read_valid
from glassformer.translator import Translator
from tools.demo_corpus.files import write_pairs

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """Run a verb in a folder with pairs and a copy of a model."""
    write_pairs(tmp_path / "pairs", "en", "fr", {"train": 300, "valid": 20, "test": 40})
    monkeypatch.chdir(tmp_path / "pairs")
    shutil.copytree(SHIPPED / "demo", "mine")

    def run(*words: str) -> tuple[int, str, str]:
        capfd.readouterr()
        code = main([*words])
        return code, *capfd.readouterr()

    return run


def test_evaluate_says_what_a_score_hides(run: Run) -> None:
    given = ("evaluate", "mine", "test.en", "test.fr")
    code, said, _ = run(*given)
    assert code == 0 and "95 % within" in said and "near twins" not in said
    assert "±" in said
    code, said, _ = run(*given, "--training", "train.en", "--training", "train.fr", "--json")
    found = json.loads(said)["honesty"]
    assert found["training"]["training_pairs"] == 300 and found["looks"] == 2
    lines = [part["lines"] for part in found["training"]["by_similarity"]]
    assert sum(lines) == 40 and 0 <= found["training"]["twins"] <= 40
    assert abs(found["intervals"]["BLEU"]["mean"] - json.loads(said)["scores"]["BLEU"]["value"]) < 2
    assert "looked at 3 times" in run(*given)[1]
    assert "looked at" not in run(*given, "--no-count")[1]
    assert sum(read_looks(Path("mine")).values()) == 3


def test_looks_are_of_one_text_and_survive_damage(tmp_path: Path) -> None:
    one, other = name_text(["a", "b"], [["c", None]]), name_text(["a"], [["b"]])
    assert one != other and name_text(["a", "b"], [["c", ""]]) == one
    assert [count_look(tmp_path, one) for _ in range(3)] == [1, 2, 3]
    assert count_look(tmp_path, other) == 1
    write_text(tmp_path / LOOKS, "no JSON")
    assert read_looks(tmp_path) == {} and count_look(tmp_path, one) == 1
    assert count_look(SHIPPED / "demo", one) == 0 and not (SHIPPED / "demo" / LOOKS).exists()


def test_doctor_says_what_went_wrong_in_a_training(run: Run) -> None:
    config = Config.read(
        {
            "recipe": "auto",
            "data": {"source_lang": "en", "target_lang": "fr"},
            "model": {"d_model": 16, "d_ff": 16, "encoder_layers": 1, "decoder_layers": 1},
            "text": {"vocabulary": 400},
            "train": {"steps": 2, "batch_tokens": 256},
        }
    )
    for lang in ("en", "fr"):
        lines = Path(f"train.{lang}").read_text(encoding="utf-8").splitlines()
        write_text(Path(f"valid.{lang}"), "".join(f"{line}\n" for line in lines[:20]))
    train(config, ["train.en", "train.fr"], "young", valid=["valid.en", "valid.fr"], quiet=True)
    code, said, _ = run("doctor", "young", "--training", "--json")
    found = {each["about"]: each for each in json.loads(said)["findings"]}
    assert code == 0
    assert {*found} == {
        *("padding", "gradient", "loss", "contamination", "copying", "repetition", "emptiness")
    }
    assert "nothing was learned" in found["loss"]["advice"]
    assert "train longer" in found["repetition"]["advice"]
    assert found["emptiness"]["said"].endswith("translations have no word")
    assert found["contamination"]["said"].startswith("20 of 20 validation lines")
    assert "scores flatter" in found["contamination"]["advice"]
    assert run("doctor", "mine", "--training")[0] == 2  # its training is not there
    assert run("doctor", "--training")[0] == 2


def write_words(path: Path, lines: int, seed: int) -> list[str]:
    """Write lines of random words, and return them."""
    draw = Random(seed)
    words = ["".join(draw.choices("abcdefg", k=6)) for _ in range(4 * lines)]
    texts = [" ".join(words[4 * n : 4 * n + 4]) for n in range(lines)]
    write_text(path, "".join(f"{line}\n" for line in texts))
    return texts


def diagnose(model: Path, capfd: pytest.CaptureFixture[str]) -> dict[str, dict[str, str]]:
    """Return the findings of `doctor --training` by what they are about."""
    capfd.readouterr()
    assert main(["doctor", str(model), "--training", "--json"]) == 0
    return {each["about"]: each for each in json.loads(capfd.readouterr().out)["findings"]}


SMALL = {"d_model": 16, "d_ff": 16, "heads": 2}
TWO = {"steps": 2, "batch_tokens": 1024, "pad_to": 1}


@pytest.mark.parametrize(
    ("network", "name", "classes"),
    [("decoder", "en", 400), ("encoder", "en", 400), ("encoder", "tsv", 2)],
)
def test_a_language_model_is_diagnosed_without_translations(
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    network: str,
    name: str,
    classes: int,
) -> None:
    """Neither what an encoder need not predict is padding, nor a label a line that was seen."""
    lines = write_words(tmp_path / "a.en", 120, seed=1)
    valid = [*write_words(tmp_path / "b.en", 18, seed=2), *lines[:2]]
    write_text(tmp_path / "b.en", "".join(f"{line}\n" for line in valid))
    for part, texts in (("a", lines), ("b", valid)):
        rows = (f"{'odd' if n % 2 else 'even'}\t{line}\n" for n, line in enumerate(texts))
        write_text(tmp_path / f"{part}.tsv", "".join(rows))
    model = {**SMALL, "network": network, f"{network}_layers": 1}
    config = Config.read({"model": model, "text": {"vocabulary": 400}, "train": TWO})
    data, held_out = ([tmp_path / f"{part}.{name}"] for part in "ab")
    train(config, data, tmp_path / "young", valid=held_out, quiet=True)
    results = diagnose(tmp_path / "young", capfd)
    assert not results["padding"]["advice"]
    assert {*results} == {"padding", "gradient", "loss", "contamination", "translations"}
    assert f"who knows nothing has {math.log(classes):.2f}" in results["loss"]["said"]
    assert results["contamination"]["said"].startswith("2 of 20 validation lines")
    assert results["contamination"]["advice"] == "the scores flatter: validate on others"
    assert "translates nothing" in results["translations"]["said"]


def test_each_of_several_languages_is_diagnosed_by_itself(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = {
        f"{name}.{lang}": write_words(tmp_path / f"{name}.{lang}", count, seed=ord(lang[0]) + count)
        for name, count, langs in (
            *(("one", 100, ("en", "fr")), ("two", 90, ("de", "en"))),
            *(("valid one", 20, ("en", "fr")), ("valid two", 20, ("de", "en"))),
        )
        for lang in langs
    }
    for place, line in ((0, texts["two.en"][5]), (1, texts["two.de"][5]), (2, texts["one.en"][5])):
        texts["valid one.en"][place] = line  # in English, the first and the last were learned
    write_text(tmp_path / "valid one.en", "".join(f"{e}\n" for e in texts["valid one.en"]))
    langs = (("one", "en", "fr"), ("two", "de", "en"))
    data, valid = (
        [str(tmp_path / f"{part}{name}.{lang}") for name, *both in langs for lang in both]
        for part in ("", "valid ")
    )
    named = [dict(zip(("name", "source_lang", "target_lang"), each, strict=True)) for each in langs]
    raw = {"data": {"corpus": named}, "model": {**SMALL, "encoder_layers": 1, "decoder_layers": 1}}
    raw |= {"text": {"vocabulary": 400}, "train": TWO}
    train(Config.read(raw), data, tmp_path / "young", valid=valid, quiet=True)
    asked = dict[str | None, list[str]]()

    def translate(self: Translator, sources: list[str], **keywords: Any) -> list[str]:
        asked[self.config.data.target_lang] = sources
        return [source.upper() for source in sources]

    monkeypatch.setattr(Translator, "translate", translate)
    results = diagnose(tmp_path / "young", capfd)
    assert {"loss", "loss of one", "loss of two"} <= {*results}
    assert results["contamination"]["said"].startswith("2 of 40 validation lines")
    assert asked == {"fr": texts["valid one.en"], "en": texts["valid two.de"]}
    assert results["copying"]["said"].startswith("40 of 40")


def test_a_copy_is_one_in_the_spelling_of_the_model(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, count in (("a", 100), ("b", 20)):
        for side, mark in (("en", "e\u0301"), ("fr", "x")):
            lines = write_words(tmp_path / f"{name}.{side}", count, seed=count)
            text = "".join(f"{mark} {line}\n" for line in lines)
            write_text(tmp_path / f"{name}.{side}", text)
    raw = {"model": {**SMALL, "encoder_layers": 1, "decoder_layers": 1}, "train": TWO}
    data, valid = ([tmp_path / f"{name}.{lang}" for lang in ("en", "fr")] for name in "ab")
    config = Config.read({**raw, "text": {"vocabulary": 400}})
    train(config, data, tmp_path / "young", valid=valid, quiet=True)

    def copy(self: Translator, sources: list[str], **keywords: Any) -> list[str]:
        return [normalize("NFC", source) for source in sources]

    monkeypatch.setattr(Translator, "translate", copy)
    assert diagnose(tmp_path / "young", capfd)["copying"]["said"].startswith("20 of 20")
    (tmp_path / "young" / "model.safetensors").unlink()  # as before the first validation
    said = diagnose(tmp_path / "young", capfd)["translations"]["said"]
    assert said.startswith("none: ") and "model.safetensors" in said


def test_what_was_held_out_is_not_in_the_training_text(tmp_path: Path) -> None:
    draw = Random(1)
    paths = [tmp_path / "a.en", tmp_path / "a.fr"]
    for path in paths:
        lines = (
            " ".join("".join(draw.choices("abcdefg", k=6)) for _ in range(4)) for _ in "a" * 240
        )
        write_text(path, "".join(f"{line}\n" for line in lines))
    open_run(tmp_path / "young", Config.read({"text": {"tokenizer": "char"}}), paths, None)
    prepare_run(tmp_path / "young", Reporter(quiet=True))
    assert examine_contamination(tmp_path / "young")[0].said.startswith("0 of 12 validation lines")
    held_out = set(zip(*read_valid(tmp_path / "young" / RUN), strict=True))
    for named in ((), paths):
        training = read_training(tmp_path / "young", named, ("en", "fr"))
        assert len(training) == 228 and not held_out & {*training}
    one = [*read_training(tmp_path / "young", paths[::-1], ("fr", "en"))]
    assert len(one) == 240  # which this model was not trained on


@pytest.mark.parametrize(("pad_to", "share"), [(1, 0), (4, 6 / 25)])
def test_padding_is_that_of_the_batches_of_the_training(
    tmp_path: Path, pad_to: int, share: float
) -> None:
    """A space, 7 letters and EOS fill 9 of 12 cells, after BOS 10 of 13, if 4 divides lengths."""
    lines = {"even": ["abcdefg"] * 40, "uneven": ["ab" * (1 + n) for n in range(40)]}
    paths = {name: [tmp_path / f"{name}.{lang}" for lang in ("en", "fr")] for name in lines}
    for name, text in lines.items():
        for path in paths[name]:
            write_text(path, "".join(f"{line}\n" for line in text))
    config = Config.read(
        {
            "data": {"stage": [{"corpora": ["even"], "until": 0.5}]},
            "text": {"tokenizer": "char"},
            "train": {"pad_to": pad_to},
        }
    )
    open_run(tmp_path / "young", config, [*paths["even"], *paths["uneven"]], paths["even"])
    config = prepare_run(tmp_path / "young", Reporter(quiet=True)).config
    said = examine_padding(tmp_path / "young" / RUN, config).said
    assert said.startswith(f"{share:.0%} of the cells")


def test_gradients_and_losses_are_judged() -> None:
    def judge(*norms: float) -> str:
        return examine_gradient([{"gradient_norm": each} for each in norms], 1.0)[0].advice

    assert judge(0.5, 0.6) == "" and "vanishes" in judge(0.5, 1e-6, 1e-6, 1e-6)
    assert "explodes" in judge(0.5, 400.0) and "explodes" in judge(0.5, float("inf"))
    assert "clipped" in judge(0.5, 0.5, 2.0, 3.0)

    def learn(*losses: float) -> str:
        return examine_loss([{"valid loss": each} for each in losses], 1000)[0].advice

    assert learn(6.8, 2.0) == "" and "nothing was learned" in learn(6.9, 6.8)
    assert "rose again" in learn(3.0, 2.0, 2.5)


def test_repetition_is_seen_in_any_script() -> None:
    assert repeats_itself("we we we we go") and repeats_itself("我我我我我我")
    assert not repeats_itself("no, no, that is not it") and not repeats_itself("我们去那里看一看")
