"""Searching: the ids of sentences become hypotheses, by an engine and the rules of the search."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..config import Config, Decode
from ..decode import Budget, Hypothesis
from ..decode.mbr import SAMPLE, rank_by_utility
from ..engine import Weights
from ..foundation.extensions import need_addition
from ..foundation.validation_errors import check_list
from ..model.files.directory import Tokenizers
from ..text import Tokens
from .options import SearchOptions
from .reading import SentenceReader
from .sentence import Progress, Scored, Sentence

if TYPE_CHECKING:  # a sentence is translated without NumPy
    import numpy as np
    from numpy.typing import NDArray

    from ..engine.weights import Engine


class Searcher:
    """A model that searches for translations of what its reader reads, and scores others.

    budget: the most tokens in a batch; it falls when memory runs out.
    """

    def __init__(self, reader: SentenceReader, weights: Weights, budget: Budget) -> None:
        self.reader, self.weights, self.budget = reader, weights, budget
        self.config: Config = reader.config
        self.tokenizers: Tokenizers = reader.tokenizers

    @property
    def longest(self) -> int:
        """Return the most tokens that a side may have, the end mark included."""
        return self.reader.longest

    @property
    def folder(self) -> Path | None:
        """Return the folder of the model, if it was read from one."""
        return self.weights.folder

    def tokenize(self, text: str) -> Tokens:
        """Return the source tokens of a text; see `SentenceReader.tokenize`."""
        return self.reader.tokenize(text)

    def tokenize_target(self, source: str, target: str) -> Tokens:
        """Return the tokens of a translation of a text; see `SentenceReader.tokenize_target`."""
        return self.reader.tokenize_target(source, target)

    def search(self, sentences: Sequence[Sentence], options: SearchOptions) -> list[Sentence]:
        """Return the sentences with their best hypotheses; with `mbr`, those of highest utility.

        PyTorch searches the sentences that have constraints.
        """
        if options.glossary is not None:
            sentences = self._terms.constrain(sentences, options.glossary)
        bound = [each for each in sentences if each.constraints]
        free = [each for each in sentences if not each.constraints]
        engine = self._adapt(self.weights.get_torch_engine()) if bound else None
        of_bound = iter(self._run(engine, bound, options, 1) if engine else ())
        of_free = iter(self._search_free(free, options) if free or not bound else ())
        return [
            each._replace(hypotheses=next(of_bound if each.constraints else of_free))
            for each in sentences
        ]

    def _search_free(
        self, sentences: Sequence[Sentence], options: SearchOptions
    ) -> list[list[Hypothesis]]:
        """Return the best hypotheses of sentences without constraints."""
        decode, number = options.decode, options.decode.mbr
        if number:
            return self._search_by_utility(sentences, options)
        workers = self.weights.count_workers(len(sentences), decode.rows)
        return self._run(self.choose_engine(decode), sentences, options, workers)

    def _search_by_utility(
        self, sentences: Sequence[Sentence], options: SearchOptions
    ) -> list[list[Hypothesis]]:
        """Return the hypotheses of the highest expected utility: of samples, or of a wide beam."""
        decode, most = options.decode, options.n_best
        draws = decode.mbr if decode.search == "sample" else 1
        n_best = 1
        if decode.search != "sample":
            n_best = max(decode.mbr, most)
            widest = -(-max(decode.beam, n_best) // decode.beam_groups) * decode.beam_groups
            decode = decode.model_copy(update={"beam": widest})
        rows = [
            each._replace(line=each.line + SAMPLE * draw)
            for each in sentences
            for draw in range(draws)
        ]
        workers = self.weights.count_workers(len(rows), decode.rows)
        progress = options.progress and scale_progress(options.progress, 1, draws)
        each_options = options._replace(decode=decode, n_best=n_best, progress=progress)
        drawn = self._run(self.choose_engine(decode), rows, each_options, workers)
        groups = [drawn[first : first + draws] for first in range(0, len(drawn), draws)]
        ranked = (self._rank([each for ways in group for each in ways], decode) for group in groups)
        return [best[:most] for best in ranked]

    def _rank(self, hypotheses: list[Hypothesis], decode: Decode) -> list[Hypothesis]:
        """Return the hypotheses by expected utility, each text once."""
        texts = self.tokenizers.target.decode_many([each.tokens for each in hypotheses])
        return rank_by_utility(hypotheses, texts, decode.utility)

    def _run(
        self, engine: Engine, sentences: Sequence[Sentence], options: SearchOptions, workers: int
    ) -> list[list[Hypothesis]]:
        """Let an engine search."""
        prefixes = self._encode_prefixes(sentences)
        constraints = [each.constraints for each in sentences]
        is_drawn = options.decode.search == "sample"
        return engine.search(
            [each.ids for each in sentences],
            options.decode,
            n_best=options.n_best,
            prefixes=prefixes if any(prefixes) else None,
            lines=[each.key if is_drawn else each.line for each in sentences],
            seed=options.seed,
            longest=self.longest,
            budget=self.budget,
            workers=workers,
            progress=options.progress,
            **({"constraints": constraints} if any(constraints) else {}),
            lengths=self.reader.count_lengths([each.ids for each in sentences]),
        )

    def _encode_prefixes(self, sentences: Sequence[Sentence]) -> list[list[int]]:
        if not any(each.prefix for each in sentences):
            return [[] for _ in sentences]
        return self.reader.encode_prefixes(sentences, [each.prefix for each in sentences])

    def score(
        self, sources: Sequence[str], targets: Sequence[str], progress: Progress | None = None
    ) -> list[Scored]:
        """Return how probable each target is as a translation of its source."""
        check_list("sources", sources)
        check_list("targets", targets)
        if len(sources) != len(targets):
            raise ValueError(f"{len(sources)} sources but {len(targets)} targets")
        target_ids = self.reader.encode_targets(sources, targets)
        for line, ids in enumerate(target_ids):
            self.reader.check(len(ids) + 1, line, "target")
        pairs = self.get_engine(self.weights.exact).score(
            self.reader.encode(sources),
            target_ids,
            budget=self.budget,
            workers=self.weights.count_workers(len(sources), _count_longest(target_ids)),
            progress=progress,
        )
        token = self.tokenizers.target.token
        return [
            Scored(sum(each.log_probs), [token(id) for id in ids], each.log_probs)
            for ids, each in zip(target_ids, pairs, strict=True)
        ]

    def attend(
        self,
        sources: Sequence[Sequence[int]],
        targets: Sequence[Sequence[int]],
        heads: Sequence[tuple[int, int | None]],
    ) -> Iterator[tuple[int, list[NDArray[np.float32]]]]:
        """Yield the index of each pair of ids, and its weights of cross-attention, T + 1 by S.

        There is an array for each of the heads, given by the layer of the decoder and the head;
        None is the mean of all. Row t is that of the query that predicts token t, or at last EOS.
        """
        import numpy as np

        engine = self.get_engine(self.weights.exact)
        workers = self.weights.count_workers(len(sources), _count_longest(targets))
        for number, weights in engine.attend(
            sources, targets, heads, workers=workers, budget=self.budget
        ):
            yield number, [np.asarray(each) for each in weights]

    def get_engine(self, precision: str) -> Engine:
        """Return the engine that computes in this precision, by the conventions of the model."""
        return self._adapt(self.weights.get_engine(precision))

    def choose_engine(self, decode: Decode) -> Engine:
        """Return what searches: PyTorch where the engine in C does not know such a search."""
        if not decode.beyond_native:
            if decode.shortlist and not self.weights.takes_shortlist:
                from ..engine.weights import say_once

                say_once(
                    "shortlist is for one model in int8 on a processor: all tokens are predicted"
                )
            return self.get_engine(self.weights.precision)
        return self._adapt(self.weights.get_torch_engine(decode.beyond_native))

    def _adapt(self, engine: Engine) -> Engine:
        if not self.reader.has_conventions:
            return engine
        from ..engine.conventions import ConventionEngine

        return ConventionEngine(engine, self.reader.begin, self.config.text.source_eos)

    @cached_property
    def _terms(self) -> Any:
        make = need_addition("spell_terms", "a glossary")
        return make(self.tokenizers.target, self.config.data.target_lang)


def search_texts(
    texts: Sequence[str],
    read: Sequence[Sequence[Sentence]],
    options: SearchOptions,
    search: Callable[[Sequence[Sentence], SearchOptions], list[Sentence]],
) -> Iterator[tuple[str, list[Sentence]]]:
    """Yield each text with its sentences as `search` returns them; all are searched together."""
    sentences, progress = [*chain.from_iterable(read)], options.progress
    if progress:
        scaled = scale_progress(progress, len(texts), len(sentences))
        options = options._replace(progress=scaled)
    searched = iter(search(sentences, options))
    if progress and not sentences:
        progress(len(texts))
    for text, own in zip(texts, read, strict=True):
        yield text, [*islice(searched, len(own))]


def scale_progress(progress: Progress, lines: int, parts: int) -> Progress:
    """Return a function that is called with numbers of done parts, and calls `progress` with lines.

    So many `parts` are so many `lines`.
    """
    done = 0

    def tell(more: int) -> None:
        nonlocal done
        before, done = done, done + more
        progress(lines * done // parts - lines * before // parts)

    return tell


def _count_longest(targets: Sequence[Sequence[int]]) -> int:
    """Return the tokens of the longest target, the end mark counted."""
    return 1 + max(map(len, targets), default=0)
