"""Word alignments as links between source and target words. Imports no torch.

A link is (source word, target word), counted from 0; a text without alignment has no links.
"""

from collections.abc import Iterable

Link = tuple[int, int]
Links = frozenset[Link]


def write_pharaoh(links: Iterable[Link]) -> str:
    """Return links in Pharaoh format, `0-0 1-2`: source and target words, counted from 0."""
    return " ".join(f"{i}-{j}" for i, j in sorted(links))
