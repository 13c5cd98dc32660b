"""The project knows no machine but its reader's: no file names a folder of ours."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PRIVATE = re.compile(r"(?<![\w.-])/(?:home|root|Users|work|workspace|opt)/\w|(?:\.\./)+shared\b")
EXCEPTIONS = {".ci/run"}  # it tells the tests where their data may lie


def test_no_private_paths() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout.decode()
    found = []
    for name in filter(None, listed.split("\0")):
        path = ROOT / name
        if name in EXCEPTIONS or not path.is_file():
            continue
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue  # weights, pictures
        for number, line in enumerate(text.splitlines(), start=1):
            if PRIVATE.search(line):
                found.append(f"{name}:{number}: {line.strip()[:80]}")
    assert not found
