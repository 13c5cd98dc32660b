"""Trainings, as they lie on the disk or are being written."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from glassformer.extensions.serve.limits import Limits
from glassformer.extensions.serve.running import make_service
from glassformer.foundation.disk import write_json
from glassformer.train.run.watch import cut_after

from .conftest import TOKEN, Client, start


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("runs") / "my <model>" / "run"
    (run / "watch").mkdir(parents=True)
    lines = [{"step": step, "loss": 5 - step / 10} for step in (10, 20)]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (run / "metrics.jsonl").write_text(text + '{"step": 30, "lo', encoding="utf-8")
    told = {"step": 10, "translations": ["le chat"]}
    (run / "watch" / "00000010.json").write_text(json.dumps(told), encoding="utf-8")
    tensors = {"0.decoder.0.cross_attention.weights": np.ones((2, 3, 4), np.float16)}
    save_file(tensors, run / "watch" / "00000010.safetensors")
    return run


@pytest.fixture(scope="module")
def runs(folder: Path) -> Iterator[Client]:
    service = make_service(["demo"], runs=folder.parents[1], limits=Limits())
    yield from start(service)


def test_runs(runs: Client) -> None:
    found, example = runs.ask("/api/runs").json["runs"]
    assert example["id"] == "example" and example["example"] and not found["example"]
    assert found["id"] == "my-model" and found["name"] == "my <model>" and found["step"] == 20
    run = runs.ask("/api/runs/my-model").json
    assert [line["step"] for line in run["metrics"]] == [10, 20]
    assert run["snapshots"] == [{"step": 10, "translations": ["le chat"]}]
    assert [line["step"] for line in runs.ask("/api/runs/my-model?after=10").json["metrics"]] == [
        20
    ]
    assert runs.ask("/api/runs/other").status == 404


def test_snapshots(runs: Client) -> None:
    base = "/api/runs/my-model/snapshots"
    name = "0.decoder.0.cross_attention.weights"
    assert runs.ask(f"{base}/10").json == {"tensors": {name: [2, 3, 4]}}
    found = runs.ask(f"{base}/10/tensors/{name}?slice=0,0")
    assert np.frombuffer(found.body, "<f4").tolist() == [1.0] * 4
    assert "the nearest is 10" in runs.ask(f"{base}/11").json["error"]
    assert runs.ask(f"{base}/10/tensors/0.decoder").status == 404


def test_a_step_of_any_length_was_not_recorded(runs: Client) -> None:
    base = "/api/runs/my-model/snapshots"
    for step in ("11", "-10", "9" * 4000):
        for rest in ("", "/tensors/x"):
            found = runs.ask(f"{base}/{step}{rest}")
            assert found.status == 404 and "the nearest is 10" in found.json["error"]


def test_a_stream_has_a_head(runs: Client) -> None:
    """It is the whole answer: the connection is free for the next request at once."""
    connection = HTTPConnection("127.0.0.1", runs.port, timeout=20)
    for method, path in (("HEAD", "/api/runs/my-model/events"), ("GET", "/health")):
        connection.request(method, path, headers={"Authorization": f"Bearer {TOKEN}"})
        answer = connection.getresponse()
        assert answer.status == 200
        if method == "HEAD":
            assert answer.headers["Content-Type"].startswith("text/event-stream")
        assert bool(answer.read()) is (method == "GET")
    connection.close()


def test_a_training_under_way_is_followed(runs: Client, folder: Path) -> None:
    from http.client import HTTPConnection

    connection = HTTPConnection("127.0.0.1", runs.port, timeout=20)
    connection.request(
        "GET", "/api/runs/my-model/events?after=20", headers={"Authorization": "Bearer secret"}
    )
    response = connection.getresponse()
    assert response.readline().startswith(b": following")
    with (folder / "metrics.jsonl").open("a", encoding="utf-8") as file:
        file.write('\n{"step": 40, "loss": 1.0}\n')
    lines = iter(response.readline, b"")
    assert next(line for line in lines if line.startswith(b"event")) == b"event: metrics\n"
    assert json.loads(next(lines).removeprefix(b"data: ")) == {"step": 40, "loss": 1.0}

    def hear() -> dict[str, Any]:
        line = next(line for line in lines if line.startswith(b"data: "))
        return json.loads(line.removeprefix(b"data: "))

    metrics, path = folder / "metrics.jsonl", folder / "watch" / "00000020.json"
    write_json(path, {"step": 20, "translations": ["le chien"]})
    assert hear() == {"step": 20, "translations": ["le chien"]}, "of the update that was the last"
    with metrics.open("a", encoding="utf-8") as file:
        file.write('{"step": 40, "valid BLEU": 9.0}\n')
    assert hear() == {"step": 40, "valid BLEU": 9.0}, "a second line of an update"
    cut_after(metrics, 20)
    write_json(path, {"step": 20, "translations": ["le chat"]})
    with metrics.open("a", encoding="utf-8") as file:
        file.write('{"step": 20, "diverged": "loss"}\n')
    assert hear() == {"step": 20, "diverged": "loss"}, "after going back"
    assert hear() == {"step": 20, "translations": ["le chat"]}
    response.close()
    connection.close()


def test_an_example_comes_with_the_package(client: Client) -> None:
    (found,) = client.ask("/api/runs").json["runs"]
    assert found["id"] == "example" and found["has_watch"]
    run = client.ask("/api/runs/example").json
    steps = [each["step"] for each in run["snapshots"]]
    assert len(steps) >= 12 and steps == sorted(steps)
    first, last = (each["translations"][0] for each in (run["snapshots"][0], run["snapshots"][-1]))
    riddle = run["sentences"][0]
    assert last == riddle["reference"] and first != last
    assert all(isinstance(id, int) for id in riddle["reference_ids"])
    blocks = list(client.ask("/api/runs/example/snapshots/0").json["tensors"])
    cross = [name for name in blocks if name.startswith("0.") and "cross" in name][-1]
    sharp = [
        measure_entropies(client, f"/api/runs/example/snapshots/{step}/tensors/{cross}")
        for step in (steps[0], steps[-1])
    ]
    assert (sharp[0] > sharp[1]).all()  # of every head


def measure_entropies(client: Client, path: str) -> np.ndarray:
    """The mean entropy of the rows of each head, in nats."""
    answer = client.ask(path)
    shape = [int(each) for each in answer.headers["X-Shape"].split(",")]
    weights = np.frombuffer(answer.body, "<f4").reshape(shape)
    terms = weights * np.log(np.maximum(weights, 1e-9))
    return -terms.sum(-1).mean(-1)


def test_the_example_is_small() -> None:
    from glassformer.extensions.serve.api.runs import EXAMPLE

    assert sum(path.stat().st_size for path in EXAMPLE.rglob("*.*")) < 300_000
