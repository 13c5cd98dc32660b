"""The choice of the head that aligns words, made once and stored in the model directory."""

from __future__ import annotations

from hashlib import file_digest
from pathlib import Path
from typing import Literal

from ..directory import WEIGHTS, locate, write_json
from ..settings.schema import StrictModel
from ..translator import Translator
from ..typed_json import read_typed
from .align import AlignmentCandidate, Row

ALIGNMENT = "alignment.json"


class AlignmentChoice(StrictModel):
    """A head of cross-attention, how it was chosen, and its score."""

    layer: int
    head: int | None
    row: Row
    chosen_by: Literal["gold", "agreement", "anchors", "information", "hand"]
    measure: str = ""  # what `score` is
    score: float | None = None
    of: int = 0  # the number of sentences or anchors that were scored
    weights_sha256: str | None = None

    @property
    def candidate(self) -> AlignmentCandidate:
        return AlignmentCandidate(self.layer, self.head, self.row)

    def __str__(self) -> str:
        said = f"{self.candidate}, chosen by {self.chosen_by}"
        return (
            said
            if self.score is None
            else f"{said}: {self.measure} {self.score:.3f} of {self.of:,}"
        )


def save_choice(choice: AlignmentChoice, model: Path | str) -> None:
    """Write the choice to the model directory. Raises OSError if that is not writable."""
    known = choice.model_copy(update={"weights_sha256": _hash_weights(locate(model))})
    write_json(locate(model) / ALIGNMENT, known.model_dump(mode="json"))


def load_choice(model: Path | str, translator: Translator) -> AlignmentChoice | None:
    """Return the stored choice; None if there is none, or if the weights have changed since.

    Raises ValueError for a damaged file, or a head that the model does not have.
    """
    folder = locate(model)
    path = folder / ALIGNMENT
    if not path.is_file():
        return None
    choice = read_typed(path, AlignmentChoice)
    place = find_choice_file(choice.candidate, translator, f"{path}: ")
    choice = choice.model_copy(update=place._asdict())
    return choice if choice.weights_sha256 in (None, _hash_weights(folder)) else None


def _hash_weights(folder: Path) -> str:
    with (folder / WEIGHTS).open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def find_choice_file(
    where: AlignmentCandidate, translator: Translator, before: str = ""
) -> AlignmentCandidate:
    """Return the candidate with layer and head counted from 0.

    Raises ValueError if the model has no such head.
    """
    settings, (layer, head, row) = translator.config.model, where
    for name, number, count in (
        ("layer", layer, settings.decoder_layers),
        ("head", head, settings.heads),
    ):
        if number is not None and not -count <= number < count:
            raise ValueError(f"{before}{name} {number} is out of range: 0 to {count - 1}, or -1")
    if layer % settings.decoder_layers not in settings.attending_layers:
        raise ValueError(f"{before}layer {layer} of this model does not attend to the source")
    return AlignmentCandidate(
        layer % settings.decoder_layers, None if head is None else head % settings.heads, row
    )
