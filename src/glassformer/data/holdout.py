"""A validation set held out of the training text, with no overlap between the two."""

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import replace
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

from ..text.unicode import clean
from .corpus import Corpus
from .sources import Corpora

MOST_PAIRS = 2000
LARGEST_SHARE = 0.05

Integers = npt.NDArray[np.int64]


def hold_out(corpus: Corpus, seed: int) -> tuple[Corpus, Corpus]:
    """Split a whole corpus by a seed; return the training corpus and the validation corpus.

    Pairs that share a compared side, whatever its case and spacing, directly or through other
    pairs, are never split. `chosen` of the validation corpus says which pairs were held out:
    min(2000, 5 %), at least one. ValueError if nothing can be held out.
    """
    places, sides = array("q"), [array("Q") for _ in corpus.compared_sides]
    total = 0
    for total, pair in enumerate(corpus, 1):
        if pair[0].strip() and pair[1].strip():  # other pairs are never trained on
            places.append(total - 1)
            for side, hashes in zip(corpus.compared_sides, sides, strict=True):
                hashes.append(_hash(pair[side]))
    held = _choose(_components(sides), seed)
    chosen = np.zeros(total, dtype=bool)
    chosen[np.array(places)[held]] = True
    return replace(corpus, chosen=~chosen), replace(corpus, chosen=chosen)


def hold_out_of(corpora: Corpora, seed: int) -> tuple[Corpora, Corpora]:
    """Split several corpora as `hold_out` splits one; the same text is never on both sides.

    A text is the same in whichever corpus, and on whichever side, it stands. Corpora with a tag of
    their own, like back-translations, give nothing to validate on, unless all have one.
    """
    if len(corpora.parts) == 1:
        one, other = hold_out(corpora.parts[0], seed)
        return replace(corpora, parts=(one,)), replace(corpora, parts=(other,))
    is_made = [share.tag is not None for share in corpora.shares]
    can_give = [not result or all(is_made) for result in is_made]
    masks, texts, givers = list[npt.NDArray[np.bool_]](), array("Q"), list[bool]()
    spans: list[npt.NDArray[np.int64]] = []  # the index of each whole pair in its corpus
    for part, gives in zip(corpora.parts, can_give, strict=True):
        langs = (part.source_lang or "", part.target_lang or "")
        whole, total = array("q"), 0
        for total, pair in enumerate(part, 1):
            if pair[0].strip() and pair[1].strip():
                whole.append(total - 1)
                givers.append(gives)
                texts.extend(
                    _hash(f"{lang} {text}") for lang, text in zip(langs, pair, strict=True)
                )
        spans.append(np.array(whole, np.int64))
        masks.append(np.zeros(total, dtype=bool))
    label = _join_texts(np.array(texts).reshape(-1, 2))
    held = np.isin(label, label[np.array(givers) & _choose_among(label, np.array(givers), seed)])
    ends = np.cumsum([len(places) for places in spans])[:-1]
    for mask, places, own in zip(masks, spans, np.split(held, ends), strict=True):
        mask[places[own]] = True
    valid = [mask & gives for mask, gives in zip(masks, can_give, strict=True)]
    return corpora.choose([~mask for mask in masks]), corpora.choose(valid)


def _choose_among(
    label: Integers, givers: npt.NDArray[np.bool_], seed: int
) -> npt.NDArray[np.bool_]:
    """Return which pairs are held out, of those of the corpora that can give some."""
    chosen = np.zeros(len(label), dtype=bool)
    chosen[givers] = _choose(label[givers], seed)
    return chosen


def _join_texts(texts_N2: npt.NDArray[np.uint64]) -> Integers:
    """Return the connected component of each pair: pairs with a text in common are connected."""
    both = np.concatenate([texts_N2[:, 0], texts_N2[:, 1]])
    _, first, inverse = np.unique(both, return_index=True, return_inverse=True)
    pairs = len(texts_N2)
    linked = first[inverse] % pairs  # of each text, the first pair that has it on either side
    return _connect((linked[:pairs], linked[pairs:]))


def leave_out(corpora: Corpora, pairs: Iterable[tuple[str, str]]) -> Corpora:
    """Return the pairs of whole corpora that share neither source nor target with `pairs`.

    Of several corpora, a text counts on whichever side it stands.
    """
    known = [set(map(_hash, side)) for side in zip(*pairs, strict=True)]
    if len(corpora.parts) > 1:
        known = [known[0] | known[1]] * 2
    masks = [
        [not any(_hash(pair[side]) in known[side] for side in part.compared_sides) for pair in part]
        for part in corpora.parts
    ]
    return corpora.choose([np.array(mask, dtype=bool) for mask in masks])


def _hash(text: str) -> int:
    plain = " ".join(clean(text).casefold().split())
    return int.from_bytes(blake2b(plain.encode("utf-8", "replace"), digest_size=8).digest())


def _components(sides: Iterable[npt.ArrayLike]) -> Integers:
    """Return the connected component of each pair, as the number of one of its pairs.

    Pairs are connected if they have the same text on a side.
    """
    links: list[Integers] = []
    for side in sides:
        _, first, inverse = np.unique(side, return_index=True, return_inverse=True)
        links.append(first[inverse])  # the first pair with the same text on this side
    return _connect(links)


def _connect(links: Sequence[Integers]) -> Integers:
    """Return the connected component of each pair (union-find); `links` name others, by index."""
    parent = list(range(len(links[0])))

    def root(pair: int) -> int:
        while parent[pair] != pair:
            parent[pair] = parent[parent[pair]]
            pair = parent[pair]
        return pair

    for first in links:
        for pair in np.flatnonzero(first != np.arange(len(first))).tolist():
            parent[root(pair)] = root(int(first[pair]))
    return np.array([root(pair) for pair in range(len(parent))], dtype=np.int64)


def _choose(label: Integers, seed: int) -> npt.NDArray[np.bool_]:
    """Return which pairs are held out: small components in random order, up to the number wanted.

    `label` is the component of each pair.
    """
    largest = max(1, min(MOST_PAIRS, int(LARGEST_SHARE * len(label))))
    names, sizes = np.unique(label, return_counts=True)
    if not len(names):
        raise ValueError("no pair has text on both sides: there is nothing to train on")
    if len(names) < 2:
        alike = "that all share a source or a target with one another"
        held = f"{len(label):,} pairs {alike}" if len(label) > 1 else "a single pair"
        raise ValueError(f"nothing can be held out of {held}: give a validation set, --valid")
    small = np.flatnonzero(sizes <= max(sizes.min(), largest // 20))
    order = small[np.argsort(np.random.PCG64(seed).random_raw(len(small)), kind="stable")]
    fits = np.cumsum(sizes[order]) <= largest
    fits[0] = True
    return np.isin(label, names[order[fits]])
