"""An engine for a model of other conventions: ours stand outside, the model's own inside.

Imported models may force a token at the begin of a translation, the language, or have no EOS at the
end of a source. Callers need not know: sources end with EOS, and translations have no such token.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ..config import EOS, Decode
from ..decode.sentences import Budget, Hypothesis, Rows, rank
from .native import Head, ScoredPair

if TYPE_CHECKING:
    from .native import Matrix
    from .weights import Engine


def count_wanted(n_best: int, begin: Sequence[int], settings: Decode) -> int:
    """Return how many hypotheses have to be found, so that the `n_best` are among them."""
    return max(n_best, settings.beam) if begin and settings.search == "beam" else n_best


class ConventionEngine:
    """An engine whose translations begin with the tokens `begin`, which its callers never see.

    has_eos: whether its sources end with EOS; if not, no position attends to one.
    """

    def __init__(self, engine: Engine, begin: Sequence[int], has_eos: bool) -> None:
        self.engine, self.begin, self.has_eos = engine, list(begin), has_eos

    @property
    def precision(self) -> str:
        return self.engine.precision

    def search(
        self,
        sources: Rows,
        settings: Decode,
        *,
        prefixes: Rows | None = None,
        n_best: int = 1,
        **keywords: Any,
    ) -> list[list[Hypothesis]]:
        """Return the best hypotheses of each source, without the tokens that they begin with.

        These are in the scores of the search: all that it finds are scored again without them.
        """
        beginnings = [()] * len(sources) if prefixes is None else prefixes
        begun = [[*self.begin, *prefix] for prefix in beginnings]
        keywords |= {"prefixes": begun, "n_best": count_wanted(n_best, self.begin, settings)}
        return [
            rank([each.drop_first(len(self.begin), settings) for each in ways], n_best)
            for ways in self.engine.search(self._cut(sources), settings, **keywords)
        ]

    def score(self, sources: Rows, targets: Rows, **keywords: Any) -> list[ScoredPair]:
        """Return the log-probabilities of the tokens of each target."""
        scored = self.engine.score(self._cut(sources), self._begin(targets), **keywords)
        skipped = len(self.begin)
        return [each._replace(log_probs=each.log_probs[skipped:]) for each in scored]

    def attend(
        self,
        sources: Rows,
        targets: Rows,
        heads: Sequence[Head],
        *,
        workers: int,
        budget: int | Budget,
    ) -> Iterator[tuple[int, list[Matrix]]]:
        """Yield the weights of each pair: no row for what it begins with, zeros for EOS."""
        import numpy as np

        pairs = self._cut(sources), self._begin(targets)
        for i, arrays in self.engine.attend(*pairs, heads, workers=workers, budget=budget):
            rows = (np.asarray(weights)[len(self.begin) :] for weights in arrays)
            yield i, [w if self.has_eos else np.pad(w, ((0, 0), (0, 1))) for w in rows]

    def _cut(self, sources: Rows) -> Rows:
        """Return the sources as the network reads them: one token at least."""
        if self.has_eos:
            return sources
        return [row[:-1] if len(row) > 1 and row[-1] == EOS else row for row in sources]

    def _begin(self, targets: Rows) -> Rows:
        return [[*self.begin, *target] for target in targets]
