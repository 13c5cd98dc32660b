"""Short-lists: which target tokens are likely translations of each source token of a model.

They are learned from parallel text by IBM model 1 (Brown et al. 1993): t(e | f), the probability
that source token f is translated as target token e, where each target token comes from one of the
source's or from none. With them the engine in C predicts only a few hundred tokens of a sentence,
as Marian does (Junczys-Dowmunt et al. 2018).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from glassformer.config import EOS
from glassformer.engine.shortlist import IDS, ORIGIN, STARTS, TAGS
from glassformer.foundation.disk import write_bytes
from glassformer.model.files.directory import (
    SHORTLIST,
    Tokenizers,
    locate,
    open_model,
    tell_tokenizers,
)
from glassformer.model.files.weights_file import NOTES
from glassformer.translator import Translator

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Ids = NDArray[np.int64]
    Numbers = NDArray[np.float64]

ROUNDS = 5  # of expectation maximization
MOST_CELLS = 16_000_000  # pairs of tokens, one of each side of a sentence: about 1 GB of memory
LONGEST = 100  # tokens of a sentence that is counted
HELD_OUT = 200  # pairs that are not counted, to try the short-list on


class ShortListTrial(NamedTuple):
    """How a short-list did on sentences that it was not made from."""

    pairs: int  # that it was made from
    candidates: float  # of a sentence, on average
    lines: int  # tried
    same: int  # of them translated as with the whole vocabulary


def make_shortlist(
    model: Path | str,
    pairs: Sequence[tuple[str, str]],
    *,
    likely: int = 100,
    common: int = 300,
    check: Callable[[], object] = lambda: None,
) -> ShortListTrial:
    """Write the short-list of a model into its folder, and try it on pairs that were held out.

    likely: how many translations each source token has at most; common: how many of the most
    frequent target tokens every sentence has. A long text is sampled evenly. Of a model of several
    languages, the list is for the target that `model` names alone. `check` is called between the
    passes over the text. ValueError if the model is no translation Transformer that the engine in C
    computes in int8, if it is of several languages and `model` names none, or if there are no
    pairs.
    """
    folder = locate(model)
    config, tokenizers, _ = open_model(folder)
    if config.model.network != "transformer":
        raise ValueError(f"network={config.model.network}: a short-list is for the engine in C")
    translator = Translator.load(model, device="cpu", precision="int8")
    apart = len(pairs) // HELD_OUT if len(pairs) > 2 * HELD_OUT else 2
    tried, counted = pairs[::apart][:HELD_OUT], [each for i, each in enumerate(pairs) if i % apart]
    ids = list(_encode(counted, tokenizers))
    if not ids:
        raise ValueError(
            "no pairs to make a short-list from: give parallel text, a sentence a line"
        )
    check()
    rows = _list_likely(ids, tokenizers, likely, check)
    rows.append(_list_common(ids, len(tokenizers.target), common))
    tags = translator.reader.tags
    save_shortlist(folder / SHORTLIST, rows, tell_tokenizers(tokenizers), tags)
    sources = [source for source, _ in tried]
    check()
    return ShortListTrial(
        len(ids), _count_candidates(rows, sources, tokenizers), *_try(translator, sources)
    )


def _encode(pairs: Sequence[tuple[str, str]], tokenizers: Tokenizers) -> Iterator[tuple[Ids, Ids]]:
    """Yield the ids of pairs, EOS left out, as long as they do not have too many cells together."""
    import numpy as np

    cells, sample = 0, pairs[:: max(1, len(pairs) // 1000)]
    both = [
        [each.encode_many([pair[side] for pair in sample])] for side, each in _sides(tokenizers)
    ]
    lengths = [sum(map(len, encoded)) / max(1, len(sample)) for (encoded,) in both]
    step = max(1, round(len(pairs) * lengths[0] * lengths[1] / MOST_CELLS))
    for first in range(0, len(pairs), 1000 * step):
        part = pairs[first : first + 1000 * step : step]
        encoded = [
            each.encode_many([pair[side] for pair in part]) for side, each in _sides(tokenizers)
        ]
        for source, target in zip(*encoded, strict=True):
            source, target = ([i for i in row if i != EOS] for row in (source, target))
            if 0 < len(source) <= LONGEST and 0 < len(target) <= LONGEST:
                cells += (len(source) + 1) * len(target)
                if cells > 2 * MOST_CELLS:
                    return
                yield np.array(source), np.array(target)


def _sides(tokenizers: Tokenizers) -> Iterable[tuple[int, Any]]:
    return enumerate((tokenizers.source, tokenizers.target))


def _list_likely(
    ids: Sequence[tuple[Ids, Ids]], tokenizers: Tokenizers, likely: int, check: Callable[[], object]
) -> list[Ids]:
    """Return the likeliest translations of each source token, and the token itself if it is shared.

    A cell is a source token, or none, beside a target token of the same sentence; a link is a pair
    of tokens that have cells.
    """
    import numpy as np

    none, targets = len(tokenizers.source), len(tokenizers.target)
    widths = np.concatenate([np.full(len(target), len(source) + 1) for source, target in ids])
    cells = np.concatenate(
        [
            (np.append(source, none)[None] * targets + target[:, None]).ravel()
            for source, target in ids
        ]
    )
    links, link_of_cell = np.unique(cells, return_inverse=True)
    del cells
    source_of_link = links // targets
    starts = np.cumsum(widths) - widths
    chance = np.ones(len(links))
    for _ in range(ROUNDS):
        check()
        shares = chance[link_of_cell]
        shares /= np.repeat(np.add.reduceat(shares, starts), widths)
        counts = np.bincount(link_of_cell, shares, len(links))
        chance = counts / np.bincount(source_of_link, counts, none + 1)[source_of_link]
    order = np.lexsort((-chance, source_of_link))
    first = np.searchsorted(source_of_link[order], np.arange(none + 1))
    rows = [
        links[order[first[token] : min(first[token + 1], first[token] + likely)]] % targets
        for token in range(none)
    ]
    is_shared = tokenizers.is_shared
    return [np.union1d(row, [token] if is_shared else []) for token, row in enumerate(rows)]


def _list_common(ids: Sequence[tuple[Ids, Ids]], vocabulary: int, common: int) -> Ids:
    """Return the most frequent target tokens, in ascending order."""
    import numpy as np

    counts = np.bincount(np.concatenate([target for _, target in ids]), minlength=vocabulary)
    return np.sort(np.argsort(-counts, kind="stable")[:common])


def save_shortlist(path: Path, rows: Sequence[Ids], origin: str, tags: Sequence[int] = ()) -> None:
    """Write the candidates of each source token, and last those of every sentence.

    origin: the digest of the tokenizers whose ids these are. tags: the ids that each source begins
    with, which ask for the target language; none if the list is for all that there are.
    """
    import numpy as np
    from safetensors.numpy import save

    ends = np.cumsum([0, *map(len, rows)])
    tensors = {STARTS: ends.astype(np.int32), IDS: np.concatenate(rows).astype(np.int32)}
    notes = {ORIGIN: origin, TAGS: [*tags]}
    write_bytes(path, save(tensors, {NOTES: json.dumps(notes)}))


def _count_candidates(rows: Sequence[Ids], texts: Sequence[str], tokenizers: Tokenizers) -> float:
    """Return how many candidates a sentence has on average."""
    common = set(rows[-1].tolist())
    sizes = [
        len(common.union(*(rows[token].tolist() for token in {*source})))
        for source in tokenizers.source.encode_many(texts)
    ]
    return sum(sizes) / max(1, len(sizes))


def _try(translator: Translator, texts: Sequence[str]) -> tuple[int, int]:
    """Return how many texts were translated, and how many of them as without the short-list."""
    without, result = (
        translator.translate([*texts], decode={"search": "beam", "shortlist": on}, split=False)
        for on in (False, True)
    )
    return len(texts), sum(a == b for a, b in zip(without, result, strict=True))
