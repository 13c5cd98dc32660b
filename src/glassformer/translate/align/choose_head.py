"""Choose the head of cross-attention that aligns words best, and store it beside the weights.

The best measure is gold alignments; next is how far two directions agree (Chen et al. 2020); next
are anchors, words that stand once in both sentences, such as numbers and names. If there are too
few anchors, the measure is the mutual information of a head's rows and keys. A head that training
guided (Chen et al. 2016) is taken unmeasured, unless there is gold.

Letters: C candidates; S source; T target.
"""

import unicodedata
from collections import Counter
from collections.abc import Sequence
from hashlib import file_digest
from pathlib import Path
from typing import Literal

import numpy as np

from ...config import Config, Model, Train
from ...foundation.settings.schema import StrictModel
from ...foundation.typed_json import read_typed
from ...model.files.directory import ALIGNMENT, WEIGHTS, locate, write_json
from .links import Link
from .pairs import (
    AlignmentCandidate,
    Array,
    Attending,
    Pair,
    Row,
    choose_units,
    list_candidates,
    spread_links,
    weigh_links,
)

ENOUGH = 30  # with fewer anchors, their share says little
LONG = 4  # characters of a word that is the same in both languages by more than chance


class AlignmentChoice(StrictModel):
    """A head of cross-attention, how it was chosen, and its score."""

    layer: int
    head: int | None
    row: Row
    chosen_by: Literal["gold", "agreement", "anchors", "information", "guided", "hand"]
    measure: str = ""  # what `score` is
    score: float | None = None
    of: int = 0  # the number of sentences or anchors that were scored
    weights_sha256: str | None = None

    @property
    def candidate(self) -> AlignmentCandidate:
        return AlignmentCandidate(self.layer, self.head, self.row)

    def __str__(self) -> str:
        message = f"{self.candidate}, chosen by {self.chosen_by}"
        return (
            message
            if self.score is None
            else f"{message}: {self.measure} {self.score:.3f} of {self.of:,}"
        )


def choose_alone(model: Attending, pairs: Sequence[Pair]) -> AlignmentChoice:
    """Return the head chosen by anchors, or by information if there are fewer than `ENOUGH`."""
    candidates = list_candidates(model.config.model)
    hits, anchors = np.zeros(len(candidates)), 0
    sums, sentences = np.zeros(len(candidates)), 0
    for number, weights in weigh_links(model, pairs, candidates):
        sums += _measure_information(weights)
        sentences += 1
        if links := find_anchors(pairs[number]):
            result = spread_links(pairs[number], choose_units(weights))
            hits += sum(result[:, i, j] for i, j in links)
            anchors += len(links)
    if anchors >= ENOUGH:
        best = int(hits.argmax())
        share = float(hits[best]) / anchors
        return make_choice(candidates[best], "anchors", "share of anchors found", share, anchors)
    best = int(sums.argmax())
    nats = float(sums[best]) / max(sentences, 1)
    return make_choice(candidates[best], "information", "nats a row", nats, sentences)


def find_anchors(pair: Pair) -> list[Link]:
    """Return links of words that stand exactly once on each side, with a digit or long."""
    sides = []
    for text, words in zip(pair.texts, (pair.source, pair.target), strict=True):
        bare = [_bare(text[start:end]) for start, end in words.spans]
        once = {word for word, count in Counter(bare).items() if count == 1}
        sides.append({word: place for place, word in enumerate(bare) if word in once})
    return [
        (i, sides[1][word]) for word, i in sides[0].items() if word in sides[1] and _tells(word)
    ]


def _bare(word: str) -> str:
    """Return a word without punctuation around it, case-folded: `2017,` and `2017` are equal."""
    inside = [n for n, c in enumerate(word) if unicodedata.category(c)[0] in "LNM"]
    return word[inside[0] : inside[-1] + 1].casefold() if inside else ""


def _tells(word: str) -> bool:
    return any(c.isdigit() for c in word) or len(word) >= LONG


def _measure_information(weights_CTS: Array) -> Array:
    """Return the mutual information of row and key, in nats: 0 if all rows attend alike."""

    def entropy(share: Array) -> Array:
        return np.asarray(-(share * np.log(np.maximum(share, 1e-30))).sum(-1))

    return entropy(weights_CTS.mean(1)) - entropy(weights_CTS).mean(1)


def make_choice(
    where: AlignmentCandidate, by: str, measure: str, score: float, of: int
) -> AlignmentChoice:
    fields = where._asdict() | {"chosen_by": by, "measure": measure, "score": score, "of": of}
    return AlignmentChoice.model_validate(fields)


def save_choice(choice: AlignmentChoice, model: Path | str) -> None:
    """Write the choice to the model directory. Raises OSError if that is not writable."""
    known = choice.model_copy(update={"weights_sha256": _hash_weights(locate(model))})
    write_json(locate(model) / ALIGNMENT, known.model_dump(mode="json"))


def choose_guided(config: Config) -> AlignmentChoice | None:
    """Return the head that training guided; None if it guided none."""
    if not config.train.alignment_weight:
        return None
    layer = find_guided_layer(config.model, config.train)
    where = AlignmentCandidate(layer, config.train.alignment_head, "predicts")
    return AlignmentChoice(**where._asdict(), chosen_by="guided")


def find_guided_layer(model: Model, train: Train) -> int:
    """Return the layer of the decoder in which a head is guided: by default the last but one."""
    if train.alignment_layer is not None:
        return train.alignment_layer
    return max(0, model.decoder_layers - 2)


def load_choice(model: Path | str, config: Config) -> AlignmentChoice | None:
    """Return the stored choice; without one, or if the weights have changed, the guided head.

    None if there is neither.

    Raises ValueError for a damaged file, or a head that the model does not have.
    """
    folder = locate(model)
    path = folder / ALIGNMENT
    if not path.is_file():
        return choose_guided(config)
    choice = read_typed(path, AlignmentChoice)
    place = check_candidate(choice.candidate, config.model, f"{path}: ")
    choice = choice.model_copy(update=place._asdict())
    is_known = choice.weights_sha256 in (None, _hash_weights(folder))
    return choice if is_known else choose_guided(config)


def _hash_weights(folder: Path) -> str:
    with (folder / WEIGHTS).open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def check_candidate(
    where: AlignmentCandidate, settings: Model, before: str = ""
) -> AlignmentCandidate:
    """Return the candidate with layer and head counted from 0.

    Raises ValueError if the model has no such head.
    """
    layer, head, row = where
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
