"""The server under load, from this machine alone: none lost, none swapped, how fast, how large.

make load                                     200 clients, 10,000 requests a side
make load ARGS="--requests 1000 --rounds 1"   a quick look

The sides take turns: our server; our server with one sentence at a time; the same server around
CTranslate2, with the same batching. Every answer is compared with what the same server said when
nobody else asked. Server and clients share the machine: the figures say what one machine does.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SOURCE = HERE.parents[1] / "src"
ALL = ("glassformer", "one at a time", "CTranslate2 float32", "CTranslate2 int8")


@dataclass
class Side:
    """A server, and what was measured of it in each round."""

    name: str
    command: list[str]
    rates: list[float] = field(default_factory=list)  # requests a second
    medians: list[float] = field(default_factory=list)  # milliseconds
    slowest: list[float] = field(default_factory=list)  # 99 of 100 are faster
    failed: int = 0
    requests: int = 0
    memory: list[tuple[float, float]] = field(default_factory=list)  # MB, before and after


def main() -> None:
    asked = read_arguments()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        sentences = pick_sentences(asked.sentences)
        sides = list_sides(asked, folder)
        for number in range(asked.rounds):
            for side in sides[:: -1 if number % 2 else 1]:
                requests = asked.requests
                if side.name == "one at a time":
                    requests = max(requests // 5, 200)  # it would take all day
                measure(side, sentences, requests, asked, folder)
                print(f"round {number + 1}: {tell(side)}", file=sys.stderr, flush=True)
    print(table(sides, asked))
    if any(side.failed for side in sides):
        sys.exit("answers were lost or swapped")


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="demo")
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--sentences", type=int, default=500, help="different ones")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--sides", nargs="+", default=ALL, choices=ALL)
    return parser.parse_args()


def list_sides(asked: argparse.Namespace, folder: Path) -> list[Side]:
    ours = [
        sys.executable,
        "-m",
        "glassformer",
        "serve",
        asked.model,
        "--port",
        "0",
        "--token",
        "t",
        "--device",
        "cpu",
    ]
    found = [
        Side("glassformer", [*ours, "--batch", str(asked.batch)]),
        Side("one at a time", [*ours, "--batch", "1"]),
    ]
    for quantization in ("float32", "int8"):
        if (name := f"CTranslate2 {quantization}") in asked.sides:
            out = folder / quantization
            command = ["export", asked.model, "--out", str(out), "--quantization", quantization]
            run = [sys.executable, "-m", "glassformer", *command]
            subprocess.run(run, check=True, env=environment(asked), stdout=subprocess.DEVNULL)
            more = [asked.model, str(out), quantization, str(asked.threads), str(asked.batch)]
            found.append(Side(name, [sys.executable, str(HERE / "peer.py"), *more]))
    return [side for side in found if side.name in asked.sides]


def pick_sentences(number: int) -> list[str]:
    from glassformer.extensions.demo.corpus import read_corpus

    lines = (source for source, _ in read_corpus().pairs["train"])
    return list(dict.fromkeys(lines))[:number]


def environment(asked: argparse.Namespace) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(SOURCE), "OMP_NUM_THREADS": str(asked.threads)}


@contextmanager
def run_server(side: Side, asked: argparse.Namespace) -> Iterator[int]:
    """Its port."""
    with subprocess.Popen(
        side.command, env=environment(asked), stdout=subprocess.PIPE, text=True
    ) as server:
        try:
            assert server.stdout
            found = re.search(r"127\.0\.0\.1:(\d+)", server.stdout.readline())
            if not found:
                sys.exit(f"{side.name}: the server did not start")
            yield int(found[1])
        finally:
            server.terminate()
            server.wait(60)


def measure(
    side: Side, sentences: list[str], requests: int, asked: argparse.Namespace, folder: Path
) -> None:
    with run_server(side, asked) as port:
        answers = {text: ask(port, text) for text in sentences}
        (folder / "answers.json").write_text(json.dumps(answers), encoding="utf-8")
        before, begun = read_memory(port), time.perf_counter()
        report = load(port, requests, asked, folder)
        seconds = time.perf_counter() - begun
        side.memory.append((before, read_memory(port)))
    side.requests += report["num_requests"]
    side.failed += report["num_failures"] + max(0, requests - report["num_requests"])
    side.rates.append(report["num_requests"] / min(seconds, report["seconds"]))
    side.medians.append(report["p50"])
    side.slowest.append(report["p99"])


def load(port: int, requests: int, asked: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Locust's report on the one path."""
    command = [
        sys.executable,
        "-m",
        "locust",
        "--locustfile",
        str(HERE / "users.py"),
        "--headless",
        "--host",
        f"http://127.0.0.1:{port}",
        "--users",
        str(asked.clients),
        "--spawn-rate",
        str(asked.clients),
        "--json",
        "--only-summary",
        "--loglevel",
        "ERROR",
        "--stop-timeout",
        "60",
    ]
    given = {"LOAD_ANSWERS": str(folder / "answers.json"), "LOAD_REQUESTS": str(requests)}
    done = subprocess.run(
        command, env={**os.environ, **given}, capture_output=True, text=True, check=False
    )
    try:
        (found,) = json.loads(done.stdout[done.stdout.index("[") :])
    except (ValueError, KeyError):
        sys.exit(f"locust gave no report: {done.stderr[-2000:]}")
    times = sorted((float(ms), count) for ms, count in found["response_times"].items())
    return {
        **found,
        "seconds": found["last_request_timestamp"] - found["start_time"],
        "p50": find_share(times, 0.5),
        "p99": find_share(times, 0.99),
    }


def find_share(times: list[tuple[float, int]], share: float) -> float:
    """The time within which this share of the requests was answered."""
    wanted, seen = share * sum(count for _, count in times), 0
    for milliseconds, count in times:
        seen += count
        if seen >= wanted:
            return milliseconds
    return times[-1][0]


def ask(port: int, text: str) -> str:
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    body = json.dumps({"q": text, "source": "en", "target": "fr"})
    connection.request("POST", "/translate", body, {"Content-Type": "application/json"})
    found = json.loads(connection.getresponse().read())
    connection.close()
    return str(found["translatedText"])


def read_memory(port: int) -> float:
    """Resident, in MB."""
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", "/metrics")
    text = connection.getresponse().read().decode()
    connection.close()
    found = re.search(r"^process_resident_memory_bytes (\S+)", text, re.MULTILINE)
    return float(found[1]) / 1e6 if found else float("nan")


def tell(side: Side) -> str:
    return (
        f"{side.name}: {side.rates[-1]:.0f} requests/s, p50 {side.medians[-1]:.0f} ms, "
        f"p99 {side.slowest[-1]:.0f} ms, {side.failed} of {side.requests} wrong, "
        f"memory {side.memory[-1][0]:.0f} -> {side.memory[-1][1]:.0f} MB"
    )


def table(sides: list[Side], asked: argparse.Namespace) -> str:
    """Medians of the rounds; ratios to the first side of the same round."""
    lines = [
        f"{asked.clients} clients, {asked.threads} threads, batches of {asked.batch}, "
        f"{asked.rounds} rounds, medians\n",
        "| server | requests/s | to ours | p50 ms | p99 ms | lost or swapped | memory MB |",
        "|---|---|---|---|---|---|---|",
    ]
    for side in sides:
        ratios = [one / other for one, other in zip(side.rates, sides[0].rates, strict=True)]
        middle = statistics.median
        lines.append(
            f"| {side.name} | {middle(side.rates):.0f} | {middle(ratios):.2f} "
            f"| {middle(side.medians):.0f} | {middle(side.slowest):.0f} "
            f"| {side.failed} of {side.requests} "
            f"| {middle([b for b, _ in side.memory]):.0f} -> "
            f"{middle([a for _, a in side.memory]):.0f} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
