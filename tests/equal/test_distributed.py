"""Several processes train as one does: the same losses and weights, to rounding.

The processes are real, started by torchrun as a user would start them.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from glassformer.config import Config
from glassformer.model.files.tensors import load_tensors
from glassformer.train import resume, train

SOURCE = Path(__file__).parents[2] / "src"
TORCHRUN = [sys.executable, "-m", "torch.distributed.run"]
LINES = [f"the {a} {b} runs {c}" for a in ("red", "old") for b in ("cat", "dog") for c in "uvwxyz"]
SETTINGS: dict[str, dict[str, Any]] = {
    "model": {
        "d_model": 16,
        "d_ff": 32,
        "heads": 2,
        "encoder_layers": 2,
        "decoder_layers": 1,
        "dropout": 0.3,
        "attention_dropout": 0.1,
    },
    "text": {"vocabulary": 320, "dropout": 0.1, "samples": 2},
    "train": {
        "steps": 40,
        "batch_tokens": 96,
        "gradient_accumulation": 3,
        "validate_every": 20,
        "ema": 0.9,
        "checkpoint_every": 10,
        "schedule": "cosine",
        "precision": "fp32",
        "learning_rate": 0.003,
    },
    "decode": {"max_extra": 5},
}
# The gradient of a key's bias is 0 but for rounding, and Adam makes whole steps of that.
NOISE = "to_key.bias"


def settings(**changes: Any) -> Config:
    return Config.read({**SETTINGS, "train": {**SETTINGS["train"], **changes}})


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("corpus")
    for side, lines in (("en", LINES), ("xx", [line[::-1] for line in LINES])):
        (folder / f"a.{side}").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return [folder / "a.en", folder / "a.xx"]


@pytest.fixture(scope="module")
def alone(corpus: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """What one process makes of the settings; each is trained once."""
    made: dict[str, Path] = {}

    def make(**changes: Any) -> Path:
        key = json.dumps(changes)
        if key not in made:
            made[key] = tmp_path_factory.mktemp("alone") / "model"
            train(settings(**changes), corpus, made[key], quiet=True)
        return made[key]

    return make


class Launch:
    """torchrun at work on a training."""

    def __init__(self, out: Path, how: list[str], before: list[str], **environment: str):
        command = [*before, *TORCHRUN, *how, "-m", "glassformer", "train"]
        self.out, self.log = out, out.with_suffix(f".log{len(before)}{time.monotonic_ns()}")
        self.stream = self.log.open("w", encoding="utf-8")
        self.command, self.environment = command, environment

    def start(self, *arguments: str | Path) -> Launch:
        environment = {
            **os.environ,
            "PYTHONPATH": str(SOURCE),
            "OMP_NUM_THREADS": "1",
            **self.environment,
        }
        self.process = subprocess.Popen(
            [*self.command, *map(str, arguments)],
            stdout=self.stream,
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=True,
        )
        return self

    def end(self) -> int:
        try:
            return self.process.wait(240)
        except subprocess.TimeoutExpired:
            pytest.fail(f"still running:\n{self.said()}")
        finally:
            if self.process.poll() is None:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()
            self.stream.close()

    def said(self) -> str:
        return self.log.read_text(encoding="utf-8")

    def workers(self) -> list[int]:
        """Python processes that torchrun has started, by rank."""
        found: dict[int, int] = {}
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                session = os.getsid(int(folder.name))
                told = (folder / "environ").read_bytes().split(b"\0")
            except (OSError, ProcessLookupError):
                continue
            ranks = [each for each in told if each.startswith(b"RANK=")]
            if session == self.process.pid or ranks:
                parent = (folder / "stat").read_text().rpartition(")")[2].split()[1]
                if int(parent) == self.process.pid and ranks:
                    found[int(ranks[0][5:])] = int(folder.name)
        return [found[rank] for rank in sorted(found)]


@pytest.fixture
def launch(corpus: list[Path], tmp_path: Path) -> Iterator[Callable[..., Launch]]:
    """Start processes: launch(2, "name", optimizer="muon")."""
    begun: list[Launch] = []

    def start(
        count: int,
        name: str,
        *how: str,
        before: tuple[str, ...] = (),
        more: Any = None,
        options: tuple[str, ...] = (),
        **changes: Any,
    ) -> Launch:
        recipe = tmp_path / f"{name}.toml"
        recipe.write_text(settings(**changes).to_toml(), encoding="utf-8")
        where = how if any("nnodes" in each for each in how) else ("--standalone", *how)
        begun.append(
            Launch(
                tmp_path / name, [*where, f"--nproc-per-node={count}"], list(before), **more or {}
            )
        )
        data = ["--data", corpus[0], "--data", corpus[1]]
        return begun[-1].start(recipe, *data, "--out", tmp_path / name, *options)

    yield start
    for each in begun:
        if each.process.poll() is None:
            os.killpg(each.process.pid, signal.SIGKILL)
            each.process.wait()
        each.stream.close()


def read_losses(out: Path) -> dict[str, list[float]]:
    lines = (out / "run/metrics.jsonl").read_text(encoding="utf-8").splitlines()
    found: dict[str, list[float]] = {"loss": [], "gradient_norm": [], "valid loss": []}
    for line in map(json.loads, lines):
        for name in found:
            if name in line:
                found[name].append(line[name])
    return found


def assert_alike(found: Path, expected: Path) -> None:
    """The same losses and weights, and what the optimizer remembers, to rounding."""
    left, right = read_losses(found), read_losses(expected)
    for name in right:
        assert len(left[name]) == 2
        assert left[name] == pytest.approx(right[name], rel=1e-4), name
    for file in ("weights", "averaged", "optimizer"):
        paths = [out / f"run/checkpoints/00000040/{file}.safetensors" for out in (found, expected)]
        one, two = map(load_tensors, paths)
        assert one.keys() == two.keys()
        for name in two:
            if not name.endswith(NOISE):
                torch.testing.assert_close(one[name], two[name], rtol=1e-3, atol=1e-4, msg=name)
    assert {path.name for path in found.iterdir()} == {path.name for path in expected.iterdir()}


CASES = [
    pytest.param(2, {}, id="two"),
    pytest.param(2, {"shard": True}, id="sharded", marks=pytest.mark.thorough),
    pytest.param(3, {}, id="three", marks=pytest.mark.slow),
    pytest.param(2, {"optimizer": "muon"}, id="muon", marks=pytest.mark.slow),
    pytest.param(
        2, {"optimizer": "muon", "shard": True}, id="sharded-muon", marks=pytest.mark.slow
    ),
    pytest.param(
        3,
        {"shard": True, "gradient_accumulation": 1, "batch_tokens": 48},
        id="sharded-empty",
        marks=pytest.mark.slow,
    ),
    pytest.param(
        3, {"gradient_accumulation": 1, "batch_tokens": 48}, id="empty", marks=pytest.mark.slow
    ),
]


@pytest.mark.thorough
@pytest.mark.parametrize(("processes", "changes"), CASES)
def test_processes_train_as_one(
    launch: Callable[..., Launch], alone: Callable[..., Path], processes: int, changes: Any
) -> None:
    """Of three micro-batches one is cut; where there is one, some shares are empty."""
    launched = launch(processes, "several", **changes)
    assert launched.end() == 0, launched.said()
    said = launched.said()
    assert said.count("Vocabulary:") == said.count("update 40: valid BLEU") == 1
    assert said.count("The model is in") == 1, "the first process speaks alone"
    one = {name: value for name, value in changes.items() if name != "shard"}
    assert_alike(launched.out, alone(**one))


@pytest.mark.thorough
def test_processes_train_several_seeds(launch: Callable[..., Launch]) -> None:
    launched = launch(2, "several", options=("--seeds", "2"), steps=2, validate_every=2)
    assert launched.end() == 0, launched.said()
    assert launched.said().count("The models are in") == 1
    plan = json.loads((launched.out / "seeds.json").read_text("utf-8"))
    assert plan["results"].keys() == {str(seed) for seed in plan["seeds"]}


@pytest.mark.slow
@pytest.mark.parametrize("changes", [{}, {"shard": True}], ids=["whole", "sharded"])
def test_another_number_of_processes_goes_on(
    launch: Callable[..., Launch], alone: Callable[..., Path], changes: Any, tmp_path: Path
) -> None:
    """Begun by three, stopped from outside, ended by one."""
    launched = launch(3, "several", **changes, steps=120, checkpoint_every=1)
    wait_for_checkpoint(launched)
    os.killpg(launched.process.pid, signal.SIGTERM)
    assert launched.end() != 0
    out = launched.out
    stopped = max(int(path.name) for path in (out / "run/checkpoints").glob("*[0-9]"))
    assert 0 < stopped < 120, launched.said()
    assert resume(out, quiet=True).is_finished
    expected = alone(steps=120, checkpoint_every=1)
    for name in ("weights", "averaged"):
        one, two = (
            load_tensors(each / f"run/checkpoints/00000120/{name}.safetensors")
            for each in (out, expected)
        )
        for key in two:
            if not key.endswith(NOISE):
                torch.testing.assert_close(one[key], two[key], rtol=1e-2, atol=2e-3, msg=key)


def wait_for_checkpoint(launched: Launch) -> None:
    until = time.monotonic() + 120
    folder = launched.out / "run/checkpoints"
    while not list(folder.glob("*[0-9]")) and time.monotonic() < until:
        assert launched.process.poll() is None, launched.said()
        time.sleep(0.02)


needs_proc = pytest.mark.skipif(not Path("/proc").is_dir(), reason="finds workers in /proc")


@needs_proc
@pytest.mark.slow
@pytest.mark.parametrize("rank", [0, 1])
def test_a_killed_worker_ends_all(launch: Callable[..., Launch], rank: int) -> None:
    launched = launch(2, "killed", steps=100_000, checkpoint_every=10)
    wait_for_checkpoint(launched)
    workers = launched.workers()
    os.kill(workers[rank], signal.SIGKILL)
    assert launched.end() != 0
    assert "internal error" not in launched.said(), launched.said()
    assert not any(
        Path(f"/proc/{each}/cmdline").is_file()
        and b"glassformer" in Path(f"/proc/{each}/cmdline").read_bytes()
        for each in workers
    )
    left = {path.name for path in (launched.out / "run/checkpoints").iterdir()}
    assert left, "what was saved is there"


@needs_proc
@pytest.mark.slow
@pytest.mark.parametrize("rank", [0, 1])
def test_torchrun_starts_anew_from_the_checkpoint(
    launch: Callable[..., Launch], alone: Callable[..., Path], rank: int
) -> None:
    """The very command that began it goes on after a worker was killed."""
    launched = launch(2, "restarted", "--max-restarts=2", steps=120, checkpoint_every=1)
    wait_for_checkpoint(launched)
    os.kill(launched.workers()[rank], signal.SIGKILL)
    assert launched.end() == 0, launched.said()
    assert "Going on after update" in launched.said()
    one, two = (
        load_tensors(out / "run/checkpoints/00000120/weights.safetensors")
        for out in (launched.out, alone(steps=120, checkpoint_every=1))
    )
    for name in two:
        if not name.endswith(NOISE):
            torch.testing.assert_close(one[name], two[name], rtol=1e-2, atol=2e-3, msg=name)


@pytest.mark.slow
def test_bad_input_is_said_once_and_nobody_hangs(
    launch: Callable[..., Launch], alone: Callable[..., Path], tmp_path: Path
) -> None:
    shutil.copytree(alone(), tmp_path / "taken")
    launched = launch(2, "taken")
    assert launched.end() != 0
    assert launched.said().count("holds a training already") == 1
    assert "internal error" not in launched.said()


@pytest.fixture
def hosts() -> Iterator[list[tuple[str, str, str]]]:
    """Two network namespaces with a cable between them: name, address, interface of each."""
    if not hasattr(os, "geteuid") or os.geteuid() or not shutil.which("ip"):
        pytest.skip("network namespaces need root and the command ip")
    mark = f"{os.getpid() % 100_000}"
    names = [f"gf{side}{mark}" for side in "ab"]
    cables = [f"v{side}{mark}" for side in "ab"]

    def run(*arguments: str) -> None:
        subprocess.run(["ip", *arguments], check=True, capture_output=True)

    try:
        run("netns", "add", names[0])
        run("netns", "add", names[1])
        run("link", "add", cables[0], "type", "veth", "peer", "name", cables[1])
    except subprocess.CalledProcessError as error:
        pytest.skip(f"no network namespaces here: {error.stderr.decode().strip()}")
    made = []
    for name, cable, address in zip(names, cables, ("10.77.0.1", "10.77.0.2"), strict=True):
        run("link", "set", cable, "netns", name)
        run("-n", name, "addr", "add", f"{address}/24", "dev", cable)
        run("-n", name, "link", "set", cable, "up")
        run("-n", name, "link", "set", "lo", "up")
        made.append((name, address, cable))
    yield made
    for name in names:
        subprocess.run(["ip", "netns", "delete", name], check=False, capture_output=True)


@pytest.mark.slow
@pytest.mark.parametrize("changes", [{}, {"shard": True}], ids=["whole", "sharded"])
def test_two_hosts_train_as_one(
    hosts: list[tuple[str, str, str]],
    launch: Callable[..., Launch],
    alone: Callable[..., Path],
    changes: Any,
) -> None:
    """Each sees only its own end of the cable, and the folder that they share."""
    first = hosts[0][1]
    launched = [
        launch(
            1,
            "several",
            "--nnodes=2",
            f"--node-rank={rank}",
            f"--master-addr={first}",
            "--master-port=29511",
            before=("ip", "netns", "exec", name),
            more={"GLOO_SOCKET_IFNAME": cable},
            **changes,
        )
        for rank, (name, _, cable) in enumerate(hosts)
    ]
    for each in launched:
        assert each.end() == 0, "\n".join(other.said() for other in launched)
    assert_alike(launched[0].out, alone())


@pytest.mark.slow
@pytest.mark.parametrize("changes", [{}, {"shard": True}], ids=["whole", "sharded"])
def test_gpus_train_as_one(
    launch: Callable[..., Launch], alone: Callable[..., Path], changes: Any
) -> None:
    if torch.cuda.device_count() < 2:
        pytest.skip(f"needs 2 GPUs, and there are {torch.cuda.device_count()}")
    launched = launch(2, "several", **changes)
    assert launched.end() == 0, launched.said()
    left, right = read_losses(launched.out), read_losses(alone())
    assert left["loss"] == pytest.approx(right["loss"], rel=0.01)
