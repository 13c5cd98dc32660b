"""Copy tokens: training pairs in which what both sides share is a token that stands for it.

A network cannot spell a link, a number or a name that it has never met. It can learn to write the
token that it reads: in pairs, a part that both sides have, letter by letter, becomes one of a few
reserved tokens. In translating, what the scan of `text.verbatim` finds is read as such a token, and
the token in the translation is replaced with it. So a model copies what training did not have.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain
from random import Random

from glassformer.config import Config
from glassformer.data.corpus import read_pairs
from glassformer.data.sources import Corpora
from glassformer.data.tables import Pair
from glassformer.text.stand_ins import list_copies, replace_parts
from glassformer.text.verbatim import Verbatim, find_names, find_verbatim

RARE = 20  # pairs: a name in fewer is always a copy token, so that all rare names are alike
SHARE = 0.3  # of the pairs with a more frequent name: the network learns it, and to copy
MOST = 1_000_000  # different names that are counted


class CopyTeacher:
    """Changes pairs so that they teach `count` copy tokens."""

    def __init__(self, count: int, names: Counter[str], seed: int) -> None:
        """names: in how many pairs each name is on both sides; see `count_names`."""
        self.copies, self.names, self.seed = list_copies(count), names, seed

    def watch(self, pairs: Iterable[Pair]) -> Iterator[Pair]:
        """Yield the pairs, changed; the same ones in the same way each time."""
        for number, pair in enumerate(pairs):
            yield self.change(pair, Random(f"{self.seed} {number}"))

    def change(self, pair: Pair, random: Random) -> Pair:
        """Return a pair in which shared parts are copy tokens, drawn at random.

        Of a source with a context, only the sentence itself, its last line, is changed.
        """
        before, line_break, source = pair[0].rpartition("\n")
        shared = [
            both for both in find_shared(source, pair[1]) if self._is_copied(both, source, random)
        ]
        shared = shared[: len(self.copies)]
        if not shared:
            return pair
        tokens = random.sample(self.copies, len(shared))
        written, _ = replace_parts(source, [one for one, _ in shared], tokens)
        order = sorted(range(len(shared)), key=lambda place: shared[place][1].start)
        others, own = [shared[place][1] for place in order], [tokens[place] for place in order]
        return before + line_break + written, replace_parts(pair[1], others, own)[0]

    def _is_copied(self, both: tuple[Verbatim, Verbatim], source: str, random: Random) -> bool:
        part = both[0]
        if part.kind != "name":
            return True
        return self.names[source[part.start : part.end]] < RARE or random.random() < SHARE


def find_shared(source: str, target: str) -> list[tuple[Verbatim, Verbatim]]:
    """Return the parts that both sides of a pair have once: links, numbers, words with a capital.

    They are in the order of the source. Numbers of one digit are left out, as they are at
    translating, and a tag, which has a place and no meaning.
    """
    parts = [each for each in find_verbatim(source) if _is_taught(source, each)]
    parts += find_names(source, lambda word, _: word in target, parts)
    shared = list[tuple[Verbatim, Verbatim]]()
    for part in sorted(parts):
        text = source[part.start : part.end]
        places = [*re.finditer(rf"(?<!\w){re.escape(text)}(?!\w)", target)]
        if len(places) == 1 and source.count(text) == 1:
            shared.append((part, Verbatim(*places[0].span(), part.kind)))
    ends = [other for _, other in shared]
    is_apart = all(
        one is two or one.end <= two.start or two.end <= one.start for one in ends for two in ends
    )
    return shared if is_apart else []


def count_names(pairs: Iterable[Pair]) -> Counter[str]:
    """Return in how many pairs each word with a capital is on both sides."""
    names = Counter[str]()
    for source, target in pairs:
        line = source.rpartition("\n")[2]
        for part, _ in find_shared(line, target):
            if part.kind == "name":
                names[line[part.start : part.end]] += 1
        if len(names) > MOST:
            names = Counter({name: count for name, count in names.items() if count > 1})
    return names


def make_copy_teacher(config: Config, train: Corpora) -> CopyTeacher:
    """Return what teaches the copy tokens; it reads the corpora once to count their names."""
    pairs = chain.from_iterable(map(read_pairs, train.parts))
    return CopyTeacher(config.data.copies, count_names(pairs), config.train.seed)


def _is_taught(source: str, part: Verbatim) -> bool:
    own = source[part.start : part.end]
    return part.kind != "tag" and not (len(own) == 1 and own.isdecimal())
