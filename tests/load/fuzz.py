"""Schemathesis against the server's own OpenAPI: whatever is sent, no 500 and no hang.

Each answer has a status, a type and a form that the document names, and each path the methods. It
is done twice: with any ids, and with those of a model, a recording and a training that are there.

make fuzz
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from http.client import HTTPConnection
from pathlib import Path

from measure import Side, read_arguments, run_server

CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "unsupported_method",
    "allow_header_conformance",
)
AUTHORIZATION = "Bearer t"
LIMITS = ["--seconds", "20"]  # the longest text takes more: what is not refused by then hangs
KEPT = """
[[operations]]
include-path-regex = "^/api/{kind}/"
exclude-method = "DELETE"
parameters = {{ "path.id" = {id} }}
"""


def main() -> None:
    asked = read_arguments()
    program = [sys.executable, "-m", "glassformer"]
    with tempfile.TemporaryDirectory() as folder:
        train = ["--train", f"{folder}/trainings"]
        command = [*program, "serve", "demo", "--port", "0", "--token", "t", *LIMITS, *train]
        with run_server(Side("glassformer", command), asked) as port:
            code = fuzz(port, [])
            path = Path(folder) / "ids.toml"
            path.write_text(write_ids(port), encoding="utf-8")
            code = fuzz(port, ["--config-file", str(path)]) or code
    sys.exit(code)


def fuzz(port: int, options: list[str]) -> int:
    """Run Schemathesis; its status is not 0 if it has found something."""
    program = Path(sys.executable).with_name("schemathesis")
    command = [*options, "run", f"http://127.0.0.1:{port}/spec", "--checks", ",".join(CHECKS)]
    command += ["--header", f"Authorization: {AUTHORIZATION}", "--request-timeout", "30"]
    command += ["--max-examples", "50", "--seed", "1", "--continue-on-failure"]
    command += ["--phases", "examples,coverage,fuzzing,stateful"]
    # Streams of events do not end, and a training that was started would go on after all this.
    command += ["--exclude-path-regex", "/(events|start)$"]
    return subprocess.run([program, *command], check=False).returncode


def write_ids(port: int) -> str:
    """Return settings of Schemathesis that name a model, a new recording and a new training."""
    training = {"name": "a", "source": "en", "target": "fr"}
    made = {
        "models": "demo",
        "traces": post(port, "/api/trace", {"text": "The cat is old."}),
        "trainings": post(port, "/api/trainings", training),
    }
    return "".join(KEPT.format(kind=kind, id=json.dumps(id)) for kind, id in made.items())


def post(port: int, path: str, body: dict[str, str]) -> str:
    """Return the id of what is made by a request."""
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    headers = {"Content-Type": "application/json", "Authorization": AUTHORIZATION}
    connection.request("POST", path, json.dumps(body), headers)
    made = json.loads(connection.getresponse().read())
    connection.close()
    return str(made["id"])


if __name__ == "__main__":
    main()
