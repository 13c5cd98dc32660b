"""Schemathesis against the server's own OpenAPI: whatever is sent, no 500 and no hang.

Each answer has a status, a type and a form that the document names.

make fuzz
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from measure import Side, read_arguments, run_server

CHECKS = ",".join(
    (
        "not_a_server_error",
        "status_code_conformance",
        "content_type_conformance",
        "response_schema_conformance",
    )
)


def main() -> None:
    asked = read_arguments()
    command = [
        sys.executable,
        "-m",
        "glassformer",
        "serve",
        "demo",
        "--port",
        "0",
        "--token",
        "t",
        "--seconds",
        "20",  # the longest text takes more: what is not refused by then hangs
    ]
    with run_server(Side("glassformer", command), asked) as port:
        url = f"http://127.0.0.1:{port}/spec"
        fuzz = [
            "run",
            url,
            "--checks",
            CHECKS,
            "--header",
            "Authorization: Bearer t",
            "--request-timeout",
            "30",
            "--max-examples",
            "50",
            "--seed",
            "1",
            "--phases",
            "examples,coverage,fuzzing",
            "--exclude-path-regex",
            "/events$",
        ]
        program = Path(sys.executable).with_name("schemathesis")
        done = subprocess.run([program, *fuzz], check=False)
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
