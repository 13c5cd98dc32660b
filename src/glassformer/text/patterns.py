"""Regular expressions that few texts need: they are compiled when the first such text comes.

Compiling all of them would take a fifth of the time in which a small model is opened and has
translated its first sentence.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any


class LazyPattern:
    """A pattern that is compiled when it is first used; it has the methods of a compiled one."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern

    def __getattr__(self, name: str) -> Any:
        result = getattr(re.compile(self.pattern), name)
        setattr(self, name, result)
        return result


class RarePattern(LazyPattern):
    """A pattern that is not looked for in a text that has none of some signs."""

    def __init__(self, pattern: str, signs: Sequence[str]) -> None:
        super().__init__(pattern)
        self.signs = signs

    def is_possible(self, text: str) -> bool:
        return any(sign in text for sign in self.signs)

    def find_all(self, text: str) -> list[str]:
        """Return what matches, in order; the pattern has no groups."""
        return list(self.findall(text)) if self.is_possible(text) else []

    def replace(self, new: str | Callable[[re.Match[str]], str], text: str) -> str:
        """Return the text with something else in the place of all that matches."""
        return str(self.sub(new, text)) if self.is_possible(text) else text
