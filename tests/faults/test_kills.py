"""Trainings killed at any moment, in real processes, go on to the same weights, bit for bit."""

from __future__ import annotations

import itertools
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from damage import power, recording
from damage.ledger import Ledger
from damage.processes import PATIENCE
from damage.trainings import RECURRENT, Trainings, assert_same, results, saved

TABLE = "Kill and resume"
QUICK, ALL = 6, 240
SHARES = 10  # of what has hundreds of tries: each share is a test, counted when it is done
SHORT: dict[str, Any] = {"steps": 6, "validate_every": 6, "watch": 0}  # two saves, for these
ANYWHERE = "anywhere"
# Where it is killed, and within how many seconds from there. Half of the tries: anywhere.
PLACES = {"save": 0.02, "store": 0.01, "validate": 0.1, "model": 0.01}
SAID = {
    ANYWHERE: "SIGKILL at a random moment",
    "save": "SIGKILL inside a checkpoint's write",
    "store": "SIGKILL inside the store's build",
    "validate": "SIGKILL inside a validation",
    "model": "SIGKILL while the best model is written",
}
Fresh = Callable[[str], Path]


def some(count: int, quick: int) -> list[Any]:
    """Numbers, of which all but the first few are for the slow run."""
    slow = pytest.mark.slow
    return [n if n < quick else pytest.param(n, marks=slow) for n in range(count)]


def choose(number: int) -> tuple[dict[str, Any], str]:
    """Settings, half of them bf16 and half with minutes; and where to kill."""
    train: dict[str, Any] = {"precision": "bf16" if number % 2 else "fp32"}
    if number // 2 % 2:
        train |= {"steps": None, "minutes": 0.05, "validate_every": None, "checkpoint_every": 9}
    return train, [ANYWHERE, *PLACES][number // 4 % 5]


@pytest.mark.parametrize("number", some(ALL, QUICK))
def test_killed(trainings: Trainings, fresh: Fresh, ledger: Ledger, number: int) -> None:
    random = Random(number)
    quick = 4 * number + number % 4  # each place, and each precision with and without minutes
    train, place = choose(number if number >= QUICK else quick)
    recipe, out = trainings.recipe(**train), fresh("out")
    if place == ANYWHERE:
        how: dict[str, Any] = {"kill_after": random.uniform(0, 3 if "minutes" in train else 1.2)}
    else:
        nth = 1 if place == "store" else random.choice([1, 1, 2])
        how = {"kill_in": place, "nth": nth, "kill_after": random.uniform(0, PLACES[place])}
    ended = trainings.begin(out, recipe, **how)
    assert ended.code in (0, -signal.SIGKILL), ended.said
    assert place == ANYWHERE or place in ended.events
    lost = trainings.go_on(out, recipe)
    assert_same(out, trainings.undisturbed_as(out))
    kind = f"{train['precision']}{' with --minutes' if 'minutes' in train else ''}"
    if ended.code:
        happened = "resumed; final weights, model, golden.json bit-identical"
        ledger.note(TABLE, SAID[place], happened, "the work since the last checkpoint", detail=kind)
    assert lost


@pytest.mark.parametrize("place", [ANYWHERE, "save"])
def test_a_recurrent_network_killed(
    trainings: Trainings, fresh: Fresh, ledger: Ledger, place: str
) -> None:
    recipe, out, random = trainings.recipe(RECURRENT), fresh("out"), Random(place)
    how: dict[str, Any] = {"kill_after": random.uniform(0, 1.2)}
    if place != ANYWHERE:
        how = {"kill_in": place, "nth": 2, "kill_after": random.uniform(0, PLACES[place])}
    ended = trainings.begin(out, recipe, **how)
    assert ended.code in (0, -signal.SIGKILL), ended.said
    trainings.go_on(out, recipe)
    assert_same(out, trainings.undisturbed_as(out))
    if ended.code:
        happened = "resumed; final weights, model, golden.json bit-identical"
        lost = "the work since the last checkpoint"
        ledger.note(TABLE, SAID[place], happened, lost, detail="a recurrent network, fp32")


@pytest.mark.thorough
def test_killed_again_and_again(trainings: Trainings, fresh: Fresh, ledger: Ledger) -> None:
    """As long as it takes, as on a machine that is taken away every second."""
    recipe, out, random = trainings.recipe(), fresh("out"), Random(0)
    kills, code = 0, -signal.SIGKILL
    while code:
        begin = trainings.resume if (out / "run/run.json").exists() else trainings.begin
        more = () if begin == trainings.resume else (recipe,)
        patience = 1.05**kills  # on a busy machine as on a fast one
        code = begin(out, *more, kill_after=random.uniform(0.02, 0.3) * patience).code
        assert code in (0, -signal.SIGKILL)
        kills += code != 0
        assert kills < 100
    assert kills
    assert_same(out, trainings.undisturbed(recipe))
    happened = "came to its end in tokens; bit-identical"
    ledger.note(TABLE, "SIGKILL again and again in one training", happened, times=kills)


@pytest.mark.slow
@pytest.mark.parametrize("share", range(SHARES))
def test_killed_after_each_call(
    trainings: Trainings, tmp_path: Path, ledger: Ledger, share: int
) -> None:
    """Every file-system call of a whole training is the last one, once."""
    recipe, kills = trainings.recipe(**SHORT), 0
    for number in itertools.count(share + 1, SHARES):
        out = tmp_path / str(number)
        ended = trainings.begin(out, recipe, die_after=number, within=str(out))
        if not ended.code:
            break
        assert ended.code == -signal.SIGKILL, ended.said
        trainings.go_on(out, recipe)
        assert_same(out, trainings.undisturbed(recipe))
        shutil.rmtree(out)
        kills += 1
    assert kills * SHARES > 100, "fewer calls than one save makes"
    said = "SIGKILL right after each file-system call of a training"
    lost = "the work since the last checkpoint"
    ledger.note(TABLE, said, "resumed; bit-identical", lost, times=kills)


@pytest.fixture(scope="module")
def recorded(trainings: Trainings, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """All calls of one training, made in this process."""
    from glassformer.config import Config
    from glassformer.train import train

    top = tmp_path_factory.mktemp("recorded")
    calls: list[power.Call] = []
    end = recording.install(lambda *call: calls.append(call), str(top))
    try:
        train(Config.load(trainings.recipe(**SHORT)), trainings.data, top / "out", quiet=True)
    finally:
        end()
    return top, calls


def one_save(calls: list[power.Call]) -> tuple[int, int]:
    """The calls of the second checkpoint: from making its folder to having forgotten the first."""
    made = [n for n, call in enumerate(calls) if call[0] == "mkdir" and "checkpoints/" in call[1]]
    gone = [n for n, call in enumerate(calls) if call[0] == "rmdir" and "checkpoints/" in call[1]]
    return made[1], gone[0] + 1


@pytest.mark.thorough
def test_power_fails_during_a_save(recorded: Any, tmp_path: Path, ledger: Ledger) -> None:
    """After each call of one save, whatever the disk may hold has a whole checkpoint on it."""
    from glassformer.train.run.checkpoint import set_damaged_aside

    top, calls = recorded
    first, last = one_save(calls)
    before = power.Node(True)
    for call in calls[:first]:
        power.replay(before, top, call)
    settle(before)
    known: dict[str, set[bytes]] = {}
    tried = 0
    for done, found in power.states(before, top, calls[first:last]):
        tried += 1
        laid = tmp_path / str(tried)
        power.write_tree(found, laid)
        folder = laid / "out/run/checkpoints"
        set_damaged_aside(folder, lambda said: pytest.fail(said))
        name = saved(laid / "out")
        assert name == "00000003" or name == "00000006", f"after call {done}: {name}"
        weights = (folder / name / "weights.safetensors").read_bytes()
        known.setdefault(name, set()).add(weights)
        if done == last - first:
            assert name == "00000006"
        shutil.rmtree(laid)
    assert {name: len(each) for name, each in known.items()} == {"00000003": 1, "00000006": 1}
    ledger.note(
        TABLE,
        "power loss after each call of one save: states the disk may be in",
        "each has a whole checkpoint, the old one or the new one, by its digests",
        times=tried,
        detail=f"states after {last - first} calls",
    )


def settle(node: power.Node) -> None:
    node.sync()
    for child in node.names.values():
        settle(child)


@pytest.mark.slow
@pytest.mark.parametrize("share", range(SHARES))
def test_power_fails_at_any_time(
    recorded: Any, trainings: Trainings, tmp_path: Path, ledger: Ledger, share: int
) -> None:
    """After each call of a training, what the disk may hold goes on to the same weights."""
    top, calls = recorded
    recipe = trainings.recipe(**SHORT)
    whole = trainings.undisturbed(recipe)
    wanted, tried = results(whole), 0
    before = power.Node(True)
    states = power.states(before, top, calls, seed=1)
    ours = itertools.islice(states, share, None, SHARES)
    for done, found in ours:
        if not any(name.startswith("out/run") for name in found):
            continue
        tried += 1
        laid = tmp_path / str(tried)
        power.write_tree(found, laid)
        trainings.go_on(laid / "out", recipe)
        now = results(laid / "out")
        assert now == wanted, f"after call {done}: {[k for k in now if now[k] != wanted.get(k)]}"
        shutil.rmtree(laid)
    ledger.note(
        TABLE,
        "power loss after each call of a training: un-synced data gone, torn or zero",
        "resumed; bit-identical",
        "the work since the last checkpoint",
        times=tried,
    )


@pytest.mark.parametrize(
    ("signals", "code"),
    [
        ((signal.SIGINT,), 130),
        ((signal.SIGTERM,), 130),
        ((signal.SIGHUP,), 130),
        ((signal.SIGINT, signal.SIGINT), 130),
        ((signal.SIGTERM, signal.SIGTERM), -signal.SIGTERM),
    ],
    ids=["Ctrl-C", "SIGTERM", "SIGHUP", "Ctrl-C twice", "SIGTERM twice"],
)
def test_asked_to_stop(
    trainings: Trainings,
    fresh: Fresh,
    ledger: Ledger,
    signals: tuple[int, ...],
    code: int,
    request: pytest.FixtureRequest,
) -> None:
    if any(signal.getsignal(each) == signal.SIG_IGN for each in signals):
        pytest.skip("these tests run under nohup, which their processes inherit")
    recipe, out = trainings.recipe(), fresh("out")
    ended = trainings.begin(out, recipe, kill_in="validate", kill_after=0.0, signals=signals)
    assert ended.code == code, ended.said
    if len(signals) == 1:
        assert f"To go on: glassformer train --resume {out}" in ended.said
    assert "Traceback" not in ended.said
    trainings.go_on(out, recipe)
    assert_same(out, trainings.undisturbed(recipe))
    name = request.node.callspec.id
    happened = "saved, and said how to go on" if len(signals) == 1 else "ended at once; resumed"
    lost = "nothing" if len(signals) == 1 else "the work since the last checkpoint"
    ledger.note(TABLE, name, f"{happened}; bit-identical", lost)


@pytest.mark.thorough
@pytest.mark.parametrize("seconds", [3, pytest.param(60, marks=pytest.mark.slow)])
def test_a_halted_training_goes_on(
    trainings: Trainings, fresh: Fresh, ledger: Ledger, seconds: int
) -> None:
    """A laptop that is closed: nothing runs, and then everything does."""
    recipe, out = trainings.recipe(), fresh("out")
    arguments = trainings.list_arguments(out, recipe)
    process = subprocess.Popen([sys.executable, "-m", "glassformer", *map(str, arguments)])
    try:
        wait_for(lambda: (out / "run/metrics.jsonl").is_file() or process.poll() is not None)
        process.send_signal(signal.SIGSTOP)
        assert process.poll() is None, "it ended before it was halted"
        time.sleep(seconds)
        process.send_signal(signal.SIGCONT)
        assert process.wait(PATIENCE) == 0
    finally:
        process.kill()
    assert_same(out, trainings.undisturbed(recipe))
    fault = f"SIGSTOP of a training for {seconds} s, then SIGCONT"
    ledger.note(TABLE, fault, "went on to its end; bit-identical")


def wait_for(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)
