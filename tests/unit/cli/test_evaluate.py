"""The command `evaluate` on several models, on sentences, and on contrastive sets."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import mean, stdev
from types import SimpleNamespace

import pytest
import sacrebleu

from glassformer.cli import main
from glassformer.cli.evaluate import Texts, leave_out_ends
from glassformer.cli.systems import System, judge_sentences
from glassformer.translator import Translator

Run = Callable[..., tuple[int, str, str]]
SOURCES = ["The cat is old.", "The dog runs in 1975 to the old house.", "", "The dog is tired."]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """Run a command in a folder with a test set, a system's output and a model's name."""
    monkeypatch.chdir(tmp_path)
    said = Translator.load("demo", device="cpu", precision="fp32").translate(SOURCES)
    files = {
        "test.en": SOURCES,
        "test.fr": said,
        "theirs.fr": ["Le chat est vieux.", SOURCES[1], "", "Le chien est fatigué. " * 4],
    }
    for name, lines in files.items():
        Path(name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")

    def run(command: str) -> tuple[int, str, str]:
        capfd.readouterr()
        code = main(shlex.split(command))
        return code, *capfd.readouterr()

    return run


def test_what_a_model_loses_on_text_as_people_write_it(run: Run) -> None:
    code, said, _ = run("evaluate demo test.en test.fr --robust --json")
    rows = {each["name"]: each for each in json.loads(said)["rows"]}
    assert code == 0 and rows["as it is"]["bleu"] == pytest.approx(100)
    assert rows["as it is"]["loss"] == rows["a tab"]["loss"] == pytest.approx(0)
    assert 0 <= rows["200 short inputs"]["kept"] <= 1
    assert run("evaluate demo test.en test.fr --robust")[1].startswith(
        "| text | BLEU | loss | kept |"
    )
    assert "needs one MODEL" in run("evaluate theirs.fr test.fr --robust")[2]


def test_the_worst_sentences_of_a_file_come_with_what_is_wrong(run: Run) -> None:
    command = "evaluate theirs.fr test.fr --source test.en --worst 3"
    worst = json.loads(run(f"{command} --json")[1])["worst"]
    assert [each["line"] for each in worst][:2] == [3, 2]  # line 3 is empty: it scores 0
    (second,) = worst[1]["systems"]
    assert worst[1]["source"] == SOURCES[1] and second["translation"] == SOURCES[1]
    assert {"copy"} <= second["flags"].keys() and second["confidence"] is None
    (third,) = worst[2]["systems"]
    assert "loop" in third["flags"]
    code, text, _ = run(command)
    assert code == 0 and re.search(r"^line 2\n  source +The dog runs in 1975", text, re.M)
    assert re.search(rf"^  copy +{re.escape(second['flags']['copy'])}$", text, re.M)
    table = run(f"{command} --tsv")[1].splitlines()
    head, *rows = [line.split("\t") for line in table]
    assert head == [
        *["line", "chrF2", "BLEU", "TER", "confidence", "flags"],
        *["source", "references", "translation"],
    ]
    assert [row[0] for row in rows] == [str(each["line"]) for each in worst]
    assert rows[1][head.index("translation")] == SOURCES[1]


def test_a_models_worst_sentences_have_its_confidence_and_attention(run: Run) -> None:
    Path("far.en").write_text("The cat is old.\nThe zebra is old.\n", encoding="utf-8")
    Path("far.fr").write_text("Le chat est vieux.\nLa zèbre <b> est vieille.\n", encoding="utf-8")
    command = "evaluate demo far.en far.fr --worst 2 --device cpu"
    code, out, _ = run(f"{command} --html out.html --json")
    worst = json.loads(out)["worst"]
    assert code == 0 and [each["line"] for each in worst] == [2, 1]
    assert all(0 < each["systems"][0]["confidence"] <= 1 for each in worst)
    page = Path("out.html").read_text(encoding="utf-8")
    assert page.count("<details>") == 2 and "La zèbre &lt;b&gt; est" in page
    assert "<script" not in page and "http" not in page
    picture = page[page.index("<table>") : page.index("</table>")]
    assert "zebra" in picture  # the worst is the first
    rows = [re.findall(r'title="([\d.]+)"', row) for row in picture.split("<tr>")[2:]]
    words = worst[0]["systems"][0]["translation"].split()
    assert len(rows) == len(words)
    assert all(sum(map(float, row)) == pytest.approx(1, abs=0.05) for row in rows)


def test_several_models_are_in_one_table_and_tested(run: Run) -> None:
    Path("runs").mkdir()
    for name in ("demo", "demo-rnn"):
        Path("runs", name).symlink_to(Path(Translator.load(name).weights.folder or ""))
    command = "evaluate runs test.en test.fr --device cpu --worst 1"
    code, out, _ = run(f"{command} --json")
    found = json.loads(out)
    names = [each["model"] for each in found["systems"]]
    assert code == 0 and names == [str(Path("runs", name)) for name in ("demo", "demo-rnn")]
    values = [each["scores"]["chrF2"]["value"] for each in found["systems"]]
    assert values[0] == pytest.approx(100) and values[1] < 100
    summary = found["summary"]["chrF2"]
    assert summary == {"mean": mean(values), "standard_deviation": stdev(values)}
    (compared,) = found["comparisons"].values()
    gaps = {each["name"]: each["difference"] for each in compared["differences"]}
    assert gaps["chrF2"] == pytest.approx(values[1] - values[0]) and set(gaps) > {"TER"}
    (worst,) = found["worst"]
    assert [each["system"] for each in worst["systems"]] == names
    text = run(command)[1]
    assert re.search(rf"^mean +[\d.]+ +{mean(values):.2f} ", text, re.M)
    assert f"{names[1]} against {names[0]}" in text and "paired bootstrap" in text
    assert text.count("  system ") == 2


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("demo test.en test.fr --robust --worst 2", "--worst has no effect with --robust"),
        ("demo test.en test.fr --robust --seed 2", "--seed has no effect with --robust"),
        ("theirs.fr test.fr --lm x", "--lm has no effect without a MODEL"),
        ("theirs.fr test.fr --threads 3", "--threads has no effect without a MODEL"),
        ("theirs.fr test.fr --test randomization", "no effect without several MODELs or --against"),
    ],
)
def test_options_without_effect_are_refused(run: Run, command: str, why: str) -> None:
    code, _, said = run(f"evaluate {command}")
    assert code == 2 and why in said


def test_the_lines_behind_the_end_of_a_document_keep_their_numbers() -> None:
    lines = ["Un chat.", "", "Un chien."]
    texts = Texts(lines, [[*lines]], [], lines, range(1, 4))
    systems, left = leave_out_ends([System("a", lines)], texts)
    judged = judge_sentences(systems, left.source, left.references, left.numbers)
    assert [(each.line, each.source) for each in judged] == [(1, lines[0]), (3, lines[2])]


def test_intervals_and_the_other_test(run: Run) -> None:
    command = "evaluate theirs.fr test.fr --against test.fr --intervals --test randomization"
    code, out, _ = run(f"{command} --json")
    found = json.loads(out)
    interval = found["scores"]["BLEU"]["interval"]
    assert code == 0 and interval["samples"] == 1000 and interval["half_width"] > 0
    assert "|bs:1000|seed:12345|" in found["scores"]["BLEU"]["signature"]
    assert found["comparison"]["test"] == "randomization"
    assert "|ar:10000|" in found["comparison"]["differences"][0]["signature"]
    text = run(command)[1]
    assert text.count("95 % within") == 4 and "randomization, 10000 trials" in text


def test_two_references_are_both_counted(run: Run) -> None:
    _, out, _ = run("evaluate theirs.fr test.fr theirs.fr --json")
    lines, more = (
        Path(name).read_text(encoding="utf-8").splitlines() for name in ("test.fr", "theirs.fr")
    )
    expected = sacrebleu.corpus_chrf(more, [lines, more]).score
    assert json.loads(out)["scores"]["chrF2"]["value"] == expected == 100


class _Comet:
    """What COMET's package has that is used: it keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[dict[str, str]] = []

    def download_model(self, name: str) -> str:
        return f"{name}/checkpoint"

    def load_from_checkpoint(self, path: str) -> _Comet:
        assert path == "some/model/checkpoint"
        return self

    def predict(self, data: list[dict[str, str]], **how: object) -> SimpleNamespace:
        self.asked += data
        return SimpleNamespace(system_score=0.8125, scores=[0.8125] * len(data))


def test_comet_is_asked_if_it_is_there(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    command = "evaluate theirs.fr test.fr --comet some/model"
    monkeypatch.setitem(sys.modules, "comet", None)
    code, _, err = run(f"{command} --source test.en")
    assert code == 2 and "COMET is a package of its own: pip install unbabel-comet" in err
    package = _Comet()
    monkeypatch.setitem(sys.modules, "comet", package)
    assert "--comet needs the source text too" in run(command)[2]
    code, out, _ = run(f"{command} --source test.en --json")
    found = json.loads(out)["scores"]["COMET"]
    assert code == 0 and found["value"] == 81.25 and "model:some/model" in found["signature"]
    lines = [
        Path(name).read_text(encoding="utf-8").splitlines() for name in ("theirs.fr", "test.fr")
    ]
    assert package.asked == [
        {"src": source, "mt": said, "ref": right}
        for source, said, right in zip(SOURCES, *lines, strict=True)
    ]


def test_contrastive_sets_are_judged_by_score(run: Run) -> None:
    items = [
        ("The cat is old.", "Le chat est vieux.", "La chat est vieux.", "noun"),
        ("The cat is old.", "Le chat est vieux.", "Le chat est vieille.", "adjective"),
        ("The cat is old.", "Xyz zyx.", "Le chat est vieux.", "noun"),
    ]
    rows = ["source\tright\twrong\tkind", *("\t".join(each) for each in items)]
    Path("set.tsv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    command = "evaluate demo demo-rnn --contrastive set.tsv --device cpu"
    code, out, _ = run(f"{command} --json")
    one, two = json.loads(out)
    translator = Translator.load("demo", device="cpu")
    for margin, (source, right, wrong, _) in zip(one["margins"], items, strict=True):
        scores = translator.score([source] * 2, [right, wrong])
        assert margin == pytest.approx(scores[0].log_prob - scores[1].log_prob, abs=1e-4)
    assert code == 0 and one["right"] == two["right"] == 2
    assert one["categories"]["kind"]["noun"]["accuracy"] == 0.5
    text = run(command)[1]
    assert text.count("2 of 3") == 4 and "by kind\n  adjective" in text


def test_items_that_are_too_long_are_left_out_for_all_models(run: Run) -> None:
    short, long = "The cat is old.\tLe chat est vieux.\tXyz zyx.\n", f"{'the cat ' * 400}\ta\tb\n"
    Path("set.tsv").write_text(short + long, encoding="utf-8")
    code, out, err = run("evaluate demo-rnn demo --contrastive set.tsv --device cpu --json")
    assert code == 0 and [each["of"] for each in json.loads(out)] == [1, 1]
    assert "set.tsv: 1 of 2 items left out: the source is" in err
    Path("set.tsv").write_text(long, encoding="utf-8")
    code, _, err = run("evaluate demo --contrastive set.tsv --device cpu")
    assert code == 2 and "set.tsv: 1 of 1 item left out: the source is" in err


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (
            "evaluate theirs.fr test.fr --source test.en",
            "--source has no effect without a MODEL, --w",
        ),
        ("evaluate theirs.fr test.fr --tsv", "--tsv has no effect without --worst"),
        ("evaluate demo demo-rnn test.en test.fr -o x", "--output has no effect with several MOD"),
        ("evaluate theirs.fr test.fr --test t", "--test t: one of bootstrap, randomization"),
        ("evaluate --contrastive theirs.fr", "--contrastive needs a MODEL"),
        ("evaluate demo --contrastive theirs.fr", "at least one wrong translation|right transl"),
        ("evaluate demo --contrastive theirs.fr --worst 2", "--worst has no effect with --contr"),
        ("evaluate theirs.fr test.fr --worst 2 --source short", "theirs.fr has 4 lines but short"),
        ("evaluate demo test.en", "to score demo, give a file of references"),
        ("evaluate demo-lm empty", "nothing to score: there is no token in the text"),
        ("evaluate demo-mlm empty", "nothing to score: there is no token in the text"),
        ("evaluate theirs.fr empty.tsv", "theirs.fr has 4 lines but empty.tsv has 0"),
        ("evaluate empty empty.tsv", "nothing to score: give at least one translation"),
    ],
)
def test_what_does_not_fit_is_said_in_one_sentence(run: Run, command: str, words: str) -> None:
    Path("short").write_text("one\n", encoding="utf-8")
    Path("empty").touch()
    Path("empty.tsv").touch()
    code, out, err = run(command)
    assert (code, out) == (2, "") and re.search(words, err), err
    assert len(err.splitlines()) == 1
