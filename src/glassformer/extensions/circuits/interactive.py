"""The circuit of one step of a recording, and what is kept of it while edges are cut by hand.

`web/src/engine/circuits` does the same in a page without a server.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import torch

from glassformer.model.encoder_decoder import EncoderDecoder
from glassformer.see.recorded import check_place
from glassformer.see.trace import Trace

from .circuit import KEEP
from .edges import EdgeNetwork, WordContrast, check_edges
from .faithfulness import Faithfulness
from .flows import measure_hidden
from .why import average_written, judge_circuit
from .words import TEXTUAL, load_network

MOST_EDGES = 20_000  # so that an answer takes seconds
MOST_BY_HEAD = 400_000  # and a minute or two
Kind = Literal["recurrent", "unknown", "edited", "same", "longer", "long", "alone"]


class Unanswerable(NamedTuple):
    """Why there is no circuit: a kind, and the numbers of its message."""

    kind: Kind
    numbers: tuple[int, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return it as the app reads it."""
        return {"refused": self.kind, "numbers": list(self.numbers)}


class CircuitQuestion(NamedTuple):
    """A question about a step of a recording, ready to be measured."""

    network: EdgeNetwork
    contrast: WordContrast
    other: WordContrast | None  # None: the mean over other sentences
    faithfulness: Faithfulness
    mean_of: int = 0  # sentences

    def keep(self, numbers: Sequence[int]) -> float:
        """Return what these edges keep of the lead. Raises ValueError for one that is not there."""
        if any(not 0 <= each < self.faithfulness.size for each in numbers):
            raise ValueError(f"edges: their numbers are 0 to {self.faithfulness.size - 1}")
        with torch.no_grad():
            return self.faithfulness.measure_one(torch.tensor([*numbers], dtype=torch.long))

    def search(self, check: Callable[[], object] = lambda: None) -> dict[str, Any]:
        """Return the lead, what a sum foretells of the counterpart's, and the smallest circuit.

        `check` is called now and then.
        """
        with torch.no_grad():
            foretold = self.other and measure_hidden(self.network, self.contrast, self.other)
            circuit = judge_circuit(
                self.faithfulness,
                "counterpart" if self.other else "mean",
                KEEP,
                lambda done: (check(), done)[1],
            )
        settings = self.network.settings
        return {
            "layers": {"source": settings.encoder_layers, "target": settings.decoder_layers},
            "lead": self.faithfulness.whole,
            "there": self.faithfulness.nothing,
            "foretold": foretold and foretold["held"],
            "mean_of": self.mean_of,
            "answers": self.contrast.answers,
            "found": circuit and {**circuit.to_json(), "numbers": list(circuit.numbers)},
        }


def ask_circuit(
    trace: Trace,
    step: int,
    rival: int | None,
    counterpart: Sequence[int] | None,
    sentences: Sequence[WordContrast] = (),
    *,
    by_head: bool = False,
) -> CircuitQuestion | Unanswerable:
    """Return the question why a step has its token and not another, or why it cannot be asked.

    rival: an id; None is what the network says in the counterpart or, if that is the token itself,
    the likeliest other token here. counterpart: ids of another sentence, whose values all edges
    outside the circuit carry; None if they carry their mean over other sentences. by_head: tell
    heads apart, and their queries, keys and values. Raises ValueError for a wrong step or rival.
    """
    step = check_place(step, len(trace.predicted), "step")
    token, size = trace.predicted[step].id, trace.document.target_vocabulary
    if rival is not None and (rival == token or not 0 <= rival < size):
        raise ValueError(f"rival={rival}: the id of another token, 0 to {size - 1}")
    ids, prefix = (
        tuple(each.id for each in side) for side in (trace.source, trace.target[: step + 1])
    )
    if obstacle := _refuse(trace, ids, counterpart, sentences):
        return obstacle
    network = load_network(trace)
    try:
        check_edges(network)
    except ValueError:
        return Unanswerable("unknown")
    asked = WordContrast(ids, prefix, (token, 0))
    other = None if counterpart is None else asked._replace(source=(*counterpart,))
    answers = token, _find_rival(network, trace, step, other) if rival is None else rival
    contrast, other = asked._replace(answers=answers), other and other._replace(answers=answers)
    edges = EdgeNetwork(network, by_head=by_head)
    with torch.no_grad():
        written = edges.run([other]).written if other else average_written(edges, sentences)
        faithfulness = Faithfulness(edges, [contrast], written, by_position=True)
    most = MOST_BY_HEAD if by_head else MOST_EDGES
    if faithfulness.size > most:
        return Unanswerable("long", (faithfulness.size, most))
    return CircuitQuestion(edges, contrast, other, faithfulness, 0 if other else len(sentences))


def _refuse(
    trace: Trace,
    ids: Sequence[int],
    counterpart: Sequence[int] | None,
    sentences: Sequence[WordContrast],
) -> Unanswerable | None:
    if trace.settings.network != "transformer":
        return Unanswerable("recurrent")
    if any(edit["do"] not in TEXTUAL for edit in trace.edits):
        return Unanswerable("edited")
    if counterpart is None:
        return None if sentences else Unanswerable("alone")
    if len(counterpart) != len(ids):
        return Unanswerable("longer", (len(counterpart), len(ids)))
    return Unanswerable("same") if [*counterpart] == [*ids] else None


def _find_rival(
    network: EncoderDecoder, trace: Trace, step: int, there: WordContrast | None
) -> int:
    token = trace.predicted[step].id
    if there:
        with torch.no_grad():
            logits_V = network(torch.tensor([there.source]), torch.tensor([there.given]))[0, -1]
        if (likeliest := int(logits_V.argmax())) != token:
            return likeliest
    return next(each.id for each in trace.top(step, 2) if each.id != token)
