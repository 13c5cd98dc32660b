"""The recording of a real translation, with which the learner's numbers are compared.

`python -m glassformer.extensions.course.recording` makes it anew; that needs PyTorch.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .given import MODEL

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from glassformer.see.trace import Trace

FILE = Path(__file__).with_suffix(".safetensors")
SENTENCE = "The animal didn't cross the street because it was too wide."
OTHER = "The animal didn't eat that carrot because it was too hard."
OPEN = "The animal didn't cross the street"  # without its end token, the translation goes on
DEEP = "The cat didn't eat the bread because it was too hard."  # needs every decoder layer
SENTENCES = (SENTENCE, OTHER, OPEN, DEEP)
ENCODER, DECODER = "encoder.0.", "decoder.0."
ATTENTION = ("query", "key", "value", "scores", "weights", "context", "output")
# What the exercises ask for; the names are those of a recording.
NAMES = (
    *(f"{side}_embedding.{part}" for side in ("source", "target") for part in ("embedded", "sum")),
    "source_embedding.positions",
    *(f"{ENCODER}self_attention.{part}" for part in ATTENTION),
    *(f"{DECODER}self_attention.{part}" for part in ("scores", "weights", "mask", "output")),
    *(f"{DECODER}cross_attention.{part}" for part in ("query", "key", "scores", "output")),
    *(
        f"{ENCODER}{name}_residual.{part}"
        for name in ("self_attention", "feed_forward")
        for part in ("normed", "sum")
    ),
    f"{ENCODER}feed_forward.output",
    *(f"{DECODER}{name}_attention_residual.normed" for name in ("self", "cross")),
    f"{DECODER}feed_forward_residual.sum",
    "memory",
    "last",
    "logits",
)


@dataclass(frozen=True)
class CourseRecording:
    """A recorded translation: the tensors by name, the ids of both sides, and the translations."""

    tensors: dict[str, NDArray[Any]]
    source_ids: list[int]
    target_ids: list[int]  # what the decoder reads: it begins with the token <s>
    predicted_ids: list[int]  # what it writes: it ends with the end token
    translations: dict[str, str]

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.tensors[name]


@cache
def read_recording() -> CourseRecording:
    """Return the recording that comes with the package."""
    from safetensors import safe_open

    with safe_open(FILE, "numpy") as file:
        notes = json.loads(file.metadata()["notes"])
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    return CourseRecording(tensors, **notes)


def record_anew() -> tuple[dict[str, NDArray[np.generic]], dict[str, Any]]:
    """Return the tensors and the notes of a recording that is made now."""
    import numpy as np

    from glassformer.translator import Translator

    translator = Translator.load(MODEL, device="cpu")
    trace: Trace = translator.see(SENTENCE)
    ids = trace.ids
    notes = {
        "source_ids": ids["source.ids"].tolist(),
        "target_ids": ids["target.ids"].tolist(),
        "predicted_ids": [token.id for token in trace.predicted],
        "translations": {each: translator.translate(each) for each in SENTENCES},
    }
    return {name: np.ascontiguousarray(trace[name]) for name in NAMES}, notes


if __name__ == "__main__":
    from safetensors.numpy import save_file

    recorded, said = record_anew()
    save_file(recorded, FILE, {"notes": json.dumps(said, ensure_ascii=False)})
