"""The data's way: text -> pieces -> ids -> batch -> network -> search -> ids -> text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from .config import EOS, Config, Decode
from .decode import Hypothesis, score, search
from .device import autocast, choose_device, choose_precision
from .directory import Tokenizers, load_model
from .model import Transformer

Progress = Callable[[int], object]  # told how many more lines are done
LINE_BREAKS = str.maketrans({c: " " for c in "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"})


@dataclass(frozen=True)
class Translation:
    """One translation with what the model thinks of it; natural logarithms."""

    text: str
    pieces: list[str]
    log_prob: float  # of all pieces and the end
    score: float  # log_prob over the length penalty
    piece_log_probs: list[float]  # one a piece, the end's last
    finished: bool  # False: cut at the greatest length


@dataclass(frozen=True)
class Scored:
    """How probable a given translation is; natural logarithms."""

    log_prob: float
    pieces: list[str]
    piece_log_probs: list[float]  # one a piece, the end's last


class Translator:
    """A model directory, ready for text.

    `device` is auto, cpu, cuda or mps; `precision` auto (fp32), fp32 or bf16.
    """

    def __init__(
        self,
        config: Config,
        tokenizers: Tokenizers,
        model: Transformer,
        *,
        device: str = "auto",
        precision: str = "auto",
    ):
        self.device = choose_device(device)
        self.precision = choose_precision("fp32" if precision == "auto" else precision, self.device)
        self.config, self.tokenizers = config, tokenizers
        self.model = model.to(self.device).eval()

    @classmethod
    def load(
        cls, folder: Path | str, *, device: str = "auto", precision: str = "auto"
    ) -> Translator:
        """Raises ValueError if `folder` is no whole model directory."""
        return cls(*load_model(folder), device=device, precision=precision)

    def translate(
        self,
        texts: Sequence[str],
        *,
        decode: Decode | None = None,
        prefixes: Sequence[str] | None = None,
        seed: int = 0,
        progress: Progress | None = None,
    ) -> list[str]:
        """One translation of each text, in order; an empty text stays empty."""
        found = self.search(texts, decode=decode, prefixes=prefixes, seed=seed, progress=progress)
        return [best[0].text for best in found]

    def search(
        self,
        texts: Sequence[str],
        *,
        decode: Decode | None = None,
        n_best: int = 1,
        prefixes: Sequence[str] | None = None,
        seed: int = 0,
        first_line: int = 0,
        progress: Progress | None = None,
    ) -> list[list[Translation]]:
        """The `n_best` translations of each text, best first.

        decode: settings; None takes the model's own. prefixes: how each translation begins.
        Sampling is keyed by `seed` and by the number of the line, counted from `first_line`.
        """
        full = [place for place, text in enumerate(texts) if text.strip()]
        with self._at_work():
            found = search(
                self.model,
                self._sources([texts[place] for place in full], first_line, full),
                decode or self.config.decode,
                n_best=n_best,
                prefixes=None if prefixes is None else self._prefixes(texts, prefixes, full),
                lines=[first_line + place for place in full],
                seed=seed,
                longest=self.longest,
                budget=self.budget,
                device=self.device,
                progress=progress,
            )
        results = [[Translation("", [], 0.0, 0.0, [], True)] for _ in texts]
        for place, hypotheses in zip(full, found, strict=True):
            results[place] = [self._in_words(hypothesis) for hypothesis in hypotheses]
        if progress and len(full) < len(texts):
            progress(len(texts) - len(full))
        return results

    def score(
        self, sources: Sequence[str], targets: Sequence[str], *, progress: Progress | None = None
    ) -> list[Scored]:
        """How probable each target is as a translation of its source."""
        if len(sources) != len(targets):
            raise ValueError(f"{len(sources)} sources but {len(targets)} targets")
        everywhere = range(len(sources))
        target_ids = self.tokenizers.target.encode_many(targets)
        for place, ids in enumerate(target_ids):
            self._check(len(ids) + 1, place, "target")
        with self._at_work():
            found = score(
                self.model,
                self._sources(sources, 0, everywhere),
                target_ids,
                budget=self.budget,
                device=self.device,
                progress=progress,
            )
        piece = self.tokenizers.target.piece
        return [
            Scored(sum(log_probs), [piece(id) for id in ids], log_probs)
            for ids, log_probs in zip(target_ids, found, strict=True)
        ]

    @property
    def longest(self) -> int:
        """The most pieces a side, the end mark included."""
        return self.config.model.positions.longest

    @property
    def budget(self) -> int:
        """Pieces at work at once, padding included."""
        return 4096 if self.device.type == "cpu" else 65536

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

    @contextmanager
    def _at_work(self) -> Iterator[None]:
        with torch.inference_mode(), autocast(self.precision, self.device):
            yield

    def _sources(self, texts: Sequence[str], first: int, places: Sequence[int]) -> list[list[int]]:
        ids = [[*row, EOS] for row in self.tokenizers.source.encode_many(texts)]
        for place, row in zip(places, ids, strict=True):
            self._check(len(row), first + place, "source")
        return ids

    def _prefixes(
        self, texts: Sequence[str], prefixes: Sequence[str], full: Sequence[int]
    ) -> list[list[int]]:
        if len(prefixes) != len(texts):
            raise ValueError(f"{len(texts)} texts but {len(prefixes)} prefixes")
        return self.tokenizers.target.encode_many([prefixes[place] for place in full])

    def _check(self, pieces: int, place: int, side: str) -> None:
        if pieces > self.longest:
            raise ValueError(
                f"line {place + 1}: the {side} is {pieces} pieces long, but this model has "
                f"{self.longest} positions (model.positions.longest): split it into sentences"
            )

    def _in_words(self, found: Hypothesis) -> Translation:
        target = self.tokenizers.target
        return Translation(
            target.decode(found.pieces).translate(LINE_BREAKS).strip(),
            [target.piece(id) for id in found.pieces],
            found.log_prob,
            found.score,
            found.piece_log_probs,
            found.finished,
        )
