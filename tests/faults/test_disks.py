"""Full, read-only and shared disks; damaged checkpoints; data and settings that changed."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from damage.ledger import Ledger
from damage.trainings import LINES, Trainings, assert_same, results, saved

from glassformer.model.files.tensors import load_tensors, save_tensors
from glassformer.train.run.process import hold_lock

DISK, RESUME, FILES = "Disks", "Kill and resume", "Damaged files"
Fresh = Callable[[str], Path]
slow = pytest.mark.slow


def is_one_sentence(said: str) -> bool:
    """The last line, and that there is no traceback."""
    last = said.strip().splitlines()[-1]
    return last.startswith("glassformer: ") and "Traceback" not in said


@contextmanager
def mounted(folder: Path, options: str) -> Iterator[Callable[[str], None]]:
    """A disk of its own, in memory; yields a function that changes its options."""
    folder.mkdir()

    def mount(options: str) -> bool:
        command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0

    if not shutil.which("mount") or os.geteuid() or not mount(options):
        pytest.skip("only root may mount a disk of its own")
    try:
        yield lambda more: mount(f"remount,{more}") or pytest.fail(f"remount,{more}")
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.parametrize(
    "kib", [300, 520, *(pytest.param(kib, marks=slow) for kib in range(60, 720, 20))]
)
def test_the_disk_fills_up(trainings: Trainings, tmp_path: Path, ledger: Ledger, kib: int) -> None:
    recipe, disk = trainings.recipe(), tmp_path / "disk"
    with mounted(disk, f"size={kib}k") as remount:
        ended = trainings.begin(disk / "out", recipe)
        if ended.code == 0:
            return  # it was large enough
        assert ended.code == 2 and is_one_sentence(ended.said), ended.said
        assert "No space left on device" in ended.said and str(disk) in ended.said
        remount("size=20m")
        trainings.go_on(disk / "out", recipe)
        assert_same(disk / "out", trainings.undisturbed(recipe))
    happened = "one sentence naming the file, exit 2; with room again, resumed bit-identical"
    ledger.note(DISK, "the disk fills up", happened, "the work since the last checkpoint")


@pytest.mark.parametrize(
    "size", [60_000, *(pytest.param(size, marks=slow) for size in range(1000, 90_000, 6000))]
)
def test_files_may_not_grow(trainings: Trainings, fresh: Fresh, ledger: Ledger, size: int) -> None:
    recipe, out = trainings.recipe(), fresh("out")
    ended = trainings.begin(out, recipe, largest_file=size)
    assert ended.code == 2 and is_one_sentence(ended.said), ended.said
    assert "File too large" in ended.said and str(out) in ended.said
    trainings.go_on(out, recipe)
    assert_same(out, trainings.undisturbed(recipe))
    happened = "one sentence naming the file, exit 2; without it, resumed bit-identical"
    ledger.note(
        DISK, "a limit on the size of a file", happened, "the work since the last checkpoint"
    )


def test_the_disk_is_read_only(trainings: Trainings, tmp_path: Path, ledger: Ledger) -> None:
    recipe, disk = trainings.recipe(), tmp_path / "disk"
    with mounted(disk, "size=20m") as remount:
        assert trainings.begin(disk / "out", recipe, kill_in="save", kill_after=0.0).code
        remount("ro")
        for ended in (trainings.begin(disk / "new", recipe), trainings.resume(disk / "out")):
            assert ended.code == 2 and is_one_sentence(ended.said), ended.said
            assert "Read-only file system" in ended.said and str(disk) in ended.said
        remount("rw")
        trainings.go_on(disk / "out", recipe)
        assert_same(disk / "out", trainings.undisturbed(recipe))
    ledger.note(DISK, "the output directory is read-only", "one sentence, exit 2", times=2)


def test_two_trainings_on_one_folder(trainings: Trainings, fresh: Fresh, ledger: Ledger) -> None:
    recipe, out = trainings.recipe(), fresh("out")
    assert trainings.begin(out, recipe, kill_in="save", kill_after=0.0).code == -signal.SIGKILL
    with hold_lock(out / "run"):
        for ended in (trainings.resume(out), trainings.begin(out, recipe)):
            assert ended.code == 2 and is_one_sentence(ended.said)
            assert f"{out} is being trained already, by process {os.getpid()}" in ended.said
    trainings.go_on(out, recipe)  # the lock of a killed process holds nobody up
    assert_same(out, trainings.undisturbed(recipe))
    ledger.note(DISK, "a second training on the same folder", "refused, exit 2", times=2)


def test_a_refused_training_leaves_no_folder(trainings: Trainings, fresh: Fresh) -> None:
    out = fresh("out")
    ended = trainings.zygote.run("train", trainings.recipe(), "--data", "nosuch", "--out", out)
    assert ended.code == 2 and not out.exists()
    ended = trainings.zygote.run("train", "--resume", out)
    assert ended.code == 2 and not out.exists()


@pytest.fixture
def stopped(trainings: Trainings, tmp_path: Path) -> tuple[Path, Path]:
    """A training with two checkpoints that was killed, and the folder of its data."""
    data, out = tmp_path / "data", tmp_path / "out"
    data.mkdir()
    for path in trainings.data:
        shutil.copy(path, data / f"train{path.suffix}")
    command = ["train", trainings.recipe(keep=2), "--data", data, "--out", out]
    langs = ["--source-lang", "en", "--target-lang", "xx"]
    ended = trainings.zygote.run(*command, *langs, kill_in="save", nth=3, kill_after=0.0)
    assert ended.code == -signal.SIGKILL and saved(out) >= "00000006"
    return out, data


def change_bytes(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def cut_short(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def empty(path: Path) -> None:
    path.write_bytes(b"")


FILES_OF_A_CHECKPOINT = ["weights", "averaged", "optimizer", "progress", "config"]
QUICK_HARM = (("weights", change_bytes), ("progress", cut_short), ("optimizer", Path.unlink))


HARM = [
    pytest.param(name, harm, marks=[] if (name, harm) in QUICK_HARM else slow)
    for name in FILES_OF_A_CHECKPOINT
    for harm in (change_bytes, cut_short, empty, Path.unlink)
]


@pytest.mark.parametrize(("name", "harm"), HARM)
def test_a_damaged_checkpoint(
    trainings: Trainings,
    stopped: tuple[Path, Path],
    ledger: Ledger,
    name: str,
    harm: Callable[[Path], None],
) -> None:
    out, _ = stopped
    last = out / "run/checkpoints" / saved(out)
    (path,) = last.glob(f"{name}.*")
    if (name, harm) == ("progress", change_bytes):
        path.write_bytes(path.read_bytes().replace(b'"step": ', b'"pets": '))
        path.write_bytes(path.read_bytes().replace(b'"sha256": {', b'"sha256": {"x": "",'))
    else:
        harm(path)
    ended = trainings.resume(out)
    assert ended.code == 0, ended.said
    assert f"it is now {last.name}.damaged, and the one before it is taken" in ended.said
    ledger.note(
        FILES,
        "a checkpoint with a changed, cut, emptied or missing file",
        "found by its digests, set aside, the one before it taken",
        "the work between the two",
    )


@pytest.mark.parametrize("ends", [False, True], ids=["before the end", "at the end"])
def test_what_a_kill_has_left_is_swept(trainings: Trainings, fresh: Fresh, ends: bool) -> None:
    """Half a checkpoint that was being written, half of one that was being removed."""
    recipe, out = trainings.recipe(), fresh("out")
    how: dict[str, Any] = {} if ends else {"kill_in": "save", "nth": 3, "kill_after": 0.0}
    trainings.begin(out, recipe, **how)
    for name in ("00000099.partial", "00000001.former"):
        (out / "run/checkpoints" / name).mkdir(exist_ok=True)
    trainings.go_on(out, recipe)
    assert_same(out, trainings.undisturbed(recipe))


def test_the_only_checkpoint_is_damaged(trainings: Trainings, fresh: Fresh, ledger: Ledger) -> None:
    recipe, out = trainings.recipe(), fresh("out")
    trainings.begin(out, recipe, kill_in="save", nth=2, kill_after=0.0)
    change_bytes(out / "run/checkpoints" / saved(out) / "weights.safetensors")
    ended = trainings.resume(out)
    assert ended.code == 2 and is_one_sentence(ended.said)
    assert "weights.safetensors is not as it was written" in ended.said
    ledger.note(FILES, "the only checkpoint is damaged", "one sentence, exit 2", "the training")


def test_a_checkpoint_of_an_earlier_version(
    trainings: Trainings, stopped: tuple[Path, Path], ledger: Ledger
) -> None:
    out, _ = stopped
    last = out / "run/checkpoints" / saved(out)
    head = json.loads((last / "progress.json").read_text(encoding="utf-8"))
    old = {name: head[name] for name in head if name not in ("format", "glassformer", "sha256")}
    (last / "progress.json").write_text(json.dumps(old), encoding="utf-8")
    (last / "config.toml").unlink()
    kept = load_tensors(last / "optimizer.safetensors")
    nameless = {f"{n}": tensor for n, tensor in enumerate(kept.values())}
    save_tensors(last / "optimizer.safetensors", nameless)
    ended = trainings.resume(out)
    assert ended.code == 2 and is_one_sentence(ended.said)
    assert "optimizer.safetensors: 0 belongs to no weight of this model" in ended.said
    save_tensors(last / "optimizer.safetensors", kept)
    assert trainings.resume(out).code == 0
    ledger.note(
        FILES,
        "a checkpoint of an earlier version",
        "read where it can be, else one sentence",
        times=2,
    )


def test_the_store_is_damaged(
    trainings: Trainings, stopped: tuple[Path, Path], tmp_path: Path, ledger: Ledger
) -> None:
    out, _ = stopped
    shutil.copytree(out, tmp_path / "other")
    assert trainings.resume(tmp_path / "other").code == 0
    cut_short(next((out / "run/store").glob("*.ids")))
    ended = trainings.resume(out)
    assert ended.code == 0 and "is damaged: it is made again" in ended.said, ended.said
    assert results(out) == results(tmp_path / "other")
    ledger.note(FILES, "the store of ids is damaged", "made again from the data; bit-identical")


def test_the_data_changed(
    trainings: Trainings, stopped: tuple[Path, Path], tmp_path: Path, ledger: Ledger
) -> None:
    out, data = stopped
    for path in data.iterdir():
        path.write_text(path.read_text(encoding="utf-8").replace("old", "new"), encoding="utf-8")
    ended = trainings.resume(out)
    assert ended.code == 2 and is_one_sentence(ended.said)
    assert f"{data / 'train.en'} (18 lines as before, but other text)" in ended.said
    (data / "train.en").write_text("\n".join([*LINES, "one more"]) + "\n", encoding="utf-8")
    ended = trainings.resume(out)
    assert ended.code == 2 and "18 lines, now 19" in ended.said
    ended = trainings.resume(out, "--accept-changed-data")
    assert ended.code == 2 and "has 19 lines" in ended.said, "two files that do not fit"
    (data / "train.en").write_text("\n".join(LINES[:-1]) + "\nthe new\n", encoding="utf-8")
    ended = trainings.resume(out, "--accept-changed-data")
    assert ended.code == 0 and "what follows learns from it as it is now" in ended.said
    happened = "refused with what changed, exit 2; --accept-changed-data goes on with the new text"
    ledger.note(RESUME, "the data changed meanwhile", happened, times=4)


def test_the_data_are_gone(
    trainings: Trainings, stopped: tuple[Path, Path], tmp_path: Path, ledger: Ledger
) -> None:
    out, data = stopped
    shutil.copytree(out, tmp_path / "other")
    assert trainings.resume(tmp_path / "other").code == 0
    shutil.rmtree(data)
    ended = trainings.resume(out)
    assert ended.code == 0 and "the copy in the store is used" in ended.said
    assert results(out) == results(tmp_path / "other")
    ledger.note(RESUME, "the data are gone", "went on from its own copy; bit-identical")


SAID = "this changes what is learned from here on; if it is meant, add --accept-changed-settings"


@pytest.mark.parametrize(
    ("change", "refusal"),
    [
        ("decode.beam=2", ""),
        pytest.param("train.keep=3", "", marks=slow),
        pytest.param("train.watch=0", "", marks=slow),
        ("train.learning_rate=0.001", f"train.learning_rate was not set and is now 0.001: {SAID}"),
        ("train.steps=14", f"train.steps was 12 and is now 14: {SAID}"),
        ("model.dropout=0.0", f"model.dropout was 0.3 and is now 0.0: {SAID}"),
        ("train.precision=bf16", f"train.precision was fp32 and is now bf16: {SAID}"),
        ("model.d_model=32", "model.d_model was 16 and is now 32, but the weights have the old sh"),
        ("text.vocabulary=400", "text.vocabulary was 320 and is now 400, but the tokens"),
        ("train.optimizer=muon", "train.optimizer was adam and is now muon, but what the optimiz"),
        ("train.stepps=14", "unknown setting train.stepps; did you mean train.steps?"),
    ],
)
def test_settings_changed(
    trainings: Trainings, stopped: tuple[Path, Path], ledger: Ledger, change: str, refusal: str
) -> None:
    out, _ = stopped
    ended = trainings.resume(out, "--set", change)
    if refusal:
        assert ended.code == 2 and is_one_sentence(ended.said) and refusal in ended.said, ended.said
    if refusal and SAID in refusal:
        ended = trainings.resume(out, "--set", change, "--accept-changed-settings")
    elif refusal:
        ended = trainings.resume(out)
    assert ended.code == 0, ended.said
    if not refusal or SAID in refusal:
        assert f"Changed: {change.partition('=')[0]} was" in ended.said
    happened = "safe ones go on, others need --accept-changed-settings, or are refused with why"
    ledger.note(RESUME, "other settings at resume", happened)


def test_settings_changed_by_hand(trainings: Trainings, stopped: tuple[Path, Path]) -> None:
    out, _ = stopped
    path = out / "run/config.toml"
    text = path.read_text(encoding="utf-8").replace("dropout = 0.3", "dropout = 0.2")
    path.write_text(text, encoding="utf-8")
    ended = trainings.resume(out)
    assert ended.code == 2 and f"model.dropout was 0.3 and is now 0.2: {SAID}" in ended.said
