"""The parts of a run of text in HTML."""

from typing import NamedTuple


class RunPart(NamedTuple):
    """A part of a page: text, a tag inside a run (open, close, point), or a break between runs."""

    raw: str
    kind: str
    name: str = ""
