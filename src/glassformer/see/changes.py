"""Edits of a network's tensors, composed into one function for each window.

Letters: B sentences; H heads; Q query positions; M memory positions; L positions.
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from functools import lru_cache, partial

import torch
from torch import Tensor
from torch.nn.functional import pad

from ..config import Model
from ..foundation.tap import Edit
from .opgraph import Equation, Graph, build_graph
from .recorded import check_place, resolve
from .wiring import record_wiring
from .wording import find_side


class Changes:
    """The edits of one view. Each view needs new ones, because some keep tensors of the pass."""

    def __init__(self, settings: Model, source: int, longest: int):
        self.settings, self.sizes = settings, (source, longest)
        self.edits: defaultdict[str, list[Edit]] = defaultdict(list)
        self.watched: set[str] = set()
        self.seen: dict[str, Tensor] = {}
        self.is_cacheable = True  # each row of the decoder is changed alike, independent of others

    @property
    def graph(self) -> Graph:
        """Return the equations of the network, whose names and sizes edits are checked by."""
        return _build_once(self.settings, *self.sizes)

    def compose(self) -> dict[str, Edit]:
        """Return one function for each window; it stores the tensors other edits need last."""
        for name in self.watched:
            self.edits[name].append(self._remember(name))
        return {name: _chain(edits) for name, edits in self.edits.items()}

    def _add(self, name: str, edit: Edit, *, is_alike: bool = False) -> None:
        """Add an edit of one window.

        is_alike: it does the same to each row, whatever its position. An edit of the decoder's
        rows that is not alike rules out the KV cache; the source's rows pass all at once.
        """
        self.edits[name].append(edit)
        is_written = find_side(name, self.graph[name].axes[-2].dim) == "target"
        self.is_cacheable &= is_alike or not is_written

    def silence(self, block: str, head: int | None) -> None:
        self._change_block(block, head, torch.zeros_like, is_alike=True)

    def average(self, block: str, head: int | None) -> None:
        """Replace each vector by the mean over all positions; in the decoder, over those so far."""
        is_causal = block.startswith("decoder")
        change = _average_so_far if is_causal else _average
        self._change_block(block, head, change, is_alike=False)

    def _change_block(self, block: str, head: int | None, change: Edit, *, is_alike: bool) -> None:
        block = self._check_block(block)
        if head is None:
            self._add(f"{block}.output", change, is_alike=is_alike)
            return
        heads, head = self._check_heads(block, head)
        self._add(heads, lambda x: _set_head(x, head, change(x)), is_alike=is_alike)

    def pin(self, block: str, head: int | None, query: int | None, key: int) -> None:
        """Put all attention of a query on one key.

        Without `query` this holds for all queries, except those that may not attend to the key.
        """
        block = self._check_block(block)
        heads, head = self._check_heads(block, head or 0)[0], head
        if head is not None:
            head = self._check_heads(block, head)[1]
        op = self._check_window(heads.removesuffix("context") + "weights")
        key = _check_position(key, op, 2, f"key of {block}")
        if query is not None:
            query = _check_position(query, op, 1, f"query of {block}")
        first = key if block.startswith("decoder") and "self_attention" in block else 0

        def edit(weights_BHQM: Tensor) -> Tensor:
            changed = weights_BHQM.clone()
            if key < changed.size(-1):
                which = slice(None) if head is None else slice(head, head + 1)
                rows = slice(first, None) if query is None else slice(max(query, first), query + 1)
                changed[:, which, rows] = 0
                changed[:, which, rows, key] = 1
            return changed

        self._add(op.name, edit)

    def cut(
        self, keys: Sequence[int], layer: int | None, head: int | None, query: int | None
    ) -> None:
        """Forbid the decoder to attend to source positions `keys`.

        Without `layer`, `head` or `query` this holds for all of them. In a whole layer the mask
        hides the keys; for one head or query, the weights of the others are scaled to sum to 1,
        which is the same softmax without the keys.
        """
        blocks = [name for name in self.graph if name.endswith(".cross_attention.mask")]
        if layer is not None:
            blocks = [blocks[check_place(layer, len(blocks), "layer of the decoder:")]]
        for mask in blocks:
            if head is None and query is None:
                self._add(mask, lambda x: _hide(x, keys), is_alike=True)
                continue
            block = mask.removesuffix(".mask")
            one = None if head is None else self._check_heads(block, head)[1]
            op = self._check_window(f"{block}.weights")
            row = None if query is None else _check_position(query, op, 1, f"query of {block}")
            edit = partial(_take_weight, keys=keys, head=one, query=row)
            self._add(op.name, edit, is_alike=query is None)

    def replace(self, name: str, position: int, head: int | None, values: Tensor) -> None:
        """Replace the vector of one position by other values; those of further keys are 0."""
        last, size = self._check_window(name).axes[-1], values.size(-1)
        if last.dim != "key" and size != last.size:
            raise ValueError(f"{name} has {last.size} values a position, not {size}")
        self._change_row(
            name, position, head, lambda row: pad(values, (0, row.size(-1) - size)).to(row)
        )

    def multiply(self, name: str, position: int, head: int | None, factor: float) -> None:
        """Multiply the vector of one position by a factor."""
        self._change_row(name, position, head, lambda row: row * factor)

    def _change_row(self, name: str, position: int, head: int | None, change: Edit) -> None:
        op = self._check_window(name)
        position = _check_position(position, op, -2, f"position of {name}")
        if head is not None:
            if op.axes[0].dim != "head":
                raise ValueError(f"{name} has no heads")
            head = check_place(head, op.axes[0].size, f"head of {name}:")

        def edit(x: Tensor) -> Tensor:
            if position >= x.size(-2):  # not written yet
                return x
            changed = x.clone()
            row = changed[..., position, :] if head is None else changed[:, head, position]
            row.copy_(change(row))
            return changed

        self._add(op.name, edit)

    def remove(self, what: str, name: str | None) -> None:
        """Remove positions, scale, mask, residual or norm, everywhere or in one part."""
        results = [op for op in self._find(what) if name is None or _is_part(op.name, name)]
        if not results:
            raise ValueError(f"there is no {what} in {name}")
        for op in results:
            if what == "positions":
                self._add(op.name, torch.zeros_like, is_alike=True)
            elif what == "mask":
                self._add(op.name, torch.ones_like)
            elif what == "scale":
                self._add(op.name, self._unscale, is_alike=True)
            else:
                source = op.operands[-1 if what == "residual" else 0]
                self.watched.add(source)
                self._add(op.name, self._recall(source), is_alike=True)

    def _find(self, what: str) -> Iterator[Equation]:
        """Yield the windows at which `what` can be removed."""
        for op in self.graph.values():
            yield from (op,) * {
                "positions": op.name.endswith(".positions"),
                "scale": op.name.endswith(".scores"),
                "mask": op.name.startswith("decoder") and op.name.endswith("self_attention.mask"),
                "residual": op.name.endswith("_residual.sum"),
                "norm": op.is_norm,
            }[what]

    def _unscale(self, scores_BHQM: Tensor) -> Tensor:
        return scores_BHQM * math.sqrt(self.settings.width)

    def _remember(self, name: str) -> Edit:
        def edit(x: Tensor) -> Tensor:
            self.seen[name] = x
            return x

        return edit

    def _recall(self, name: str) -> Edit:
        return lambda x: self.seen[name].to(x.dtype).view_as(x)  # a step folds rows into queries

    def _check_block(self, name: str) -> str:
        name = resolve(name, self.settings)
        if f"{name}.output" not in self.graph:
            windows = (each for each in self.graph if each.endswith(".output"))
            blocks = [each.removesuffix(".output") for each in windows]
            raise ValueError(f"there is no block {name}; {_suggest(name, blocks)}")
        return name

    def _check_heads(self, block: str, head: int) -> tuple[str, int]:
        if f"{block}.context" not in self.graph:
            raise ValueError(f"{block} has no heads")
        return f"{block}.context", check_place(head, self.settings.heads, f"head of {block}:")

    def _check_window(self, name: str) -> Equation:
        name = resolve(name, self.settings)
        op = self.graph.get(name)
        if op is None or op.derived or op.kind in ("parameter", "input"):
            windows = [op.name for op in self.graph.values() if op.axes and not op.derived]
            raise ValueError(f"there is no window {name}; {_suggest(name, windows)}")
        return op


@lru_cache(maxsize=8)
def _build_once(settings: Model, source: int, longest: int) -> Graph:
    return build_graph(settings, record_wiring(settings), source, longest, 0, 0)


def _chain(edits: list[Edit]) -> Edit:
    def edit(x: Tensor) -> Tensor:
        for each in edits:
            x = each(x)
        return x

    return edit


def _is_part(name: str, part: str) -> bool:
    return name == part or name.startswith((f"{part}.", f"{part}_residual."))


def _average(x: Tensor) -> Tensor:
    return x.mean(-2, keepdim=True).expand_as(x)


def _average_so_far(x: Tensor) -> Tensor:
    count = torch.arange(1, x.size(-2) + 1, device=x.device)[:, None]
    return (x.cumsum(-2) / count).to(x.dtype)


def _hide(mask: Tensor, keys: Sequence[int]) -> Tensor:
    changed = mask.clone()
    changed[..., keys] = False
    return changed


def _take_weight(
    weights_BHQM: Tensor, keys: Sequence[int], head: int | None, query: int | None
) -> Tensor:
    """Return the weights with those of `keys` set to 0, in rows that still sum to 1."""
    kept = weights_BHQM.clone()
    kept[..., keys] = 0
    kept = kept / kept.sum(-1, keepdim=True).clamp_min(torch.finfo(kept.dtype).tiny)
    changed = weights_BHQM.clone()
    heads = slice(None) if head is None else slice(head, head + 1)
    rows = slice(None) if query is None else slice(query, query + 1)
    changed[:, heads, rows] = kept[:, heads, rows]
    return changed


def _set_head(x_BHLK: Tensor, head: int, new_BHLK: Tensor) -> Tensor:
    changed = x_BHLK.clone()
    changed[:, head] = new_BHLK[:, head]
    return changed


def _check_position(place: int, op: Equation, axis: int, what: str) -> int:
    if place < 0 and find_side(op.name, op.axes[axis].dim) == "target":
        raise ValueError(f"{what}: {place} counts from an end that is not written yet")
    return check_place(place, op.axes[axis].size, f"{what}:")


def _suggest(name: str, known: list[str]) -> str:
    near = get_close_matches(name, known, 1, 0.3) or known[:1]
    return f"did you mean {near[0]}?"
