"""A language model: it completes a text, fills its masks, names its class, or scores it.

A decoder alone (`network = "decoder"`) completes and scores. An encoder alone fills and scores; one
with labels names classes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from ..config import EOS, MASK, Decode
from ..model.files.directory import open_model
from .language_reader import CLASSIFIES, COMPLETES, MASK_TEXT, LanguageReader
from .sentence import Progress, Scored
from .writing import LINE_BREAKS

if TYPE_CHECKING:  # a model is opened without PyTorch
    from torch import Tensor

    from ..decode import Hypothesis
    from ..see.document import Level
    from ..see.trace import Trace

__all__ = ["Classified", "Completion", "Guess", "LanguageModel"]


@dataclass(frozen=True)
class Completion:
    """A text with what a model wrote after it; logarithms are natural, of the new tokens."""

    text: str  # the given text and the new one
    added: str
    tokens: list[str]
    log_prob: float  # of the new tokens, the end mark included
    score: float  # of all tokens, over the length penalty: what ranks
    token_log_probs: list[float]  # one a new token, the end mark's last
    finished: bool  # False: cut at the greatest length


@dataclass(frozen=True)
class Guess:
    """A token that may stand in the place of a mask."""

    token: str
    id: int
    probability: float


@dataclass(frozen=True)
class Classified:
    """The most probable class of a text, and the probability of each."""

    label: str
    probabilities: dict[str, float]


class LanguageModel(LanguageReader):
    """A loaded language model with its tokenizer. `machine` is as for `Translator`."""

    @classmethod
    def load(cls, folder: Path | str, **machine: Any) -> LanguageModel:
        """Return the language model of a model directory. ValueError if it is not one."""
        return cls(*open_model(folder), **machine)

    def complete(
        self, text: str, *, decode: Decode | Mapping[str, Any] | None = None, seed: int = 0
    ) -> str:
        """Return the text with what the model writes after it; see `search`."""
        return self.search(text, decode=decode, seed=seed)[0].text

    def search(
        self,
        text: str,
        *,
        decode: Decode | Mapping[str, Any] | None = None,
        n_best: int = 1,
        seed: int = 0,
    ) -> list[Completion]:
        """Return `n_best` completions of a text, the best first.

        decode: settings that override the model's own; `min_length` to `max_extra` tokens follow.
        Sampling draws each completion by itself, keyed by `seed` and its number.
        """
        self.check("complete")
        prompt = self.tokenizer.encode(text)
        own = self.config.decode.override(decode, None if self._draws(decode) else n_best)
        least = own.min_length and own.min_length + len(prompt)  # both count from the prompt
        settings = own.model_copy(update={"max_ratio": 1.0, "min_length": least})
        copies = n_best if settings.search == "sample" else 1
        completions = self.weights.get_engine(self.weights.exact).search(
            [[*prompt, EOS]] * copies,  # not read: it says how long the prompt is
            settings,
            n_best=1 if copies > 1 else n_best,
            prefixes=[prompt] * copies,
            lines=range(copies),
            seed=seed,
            longest=self.longest,
            budget=self.batch_budget,
            workers=1,
        )
        written = [self._compose(prompt, each) for best in completions for each in best]
        return sorted(written, key=lambda each: -each.score)

    def _draws(self, decode: Decode | Mapping[str, Any] | None) -> bool:
        return self.config.decode.override(decode).search == "sample"

    def _compose(self, prompt: list[int], hypothesis: Hypothesis) -> Completion:
        whole, beginning = (self.tokenizer.decode(ids) for ids in (hypothesis.tokens, prompt))
        new = hypothesis.token_log_probs[len(prompt) :]
        return Completion(
            text=whole.translate(LINE_BREAKS),
            added=whole[len(beginning) :].translate(LINE_BREAKS),
            tokens=[self.tokenizer.token(id) for id in hypothesis.tokens[len(prompt) :]],
            log_prob=sum(new),
            score=hypothesis.score,
            token_log_probs=new,
            finished=hypothesis.finished,
        )

    def fill(self, text: str, top: int = 5) -> list[list[Guess]]:
        """Return the most probable tokens for each [MASK] of a text, the best first."""
        self.check("fill")
        ids = self.encode_masked(text)
        places = [place for place, id in enumerate(ids) if id == MASK]
        if not places:
            raise ValueError(f"there is no {MASK_TEXT} in {text!r}")
        ((_, log_probs_NV),) = self._predict([ids], [places])
        best = log_probs_NV.topk(min(top, log_probs_NV.size(1)))
        return [
            [Guess(self.tokenizer.token(id), id, math.exp(p)) for id, p in zip(*row, strict=True)]
            for row in zip(best.indices.tolist(), best.values.tolist(), strict=True)
        ]

    @overload
    def classify(self, texts: str) -> Classified: ...  # type: ignore[overload-overlap]
    @overload
    def classify(self, texts: Sequence[str]) -> list[Classified]: ...
    def classify(self, texts: str | Sequence[str]) -> Classified | list[Classified]:
        """Return the class of a text, or of each of a list."""
        if isinstance(texts, str):
            return self.classify([texts])[0]
        self.check("classify")
        rows = [self._frame(ids, line) for line, ids in enumerate(self._encode(texts))]
        labels, results = self.config.model.labels, dict[int, Classified]()
        for index, log_probs_NV in self._predict(rows, [[0]] * len(rows)):
            values = log_probs_NV[0, 1:].exp().tolist()
            named = dict(zip(labels, values, strict=True))
            results[index] = Classified(max(named, key=named.__getitem__), named)
        return [results[index] for index in range(len(rows))]

    @overload
    def score(  # type: ignore[overload-overlap]
        self, texts: str, *, progress: Progress | None = ...
    ) -> Scored: ...
    @overload
    def score(self, texts: Sequence[str], *, progress: Progress | None = ...) -> list[Scored]: ...
    def score(
        self, texts: str | Sequence[str], *, progress: Progress | None = None
    ) -> Scored | list[Scored]:
        """Return how probable a text is, or each of a list, token by token.

        A decoder's text ends with the end mark's log-probability. An encoder is asked for each
        token with that token hidden: their sum is the pseudo-log-likelihood of Salazar et al. 2020.
        """
        if isinstance(texts, str):
            return self.score([texts], progress=progress)[0]
        if self.ability == CLASSIFIES:
            raise ValueError(f"this model {CLASSIFIES}, so it does not score a text")
        rows = self._encode(texts)
        framed = [self._frame(ids, line) for line, ids in enumerate(rows)]
        if self.ability == COMPLETES:
            engine = self.weights.get_engine(self.weights.exact)
            scored = engine.score(
                [[EOS]] * len(rows), rows, budget=self.batch_budget, workers=1, progress=progress
            )
            results = [each.log_probs for each in scored]
        else:
            results = [self._score_hidden(ids) for ids in framed]
        token = self.tokenizer.token
        return [
            Scored(sum(log_probs), [token(id) for id in ids], log_probs)
            for ids, log_probs in zip(rows, results, strict=True)
        ]

    def _score_hidden(self, ids: list[int]) -> list[float]:
        """Return ln p of each token of a framed text, with that token alone hidden."""
        places = range(1, len(ids) - 1)
        rows = [[*ids[:place], MASK, *ids[place + 1 :]] for place in places]
        predictions = self._predict(rows, [[place] for place in places])
        log_probs = {
            index: float(log_probs_NV[0, ids[1 + index]]) for index, log_probs_NV in predictions
        }
        return [log_probs[index] for index in range(len(rows))]

    def guess_masked(
        self, masked: Sequence[Sequence[int]], hidden: Sequence[Sequence[int]]
    ) -> list[list[tuple[int, float]]]:
        """Return, for each place of each text where `hidden` has a token, the most probable token
        and ln p of the hidden one; a text is ids with its marks, and so is what is hidden."""
        places = [[place for place, id in enumerate(row) if id] for row in hidden]
        results: dict[int, list[tuple[int, float]]] = {}
        for index, log_probs_NV in self._predict(masked, places):
            own = [hidden[index][place] for place in places[index]]
            log_probs = [float(row[id]) for row, id in zip(log_probs_NV, own, strict=True)]
            results[index] = [*zip(log_probs_NV.argmax(-1).tolist(), log_probs, strict=True)]
        return [results[index] for index in range(len(masked))]

    def see(self, text: str, *, level: Level = "everything") -> Trace:
        """Return a recording of one pass over a text; see `see.language.record_text`."""
        from ..see.language import record_text

        return record_text(self, text, level=level)

    def describe(self) -> dict[str, Any]:
        """Return sizes and settings, for people and programs."""
        return {
            "parameters": self.weights.parameters,
            "vocabulary": len(self.tokenizer),
            "device": str(self.device),
            "settings": self.config.model_dump(mode="json", exclude_none=True),
        }

    def _predict(
        self, rows: Sequence[Sequence[int]], places: Sequence[Sequence[int]]
    ) -> list[tuple[int, Tensor]]:
        import torch

        from ..decode.score import predict_positions
        from ..foundation.machine.device import autocast

        with torch.inference_mode(), autocast(self.weights.exact, self.device):
            network: Any = self.weights.view
            return [*predict_positions(network, rows, places, device=self.device)]
