"""Parts of a document that cannot be read, translated or written: they stay as they are."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from html import unescape
from pathlib import PurePath
from traceback import extract_tb

SHOWN = 40  # characters of a part
LISTED = 3  # parts of which it is said why they failed
_TAG = re.compile(r"<[^<>]*+>")


class Failures:
    """The parts of a document that failed, a sentence for each; the others are translated."""

    def __init__(self) -> None:
        self.said: list[str] = []

    @contextmanager
    def leave(self, text: str) -> Iterator[None]:
        """Note the error that the block raises, if any: the part with this text stays as it is.

        `text` may be HTML. MemoryError is raised, since it concerns the whole document.
        """
        try:
            yield
        except MemoryError:
            raise
        except Exception as error:
            self.add([text], _explain(error))

    def add(self, texts: Sequence[str], why: str) -> None:
        """Note that the parts with these texts stay as they are."""
        self.said += [f"{_quote(text)} stays as it is: {why}" for text in texts]

    def list_first(self) -> list[str]:
        """Return the sentences about the first parts, and how many others there are."""
        more = len(self.said) - LISTED
        return self.said[:LISTED] + [f"{more:,} more parts stay as they are"] * (more > 0)


def _quote(text: str) -> str:
    words = " ".join(unescape(_TAG.sub("", text[: SHOWN * SHOWN])).split())
    return f"“{words[:SHOWN]}{'…' * (len(words) > SHOWN)}”"


def _explain(error: Exception) -> str:
    """Return the reason: a sentence of ours, or where to look for what nobody has foreseen."""
    if isinstance(error, ValueError):
        return " ".join(str(error).split())
    place = extract_tb(error.__traceback__)[-1]
    file = PurePath(place.filename).name
    return f"internal error: {type(error).__name__} in {file}, line {place.lineno}"
