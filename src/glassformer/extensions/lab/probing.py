"""Measurements of where in a network an answer is settled, over many pairs.

Of each pair only one step is asked about: how much likelier is the right token than the wrong one,
as ln of the odds? Then something is taken away, and the same is asked again: a head, a block, the
attention from some positions to others, or vectors, which are replaced by another sentence's.

Letters: B pairs; H heads; L rows; Q queries; M keys; V vocabulary.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor

from glassformer.config import Model
from glassformer.decode.score import padded
from glassformer.foundation.tap import Edit
from glassformer.foundation.tap import record as watch
from glassformer.translator import Translator

from .probe_pairs import REST, ProbePair

STEP, BEFORE, BATCH = "step", "steps before", 512
TARGET = "target."  # what a role of the translation begins with, where both sides are named
BLOCKS = {  # the name of the window by kind of attention
    "encoder self": "encoder.{}.self_attention",
    "decoder cross": "decoder.{}.cross_attention",
    "decoder self": "decoder.{}.self_attention",
}
Progress = Callable[[int], object]


class Edge(NamedTuple):
    """Attention of one kind from the positions of some roles to those of others."""

    kind: str  # of BLOCKS
    queries: tuple[str, ...]
    keys: tuple[str, ...]


class Look(NamedTuple):
    """A query whose attention to two roles is compared."""

    kind: str
    query: str


class Probe:
    """A model and pairs that it is asked about, a batch at a time."""

    def __init__(
        self,
        translator: Translator,
        pairs: Sequence[ProbePair],
        progress: Progress = lambda done: None,
    ):
        self.translator, self.pairs, self.progress = translator, pairs, progress
        size = min(BATCH, len(pairs))
        self.batches = [pairs[n : n + size] for n in range(0, len(pairs), size)]

    @property
    def settings(self) -> Model:
        return self.translator.config.model

    def ask(self, edit: Callable[[Sequence[ProbePair]], dict[str, Edit]] | None = None) -> Tensor:
        """Return ln p(right) - ln p(wrong) at the step of each pair, B. `edit`: by batch."""
        odds = [self.read(batch, edit(batch) if edit else {})[0] for batch in self.batches]
        self.progress(1)
        return torch.cat(odds)

    def read(
        self,
        batch: Sequence[ProbePair],
        edits: Mapping[str, Edit],
        keep: Callable[[str], bool] = lambda name: False,
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Return the odds of a batch, and what passed the windows to keep."""
        device = self.translator.device
        sources = padded([pair.source for pair in batch], device)
        inputs = padded([pair.given for pair in batch], device)
        steps = torch.tensor([pair.step for pair in batch], device=device)
        answers = torch.tensor([pair.answers for pair in batch], device=device)
        with torch.inference_mode(), watch(self.translator.model, keep, edits) as (view, taken):
            y_BTD = view.read(sources, inputs)
            logits_BV = view.logits(y_BTD[torch.arange(len(batch), device=device), steps])
        right_B, wrong_B = logits_BV.float().gather(1, answers).unbind(1)
        kept = {name: values[0].cpu() for name, values in taken.items()}
        return (right_B - wrong_B).cpu(), kept

    def list_blocks(self) -> Iterator[tuple[str, str]]:
        """Yield each block of attention: its kind, and the name of its window."""
        for kind in BLOCKS:
            for name in self.name_blocks(kind):
                yield kind, name

    def name_blocks(self, kind: str) -> list[str]:
        """Return the blocks of a kind; a recurrent network attends from its decoder alone."""
        layers = range(self.settings.decoder_layers)
        if kind == "decoder cross":
            layers = self.settings.attending_layers
        elif self.settings.network != "transformer":
            layers = range(0)
        elif kind == "encoder self":
            layers = range(self.settings.encoder_layers)
        return [BLOCKS[kind].format(n) for n in layers]


def share_right(odds: Tensor) -> float:
    """Return the share of pairs in which the right token is likelier than the wrong one."""
    return (odds > 0).cpu().double().mean().item()


def find_places(pair: ProbePair, role: str, kind: str) -> list[int]:
    """Return the positions of a role as a query, of a kind of attention, or as a key of its own."""
    if role == STEP:
        return [pair.step]
    if role.startswith(TARGET) or kind == "decoder self":
        return pair.rows[role.removeprefix(TARGET)]
    return pair.words[role]


def prefer_roles(probe: Probe, looks: Mapping[str, Look], roles: tuple[str, str]) -> dict[str, Any]:
    """Return how often each head attends more to the first role than to the second.

    The result is a share for each layer and head, under the name of each look. A head that does not
    know which is which has half, if the pairs have both roles in all places equally often.
    """
    results: dict[str, Any] = {}
    for name, (kind, query) in looks.items():
        results[name] = _average(
            probe, kind, query, roles, lambda both: (both[0] > both[1]).cpu().double().sum(1)
        )
    return results


def measure_attention(probe: Probe, kind: str, query: str, role: str) -> list[list[float]]:
    """Return the mean attention from the query to all positions of a role, by layer and head."""
    return _average(probe, kind, query, (role,), lambda each: each[0].cpu().double().sum(1))


def _average(
    probe: Probe, kind: str, query: str, roles: Sequence[str], add: Callable[[list[Tensor]], Tensor]
) -> list[list[float]]:
    """Return, by layer and head, what `add` sums over a batch's attention to roles, for a pair."""
    sums, names = [], {f"{name}.weights" for name in probe.name_blocks(kind)}
    for batch in probe.batches:
        kept = probe.read(batch, {}, names.__contains__)[1]
        sums.append(add([_attend(probe, batch, kept, kind, query, role) for role in roles]))
    probe.progress(1)
    averages: list[list[float]] = (torch.stack(sums).sum(0) / len(probe.pairs)).tolist()
    return averages


def _attend(
    probe: Probe,
    batch: Sequence[ProbePair],
    kept: Mapping[str, Tensor],
    kind: str,
    query: str,
    role: str,
) -> Tensor:
    """Return the attention from a query to a role: layers x B x H, the mean over the query."""
    results = []
    for name in probe.name_blocks(kind):
        rows = []
        for pair, weights_HQM in zip(batch, kept[f"{name}.weights"], strict=True):
            queries, keys = find_places(pair, query, kind), find_places(pair, role, kind)
            rows.append(weights_HQM[:, queries][:, :, keys].sum(-1).mean(1))
        results.append(torch.stack(rows))
    return torch.stack(results)


def silence_blocks(probe: Probe) -> dict[str, list[list[float]]]:
    """Return the share of right answers without each head and, last in its row, each whole block.

    There is a row for each layer, by kind. A network with one head has the block alone.
    """
    results: dict[str, list[list[float]]] = {}
    for kind, block in probe.list_blocks():
        heads = probe.settings.heads if probe.settings.network == "transformer" else 0
        edits: list[dict[str, Edit]] = [
            {f"{block}.context": _drop_head(head)} for head in range(heads)
        ]
        edits.append({f"{block}.output": torch.zeros_like})
        row = [share_right(probe.ask(partial(_same, own))) for own in edits]
        results.setdefault(kind, []).append(row)
    return results


def _same(edits: dict[str, Edit], batch: Sequence[ProbePair]) -> dict[str, Edit]:
    """Return edits that do not depend on the batch."""
    return edits


def _drop_head(head: int) -> Edit:
    def edit(x_BHQK: Tensor) -> Tensor:
        x_BHQK = x_BHQK.clone()
        x_BHQK[:, head] = 0
        return x_BHQK

    return edit


def cut_edges(probe: Probe, edges: Sequence[Edge], layer: int | None = None) -> Tensor:
    """Return the odds where no head may attend along these edges: in all layers, or in one."""

    def edit(batch: Sequence[ProbePair]) -> dict[str, Edit]:
        edits: dict[str, Edit] = {}
        for kind, queries, keys in edges:
            places = [
                (
                    [n for role in queries for n in find_places(pair, role, kind)],
                    [n for role in keys for n in find_places(pair, role, kind)],
                )
                for pair in batch
            ]
            sizes = [len(pair.source if kind == "encoder self" else pair.given) for pair in batch]
            hide = _hide(places, max(sizes))
            blocks = probe.name_blocks(kind)
            edits |= {
                f"{name}.mask": hide
                for number, name in enumerate(blocks)
                if layer is None or number == layer
            }
        return edits

    return probe.ask(edit)


def _hide(places: Sequence[tuple[list[int], list[int]]], width: int) -> Edit:
    """Return an edit of a mask that hides, in each pair, some keys from some queries."""

    def edit(mask: Tensor) -> Tensor:
        mask = mask.expand(len(places), 1, width, -1).clone()
        for own, (queries, keys) in zip(mask, places, strict=True):
            for query in queries:
                own[0, query, keys] = False
        return mask

    return edit


def swap_vectors(probe: Probe, donors: Sequence[ProbePair], roles: Sequence[str]) -> dict[str, Any]:
    """Return how often the answer turns into the donor's when some vectors are the donor's.

    There is a donor for each pair, with the same number of tokens. After each layer of the encoder
    the vectors are those of one role; after each of the decoder, those of the step, or of all rows
    before it. Counted are the pairs of which the model gets both right. The Transformer only.
    """
    window = "feed_forward_residual." + ("normed" if probe.settings.norm == "post" else "sum")
    encoder = ["source_embedding.sum"]
    encoder += [f"encoder.{n}.{window}" for n in range(probe.settings.encoder_layers)]
    decoder = [f"decoder.{n}.{window}" for n in range(probe.settings.decoder_layers)]
    turned, sure, rest = Counter[tuple[str, str]](), 0, iter(donors)
    for batch in probe.batches:
        others = [replace(pair, source=next(rest).source) for pair in batch]
        odds, theirs = probe.read(others, {}, {*encoder, *decoder}.__contains__)
        is_sure = (probe.read(batch, {})[0] > 0) & (odds < 0)
        sure += int(is_sure.sum())
        places = {
            (role, name): [p.words[role] for p in batch] for role in roles for name in encoder
        }
        for name in decoder:
            places[STEP, name] = [[pair.step] for pair in batch]
            places[BEFORE, name] = [[*range(pair.step)] for pair in batch]
        for (who, name), at in places.items():
            odds = probe.read(batch, {name: _give(theirs[name], at)})[0]
            turned[who, name] += int(((odds < 0) & is_sure).sum())
            probe.progress(1)
    shares = {key: times / max(1, sure) for key, times in turned.items()}
    return {
        "pairs": sure,
        "encoder": {role: [shares[role, name] for name in encoder] for role in roles},
        "decoder": {who: [shares[who, name] for name in decoder] for who in (STEP, BEFORE)},
    }


def _give(theirs: Tensor, places: Sequence[list[int]]) -> Edit:
    def edit(x: Tensor) -> Tensor:
        x = x.clone()
        for i, at in enumerate(places):
            x[i, at] = theirs[i, at].to(x.device)
        return x

    return edit


def parse_cut(written: str, pair: ProbePair) -> list[Edge]:
    """Return the edges of a cut that is written "it -> noun + adjective"; ValueError if it is none.

    A role is of the source, or with "target." before it of the translation. "step" is the step and
    "rest" all of the source that is not marked. The step attends to both sides, a word of the
    source to the source.
    """
    sides = written.partition("->")
    queries, keys = (tuple(role.strip() for role in sides[n].split("+")) for n in (0, 2))
    known = {STEP, *pair.words, *(TARGET + role for role in pair.rows)}
    unknown = [role for role in (*queries, *keys) if role not in known]
    if unknown or STEP in keys or (STEP in queries and len(queries) > 1):
        raise ValueError(
            f"{written!r} is no cut: write FROM -> TO, with + between several; FROM is step or of "
            f"the source; there are {', '.join(sorted(known))}"
        )
    own = tuple(role for role in keys if role.startswith(TARGET))
    source = tuple(role for role in keys if not role.startswith(TARGET))
    if {*source} == {*pair.words}:
        raise ValueError(f"{written!r} is no cut: it leaves no word of the source to attend to")
    if queries != (STEP,):
        if own or any(role.startswith(TARGET) for role in queries):
            raise ValueError(f"{written!r} is no cut: only the step attends to the translation")
        return [Edge("encoder self", queries, source)]
    edges = [Edge("decoder cross", queries, source)] if source else []
    return edges + ([Edge("decoder self", queries, own)] if own else [])


def list_cuts(pair: ProbePair) -> Iterator[str]:
    """Yield the cuts that are tried if none is named: between roles, and from the step to each."""
    roles = [role for role in pair.words if role != REST]
    apart = (*roles, REST) if roles else ()  # else the rest is the whole source
    for query in (*roles, REST):
        for key in roles:
            if query != key and not {*pair.words[query]} & {*pair.words[key]}:
                yield f"{query} -> {key}"
    targets = [TARGET + role for role in pair.rows]
    everything = [*roles, *targets]
    yield from (f"{STEP} -> {role}" for role in (*apart, *targets))
    if len(everything) > 1:
        yield f"{STEP} -> {' + '.join(everything)}"
