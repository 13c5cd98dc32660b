"""The lines of a training text that taught a word: by a training followed back, or an estimate.

Where the folder of a model remembers its training, that is run again and followed back
(`replay.py`); the number of a pair is then how far the lead of the word would fall if the pair had
not counted, as far as a straight line foretells it. Else, or if the training that was run again
ends elsewhere than the model, the pairs of a text are weighed by the finished weights alone
(`teaching.py`), in shares of the largest.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from glassformer.data.corpus import find_data, read_pairs
from glassformer.data.store import Store
from glassformer.model.encoder_decoder import EncoderDecoder
from glassformer.model.files.directory import RUN, load_model
from glassformer.text.context import encode_sources, extend_source
from glassformer.train.plan.preparation import find_corpora
from glassformer.train.plan.run_folder import read_record, read_settings
from glassformer.translator import Translator

from .edges import WordContrast
from .replay import Replay, Tick, decode_pairs, find_obstacle, list_pairs
from .teaching import TokenPair, add_end, find_nearest, score_teachers

METHODS = ("replay", "estimate")
CLOSE = 0.01  # of the way of a training: what rounding may part a replay from it
Line = tuple[str, str]


class ShowProgress(Protocol):
    """The function that shows the progress of a phase: `cli.terminal.show_progress`."""

    def __call__(self, what: str, total: int | None, /) -> AbstractContextManager[Tick]: ...


@dataclass(frozen=True)
class TaughtLine:
    """A pair of the training text, and what it taught."""

    line: int | None  # in its file, from 1; None if it is not found there
    source: str
    target: str
    taught: float  # above 0 for the word, below 0 for its rival
    nearest: float  # a cosine: see `teaching.find_nearest`


@dataclass(frozen=True)
class TaughtLines:
    """All pairs of a training text, those that taught a word most first, and how that is known."""

    method: str
    why: str  # the training was not followed back; "" if it was
    lead: float  # of the word over its rival, in the model
    replayed: float  # the same after the training that was run again
    gap: float  # of its weights from the model's: see `Replay.measure_gap`
    lines: list[TaughtLine]


class TrainingText(NamedTuple):
    """Pairs that are weighed: where they stand in their file, as text, and as ids."""

    numbers: Sequence[int | None]  # from 1; None if a pair is not found there
    texts: Sequence[Line]
    pairs: Sequence[TokenPair]


def weigh_lines(
    model: Path,
    translator: Translator,
    contrast: WordContrast,
    show: ShowProgress,
    data: Sequence[Path] = (),
    method: str | None = None,
) -> TaughtLines:
    """Return what each pair of a training text taught.

    data: the text, which a model needs that does not remember its training. method: one of METHODS;
    None is a replay if it is possible. ValueError if it is asked for and not possible.
    """
    why = find_obstacle(model) if method != "estimate" else "as asked"
    lines, network = read_training_text(model, translator, data), load_exact(model)
    answer = why or _follow_back(model, translator, network, contrast, show, lines)
    if isinstance(answer, TaughtLines):
        return answer
    if method == "replay":
        raise ValueError(f"{model}: its training cannot be followed back: {answer}")
    if store := None if data else open_store(model):
        text = recall_text(store, translator, lines)
    elif lines:
        text = encode_training_text(translator, lines)
    else:
        raise ValueError(
            f"--data is missing: {model} does not remember what it was trained on ({answer}); give "
            "that text, or train again and keep that folder"
        )
    return _estimate(network, contrast, show, text, answer)


def _follow_back(
    model: Path,
    translator: Translator,
    network: EncoderDecoder,
    contrast: WordContrast,
    show: ShowProgress,
    lines: Sequence[Line],
) -> TaughtLines | str:
    """Return what each pair taught, or why the training that was run again is not the model's."""
    replay = Replay.open(model)
    with show("training again", replay.updates) as tell:
        weights = replay.remember(tell)
    gap = replay.measure_gap(weights, dict(network.named_parameters()))
    if not gap <= CLOSE:
        far = f", apart by {100 * gap:.0f} % of the way that it went" if gap < math.inf else ""
        return (
            f"run again, the training ends in other weights{far}: it was resumed with other "
            "settings or another text, or ran on a GPU, in bf16 or on another machine"
        )
    with show("following back", replay.updates) as tell:
        taught_N = replay.follow_back([contrast], tell)[0]
    replayed = float(replay.measure_lead(weights, contrast))
    text = recall_text(replay.setup.prepared.store, translator, lines)
    rows = _sort(text, taught_N, find_nearest(network, contrast, text.pairs))
    return TaughtLines("replay", "", measure_lead(network, contrast), replayed, gap, rows)


def _estimate(
    network: EncoderDecoder,
    contrast: WordContrast,
    show: ShowProgress,
    text: TrainingText,
    why: str,
) -> TaughtLines:
    with show("weighing", None) as tell:
        taught_N = score_teachers(network, contrast, text.pairs, tell)
    taught_N /= taught_N.abs().max().clamp(min=1e-30)
    rows = _sort(text, taught_N, find_nearest(network, contrast, text.pairs))
    lead = measure_lead(network, contrast)
    return TaughtLines("estimate", why, lead, lead, 0.0, rows)


def measure_lead(network: EncoderDecoder, contrast: WordContrast) -> float:
    """Return the logit of a token less that of its rival."""
    logits_V = network(torch.tensor([contrast.source]), torch.tensor([contrast.given]))[0, -1]
    return float(logits_V[contrast.answers[0]] - logits_V[contrast.answers[1]])


def _sort(text: TrainingText, taught_N: Tensor, nearest_N: Tensor) -> list[TaughtLine]:
    values = zip(text.numbers, text.texts, taught_N.tolist(), nearest_N.tolist(), strict=True)
    lines = [TaughtLine(number, *line, taught, near) for number, line, taught, near in values]
    return sorted(lines, key=lambda each: -each.taught)


def read_training_text(model: Path, translator: Translator, data: Sequence[Path]) -> list[Line]:
    """Return the pairs of a text; without one, of what the model was trained on, if it is there."""
    if data:
        config = translator.config.data
        corpus = find_data(data, config.source_lang, config.target_lang).train
        lines = [*read_pairs(corpus)]
        if not lines:
            raise ValueError(f"{', '.join(map(str, data))}: there is no pair in it")
        return lines
    try:
        record = read_record(model)
        settings = read_settings(model / RUN, record)
        corpora = find_corpora(record, settings)[0] if record["data"] != ["-"] else None
        return [line for part in corpora.parts for line in read_pairs(part)] if corpora else []
    except (ValueError, OSError):  # it is no longer where it was
        return []


def load_exact(model: Path) -> EncoderDecoder:
    """Return the network of a model with its weights as they are, in fp32."""
    network = load_model(model)[2]
    assert isinstance(network, EncoderDecoder)
    return network.float().eval().requires_grad_(False)


def open_store(model: Path) -> Store | None:
    """Return the text that a training remembers as ids; None if there is none."""
    try:
        return Store.open(model / RUN / "store")
    except ValueError:
        return None


def recall_text(store: Store, translator: Translator, lines: Sequence[Line]) -> TrainingText:
    """Return the pairs that a training remembers; `lines` are those of its files, if any."""
    tokenizers = translator.tokenizers
    places: dict[Line, list[int]] = {}
    for number, (source, target) in enumerate(lines, 1):
        key = tokenizers.source.spell(source), tokenizers.target.spell(target)
        places.setdefault(key, []).append(number)
    recalled = decode_pairs(store, tokenizers, translator.reader.separator)
    numbers = [places[text].pop(0) if places.get(text) else None for text in recalled]
    texts = [lines[n - 1] if n else text for n, text in zip(numbers, recalled, strict=True)]
    return TrainingText(numbers, texts, list_pairs(store, translator.config.text.source_eos))


def encode_training_text(translator: Translator, lines: Sequence[Line]) -> TrainingText:
    """Return the pairs of a text that fit the network."""
    places, pairs = encode_lines(translator, lines)
    return TrainingText([n + 1 for n in places], [lines[n] for n in places], pairs)


def encode_lines(
    translator: Translator, lines: Sequence[Line]
) -> tuple[list[int], list[TokenPair]]:
    """Return the pairs that fit the network, as the ids that a training reads, and their places."""
    sources, targets = zip(*lines, strict=True)
    reader, has_end = translator.reader, translator.config.text.source_eos
    encoded = zip(
        _encode_sources(translator, sources),
        translator.tokenizers.target.encode_many([*targets]),
        strict=True,
    )
    numbers, pairs = [], []
    for number, (source, target) in enumerate(encoded):
        pair = TokenPair(
            add_end((*reader.tags, *source), has_end), add_end((*reader.begin, *target))
        )
        if source and target and max(map(len, pair)) <= reader.longest:
            numbers.append(number)
            pairs.append(pair)
    if not pairs:
        raise ValueError("no pair fits this model: all are empty or longer than it allows")
    return numbers, pairs


def _encode_sources(translator: Translator, sources: Sequence[str]) -> list[list[int]]:
    """Return the ids of sources, after those before them if the network reads a context."""
    reader, encode = translator.reader, translator.tokenizers.source.encode_many
    if reader.separator is None:
        return encode([*sources])
    extended = map(extend_source, reader.list_contexts(sources), sources)
    room = min(translator.config.data.max_length, reader.longest - 1) - len(reader.tags)
    lines = [source.split("\n") for source in extended]
    return encode_sources(lines, lambda texts: [encode(texts)], reader.separator, room)[0]
