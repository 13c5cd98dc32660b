"""The budget of tokens searched at once, which shrinks when memory runs out."""

from __future__ import annotations

from ..device import free_memory


class Budget:
    """A budget in tokens: rows times the longest of them.

    All workers that use one network share it.
    """

    def __init__(self, tokens: int):
        self.tokens = tokens

    def shrink(self, sentences: int, longest: int, line: int, rows: int = 1) -> None:
        """Reduce the budget after memory ran out with so many sentences of `rows` rows each.

        Raise ValueError, which names the line, if there was only one sentence.
        """
        if sentences == 1:
            raise ValueError(
                f"line {line + 1}: there is not enough memory for a sentence of {longest} tokens: "
                "split it, or take a smaller beam or model"
            )
        self.tokens = min(self.tokens, rows * longest * (sentences // 2))
        free_memory()


def as_budget(tokens: int | Budget) -> Budget:
    """Return a budget of so many tokens; a budget is returned as it is."""
    return tokens if isinstance(tokens, Budget) else Budget(tokens)
