"""Compare an exported model with the original: log-probabilities and translations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import torch

from glassformer.config import BOS, EOS, PAD, Config, Decode
from glassformer.decode import score_targets, search
from glassformer.model.encoder_decoder import EncoderDecoder
from glassformer.text import Tokenizer

MOST = 200  # sentences
SOURCE, OUTPUT = 60, 100  # tokens of a random source and of a translation, at most
ROUNDING = 1e-5  # of the largest log-probability; at least of 1
COARSE = 0.05  # nats a token by which quantised weights may differ, on average
PARTED = 2  # beam searches that may differ: a tie within one is not in its result
TIE = 1e-4  # translations this close in log-probability are equally good
SEARCHES = {
    name: Decode(search=name, beam=5, length_penalty="none", max_ratio=0, max_extra=OUTPUT)
    for name in ("greedy", "beam")
}

Rows = list[list[int]]
Progress = Callable[[int], object]  # called with the number of further sentences done


@dataclass(frozen=True)
class Parity:
    """The result of a comparison; log-probabilities are natural logarithms."""

    quantization: str
    sentences: int
    tokens: int
    largest_difference: float  # of the log-probability of a token
    mean_difference: float
    allowed: float  # limit of the largest difference; quantised: of `stored_difference`
    different: dict[str, int]  # translations that differ, not counting ties, by search
    ties: dict[str, int]
    stored_difference: float = 0.0  # quantised: the mean, if the engine computes in float32
    tag: str | None = None  # the token with which each source has to begin

    @property
    def is_exact(self) -> bool:
        return self.quantization == "float32"

    def check(self) -> None:
        """Raise ValueError if the export differs from the model by more than is allowed.

        Of quantised weights it is asked how well they are stored: how exact the processor's int8
        arithmetic is differs between processors, and is no fault of the export.
        """
        result = self.largest_difference if self.is_exact else self.stored_difference
        if not result <= self.allowed:  # not a number is not allowed
            raise ValueError(
                f"not exported: in {self.quantization}, log-probabilities differ by {result:.2g} "
                f"nats a token, and {self.allowed:.2g} is allowed"
            )
        most = {"greedy": 0, "beam": PARTED}
        if self.is_exact and any(n > most[name] for name, n in self.different.items()):
            text = ", ".join(f"{count} with {name}" for name, count in self.different.items())
            raise ValueError(
                f"not exported: of {self.sentences} translations, others than the model's: {text} "
                f"(ties within a search explain {PARTED} with beam). If these lines have more ties "
                "than most, other lines pass: --source FILE"
            )

    def __str__(self) -> str:
        same = ", ".join(
            f"{self.sentences - count} of {self.sentences} with {name}"
            for name, count in self.different.items()
        )
        text = (
            f"{self.quantization}: log-probabilities differ by {self.largest_difference:.2g} at "
            f"most, {self.mean_difference:.2g} on average; same translations: {same}"
        )
        if self.tag:
            text += f"\nPut {self.tag} before the tokens of each source: the model was trained so"
        if self.is_exact or self.mean_difference <= self.allowed:
            return text
        return (
            f"{text}\nMost of this comes from how CTranslate2 computes {self.quantization} on this "
            f"processor: in float32, the same weights differ by {self.stored_difference:.2g} on "
            "average. With VNNI or AMX, int8 was close; on this processor, use float32"
        )


@dataclass(frozen=True)
class Answers:
    """The translations of our model, as ids without EOS, and their log-probabilities."""

    sources: Rows
    translations: dict[str, Rows]  # by search
    log_probs: list[list[float]]  # of each token of the greedy translations


def choose_by_parity(config: Config, tokenizer: Tokenizer, texts: Sequence[str] | None) -> Rows:
    """Return the source ids for the comparison: the first non-empty texts, or random ids.

    They begin with the tag that the model reads, if there is one. ValueError if all texts are
    empty.
    """
    tags = tokenizer.find_tags([config.data.tag] if config.data.tag else [])
    longest = config.model.positions.max_positions - 1 - len(tags)
    if texts is None:
        random, ids = Random(1), range(EOS + 1, len(tokenizer))
        lengths = range(1, min(SOURCE, longest) + 1)
        return [[*tags, *random.choices(ids, k=random.choice(lengths))] for _ in range(MOST)]
    rows = [row for row in tokenizer.encode_many(texts[:MOST]) if row]
    if not rows:
        raise ValueError("there is no text to compare on")
    return [[*tags, *row[:longest]] for row in rows]


def ask_model(network: EncoderDecoder, sources: Rows, progress: Progress | None = None) -> Answers:
    """Return the translations of our model, computed in fp32 on the plain path.

    `progress` is called for each sentence, once in each search.
    """
    translations = {name: translate_with(network, sources, name, progress) for name in SEARCHES}
    return Answers(sources, translations, score_tokens(network, sources, translations["greedy"]))


def compare_models(
    folder: Path,
    quantization: str,
    network: EncoderDecoder,
    vocabularies: tuple[Sequence[str], Sequence[str]],
    answers: Answers,
) -> Parity:
    """Translate and score the same with CTranslate2, and return the comparison.

    `vocabularies`: of source and target, as CTranslate2 has them.
    """
    exact = quantization == "float32"
    longest = min(OUTPUT, _reach(network))
    theirs = _Theirs(folder, "float32" if exact else "default", vocabularies, longest)
    apart, largest = _measure(theirs, answers)
    in_float32 = theirs if exact else _Theirs(folder, "float32", vocabularies, longest)
    stored, _ = _measure(in_float32, answers)
    different, ties = {}, {}
    for name, ours in answers.translations.items():
        others = theirs.search(answers.sources, name)
        unequal = [i for i in range(len(ours)) if ours[i] != others[i]]
        rows, left, right = ([x[i] for i in unequal] for x in (answers.sources, ours, others))
        scores = score_tokens(network, rows, left), score_tokens(network, rows, right)
        ties[name] = sum(map(_is_tie, left, right, *scores))
        different[name] = len(unequal) - ties[name]
    return Parity(
        quantization=quantization,
        sentences=len(answers.sources),
        tokens=len(apart),
        largest_difference=max(apart),
        mean_difference=sum(apart) / len(apart),
        allowed=ROUNDING * max(1.0, largest) if exact else COARSE,
        different=different,
        ties=ties,
        stored_difference=sum(stored) / len(stored),
    )


def _measure(theirs: _Theirs, answers: Answers) -> tuple[list[float], float]:
    """Return how far apart the log-probabilities of each token are, and the largest of ours."""
    result = theirs.score(answers.sources, answers.translations["greedy"])
    pairs = [
        pair
        for ours, other in zip(answers.log_probs, result, strict=True)
        for pair in zip(ours, other, strict=True)
    ]
    return [abs(ours - other) for ours, other in pairs], max(abs(ours) for ours, _ in pairs)


def _is_tie(left: list[int], right: list[int], ours: list[float], theirs: list[float]) -> bool:
    """Return whether two translations are equally probable, as a whole or where they part."""
    pairs = zip([*left, EOS], [*right, EOS], strict=False)
    part = next(place for place, (one, other) in enumerate(pairs) if one != other)
    return min(abs(sum(ours) - sum(theirs)), abs(ours[part] - theirs[part])) <= TIE


def translate_with(
    network: EncoderDecoder, rows: Rows, name: str, progress: Progress | None = None
) -> Rows:
    with torch.inference_mode():
        result = search(
            network,
            [[*row, EOS] for row in rows],
            SEARCHES[name],
            longest=_reach(network),
            progress=progress,
        )
    return [list(best[0].tokens) for best in result]


def _reach(network: EncoderDecoder) -> int:
    """Return the most tokens of a translation that can be scored; BOS takes one position."""
    return network.settings.positions.max_positions - 1


def score_tokens(network: EncoderDecoder, rows: Rows, targets: Rows) -> list[list[float]]:
    with torch.inference_mode():
        return score_targets(network, [[*row, EOS] for row in rows], targets)


class _Theirs:
    """A CTranslate2 model with ids instead of tokens as input and output."""

    def __init__(
        self,
        folder: Path,
        precision: str,
        vocabularies: tuple[Sequence[str], Sequence[str]],
        longest: int,
    ) -> None:
        from ctranslate2 import Translator

        threads = torch.get_num_threads()
        self.engine = Translator(str(folder), compute_type=precision, intra_threads=threads)
        self.longest = longest
        self.source, self.target = vocabularies
        self.ids = {token: id for id, token in enumerate(self.target)}

    def score(self, rows: Rows, targets: Rows) -> list[list[float]]:
        batch = self.engine.score_batch(
            _spell(rows, self.source), _spell(targets, self.target), max_input_length=0
        )
        return [list(result.log_probs) for result in batch]

    def search(self, rows: Rows, name: str) -> Rows:
        options: dict[str, Any] = {"beam_size": 1}
        if name == "beam":  # stop when nothing can get better, as ours does
            beam = SEARCHES[name].beam
            options = {"beam_size": beam, "length_penalty": 0, "patience": 100}
        batch = self.engine.translate_batch(
            _spell(rows, self.source),
            suppress_sequences=[[self.target[PAD]], [self.target[BOS]]],
            max_input_length=0,
            min_decoding_length=0,
            max_decoding_length=self.longest,
            **options,
        )
        return [[self.ids[token] for token in result.hypotheses[0]] for result in batch]


def _spell(rows: Rows, vocabulary: Sequence[str]) -> list[list[str]]:
    return [[vocabulary[id] for id in row] for row in rows]
