"""The question that is asked about a word of a recorded translation.

It imports a network from the weights that a recording has, so that a saved one can be asked too.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch

from glassformer.model.encoder_decoder import EncoderDecoder
from glassformer.model.networks import build_network
from glassformer.see.tokens import find_word_tokens
from glassformer.see.trace import Trace

from .edges import WordContrast

TEXTUAL = ("word", "prefix")  # edits that the recorded text and translation contain already


class WordChoice(NamedTuple):
    """A word of a translation, its rival, and the step at which they part."""

    word: str  # as tokens
    rival: str
    row: int
    contrast: WordContrast

    def describe(self, trace: Trace) -> dict[str, Any]:
        """Return what is asked about a recorded translation, as JSON."""
        return {
            "text": trace.text,
            "translation": trace.translation,
            "word": self.word,
            "rival": self.rival,
            "row": self.row,
        }


class OtherStep(NamedTuple):
    """The step of another translation at which the rival stands."""

    translation: str
    contrast: WordContrast  # the same source; the same two tokens


def ask_word(
    trace: Trace,
    word: str,
    rival: str | None = None,
    occurrence: int | None = None,
    tokenize: Callable[[str], Sequence[int]] | None = None,
) -> WordChoice:
    """Return the question whether a translation has this word or another.

    rival: None is the likeliest other token at the step. tokenize: returns the tokens of a
    translation, so that the rival may be several; the step is where it parts from the word.
    Raises ValueError if the translation has no such word, or the rival is no token and cannot be
    tokenized.
    """
    check_trace(trace)
    rows = find_word_tokens(trace.predicted, trace.translation, word, occurrence)
    row = rows[0]
    if rival is None:
        others = [each for each in trace.top(row, 2) if each.id != trace.predicted[row].id]
        id, name = others[0].id, others[0].text
    elif parted := tokenize and _part(trace, word, rival, rows, tokenize):
        row, id = parted
        name = trace.vocabulary[id] if trace.vocabulary else rival
    else:
        id, name = find_rival(trace, row, word, rival)
    inputs = tuple(each.id for each in trace.target[: row + 1])
    source = tuple(each.id for each in trace.source)
    token = trace.predicted[row]
    return WordChoice(token.text, name, row, WordContrast(source, inputs, (token.id, id)))


def ask_apart(
    trace: Trace, other: Trace, word: str, rival: str, occurrence: int | None = None
) -> tuple[WordChoice, OtherStep]:
    """Return the question why one translation has a word and another one has the rival.

    The two need not stand at the same step, nor after the same words.
    """
    asked = ask_word(trace, word, occurrence=occurrence)
    check_trace(other)
    row = find_word_tokens(other.predicted, other.translation, rival, None)[0]
    token = other.predicted[row]
    answers = asked.contrast.answers[0], token.id
    inputs = tuple(each.id for each in other.target[: row + 1])
    contrast = asked.contrast._replace(answers=answers)
    choice = asked._replace(rival=token.text, contrast=contrast)
    return choice, OtherStep(other.translation, contrast._replace(given=inputs))


def _part(
    trace: Trace,
    word: str,
    rival: str,
    rows: Sequence[int],
    tokenize: Callable[[str], Sequence[int]],
) -> tuple[int, int] | None:
    """Return the row where a translation with the rival parts from this one, and its token there.

    None if it parts elsewhere than at the word.
    """
    start, end = trace.predicted[rows[0]].start, trace.predicted[rows[-1]].end
    own = trace.translation[start:end]
    if not rival.strip() or word.lower() not in own.lower():
        return None
    at = own.lower().index(word.lower())
    changed = f"{own[:at]}{rival.strip()}{own[at + len(word) :]}"
    ids = [*tokenize(f"{trace.translation[:start]}{changed}{trace.translation[end:]}")]
    tokens = [each.id for each in trace.predicted]
    for row, (mine, other) in enumerate(zip(tokens, ids, strict=False)):
        if mine != other:
            return (row, other) if row in rows else None
    return None


def check_trace(trace: Trace) -> None:
    """Raise ValueError for a recording whose network was edited."""
    if any(edit["do"] not in TEXTUAL for edit in trace.edits):
        raise ValueError("why asks the network as it is: record the sentence without edits")


def find_rival(trace: Trace, row: int, word: str, rival: str) -> tuple[int, str]:
    """Return the token of a rival; ValueError if it is no token of its own, with likely ones.

    The token may have more in it than the word, as in `qu'elle`: then the rival has that, too.
    """
    token, plain = trace.predicted[row], rival.strip()
    start = token.text[: len(token.text) - len(token.text.lstrip(" ▁"))]
    tried = [f"{start}{plain}", plain, f" {plain}"]
    if word.lower() in token.text.lower():
        at = token.text.lower().index(word.lower())
        tried.insert(0, f"{token.text[:at]}{plain}{token.text[at + len(word) :]}")
    for written in tried if plain and trace.vocabulary else ():
        if written in trace.vocabulary:  # type: ignore[operator]
            id = trace.vocabulary.index(written)  # type: ignore[union-attr]
            if id == token.id:
                raise ValueError(f"{rival!r} is the word itself: name another as its rival")
            return id, written
    likely = ", ".join(repr(each.text.strip()) for each in trace.top(row, 5)[1:])
    raise ValueError(f"the rival {rival!r} is not one token of this model; likely there: {likely}")


def load_network(trace: Trace) -> EncoderDecoder:
    """Return the recorded network. ValueError if the trace was saved without its weights."""
    if not trace.parameters:
        raise ValueError("this trace was saved without the model's parameters: save them too")
    document = trace.document
    network = build_network(
        trace.settings, document.source_vocabulary, document.target_vocabulary
    ).requires_grad_(False)
    tensors = {name: torch.tensor(trace.parameters[name]) for name in trace.parameters}
    network.load_state_dict(tensors)
    return network.eval()


def read_counterpart(
    asked: WordChoice, text: str, tokenize: Callable[[str], Sequence[int]]
) -> WordContrast:
    """Return the same question about another sentence.

    Raises ValueError if it has not as many tokens, so that positions do not correspond.
    """
    source, result = asked.contrast.source, (*tokenize(text),)
    if len(result) != len(source):
        raise ValueError(
            f"the counterpart has {len(result)} tokens, the sentence {len(source)}: positions can "
            "be compared only between sentences of as many; without it, the mean is used"
        )
    if result == source:
        raise ValueError("the counterpart is the sentence itself")
    return asked.contrast._replace(source=result)
