"""The data of a recording: tokens, tensors and what is computed from them. Imports no torch.

Names are those of `catalogue.toml` with the number of the layer in place of the star; arrays
have no batch axis. Letters: H heads, S source, T rows of the decoder, K width of a head.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..config import EOS, Model
from ..foundation.compatibility.former_names import rename_tensor
from .document import Document, Search, SentenceSpans, Token

if TYPE_CHECKING:
    from torch import Tensor

    from .opgraph import Graph

Array = NDArray[Any]


class NextToken(NamedTuple):
    """A candidate for the next token."""

    text: str
    id: int
    log_prob: float


class RecordedTensors:
    """The data of a recording; `Trace` adds what is done with it.

    Derived tensors, such as `trace["probabilities"]`, are computed at their first use. Parameters
    have their names in the model, if the trace has them. An unknown name raises ValueError.
    """

    def __init__(
        self,
        document: Document,
        tensors: Mapping[str, Array],
        parameters: Mapping[str, Array] | None = None,
        vocabulary: Sequence[str] | None = None,
        search_with_beam: Callable[[], Search] | None = None,
        record_cut: Callable[[str, int], Any] | None = None,
    ):
        self.document, self.tensors = document, tensors
        self.parameters = {} if parameters is None else parameters
        self.vocabulary = vocabulary  # the texts of all target tokens
        self._search_with_beam = search_with_beam  # searches the same sentence with the same model
        self.record_cut = record_cut  # records it without a word, given with its occurrence
        self.text, self.translation = document.text, document.translation
        self.source: tuple[Token, ...] = document.source  # with EOS, if the model reads one
        self.own_source = tuple(token for token in self.source if token.id != EOS)
        self.target: tuple[Token, ...] = document.target  # the decoder's rows, BOS included
        self.predicted: tuple[Token, ...] = document.predicted  # what came after each row
        self.settings, self.level = document.settings, document.level
        self.predictions, self.search = document.predictions, document.search
        self.numerics, self.edits = document.numerics, document.edits

    def __repr__(self) -> str:
        size = f"{len(self.tensors)} tensors, level={self.level}"
        if len(self.sentences) > 1:
            size = f"sentence {self.sentence} of {len(self.sentences)}, {size}"
        return f"<{type(self).__name__} {self.text!r} -> {self.translation!r}: {size}>"

    @property
    def sentences(self) -> tuple[SentenceSpans, ...]:
        """Return the sentences of the given text, as spans of it and of its translation."""
        if whole := self.document.whole:
            return whole.sentences
        return (SentenceSpans(source=(0, len(self.text)), target=(0, len(self.translation))),)

    @property
    def sentence(self) -> int:
        """Return the index of the sentence that was recorded, from 0."""
        return self.document.whole.chosen if self.document.whole else 0

    @property
    def whole_text(self) -> str:
        """Return the given text; `text` is the sentence of it that was recorded."""
        return self.document.whole.text if self.document.whole else self.text

    @property
    def whole_translation(self) -> str:
        """Return the translation of all sentences as the user gets it.

        `translation` is that of the recorded one as the network wrote it: in the usual case.
        """
        return self.document.whole.translation if self.document.whole else self.translation

    @property
    def size(self) -> int:
        """Return the bytes that the tensors take in memory, without the model's parameters."""
        return sum(array.nbytes for array in (*self.tensors.values(), *self._computed.values()))

    def names(self) -> list[str]:
        """Return the names of the recorded tensors, in the order in which they were computed."""
        return list(self.tensors)

    def __contains__(self, name: str) -> bool:
        return self.resolve(name) in self.tensors

    def __getitem__(self, name: str) -> Array:
        name = self.resolve(name)
        if name in self.tensors:
            return self.tensors[name]
        if name in self.ids:
            return self.ids[name]
        if name in self.parameters:
            return self.parameters[name]
        if name in self._computed:
            return self._computed[name]
        op = self.graph.get(name)
        if op is None or not op.derived:
            raise ValueError(self._tell_missing(name))
        from .recompute import recompute

        self._computed[name] = recompute(op, self.__getitem__).astype(np.float32)
        return self._computed[name]

    @cached_property
    def beam_search(self) -> Search | None:
        """Return a beam search of the same sentence, made at the first use.

        It is None for a recording that was read from disk, because the model is not loaded.
        """
        return self._search_with_beam() if self._search_with_beam else None

    @cached_property
    def _computed(self) -> dict[str, Array]:
        return {}

    @cached_property
    def ids(self) -> dict[str, Array]:
        """Return the token ids that the network was given, by name."""
        sides = {"source.ids": self.source, "target.ids": self.target}
        return {name: np.array([token.id for token in side]) for name, side in sides.items()}

    @cached_property
    def graph(self) -> Graph:
        """Return the equation of each tensor, by name; see `opgraph`."""
        return self.build_graph(len(self.source), len(self.target))

    def build_graph(self, source: int, target: int) -> Graph:
        """Return the graph for a recording of `source` and `target` positions."""
        from .opgraph import build_graph

        wiring = self.document.wiring
        if wiring is None:
            from .wiring import record_wiring

            wiring = record_wiring(self.settings)
        vocabularies = self.document.source_vocabulary, self.document.target_vocabulary
        return build_graph(self.settings, wiring, source, target, *vocabularies)

    def resolve(self, name: str) -> str:
        """Return the full name; in `name`, layer -1 is the last, -2 the one before."""
        return resolve(name, self.settings)

    def top(self, step: int, k: int = 5) -> list[NextToken]:
        """Return the `k` most probable next tokens of the decoder's row `step`.

        Raises ValueError for a step that does not exist, or a `k` larger than the trace keeps.
        """
        step = check_place(step, len(self.predictions), "step")
        kept = self.predictions[step]
        if k <= len(kept.ids):
            columns = zip(kept.texts, kept.ids, kept.log_probs, strict=True)
            return [NextToken(*row) for row in columns][:k]
        if "logits" not in self or self.vocabulary is None:
            raise ValueError(
                f"k={k}: this trace keeps the {len(kept.ids)} most probable tokens of each step; "
                "record with level=everything to have all"
            )
        logits = self["logits"][step].astype(np.float64)
        log_probs = logits - np.logaddexp.reduce(logits)
        best = np.argsort(-log_probs, kind="stable")[:k].tolist()
        return [NextToken(self.vocabulary[id], id, float(log_probs[id])) for id in best]

    def _tell_missing(self, name: str) -> str:
        if name in self.graph:
            if self.graph[name].kind == "parameter":
                return f"{name}: this trace was saved without the model's parameters"
            return f"{name} is not in a recording with level={self.level}: use level=everything"
        near = get_close_matches(name, [*self.graph], 1, 0.3)
        return f"there is no {name}; did you mean {near[0] if near else self.names()[0]}?"


def resolve(name: str, settings: Model) -> str:
    """Return the full name of today of a tensor such as `decoder.-1.feed_forward.output`.

    A layer counted from the end is counted from 0. Raises ValueError if there are not as many.
    """
    name = rename_tensor(name)
    layers = {"encoder": settings.encoder_layers, "decoder": settings.decoder_layers}
    side, _, rest = name.partition(".")
    number, dot, window = rest.partition(".")
    if side in layers and number.startswith("-") and number[1:].isdecimal():
        if int(number) < -layers[side]:
            raise ValueError(
                f"{name}: the {side} has {layers[side]} layers, 0 to {layers[side] - 1}"
            )
        return f"{side}.{layers[side] + int(number)}{dot}{window}"
    return name


def check_place(place: int, size: int, what: str) -> int:
    """Return an index counted from 0; a negative one counts from the end.

    Raises ValueError, which begins with `what`, if it is out of range.
    """
    if not -size <= place < size:
        raise ValueError(f"{what} {place} is out of range, it goes from 0 to {size - 1}")
    return place % size


class Parameters(Mapping[str, "Array"]):
    """A mapping from names of weights to arrays, each made when it is read.

    On a CPU they share memory with the model.
    """

    def __init__(self, tensors: Mapping[str, Tensor]):
        self.tensors = tensors

    def __getitem__(self, name: str) -> Array:
        return self.tensors[name].detach().cpu().numpy()

    def __iter__(self) -> Iterator[str]:
        return iter(self.tensors)

    def __len__(self) -> int:
        return len(self.tensors)


def to_arrays(taken: Mapping[str, list[Tensor]]) -> dict[str, Array]:
    """Return the one recorded value of each window without its batch axis; positions have none."""
    return {
        name: (value if name.endswith(".positions") else value[0]).cpu().numpy()
        for name, (value,) in taken.items()
    }
