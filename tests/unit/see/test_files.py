"""A trace comes back from the disk as it was, or says in one sentence why not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from glassformer.see import Trace, record
from glassformer.see.document import Document
from glassformer.translator import Translator

ROOT = Path(__file__).parents[3]


@pytest.fixture
def saved(trace: Trace, tmp_path: Path) -> Path:
    path = tmp_path / "run.trace"
    trace.save(path, parameters=True)
    return path


def test_it_comes_back(trace: Trace, saved: Path) -> None:
    back = Trace.load(saved)
    assert back.names() == trace.names()
    assert all(np.array_equal(back[name], trace[name]) for name in trace.names())
    changed = {"tensors", "weights_sha256"}
    assert back.document.model_dump(exclude=changed) == trace.document.model_dump(exclude=changed)
    assert back.top(0, 30) == trace.top(0, 30)
    assert {file.name for file in saved.iterdir()} == {
        "trace.json",
        "attention.safetensors",
        "states.safetensors",
        "everything.safetensors",
        "parameters.safetensors",
        "vocabulary.json",
    }


def test_a_shared_matrix_is_saved_once(trace: Trace, saved: Path) -> None:
    back = Trace.load(saved)
    assert set(back.parameters) == set(trace.parameters)
    assert all(np.array_equal(back[name], trace[name]) for name in trace.parameters)
    unique = {
        (a.ctypes.data, a.nbytes) for a in map(trace.parameters.__getitem__, trace.parameters)
    }
    size = (saved / "parameters.safetensors").stat().st_size
    assert size < sum(nbytes for _, nbytes in unique) + 20_000


def test_it_explains_itself_without_the_model(trace: Trace, saved: Path) -> None:
    cell = "decoder.1.feed_forward.inner", (1, 2)
    assert Trace.load(saved).explain(*cell).to_json() == trace.explain(*cell).to_json()


def test_without_parameters_it_says_so(trace: Trace, tmp_path: Path) -> None:
    trace.save(tmp_path / "t")
    with pytest.raises(ValueError, match="saved without the model's parameters"):
        Trace.load(tmp_path / "t").explain("decoder.1.feed_forward.inner", (1, 2))


def test_compact_is_within_its_tolerance(trace: Trace, tmp_path: Path) -> None:
    trace.save(tmp_path / "t", compact=True)
    back = Trace.load(tmp_path / "t")
    tolerance = back.document.tolerance
    assert tolerance is not None and tolerance < 5e-4
    worst = 0.0
    for name in trace.names():
        if trace[name].dtype == np.float32:
            assert back[name].dtype == np.float32
            scale = max(float(np.abs(trace[name]).max()), 1e-3)
            worst = max(worst, float(np.abs(back[name] - trace[name]).max()) / scale)
    assert 0 < worst <= tolerance
    full = tmp_path / "full"
    trace.save(full)
    sizes = [(path / "everything.safetensors").stat().st_size for path in (tmp_path / "t", full)]
    assert sizes[0] < 0.6 * sizes[1]


def test_weights_have_one_fingerprint(make: Callable[..., Translator], tmp_path: Path) -> None:
    """The same for any sentence, another for another weight."""
    translator, found = make(), []
    for number, text in enumerate(["a dog", "so it is", "so it is"]):
        if number == 2:
            translator.model.output_table.weight.data[3, 3] += 1
        record(translator, text, level="attention").save(tmp_path / str(number))
        found.append(Trace.load(tmp_path / str(number)).document.weights_sha256)
    assert found[0] == found[1] != found[2] and len(found[0] or "") == 64


def test_saving_again_replaces_a_trace_and_nothing_else(trace: Trace, saved: Path) -> None:
    trace.save(saved)
    assert not (saved / "parameters.safetensors").exists()
    assert [path.name for path in saved.parent.iterdir()] == [saved.name]
    other = saved.parent / "letters"
    other.mkdir()
    with pytest.raises(ValueError, match="is no trace: it is left as it is"):
        trace.save(other)


def spoil_version(path: Path) -> None:
    head = json.loads((path / "trace.json").read_text(encoding="utf-8"))
    (path / "trace.json").write_text(json.dumps(head | {"schema_version": 7}), encoding="utf-8")


def spoil_key(path: Path) -> None:
    head = json.loads((path / "trace.json").read_text(encoding="utf-8"))
    (path / "trace.json").write_text(json.dumps(head | {"numerics": 3}), encoding="utf-8")


def spoil_shape(path: Path) -> None:
    head = json.loads((path / "trace.json").read_text(encoding="utf-8"))
    head["tensors"]["memory"]["shape"] = [1, 1]
    (path / "trace.json").write_text(json.dumps(head), encoding="utf-8")


def spoil_words(path: Path) -> None:
    head = json.loads((path / "trace.json").read_text(encoding="utf-8"))
    head["words"][0]["merges"][0]["index"] = 99
    (path / "trace.json").write_text(json.dumps(head), encoding="utf-8")


def forget_tensor(path: Path) -> None:
    head = json.loads((path / "trace.json").read_text(encoding="utf-8"))
    del head["tensors"]["memory"]
    (path / "trace.json").write_text(json.dumps(head), encoding="utf-8")


def spoil_wiring(path: Path) -> None:
    head = json.loads((path / "trace.json").read_text(encoding="utf-8"))
    head["wiring"]["windows"][" ecoder.0.output"] = "nothing"
    (path / "trace.json").write_text(json.dumps(head), encoding="utf-8")


def spoil_module(path: Path) -> None:
    head = json.loads((path / "trace.json").read_text(encoding="utf-8"))
    head["wiring"]["modules"].clear()
    (path / "trace.json").write_text(json.dumps(head), encoding="utf-8")


def cut_head(path: Path) -> None:
    text = (path / "trace.json").read_text(encoding="utf-8")
    (path / "trace.json").write_text(text[:100], encoding="utf-8")


def cut_tensors(path: Path) -> None:
    data = (path / "states.safetensors").read_bytes()
    (path / "states.safetensors").write_bytes(data[: len(data) // 2])


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (spoil_version, "trace.json: a trace of version 7, but this is read: 3"),
        (spoil_key, "trace.json: not as this version has it: numerics: "),
        (spoil_shape, "states.safetensors: damaged: memory is not as trace.json says"),
        (spoil_words, r"damaged: words\.0\.merges close \[99"),
        (forget_tensor, "damaged: memory is missing"),
        (spoil_wiring, "damaged: its wiring is of no network with these settings"),
        (spoil_module, "damaged: its wiring is of no network with these settings"),
        (cut_head, "trace.json: damaged"),
        (cut_tensors, "states.safetensors: damaged, or no safetensors file"),
        (lambda path: (path / "states.safetensors").unlink(), "states.safetensors is missing"),
        (lambda path: (path / "trace.json").unlink(), "is no trace: it has no trace.json"),
    ],
)
def test_what_is_damaged_is_refused(saved: Path, spoil: Callable[[Path], None], said: str) -> None:
    spoil(saved)
    with pytest.raises(ValueError, match=said) as error:
        Trace.load(saved)
    assert "\n" not in str(error.value).strip()


def test_a_trace_from_before_there_were_merges_and_wiring(saved: Path) -> None:
    head = json.loads((saved / "trace.json").read_text(encoding="utf-8"))
    del head["words"], head["wiring"]
    (saved / "trace.json").write_text(json.dumps(head), encoding="utf-8")
    older = Trace.load(saved)
    assert older.document.words == () and older.picture("V10").axes
    assert "logits" in older.graph


def test_a_trace_of_the_second_version(saved: Path) -> None:
    head = json.loads((saved / "trace.json").read_text(encoding="utf-8"))
    head["schema_version"] = 2
    merges = [merge for word in head["words"] for merge in word["merges"]]
    for merge in merges:
        merge["place"] = merge.pop("index")
    expected = Trace.load(saved).document
    (saved / "trace.json").write_text(json.dumps(head), encoding="utf-8")
    assert merges and Trace.load(saved).document == expected


def test_the_schema_is_published() -> None:
    published = json.loads((ROOT / "docs" / "trace-schema.json").read_text(encoding="utf-8"))
    assert published == Document.model_json_schema(mode="serialization")


def test_a_reader_needs_no_torch(saved: Path) -> None:
    code = (
        "import sys; from glassformer.see import Trace\n"
        f"trace = Trace.load({str(saved)!r}); trace.explain('memory', (0, 0)).to_text()\n"
        "trace['probabilities']; assert 'torch' not in sys.modules"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)
