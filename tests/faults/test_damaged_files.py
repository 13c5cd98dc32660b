"""Every file of a model, a training and a trace with one value of a wrong kind in it, or cut.

Whoever reads it does its work or says in one sentence what is wrong; it is never a defect.
"""

from __future__ import annotations

import io
import json
import math
import shutil
import sys
import tomllib
import warnings
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import tomli_w
from damage.ledger import Ledger
from damage.trainings import LINES, SETTINGS

from glassformer.cli import main
from glassformer.config import Config
from glassformer.extensions.pictures.runs import read_watched
from glassformer.model.files.tensors import load_tensors, save_tensors
from glassformer.train import train
from glassformer.train.run.watch import read_snapshots
from glassformer.translate.align.choose_head import AlignmentChoice, save_choice
from glassformer.translator import Translator

TABLE = "Bad input"
EXPECTED = "done, or refused in one sentence that names the file; never an internal error"
WRONG: list[Any] = [None, "x", [], 3.5, {}]
FEW = 3  # entries of a long list or table that are damaged
Verb = Callable[[Path], object]
Case = tuple[str, bytes]  # what was done, and what the file then holds


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model and the training that made it, from a parent; the head that aligns; and a trace."""
    folder = tmp_path_factory.mktemp("home")
    data = [folder / "train.en", folder / "train.xx"]
    for path, lines in zip(data, (LINES, [line[::-1] for line in LINES]), strict=True):
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    quick = {**SETTINGS["train"], "steps": 4, "validate_every": 2, "checkpoint_every": 2, "keep": 2}
    raw = {**SETTINGS, "train": quick, "data": {"source_lang": "en"}}
    train(Config.read(raw), data, folder / "parent", quiet=True)
    train(Config.read(raw), data, folder / "m", parent=folder / "parent", quiet=True)
    translator = Translator.load(folder / "m")
    save_choice(AlignmentChoice(layer=0, head=1, row="reads", chosen_by="hand"), folder / "m")
    translator.see("the cat", level="everything").save(folder / "trace", parameters=True)
    return folder


def call(*argv: str | Path) -> str:
    """The command line in this process: it ends well, or with a refusal in one line."""
    out, err, before = io.StringIO(), io.StringIO(), sys.stdin
    sys.stdin = io.TextIOWrapper(io.BytesIO(b"the cat\n"))
    try:
        with redirect_stdout(out), redirect_stderr(err), warnings.catch_warnings():
            warnings.simplefilter("error")
            code = main([str(each) for each in argv])
    finally:
        sys.stdin = before
    said = err.getvalue().strip()
    assert code in (0, 1, 2), f"{argv[0]} ended with {code}: {said}"
    if code == 2:
        *_, last = said.splitlines()
        assert last.startswith("glassformer: ") and "pydantic" not in said, said
        return last
    return ""


def read(function: Callable[[], object]) -> str:
    """What Python is told, in one line; empty if nothing is wrong."""
    try:
        function()
    except (ValueError, OSError) as error:
        assert str(error).strip() and "\n" not in str(error) and "pydantic" not in str(error)
        return str(error)
    return ""


def ask_server(home: Path) -> str:
    """What the app asks of trainings on the disk."""
    from glassformer.extensions.serve.api.runs import get_run, list_runs

    service: Any = SimpleNamespace(runs=home / "m", own_trainings=None)
    for each in list_runs(service)["runs"]:
        get_run(each["id"], service)
    return ""


def average(home: Path) -> str:
    shutil.rmtree(home / "mean", ignore_errors=True)
    return call("average", home / "m", "--last", "2", "--out", home / "mean")


def align(home: Path) -> str:
    data = ("--source", home / "train.en", "--target", home / "train.xx")
    return call("align", home / "m", *data)


def continue_training(home: Path) -> str:
    """From the model, for one more update."""
    shutil.rmtree(home / "next", ignore_errors=True)
    data = ("--data", home / "train.en", "--data", home / "train.xx", "--out", home / "next")
    return call("train", "--from", home / "m", *data, "--set", "train.steps=1")


TRANSLATE: Verb = lambda home: call("translate", home / "m")  # noqa: E731
INFO: Verb = lambda home: call("info", home / "m")  # noqa: E731
DOCTOR: Verb = lambda home: call("doctor", home / "m")  # noqa: E731
RESUME: Verb = lambda home: call("train", "--resume", home / "m")  # noqa: E731
SEE: Verb = lambda home: call("see", home / "trace")  # noqa: E731
WATCHED: Verb = lambda home: read(lambda: read_watched(home / "m"))  # noqa: E731
SNAPSHOTS: Verb = lambda home: read(lambda: [*read_snapshots(home / "m/run")])  # noqa: E731

READERS: dict[str, tuple[Verb, ...]] = {
    "m/config.toml": (TRANSLATE, DOCTOR),
    "m/tokenizer.json": (TRANSLATE, DOCTOR),
    "m/model.safetensors": (TRANSLATE, DOCTOR),
    "m/card.md": (INFO, DOCTOR, average, continue_training),
    "m/golden.json": (TRANSLATE, DOCTOR),
    "m/alignment.json": (align,),
    "m/run/run.json": (RESUME, average),
    "m/run/config.toml": (RESUME, average),
    "m/run/tokenizer.json": (RESUME,),
    "m/run/store/index.json": (RESUME,),
    "m/run/valid.target": (RESUME, average),
    "m/run/metrics.jsonl": (RESUME, ask_server),
    "m/run/checkpoints/00000004/progress.json": (RESUME, DOCTOR),
    "m/run/checkpoints/00000004/config.toml": (RESUME, DOCTOR),
    "m/run/watch/sentences.json": (WATCHED, ask_server),
    "m/run/watch/00000002.json": (SNAPSHOTS, ask_server),
    "m/run/watch/gradients.jsonl": (WATCHED, ask_server),
    "trace/trace.json": (SEE,),
    "trace/vocabulary.json": (SEE,),
    "trace/parameters.safetensors": (SEE,),
}


def list_places(value: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to each entry, at any depth; of many entries in one place the first few."""
    keys = value if isinstance(value, dict) else range(len(value))
    is_few = isinstance(value, dict) and len(value) < 50
    for key in list(keys) if is_few else list(keys)[:FEW]:
        yield (*above, key)
        if isinstance(value[key], dict | list):
            yield from list_places(value[key], (*above, key))


def spoil(value: Any) -> Iterator[tuple[str, Any]]:
    """The value with one entry of another kind, or gone; what was done, and what comes of it.

    An entry is put back before the next one changes: each result must be used at once.
    """
    for wrong in WRONG:
        yield f"is {wrong!r}", wrong
    for *above, key in list_places(value):
        holder = value
        for each in above:
            holder = holder[each]
        right = holder[key]
        for wrong in WRONG:
            holder[key] = wrong
            yield f"{[*above, key]} is {wrong!r}", value
        holder[key] = right
        entries = holder.copy()
        del holder[key]
        yield f"{[*above, key]} is gone", value
        if isinstance(holder, dict):
            holder.clear()
            holder.update(entries)  # in their order
        else:
            holder[:] = entries


def cut(data: bytes) -> Iterator[Case]:
    for share in (0.0, 0.3, 0.6, 0.95):
        yield f"cut at {share}", data[: int(share * len(data))]
    yield "without its last byte", data[:-1]


def damage_json(data: bytes) -> Iterator[Case]:
    for done, value in spoil(json.loads(data)):
        yield done, json.dumps(value).encode()


def damage_first_line(data: bytes) -> Iterator[Case]:
    first, rest = data.split(b"\n", 1)
    for done, changed in damage_json(first):
        yield done, changed + b"\n" + rest


def damage_settings(data: bytes) -> Iterator[Case]:
    for done, value in spoil(tomllib.loads(data.decode())):
        with suppress(TypeError, AttributeError, ValueError):  # TOML cannot say it
            yield done, tomli_w.dumps(value).encode()


def damage_card(data: bytes) -> Iterator[Case]:
    """The facts at its head, name: JSON."""
    _, head, text = data.decode().split("---\n", 2)
    facts = dict(line.split(": ", 1) for line in head.splitlines())
    for done, value in spoil({name: json.loads(fact) for name, fact in facts.items()}):
        if isinstance(value, dict):
            lines = "".join(f"{name}: {json.dumps(fact)}\n" for name, fact in value.items())
            yield done, f"---\n{lines}---\n{text}".encode()


def damage_notes(data: bytes) -> Iterator[Case]:
    """The JSON texts that a safetensors file has beside its tensors."""
    size = int.from_bytes(data[:8], "little")
    head = json.loads(data[8 : 8 + size])
    notes = head.get("__metadata__", {})
    for name, note in notes.items():
        for done, changed in damage_json(note):
            head["__metadata__"] = {**notes, name: changed.decode()}
            text = json.dumps(head).encode()
            yield f"{name}: {done}", len(text).to_bytes(8, "little") + text + data[8 + size :]


DAMAGES: dict[str, Callable[[bytes], Iterator[Case]]] = {
    ".json": damage_json,
    ".jsonl": damage_first_line,
    ".toml": damage_settings,
    ".md": damage_card,
    ".safetensors": damage_notes,
}


@pytest.mark.parametrize(
    "most",
    [
        4,
        pytest.param(12, marks=pytest.mark.thorough),
        pytest.param(100_000, marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("name", READERS)
def test_a_damaged_file(home: Path, tmp_path: Path, ledger: Ledger, name: str, most: int) -> None:
    """One entry of another kind or gone, or the file cut; evenly spread cases, all in slow runs."""
    data = (home / name).read_bytes()
    damages = DAMAGES.get(Path(name).suffix)
    cases = [*cut(data), *(damages(data) if damages else ())]
    step = math.ceil(len(cases) / most)
    while math.gcd(step, len(WRONG) + 1) > 1:  # so that each kind of damage has its turn
        step += 1
    for done, changed in cases[::step]:
        place = tmp_path / "home"
        shutil.copytree(home, place, ignore=shutil.ignore_patterns("parent", "tensorboard"))
        (place / name).write_bytes(changed)
        for number, verb in enumerate(READERS[name]):
            try:
                verb(place)
            except Exception as error:
                pytest.fail(f"{done}, reader {number}: {type(error).__name__}: {error}")
        shutil.rmtree(place)
    said = f"{Path(name).name} with an entry of another kind, or cut"
    ledger.note(TABLE, said, EXPECTED, times=len(cases[::step]))


def spoil_weights(path: Path, value: float) -> str:
    """Put one such number into a tensor, and return its name."""
    tensors, name = load_tensors(path), "encoder.0.feed_forward.inner.weight"
    tensors[name].view(-1)[-1] = value
    save_tensors(path, tensors)
    return name


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_weights_that_are_no_numbers(home: Path, tmp_path: Path, value: float) -> None:
    """Every verb that reads a model says which tensor it is, and of which file."""
    place = tmp_path / "home"
    shutil.copytree(home, place)
    path = place / "m/model.safetensors"
    name = spoil_weights(path, value)
    source, target = ("--source", place / "train.en"), ("--target", place / "train.xx")
    for argv in (
        ["translate", place / "m"],
        ["see", place / "m", "the cat"],
        ["align", place / "m", *source, *target],
        ["score", place / "m", *source, *target],
        ["evaluate", place / "m", *source, "--reference", place / "train.xx"],
        ["export", place / "m", "--out", place / "exported"],
        ["serve", place / "m"],
        ["info", place / "m"],
    ):
        said = call(*argv)
        assert f"{path}: some of {name} are not finite" in said, f"{argv[0]}: {said}"
    assert name in continue_training(place)
    with pytest.raises(ValueError, match=name):
        Translator.load(place / "m")
    checkpoint = place / "m/run/checkpoints/00000004/weights.safetensors"
    name = spoil_weights(checkpoint, value)
    assert f"{checkpoint}: some of {name} are not finite" in average(place)
    assert not (place / "mean").exists()


def test_weights_that_are_too_large(home: Path, tmp_path: Path) -> None:
    """Finite, but not what comes of them."""
    shutil.copytree(home / "m", tmp_path / "m")
    path = tmp_path / "m/model.safetensors"
    tensors = load_tensors(path)
    save_tensors(path, {name: each.abs() * 1e38 for name, each in tensors.items()})
    data = ("--source", home / "train.en", "--target", home / "train.xx")
    for argv in (["score", tmp_path / "m", *data], ["align", tmp_path / "m", *data]):
        assert "not finite" in call(*argv)
