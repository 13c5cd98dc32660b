"""A network, a loss, a schedule and a callback of one's own, from Python and as a plugin."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn

from glassformer import Translator
from glassformer.cli import main
from glassformer.config import Config
from glassformer.extensions.site.portable import pack_model
from glassformer.model.files.directory import load_model
from glassformer.model.files.tensors import load_tensors
from glassformer.train import Hooks, load_plugin, resume, train
from glassformer.train.run.loss import batch_loss

PAGE = Path(__file__).parents[3] / "docs" / "change-one-idea.md"
IDEA = next(
    block
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.S)
    if "def callback" in block
)


BOARD = re.search(
    r"```python\n((?:(?!```).)*wandb.*?)```", (PAGE.parent / "train.md").read_text("utf-8"), re.S
)


@pytest.fixture
def idea(tmp_path: Path) -> Path:
    (tmp_path / "idea.py").write_text(IDEA, encoding="utf-8")
    return tmp_path / "idea.py"


def read_weights(out: Path) -> dict[str, torch.Tensor]:
    return load_tensors(max((out / "run/checkpoints").iterdir()) / "weights.safetensors")


@pytest.mark.thorough
def test_the_page_works_on_the_command_line(
    tmp_path: Path,
    idea: Path,
    corpus: list[Path],
    settings: Callable[..., Config],
    capfd: pytest.CaptureFixture[str],
) -> None:
    out, config = tmp_path / "out", tmp_path / "config.toml"
    config.write_text(settings().to_toml(), encoding="utf-8")
    data = [word for path in corpus for word in ("--data", str(path))]
    given = ["train", str(config), *data, "--out", str(out), "--device", "cpu"]
    assert main([*given, "--plugin", str(idea)]) == 0
    said = capfd.readouterr()
    assert re.search(r"^3 \d+\.\d+$", said.out, re.M) and re.search(r"^6 \d", said.out, re.M)
    assert "no fast twin" in said.err
    kept = Config.load(out / "config.toml")
    assert kept.model.plugin == kept.train.plugin == "idea"
    assert "encoder.0.self_attention_residual.norm.gain" in read_weights(out)
    # In another process, which knows nothing of it.
    program = [sys.executable, "-m", "glassformer", "translate", str(out), str(corpus[0])]
    how: dict[str, Any] = {"env": os.environ, "capture_output": True, "encoding": "utf-8"}
    without = subprocess.run(program, check=False, **how)
    assert without.returncode == 2 and "--plugin idea.py" in without.stderr
    assert without.stderr.count("\n") == 1
    with_it = subprocess.run([*program, "--plugin", str(idea)], check=False, **how)
    assert with_it.returncode == 0, with_it.stderr
    assert len(with_it.stdout.splitlines()) == 18
    # What is left of it, resumed with and without.
    assert main(["train", "--resume", str(out), "--set", "train.steps=8"]) == 2
    assert "began with the plugin idea" in capfd.readouterr().err
    more = ["train", "--resume", str(out), "--set", "train.steps=8", "--plugin", str(idea)]
    more.append("--accept-changed-settings")
    assert main(more) == 0


def test_each_verb_that_opens_a_model_takes_it(
    tmp_path: Path,
    idea: Path,
    corpus: list[Path],
    settings: Callable[..., Config],
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Whatever it loads is forgotten in between, as in another process."""
    plugged: dict[str, Any] = {}
    monkeypatch.setattr("glassformer.model.variants.plugged.PLUGGED", plugged)
    out, given = tmp_path / "out", ["--plugin", str(idea)]
    train(settings(), corpus, out, hooks=load_plugin(idea), quiet=True)
    for words, wanted in (
        (["doctor", out], 0),
        (["publish", out, "--out", tmp_path / "copy"], 0),
        (["export", out, "--format", "int8", "--out", tmp_path / "small"], 0),
        (["export", out, "--format", "transformers", "--out", tmp_path / "theirs"], 2),
    ):
        plugged.clear()
        assert main([*map(str, words), *given]) == wanted, words
    assert "plugin=idea, which transformers does not know" in capfd.readouterr().err
    with pytest.raises(ValueError, match="a page cannot run the network of plugin idea"):
        pack_model(out)
    plugged.clear()
    assert main(["publish", str(out), "--out", str(tmp_path / "without")]) == 2
    assert "add --plugin idea.py" in capfd.readouterr().err


def test_processes_of_a_server_load_it_too(
    tmp_path: Path, idea: Path, corpus: list[Path], settings: Callable[..., Config]
) -> None:
    pytest.importorskip("fastapi", reason="the extra `serve` is not installed")
    from glassformer.config import Decode
    from glassformer.extensions.serve.service.batching import search_here
    from glassformer.extensions.serve.service.model_pool import ModelPool
    from glassformer.extensions.serve.service.processes import TranslatingProcess
    from glassformer.translate.options import SearchOptions

    train(settings(), corpus, tmp_path / "out", hooks=load_plugin(idea), quiet=True)
    how: dict[str, Any] = {"device": "cpu", "precision": "fp32", "threads": 1}
    pool = ModelPool([tmp_path / "out"], **how)
    process = TranslatingProcess(pool, how, plugin=idea)
    try:
        translator = pool.load(pool.default)
        (sentences,) = translator.reader.read(["the red cat runs x"])
        asked = translator, sentences, SearchOptions(Decode(max_extra=5))
        (there,), (here,) = process(*asked), search_here(*asked)
        assert there.take(here) == there
    finally:
        process.close()


def test_the_page_works_from_python(
    tmp_path: Path, idea: Path, corpus: list[Path], settings: Callable[..., Config]
) -> None:
    spec = importlib.util.spec_from_file_location("idea", idea)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    told: list[Any] = []
    hooks = Hooks(schedule=module.rate, callback=told.append)
    summary = train(settings(), corpus, tmp_path / "out", hooks=hooks, quiet=True)
    assert summary.is_finished and Config.load(tmp_path / "out/config.toml").train.plugin
    assert [event.step for event in told if event.kind == "update"] == [1, 2, 3, 4, 5, 6]
    assert [event.step for event in told if event.kind == "validation"] == [3, 6]
    assert [event.values["rate"] for event in told[:3]] == pytest.approx([1e-5, 2e-5, 3e-5])
    assert {"BLEU", "chrF2", "loss"} <= told[3].values.keys()
    Translator.load(tmp_path / "out").translate(["the red cat"])  # its network is ours


def test_a_callback_ends_the_training(
    tmp_path: Path, corpus: list[Path], settings: Callable[..., Config]
) -> None:
    hooks = Hooks(callback=lambda event: event.step == 4, name="four")
    summary = train(settings(), corpus, tmp_path / "out", hooks=hooks, quiet=True)
    assert summary.is_finished and summary.progress.step == 4


def test_our_own_functions_as_hooks_change_nothing(
    tmp_path: Path, corpus: list[Path], settings: Callable[..., Config]
) -> None:
    train(settings(), corpus, tmp_path / "plain", quiet=True)
    train(settings(), corpus, tmp_path / "ours", hooks=Hooks(loss=batch_loss), quiet=True)
    one, other = (read_weights(tmp_path / name) for name in ("plain", "ours"))
    assert all(torch.equal(one[name], other[name]) for name in one)


def test_a_loss_is_what_is_minimized(
    tmp_path: Path, corpus: list[Path], settings: Callable[..., Config]
) -> None:
    def shrink(network: Any, *_: Any) -> torch.Tensor:
        total: torch.Tensor = sum((p.square().sum() for p in network.parameters()), torch.zeros(()))
        return total

    train(settings(), corpus, tmp_path / "plain", quiet=True)
    train(settings(steps=12), corpus, tmp_path / "small", hooks=Hooks(loss=shrink), quiet=True)
    sizes = [
        sum(float(each.norm()) for each in read_weights(tmp_path / name).values())
        for name in ("plain", "small")
    ]
    assert sizes[1] < sizes[0]


def test_resuming_needs_the_same_hooks(
    tmp_path: Path, corpus: list[Path], settings: Callable[..., Config]
) -> None:
    def slow(step: float, *_: Any) -> float:
        return 1e-4

    out, stop = tmp_path / "out", Hooks(schedule=slow, name="mine")
    train(settings(), corpus, out, hooks=stop, quiet=True)
    changes: dict[str, Any] = {"changes": ["train.steps=9"], "accept_changed_settings": True}
    with pytest.raises(ValueError, match="began with the plugin mine: resume it with --plugin"):
        resume(out, **changes, quiet=True)
    with pytest.raises(ValueError, match="began with the plugin mine"):
        resume(out, **changes, quiet=True, hooks=Hooks(schedule=slow, name="other"))
    assert resume(out, **changes, quiet=True, hooks=stop).progress.step == 9
    train(settings(), corpus, tmp_path / "plain", quiet=True)
    with pytest.raises(ValueError, match="began without a plugin: leave out mine"):
        resume(tmp_path / "plain", **changes, quiet=True, hooks=stop)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = 1", "it defines none of build_network, batch_loss, rate, callback"),
        ("from glassformer.train.plan.schedule import rate", "it defines none of"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("def f(:", "SyntaxError"),
    ],
)
def test_a_file_that_is_no_plugin(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "bad.py").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=f"--plugin .*bad.py: {said}"):
        load_plugin(tmp_path / "bad.py")
    with pytest.raises(ValueError, match="there is no Python file of that name"):
        load_plugin(tmp_path / "none.py")


def test_a_network_alone_is_known_to_the_model(
    tmp_path: Path, corpus: list[Path], settings: Callable[..., Config]
) -> None:
    from glassformer.model.networks import build_network
    from glassformer.model.transformer import Transformer

    def make_wide(*how: Any) -> Transformer:
        network = Transformer(*how)
        network.extra = nn.Linear(3, 3)
        return network

    config = Hooks(network=make_wide).sign(settings())
    with pytest.raises(ValueError, match="the plugin make_wide makes this network: add --plugin"):
        build_network(config.model, 300, 300)
    out = tmp_path / "out"
    train(settings(), corpus, out, hooks=Hooks(network=make_wide), quiet=True)
    assert "extra.weight" in load_model(out)[2].state_dict()
    assert config.model.list_variations() == ["plugin=make_wide"]


def test_the_callback_for_a_board_sends_every_number(
    tmp_path: Path,
    corpus: list[Path],
    settings: Callable[..., Config],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sent: list[tuple[int, dict[str, float]]] = []
    board = SimpleNamespace(log=lambda numbers, step: sent.append((step, numbers)))
    monkeypatch.setitem(sys.modules, "wandb", SimpleNamespace(init=lambda project: board))
    assert BOARD is not None
    (tmp_path / "board.py").write_text(BOARD[1], encoding="utf-8")
    train(settings(), corpus, tmp_path / "out", hooks=load_plugin(tmp_path / "board.py"))
    lines = (tmp_path / "out/run/metrics.jsonl").read_text("utf-8").splitlines()
    steps = max(json.loads(line)["step"] for line in lines)
    names = {name for _, numbers in sent for name in numbers}
    assert {"update/loss", "update/rate", "validation/loss", "validation/BLEU"} <= names
    assert [step for step, numbers in sent if "update/loss" in numbers] == [*range(1, steps + 1)]
    assert [step for step, _ in sent] == sorted(step for step, _ in sent)


def test_a_plugin_may_have_data_classes(tmp_path: Path) -> None:
    lines = (
        "from __future__ import annotations",
        "from dataclasses import dataclass",
        "@dataclass",
    )
    more = ("class Seen:", "    step: int = 0", "def callback(event): return Seen().step")
    (tmp_path / "seen.py").write_text("\n".join((*lines, *more)), encoding="utf-8")
    assert load_plugin(tmp_path / "seen.py").callback
