"""Install other engines, each into its own virtual environment."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from glassformer.foundation.disk import write_text

DONE = "installed.txt"
FAILED = "could not be installed"


@dataclass(frozen=True)
class Engine:
    """An engine's requirements, and the package whose version identifies it."""

    package: str
    requirements: tuple[str, ...]
    needs_torch: bool = True


ENGINES = {
    "transformers": Engine("transformers", ("transformers==5.23.0", "sentencepiece")),
    # JoeyNMT does not declare the first two requirements itself.
    "joeynmt": Engine("joeynmt", ("importlib_metadata", "sentencepiece==0.2.0", "joeynmt==2.3.0")),
    "marian": Engine("pymarian", ("pymarian==1.12.42",), needs_torch=False),
    "eole": Engine("eole", ("eole==0.6.4",)),
    "ctranslate2": Engine("ctranslate2", ("ctranslate2==4.8.5",), needs_torch=False),
    "fxtranslate": Engine("fxtranslate", ("fxtranslate==0.5.0",), needs_torch=False),
    "onnxruntime": Engine("onnxruntime", ("onnxruntime==1.32.0",), needs_torch=False),
    "torchlingo": Engine("torchlingo", ("torchlingo==0.2.9",)),
    "nmt-forge": Engine("nmt-forge", ("nmt-forge[hf]==0.3.0", "transformers==5.24.0")),
}


def install(name: str, work: Path) -> Path:
    """Return the Python of an engine's environment, which is created if necessary.

    Raise ValueError where the engine cannot be installed.
    """
    engine, folder = ENGINES[name], (work / "engines" / name).absolute()
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    wanted = list(engine.requirements)
    if engine.needs_torch:  # the same build as ours, if the package index has it
        wanted.insert(0, f"torch=={version('torch').partition('+')[0]}")
    note = "\n".join(wanted) + "\n"
    if (folder / DONE).is_file() and (folder / DONE).read_text(encoding="utf-8") == note:
        return python
    shutil.rmtree(folder, ignore_errors=True)
    print(f"Installing {name} into {folder}", file=sys.stderr)
    try:
        venv.create(folder, with_pip=True)
    except subprocess.CalledProcessError as error:  # Debian without python3-venv
        raise ValueError(f"{name} {FAILED}: no virtual environment ({error})") from None
    command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    done = subprocess.run([*command, *wanted], capture_output=True, encoding="utf-8", check=False)
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["pip says nothing"]
        raise ValueError(f"{name} {FAILED}: {lines[-1]}")
    write_text(folder / DONE, note)
    return python


def find_version(python: Path, name: str) -> str:
    """Return the version of an engine that is installed for this Python."""
    code = f"from importlib.metadata import version; print(version({ENGINES[name].package!r}))"
    command = [str(python), "-c", code]
    return subprocess.run(command, capture_output=True, encoding="utf-8", check=True).stdout.strip()
