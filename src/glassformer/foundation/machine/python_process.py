"""How this Python is started once more, with this package, whatever the folder is."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path


def plan_python(arguments: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Return the command and the environment of another Python with these arguments."""
    source = str(Path(__file__).parents[3])
    paths = [source, *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    return [sys.executable, *arguments], environment
