"""Check that a trace that was read from disk agrees with itself. Imports no torch."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..config import EOS
from ..text.layout import is_tag
from .document import Document, Token, belongs
from .recorded import Array, RecordedTensors

LONGEST = 1 << 16  # tokens a side
MISSING = {"decoder": ("source",), "encoder": ("target", "predicted")}  # of language models
GIVEN = ("input", "parameter")  # kinds that the network is given: a recording does not keep them


def find_contradiction(
    document: Document, tensors: Mapping[str, Array], vocabulary: Any
) -> str | None:
    """Return the first contradiction as a sentence, or None if there is none."""
    return next(_find(document, tensors, vocabulary), None)


def _find(document: Document, tensors: Mapping[str, Array], words: Any) -> Iterator[str]:
    settings = document.settings
    layers = settings.encoder_layers + settings.decoder_layers
    if layers > len(tensors):  # before a graph of so many is built
        yield f"it has {len(tensors)} tensors, but settings with {layers} layers"
    of_source = document.text, document.source_vocabulary
    of_target = document.translation, document.target_vocabulary
    sides = {"source": of_source, "target": of_target, "predicted": of_target}
    for name, where in sides.items():
        if name in MISSING.get(settings.network, ()):
            if getattr(document, name):
                yield f"{name} has tokens, but this is a network={settings.network}"
        else:
            yield from _check_tokens(name, getattr(document, name), *where)
    yield from _check_words(document)
    yield from _check_rows(document)
    yield from _check_whole(document)
    is_list = isinstance(words, list) and all(isinstance(word, str) for word in words)
    if words is not None and (not is_list or len(words) != document.target_vocabulary):
        yield f"its vocabulary is not {document.target_vocabulary} texts"
    yield from _check_shapes(document, tensors)


def _check_tokens(name: str, tokens: Sequence[Token], text: str, vocabulary: int) -> Iterator[str]:
    if not 0 < len(tokens) < LONGEST:
        yield f"{name} has {len(tokens)} tokens"
    for place, token in enumerate(tokens):
        if not 0 <= token.start <= token.end <= len(text):
            yield f"{name}.{place} is at characters {token.start} to {token.end} of {len(text)}"
        if not 0 <= token.id < vocabulary:
            yield f"{name}.{place} has id {token.id}, of a vocabulary of {vocabulary}"


def _check_words(document: Document) -> Iterator[str]:
    """Yield contradictions of the merges.

    The merges of a word close different gaps, and the symbols that are left are the source's
    tokens.
    """
    left = 0
    for number, word in enumerate(document.words):
        closed = [merge.index for merge in word.merges]
        if len({*closed}) < len(closed) or not {*closed} <= {*range(1, len(word.symbols))}:
            yield f"words.{number}.merges close {closed} of {len(word.symbols)} symbols"
        left += len(word.symbols) - len(closed)
    expected = sum(token.id != EOS and not is_tag(token.text) for token in document.source)
    if document.words and left != expected:
        yield f"words have {left} tokens, but source has {expected}"


def _check_rows(document: Document) -> Iterator[str]:
    """Yield contradictions of the rows: one prediction for each, with as many texts as ids."""
    rows = {len(document.target), len(document.predicted), len(document.predictions)}
    if document.settings.network == "encoder":
        rows = {1 if document.settings.labels else len(document.source), len(document.predictions)}
    if len(rows) > 1:
        yield f"target, predicted and predictions have {sorted(rows)} rows"
    for place, each in enumerate(document.predictions):
        if not len(each.ids) == len(each.texts) == len(each.log_probs):
            yield f"predictions.{place} has {len(each.ids)} ids but {len(each.texts)} texts"
        if len(each.draw_probs) not in (0, len(each.ids)):
            yield f"predictions.{place} has {len(each.ids)} ids, {len(each.draw_probs)} draw_probs"
    if document.search and document.search.chosen is not None:
        number = len(document.search.hypotheses)
        if not 0 <= document.search.chosen < number:
            yield f"search.chosen is {document.search.chosen}, of {number} hypotheses"


def _check_whole(document: Document) -> Iterator[str]:
    """Yield contradictions of the whole text: its sentences lie in it and in its translation."""
    if (whole := document.whole) is None:
        return
    if not 0 <= whole.chosen < len(whole.sentences):
        yield f"whole.chosen is {whole.chosen}, of {len(whole.sentences)} sentences"
    for number, each in enumerate(whole.sentences):
        for (start, end), text in ((each.source, whole.text), (each.target, whole.translation)):
            if not 0 <= start <= end <= len(text):
                yield f"whole.sentences.{number} is at characters {start} to {end} of {len(text)}"


def _check_shapes(document: Document, tensors: Mapping[str, Array]) -> Iterator[str]:
    try:
        graph = RecordedTensors(document, tensors).graph
    except (ValueError, LookupError) as error:
        yield f"its wiring is of no network with these settings: {error}"
        return
    for name, array in tensors.items():
        if name not in graph:
            yield f"{name} is no tensor of a model with these settings"
            continue
        expected = tuple(axis.size for axis in graph[name].axes)
        if array.shape != expected:
            yield f"{name} is {list(array.shape)}, but must be {list(expected)}"
        if array.dtype not in (np.float32, np.bool_):
            yield f"{name} is of {array.dtype}"
    for name, op in graph.items():
        is_kept = not op.derived and op.kind not in GIVEN and belongs(name, document.level)
        if is_kept and name not in tensors:
            yield f"{name} is missing"
