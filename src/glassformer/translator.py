"""The data's way: text -> sentences -> tokens -> ids -> network -> search -> ids -> text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any, overload

import torch

from .config import EOS, Config, Decode
from .decode import Budget, score_targets, search
from .device import autocast
from .directory import Tokenizers, locate, open_model
from .engine import Example, Weights
from .model import Transformer
from .text import Tokens
from .text.clauses import split_clauses
from .text.sentences import cut_spans, has_letters, split_sentences
from .text.spacing import close_up, close_up_with_spans, is_unspaced
from .text.unicode import Span
from .translation import Part, Progress, Scored, Translation, combine, compose, count_text_lines
from .validation_errors import check_list

__all__ = ["Part", "Progress", "Scored", "Translation", "Translator"]

Choice = Decode | Mapping[str, Any] | None  # settings of a search, in the place of a model's own
PART = 1 << 40  # sampling is keyed by line + PART * part: more lines than that has no text


class Translator:
    """A model directory, ready for text.

    `how`: `device` is auto, cpu, cuda or mps; `precision`, of translating, is auto (the fastest
    here that loses nothing worth mentioning), fp32, bf16 or int8; `threads` and `workers` say how
    a processor is used. See `engine.Weights`; `holding` may be another kind of them.
    """

    def __init__(
        self,
        config: Config,
        tokenizers: Tokenizers,
        model: Transformer | Path,
        *,
        holding: type[Weights] = Weights,
        **how: Any,
    ):
        self.config, self.tokenizers = config, tokenizers
        self.weights = holding(model, config.model, self._encode_pairs, **how)
        self.device = self.weights.device
        self.room = Budget(4096 if self.device.type == "cpu" else 65536)

    @classmethod
    def load(cls, folder: Path | str, **how: Any) -> Translator:
        """Raises ValueError if `folder` is no whole model directory."""
        config, tokenizers, _ = open_model(folder)
        return cls(config, tokenizers, locate(folder), **how)

    @property
    def model(self) -> Transformer:
        """The network to look into."""
        return self.weights.network

    @property
    def precision(self) -> str:
        """Of translating; "auto" is decided when it is first wanted."""
        return self.weights.precision

    @property
    def exact_precision(self) -> str:
        """Of scoring and looking inside: fp32, unless bf16 was asked for."""
        return self.weights.exact

    @overload
    def translate(  # type: ignore[overload-overlap]
        self,
        texts: str,
        *,
        decode: Choice = ...,
        prefixes: str | None = ...,
        split: bool = ...,
        seed: int = ...,
        again: bool = ...,
        progress: Progress | None = ...,
    ) -> str: ...
    @overload
    def translate(
        self,
        texts: Sequence[str],
        *,
        decode: Choice = ...,
        prefixes: Sequence[str] | None = ...,
        split: bool = ...,
        seed: int = ...,
        again: bool = ...,
        progress: Progress | None = ...,
    ) -> list[str]: ...
    def translate(
        self, texts: str | Sequence[str], *, again: bool = True, **how: Any
    ) -> str | list[str]:
        """Return the translation of a text, or of each text of a list in order.

        It is what the command line and the server answer. again: a sentence whose translation
        looks wrong is searched for again with more care, as `guard.search` does; without it, take
        the best that `search` finds. The rest is as in `search`.
        """
        if isinstance(texts, str):
            return self.translate([texts], again=again, **_in_lists(how))[0]
        judged = import_module(".guard", __package__).search(self, texts, again=again, **how)
        return [each.best[0].text for each in judged]

    @overload
    def search(  # type: ignore[overload-overlap]
        self,
        texts: str,
        *,
        decode: Choice = ...,
        n_best: int = ...,
        prefixes: str | None = ...,
        split: bool = ...,
        seed: int = ...,
        first_line: int = ...,
        progress: Progress | None = ...,
    ) -> list[Translation]: ...
    @overload
    def search(
        self,
        texts: Sequence[str],
        *,
        decode: Choice = ...,
        n_best: int = ...,
        prefixes: Sequence[str] | None = ...,
        split: bool = ...,
        seed: int = ...,
        first_line: int = ...,
        progress: Progress | None = ...,
    ) -> list[list[Translation]]: ...
    def search(
        self,
        texts: str | Sequence[str],
        *,
        decode: Choice = None,
        n_best: int = 1,
        prefixes: str | Sequence[str] | None = None,
        split: bool = True,
        seed: int = 0,
        first_line: int = 0,
        progress: Progress | None = None,
    ) -> list[Translation] | list[list[Translation]]:
        """Return the `n_best` translations of a text, or of each text of a list, best first.

        decode: settings in the place of the model's own, one by one; see `Decode.override`.
        prefixes: how each translation begins, that is, its first part. split: translate the parts
        of a text, as `split` has them, one by one, and keep what is around them; the n best are
        the best combinations. Without it a text is one part, unless it is too long for the model.
        What has no letter or digit stays as it is. Sampling is keyed by `seed` and by the number
        of the line, counted from `first_line`.
        """
        if isinstance(texts, str):
            told = {"decode": decode, "n_best": n_best, "split": split, "seed": seed}
            how = _in_lists({"prefixes": prefixes, "first_line": first_line, **told})
            return self.search([texts], progress=progress, **how)[0]
        check_list("prefixes", prefixes)
        decode = self.config.decode.override(decode, n_best)
        spans = [self.split(text) if split else self._keep_whole(text) for text in texts]
        jobs = [
            (line, part, sentence)
            for line, (text, places) in enumerate(zip(texts, spans, strict=True), first_line)
            for part, sentence in enumerate(cut_spans(text, places))
        ]
        key = PART if decode.search == "sample" else 0
        with self.weights.translating(len(jobs), decode) as (network, workers):
            found = search(
                network,
                self._sources([text for *_, text in jobs], [line for line, *_ in jobs]),
                decode,
                n_best=n_best,
                prefixes=None if prefixes is None else self._prefixes(texts, prefixes, spans),
                lines=[line + key * part for line, part, _ in jobs],
                seed=seed,
                longest=self.longest,
                budget=self.room,
                device=self.device,
                workers=workers,
                progress=progress and count_text_lines(progress, len(texts), len(jobs)),
            )
        if progress and not jobs:
            progress(len(texts))
        rest = iter(found)
        ways = (combine(islice(rest, len(places)), n_best) for places in spans)
        return [
            [compose(text, places, way, self.tokenizers.target) for way in best]
            for text, places, best in zip(texts, spans, ways, strict=True)
        ]

    def split(self, text: str) -> list[Span]:
        """Return what of a text is translated on its own: sentences, and clauses of long ones.

        Long is a sentence of more tokens than nearly all in training (text.split_above). A line
        break ends a sentence. Between the spans is what has no letter or digit, and stays.
        """
        most = min(self.config.text.split_above or self.longest, self.longest - 1)
        spans: list[Span] = []
        begin = 0
        for line in text.splitlines(keepends=True):
            for start, stop in split_sentences(line, self.config.data.source_lang):
                sentence = line[start:stop]
                is_long = self._count(sentence) > most
                places = [(0, stop - start)]
                if is_long:
                    places = split_clauses(sentence, most, self.read)
                spans += [(begin + start + left, begin + start + right) for left, right in places]
            begin += len(line)
        return [span for span in spans if has_letters(text[slice(*span)])]

    def _keep_whole(self, text: str) -> list[Span]:
        """Return one span, the whole text; its parts only where the model cannot read as much."""
        if not has_letters(text):
            return []
        return [(0, len(text))] if self._count(text) < self.longest else self.split(text)

    def _count(self, text: str) -> int:
        """Return how many source tokens a text has, the end mark left out."""
        return len(self._encode([text])[0])

    def read(self, text: str) -> Tokens:
        """The source tokens of a text, and where in it each comes from."""
        if not is_unspaced(self.config.data.source_lang):
            return self.tokenizers.source.tokens(text)
        closed, origins = close_up_with_spans(text)
        found = self.tokenizers.source.tokens(closed)
        spans = tuple((origins[start][0], origins[end - 1][1]) for start, end in found.spans)
        return Tokens(found.ids, found.texts, spans)

    @overload
    def score(  # type: ignore[overload-overlap]
        self, sources: str, targets: str, *, progress: Progress | None = ...
    ) -> Scored: ...
    @overload
    def score(
        self, sources: Sequence[str], targets: Sequence[str], *, progress: Progress | None = ...
    ) -> list[Scored]: ...
    def score(
        self,
        sources: str | Sequence[str],
        targets: str | Sequence[str],
        *,
        progress: Progress | None = None,
    ) -> Scored | list[Scored]:
        """Return how probable a target is as a translation of its source, or each of a list."""
        if isinstance(sources, str) and isinstance(targets, str):
            return self.score([sources], [targets], progress=progress)[0]
        check_list("sources", sources)
        check_list("targets", targets)
        if len(sources) != len(targets):
            raise ValueError(f"{len(sources)} sources but {len(targets)} targets")
        target_ids = self.tokenizers.target.encode_many(targets)
        for place, ids in enumerate(target_ids):
            self._check(len(ids) + 1, place, "target")
        with torch.inference_mode(), autocast(self.exact_precision, self.device):
            found = score_targets(
                self.model,
                self._sources(sources, range(len(sources))),
                target_ids,
                budget=self.room,
                device=self.device,
                progress=progress,
            )
        token = self.tokenizers.target.token
        return [
            Scored(sum(log_probs), [token(id) for id in ids], log_probs)
            for ids, log_probs in zip(target_ids, found, strict=True)
        ]

    def see(self, text: str, **how: Any) -> Any:
        """A recording of one sentence's translation, a `Trace`; `how` as in `see.record`."""
        return import_module(".see", __package__).record(self, text, **how)

    @property
    def longest(self) -> int:
        """The most tokens a side, the end mark included."""
        return self.config.model.positions.max_positions

    @property
    def budget(self) -> int:
        """Tokens at work at once, padding included; fewer once memory has run out."""
        return self.room.tokens

    def describe(self) -> dict[str, Any]:
        """Sizes and settings, for people and programs."""
        parameters = sum(p.numel() for p in self.model.parameters())
        return {
            "parameters": parameters,
            "source_vocabulary": len(self.tokenizers.source),
            "target_vocabulary": len(self.tokenizers.target),
            "device": str(self.device),
            "precision": self.precision,
            "settings": self.config.model_dump(mode="json", exclude_none=True),
        }

    def _encode_pairs(self, sources: Sequence[str], targets: Sequence[str]) -> list[Example]:
        ids = self._sources(sources, range(len(sources)))
        return list(zip(ids, self.tokenizers.target.encode_many(targets), strict=True))

    def _sources(self, texts: Sequence[str], lines: Sequence[int]) -> list[list[int]]:
        ids = [[*row, EOS] for row in self._encode(texts)]
        for line, row in zip(lines, ids, strict=True):
            self._check(len(row), line, "source")
        return ids

    def _encode(self, texts: Sequence[str]) -> list[list[int]]:
        if is_unspaced(self.config.data.source_lang):
            texts = [close_up(text) for text in texts]
        return self.tokenizers.source.encode_many(texts)

    def _prefixes(
        self, texts: Sequence[str], prefixes: Sequence[str], spans: Sequence[Sequence[Span]]
    ) -> list[list[int]]:
        """One for each part: the first of a text begins as wanted, the others as they like."""
        if len(prefixes) != len(texts):
            raise ValueError(f"{len(texts)} texts but {len(prefixes)} prefixes")
        parts = [
            "" if part else prefix
            for prefix, places in zip(prefixes, spans, strict=True)
            for part in range(len(places))
        ]
        return self.tokenizers.target.encode_many(parts)

    def _check(self, tokens: int, line: int, side: str) -> None:
        if tokens > self.longest:
            raise ValueError(
                f"line {line + 1}: the {side} is {tokens} tokens long, but this model has "
                f"{self.longest} positions (model.positions.max_positions): split it into sentences"
            )


def _in_lists(how: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments for a list of one text from those for the text itself."""
    prefix = how.get("prefixes")
    return {**how, "prefixes": prefix if prefix is None else [prefix]}
