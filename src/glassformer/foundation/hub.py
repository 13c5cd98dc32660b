"""Models on the Hugging Face hub: `hub:USER/NAME` is fetched, and a published folder is pushed.

Only files that hold data are fetched, into the hub's own cache; nothing of them is run.
"""

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .machine.extras import need

HUB = "hub:"
FILES = ("*.safetensors", "*.toml", "*.json", "*.md", "words.txt")


@functools.cache
def fetch_model(name: str) -> Path:
    """Return the folder of the model `hub:USER/NAME`, fetched if it is not there.

    ValueError, in one sentence, if there is none, or if the hub cannot be reached.
    """
    hub = need("huggingface_hub")
    plain = name.removeprefix(HUB).replace("\\", "/")  # Windows writes a path so
    with _explain(name):
        return Path(hub.snapshot_download(plain, allow_patterns=[*FILES]))


def name_model(folder: Path) -> str:
    """Return the name of a model directory; the hub's cache has it two folders above."""
    home = folder.resolve()
    repository = home.parents[1].name if home.parent.name == "snapshots" else ""
    return repository.split("--", 2)[-1] if repository.startswith("models--") else home.name


def push_model(folder: Path, name: str) -> str:
    """Upload a folder as the model USER/NAME of the hub, and return its address.

    A model that is new there is public. ValueError, in one sentence, if the hub refuses it.
    """
    hub = need("huggingface_hub")
    with _explain(HUB + name):
        repo = hub.create_repo(name, exist_ok=True)
        hub.upload_folder(repo_id=name, folder_path=str(folder))
        return str(repo)


@contextmanager
def _explain(name: str) -> Iterator[None]:
    """Raise ValueError for any error of the hub: it may be one of several libraries."""
    try:
        yield
    except Exception as error:
        message = " ".join(str(error).split()) or type(error).__name__
        raise ValueError(f"{name}: {message}") from None
