"""docs/change-one-idea.md, taken at its word, on a copy of the package."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "change-one-idea.md").read_text(encoding="utf-8")
MOST_LINES, MOST_FILES = 25, 3
CHANGES = ("norm", "temperature", "activation", "schedule")

PROGRAM = """
import sys
from pathlib import Path
import torch
import glassformer
from glassformer import Config, Translator
from glassformer.train import train

assert Path(glassformer.__file__).is_relative_to(Path.cwd()), "that is not the copy"
words = [f"{a} {b} runs {c}" for a in ("red", "old") for b in ("cat", "dog") for c in "xyz"]
Path("a.en").write_text("\\n".join(words) + "\\n", encoding="utf-8")
Path("a.xx").write_text("\\n".join(x[::-1] for x in words) + "\\n", encoding="utf-8")
shape = {"d_model": 16, "d_ff": 32, "heads": 2, "encoder_layers": 1, "decoder_layers": 1}
for kind in ("layer", "scale"):
    config = Config.read({
        "model": {**shape, "norm": "pre"}, "text": {"vocabulary": 320},
        "train": {"steps": 4, "batch_tokens": 64, "precision": "fp32", "learning_rate": 0.01},
    }, [f"model.normalization={kind}"])
    train(config, ["a.en", "a.xx"], kind, quiet=True)
    translator = Translator.load(kind)
    names = translator.model.state_dict().keys()
    assert any("norm.gain" in name for name in names) == (kind == "scale")
    assert any("norm.bias" in name for name in names) == (kind == "layer")
    assert len(translator.translate(["old dog runs x", "a cat"])) == 2
    model, source, target = translator.model, torch.tensor([[5, 6, 7]]), torch.tensor([[1, 8, 9]])
    with torch.inference_mode():
        state = model.start(source)
        steps = torch.cat([model.step(target[:, [t]], state) for t in range(3)], 1)
        torch.testing.assert_close(steps, model(source, target), atol=1e-5, rtol=1e-5)
"""


LOOK = """
from glassformer.extensions.serve.page import pack_page

name = "encoder.0.self_attention_residual.normed"
assert abs(found.recomputed - found.value) < 1e-5 * max(1, abs(found.value))
x = trace["source_embedding.sum"][0].astype("float64")
gain = dict(translator.model.named_parameters())[name.replace("normed", "norm.gain")]
wanted = x[3] / ((x**2).sum() + 1e-5) ** 0.5 * gain[0].item()
assert abs(found.value - wanted) < 1e-5 * max(1, abs(wanted)), (found.value, wanted)
(term,) = found.terms
assert {cell.name for cell in term.operands} == {
    "source_embedding.sum", name.replace("normed", "deviation"), name.replace("normed", "norm.gain")
}
for kind in ("self_attention", "cross_attention", "feed_forward"):
    for window, index in (("normed", (0, 5)), ("deviation", (0,))):
        each = trace.explain(f"decoder.0.{kind}_residual.{window}", index)
        assert abs(each.recomputed - each.value) < 1e-5 * max(1, abs(each.value)), each.name
(op,) = [each for each in pack_page(trace, True, False)["ops"] if each["name"] == name]
assert op["module"] == "ScaleNorm", "the app has it too"
assert op["entry"].keys() == {"symbol", "en", "zh"} and "ScaleNorm" in op["entry"]["symbol"]
assert all("ScaleNorm" in text and "LayerNorm" not in text for text in op["entry"].values())
assert "ScaleNorm" in found.to_text() and "LayerNorm" not in found.to_text() + found.to_latex()
assert "norm.gain[0]" in op["equation"] and "norm.bias" not in op["equation"]
trace.picture("V105")
"""


TEMPERATURE = """
import torch
from glassformer import Config, Translator
from glassformer.engine.kernels.fast import fast
from glassformer.train import train

words = [f"{a} {b} runs {c}" for a in ("red", "old") for b in ("cat", "dog") for c in "xyz"]
for name, lines in (("a.en", words), ("a.xx", [x[::-1] for x in words])):
    open(name, "w", encoding="utf-8").write("\\n".join(lines) + "\\n")
config = Config.read({
    "model": {"d_model": 16, "d_ff": 32, "heads": 2, "encoder_layers": 1, "decoder_layers": 1},
    "text": {"vocabulary": 320},
    "train": {"steps": 4, "batch_tokens": 64, "precision": "fp32", "learning_rate": 0.05},
}, ["model.learned_temperature=true"])
train(config, ["a.en", "a.xx"], "m", quiet=True)
translator = Translator.load("m")
model, source, target = translator.model, torch.tensor([[5, 6, 7]]), torch.tensor([[1, 8, 9]])
for name, each in model.named_parameters():
    if name.endswith("temperature"):
        assert each.shape == (2,) and (each - 1).abs().min() > 1e-3, (name, each)
with torch.inference_mode():
    state = model.start(source)
    steps = torch.cat([model.step(target[:, [t]], state) for t in range(3)], 1)
    torch.testing.assert_close(steps, model(source, target), atol=1e-5, rtol=1e-5)
told = []
fast(model.train(), precision="fp32", say=told.append)
assert told == ["model/: no fast twin, so computed as written, slower"], told
trace = translator.see("old dog runs x")
for module in ("encoder.0.self_attention", "decoder.0.cross_attention"):
    found = trace.explain(f"{module}.scores", (1, 0, 2))
    assert abs(found.recomputed - found.value) < 1e-5 * max(1, abs(found.value))
    assert f"{module}.temperature" in found.op.operands and "temperature" in found.to_text()
    assert "np.float64" in found.to_numpy()
"""

ACTIVATION = """
import torch
from glassformer import Config, Translator
from glassformer.train import train

words = [f"{a} {b} runs {c}" for a in ("red", "old") for b in ("cat", "dog") for c in "xyz"]
for name, lines in (("a.en", words), ("a.xx", [x[::-1] for x in words])):
    open(name, "w", encoding="utf-8").write("\\n".join(lines) + "\\n")
config = Config.read({
    "model": {"d_model": 16, "d_ff": 32, "heads": 2, "encoder_layers": 1, "decoder_layers": 1},
    "text": {"vocabulary": 320},
    "train": {"steps": 4, "batch_tokens": 64, "learning_rate": 0.05},
}, ["model.activation=squared_relu"])
train(config, ["a.en", "a.xx"], "m", quiet=True)
translator = Translator.load("m")
assert len(translator.translate(["old dog runs x", "a cat"])) == 2
trace = translator.see("old dog runs x")
inner, hidden = (trace[f"encoder.0.feed_forward.{name}"][0] for name in ("inner", "hidden"))
assert abs(hidden - inner.clip(0) ** 2).max() < 1e-6 and (hidden > 0).any()
place = tuple(int(each) for each in divmod(int(hidden.argmax()), hidden.shape[-1]))
cell = trace.explain("encoder.0.feed_forward.hidden", place)
assert abs(cell.recomputed - cell.value) < 1e-5 * max(1, abs(cell.value)) and cell.value > 0
"""

REFUSED = """
from glassformer.extensions.bridge.exporting import open_plain

for refuse in (lambda: open_plain(MODEL, "Marian"), lambda: trace.picture(PICTURE)):
    try:
        refuse()
    except ValueError as error:
        assert SETTING in str(error), error
    else:
        raise AssertionError("it has been written without the change")
"""


def refuse(model: str, setting: str, picture: str) -> str:
    """Return a program that exports the model and draws its trace, with which neither can deal."""
    names = {"MODEL": model, "SETTING": setting, "PICTURE": picture}
    return "\n".join(f"{name} = {value!r}" for name, value in names.items()) + REFUSED


SCHEDULE = """
from glassformer.cli import main
from glassformer.config import Train
from glassformer.train.plan.schedule import rate

train = Train(schedule="stable", warmup=10, learning_rate=0.01, final_rate=0.1)
rates = [rate(step, train, 512, 110) for step in range(1, 111)]
assert rates[9:90] == [0.01] * 81 and abs(rates[-1] - 0.001) < 1e-12
assert rates[89:] == sorted(rates[89:], reverse=True) and abs(rates[99] - 0.0055) < 1e-12
assert main(["train", "--help"]) == 0
"""


def read_blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.S)


def make_copy(diff: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package with a change of the page."""
    if not shutil.which("git"):
        pytest.skip("the page applies its change with git, which is not installed")
    folder = tmp_path_factory.mktemp("copy")
    ignore = shutil.ignore_patterns("*.safetensors")
    shutil.copytree(ROOT / "src" / "glassformer", folder / "src" / "glassformer", ignore=ignore)
    env = {**os.environ, "GIT_CEILING_DIRECTORIES": str(folder.parent)}
    subprocess.run(
        ["git", "apply"], input=diff.encode(), cwd=folder, env=env, check=True, capture_output=True
    )
    return folder


def run(program: str, folder: Path) -> str:
    env = {**os.environ, "PYTHONPATH": str(folder / "src"), "PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, "-W", "error", "-c", program]
    ended = subprocess.run(command, cwd=folder, env=env, capture_output=True, encoding="utf-8")
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


@pytest.mark.parametrize("diff", read_blocks("diff"), ids=CHANGES)
def test_a_change_is_small(diff: str) -> None:
    lines = [line for line in diff.splitlines() if re.match(r"[+-](?![+-]{2} )", line)]
    files = re.findall(r"^\+\+\+ ", diff, re.M)
    assert 2 < len(lines) <= MOST_LINES and len(files) <= MOST_FILES


@pytest.mark.thorough
def test_a_norm_trains_translates_and_is_recorded(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    copy = make_copy(read_blocks("diff")[0], tmp_path_factory)
    watch, explain, *_ = read_blocks("python")
    told = run(PROGRAM + watch + explain + LOOK + refuse("scale", "normalization=", "V66"), copy)
    rows = dict(re.findall(r"^(\S+normed) +([\d.]+)$", told, re.M))
    assert rows.keys() == {
        "encoder.0.self_attention_residual.normed",
        "encoder.0.feed_forward_residual.normed",
        "decoder.0.self_attention_residual.normed",
        "decoder.0.cross_attention_residual.normed",
        "decoder.0.feed_forward_residual.normed",
    }
    assert all(0.8 < float(size) < 1.2 for size in rows.values())  # the gain has hardly moved
    assert "/ deviation[q] · norm.gain[0]" in told and r"\cdot" in told and "np.float64" in told


@pytest.mark.parametrize(
    ("number", "program"),
    [
        (1, TEMPERATURE + refuse("m", "learned_temperature=", "V34")),
        (2, ACTIVATION + refuse("m", "activation=squared_relu", "V64")),
        (3, SCHEDULE),
    ],
    ids=CHANGES[1:],
)
@pytest.mark.thorough
def test_another_change_works(
    number: int, program: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    said = run(program, make_copy(read_blocks("diff")[number], tmp_path_factory))
    assert ("stable" in said) == (program == SCHEDULE)
