"""How long `/health` waits while hostile clients come: pages and files of 200 kB, 60 at a time.

python tests/load/hostile.py            ten bursts: each of the hostile units as page, HTML and SRT
python tests/load/hostile.py --bursts 3

Each client sends its request, stays for 0.2 s and leaves. Another process asks for `/health`
meanwhile, since the clients' own Python would let it wait. Server and clients share the machine.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from typing import NoReturn

sys.path.append(str(Path(__file__).parents[1] / "faults"))

from damage.hostile_clients import (
    CLIENTS,
    Address,
    run_server,
    send_and_leave,
    write_file,
    write_page,
)
from damage.hostile_units import UNITS

PAUSE = 0.005  # seconds between two questions
QUIET = 1.0  # seconds before and after a burst


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bursts", type=int, default=10)
    parser.add_argument("--ask", type=int, help=argparse.SUPPRESS)  # the port; in another process
    asked = parser.parse_args()
    if asked.ask:
        ask_for_health(asked.ask)
    files = [write_file(unit, f"a.{form}") for unit in UNITS for form in ("html", "srt")]
    requests = [*map(write_page, UNITS), *files]
    with run_server() as server:
        slowest = [measure_burst(server, requests) for _ in range(asked.bursts)]
    print(
        f"{len(requests)} requests, {asked.bursts} bursts, {os.cpu_count()} cores: the slowest "
        f"/health of a burst took {median(slowest):.2f} s (median), {max(slowest):.2f} s (at most)"
    )


def measure_burst(server: Address, requests: list[bytes]) -> float:
    """Return the seconds of the slowest answer of /health while these requests come."""
    command = [sys.executable, __file__, "--ask", str(server.port)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as poll:
        time.sleep(QUIET)
        with ThreadPoolExecutor(CLIENTS) as pool:
            for request in requests:
                pool.submit(send_and_leave, server, request)
        time.sleep(QUIET)
        poll.terminate()
        return max(map(float, poll.communicate()[0].split()))


def ask_for_health(port: int) -> NoReturn:
    """Print the seconds that each answer takes, until somebody ends this process."""
    server = Address(0, port)
    while True:
        begun = time.monotonic()
        server.ask("/health")
        print(time.monotonic() - begun, flush=True)
        time.sleep(PAUSE)


if __name__ == "__main__":
    main()
