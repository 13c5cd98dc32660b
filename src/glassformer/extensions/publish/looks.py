"""A counter of looks at a test text, in the model's directory: `looks.json`.

Who looks at a test text often, and changes something each time, chooses on it: then its score is no
longer that of unseen text. The card of a published model says how often that was. Nothing is
counted for models that come with the package, or where nothing can be written.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from glassformer.evaluate.references import References
from glassformer.foundation.disk import write_json
from glassformer.foundation.typed_json import read_typed
from glassformer.model.files.directory import SHIPPED

LOOKS = "looks.json"
SEVERAL = 3  # looks: from here on that is said


def name_text(sources: Sequence[str], references: References) -> str:
    """Return the digest of a test text, by which it is known again."""
    digest = sha256()
    for lines in (sources, *references):
        digest.update("".join(f"{line or ''}\n" for line in lines).encode("utf-8", "replace"))
    return digest.hexdigest()


def count_look(folder: Path, name: str) -> int:
    """Count one more look at a text, and return how many there were; 0 if that cannot be kept."""
    if folder.resolve().is_relative_to(SHIPPED.resolve()):
        return 0
    looks = read_looks(folder)
    looks[name] = looks.get(name, 0) + 1
    with suppress(OSError):
        write_json(folder / LOOKS, looks)
        return looks[name]
    return 0


def read_looks(folder: Path) -> dict[str, int]:
    """Return how often each text was looked at; nothing if the file is not there, or damaged."""
    with suppress(ValueError, OSError):
        if (folder / LOOKS).is_file():
            return read_typed(folder / LOOKS, dict[str, int])
    return {}


def tell_looks(looks: int) -> str:
    """Return a sentence on so many looks; "" for few."""
    if looks < SEVERAL:
        return ""
    return (
        f"this text was looked at {looks} times with this model: choose on a validation text, or "
        "the score flatters"
    )
