"""Word alignment without a model, by eflomal (Östling and Tiedemann 2016), if it is installed.

It learns from the texts themselves which word translates which, in both directions; a few thousand
pairs of the same kind of text are needed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

from glassformer.foundation.machine.extras import need
from glassformer.text.spacing import looks_unspaced
from glassformer.translate.align.links import Link, Links
from glassformer.translate.align.pairs import find_words

from .gold import join_links

TextPair = tuple[str, str]
Words = Sequence[Sequence[str]]
LINK = re.compile(r"(\d+)-(\d+)")


def split_pairs(texts: Sequence[TextPair]) -> tuple[Words, Words]:
    """Return the words of both sides of each pair; of text without spaces, its characters."""
    sides = []
    for lines in zip(*texts, strict=True):
        has_spaces = any(text.split()[1:] for text in lines)
        by_character = not has_spaces and any(map(looks_unspaced, lines))
        sides.append([[text[a:b] for a, b in find_words(text, by_character)] for text in lines])
    return sides[0], sides[1]


def align_statistically(
    texts: Sequence[TextPair], more: Iterable[TextPair] = (), join: str = "grow-diag"
) -> list[Links]:
    """Return the links of each pair of texts; `more` pairs are learned from, too.

    join: how the links of both directions are combined. ValueError if eflomal is not installed.
    """
    source, target = split_pairs([*texts, *more])
    eflomal = need("eflomal")
    with TemporaryDirectory() as folder:
        files = [Path(folder, name) for name in ("forward", "reverse")]
        forward, reverse = map(str, files)
        eflomal.Aligner().align(
            _write_lines(source),
            _write_lines(target),
            links_filename_fwd=forward,
            links_filename_rev=reverse,
        )
        both = [[*islice(_read_links(path), len(texts))] for path in files]
    return [join_links(one, other, join) for one, other in zip(*both, strict=True)]


def _write_lines(words: Words) -> list[str]:
    return [" ".join(line) + "\n" for line in words]


def _read_links(path: Path) -> Iterable[Links]:
    for line in path.read_text(encoding="utf-8").splitlines():
        links: list[Link] = [(int(i), int(j)) for i, j in LINK.findall(line)]
        yield frozenset(links)
