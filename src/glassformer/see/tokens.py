"""Tokens of source and target with the spans of characters that they stand for."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from ..config import BOS, EOS
from ..text import Tokenizer
from ..text.characters import INVISIBLE, JOINERS
from ..text.spacing import word_pattern
from ..translate.stages import TranslationStages
from ..translate.writing import write_line
from .document import Merge, Token, WordMerges
from .recorded import check_place

AT_ONCE, SHARING = 64, 8  # tokens measured together, and those before them that are spelled, too
HIDDEN = frozenset(map(chr, INVISIBLE))


def read_source(translator: TranslationStages, text: str) -> list[Token]:
    """Return the encoder's input: the tokens of a text, stripped of outer white space, and EOS.

    The sources of some imported models have no EOS.
    """
    token = translator.tokenizers.source.token  # which may have other names
    source, left = translator.reader.tokenize(text.strip()), len(text) - len(text.lstrip())
    tokens = [
        Token(text=token(id), id=id, start=left + start, end=left + end)
        for id, (start, end) in zip(source.ids, source.spans, strict=True)
    ]
    if tokens and not translator.config.text.source_eos:
        return tokens
    return [*tokens, _mark(translator.tokenizers.source, EOS, len(text.rstrip()))]


def find_word_tokens(
    tokens: Sequence[Token], text: str, word: str, occurrence: int | None = None
) -> list[int]:
    """Return the indices of the tokens that share a character with a word of the text.

    occurrence: which of several, 0 the first, -1 the last; None: all of them. Raises ValueError if
    the text has no such word.
    """
    spans = [match.span() for match in word_pattern(word).finditer(text)]
    if not spans:
        raise ValueError(f"there is no word {word!r} in {text!r}")
    if occurrence is not None:
        spans = [spans[check_place(occurrence, len(spans), f"occurrence of {word!r}:")]]
    return [
        place
        for place, token in enumerate(tokens)
        if any(token.start < end and start < token.end for start, end in spans)
    ]


def read_words(tokenizer: Tokenizer, tokens: Sequence[Token]) -> tuple[WordMerges, ...]:
    """Return the merges that made the tokens of a source, word by word; () without merges."""
    if not tokenizer.merges:  # they come from a unigram model
        return ()
    text = tokenizer.decode(token.id for token in tokens)
    return tuple(_build(tokenizer, word) for word in tokenizer.words(text))


def _build(tokenizer: Tokenizer, word: str) -> WordMerges:
    symbols, closed = tokenizer.build_word(word)
    merges = tuple(Merge(rank=rank, index=index) for rank, index in closed)
    return WordMerges(symbols=tuple(map(tokenizer.token, symbols)), merges=merges)


def read_target(
    tokenizer: Tokenizer, ids: Sequence[int], text: str, finished: bool
) -> tuple[list[Token], list[Token]]:
    """Return the rows of the decoder, and the token that each row predicts.

    Both are the same tokens, shifted by one. `text` is what the tokens spell, without outer white
    space.
    """
    spans = _locate(tokenizer, ids, text)
    written = [
        Token(text=tokenizer.token(id), id=id, start=start, end=end)
        for id, (start, end) in zip(ids, spans, strict=True)
    ]
    predicted = [*written, _mark(tokenizer, EOS, len(text))] if finished else written
    return [_mark(tokenizer, BOS, 0), *predicted[:-1]], predicted


def _mark(tokenizer: Tokenizer, id: int, place: int) -> Token:
    return Token(text=tokenizer.token(id), id=id, start=place, end=place)


def name_invisible(text: str) -> str:
    """Return a token with names, as U+200B, of what cannot be seen, but joiners among letters."""
    named = HIDDEN if HIDDEN.issuperset(text.strip(" ▁")) else HIDDEN.difference(JOINERS)
    return "".join(f"U+{ord(each):04X}" if each in named else each for each in text)


def spell_tokens(tokenizer: Tokenizer, ids: Sequence[int]) -> str:
    """Return the text of a translation's tokens on one line, without outer white space."""
    return write_line(tokenizer.decode(ids))


def _locate(tokenizer: Tokenizer, ids: Sequence[int], text: str) -> Iterator[tuple[int, int]]:
    """Yield the span of each token; tokens that are bytes of one character share its span."""
    spelled = tokenizer.decode(ids)
    left = len(spelled) - len(spelled.lstrip())  # leading white space, which `text` lacks
    for before, after in pairwise(_measure(tokenizer, ids)):
        start = before - 1 if before == after else before
        yield _clip(start - left, text), _clip(after - left, text)


def _measure(tokenizer: Tokenizer, ids: Sequence[int]) -> list[int]:
    """Return how long the text of the first tokens is, for each number of them.

    How much a token adds depends on the few before it alone, with which it may share a character.
    """
    lengths = [0]
    for first in range(0, len(ids), AT_ONCE):
        start = max(0, first - SHARING)
        known = lengths[first] - len(tokenizer.decode(ids[start:first]))
        ends = range(first + 1, min(first + AT_ONCE, len(ids)) + 1)
        lengths += [known + len(tokenizer.decode(ids[start:end])) for end in ends]
    return lengths


def _clip(place: int, text: str) -> int:
    return min(max(place, 0), len(text))
