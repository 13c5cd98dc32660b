"""`glassformer see`, in this process, on a model that was never trained."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from glassformer import Trace
from glassformer.cli import main
from glassformer.config import Config
from glassformer.model.files.directory import Tokenizers, build_model, save_model
from glassformer.see.explain import KEYS
from glassformer.text.kinds import train_tokenizer
from glassformer.translator import Translator

LINES = ["the cat is on the mat", "a dog runs", "two birds sing in the old tree", "so it is"]
TEXT = "the cat is on a tree"

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.manual_seed(2)
    folder = tmp_path_factory.mktemp("see") / "m"
    shape = {
        "d_model": 16,
        "heads": 2,
        "d_ff": 24,
        "encoder_layers": 1,
        "decoder_layers": 2,
        "positions": {"max_positions": 40},
    }
    config = Config.read({"model": shape, "decode": {"beam": 2, "max_extra": 4, "max_ratio": 0.5}})
    tokenizers = Tokenizers(*[train_tokenizer(LINES, 310)] * 2)
    weights = build_model(config, tokenizers).state_dict()
    save_model(folder, config, tokenizers, weights)
    return folder


@pytest.fixture
def run(model: Path, capfd: pytest.CaptureFixture[str]) -> Run:
    def run(*arguments: object, what: object = model) -> tuple[int, str, str]:
        code = main(["see", str(what), *map(str, arguments)])
        return code, *capfd.readouterr()

    return run


@pytest.fixture
def trace(model: Path) -> Trace:
    return Translator.load(model, device="cpu").see(TEXT)


def test_a_summary(run: Run, trace: Trace) -> None:
    code, out, _ = run(TEXT, "--top", 2)
    assert code == 0
    lines = out.splitlines()
    doubts = [f"looks wrong: {each.said}" for each in trace.document.problems]
    assert doubts and lines[: 2 + len(doubts)] == [TEXT, trace.translation, *doubts]
    first = lines.index("what came, and what could have come:") + 1
    steps = lines[first : first + len(trace.predicted)]
    for row, (line, token) in enumerate(zip(steps, trace.predicted, strict=True)):
        assert line.split()[:2] == [str(row), token.text.replace(" ", "▁", 1)]
        others = [choice for choice in trace.top(row, 3) if choice.id != token.id]
        assert line.count("%") == 1 + min(2, len(others))
    blocks = lines[-len(trace.predicted) :]
    weights = trace["decoder.0.cross_attention.weights"].mean(0)
    weights = (weights + trace["decoder.1.cross_attention.weights"].mean(0)) / 2
    shade = " ▁▂▃▄▅▆▇█"[round(float(weights[0, 0]) * 8)]
    widest = max(len(token.text) for token in trace.predicted)
    assert blocks[0].ljust(99)[2 + widest + 2] == shade


def test_one_head_of_one_layer(run: Run) -> None:
    assert "layer 1, head 0:" in run(TEXT, "--layer", -1, "--head", 0)[1]
    assert "layer 0 and all heads (derived)" in run(TEXT, "--layer", 0)[1]


def test_a_cell_as_json(run: Run, trace: Trace) -> None:
    name = "decoder.1.cross_attention.scores"
    code, out, _ = run(TEXT, "--cell", f"{name}[0, 2,-1]", "--json")
    found = json.loads(out)
    assert code == 0 and tuple(found) == KEYS
    assert (found["name"], found["index"]) == (name, [0, 2, len(trace.source) - 1])
    total = found["scale"] * sum(term["value"] for term in found["terms"]) + found["bias"]
    assert found["value"] == pytest.approx(total, abs=1e-5)
    assert found["recomputed"] == pytest.approx(total, abs=1e-9)
    for term in found["terms"]:
        query, key = term["operands"]
        assert term["value"] == pytest.approx(query["value"] * key["value"])


def test_a_cell_in_words_and_code(run: Run, trace: Trace) -> None:
    text = run(TEXT, "--cell", "memory[1,2]")[1]
    assert text.startswith("memory[1,2] = ") and "by its largest terms it goes back to" in text
    scope = {"trace": trace}
    exec(run(TEXT, "--cell", "memory[1,2]", "--form", "numpy")[1], scope)
    assert scope["value"] == pytest.approx(trace["memory"][1, 2], abs=1e-5)
    assert run(TEXT, "--cell", "memory[1,2]", "--form", "latex")[1].startswith(r"\begin{aligned}")


def test_everything_but_the_tensors_as_json(run: Run, trace: Trace) -> None:
    found = json.loads(run(TEXT, "--json")[1])
    assert found["translation"] == trace.translation and "tensors" not in found
    assert len(found["predictions"]) == len(found["predicted"]) == len(found["target"])
    assert found["search"]["steps"][0][0].keys() >= {"parent", "log_prob", "fate", "why"}


def test_another_hypothesis(run: Run, model: Path) -> None:
    """Of a beam what ended is listed, and each can be looked into."""
    found = json.loads(run(TEXT, "--hypothesis", 1, "--json")[1])
    assert found["search"]["chosen"] == 1
    assert found["translation"] == found["search"]["hypotheses"][1]["text"]
    assert f"1* {found['search']['hypotheses'][1]['score']:.3f}" in run(TEXT, "--hypothesis", 1)[1]
    cell = json.loads(run(TEXT, "--hypothesis", 1, "--cell", "logits[-1,9]", "--json")[1])
    other = Translator.load(model, device="cpu").see(TEXT, hypothesis=1)
    assert cell["value"] == pytest.approx(other["logits"][-1, 9], abs=1e-6)


def test_a_recording_is_kept_and_seen_again(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "run.trace"
    first = run(TEXT, "--save", path, "--parameters")
    assert first[0] == 0 and f"saved in {path}" in first[2]
    assert run(what=path)[1] == first[1]
    cell = "decoder.0.feed_forward.inner[1,2]"
    assert run("--cell", cell, what=path)[1] == run(TEXT, "--cell", cell)[1]


def test_a_saved_trace_is_read_without_torch(run: Run, tmp_path: Path) -> None:
    run(TEXT, "--save", tmp_path / "run.trace", "--parameters")
    script = (
        "import sys; from glassformer.cli import main; "
        f"code = main(['see', {str(tmp_path / 'run.trace')!r}, '--cell', 'memory[0,0]']); "
        "sys.exit(code or 'torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], capture_output=True).returncode == 0


def test_what_no_font_has_is_said_once(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "a.svg"
    code, _, said = run("a \U0001acca \U0001acce dog", "--picture", "V10", "-o", out)
    assert code == 0 and out.is_file()
    (line,) = (line for line in said.split("\n") if "no font" in line)
    assert line.startswith("glassformer: no font on this machine has U+1ACCA, U+1ACCE: drawn as")
    assert "Warning" not in said


def test_what_if(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "edit.json"
    edit = {"do": "silence", "name": "decoder.1.cross_attention", "head": 1}
    path.write_text(json.dumps([edit]), encoding="utf-8")
    code, out, _ = run(TEXT, "--edit", path)
    assert (
        code == 0 and out.startswith("before  ") and "decoder.1.cross_attention.context by" in out
    )
    found = json.loads(run(TEXT, "--edit", path, "--json")[1])
    assert found["edits"] == [edit] and found["differences"]["memory"] == 0
    cell = json.loads(
        run(TEXT, "--edit", path, "--json", "--cell", "decoder.1.cross_attention.context[1,0,0]")[1]
    )
    assert cell["value"] == 0


def test_a_cut_word_is_said_on_the_command_line(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "edit.json"
    path.write_text(json.dumps([{"do": "cut", "word": "cat"}]), encoding="utf-8")
    code, out, _ = run("the cat is on a tree", "--edit", "cut:cat")
    assert code == 0 and "cut 'cat': " in out
    assert run("the cat is on a tree", "--edit", path)[1] == out
    both = run("the cat is on a tree", "--edit", "cut:cat", "--edit", "cut:tree", "--json")[1]
    found = json.loads(both)
    assert [edit["word"] for edit in found["edits"]] == ["cat", "tree"]
    assert [each["cut"] for each in found["readings"]] == ["cat", "tree"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "there is no text to look into"),
        (["a dog", "--cell", "memory[99,0]"], "memory[99,0]: source 99 is out of range"),
        (["a dog", "--cell", "memori[0,0]"], "did you mean memory?"),
        (["a dog", "--cell", "memory"], "write it as NAME[i,j,k]"),
        (["a dog", "--cell", "memory[0,0]", "--form", "tex"], "one of text, latex, numpy"),
        (["a dog", "--form", "latex"], "--form has no effect without --cell"),
        (["a dog", "--compact"], "--compact has no effect without --save"),
        (["a dog", "--level", "all"], "one of attention, states, everything"),
        (["a dog", "--level", "attention", "--cell", "memory[0,0]"], "use level=everything"),
        (["a dog", "--layer", "9"], "layer 9 is out of range"),
        (["a dog", "--head", "9"], "head 9 is out of range"),
        (["a dog", "--edit", "no-such-file"], "no-such-file: No such file"),
        (["a dog", "--edit", "cut:cat"], "edit 1: there is no word 'cat' in 'a dog'"),
        (["a dog", "--cell", "memory[0,0]", "--picture", "V49"], "V49 has no option cell"),
        (["a dog", "--cell", "memory[0,0]", "--top", 2], "--top has no effect with --cell"),
        (["a dog", "--picture", "V49", "--json"], "--json has no effect with --picture"),
        (["a dog", "--json", "--layer", 1], "--layer has no effect with --json"),
        (["a dog", "--gallery", "g", "--head", 1], "--head has no effect with --gallery"),
        (["a dog", "--edit", "e", "--layer", 1], "--layer has no effect on a comparison"),
        (["a dog", "--picture", "V999"], "did you mean"),
        (["a dog", "--picture", ""], "there is no picture"),
        (["a dog", "--cell", ""], "write it as NAME[i,j,k]"),
        (["a dog", "--cell", "decoder.-9.cross_attention.weights[0,0,0]"], "the decoder has"),
        (["caf\udcff"], "text: character 3 is no valid UTF-8"),
        (["a dog", "--picture", "V49", "-o", "x.gif"], "x.gif: this picture does not move"),
        (["a dog", "--picture", "V49", "-o", "no/x.svg"], "there is no folder no"),
        (["a dog", "--picture", "V49", "-o", "x.bmp"], "a picture is .svg, .pdf or .png"),
        (["a dog", "--picture", "V49", "--lang", "de"], "lang=de"),
        (["a dog", "--picture", "V49", "--query", "cat"], "query=cat: the tokens are"),
        (["a dog", "--target", "a cat", "--hypothesis", "1"], "--hypothesis has no effect with"),
        (["a dog", "--hypothesis", "1", "--search", "greedy"], "1 ended, 0 to 0; search=beam"),
        (["a dog", "--target", "a cat", "--beam", "3"], "--beam has no effect with --target"),
        (["a b " * 2500, "--target", "a"], "tokens long, but this model has 40 positions"),
    ],
    ids=str,
)
def test_bad_input_is_one_sentence(run: Run, arguments: list[str], said: str) -> None:
    code, out, err = run(*arguments)
    assert (code, out) == (2, "") and said in err and err.count("\n") == 1


@pytest.mark.parametrize(
    ("option", "value"),
    [("level", "states"), ("target", "a cat"), ("prefix", "a"), ("beam", 2), ("device", "cpu")],
)
def test_what_a_saved_trace_cannot_heed_is_refused(
    run: Run, tmp_path: Path, option: str, value: object
) -> None:
    path = tmp_path / "run.trace"
    run(TEXT, "--save", path)
    code, _, err = run(f"--{option}", value, what=path)
    assert code == 2 and f"--{option} has no effect on a saved trace" in err


def test_a_damaged_trace_is_one_sentence(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "run.trace"
    run(TEXT, "--save", path)
    assert run("a dog", what=path)[0] == 2
    for name, content, said in (
        ("states.safetensors", b"rubbish", "damaged, or no safetensors file"),
        ("trace.json", b'{"schema_version": 7}', "a trace of version 7"),
    ):
        (path / name).write_bytes(content)
        code, _, err = run(what=path)
        assert code == 2 and said in err and err.count("\n") == 1
