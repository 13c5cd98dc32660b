"""How much is at work at once: less, once memory has run out."""

from __future__ import annotations

from ..device import free_memory


class Budget:
    """Rows times the longest of them, in tokens; shared by all who work with one network."""

    def __init__(self, tokens: int):
        self.tokens = tokens

    def shrink(self, sentences: int, longest: int, line: int, rows: int = 1) -> None:
        """There was no room for so many, of `rows` each. ValueError, naming the line, for one."""
        if sentences == 1:
            raise ValueError(
                f"line {line + 1}: there is not enough memory for a sentence of {longest} tokens: "
                "split it, or take a smaller beam or model"
            )
        self.tokens = min(self.tokens, rows * longest * (sentences // 2))
        free_memory()


def as_budget(tokens: int | Budget) -> Budget:
    return tokens if isinstance(tokens, Budget) else Budget(tokens)
